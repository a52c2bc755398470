"""Which thread a turn runs on: the one that is loaded, the one that is remembered, or a new one."""

import logging
from dataclasses import replace
from functools import lru_cache
from hashlib import sha256
from pathlib import Path

from codex_bridge.errors import CodexError, RpcError
from codex_bridge.failures import RULES, Rule, refusal, trouble_of
from codex_bridge.lanes import LanePlan, changed_developer, changed_rules
from codex_bridge.params import ThreadSettings, thread_resume, thread_start, without_variables
from codex_bridge.rules import must_be_copied
from codex_bridge.servers import Connection, OpenThread
from codex_bridge.tools import Registered
from codex_bridge.turn import CodexTurn, SentRequest
from codex_bridge.wire.requests import THREAD_RESUME, THREAD_START, ThreadOpened
from harness.errors import StoreError
from harness.store.bindings import Binding, Bindings, Holds
from harness.turns import Notice

logger = logging.getLogger(__name__)

LET_GO_DEADLINE = 5.0
"""Seconds to wait for the answer to thread/unsubscribe; measured are 2 ms."""
NO_RULES = "none"
"""Stands for the digest of an AGENTS.md that is not there."""


@lru_cache(maxsize=64)
def digest_of(context: str) -> str:
    """What is remembered of a context block, to tell whether a conversation holds it already."""
    return sha256(context.encode("utf-8", "replace")).hexdigest()[:16] if context else ""


