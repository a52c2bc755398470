"""What the server tells, on its way to the turns that it concerns.

What a notification means for its turn is the ledger's business; here is decided whose it is, and what it means for what
outlives turns: threads, subagents, commands, asks.
"""

import logging
from collections.abc import Callable
from typing import Final, TypeAlias

from codex_bridge.at_work import AtWork
from codex_bridge.endings import Endings
from codex_bridge.following import Following
from codex_bridge.requests_served import RequestsServed
from codex_bridge.rpc import Notified
from codex_bridge.servers import Servers
from codex_bridge.telling import LIMITS_TOLD, Telling
from codex_bridge.threads import Threads
from codex_bridge.turn import CodexTurn
from codex_bridge.watching import Watching
from codex_bridge.wire.items import CompactionItem
from codex_bridge.wire.notifications import (
    ConfigWarned,
    Delta,
    ItemCompleted,
    ItemStarted,
    ThreadClosed,
    TokenUsageUpdated,
    TurnEnded,
    Warned,
    Wire,
    read,
)
from harness.masking import mask
from harness.turns import SubagentFinished, TurnRequest

Late: TypeAlias = Callable[[TurnRequest, SubagentFinished], None]

logger: Final = logging.getLogger("codex_bridge")


class Hearing:
    """Hears one server.

    Args:
        servers: The server that speaks.
        threads: What is loaded there.
        at_work: The turns that run, and what works for them.
        watching: Keeps their deadlines.
        endings: Takes in their ends.
        requests: What the server asked and waits for.
        following: The turns of earlier processes.
        telling: Keeps what is told of the account.
        on_late_subagent: Hears of a subagent that ended after its turn.
    """

    def __init__(
        self,
        servers: Servers,
        threads: Threads,
        at_work: AtWork,
        watching: Watching,
        endings: Endings,
        requests: RequestsServed,
        following: Following,
        telling: Telling,
        on_late_subagent: Late,
    ) -> None:
        self._servers = servers
        self._threads = threads
        self._at_work = at_work
        self._watching = watching
        self._endings = endings
        self._requests = requests
        self._following = following
        self._telling = telling
        self._on_late_subagent = on_late_subagent

    def hear(self, notification: Notified) -> None:
        """Take in a notification; nothing that breaks on the way comes out."""
        try:
            self._take_in(notification)
        except Exception:
            # One word of the server that breaks something here must not end the connection, and every chat with it.
            logger.exception("a notification of Codex: %s", notification.method)

    def _take_in(self, notification: Notified) -> None:
        wire = read(notification)
        if isinstance(wire, Delta):  # by far the most
            self.on_thread(wire.thread_id, wire)
            return
        self._requests.see(wire)
        match wire:
            case ThreadClosed(thread_id=thread_id):
                self._at_work.commands.end(thread_id)
                self._at_work.counted.pop(thread_id, None)
                connection = self._servers.current
                if connection is not None and (key := connection.key_of(thread_id)) is not None:
                    del connection.threads[key]
                if connection is not None:
                    connection.left.discard(thread_id)
            case ConfigWarned(summary=summary) | Warned(message=summary, thread_id=None):
                logger.warning("codex: %s", mask(summary))
            case _:
                thread = notification.params.get("threadId")
                if isinstance(thread, str):
                    self.on_thread(thread, wire)
                elif notification.method == LIMITS_TOLD:
                    self._telling.hear(notification.params)
                if isinstance(wire, TurnEnded):
                    self._following.over(wire.thread_id)
                if isinstance(wire, ItemStarted | ItemCompleted):
                    self._at_work.commands.see(wire)
                if isinstance(wire, ItemCompleted) and isinstance(wire.item, CompactionItem):
                    self._endings.summarised(wire.thread_id)

    def on_thread(self, thread: str, wire: Wire) -> None:
        """Take in what Codex says of a thread."""
        if isinstance(wire, TokenUsageUpdated):
            self._at_work.counted[thread] = wire.token_usage
        turn = self._at_work.turns.get(thread)
        if turn is not None and turn.ledger is not None:
            events = turn.ledger.see(wire)
            self._watching.see(turn, wire)
            if isinstance(wire, TurnEnded):
                self._endings.end(turn, turn.ledger, events)
            else:
                turn.push(events)
        elif (told := self._at_work.children.see(thread, wire)) is not None:
            parent, event = told
            if isinstance(event, SubagentFinished):
                self._on_subagent(parent, event)
            else:
                self._threads.has_child(self._servers.current, parent, event.agent)
            parent.buffer.push(event)

    def _on_subagent(self, parent: CodexTurn, event: SubagentFinished) -> None:
        if parent.ledger is not None:
            parent.ledger.count_subagent(event.result.usage)
        if parent.buffer.result is not None:  # nobody reads the turn's events any more
            logger.info("a subagent of %s ended after its turn: %s", parent.request.session_key, event.result.usage)
            try:
                self._on_late_subagent(parent.request, event)
            except Exception:  # the gateway's own code must not end the connection
                logger.exception("on_late_subagent")
