"""What an agent may change of the gateway's configuration through its `gateway` tool.

Pure, and closed by default: a change is refused unless every path that it touches is on the list (prompt-builder 11.8).
So the agent can tune its own thinking and how chatty it is in groups, and cannot reach `tools.exec.ask`,
`tools.exec.security`, their older names under `tools.bash`, or anything else that keeps it in bounds (S18).
"""

import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Final, TypeAlias

import orjson

from harness.config.places import PLAIN_KEY
from harness.config.roster import agent_id_of
from harness.errors import HarnessError
from harness.json5_text import DEEPEST
from harness.json_value import Json

JsonObject: TypeAlias = dict[str, Json]
Path: TypeAlias = tuple[str, ...]
"""The keys from the root; `[]` stands for an element of a list whose elements have ids."""

ELEMENT: Final = "[]"
ANY: Final = "*"
_TUNING: Final = ("thinkingDefault", "subagents.thinking", "reasoningDefault", "fastModeDefault")
WRITABLE: Final[tuple[Path, ...]] = tuple(
    tuple(text.split("."))
    for text in (
        *(f"agents.defaults.{key}" for key in _TUNING),
        *(f"agents.list.[].{key}" for key in ("id", "model", *_TUNING)),
        *(f"channels{'.*' * depth}.requireMention" for depth in range(1, 6)),
        "messages.visibleReplies",
        "messages.groupChat.visibleReplies",
        "messages.groupChat.unmentionedInbound",
    )
)
"""What may be changed. Each is a plain value, but for an agent's model; nothing below the others may be written."""
_WITH_FALLBACKS: Final = ("primary", "fallbacks")
"""The members of a model that is written as an object."""
_AGENTS: Final = ("agents", "list")
_MODEL: Final = ("agents", "list", ELEMENT, "model")
_ALIASES: Final[Mapping[Path, Path]] = {("tools", "bash"): ("tools", "exec")}
_DANGEROUS: Final = re.compile(r"dangerous|insecure|unsafe", re.IGNORECASE)
"""Names of switches that are never switched on this way, wherever they stand."""
_NOT_KEYS: Final = frozenset({"__proto__", "constructor", "prototype"})
"""Keys that a reader written in JavaScript may take for a part of the language."""
_LITERAL: Final = '["[]"]'
"""A key of a mapping that is called like an element of a list."""
_PIECE: Final = re.compile(r"""\["([^"]*)"\]|\['([^']*)'\]|\[([^\]]*)\]|([^.\[\]]+)""")
_INTEGERS: Final = range(-(2**63), 2**64)
"""What a JSON writer takes (orjson)."""
MOST_NAMED: Final = 5
"""Paths that a refusal names; our choice."""


class ConfigChangeError(HarnessError):
    """A change of the configuration that an agent may not make, or that cannot be made."""


@dataclass(frozen=True, slots=True)
class Changes:
    """What differs between two configurations."""

    paths: tuple[Path, ...]
    protected: tuple[Path, ...]
    """Those that an agent may not change."""


def pieces_of(text: str) -> list[tuple[str, bool]]:
    """Take a path such as `agents.list[0].model` apart: each piece, and whether it is an index."""
    pieces: list[tuple[str, bool]] = []
    for found in _PIECE.finditer(text.strip()):
        double, single, bare, plain = found.groups()
        if bare is None:
            pieces.append((next(piece for piece in (double, single, plain) if piece is not None).strip(), False))
            continue
        inner = bare.strip()
        quoted = len(inner) > 1 and inner[0] == inner[-1] and inner[0] in "\"'"
        pieces.append((inner[1:-1].strip(), False) if quoted else (inner, not inner or inner.isdecimal()))
    return [(piece, index) for piece, index in pieces if piece or index]


def parse_path(text: str) -> Path:
    """Read a path such as `agents.list[0].model` or `tools["exec"].ask`; any index counts as an element."""
    return canonical(tuple(ELEMENT if index else piece for piece, index in pieces_of(text)))