class Threads:
    """Finds and keeps the threads of an agent's conversations."""

    def __init__(self, bindings: Bindings, backend: str, settings: ThreadSettings) -> None:
        self._bindings = bindings
        self._backend = backend
        self._settings = settings
        self._forgotten: dict[str, int] = {}
        """How often each conversation was forgotten. What began before the last time brings no thread back."""
        self._stale: set[str] = set()
        """Conversations of which the store still names a thread that was forgotten."""

    async def open(self, connection: Connection, turn: CodexTurn) -> OpenThread:
        """Give the thread that the turn runs on, loaded by the server of `connection`.

        Raises:
            CodexError: The server refused, or went away.
            StoreError: The binding could not be read or kept; no thread is in use then.
        """
        key = turn.key
        if turn.request.fresh and not turn.apart:
            await self.clear(connection, key)
        tools = turn.tools
        loaded = connection.threads.get(key)
        if loaded is not None:
            if not _other_tools(loaded.holds.tools, tools):
                return loaded
            await self._rotate(connection, turn)
        begun = self._forgotten.get(key, 0)
        bound = None if turn.apart or key in self._stale else await self._bindings.get(self._backend, key)
        if bound is not None and _other_tools(bound.holds.tools, tools):
            await self._rotate(connection, turn)
            bound, begun = None, self._forgotten[key]
        opened = None if bound is None else await self._resume(bound, connection, turn)
        if opened is not None and _has_strangers_rules(opened, turn):
            turn.buffer.push(
                Notice("The rules were exchanged while this conversation was loaded; a new one was started.")
            )
            await self.forget(connection, key)
            opened, begun = None, self._forgotten[key]
        fresh = opened is None
        if opened is None:
            opened = await self._start(connection, turn, begun, tools)
        kept = tools.fingerprint if fresh or bound is None else bound.holds.tools
        began = replace(holds_of(turn.lanes), context="", tools=kept)
        # A store of before does not know what the conversation was told of these two: most likely what holds now.
        holds = began if bound is None or fresh else _after_resume(bound.holds, began, turn.lanes)
        stored = Holds(tools=tools.fingerprint) if fresh or bound is None else bound.holds
        thread = OpenThread(opened, began, holds, stored, turn.request.environment)
        if self._still(key, begun):
            connection.threads[key] = thread
        for text in unexpected_sources(opened, turn.lanes, turn.request.workspace):
            turn.buffer.push(Notice(text))
        return thread

    async def clear(self, connection: Connection | None, session_key: str) -> None:
        """Let the next turn of a conversation begin a new thread that knows nothing of what was said before.

        Raises:
            StoreError: The store cannot be written. Until this process ends the thread is not used again all the same.
        """
        self._let_go(connection, session_key)
        await self._bindings.clear(session_key)
        self._stale.discard(session_key)

    async def forget(self, connection: Connection | None, session_key: str) -> None:
        """Let the next turn of a conversation begin a new thread, whatever its present turn is doing.

        Raises:
            StoreError: The store cannot be written. Until this process ends the thread is not used again all the same.
        """
        self._let_go(connection, session_key)
        await self._bindings.forget(self._backend, session_key)
        self._stale.discard(session_key)

    def _let_go(self, connection: Connection | None, session_key: str) -> None:
        self._forgotten[session_key] = self._forgotten.get(session_key, 0) + 1
        self._stale.add(session_key)
        if connection is not None:
            connection.threads.pop(session_key, None)

    async def drop(self, connection: Connection | None, session_key: str) -> None:
        """Forget a thread that does not end its turn; a store that fails is only logged, as the turn must end."""
        try:
            await self.forget(connection, session_key)
        except StoreError as error:
            logger.warning("forgetting the thread of %s: %s", session_key, error)

    async def remember(self, connection: Connection | None, session_key: str) -> None:
        """Store what a conversation was told, unless the store says so already.

        For the end of a turn, when Codex has written down what it was given. A store that fails is only logged: the
        same is said once more after a restart.
        """
        thread = connection.threads.get(session_key) if connection is not None else None
        if thread is None or thread.stored == thread.holds:
            return
        before, thread.stored = thread.stored, thread.holds
        binding = Binding(self._backend, session_key, thread.opened.thread.id, thread.holds)
        try:
            await self._bindings.put(binding)
        except StoreError as error:
            thread.stored = before
            logger.warning("remembering what %s holds: %s", session_key, error)

    async def unload(self, connection: Connection | None, turn: CodexTurn) -> None:
        """Take leave of the thread that a turn had to itself, so that the server unloads it."""
        thread = connection.threads.pop(turn.key, None) if connection is not None else None
        if connection is None or thread is None:
            return
        from codex_bridge.wire.besides import THREAD_UNSUBSCRIBE, ThreadUnsubscribeParams  # few turns are apart

        params = ThreadUnsubscribeParams(thread_id=thread.opened.thread.id)
        try:
            await connection.server.client.call(THREAD_UNSUBSCRIBE, params, deadline=LET_GO_DEADLINE)
        except CodexError as error:
            logger.warning("the thread of %s stays loaded: %s", turn.key, error)

    async def _rotate(self, connection: Connection, turn: CodexTurn) -> None:
        """Let go of a thread whose tools are not the agent's any more: a thread keeps those that it began with."""
        turn.buffer.push(Notice("The agent's tools have changed, so this conversation goes on in a new thread."))
        await self.forget(connection, turn.key)

    async def _start(self, connection: Connection, turn: CodexTurn, begun: int, tools: Registered) -> ThreadOpened:
        key = turn.key
        for problem in tools.problems:
            turn.buffer.push(Notice(problem))
        opened = await self._start_once(connection, turn, tools)
        if _has_strangers_rules(opened, turn):
            opened = await self._start_once(connection, turn, tools)
        if self._still(key, begun) and not turn.apart:
            # First the store: a thread that is used without being remembered would be lost at the next start. And
            # before anybody can forget it: the store does one thing after the other.
            await self._bindings.put(Binding(self._backend, key, opened.thread.id, Holds(tools=tools.fingerprint)))
        if self._still(key, begun):
            self._stale.discard(key)
        return opened

    async def _start_once(self, connection: Connection, turn: CodexTurn, tools: Registered) -> ThreadOpened:
        _judge_rules(turn)
        params = thread_start(turn.request, turn.lanes, self._settings, tools=tools.specs)
        turn.sent.append(SentRequest(THREAD_START.name, without_variables(params)))
        return await connection.server.client.call(THREAD_START, params)

    async def _resume(self, bound: Binding, connection: Connection, turn: CodexTurn) -> ThreadOpened | None:
        """Load a thread from an earlier process; None when Codex no longer has it."""
        _judge_rules(turn)
        params = thread_resume(bound.conversation, turn.request, turn.lanes, self._settings)
        turn.sent.append(SentRequest(THREAD_RESUME.name, without_variables(params)))
        try:
            return await connection.server.client.call(THREAD_RESUME, params)
        except RpcError as error:
            trouble = trouble_of(error)
            if RULES[trouble] is not Rule.FRESH:
                raise
            turn.buffer.push(Notice(f"{refusal(error)} A new one was started."))
            return None

    def _still(self, session_key: str, begun: int) -> bool:
        """Whether the conversation was not forgotten since `begun`."""
        return self._forgotten.get(session_key, 0) == begun


