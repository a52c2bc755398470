"""A server, and the thread of a turn loaded on it, also when a server is lost on the way there."""

import logging
from itertools import count

from codex_bridge.catalogue_watch import CatalogueWatch
from codex_bridge.errors import CallTimeoutError, ConnectionLostError
from codex_bridge.failures import Trouble, trouble_of
from codex_bridge.held import OpenThread
from codex_bridge.restarts import DEADLY, Suspects
from codex_bridge.servers import Connection, Servers
from codex_bridge.threads import Threads
from codex_bridge.turn import CodexTurn
from harness.turns import Notice

logger = logging.getLogger("codex_bridge")


class Loading:
    """Has the threads of turns loaded, on a server that can serve them.

    Args:
        servers: The server that they run on.
        threads: The threads of their conversations.
        models: Watches the catalogue of the server.
        suspects: The conversations with which servers died.
    """

    def __init__(self, servers: Servers, threads: Threads, models: CatalogueWatch, suspects: Suspects) -> None:
        self._servers = servers
        self._threads = threads
        self._models = models
        self._suspects = suspects

    async def loaded(self, turn: CodexTurn) -> tuple[Connection, OpenThread]:
        """A server and the turn's thread on it. A server that is lost before the turn begins costs a second try.

        And a third one, if the thread itself seems to be the reason: that one is a fresh thread's.

        Raises:
            CodexError: Codex refused, or its servers went away.
            NoThreadError: The conversation has none, and the turn is for one that has.
        """
        tries = 2
        for tried in count(1):
            connection, last = None, tried == tries
            try:
                connection = await self._servers.get()
                self._models.glance(connection.server.capabilities.catalogue)
                if not last and (why := self._has_outlived(connection, turn)):
                    await self._servers.retire(connection, why)
                    await connection.server.client.closed.wait()
                    connection = await self._servers.get()
                if connection.untold:
                    turn.buffer.push(Notice(connection.untold))
                    connection.untold = ""
                return connection, await self._threads.open(connection, turn)
            except ConnectionLostError as error:
                if trouble_of(error) is not Trouble.CONNECTION:
                    raise
                if await self.suspect(turn, connection):
                    tries = tried + 1
                elif last:
                    raise
                logger.warning("the app-server went away before a turn could begin (%s); once more", error)
            except CallTimeoutError:
                if connection is not None:
                    await self._servers.retire_if_hung(connection)
                raise
        raise AssertionError("the last try returns or raises")

    async def suspect(self, turn: CodexTurn, connection: Connection | None) -> bool:
        """A server died while it began a turn; tells whether its conversation is to have another thread for that."""
        if connection is None or connection.life.retired or turn.aside or not self._suspects.died_with(turn.key):
            return False
        await self._threads.remembered.drop(None, turn.key, DEADLY)
        return True

    def _has_outlived(self, connection: Connection, turn: CodexTurn) -> str:
        """Why a turn needs another server than this one, which nobody else needs; empty when this one serves."""
        idle = self._servers.idle
        if idle and self._models.replaces(connection.server.capabilities.catalogue):
            return "the vendor has other models now"
        loaded = connection.threads.get(turn.request.session_key)
        if loaded is None or loaded.environment == turn.request.environment:
            return ""
        if connection.server.process is None:
            loaded.environment = turn.request.environment
            text = "The environment of the agent's skills has changed, and the server is not ours to start anew."
            turn.buffer.push(Notice(f"{text} Only new conversations get it."))
            return ""
        if idle:  # the turn's thread has to be loaded anew
            return "the environment of the agent's skills has changed"
        turn.buffer.push(Notice("The environment of the agent's skills has changed; commands of this turn lack that."))
        return ""
