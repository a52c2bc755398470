"""Which thread a turn runs on: the one that is loaded, the one that is remembered, or a new one.

What fits is said by `compatibility.decide`, what a refusal means by `failures`; this module does what they say.
"""

import logging
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from codex_bridge.compatibility import Keep, Rotate, Transient, Wanted, decide
from codex_bridge.errors import AdoptionError, CodexError, RpcError, ThreadBusyError
from codex_bridge.failures import RULES, Rule, refusal, trouble_of
from codex_bridge.held import OpenThread, after_resume, digest_of, holds_of, rules_of, summarised
from codex_bridge.opening import resume_thread, start_thread
from codex_bridge.params import (
    ThreadSettings,
    doc_room,
    workdir_of,
)
from codex_bridge.process import Source
from codex_bridge.remembered import Remembered
from codex_bridge.rules_read import (
    EXCHANGED,
    has_strangers_rules,
    reads_strangers_rules,
    unexpected_sources,
)
from codex_bridge.servers import Connection
from codex_bridge.sources import Remote
from codex_bridge.turn import CodexTurn
from codex_bridge.wire.requests import ThreadOpened
from harness.errors import StoreError
from harness.store.bindings import Bindings
from harness.store.bound import Basis, Binding
from harness.turns import Notice

logger = logging.getLogger(__name__)

BACKEND: Final = "codex"
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
        self.remembered = Remembered(bindings, backend, settings.projection, now)
        """What the conversations have been told so far."""
        self._of: dict[CodexTurn, OpenThread] = {}
        """The threads of the turns that run."""

    async def open(self, connection: Connection, turn: CodexTurn) -> OpenThread:
        """Give the thread that the turn runs on, loaded by the server of `connection`.

        A store that fails costs no turn: what cannot be looked up runs aside, what cannot be kept is told.

        Raises:
            CodexError: The server refused, or went away.
            NoThreadError: The conversation has none, and the turn is for one that has.
        """
        if connection.refused_tools:
            from codex_bridge.tool_refusals import fit  # no known version refuses any

            fit(connection, turn)
        if turn.apart:
            thread = self._of[turn] = await self._new(connection, turn)
            return thread
        turn.aside = False
        turn.begun = self.remembered.forgotten.get(turn.key, 0)
        if turn.compacts:
            thread = self._of[turn] = await self._as_it_is(connection, turn)
            return thread
        thread = self._of[turn] = await self._found(connection, turn)
        self.remembered.tell(turn)
        await self.remembered.catch_up(thread, turn)
        return thread

    async def finish(self, connection: Connection | None, turn: CodexTurn) -> None:
        """Keep what a turn that is over leaves behind, and take leave of a thread that was its own."""
        thread = self._of.pop(turn, None)
        if thread is None:
            return
        if not turn.apart and turn.buffer.result is not None:
            self.remembered.note_end(turn, turn.buffer.result, thread)
            await self.remembered.remember(connection, turn, thread)
            thread.has_history = True
            if turn.outgrown and not turn.aside:
                # The words that were too much stay in it, so nothing would ever fit again.
                await self.remembered.drop(connection, turn.key, turn.outgrown)
        if turn.aside and connection is not None:
            connection.left |= thread.children
            await self.leave(connection, thread.opened.thread.id)

    async def _found(self, connection: Connection, turn: CodexTurn) -> OpenThread:
        key, wanted = turn.key, self._wanted(connection, turn)
        loaded = connection.threads.get(key)
        try:
            bound = self.remembered.binding(key, loaded) if loaded else await self.remembered.bound(key)
        except StoreError as error:
            return await self._aside(connection, turn, f"{error} This turn runs without the conversation so far.")
        match decide(bound, wanted):
            case Rotate(reason):
                turn.buffer.push(Notice(reason))
                turn.begun = await self.remembered.drop(connection, key)
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
                    turn.begun = await self.remembered.drop(connection, key)
                    return await self._begun(connection, turn)
                return loaded

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
        await self.remembered.rebind(connection, session_key, thread_id)

    def summarised(self, connection: Connection, session_key: str) -> None:
        """A summary took the place of the conversation, the quoted files in it too: the next turn quotes them anew."""
        summarised(connection.threads[session_key], remembers=connection.server.capabilities.remembers_context)

    def of(self, turn: CodexTurn) -> OpenThread | None:
        """The thread of a turn that runs."""
        return self._of.get(turn)

    def of_chat(self, turn: CodexTurn) -> OpenThread | None:
        """Likewise, if the conversation has not let go of it; also while no server has it loaded."""
        return self._of.get(turn) if self.remembered.still(turn.key, turn.begun) else None

    async def rejoin(self, connection: Connection, turn: CodexTurn) -> bool:
        """Follow a running turn's thread again on a server that lived on; tells whether that can be.

        Raises:
            CodexError: The server refused, or went away.
        """
        thread = self._of.get(turn)
        if thread is None or turn.aside:
            return False
        await resume_thread(self.remembered.binding(turn.key, thread), connection, turn, self._settings)
        self._opened(thread, connection, turn)
        return True

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

    async def _resumed(self, bound: Binding, connection: Connection, turn: CodexTurn) -> OpenThread:
        """Load a thread from an earlier process, or do what the rule of its refusal says."""
        try:
            opened = await resume_thread(bound, connection, turn, self._settings)
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
            turn.begun = await self.remembered.drop(connection, turn.key)
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
        bound = self.remembered.binding(key, loaded) if loaded else await self.remembered.bound(key)
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
            opened = await resume_thread(bound, connection, turn, self._settings)
        except RpcError as error:
            if RULES[trouble_of(error)] is not Rule.FRESH:
                raise
            why = refusal(error, self._login)
            await self.remembered.drop(connection, key, why)
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
        noted, client = self.remembered.noted_end(bound), connection.server.client
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
        if why := self.remembered.why_lost(turn.key):
            turn.buffer.push(Notice(f"{why} It goes on in a new thread."))
        thread = await self._new(connection, turn)
        if self.remembered.still(turn.key, turn.begun):
            await self.remembered.bind(turn, thread)
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
        opened = await start_thread(connection, turn, self._settings)
        if has_strangers_rules(opened, turn):
            opened = await start_thread(connection, turn, self._settings)
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
        if self.remembered.still(turn.key, turn.begun):
            connection.threads[turn.key] = thread
        return thread

    def _basis(self, opened: ThreadOpened, connection: Connection, turn: CodexTurn) -> Basis:
        wanted = self._wanted(connection, turn).basis
        return replace(wanted, model=opened.model, provider=opened.model_provider)
