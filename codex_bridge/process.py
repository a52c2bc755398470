"""One app-server, from start to handshake: a process of our own, or a server that somebody else runs."""

import json
import logging
import time
from collections.abc import AsyncGenerator, Callable, Collection, Sequence
from contextlib import asynccontextmanager, nullcontext
from functools import cache
from pathlib import Path
from typing import Final, TypeAlias

from codex_bridge.addresses import socket_path
from codex_bridge.binary import CodexBinary
from codex_bridge.capabilities import NOTHING_STATED, ServerCapabilities, Stated
from codex_bridge.catalogue import UNKNOWN, Catalogue, CatalogueMode
from codex_bridge.catalogue_file import catalogue_for
from codex_bridge.client import CALL_DEADLINE, Client, Diagnostics, NotificationHandler, RequestHandler, connected
from codex_bridge.home import LOGIN, Home, StateFolderError, child_environment, forget_trust, login_command, private_dir
from codex_bridge.orphans import end_orphans, noted
from codex_bridge.providers import Provider
from codex_bridge.rpc import MESSAGE_LIMIT
from codex_bridge.sources import Listener, Remote
from codex_bridge.transports.base import Transport
from codex_bridge.transports.stdio import spawned
from codex_bridge.versions import ServerVersion, version_of
from codex_bridge.wire.requests import INITIALIZE, Capabilities, ClientInfo, InitializeParams
from harness.lean_values import dataclass

logger = logging.getLogger("codex_bridge")

QUIET: Final = (
    # Both reach for the network at every start (protocol reference, section 8).
    ("features.plugins", "false"),
    ("check_for_update_on_startup", "false"),
    # Without this a provider that cannot be reached is tried for ever (section 6).
    ("features.unbounded_connection_retries", "false"),
)
"""Command-line overrides of every app-server that we start."""
UNHEARD: Final = (
    "account/updated",
    "hook/completed",
    "hook/started",
    "item/fileChange/outputDelta",
    "item/fileChange/patchUpdated",
    "item/mcpToolCall/progress",
    "item/reasoning/summaryPartAdded",
    "mcpServer/startupStatus/updated",
    "remoteControl/status/changed",
    "skills/changed",
    "thread/name/updated",
    "thread/queue/changed",
    "thread/readState/changed",
    "thread/settings/updated",
    "thread/started",
    "thread/status/changed",
    "turn/diff/updated",
)
"""Notifications that the server is asked to keep to itself: nothing here acts on them, and a short turn sends as many
of them as of those that we need. A server that does not know a name passes over it."""
NOTES: Final = "app-servers"
"""The folder of the notes of servers that run, beside their home."""
HANDSHAKE_DEADLINE: Final = 15.0
"""Seconds for the answer to initialize; measured are 0.07 to 0.2 from the start of the process."""


@cache  # not a constant: the first model that is made costs 20 ms, and an import should not
def client_info() -> ClientInfo:
    """Who we say we are."""
    return ClientInfo(name="openclaw-codex-bridge", version="0.1.0", title="OpenClaw Codex bridge")


@dataclass(frozen=True, slots=True)
class Launch:
    """What to start and with what."""

    binary: CodexBinary
    home: Home
    provider: Provider | None = None
    """The model provider; None for the one that the home is signed in to."""
    overrides: Sequence[tuple[str, str]] = ()
    """Further `-c key=value` pairs, TOML values."""
    catalogue: CatalogueMode = "auto"
    """Whether the server gets a catalogue of models in which ours is the text of the Default mode."""
    message_limit: int = MESSAGE_LIMIT
    """Ceiling of one of its messages, in bytes; a longer one ends the connection."""
    call_deadline: float = CALL_DEADLINE
    """Seconds to wait for the answer to an ordinary call."""
    stated: Stated = NOTHING_STATED
    """What the operator says that the server honours."""
    clear_env: Collection[str] = ()
    """Names of variables that it is not to see, though it usually would."""
    listener: Listener | None = None
    """How it is to listen; None for a child that we talk to on its stdin and stdout."""
    notes: Path | None = None
    """A folder of ours for notes of the servers that run, by which one that outlives its gateway is found; None: beside
    a home of ours, and no notes of somebody else's."""

    def command(self, model_catalogue: Path | None = None) -> list[str]:
        """Program and arguments; with the catalogue that takes the place of the server's own."""
        # Never in config.toml: there it would end the account's refresh of its models for good (measured).
        named = [("model_catalog_json", json.dumps(str(model_catalogue)))] if model_catalogue else []
        pairs = [*QUIET, *named, *(self.provider.overrides() if self.provider else ()), *self.overrides]
        flags = [word for key, value in pairs for word in ("-c", f"{key}={value}")]
        return [str(self.binary.path), *flags, "app-server"]


Source: TypeAlias = Launch | Remote
"""Where an app-server comes from: we start it, or somebody else runs it."""


