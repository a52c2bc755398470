"""The app-server as one agent sees it: the one that its home has, and the threads of the agent that it has loaded."""

from dataclasses import field

from codex_bridge.errors import NotSignedInError, ServerNotSignedInError
from codex_bridge.held import OpenThread
from codex_bridge.hosts import Host, Life, Listener, NobodySignedInError
from codex_bridge.process import Launch, Server, login_of
from harness.lean_values import dataclass


@dataclass(slots=True)
class Connection:
    """A running app-server and the threads that it has loaded for an agent, by the conversation they belong to."""

    life: Life
    """The server's, which other agents may share."""
    untold: str = ""
    """What is odd about the server; the agent's first turn on it tells it."""
    threads: dict[str, OpenThread] = field(default_factory=dict[str, OpenThread])
    left: set[str] = field(default_factory=set[str])
    """Threads that nobody uses again, and that are loaded still."""
    refused_tools: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    """Tools, by their groups and names, with which it has refused a thread."""

    @property
    def server(self) -> Server:
        """The server."""
        return self.life.server

    @property
    def account(self) -> str:
        """A digest of the account that the home is signed in to; empty when the provider needs none."""
        return self.life.account

    def key_of(self, thread_id: str) -> str | None:
        """The conversation that a loaded thread belongs to; None for a thread that is not ours, a subagent's say."""
        return next((key for key, thread in self.threads.items() if thread.opened.thread.id == thread_id), None)


class Servers:
    """What an agent has of the server of its home.

    Args:
        host: The home's server.
        agent: The agent's id.
    """

    def __init__(self, host: Host, agent: str) -> None:
        self._host = host
        self._agent = agent
        self._listener: Listener | None = None
        self._connection: Connection | None = None

    def listen(self, listener: Listener) -> None:
        """Have a listener hear what the server says; once, before the first server is got."""
        self._listener = listener
        self._host.join(listener)

    @property
    def current(self) -> Connection | None:
        """The server that runs, or None."""
        life = self._host.life
        return None if life is None else self._on(life)

    @property
    def idle(self) -> bool:
        """Whether nobody, of this agent or of another one, has anything at work on the server."""
        return self._host.idle

    async def get(self) -> Connection:
        """The running server; starts one if there is none, see `Host.get`.

        Raises:
            ServerRestsError: It died so often that it is not started now.
            CodexError: It could not be started; see `CodexHarness.ready`.
        """
        try:
            return self._on(await self._host.get())
        except NobodySignedInError:
            source = self._host.source
            login = login_of(source, self._agent)
            if isinstance(source, Launch):
                home = source.home
                raise NotSignedInError(str(home.path), self._agent, login, owned=home.owned) from None
            raise ServerNotSignedInError(source.name, self._agent, login) from None

    async def retire(self, connection: Connection, why: str) -> None:
        """Close a server that cannot be trusted any more; whoever needs one next gets a new one."""
        await self._host.retire(connection.life, why)

    async def retire_if_hung(self, connection: Connection) -> None:
        """Ask something trivial, and close the server when even that is not answered."""
        await self._host.retire_if_hung(connection.life)

    def release(self) -> None:
        """Use it no more."""
        if self._listener is not None:
            self._host.leave(self._listener)

    def _on(self, life: Life) -> Connection:
        if self._connection is None or self._connection.life is not life:
            self._connection = Connection(life, life.server.version.warning)
        return self._connection
