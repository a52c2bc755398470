"""The headings that only we may write, and how a text of others is kept from writing them.

Pure.
"""

import re
from enum import StrEnum
from typing import Final

from harness.prompt.hygiene import HEADING_SIGN, HEADING_SIGNS, as_seen, escaped, literal, prefix_of, structured
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
_TITLES: Final = "|".join(
    re.escape(title).replace(r"\ ", r"\s+")
    for title in sorted({heading.lstrip("# ") for heading in HEADINGS}, key=len, reverse=True)
)
_TITLE: Final = re.compile(_TITLES, re.IGNORECASE)
_TAG: Final = re.compile(r"<[^<>]*>")
_ASIDE: Final = re.compile(r"\([^()]*\)")
_WORD: Final = re.compile(r"[^\W_]")
_UNDERLINE: Final = re.compile(r"[ \t]*(?:=+|-+)[ \t]*")


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
    marked = any(mark in text for mark in HEADING_SIGNS)
    if not marked and "\n=" not in text and "\n-" not in text:  # far quicker than the look where there is none
        return text
    rows = text.split("\n")
    found: list[str] = []
    for place, row in enumerate(rows):
        if _forges(row):
            found.append(escaped(row))
        elif place and _UNDERLINE.fullmatch(row) and _is_title(rows[place - 1]):
            found.append(f"\\{row}")
        else:
            found.append(row)
    return "\n".join(found)


def _forges(line: str) -> bool:
    """Whether a line passes for a heading of ours: markup, numbers, punctuation and an aside do not change that."""
    if not any(mark in line for mark in HEADING_SIGNS):
        return False
    seen = _TAG.sub("", as_seen(line))
    before = prefix_of(seen)
    return HEADING_SIGN in before and f"\\{HEADING_SIGN}" not in before and _is_title(seen[len(before) :])


def _is_title(text: str) -> bool:
    seen = as_seen(text)
    seen = seen[len(prefix_of(seen)) :]
    title = _TITLE.match(seen)
    return title is not None and _WORD.search(_ASIDE.sub("", seen[title.end() :])) is None
