"""Tags of Codex's and headings of ours, and how a text is kept from setting any.

Pure. Codex puts a text into its frame as it is (protocol reference, 3.4), so whatever we quote loses them first.
"""

import re
from typing import Final

from codex_bridge.wording import (
    AGENTS_INTRO,
    BLOCK_INTRO,
    CONTEXT_INTRO,
    CRON_TITLE,
    CUTS_TITLE,
    DEFAULT_MODE,
    EXTRA_INTRO,
    GROUP_TITLE,
    HEARTBEAT_TITLE,
    MEMORY_TITLE,
    PERSONA_INTRO,
    SKILLS_TITLE,
    SUBAGENTS,
    TOOL_MANIFEST,
    TOOLS_INTRO,
)
from harness.workspace.names import LAYER_OF

_FRAMES: Final = re.compile(
    r"<(?=/?(?:collaboration_mode|environment_context|permissions instructions|user_instructions|multi_agent_role|"
    r"multi_agent_mode|subagent_notification|turn_aborted|model_switch|tools|skills_instructions)>|/?gateway_|/?external_)",
    re.IGNORECASE,
)
"""Tags that Codex puts around texts, its own and ours, entries of the additional context by their keys among them."""
_NOT_NATIVE: Final = re.compile(rf"</instructions>|{_FRAMES.pattern}", re.IGNORECASE)
"""What an AGENTS.md must not hold that Codex reads by itself: it would end the frame around it, or open another."""
_TITLES: Final = tuple(
    text.partition("\n")[0].removeprefix("# ")
    for text in (
        AGENTS_INTRO, BLOCK_INTRO, CONTEXT_INTRO, CRON_TITLE, CUTS_TITLE, DEFAULT_MODE, EXTRA_INTRO, GROUP_TITLE,
        HEARTBEAT_TITLE, MEMORY_TITLE, PERSONA_INTRO, SKILLS_TITLE, SUBAGENTS, TOOLS_INTRO, TOOL_MANIFEST,
    )
)  # fmt: skip
_HEADINGS: Final = re.compile(
    r"#(?<![^\r\n]#)(?=[ \t]+(?:" + "|".join(map(re.escape, _TITLES)) + r")[ \t#]*(?:[\r\n]|\Z)"
    r"|#[ \t]+(?:" + "|".join(map(re.escape, LAYER_OF)) + r")[ \t#]*(?:[\r\n]|\Z))",
    re.IGNORECASE,
)
"""Headings of ours: of a section, and of a file that is quoted in one."""


def breaks_out(rules: str | None) -> bool:
    """Whether an AGENTS.md holds a tag that would end the frame which Codex puts around it, or open another."""
    return rules is not None and _NOT_NATIVE.search(rules) is not None


def unframed(text: str) -> str:
    """Keep a text from closing the frame that it stands in, which Codex does not (protocol reference, 3.4).

    Nor may it open another one, or pass for a section of ours.
    """
    text = _FRAMES.sub("&lt;", text) if "<" in text else text
    return _HEADINGS.sub(r"\\#", text) if "#" in text else text


def one_line(name: str) -> str:
    """A name in which nothing ends the line that it stands in."""
    return name if name.isprintable() else "".join(each if each.isprintable() else "?" for each in name)
