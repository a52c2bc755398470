"""What an agent may change of the gateway's configuration through its `gateway` tool.

Pure, and closed by default: a change is refused unless every path that it touches is on the list (prompt-builder 11.8).
So the agent can tune its own thinking and how chatty it is in groups, and cannot reach `tools.exec.ask`,
`tools.exec.security`, their older names under `tools.bash`, or anything else that keeps it in bounds (S18).
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Final, TypeAlias

import orjson

from harness.errors import HarnessError
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
_PIECE: Final = re.compile(r"""\[\s*(?:"([^"]*)"|'([^']*)'|([^\]]*?))\s*\]|([^.\[\]]+)""")


class ConfigChangeError(HarnessError):
    """A change of the configuration that an agent may not make, or that cannot be made."""


@dataclass(frozen=True, slots=True)
class Changes:
    """What differs between two configurations."""

    paths: tuple[Path, ...]
    protected: tuple[Path, ...]
    """Those that an agent may not change."""


def parse_path(text: str) -> Path:
    """Read a path such as `agents.list[0].model` or `tools["exec"].ask`; any index counts as an element."""
    pieces: list[str] = []
    for double, single, bare, plain in _PIECE.findall(text.strip()):
        piece = double or single or bare or plain
        index = (not double and not single and (bare == "" and plain == "")) or bare.isdecimal()
        pieces.append(ELEMENT if index else piece.strip())
    return canonical(tuple(piece for piece in pieces if piece))


def canonical(path: Path) -> Path:
    """Put the present name in the place of an older one: `tools.bash.ask` is `tools.exec.ask`."""
    for old, new in _ALIASES.items():
        if path[: len(old)] == old:
            return new + path[len(old) :]
    return path


def shown(path: Path) -> str:
    """Write a path as people do."""
    return ".".join(path).replace(f".{ELEMENT}", ELEMENT)


def may_write(path: Path) -> bool:
    """Whether an agent may change the plain value at a path."""
    path = canonical(path)
    if path[:-1] == _MODEL and path[-1] in _WITH_FALLBACKS:
        return True
    return any(_fits(path, pattern) for pattern in WRITABLE)


def compare(before: JsonObject, after: JsonObject) -> Changes:
    """Find what differs, and which of it an agent may not change."""
    found = [(canonical(path), value) for path, value in _differing(before, after, ())]
    protected = [path for path, value in found if not (may_write(path) and _is_plain(value, path))]
    risky = [canonical(path) for path in _switched_on(before, after, ())]
    return Changes(tuple(dict.fromkeys(path for path, _ in found)), tuple(dict.fromkeys([*protected, *risky])))


def check(before: JsonObject, after: JsonObject) -> None:
    """Refuse a change that an agent may not make.

    Raises:
        ConfigChangeError: It touches something that is protected; names what.
    """
    protected = compare(before, after).protected
    if protected:
        names = ", ".join(sorted(map(shown, protected)))
        raise ConfigChangeError(f"An agent may not change {names}; a person has to, in the configuration file.")


def config_hash(config: JsonObject) -> str:
    """The hash of a configuration, by which a change says what it was based on."""
    return sha256(orjson.dumps(config, option=orjson.OPT_SORT_KEYS)).hexdigest()


def patched(current: JsonObject, patch: JsonObject, *, base_hash: str, replace: Iterable[str] = ()) -> JsonObject:
    """Apply a merge patch (RFC 7396) for an agent: `config.patch`.

    Lists whose elements have ids are merged by these, where `replace` does not name them.

    Args:
        current: The configuration as it is.
        patch: What to change; null removes a key.
        base_hash: The hash of the configuration that the agent has seen.
        replace: Paths at which a list takes the place of the old one.

    Raises:
        ConfigChangeError: The configuration has changed since, or the patch touches something that is protected.
    """
    _check_base(current, base_hash)
    after = _merged(current, patch, (), frozenset(map(parse_path, replace)))
    check(current, after)
    return after


