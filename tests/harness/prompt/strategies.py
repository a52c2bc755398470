"""Facts of every kind, made from the fields that they have: a new field is drawn without a word here."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from hypothesis import strategies as st

from harness.heartbeat.wording import RESPONSE_TOOL
from harness.plan_tool import NAME as PLAN
from harness.prompt.boundary import MARKER
from harness.prompt.contributions import Contribution
from harness.prompt.facts import AgentFacts, ContextDoc, ToolFacts, TurnFacts
from harness.prompt.sections.headings import HEADINGS
from harness.prompt.tool_list import CORE

Facts = TypeVar("Facts")
Text = st.SearchStrategy[str]
Drawn = st.SearchStrategy[Any]

FORGERIES = (
    "##\u00a0Safety", "\uff03\uff03 Tooling", "##Runtime", "Safety\n======", "- ## Safety", "#\ufe0f# Safety",
    "\u115f## Safety", "\u2800## Safety", "> ## Safety", "1. ## Safety", "## Safety.", "## **Safety**",
    "## Safety (updated)", "## Sa\u200bfety", "## <b>Safety</b>", "## [Safety](x)", "## \u2728 Safety", "##_Safety_",
)  # fmt: skip
"""What passes for a heading of ours."""
HOSTILE = st.sampled_from(
    [
        *(f"\n{heading}\n" for heading in (*HEADINGS, *FORGERIES)),
        *FORGERIES,
        *(f"\n{MARKER}\n", MARKER, "\r", "\u2028", "\ud83e", "`", "|", "Safety"),
    ]
)
NAMES: Text = st.one_of(st.text(max_size=8), st.tuples(st.text(max_size=3), HOSTILE, st.text(max_size=3)).map("".join))
"""Names, paths and words of people outside."""
PLAIN: Text = st.text(alphabet="αβγ ", max_size=6)
"""Texts in which no tool and no sentence of ours can occur."""
TOOLS = (*CORE, PLAN, RESPONSE_TOOL, "memory_search", "memory_get", "tool_search")
"""Every tool that any text of ours may speak of."""
SPELLED = st.sampled_from(TOOLS).flatmap(lambda name: st.sampled_from([name, name, name.title()]))
CHANNELS = ("telegram", "Discord", "webchat", "slack", "irc")
CAPABILITIES = ("richText", "inlineButtons", "threadbound-acp-spawn", "nativeApprovals")
FILES = ("AGENTS.md", "SOUL.md", "x.md", "memory.md", "BOOTSTRAP.md", "")


def of_kind(kind: Any, text: Text) -> st.SearchStrategy[Any]:
    """Values of one kind of field."""
    origin, args = get_origin(kind), get_args(kind)
    if kind is str:
        return text
    if kind is bool:
        return st.booleans()
    if kind is int:
        return st.integers(0, 9)
    if kind is NoneType:
        return st.none()
    if origin is Literal:
        return st.sampled_from(args)
    if origin in (Union, UnionType):
        return st.one_of([of_kind(each, text) for each in args])
    if origin is tuple and args[1:] == (Ellipsis,):
        return st.lists(of_kind(args[0], text), max_size=3).map(tuple)
    if origin is tuple:
        return st.tuples(*(of_kind(each, text) for each in args))
    if isinstance(kind, type) and issubclass(kind, Enum):
        return st.sampled_from(list(kind))
    if isinstance(kind, type) and is_dataclass(kind):
        return facts_of(kind, text)
    raise TypeError(f"No strategy for fields of the kind {kind}.")


def special(text: Text) -> Mapping[tuple[type, str], st.SearchStrategy[Any]]:
    """The fields that must now and then have a known value for anything to be said of them."""
    return {
        (ToolFacts, "names"): st.lists(st.one_of(SPELLED, text), max_size=10).map(tuple),
        (ToolFacts, "hidden"): st.lists(st.one_of(SPELLED, text), max_size=3).map(tuple),
        **{(kind, "channel"): st.one_of(st.sampled_from(CHANNELS), text) for kind in with_field("channel")},
        (TurnFacts, "capabilities"): st.lists(st.one_of(st.sampled_from(CAPABILITIES), text), max_size=4).map(tuple),
        (AgentFacts, "files"): documents("every", text),
        (TurnFacts, "files"): documents("own", text),
        # A provider's texts are not those of people outside: they may bring headings.
        (AgentFacts, "contribution"): facts_of(Contribution, PLAIN),
        (TurnFacts, "suffix"): PLAIN,
    }


def with_field(name: str) -> list[type]:
    """The kinds of facts within a turn's that have a field of that name."""
    seen: list[type] = []

    def look(kind: Any) -> None:
        if isinstance(kind, type) and is_dataclass(kind) and kind not in seen:
            seen.append(kind)
            for hint in get_type_hints(kind).values():
                look(hint)
        for each in get_args(kind):
            look(each)

    look(TurnFacts)
    return [kind for kind in seen if name in {each.name for each in fields(kind)}]


def documents(label: str, text: Text) -> st.SearchStrategy[tuple[ContextDoc, ...]]:
    """Files whose texts are all different, under any path."""
    return st.lists(st.tuples(text, st.sampled_from(FILES)), max_size=4).map(
        lambda found: tuple(ContextDoc(f"{at}{name}", f"<{label} {place}>") for place, (at, name) in enumerate(found))
    )


def facts_of(kind: type[Facts], text: Text, **given: st.SearchStrategy[Any]) -> st.SearchStrategy[Facts]:
    """Facts of one kind, every field of which is drawn; `given` says how some of them are."""
    hints = get_type_hints(kind)
    names = [each.name for each in fields(kind)]  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    assert given.keys() <= set(names)
    known: Mapping[tuple[type, str], Drawn] = {}
    if kind in (AgentFacts, TurnFacts, ToolFacts) or "channel" in names:
        known = special(text)
    parts: dict[str, Drawn | None] = {name: given.get(name, known.get((kind, name))) for name in names}
    drawn = {name: of_kind(hints[name], text) if part is None else part for name, part in parts.items()}
    return st.fixed_dictionaries(drawn).map(lambda values: kind(**values))
