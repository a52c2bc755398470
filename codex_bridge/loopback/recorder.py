"""What Codex asked of the model: each request, kept whole but for credentials.

Pure. The recorded `input` is the only proof of what a model sees, so it is kept as it came.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from codex_bridge.rpc import Json, JsonObject
from harness.masking import MASK

MASKED_HEADERS: Final = frozenset(
    {"authorization", "cookie", "set-cookie", "chatgpt-account-id", "openai-organization"}
)
"""Headers whose values are replaced before a request is kept."""

UNASKED: Final = "function_call_output"
"""The kind of item by which Codex 0.171 shows untrusted additional context, and of every tool's output."""


@dataclass(frozen=True, slots=True)
class Part:
    """One piece of text that the model saw."""

    item: int
    """Index of the item in the request's input."""
    part: int
    """Index of the part within the item."""
    kind: str
    """The item's type, such as "message"."""
    role: str
    """developer, user or assistant; empty where the item has none."""
    text: str
    name: str = ""
    """Of a tool's output that no call asked for: whose it is said to be."""


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """One request to the stand-in."""

    number: int
    """Counted from 1 over all model requests of this stand-in."""
    path: str
    headers: Mapping[str, str]
    body: JsonObject

    @property
    def input(self) -> list[Json]:
        """The items that make up the model's context."""
        items = self.body.get("input")
        return items if isinstance(items, list) else []

    @property
    def model(self) -> str:
        """The model asked for."""
        return str(self.body.get("model", ""))

    def parts(self) -> list[Part]:
        """Every text of the input in reading order; first, as item -1, the top-level instructions if there are any."""
        found: list[Part] = []
        instructions = self.body.get("instructions")
        if isinstance(instructions, str) and instructions:
            found.append(Part(-1, 0, "instructions", "", instructions))
        for index, raw in enumerate(self.input):
            if isinstance(raw, dict):
                kind, role = str(raw.get("type", "message")), str(raw.get("role", ""))
                name = str(raw.get("name", "")) if kind == UNASKED else ""
                found.extend(Part(index, part, kind, role, text, name) for part, text in enumerate(_texts(raw)))
        return found


def masked_headers(headers: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """Headers by lower-case name, credentials and account ids replaced."""
    kept: dict[str, str] = {}
    for raw_name, raw_value in headers:
        name = raw_name.decode("latin-1").lower()
        kept[name] = MASK if name in MASKED_HEADERS else raw_value.decode("latin-1")
    return kept


def _texts(item: JsonObject) -> list[str]:
    for member in ("content", "output", "summary", "arguments"):
        value = item.get(member)
        if isinstance(value, str):
            return [value]
        if isinstance(value, list):
            return [text for part in value if isinstance(part, dict) and (text := _text(part))]
    return []


def _text(part: JsonObject) -> str:
    text = part.get("text")
    if isinstance(text, str):
        return text
    return f"[{part.get('type', 'part')}]"
