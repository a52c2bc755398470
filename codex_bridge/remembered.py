"""What is remembered of the conversations, and when: which thread each has, what that was told, and what was said.

What is to be forgotten is forgotten at once, though the store may learn of it later only; what began before brings no
thread back.
"""

import logging
from collections.abc import Callable, Iterable
from dataclasses import replace

from codex_bridge.aftermath import left_by
from codex_bridge.compatibility import UNKNOWN
from codex_bridge.held import OpenThread
from codex_bridge.servers import Connection
from codex_bridge.spoken import spoken, words_of
from codex_bridge.turn import CodexTurn
from harness.errors import StoreError
from harness.layers import Layer, LayerName, Lifetime, Trust
from harness.projection import project
from harness.store.bindings import Bindings
from harness.store.bound import Binding, Holds
from harness.store.transcript import Spoken
from harness.turns import Notice, TurnResult

logger = logging.getLogger(__name__)


class Remembered:
    """Keeps what conversations have been told, and lets go of what they are to forget.

    A store that fails costs no turn. It is told once, and until it works again nothing new outlasts this process.

    Args:
        bindings: The store.
        backend: The name of the home; see `threads.backend_of`.
        projection: Units of what was said that are quoted to a thread at most that does not know it.
        now: The time, in Unix seconds.
    """

    def __init__(self, bindings: Bindings, backend: str, projection: int, now: Callable[[], float]) -> None:
        self._bindings = bindings
        self._backend = backend
        self._projection = projection
        self._now = now
        self.forgotten: dict[str, int] = {}
        """How often each conversation was forgotten. What began before the last time brings no thread back."""
        self._cleared: dict[str, int] = {}
        """The last of these times at which its words were to go too."""
        self._stale: dict[str, bool] = {}
        """Conversations of which the store still names a thread that was forgotten; True: and words that should be."""
        self._outgrown: dict[str, str] = {}
        """Why conversations lost their thread, of those whose next turn has yet to say so."""
        self._ended: dict[str, str] = {}
        """How the last turn was ended of conversations whose server was gone by then."""
        self._ailing = False
        """Whether the store failed when it was last to keep something."""
        self._untold = ""
        """What the operator does not know of that yet."""

    async def bound(self, session_key: str) -> Binding | None:
        """The binding of a chat that has no loaded thread; None for none, or for one that was forgotten."""
        try:
            await self._settle(session_key)
        except StoreError as error:
            logger.warning("%s", error)
            return None
        return await self._bindings.get(self._backend, session_key)

    def binding(self, session_key: str, thread: OpenThread) -> Binding:
        """The binding of a chat whose thread is loaded, as it stands now."""
        return Binding(self._backend, session_key, thread.opened.thread.id, thread.holds, thread.basis)

    def still(self, session_key: str, begun: int) -> bool:
        """Whether the conversation was not forgotten since `begun`."""
        return self.forgotten.get(session_key, 0) == begun

    def tell(self, turn: CodexTurn) -> None:
        """Say what became of the store, once."""
        for text in [*self._bindings.take_notices(), *([self._untold] if self._untold else [])]:
            turn.buffer.push(Notice(text))
        self._untold = ""

    async def catch_up(self, thread: OpenThread, turn: CodexTurn) -> None:
        """Find what was said in the chat that the thread does not know: its first turn, or the next one, quotes it."""
        key, holds = turn.key, thread.holds
        text, last = "", self._bindings.last(key)
        if last > holds.heard and key not in self._stale:
            try:
                rows = await self._bindings.unheard(key, thread.opened.thread.id, holds.heard)
            except StoreError as error:
                last = holds.heard
                turn.buffer.push(Notice(f"{error} This turn runs without what was said before."))
            else:
                text = project(rows, self._projection)
        turn.heard = max(last, holds.heard)
        if text or turn.history is not None:
            source = f"{key} {turn.heard}"  # the number goes along, see `entries.HISTORY_KEY`
            turn.history = Layer(LayerName.HISTORY, source, Lifetime.INPUT, Trust.OUTSIDER, text) if text else None
            turn.route(copied=turn.lanes.copied)

    async def bind(self, turn: CodexTurn, thread: OpenThread) -> None:
        """Bind a chat to a new thread, which nobody uses yet.

        First the store: a thread that is used without being remembered would be lost at the next start. And before
        anybody can forget it: the store does one thing after the other. A store that fails is told once.
        """
        stored = Holds(tools=turn.tools.fingerprint)
        try:
            await self._settle(turn.key)
            await self._bindings.put(replace(self.binding(turn.key, thread), holds=stored))
            thread.stored, self._ailing = stored, False
        except StoreError as error:
            self._ail(error)

    async def will_say(self, connection: Connection, session_key: str, said: str) -> None:
        """Store the names under which a turn is about to say what holds, if they are new to the conversation.

        A crash in the middle of the turn must not leave one that nobody ends.
        """
        thread = connection.threads.get(session_key)
        if thread is None or thread.stored is None:
            return
        known = frozenset(thread.stored.said.split())
        names = known.union(said.split())
        if names == known:
            return
        stored = replace(thread.stored, said=" ".join(sorted(names)))
        try:
            await self._settle(session_key)
            await self._bindings.put(replace(self.binding(session_key, thread), holds=stored))
            thread.stored = stored
        except StoreError as error:
            self._ail(error)

    def note_end(self, turn: CodexTurn, result: TurnResult, thread: OpenThread) -> None:
        """Have the next turn of the conversation told how this one was really ended."""
        if turn.vanished or turn.aside or turn.compacts:
            return  # nothing of it is there, or nothing that was said
        interrupted = turn.ledger is not None and turn.ledger.interrupted
        ended = left_by(result, at=self._now(), limit=turn.limit, interrupted=interrupted)
        if ended is not None and ended != thread.holds.ended:
            thread.holds = replace(thread.holds, ended=ended)

    async def remember(self, connection: Connection | None, turn: CodexTurn, thread: OpenThread) -> None:
        """Keep what a turn said, and what its conversation was told, in one write.

        For the end of a turn, when Codex has written down what it was given. A store that fails is told once: what was
        not kept is said once more after a restart.
        """
        key, words = turn.key, spoken(turn)
        if self._cleared.get(key, 0) > turn.begun:
            return
        try:
            if connection is None or connection.threads.get(key) is not thread:
                # A thread that did not last, or a server that is gone: nobody knows what it has written down.
                if turn.buffer.result is not None and turn.buffer.result.turn and not (turn.aside or turn.compacts):
                    self._ended[key] = thread.holds.ended
                if words is not None:
                    await self._bindings.mirror(key, replace(words, conversation=""))
            elif words is not None:
                await self._settle(key)
                stored, thread.stored = thread.stored, thread.holds
                try:
                    heard = await self._bindings.record(self.binding(key, thread), words)
                except StoreError:
                    thread.stored = stored
                    raise
                thread.holds = thread.stored = replace(thread.holds, heard=heard)
                self._ailing = False
            else:
                await self.store(connection, key)
        except StoreError as error:
            self._ail(error)

    async def store(self, connection: Connection, session_key: str) -> None:
        """Store what a conversation was told, unless the store says so already; one that fails is only logged."""
        thread = connection.threads.get(session_key)
        if thread is None or thread.stored == thread.holds:
            return
        before, thread.stored = thread.stored, thread.holds
        try:
            await self._settle(session_key)
            await self._bindings.put(self.binding(session_key, thread))
        except StoreError as error:
            thread.stored = before
            self._ail(error)

    async def is_stored(self, connection: Connection, session_key: str) -> bool:
        """Whether the store knows what a loaded conversation was told, by now: who loads it again asks the store."""
        await self.store(connection, session_key)
        thread = connection.threads.get(session_key)
        return thread is not None and thread.stored == thread.holds

    async def add_words(self, turn: CodexTurn, words: Iterable[Layer]) -> None:
        """Keep what was said into a turn that was lost, where only now it is known that Codex had taken it."""
        result = turn.buffer.result
        if turn.apart or result is None:
            return
        try:
            await self._bindings.mirror(turn.key, Spoken(said=words_of(words), answered="", turn=result.turn))
        except StoreError as error:
            self._ail(error)

    async def begin_anew(self, connection: Connection | None, turn: CodexTurn) -> None:
        """Let go of the conversation, for a turn that asked for that, also when no server can be had for it then."""
        self._let_go(connection, turn.key, words=True)
        try:
            await self._settle(turn.key)
        except StoreError as error:
            turn.buffer.push(Notice(f"{error} This conversation begins anew all the same."))

    async def clear(self, connection: Connection | None, session_key: str) -> None:
        """Let the next turn of a conversation begin a new thread that knows nothing of what was said before.

        Raises:
            StoreError: The store cannot be written. Until this process ends nothing of it is used again all the same.
        """
        self._let_go(connection, session_key, words=True)
        await self._settle(session_key)

    async def drop(self, connection: Connection | None, session_key: str, why: str = "") -> int:
        """Let the next turn of a conversation begin a new thread, whatever its present turn is doing.

        Gives how often it was forgotten by then. A store that fails is only logged: until this process ends the thread
        is not used again all the same. The next turn tells `why`, if that is said.
        """
        begun = self._let_go(connection, session_key)
        if why:
            self._outgrown[session_key] = why
        try:
            await self._settle(session_key)
        except StoreError as error:
            logger.warning("forgetting the thread of %s: %s", session_key, error)
        return begun

    async def rebind(self, connection: Connection, session_key: str, thread_id: str) -> None:
        """Bind a conversation to a thread that somebody else began; what the chat said before is not told it.

        Raises:
            StoreError: The store cannot be used; the conversation keeps its thread.
        """
        await self._bindings.get(self._backend, session_key)
        holds = Holds(developer=UNKNOWN, tools=UNKNOWN, heard=self._bindings.last(session_key))
        await self._bindings.put(Binding(self._backend, session_key, thread_id, holds))
        self._let_go(connection, session_key)
        self._stale.pop(session_key, None)

    def why_lost(self, session_key: str) -> str:
        """Why a conversation lost its thread, if that has yet to be said; it counts as said then."""
        return self._outgrown.pop(session_key, "")

    def noted_end(self, bound: Binding) -> str:
        """How the last turn of a conversation was ended, by what is noted of it in this process or the store."""
        return self._ended.pop(bound.session_key, bound.holds.ended)

    def _let_go(self, connection: Connection | None, session_key: str, *, words: bool = False) -> int:
        begun = self.forgotten[session_key] = self.forgotten.get(session_key, 0) + 1
        if words:
            self._cleared[session_key] = begun
        self._stale[session_key] = words or self._stale.get(session_key, False)
        self._ended.pop(session_key, None)
        self._outgrown.pop(session_key, None)
        thread = connection.threads.pop(session_key, None) if connection is not None else None
        if connection is not None and thread is not None:
            connection.left |= {thread.opened.thread.id, *thread.children}
        return begun

    async def _settle(self, session_key: str) -> None:
        """Make the store forget what it should have forgotten before."""
        if session_key not in self._stale:
            return
        if self._stale[session_key]:
            await self._bindings.clear(session_key)
        else:
            await self._bindings.forget(self._backend, session_key)
        self._stale.pop(session_key, None)

    def _ail(self, error: StoreError) -> None:
        """The store keeps nothing at the moment: say so once, and not again before it worked."""
        logger.warning("%s", error)
        if not self._ailing:
            self._untold = f"{error} Until it can, nothing new is remembered over a restart."
        self._ailing = True
