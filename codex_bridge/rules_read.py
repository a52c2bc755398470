"""Whose rules Codex read when it loaded a thread, and whether it is about to read others than the turn's.

Touches the disk: a thread is judged by what stands in the workspace now, see `rules`.
"""

from pathlib import Path
from typing import Final

from codex_bridge.held import OpenThread, Reloaded
from codex_bridge.lanes import MOST_RULES, LanePlan
from codex_bridge.rules import finds_none, must_be_copied
from codex_bridge.turn import CodexTurn
from codex_bridge.wire.requests import ThreadOpened
from harness.units import utf16_units

EXCHANGED: Final = "The rules were exchanged while this conversation was loaded; a new one was started."
"""Said of a conversation whose session has read rules that it must not, or is about to."""


def plan_by_rules(turn: CodexTurn, *, reads_rules: bool) -> None:
    """Plan anew if Codex would find other rules now than when the turn was composed, which may be long ago.

    Args:
        turn: The turn, whose thread is about to be loaded.
        reads_rules: Whether threads read the rules of their workspace at all.
    """
    if turn.apart:
        return  # its thread reads no rules
    copied = not reads_rules or must_be_copied(turn.request.workspace, turn.request.composition)
    if copied is not turn.lanes.copied:
        turn.route(copied=copied)


def has_strangers_rules(opened: ThreadOpened, turn: CodexTurn) -> bool:
    """Whether the rules were exchanged between our look at them and Codex's; nothing may run on such a thread.

    The thread has no turn of these rules yet, so letting go of it leaves nothing behind.
    """
    if turn.lanes.agents_text is None:
        return False  # Codex was told to read nothing
    return bool(opened.instruction_sources) and must_be_copied(turn.request.workspace, turn.request.composition)


def reads_strangers_rules(thread: OpenThread, turn: CodexTurn) -> bool:
    """Whether Codex is about to read other rules than those that the turn was composed from, or must not read them.

    A thread whose last turn was taken back has its session loaded anew, by the settings that it was opened with.
    """
    if thread.reloaded is Reloaded.NO or not thread.room:
        return False
    workspace = turn.request.workspace
    if turn.lanes.rules is None:
        return not finds_none(workspace)
    return turn.lanes.copied or must_be_copied(workspace, turn.request.composition)


def unexpected_sources(opened: ThreadOpened, lanes: LanePlan, workspace: Path) -> list[str]:
    """One sentence for each instruction file that Codex reads and should not, and for AGENTS.md if it does not."""
    own = str(workspace / "AGENTS.md")
    read = list(opened.instruction_sources)
    told = [f"Codex also reads instructions from {path}." for path in read if path != own]
    if lanes.agents_text is not None and own not in read:
        told.append(f"Codex does not read {own}, so the agent works without it.")
    if lanes.copied and utf16_units((lanes.rules or "").rstrip()) > MOST_RULES:
        told.append(f"{own} is longer than the {MOST_RULES:,} units of a copy, so the agent has only its ends.")
    return told
