"""Which thread a turn runs on: the one that is loaded, the one that is remembered, or a new one.

What fits is said by `compatibility.decide`, what a refusal means by `failures`; this module does what they say.
"""

import logging
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Final

import anyio

from codex_bridge.aftermath import left_by
from codex_bridge.compatibility import UNKNOWN, Keep, Rotate, Transient, Wanted, decide
from codex_bridge.errors import AdoptionError, CodexError, RpcError, ThreadBusyError
from codex_bridge.failures import RULES, Rule, refusal, trouble_of
from codex_bridge.held import OpenThread, after_resume, digest_of, holds_of, rules_of, summarised
from codex_bridge.opening import open_thread
from codex_bridge.params import (
    ThreadSettings,
    doc_room,
    thread_resume,
    thread_start,
    without_variables,
    workdir_of,
)
from codex_bridge.process import Source
from codex_bridge.rules_read import (
    EXCHANGED,
    has_strangers_rules,
    plan_by_rules,
    reads_strangers_rules,
    unexpected_sources,
)
from codex_bridge.servers import Connection
from codex_bridge.sources import Remote
from codex_bridge.spoken import spoken, words_of
from codex_bridge.turn import CodexTurn, SentRequest
from codex_bridge.wire.requests import THREAD_RESUME, THREAD_START, ThreadOpened
from harness.errors import StoreError
from harness.layers import Layer, LayerName, Lifetime, Trust
from harness.projection import project
from harness.store.bindings import Bindings
from harness.store.bound import Basis, Binding, Holds
from harness.store.transcript import Spoken
from harness.turns import Notice, TurnResult

logger = logging.getLogger(__name__)

BACKEND: Final = "codex"
BUSY_PAUSE: Final = 0.25
"""Seconds before a thread that is busy for the moment is asked for once more."""
LEAVE_DEADLINE: Final = 5.0
"""Seconds to wait for the answer to thread/unsubscribe; measured are 2 ms."""
MOVES_ON: Final = "The next message goes on in a new thread, which is told what was said last."
"""What is said of a conversation whose thread was let go."""


class NoThreadError(Exception):
    """The conversation has no thread that it could go on in, and this says why. No caller of the bridge sees it."""


def backend_of(source: Source) -> str:
    """The name under which conversations are bound: threads live in a home, so each has its own, and each server."""
    if isinstance(source, Remote):
        return f"{BACKEND}@{source.address}"
    return BACKEND if source.home.owned else f"{BACKEND}@{source.home.path}"


