"""The tools of a run as lines of a prompt, and which of them a section may speak of.

Pure (prompt-builder 3). A summary says what a tool is for and never names a channel: what its schema carries already
would only make the prompt differ from chat to chat (S29).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import Final

from harness.prompt.facts import Surface, ToolFacts
from harness.prompt.hygiene import literal
from harness.prompt.sections.headings import unforged

CORE: Final[Mapping[str, str]] = MappingProxyType(
    {
        "read": "Read a file",
        "write": "Create a file or replace its content",
        "edit": "Change an exact passage of a file",
        "apply_patch": "Apply a patch to several files",
        "grep": "Search file contents",
        "find": "Find files by name pattern",
        "ls": "List a folder",
        "exec": "Run a shell command; a terminal is available for programs that need one",
        "process": "Look after a command in the background: output, status, input, stop",
        "web_search": "Search the web",
        "web_fetch": "Read one web page as text",
        "browser": "Drive a web browser",
        "canvas": "Show and control a canvas on a device",
        "nodes": "Look at paired devices and act on them",
        "cron": "Set, change and list reminders and scheduled jobs; word a reminder so that it makes sense then",
        "message": "Send messages and use what the channel offers",
        "gateway": "Read and change the gateway's configuration, restart or update it",
        "agents_list": "List the agents that you may start",
        "sessions_list": "List other sessions and subagents",
        "sessions_history": "Read the history of another session",
        "sessions_send": "Send a message to another session",
        "sessions_spawn": "Start a subagent in a session of its own",
        "sessions_yield": "End the turn and be woken when a subagent reports",
        "subagents": "List, steer or stop the subagents of this session",
        "session_status": "Show a status card: the time now, the model, usage; also sets this session's model "
        "(model=default clears that)",
        "skill_workshop": "Create, change and review skills",
        "image": "Look at an image",
        "image_generate": "Make an image",
    }
)
"""The tools that every gateway has, in the order of their lines."""
_WITH_ACP: Final[Mapping[str, str]] = MappingProxyType(
    {
        "agents_list": "List the agents that you may start as subagents; coding agents over ACP are not among them",
        "sessions_spawn": 'Start a subagent, or with runtime="acp" a coding agent, in a session of its own',
    }
)
STANDARD: Final = (
    "grep", "find", "ls", "apply_patch", "exec", "process", "browser", "canvas", "nodes", "cron", "sessions_list",
    "sessions_history", "sessions_send", "sessions_spawn", "sessions_yield", "subagents", "session_status",
)  # fmt: skip
"""What the gateway's own runner has when nothing is said of its tools (prompt-builder 3)."""
NOT_LISTED: Final = "The tools are not listed here: use only those that you are really offered."


@dataclass(frozen=True, slots=True)
class Tools:
    """The tools of a run, ready to be asked for."""

    lines: tuple[str, ...]
    """One for each tool that the model sees."""
    available: frozenset[str]
    """Names in lower case, hidden ones among them."""
    shown: Mapping[str, str]
    """The name as the model knows it, by its lower case."""
    hidden: frozenset[str] = frozenset()
    """Those of `available` that the model does not see until it loads them."""

    def has(self, name: str) -> bool:
        """Whether the model can call the tool."""
        return name in self.available

    def hides(self, name: str) -> bool:
        """Whether the model has to load the tool first."""
        return name in self.hidden

    def called(self, name: str) -> str:
        """The tool's name in the letter case that the model knows."""
        return self.shown.get(name, name)


@lru_cache(maxsize=64)
def tools_of(facts: ToolFacts, surface: Surface, *, acp: bool) -> Tools:
    """Put the tools of a run in order; of two that differ by letter case alone the first counts.

    Args:
        facts: The tools.
        surface: Decides what stands in the place of an empty list.
        acp: Coding agents can be started over ACP from here.
    """
    shown = _by_lower_case(facts.names)
    hidden = _by_lower_case(facts.hidden)
    own = {name.strip().lower(): literal(text).strip() for name, text in facts.summaries}
    order = [*(name for name in CORE if name in shown), *sorted(name for name in shown if name not in CORE)]
    if not order and surface is Surface.MAIN:
        order = list(STANDARD)
        shown = {name: name for name in STANDARD}
    lines = tuple(_line(shown[name], _summary(name, own, acp=acp)) for name in order) or (NOT_LISTED,)
    return Tools(
        lines,
        frozenset(shown) | frozenset(hidden),
        MappingProxyType({**hidden, **shown}),
        frozenset(hidden) - frozenset(shown),
    )


def _by_lower_case(names: Iterable[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for name in names:
        clean = literal(name).strip()
        if clean:
            found.setdefault(clean.lower(), clean)
    return found


def _summary(name: str, own: Mapping[str, str], *, acp: bool) -> str:
    if acp and name in _WITH_ACP:
        return _WITH_ACP[name]
    return CORE.get(name) or own.get(name, "")


def _line(name: str, summary: str) -> str:
    return unforged(f"- {name}: {summary}" if summary else f"- {name}")