def replaced(current: JsonObject, new: JsonObject, *, base_hash: str) -> JsonObject:
    """Put another configuration in the place of the current one, for an agent: `config.apply`.

    Raises:
        ConfigChangeError: The configuration has changed since, or the new one differs in something that is protected.
    """
    _check_base(current, base_hash)
    check(current, new)
    return dict(new)


def _check_base(current: JsonObject, base_hash: str) -> None:
    if config_hash(current) != base_hash:
        raise ConfigChangeError("The configuration has changed since it was read; read it again with config.get.")


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
    old, new = _by_id(before), _by_id(after)
    if old is not None and new is not None:
        if list(new)[: len(old)] != list(old):
            # One is gone, or they stand in another order, or behind a new one: the first is the default.
            yield (*path, ELEMENT), None
        for name, element in new.items():
            if name in old:
                yield from _differing(old[name], element, (*path, ELEMENT))
            else:
                yield from _added(element, (*path, ELEMENT))
        return
    if _exact(before) != _exact(after):
        if may_write(path):
            yield from _added(after, path)
        else:
            yield path, after


def _added(value: Json, path: Path) -> Iterable[tuple[Path, Json]]:
    """The paths of something new: of its leaves, since each of these has to be allowed."""
    elements = _by_id(value)
    if isinstance(value, dict) and value:
        for key, below in value.items():
            yield from _added(below, (*path, _literal_key(key)))
    elif elements:
        if path == _AGENTS:
            yield path, value  # where nobody was listed, the first that is would become the default
        for element in elements.values():
            yield from _added(element, (*path, ELEMENT))
    else:
        yield path, value


def _exact(value: Json) -> bytes:
    # Python takes True for 1 and 1.0 for 1, at any depth; the configuration does not.
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def _literal_key(key: str) -> str:
    """A key of a mapping, which must not pass for an element of a list."""
    return f'["{key}"]' if key == ELEMENT else key


def _switched_on(before: Json, after: Json, path: Path) -> Iterable[Path]:
    """Paths of dangerous switches that are on now and were not."""
    if isinstance(after, dict):
        old = before if isinstance(before, dict) else {}
        for key, value in after.items():
            if _DANGEROUS.search(key) and bool(value) and not bool(old.get(key)):
                yield (*path, key)
            yield from _switched_on(old.get(key), value, (*path, key))
        return
    if isinstance(after, list):
        elements, known = _by_id(after), _by_id(before)
        for number, element in enumerate(after):
            if elements is not None and known is not None:
                old_element = known.get(list(elements)[number])
            else:
                old_element = before[number] if isinstance(before, list) and number < len(before) else None
            yield from _switched_on(old_element, element, (*path, ELEMENT))


def _by_id(value: Json) -> JsonObject | None:
    """The elements of a list by their ids; None when it is no such list, or two of them share one."""
    if not isinstance(value, list):
        return None
    found: JsonObject = {}
    for element in value:
        name = element.get("id") if isinstance(element, dict) else None
        if not isinstance(name, str) or name in found:
            return None
        found[name] = element
    return found


def _merged(current: JsonObject, patch: JsonObject, path: Path, replace: frozenset[Path]) -> JsonObject:
    result = dict(current)
    for key, value in patch.items():
        here = (*path, key)
        if value is None:
            result.pop(key, None)
        else:
            result[key] = _merged_value(result.get(key), value, here, replace)
    return result


def _merged_value(current: Json, value: Json, path: Path, replace: frozenset[Path]) -> Json:
    if isinstance(value, dict):
        return _merged(current if isinstance(current, dict) else {}, value, path, replace)
    old, new = _by_id(current), _by_id(value)
    if old is None or new is None or canonical(path) in replace:
        return value
    for name, element in new.items():
        old[name] = _merged_value(old.get(name), element, (*path, ELEMENT), replace)
    return list(old.values())
