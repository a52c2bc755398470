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
from harness.skills.values import Refused, Skill, SkillCommand, Why

VERSION_DIGITS: Final = 16
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
    name = " ".join(_CONTROL.sub(" ", values.get("name", "")).split()) or PurePath(directory).name
    description = _CONTROL.sub("", values.get("description", "")).strip()
    if not description:
        reason = head.problems[0] if head.problems and not values else "its head has no description; add one"
        return Refused(name, file, source, Why.INCOMPLETE, reason, plugin)
    asked = read_metadata(values.get("metadata", ""), otherwise=head.structures.get("metadata", ""))
    command, command_problems = _command(values)
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
        homepage=values.get("homepage", "").strip() or asked.homepage,
        emoji=asked.emoji,
        install=asked.install,
        user_invocable=read_boolean(values.get("user-invocable"), default=True),
        model_invocable=not read_boolean(values.get("disable-model-invocation"), default=False),
        command=command,
        plugin=plugin,
        problems=(*_encoding(raw), *head.problems, *_booleans(head), *asked.problems, *command_problems),
    )


def read_boolean(text: str | None, *, default: bool) -> bool:
    """Read true, 1, yes, on, false, 0, no, off in any letter case; anything else is `default`."""
    return default if text is None else _BOOLEANS.get(text.strip().lower(), default)


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
    tool = values.get("command-tool", "").strip()
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