def canonical(path: Path) -> Path:
    """Put the present name in the place of an older one: `tools.bash.ask` is `tools.exec.ask`."""
    for old, new in _ALIASES.items():
        if path[: len(old)] == old:
            return new + path[len(old) :]
    return path


def shown(path: Path) -> str:
    """Write a path as people do; the root is `the whole`."""
    text = ""
    for part in path:
        if part in (ELEMENT, _LITERAL):
            text += part
        elif PLAIN_KEY.match(part):
            text += f".{part}" if text else part
        else:
            text += f"[{json.dumps(part[:60])}]"
    return text or "the whole"


def may_write(path: Path) -> bool:
    """Whether an agent may change the plain value at a path."""
    path = canonical(path)
    if not _NOT_KEYS.isdisjoint(path):
        return False
    if path[:-1] == _MODEL and path[-1] in _WITH_FALLBACKS:
        return True
    return any(_fits(path, pattern) for pattern in WRITABLE)


def compare(before: JsonObject, after: JsonObject) -> Changes:
    """Find what differs, and which of it an agent may not change.

    Raises:
        ConfigChangeError: One of them is no sound JSON.
    """
    _check_sound(before, "The configuration")
    _check_sound(after, "The new configuration")
    found = [(canonical(path), value) for path, value in _differing(before, after, ())]
    protected = [path for path, value in found if not (may_write(path) and _is_plain(value, path))]
    risky = [canonical(path) for path in _switched_on(before, after, ())]
    return Changes(tuple(dict.fromkeys(path for path, _ in found)), tuple(dict.fromkeys([*protected, *risky])))