def login_of(source: Source, agent: str) -> str:
    """The command line that signs in what an agent's turns run on; it signs in a server of somebody else's as well."""
    return login_command(source.home, agent) if isinstance(source, Launch) else f"{LOGIN} --agent {agent}"


@dataclass(frozen=True, slots=True)
class Server:
    """An app-server that has said hello."""

    client: Client
    version: ServerVersion
    process: int | None
    """The id of its process; None when somebody else runs it."""
    capabilities: ServerCapabilities
    """What it honours."""

    @property
    def name(self) -> str:
        """For logs, such as "stdio (process 4711)"."""
        return self.client.transport.name

    @property
    def pid(self) -> int:
        """The id of its process.

        Raises:
            LookupError: Somebody else runs it.
        """
        if self.process is None:
            raise LookupError(f"{self.name} is no process of ours")
        return self.process


@asynccontextmanager
async def app_server(
    source: Source,
    *,
    on_notification: NotificationHandler,
    on_request: RequestHandler,
    diagnostics: Diagnostics | None = None,
    now: Callable[[], float] = time.time,
) -> AsyncGenerator[Server]:
    """Run an app-server, or be connected to one, for as long as the block lasts.

    Raises:
        ConnectError: It could not be started or reached.
        ConnectionLostError: It ended before the handshake; carries the masked tail of its stderr.
        ServerTooOldError: Its version is below the floor.
        StateFolderError: Its home cannot be made.
        TrustedFolderError: Its home lets files of a workspace give it orders.
    """
    opening = _reached(source) if isinstance(source, Remote) else _started(source, now)
    async with (
        opening as (transport, pid, catalogue),
        connected(
            transport,
            on_notification=on_notification,
            on_request=on_request,
            diagnostics=diagnostics,
            deadline=CALL_DEADLINE if source.call_deadline is None else source.call_deadline,
        ) as client,
    ):
        version = await handshake(client)
        yield Server(client, version, pid, ServerCapabilities(version.numbers, catalogue, source.stated))


@asynccontextmanager
async def _started(launch: Launch, now: Callable[[], float]) -> AsyncGenerator[tuple[Transport, int | None, Catalogue]]:
    if launch.home.owned:
        forget_trust(private_dir(launch.home.path))
    environment = child_environment(
        launch.home.path,
        tools_dir=launch.binary.tools_dir,
        extra=launch.provider.environment() if launch.provider else None,
        cleared=launch.clear_env,
    )
    known = await catalogue_for(launch.binary, launch.home, launch.catalogue, now, launch.clear_env)
    command, limit = launch.command(known.file), launch.message_limit
    if launch.listener is None:
        notes = await _notes_of(launch)
        async with spawned(command, env=environment.passed, secrets=environment.secrets, limit=limit) as pipes:
            with noted(notes, pipes.pid) if notes is not None else nullcontext():
                yield pipes, pipes.pid, known.catalogue
        return
    from codex_bridge.transports.listening import listening  # a child on its pipes needs no WebSocket

    async with listening(
        command, launch.listener, env=environment.passed, secrets=environment.secrets, limit=limit
    ) as socket:
        yield socket, socket.pid, known.catalogue


async def _notes_of(launch: Launch) -> Path | None:
    """Where the server is to be noted; those of dead gateways that are noted there are ended by then."""
    folder = launch.notes or (launch.home.path.parent / NOTES if launch.home.owned else None)
    if folder is None:
        return None
    try:
        private_dir(folder)
    except StateFolderError as error:
        logger.warning("%s", error)
        return None
    for ended in await end_orphans(folder):
        logger.warning("process %d, an app-server of a gateway that died, was still there and is ended", ended)
    return folder


@asynccontextmanager
async def _reached(remote: Remote) -> AsyncGenerator[tuple[Transport, int | None, Catalogue]]:
    """Nothing that we would start a server with holds for it, so nobody knows which catalogue it has."""
    from codex_bridge.transports.websocket import unix_socket, websocket

    path, headers, limit = socket_path(remote.address), remote.headers, remote.message_limit
    async with (
        websocket(remote.address, headers=headers, limit=limit)
        if path is None
        else unix_socket(path, headers=headers, limit=limit)
    ) as socket:
        yield socket, None, UNKNOWN


async def handshake(client: Client) -> ServerVersion:
    """Introduce ourselves, with the experimental API that the turn-scoped lane needs.

    Raises:
        ServerTooOldError: The server's version is below the floor.
        CodexError: The handshake failed; see `Client.call`.
    """
    capabilities = Capabilities(experimental_api=True, opt_out_notification_methods=list(UNHEARD))
    params = InitializeParams(client_info=client_info(), capabilities=capabilities)
    result = await client.call(INITIALIZE, params, deadline=HANDSHAKE_DEADLINE)
    version = version_of(result.user_agent)
    client.notify("initialized")
    return version