def _judge_rules(turn: CodexTurn) -> None:
    """Plan anew if Codex would find other rules now than when the turn was composed; it may have waited for long."""
    if turn.apart:
        return  # its thread reads no rules
    copied = must_be_copied(turn.request.workspace, turn.request.composition)
    if copied is not turn.lanes.copied:
        turn.route(copied=copied)


def _has_strangers_rules(opened: ThreadOpened, turn: CodexTurn) -> bool:
    """Whether the rules were exchanged between our look at them and Codex's; nothing may run on such a thread.

    The thread has no turn of these rules yet, so letting go of it leaves nothing behind.
    """
    if turn.lanes.agents_text is None:
        return False  # Codex was told to read nothing
    return bool(opened.instruction_sources) and must_be_copied(turn.request.workspace, turn.request.composition)


def unexpected_sources(opened: ThreadOpened, lanes: LanePlan, workspace: Path) -> list[str]:
    """One sentence for each instruction file that Codex reads and should not, and for AGENTS.md if it does not."""
    own = str(workspace / "AGENTS.md")
    read = list(opened.instruction_sources)
    told = [f"Codex also reads instructions from {path}." for path in read if path != own]
    if lanes.agents_text is not None and own not in read:
        told.append(f"Codex does not read {own}, so the agent works without it.")
    return told


def changes(thread: OpenThread, now: Holds, lanes: LanePlan) -> dict[str, str]:
    """What was edited since the conversation was last told, for the additional context, by name.

    A loaded thread takes in no edited file, and a resumed one only after a compaction (protocol reference, 3.2).
    """
    found: dict[str, str] = {}
    if thread.holds.rules != now.rules:
        found["rules"] = changed_rules(lanes.rules)
    if thread.holds.developer != now.developer:
        found["instructions"] = changed_developer(lanes.developer_without_rules)
    return found


def holds_of(lanes: LanePlan) -> Holds:
    """What a conversation holds that was told everything of these lanes."""
    return Holds(
        context=digest_of(lanes.turn_context),
        rules=digest_of(lanes.rules) if lanes.rules is not None else NO_RULES,
        developer=digest_of(lanes.developer_without_rules),
    )


def _after_resume(stored: Holds, now: Holds, lanes: LanePlan) -> Holds:
    """What a conversation holds once its thread is loaded again.

    Codex itself tells it of an edited AGENTS.md then, though not of one that is gone (measured). When it is kept from
    reading the file, it says that no rules hold any more, so ours are said after that.
    """
    if lanes.copied:
        return Holds(stored.context, "", stored.developer or now.developer, stored.tools)
    rules = now.rules if now.rules != NO_RULES else stored.rules or now.rules
    return Holds(stored.context, rules, stored.developer or now.developer, stored.tools)


def _other_tools(held: str, tools: Registered) -> bool:
    """Whether the agent has other tools than its conversation; a turn without any asks for none and leaves it."""
    return bool(tools.fingerprint) and tools.fingerprint != held
