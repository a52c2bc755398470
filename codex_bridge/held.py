"""What a conversation was told, as far as Codex may forget it, say it by itself, or never take it in.

Pure. A loaded thread takes in no edited file, so a turn tells of it. Codex reads AGENTS.md when it loads the session of
a thread, on a start, on a resume and after a revert, and again with a turn whose sandbox is another than that of the
turn before (measured); what it reads anew it says by itself. So a text is ours to say only where Codex will not.
"""

from collections.abc import Mapping
from dataclasses import field, replace
from enum import Enum
from functools import lru_cache
from hashlib import sha256
from typing import Final

from codex_bridge.entries import of_chat
from codex_bridge.lanes import LanePlan, changed_developer, changed_rules
from codex_bridge.params import OPENING_SANDBOX, ThreadSettings, of_round
from codex_bridge.wire.requests import ThreadOpened
from harness.lean_values import dataclass
from harness.store.bound import Basis, Holds
from harness.turns import Trigger

NO_RULES: Final = "none"
"""Stands for the digest of an AGENTS.md that is not there."""


class Reloaded(Enum):
    """Whether a revert has loaded the session of a thread anew."""

    NO = "no"
    PERHAPS = "nobody heard the answer"
    YES = "yes"


@dataclass(slots=True)
class OpenThread:
    """A thread that a server has loaded for us, and what it was told when it was opened."""

    opened: ThreadOpened
    basis: Basis
    """What it was begun with, as far as it is known."""
    began: Holds
    """What it was opened with; a compaction brings the conversation back to that, without the quoted files."""
    holds: Holds
    """What the conversation was told since."""
    stored: Holds | None
    """What the store says of that; None when it says nothing."""
    environment: Mapping[str, str] = field(repr=False)
    """What its commands get besides what the server has."""
    has_history: bool = True
    """Whether turns came before, so that a fresh thread would hold less."""
    context_round: int = 0
    """How often the server has forgotten the additional context of this thread."""
    told_override: bool = False
    """Whether the operator knows of the override file that stands in the workspace."""
    told: tuple[str, ...] = ()
    """What the operator was last told of where layers of a turn travel; empty while all travel as usual."""
    used_at: float = 0.0
    """When its last turn was over, by the clock of the harness."""
    children: set[str] = field(default_factory=set[str])
    """The threads of subagents that worked for it; they stay loaded with it."""
    room: int = 0
    """Bytes of AGENTS.md that Codex reads by itself whenever it loads the thread's session; 0: it reads none."""
    reloaded: Reloaded = Reloaded.NO
    """Whether the session was loaded anew since the last turn began."""
    reread: str | None = None
    """AGENTS.md as it was then; None for none."""
    chat: Mapping[str, str] = field(default_factory=dict[str, str])
    """What was last said of the chat, by the names of the entries, as far as this process said it."""
    edits: frozenset[str] = frozenset()
    """Which edited texts the server has in its map of additional context, and says again after a compaction."""


@lru_cache(maxsize=64)
def digest_of(context: str) -> str:
    """What is remembered of a text, to tell whether a conversation holds it already."""
    return sha256(context.encode("utf-8", "replace")).hexdigest()[:16] if context else ""


def rules_of(text: str | None) -> str:
    """What is remembered of an AGENTS.md; None is one that is not there."""
    return digest_of(text) if text is not None else NO_RULES


def holds_of(lanes: LanePlan, *, tools: str = "", heard: int = 0, said: str = "") -> Holds:
    """What a conversation holds that was told everything of these lanes, and has these tools and heard so much.

    Args:
        lanes: What it was told.
        tools: See `Holds`.
        heard: See `Holds`.
        said: See `Holds`.
    """
    return Holds(
        context=digest_of(lanes.turn_context),
        rules=rules_of(lanes.rules),
        developer=digest_of(lanes.developer_without_rules),
        tools=tools,
        heard=heard,
        said=said,
    )


def with_chat(lanes: LanePlan, thread: OpenThread, trigger: Trigger) -> LanePlan:
    """The texts of a turn that no chat caused, with what holds on of the chat that it runs in."""
    return lanes if trigger is Trigger.CHAT or not thread.chat else lanes.holding(thread.chat)


