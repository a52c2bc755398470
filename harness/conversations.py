"""What each conversation of an agent holds, as far as the next turn depends on it.

Pure: a turn says what it carries when it begins, and its result says whether that was heard. Who makes the
`Conversations` may keep them over restarts, see `harness.store.held_file`; a conversation of which nothing is known
counts as one that was told nothing, so that nothing is missing from it.
"""

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from harness.lean_values import dataclass
from harness.turns import Outcome, TurnResult

MOST_CONVERSATIONS: Final = 1024
"""Conversations that are remembered: those with the latest turns. A forgotten one is told everything anew."""
_HEARD: Final = frozenset({Outcome.ANSWERED, Outcome.EMPTY})


@dataclass(frozen=True, slots=True)
class Held:
    """What a conversation holds."""

    id: str | None = None
    """The backend's name for it; None before its first turn has ended."""
    holds_files: bool = False
    """It was told the workspace's files, and nothing took them out of it since."""
    cuts_told: tuple[str, ...] = ()
    """Signatures of the cut files that it was told of, oldest first."""
    compacted: bool = False
    """It was compacted, and was not told since what holds still."""


NOTHING: Final = Held()
"""Of a conversation that begins."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Carried:
    """What a turn tells its conversation, if it is heard and stays in it."""

    files: bool = False
    cuts_told: tuple[str, ...] = ()
    refresh: bool = False


class Conversations:
    """The conversations of one agent, by session key.

    Args:
        known: What is known of them already.
        keep: Called with all that is worth keeping whenever that changes.
    """

    def __init__(
        self,
        known: Mapping[str, Held] = MappingProxyType({}),
        keep: Callable[[Mapping[str, Held]], None] = lambda _: None,
    ) -> None:
        self._known = OrderedDict(known)
        self._keep = keep
        self._running: dict[str, int] = {}

    def held(self, session_key: str) -> Held:
        """What the conversation holds for sure; a turn that still runs may take the files out of it."""
        known = self._known.get(session_key, NOTHING)
        return replace(known, holds_files=False) if known.holds_files and session_key in self._running else known

    def forget(self, session_key: str) -> None:
        """The next turn begins a new conversation."""
        self._put(session_key, NOTHING)

    def begin(self, session_key: str, carried: Carried | None) -> Callable[[TurnResult], None]:
        """Note that a turn begins; the answer is to be called once with its result, before the next turn begins.

        Args:
            session_key: The conversation.
            carried: What the turn tells; None for a turn that may be taken out of the conversation again.
        """
        self._running[session_key] = self._running.get(session_key, 0) + 1

        def ended(result: TurnResult) -> None:
            left = self._running[session_key] - 1
            if left:
                self._running[session_key] = left
            else:
                del self._running[session_key]
            self._put(session_key, _after(self._known.get(session_key, NOTHING), carried, result))

        return ended

    def _put(self, session_key: str, held: Held) -> None:
        before = self._known.get(session_key, NOTHING)
        self._known[session_key] = held
        self._known.move_to_end(session_key)
        if len(self._known) > MOST_CONVERSATIONS:
            self._known.popitem(last=False)
        if before != held and (_is_worth_keeping(before) or _is_worth_keeping(held)):
            self._keep({key: each for key, each in self._known.items() if _is_worth_keeping(each)})


def _is_worth_keeping(held: Held) -> bool:
    return held.holds_files or bool(held.cuts_told) or held.compacted


def _after(before: Held, carried: Carried | None, result: TurnResult) -> Held:
    """What a conversation holds after a turn."""
    if before.id is not None and result.conversation and result.conversation != before.id:
        before = NOTHING  # the backend began a new one by itself
    # Most turns leave a conversation as it was, and a copy for each of these steps would cost more than the looks.
    now = replace(before, id=result.conversation) if result.conversation not in ("", before.id) else before
    if result.compacted:
        return replace(now, holds_files=False, compacted=True)
    if carried is None or result.outcome not in _HEARD:
        return now
    after = (
        now.holds_files or carried.files,
        carried.cuts_told or now.cuts_told,
        now.compacted and not carried.refresh,
    )
    if after == (now.holds_files, now.cuts_told, now.compacted):
        return now
    return replace(now, holds_files=after[0], cuts_told=after[1], compacted=after[2])
