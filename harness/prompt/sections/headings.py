"""The headings that only we may write, and how a text of others is kept from writing them.

Pure.
"""

import re
from typing import Final

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
_TITLES: Final = "|".join(re.escape(heading.lstrip("# ")).replace(r"\ ", r"[ \t]+") for heading in HEADINGS)
_FORGED: Final = re.compile(
    rf"^(?!{TASK}$)([ \t]*)(#{{1,6}}[ \t]*(?:{_TITLES})[ \t#:]*)$", re.MULTILINE | re.IGNORECASE
)


def unforged(text: str) -> str:
    """Put a backslash before every line that would pass for a heading of ours; other headings stay."""
    return _FORGED.sub(r"\1\\\2", text) if "#" in text else text
