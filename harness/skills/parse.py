"""What the bytes of a SKILL.md mean.

Pure: bytes and their place in, a `Skill` or the reason why there is none out.
"""

import hashlib
import re
from pathlib import PurePath
from typing import Final

from harness.settings.skills import SkillSource
from harness.skills.frontmatter import Frontmatter, read_frontmatter
from harness.skills.metadata import read_metadata
from harness.skills.shown import shown
from harness.skills.values import Refused, Skill, SkillCommand, Why
from harness.units import utf16_units
from harness.workspace.boundaries import head as beginning

VERSION_DIGITS: Final = 16
MAX_NAME_UNITS: Final = 200
"""The longest name in UTF-16 units: one that fills the whole list would keep every other skill out of it."""
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_BOOLEANS: Final = {
    "true": True,
    "1": True,
    "yes": True,
    "on": True,
    "false": False,
    "0": False,
    "no": False,
    "off": False,
}


def parse_skill(raw: bytes, *, file: str, source: SkillSource, plugin: str = "") -> Skill | Refused:
    """Understand one file (prompt-builder 8.3).

    Args:
        raw: The whole file.
        file: Its absolute path; the folder's name stands in for a missing `name`.
        source: Where it was found.
        plugin: The id of the plugin that brings it, or empty.
    """
    directory = str(PurePath(file).parent)
    head = read_frontmatter(raw.decode("utf-8", "replace"))
    values = head.values
    name, name_problems = _name(values.get("name", ""), PurePath(directory).name)
    description = _text(values.get("description", ""))
    if not description:
        reason = shown(head.problems[0]) if head.problems and not values else "its head has no description; add one"
        return Refused(name, file, source, Why.INCOMPLETE, reason, plugin)
    asked = read_metadata(values.get("metadata", ""), otherwise=head.structures.get("metadata", ""))
    command, command_problems = _command(values)
    problems = (*_encoding(raw), *head.problems, *name_problems, *_booleans(head), *asked.problems, *command_problems)
    return Skill(
        name=name,
        description=description,
        source=source,
        file=file,
        directory=directory,
        version=f"sha256:{hashlib.sha256(raw).hexdigest()[:VERSION_DIGITS]}",
        gates=asked.gates,
        key=asked.key or name,
        primary_env=asked.primary_env,
        homepage=_text(values.get("homepage", "")) or asked.homepage,
        emoji=asked.emoji,
        install=asked.install,
        user_invocable=read_boolean(values.get("user-invocable"), default=True),
        model_invocable=not read_boolean(values.get("disable-model-invocation"), default=False),
        command=command,
        unclear=head.broken or asked.unclear,
        plugin=plugin,
        problems=tuple(map(shown, problems)),
    )


def read_boolean(text: str | None, *, default: bool) -> bool:
    """Read true, 1, yes, on, false, 0, no, off in any letter case; anything else is `default`."""
    return default if text is None else _BOOLEANS.get(text.strip().lower(), default)


def _text(written: str) -> str:
    return _CONTROL.sub("", written).strip()


def _name(written: str, folder: str) -> tuple[str, list[str]]:
    name = " ".join(_CONTROL.sub(" ", written).split()) or folder
    units = utf16_units(name)
    if units <= MAX_NAME_UNITS:
        return name, []
    problem = f"its name has {units} characters, and only the first {MAX_NAME_UNITS} count; shorten it"
    return beginning(name, MAX_NAME_UNITS).rstrip(), [problem]


def _booleans(head: Frontmatter) -> list[str]:
    return [
        f"{key} must be true or false, not {head.values[key]!r}, so it is ignored"
        for key in ("user-invocable", "disable-model-invocation")
        if key in head.values and head.values[key].strip().lower() not in _BOOLEANS
    ]


def _command(values: dict[str, str]) -> tuple[SkillCommand | None, list[str]]:
    dispatch = values.get("command-dispatch", "").strip().lower()
    if not dispatch:
        return None, []
    if dispatch != "tool":
        return None, [f"command-dispatch can only be tool, not {dispatch!r}, so it is ignored"]
    tool = _text(values.get("command-tool", ""))
    if not tool:
        return None, ["command-dispatch is tool but command-tool names none; add it"]
    mode = values.get("command-arg-mode", "raw").strip().lower()
    odd = [] if mode in {"", "raw"} else [f"command-arg-mode can only be raw, not {mode!r}, so raw is used"]
    return SkillCommand(tool), odd


def _encoding(raw: bytes) -> list[str]:
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError as error:
        return [f"byte {error.start + 1} is not UTF-8; save the file as UTF-8"]
    return []