def changes(thread: OpenThread, now: Holds, lanes: LanePlan) -> dict[str, str]:
    """What was edited since the conversation was last told, for the additional context, by name."""
    found: dict[str, str] = {}
    if thread.holds.rules != now.rules:
        found["rules"] = changed_rules(lanes.rules)
    if thread.holds.developer != now.developer:
        found["instructions"] = changed_developer(lanes.developer_without_rules)
    return found


def standing_edits(thread: OpenThread, now: Holds, lanes: LanePlan) -> dict[str, str]:
    """What the conversation was told of edits and its session has not taken in, by name.

    The server has it in its map, says nothing of it again, and where it remembers the map says it after a compaction,
    which brings the session's own texts back.
    """
    found: dict[str, str] = {}
    if "rules" in thread.edits and thread.holds.rules == now.rules != thread.began.rules:
        found["rules"] = changed_rules(lanes.rules)
    if "instructions" in thread.edits and thread.holds.developer == now.developer != thread.began.developer:
        found["instructions"] = changed_developer(lanes.developer_without_rules)
    return found


def told(thread: OpenThread, now: Holds, lanes: LanePlan, trigger: Trigger, edits: Mapping[str, str]) -> None:
    """A turn has begun that said all of this."""
    thread.reloaded = Reloaded.NO
    differs = {"rules": thread.began.rules != now.rules, "instructions": thread.began.developer != now.developer}
    thread.edits = frozenset(name for name in edits if differs[name])
    if trigger is Trigger.CHAT:
        texts = lanes.standing
        thread.chat = {key: texts[key] for key in of_chat(texts)}


def perhaps(before: Holds, now: Holds) -> Holds:
    """What a conversation holds for sure that was told what `now` says, or was not; and all that may have to end."""
    return replace(before, said=" ".join(sorted({*before.said.split(), *now.said.split()})))


def summarised(thread: OpenThread, *, remembers: bool) -> None:
    """A summary took the place of the conversation, the quoted files in it too: the next turn quotes them anew.

    Args:
        thread: The thread.
        remembers: Whether the server says the additional context again by itself.
    """
    said, began = thread.holds.said, thread.began
    if remembers:
        if "rules" in thread.edits:
            began = replace(began, rules=thread.holds.rules)
        if "instructions" in thread.edits:
            began = replace(began, developer=thread.holds.developer)
    else:
        # It says none of it again, save what is new to the turn that begins with the compaction (measured).
        said, thread.edits = of_round(said, thread.context_round), frozenset()
        thread.context_round += 1
    thread.holds = replace(began, heard=thread.holds.heard, said=said, ended=thread.holds.ended)


def taken_back(thread: OpenThread, before: Holds, rules: str | None) -> None:
    """A revert took the last turn out of the conversation, and loaded its session anew.

    Args:
        thread: The thread.
        before: What the conversation held before that turn.
        rules: AGENTS.md as it stood when the session was loaded.
    """
    thread.holds, thread.edits = before, frozenset()
    thread.reloaded, thread.reread = Reloaded.YES, rules


def after_reload(thread: OpenThread, lanes: LanePlan, settings: ThreadSettings) -> None:
    """Take in what Codex says by itself with the first turn after a revert: an edited AGENTS.md, and no other text."""
    if thread.reloaded is not Reloaded.YES or not thread.room:
        return
    # A turn in another sandbox has the file read once more.
    read = thread.reread if settings.sandbox == OPENING_SANDBOX else lanes.rules
    if read is None:
        thread.began = replace(thread.began, rules=NO_RULES)
    elif len(read.encode("utf-8", "replace")) <= thread.room:  # else it cuts it, and we say the whole
        thread.began = replace(thread.began, rules=rules_of(read))
        thread.holds = replace(thread.holds, rules=rules_of(read))


def after_resume(stored: Holds, now: Holds, lanes: LanePlan, settings: ThreadSettings) -> Holds:
    """What a conversation holds once its thread is loaded again by another process.

    Codex itself tells it of an edited AGENTS.md then, though not of one that is gone (measured). When it is kept from
    reading the file, it says that no rules hold any more, so ours are said after that.
    """
    if not settings.reads_rules:  # it never read the file, and its history has our copy
        return replace(stored, developer=stored.developer or now.developer)
    if lanes.copied:
        return replace(stored, rules="", developer=stored.developer or now.developer)
    rules = now.rules if now.rules != NO_RULES else stored.rules or now.rules
    return replace(stored, rules=rules, developer=stored.developer or now.developer)