class Threads:
    """Finds and keeps the threads of an agent's conversations.

    Args:
        bindings: Where conversations are remembered.
        backend: The name of the home; see `backend_of`.
        settings: What a thread may do.
        login: The command that signs the home in.
        provider: The model provider's id; empty for the one that the home is signed in to.
        now: The time, in Unix seconds.
    """

    def __init__(
        self,
        bindings: Bindings,
        backend: str,
        settings: ThreadSettings,
        *,
        login: str,
        provider: str = "",
        now: Callable[[], float] = time.time,
    ) -> None:
        self._login = login
        self._bindings = bindings
        self._backend = backend
        self._settings = settings
        self._provider = provider
        self._now = now
        self._forgotten: dict[str, int] = {}
        """How often each conversation was forgotten. What began before the last time brings no thread back."""
        self._cleared: dict[str, int] = {}
        """The last of these times at which its words were to go too."""
        self._stale: dict[str, bool] = {}
        """Conversations of which the store still names a thread that was forgotten; True: and words that should be."""
        self._of: dict[CodexTurn, OpenThread] = {}
        """The threads of the turns that run."""
        self._outgrown: dict[str, str] = {}
        """Why conversations lost their thread, of those whose next turn has yet to say so."""
        self._ended: dict[str, str] = {}
        """How the last turn was ended of conversations whose server was gone by then."""
        self._ailing = False
        """Whether the store failed when it was last to keep something."""
        self._untold = ""
        """What the operator does not know of that yet."""

    async def open(self, connection: Connection, turn: CodexTurn) -> OpenThread:
        """Give the thread that the turn runs on, loaded by the server of `connection`.

        A store that fails costs no turn: what cannot be looked up runs aside, what cannot be kept is told.

        Raises:
            CodexError: The server refused, or went away.
            NoThreadError: The conversation has none, and the turn is for one that has.
        """
        if turn.apart:
            thread = self._of[turn] = await self._new(connection, turn)
            return thread
        turn.aside = False
        turn.begun = self._forgotten.get(turn.key, 0)
        if turn.compacts:
            thread = self._of[turn] = await self._as_it_is(connection, turn)
            return thread
        thread = self._of[turn] = await self._found(connection, turn)
        self._tell(turn)
        await self._catch_up(thread, turn)
        return thread

    async def finish(self, connection: Connection | None, turn: CodexTurn) -> None:
        """Keep what a turn that is over leaves behind, and take leave of a thread that was its own."""
        thread = self._of.pop(turn, None)
        if thread is None:
            return
        if not turn.apart and turn.buffer.result is not None:
            self._note_end(turn, turn.buffer.result, thread)
            await self._remember(connection, turn, thread)
            thread.has_history = True
            if turn.outgrown and not turn.aside:
                # The words that were too much stay in it, so nothing would ever fit again.
                await self.drop(connection, turn.key, turn.outgrown)
        if turn.aside and connection is not None:
            connection.left |= thread.children
            await self.leave(connection, thread.opened.thread.id)

    async def _found(self, connection: Connection, turn: CodexTurn) -> OpenThread:
        key, wanted = turn.key, self._wanted(connection, turn)
        loaded = connection.threads.get(key)
        try:
            bound = self._binding(key, loaded) if loaded else await self._bound(key)
        except StoreError as error:
            return await self._aside(connection, turn, f"{error} This turn runs without the conversation so far.")
        match decide(bound, wanted):
            case Rotate(reason):
                turn.buffer.push(Notice(reason))
                turn.begun = await self.drop(connection, key)
                return await self._begun(connection, turn)
            case Transient(reason):
                return await self._aside(connection, turn, reason)
            case Keep():
                if loaded is None:
                    return await (
                        self._begun(connection, turn) if bound is None else self._resumed(bound, connection, turn)
                    )
                if reads_strangers_rules(loaded, turn):
                    turn.buffer.push(Notice(EXCHANGED))
                    turn.begun = await self.drop(connection, key)
                    return await self._begun(connection, turn)
                return loaded

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

    async def adopt(self, connection: Connection, session_key: str, thread_id: str) -> None:
        """Let a conversation go on in a thread that somebody else began; what the chat said before is not told it.

        Raises:
            AdoptionError: Codex does not have the thread, or it is another chat's.
            CodexError: The server does not answer.
            StoreError: The store cannot be used; the conversation keeps its thread.
        """
        from codex_bridge.wire.besides import THREAD_READ, ThreadReadParams  # few threads are adopted

        try:
            await connection.server.client.call(THREAD_READ, ThreadReadParams(thread_id=thread_id))
        except RpcError as error:
            logger.warning("%s", error)
            raise AdoptionError(thread_id, refusal(error, self._login)) from error
        owner = await self._bindings.chat_of(self._backend, thread_id)
        if owner not in (None, session_key):
            raise AdoptionError(thread_id, f"It is the conversation of {owner}.")
        await self._bindings.get(self._backend, session_key)
        holds = Holds(developer=UNKNOWN, tools=UNKNOWN, heard=self._bindings.last(session_key))
        await self._bindings.put(Binding(self._backend, session_key, thread_id, holds))
        self._let_go(connection, session_key)
        self._stale.pop(session_key, None)

    async def _remember(self, connection: Connection | None, turn: CodexTurn, thread: OpenThread) -> None:
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
                    heard = await self._bindings.record(self._binding(key, thread), words)
                except StoreError:
                    thread.stored = stored
                    raise
                thread.holds = thread.stored = replace(thread.holds, heard=heard)
                self._ailing = False
            else:
                await self.store(connection, key)
        except StoreError as error:
            self._ail(error)

    def _note_end(self, turn: CodexTurn, result: TurnResult, thread: OpenThread) -> None:
        """Have the next turn of the conversation told how this one was really ended."""
        if turn.vanished or turn.aside or turn.compacts:
            return  # nothing of it is there, or nothing that was said
        interrupted = turn.ledger is not None and turn.ledger.interrupted
        ended = left_by(result, at=self._now(), limit=turn.limit, interrupted=interrupted)
        if ended is not None and ended != thread.holds.ended:
            thread.holds = replace(thread.holds, ended=ended)

    def summarised(self, connection: Connection, session_key: str) -> None:
        """A summary took the place of the conversation, the quoted files in it too: the next turn quotes them anew."""
        summarised(connection.threads[session_key], remembers=connection.server.capabilities.remembers_context)

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
            await self._bindings.put(replace(self._binding(session_key, thread), holds=stored))
            thread.stored = stored
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
            await self._bindings.put(self._binding(session_key, thread))
        except StoreError as error:
            thread.stored = before
            self._ail(error)

    def of(self, turn: CodexTurn) -> OpenThread | None:
        """The thread of a turn that runs."""
        return self._of.get(turn)

    def of_chat(self, turn: CodexTurn) -> OpenThread | None:
        """Likewise, if the conversation has not let go of it; also while no server has it loaded."""
        return self._of.get(turn) if self._still(turn.key, turn.begun) else None

    async def add_words(self, turn: CodexTurn, words: Iterable[Layer]) -> None:
        """Keep what was said into a turn that was lost, where only now it is known that Codex had taken it."""
        result = turn.buffer.result
        if turn.apart or result is None:
            return
        try:
            await self._bindings.mirror(turn.key, Spoken(said=words_of(words), answered="", turn=result.turn))
        except StoreError as error:
            self._ail(error)

    async def rejoin(self, connection: Connection, turn: CodexTurn) -> bool:
        """Follow a running turn's thread again on a server that lived on; tells whether that can be.

        Raises:
            CodexError: The server refused, or went away.
        """
        thread = self._of.get(turn)
        if thread is None or turn.aside:
            return False
        await self._resume(self._binding(turn.key, thread), connection, turn)
        self._opened(thread, connection, turn)
        return True

    async def is_stored(self, connection: Connection, session_key: str) -> bool:
        """Whether the store knows what a loaded conversation was told, by now: who loads it again asks the store."""
        await self.store(connection, session_key)
        thread = connection.threads.get(session_key)
        return thread is not None and thread.stored == thread.holds

    async def leave(self, connection: Connection, thread_id: str) -> None:
        """Let the server unload a thread."""
        from codex_bridge.wire.besides import THREAD_UNSUBSCRIBE, ThreadUnsubscribeParams  # few turns have one

        params = ThreadUnsubscribeParams(thread_id=thread_id)
        try:
            await connection.server.client.call(THREAD_UNSUBSCRIBE, params, deadline=LEAVE_DEADLINE)
        except CodexError as error:
            logger.warning("thread %s stays loaded: %s", thread_id, error)

    def has_child(self, connection: Connection | None, turn: CodexTurn, thread_id: str) -> None:
        """A subagent works for a turn, on a thread of its own."""
        thread = self._of.get(turn) or (connection.threads.get(turn.key) if connection is not None else None)
        if thread is not None:
            thread.children.add(thread_id)

    # what the store says

    def _tell(self, turn: CodexTurn) -> None:
        """Say what became of the store, once."""
        for text in [*self._bindings.take_notices(), *([self._untold] if self._untold else [])]:
            turn.buffer.push(Notice(text))
        self._untold = ""

    def _ail(self, error: StoreError) -> None:
        """The store keeps nothing at the moment: say so once, and not again before it worked."""
        logger.warning("%s", error)
        if not self._ailing:
            self._untold = f"{error} Until it can, nothing new is remembered over a restart."
        self._ailing = True

    def _wanted(self, connection: Connection, turn: CodexTurn) -> Wanted:
        tools = turn.tools.fingerprint
        return Wanted(
            basis=Basis(
                cwd=workdir_of(turn.request, self._settings),
                provider=self._provider,
                account=connection.account,
                loading=("direct" if self._settings.direct_tools else "searchable") if tools else "",
            ),
            tools=tools,
            rules=rules_of(turn.lanes.rules),
            developer=digest_of(turn.lanes.developer_without_rules),
            on_change=self._settings.on_change,
        )

    def _binding(self, session_key: str, thread: OpenThread) -> Binding:
        return Binding(self._backend, session_key, thread.opened.thread.id, thread.holds, thread.basis)

    async def _bound(self, session_key: str) -> Binding | None:
        """The binding of a chat that has no loaded thread; None for none, or for one that was forgotten."""
        try:
            await self._settle(session_key)
        except StoreError as error:
            logger.warning("%s", error)
            return None
        return await self._bindings.get(self._backend, session_key)

    async def _settle(self, session_key: str) -> None:
        """Make the store forget what it should have forgotten before."""
        if session_key not in self._stale:
            return
        if self._stale[session_key]:
            await self._bindings.clear(session_key)
        else:
            await self._bindings.forget(self._backend, session_key)
        self._stale.pop(session_key, None)

    def _let_go(self, connection: Connection | None, session_key: str, *, words: bool = False) -> int:
        begun = self._forgotten[session_key] = self._forgotten.get(session_key, 0) + 1
        if words:
            self._cleared[session_key] = begun
        self._stale[session_key] = words or self._stale.get(session_key, False)
        self._ended.pop(session_key, None)
        self._outgrown.pop(session_key, None)
        thread = connection.threads.pop(session_key, None) if connection is not None else None
        if connection is not None and thread is not None:
            connection.left |= {thread.opened.thread.id, *thread.children}
        return begun

    def _still(self, session_key: str, begun: int) -> bool:
        """Whether the conversation was not forgotten since `begun`."""
        return self._forgotten.get(session_key, 0) == begun

    async def _catch_up(self, thread: OpenThread, turn: CodexTurn) -> None:
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
                text = project(rows, self._settings.projection)
        turn.heard = max(last, holds.heard)
        if text or turn.history is not None:
            source = f"{key} {turn.heard}"  # the number goes along, see `entries.HISTORY_KEY`
            turn.history = Layer(LayerName.HISTORY, source, Lifetime.INPUT, Trust.OUTSIDER, text) if text else None
            turn.route(copied=turn.lanes.copied)

    # what the server does

    async def _resumed(self, bound: Binding, connection: Connection, turn: CodexTurn) -> OpenThread:
        """Load a thread from an earlier process, or do what the rule of its refusal says."""
        try:
            opened = await self._resume(bound, connection, turn)
        except RpcError as error:
            match RULES[trouble_of(error)]:
                case Rule.FRESH:
                    turn.buffer.push(Notice(f"{refusal(error, self._login)} It goes on in a new thread."))
                    return await self._begun(connection, turn)
                case Rule.ASIDE:
                    logger.warning("%s", error)
                    text = "Codex could not load this conversation; this turn runs in a thread of its own."
                    return await self._aside(connection, turn, text)
                case _:
                    raise
        if has_strangers_rules(opened, turn):
            turn.buffer.push(Notice(EXCHANGED))
            turn.begun = await self.drop(connection, turn.key)
            return await self._begun(connection, turn)
        if opened.thread.status is not None and opened.thread.status.type == "active":
            from codex_bridge.leftover import stopped  # only a server that is not ours goes on without us

            if not await stopped(connection.server.client, opened.thread):
                text = "Another client of Codex runs a turn in this conversation; this one runs in a thread of its own."
                return await self._aside(connection, turn, text)
            turn.buffer.push(Notice("The turn that was lost with the connection had gone on; it was stopped."))
        return await self._taken_up(opened, bound, connection, turn)

    async def _as_it_is(self, connection: Connection, turn: CodexTurn) -> OpenThread:
        """The thread that the conversation has, loaded; none is begun in its place.

        Raises:
            CodexError: The server refused, or went away.
            NoThreadError: There is none that its next message would go on in.
            StoreError: The store cannot say which it is.
        """
        key, loaded = turn.key, connection.threads.get(turn.key)
        bound = self._binding(key, loaded) if loaded else await self._bound(key)
        match decide(bound, self._wanted(connection, turn)):
            case Rotate(reason):
                raise NoThreadError(reason)
            case Transient():
                raise NoThreadError("Its tools are not there at the moment, so the conversation cannot be loaded.")
            case Keep():
                pass
        if loaded is not None:
            return loaded
        if bound is None:
            raise NoThreadError("Nothing was said in this conversation yet.")
        try:
            opened = await self._resume(bound, connection, turn)
        except RpcError as error:
            if RULES[trouble_of(error)] is not Rule.FRESH:
                raise
            why = refusal(error, self._login)
            await self.drop(connection, key, why)
            raise NoThreadError(f"{why} {MOVES_ON}") from error
        if opened.thread.status is not None and opened.thread.status.type == "active":
            from codex_bridge.leftover import stopped  # only a server that is not ours goes on without us

            # It would be interrupted by the summary.
            if not await stopped(connection.server.client, opened.thread):
                raise ThreadBusyError
        return await self._taken_up(opened, bound, connection, turn)

    async def _taken_up(
        self, opened: ThreadOpened, bound: Binding, connection: Connection, turn: CodexTurn
    ) -> OpenThread:
        """A thread from an earlier process that is loaded again."""
        from codex_bridge.resumed import known, really_ended, really_held  # a thread that stays loaded needs none of it

        basis = known(bound.basis, self._basis(opened, connection, turn))
        began = replace(holds_of(turn.lanes), context="", tools=bound.holds.tools)
        noted, client = self._ended.pop(turn.key, bound.holds.ended), connection.server.client
        ended = await really_ended(client, opened.thread.id, noted, at=self._now())
        holds = replace(await really_held(self._bindings, bound, opened.thread, turn), ended=ended)
        # A store of before does not know what the conversation was told of the texts: most likely what holds now.
        thread = OpenThread(
            opened,
            basis,
            began,
            after_resume(holds, began, turn.lanes, self._settings),
            bound.holds,
            turn.request.environment,
            room=doc_room(turn.lanes),
        )
        return self._opened(thread, connection, turn)

    async def _begun(self, connection: Connection, turn: CodexTurn) -> OpenThread:
        """Begin a new thread, and bind the chat to it."""
        key = turn.key
        if why := self._outgrown.pop(key, ""):
            turn.buffer.push(Notice(f"{why} It goes on in a new thread."))
        thread = await self._new(connection, turn)
        if self._still(key, turn.begun):
            # First the store: a thread that is used without being remembered would be lost at the next start. And
            # before anybody can forget it: the store does one thing after the other.
            stored = Holds(tools=turn.tools.fingerprint)
            try:
                await self._settle(key)
                await self._bindings.put(replace(self._binding(key, thread), holds=stored))
                thread.stored, self._ailing = stored, False
            except StoreError as error:
                self._ail(error)
        return self._opened(thread, connection, turn)

    async def _aside(self, connection: Connection, turn: CodexTurn, reason: str) -> OpenThread:
        """Begin a thread that ends with the turn; the chat keeps the one it has."""
        turn.buffer.push(Notice(reason))
        turn.aside = True
        thread = await self._new(connection, turn)
        try:
            await self._bindings.began_aside(turn.request.message_key, thread.opened.thread.id)
        except StoreError as error:
            logger.warning("%s", error)
        return thread

    async def _new(self, connection: Connection, turn: CodexTurn) -> OpenThread:
        opened = await self._start(connection, turn)
        if has_strangers_rules(opened, turn):
            opened = await self._start(connection, turn)
        for text in unexpected_sources(opened, turn.lanes, turn.request.workspace):
            turn.buffer.push(Notice(text))
        began = replace(holds_of(turn.lanes), context="", tools=turn.tools.fingerprint)
        return OpenThread(
            opened,
            self._basis(opened, connection, turn),
            began,
            began,
            None,
            turn.request.environment,
            has_history=False,
            room=doc_room(turn.lanes),
        )

    def _opened(self, thread: OpenThread, connection: Connection, turn: CodexTurn) -> OpenThread:
        if self._still(turn.key, turn.begun):
            connection.threads[turn.key] = thread
        return thread

    def _basis(self, opened: ThreadOpened, connection: Connection, turn: CodexTurn) -> Basis:
        wanted = self._wanted(connection, turn).basis
        return replace(wanted, model=opened.model, provider=opened.model_provider)

    async def _start(self, connection: Connection, turn: CodexTurn) -> ThreadOpened:
        plan_by_rules(turn, reads_rules=self._settings.reads_rules)
        params = thread_start(
            turn.request,
            turn.lanes,
            self._settings,
            tools=turn.tools.specs,
            ephemeral=turn.aside,
            window=connection.server.capabilities.context_tokens(turn.request.model or ""),
        )
        turn.sent.append(SentRequest(THREAD_START.name, without_variables(params)))
        return await open_thread(connection.server.client, THREAD_START, params)

    async def _resume(self, bound: Binding, connection: Connection, turn: CodexTurn) -> ThreadOpened:
        """Load a thread, and try once more when it is busy for the moment."""
        plan_by_rules(turn, reads_rules=self._settings.reads_rules)
        model = turn.request.model or bound.basis.model
        window = connection.server.capabilities.context_tokens(model)
        params = thread_resume(bound.conversation, turn.request, turn.lanes, self._settings, window=window)
        turn.sent.append(SentRequest(THREAD_RESUME.name, without_variables(params)))
        try:
            return await open_thread(connection.server.client, THREAD_RESUME, params)
        except RpcError as error:
            if RULES[trouble_of(error)] is not Rule.AGAIN:
                raise
        await anyio.sleep(BUSY_PAUSE)
        return await open_thread(connection.server.client, THREAD_RESUME, params)
