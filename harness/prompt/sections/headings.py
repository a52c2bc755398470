"""The headings that only we may write, and how a text of others is kept from writing them.

Pure.
"""

import re
import unicodedata
from enum import StrEnum
from typing import Final

from harness.prompt.hygiene import literal, structured
from harness.prompt.sections.joining import lines

UNNAMED: Final = "(a file without a name)"
"""Stands for an empty path."""


class Heading(StrEnum):
    """Every heading that the prompt gives a text of ours, in the order of the prompt.

    `headed` takes these and nothing else, so a section cannot have a heading that others may write.
    """

    TOOLING = "## Tooling"
    DEFERRED_SCHEMAS = "### Deferred Tool Schemas"
    ORCHESTRATION = "## Proactive Sub-Agent Orchestration"
    DELEGATION = "## Sub-Agent Delegation"
    INTERACTION_STYLE = "## Interaction Style"
    TOOL_CALL_STYLE = "## Tool Call Style"
    EXECUTION_BIAS = "## Execution Bias"
    SAFETY = "## Safety"
    CONTROL = "## OpenClaw Control"
    SKILLS = "## Skills"
    SKILL_WORKSHOP = "## Skill Workshop"
    SELF_UPDATE = "## OpenClaw Self-Update"
    ALIASES = "## Model Aliases"
    WORKSPACE = "## Workspace"
    DOCUMENTATION = "## Documentation"
    SANDBOX = "## Sandbox"
    TIME_ZONE = "## Current Date & Time"
    NOTICE = "## Bootstrap Context Notice"
    INJECTED = "## Workspace Files (injected)"
    REASONING_FORMAT = "## Reasoning Format"
    PROJECT_CONTEXT = "# Project Context"
    DYNAMIC_CONTEXT = "# Dynamic Project Context"
    BOOTSTRAP_PENDING = "## Bootstrap Pending"
    MEMORY = "## Memory Recall"
    OUTPUT_DIRECTIVES = "## Assistant Output Directives"
    SILENT_REPLIES = "## Silent Replies"
    APPROVALS = "## Command Approvals"
    ACP_THREADS = "## Coding Agent Threads"
    ELEVATED = "## Elevated Commands"
    OWNERS = "## Authorized Senders"
    EMBED = "## Control UI Embed"
    MESSAGING = "## Messaging"
    MESSAGE_TOOL = "### message tool"
    VOICE = "## Voice (TTS)"
    GROUP_CHAT = "## Group Chat Context"
    SUBAGENT = "## Subagent Context"
    EXEC_STATE = "## Current Exec Session State"
    TASK_ROLE = "## Your Role"
    TASK_RULES = "## Rules"
    TASK_OUTPUT = "## Output Format"
    TASK_LIMITS = "## What You DON'T Do"
    TASK_SPAWNING = "## Sub-Agent Spawning"
    TASK_SESSION = "## Session Context"
    REACTIONS = "## Reactions"
    HEARTBEAT_STYLE = "## Heartbeat Style"
    HEARTBEATS = "## Heartbeats"
    SCHEDULE = "## Scheduled Turn"
    RUNTIME = "## Runtime"


HEADINGS: Final = tuple(each.value for each in Heading)
_TITLES: Final = "|".join(re.escape(heading.lstrip("# ")).replace(r"\ ", r"\s+") for heading in HEADINGS)
_FORGED: Final = re.compile(rf"\s*#{{1,6}}\s*(?:{_TITLES})[\s#:]*", re.IGNORECASE)
_SIGNS: Final = "#\uff03\ufe5f"
"""The sign of a heading, and its full-width and small forms."""
_MARKS: Final = re.compile(f"[{_SIGNS}]")


def headed(heading: Heading, *pieces: str) -> str:
    """Put pieces under a heading of ours; empty when they all are."""
    return lines(heading.value, *pieces) if any(pieces) else ""  # one copy of what may be long


def file_heading(path: str) -> str:
    """The heading of a workspace file: its path, as far as that does not pass for a heading of ours."""
    name = literal(path).strip() or UNNAMED
    own = f"## {name}"
    return f"## ./{name}" if _forges(own) else own


def foreign(text: str) -> str:
    """Make a block of somebody else's text fit to stand in a prompt: normalised, and with no heading of ours."""
    return unforged(structured(text))


def unforged(text: str) -> str:
    """Put a backslash before every line that would pass for a heading of ours; other headings stay."""
    if not any(mark in text for mark in _SIGNS):  # far quicker than the expression where there is none
        return text
    return "\n".join(_MARKS.sub(r"\\\g<0>", line, count=1) if _forges(line) else line for line in text.split("\n"))


def _forges(line: str) -> bool:
    if not _MARKS.search(line):
        return False
    seen = line
    if not line.isascii():
        # As it looks: full-width signs and letters are plain ones, and what has no width is not there.
        seen = "".join(each for each in unicodedata.normalize("NFKC", line) if unicodedata.category(each) != "Cf")
    return _FORGED.fullmatch(seen) is not None