def check(before: JsonObject, after: JsonObject) -> None:
    """Refuse a change that an agent may not make.

    Raises:
        ConfigChangeError: It touches something that is protected; names what.
    """
    protected = sorted(map(shown, compare(before, after).protected))
    if protected:
        more = len(protected) - MOST_NAMED
        names = ", ".join(protected[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
        raise ConfigChangeError(f"An agent may not change {names}; a person has to, in the configuration file.")


def config_hash(config: JsonObject) -> str:
    """The hash of a configuration, by which a change says what it was based on.

    Raises:
        ConfigChangeError: It is no sound JSON.
    """
    _check_sound(config, "The configuration")
    return sha256(orjson.dumps(config, option=orjson.OPT_SORT_KEYS)).hexdigest()


def patched(current: JsonObject, patch: Json, *, base_hash: str, replace: Iterable[str] = ()) -> JsonObject:
    """Apply a merge patch (RFC 7396) for an agent: `config.patch`.

    Lists whose elements have ids are merged by these, where `replace` does not name them. In `agents.list` every
    spelling of an id means the same agent.

    Args:
        current: The configuration as it is.
        patch: What to change; null removes a key.
        base_hash: The hash of the configuration that the agent has seen.
        replace: Paths at which a list takes the place of the old one.

    Raises:
        ConfigChangeError: The patch is no sound JSON object, the configuration has changed since, or the patch touches
            something that is protected.
    """
    change = _object(patch, "The patch")
    _check_base(current, base_hash)
    after = _merged(current, change, (), frozenset(map(parse_path, replace)))
    check(current, after)
    return after


def replaced(current: JsonObject, new: Json, *, base_hash: str) -> JsonObject:
    """Put another configuration in the place of the current one, for an agent: `config.apply`.

    Raises:
        ConfigChangeError: It is no sound JSON object, the configuration has changed since, or the new one differs in
            something that is protected.
    """
    after = dict(_object(new, "The new configuration"))
    _check_base(current, base_hash)
    check(current, after)
    return after


def _check_base(current: JsonObject, base_hash: str) -> None:
    if config_hash(current) != base_hash:
        raise ConfigChangeError("The configuration has changed since it was read; read it again with config.get.")


def _object(value: Json, what: str) -> JsonObject:
    _check_sound(value, what)
    if not isinstance(value, dict):
        raise ConfigChangeError(f"{what} has to be a JSON object.")
    return value


def _check_sound(tree: Json, what: str) -> None:
    """Refuse what no configuration file can hold, before anything descends into it.

    A loop, since a model may nest brackets deeper than Python's stack.
    """
    todo: list[tuple[Json, Path]] = [(tree, ())]
    while todo:
        value, path = todo.pop()
        if len(path) > DEEPEST:
            raise ConfigChangeError(f"{what} is nested more than {DEEPEST} levels deep.")
        fault = _fault(value)
        if fault is not None:
            raise ConfigChangeError(f"{what} holds {fault} at {shown(path)}.")
        if isinstance(value, dict):
            todo.extend((below, (*path, _literal_key(key))) for key, below in value.items())
        elif isinstance(value, list):
            todo.extend((below, (*path, ELEMENT)) for below in value)


def _fault(value: Json) -> str | None:
    """What is wrong with a value, whatever may be below it."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return None if value in _INTEGERS else "a number of more than 64 bits"
    if isinstance(value, float):
        return None if math.isfinite(value) else "a number that is not finite"
    broken = [value] if isinstance(value, str) else value if isinstance(value, dict) else ()
    return "half a character" if any(map(_is_broken, broken)) else None


def _is_broken(text: str) -> bool:
    """Whether a text has half of a surrogate pair, which UTF-8 cannot carry."""
    return not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text)


def _fits(path: Path, pattern: Path) -> bool:
    # `*` is one key of a mapping: an element of a list has to be named.
    return len(path) == len(pattern) and all(
        part == wanted or (wanted == ANY and part != ELEMENT) for part, wanted in zip(path, pattern, strict=True)
    )


def _is_plain(value: Json, path: Path) -> bool:
    """Whether a value is of a kind that may be written: an object or a list could bring in what no path names."""
    if isinstance(value, list):
        return path == (*_MODEL, "fallbacks") and all(isinstance(each, str) for each in value)
    return not isinstance(value, dict)


def _differing(before: Json, after: Json, path: Path) -> Iterable[tuple[Path, Json]]:
    """The paths at which two values differ, each with what is there now."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in dict.fromkeys((*before, *after)):
            place = (*path, _literal_key(key))
            if key not in after:
                yield place, None
            elif key not in before:
                yield from _added(after[key], place)
            else:
                yield from _differing(before[key], after[key], place)
        return
    old, new = _by_id(before, path), _by_id(after, path)
    if old is not None and new is not None:
        yield from _differing_elements(old, new, path)
    elif _exact(before) != _exact(after):
        if may_write(path):
            yield from _added(after, path)
        else:
            yield path, after


def _differing_elements(old: JsonObject, new: JsonObject, path: Path) -> Iterable[tuple[Path, Json]]:
    place = (*path, ELEMENT)
    if list(new)[: len(old)] != list(old):
        # One is gone, or they stand in another order, or behind a new one: the first is the default.
        yield place, None
    if new and not old:
        yield path, list(new.values())  # where nobody was listed, the first that is would become the default
    for name, element in new.items():
        if path == _AGENTS and not _keeps_its_id(old.get(name), element):
            yield place, None  # the id of nobody, or another agent's in another spelling
        if name in old:
            yield from _differing(old[name], element, place)
        else:
            yield from _added(element, place)


def _keeps_its_id(before: Json, after: Json) -> bool:
    """Whether an agent has the id that it had, or one that is spelt as ids are."""
    old, new = (each.get("id") if isinstance(each, dict) else None for each in (before, after))
    kept = before is not None and type(old) is type(new) and old == new
    return kept or (isinstance(new, str) and new == agent_id_of(new))


def _added(value: Json, path: Path) -> Iterable[tuple[Path, Json]]:
    """The paths of something new: of its leaves, since each of these has to be allowed."""
    elements = _by_id(value, path)
    if isinstance(value, dict) and value:
        for key, below in value.items():
            yield from _added(below, (*path, _literal_key(key)))
    elif elements:
        yield from _differing_elements({}, elements, path)
    else:
        yield path, value


def _exact(value: Json) -> bytes:
    # Python takes True for 1 and 1.0 for 1, at any depth; the configuration does not.
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def _literal_key(key: str) -> str:
    """A key of a mapping, which must not pass for an element of a list."""
    return _LITERAL if key == ELEMENT else key


def _switched_on(before: Json, after: Json, path: Path) -> Iterable[Path]:
    """Paths of dangerous switches that are on now and were not."""
    if isinstance(after, dict):
        old = before if isinstance(before, dict) else {}
        for key, value in after.items():
            if _DANGEROUS.search(key) and bool(value) and not bool(old.get(key)):
                yield (*path, _literal_key(key))
            yield from _switched_on(old.get(key), value, (*path, _literal_key(key)))
    elif isinstance(after, list):
        for old_element, element in _paired(before, after, path):
            yield from _switched_on(old_element, element, (*path, ELEMENT))


def _paired(before: Json, after: list[Json], path: Path) -> Iterable[tuple[Json, Json]]:
    """Each element of a list with the one that it was before: by id, or else by place."""
    elements, known = _by_id(after, path), _by_id(before, path)
    if elements is not None and known is not None:
        return [(known.get(name), element) for name, element in elements.items()]
    old: list[Json] = before if isinstance(before, list) else []
    return [(old[number] if number < len(old) else None, element) for number, element in enumerate(after)]


def _by_id(value: Json, path: Path) -> JsonObject | None:
    """The elements of a list by their ids; None when it is no such list, or two of them share one.

    In `agents.list` an entry without an id counts as an agent all the same, as for everybody who reads the
    configuration (`harness.config.roster`), and one that repeats another's id is known by its place.
    """
    if not isinstance(value, list):
        return None
    found: JsonObject = {}
    for number, element in enumerate(value):
        name = element.get("id") if isinstance(element, dict) else None
        if path == _AGENTS:
            name = agent_id_of(name if isinstance(name, str) else None)
            name = f"[{number}]" if name in found or not isinstance(element, dict) else name
        elif not isinstance(name, str) or name in found:
            return None
        found[name] = element
    return found


def _merged(current: JsonObject, patch: JsonObject, path: Path, replace: frozenset[Path]) -> JsonObject:
    result = dict(current)
    for key, value in patch.items():
        here = (*path, _literal_key(key))
        if value is None:
            result.pop(key, None)
        else:
            result[key] = _merged_value(result.get(key), value, here, replace)
    return result


def _merged_value(current: Json, value: Json, path: Path, replace: frozenset[Path]) -> Json:
    if isinstance(value, dict):
        return _merged(current if isinstance(current, dict) else {}, value, path, replace)
    if path == _AGENTS:
        _check_named(value)
    old, new = _by_id(current, path), _by_id(value, path)
    if old is None or new is None or canonical(path) in replace:
        return value
    for name, element in new.items():
        before = old.get(name)
        merged = _merged_value(before, element, (*path, ELEMENT), replace)
        if isinstance(before, dict) and isinstance(merged, dict) and isinstance(before.get("id"), str):
            merged["id"] = before["id"]  # the spelling stays the owner's
        old[name] = merged
    return list(old.values())


def _check_named(agents: Json) -> None:
    """Refuse a patch that does not say which agents it means."""
    if not isinstance(agents, list):
        return
    seen: set[str] = set()
    for element in agents:
        name = element.get("id") if isinstance(element, dict) else None
        if not isinstance(name, str) or not name.strip():
            raise ConfigChangeError("Each entry of agents.list in a patch needs the id of its agent.")
        if agent_id_of(name) in seen:
            raise ConfigChangeError(f"The patch has the agent {agent_id_of(name)} twice in agents.list.")
        seen.add(agent_id_of(name))
