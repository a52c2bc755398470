"""The headings that only we may write, and how a text of others is kept from writing them.

Pure.
"""

import re
import unicodedata
from typing import Final

from harness.prompt.hygiene import structured

HEADINGS: Final = (
    "## Tooling",
    "### Deferred Tool Schemas",
    "## Proactive Sub-Agent Orchestration",
    "## Sub-Agent Delegation",
    "## Tool Call Style",
    "## Execution Bias",
    "## Safety",
    "## OpenClaw Control",
    "## Skills",
    "## Skill Workshop",
    "## OpenClaw Self-Update",
    "## Model Aliases",
    "## Workspace",
    "## Documentation",
    "## Sandbox",
    "## Current Date & Time",
    "## Bootstrap Context Notice",
    "## Workspace Files (injected)",
    "## Reasoning Format",
    "# Project Context",
    "# Dynamic Project Context",
    "## Bootstrap Pending",
    "## Memory Recall",
    "## Assistant Output Directives",
    "## Silent Replies",
    "## Elevated Commands",
    "## Authorized Senders",
    "## Control UI Embed",
    "## Messaging",
    "### message tool",
    "## Voice (TTS)",
    "## Group Chat Context",
    "## Subagent Context",
    "## Reactions",
    "## Heartbeats",
    "## Scheduled Turn",
    "## Runtime",
)
"""Every heading of a section, in the order of the prompt."""
TASK: Final = "# Subagent Context"
"""The heading of the text that a subagent's task is told in; the one of our titles that such a text may have."""
_TITLES: Final = "|".join(re.escape(heading.lstrip("# ")).replace(r"\ ", r"\s+") for heading in HEADINGS)
_FORGED: Final = re.compile(rf"\s*#{{1,6}}\s*(?:{_TITLES})[\s#:]*", re.IGNORECASE)
_MARKS: Final = re.compile("[#\uff03\ufe5f]")
"""The sign of a heading, and its full-width and small forms."""


def foreign(text: str) -> str:
    """Make a block of somebody else's text fit to stand in a prompt: normalised, and with no heading of ours."""
    return unforged(structured(text))


def unforged(text: str) -> str:
    """Put a backslash before every line that would pass for a heading of ours; other headings stay."""
    if not _MARKS.search(text):
        return text
    return "\n".join(_MARKS.sub(r"\\\g<0>", line, count=1) if _forges(line) else line for line in text.split("\n"))


def _forges(line: str) -> bool:
    if not _MARKS.search(line):
        return False
    seen = line
    if not line.isascii():
        # As it looks: full-width signs and letters are plain ones, and what has no width is not there.
        seen = "".join(each for each in unicodedata.normalize("NFKC", line) if unicodedata.category(each) != "Cf")
    return seen.strip() != TASK and _FORGED.fullmatch(seen) is not None
