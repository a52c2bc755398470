"""Which thread a turn runs on: the one that is loaded, the one that is remembered, or a new one."""

import logging
from hashlib import sha256
from pathlib import Path

from codex_bridge.errors import RpcError
from codex_bridge.lanes import LanePlan
from codex_bridge.params import ThreadSettings, thread_resume, thread_start
from codex_bridge.servers import Connection, OpenThread
from codex_bridge.turn import CodexTurn, SentRequest
from codex_bridge.wire.requests import THREAD_RESUME, THREAD_START, ThreadOpened
from harness.errors import StoreError
from harness.store.bindings import Binding, Bindings
from harness.turns import Notice

logger = logging.getLogger(__name__)

GONE = ("no rollout found", "thread not found")
"""Words by which the server says that it has no such thread; it has one code for every refusal."""


def is_gone(error: RpcError) -> bool:
    """Whether the server refused because it does not have the thread."""
    return any(words in error.message for words in GONE)


def digest_of(context: str) -> str:
    """What is remembered of a context block, to tell whether a conversation holds it already."""
    return sha256(context.encode("utf-8", "replace")).hexdigest()[:16] if context else ""


class Threads:
    """Finds and keeps the threads of an agent's conversations."""

    def __init__(self, bindings: Bindings, backend: str, settings: ThreadSettings) -> None:
        self._bindings = bindings
        self._backend = backend
        self._settings = settings
        self._dropped: set[str] = set()
        """Conversations whose thread must not be used again, whatever the store says."""

    async def open(self, connection: Connection, turn: CodexTurn) -> OpenThread:
        """Give the thread that the turn runs on, loaded by the server of `connection`.

        Raises:
            CodexError: The server refused, or went away.
            StoreError: The binding could not be read or kept; no thread is in use then.
        """
        key = turn.request.session_key
        if turn.request.fresh:
            await self.forget(connection, key)
        loaded = connection.threads.get(key)
        if loaded is not None:
            _tell_changes(loaded, turn)
            return loaded
        bound = None if key in self._dropped else await self._bindings.get(self._backend, key)
        resumed = await self._resume(connection, bound, turn) if bound is not None else None
        return resumed or await self._start(connection, turn)

    async def forget(self, connection: Connection | None, session_key: str) -> None:
        """Let the next turn of a conversation begin a new thread.

        Raises:
            StoreError: The store cannot be written. Until this process ends the thread is not used again all the same.
        """
        self._dropped.add(session_key)
        if connection is not None:
            connection.threads.pop(session_key, None)
        await self._bindings.forget(self._backend, session_key)
        self._dropped.discard(session_key)

    async def drop(self, connection: Connection | None, session_key: str) -> None:
        """Forget a thread that does not end its turn; a store that fails is only logged, as the turn must end."""
        try:
            await self.forget(connection, session_key)
        except StoreError as error:
            logger.warning("forgetting the thread of %s: %s", session_key, error)

    async def carried(self, thread: OpenThread, turn: CodexTurn) -> None:
        """Remember that the conversation holds the turn's context block now.

        The turn runs already, so a store that fails is only logged: the block is sent once more after a restart.
        """
        digest = thread.carried = digest_of(turn.lanes.turn_context)
        binding = Binding(self._backend, turn.request.session_key, thread.opened.thread.id, digest)
        try:
            await self._bindings.put(binding)
        except StoreError as error:
            logger.warning("remembering what %s holds: %s", turn.request.session_key, error)

    async def _start(self, connection: Connection, turn: CodexTurn) -> OpenThread:
        params = thread_start(turn.request, turn.lanes, self._settings)
        turn.sent.append(SentRequest(THREAD_START.name, params))
        opened = await connection.server.client.call(THREAD_START, params)
        # First the store: a thread that is used without being remembered would be lost at the next start.
        await self._bindings.put(Binding(self._backend, turn.request.session_key, opened.thread.id))
        self._dropped.discard(turn.request.session_key)
        return _keep(connection, turn, opened, carried="")

    async def _resume(self, connection: Connection, bound: Binding, turn: CodexTurn) -> OpenThread | None:
        """Load a thread from an earlier process; None when Codex no longer has it."""
        params = thread_resume(bound.conversation, turn.request, turn.lanes, self._settings)
        turn.sent.append(SentRequest(THREAD_RESUME.name, params))
        try:
            opened = await connection.server.client.call(THREAD_RESUME, params)
        except RpcError as error:
            if not is_gone(error):
                raise
            turn.buffer.push(Notice("Codex no longer has this conversation; a new one was started."))
            return None
        return _keep(connection, turn, opened, carried=bound.carried)


def _keep(connection: Connection, turn: CodexTurn, opened: ThreadOpened, *, carried: str) -> OpenThread:
    lanes = turn.lanes
    thread = OpenThread(opened, lanes.thread_developer, lanes.agents_text, carried)
    connection.threads[turn.request.session_key] = thread
    for text in unexpected_sources(opened, lanes, turn.request.workspace):
        turn.buffer.push(Notice(text))
    return thread


def unexpected_sources(opened: ThreadOpened, lanes: LanePlan, workspace: Path) -> list[str]:
    """One sentence for each instruction file that Codex reads and should not, and for AGENTS.md if it does not."""
    own = str(workspace / "AGENTS.md")
    read = list(opened.instruction_sources)
    told = [f"Codex also reads instructions from {path}." for path in read if path != own]
    if lanes.agents_text is not None and own not in read:
        told.append(f"Codex does not read {own}, so the agent works without it.")
    return told


def _tell_changes(thread: OpenThread, turn: CodexTurn) -> None:
    """Say, once for each change, that a loaded thread does not take in an edited file (protocol reference, 3.2)."""
    lanes = turn.lanes
    changed = [
        name
        for name, before, now in (
            ("AGENTS.md", thread.agents_text, lanes.agents_text),
            ("TOOLS.md or a further file", thread.developer_text, lanes.thread_developer),
        )
        if before != now
    ]
    if changed:
        thread.agents_text, thread.developer_text = lanes.agents_text, lanes.thread_developer
        turn.buffer.push(
            Notice(f"{' and '.join(changed)} changed; this conversation takes it in when the app-server starts anew.")
        )
