"""An app-server that listens: WebSocket over TCP, or over a unix socket.

The websockets library does the protocol; this module decides who may be talked to and how a token travels.
"""

import logging
import os
import re
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import anyio
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus
from websockets.frames import CloseCode

from codex_bridge.addresses import checked
from codex_bridge.errors import ConnectError, ConnectionLostError, OversizedMessageError
from codex_bridge.rpc import MESSAGE_LIMIT

GOODBYE = 2.0
"""Seconds that a close handshake may take."""
OPENING = 10.0
"""Seconds that the connection and its upgrade may take."""
NO_HEADERS: Mapping[str, str] = MappingProxyType({})
_WIRE_LOG = logging.getLogger("codex_bridge.websocket")
# At DEBUG the library logs the headers that it sends, the token among them.
_WIRE_LOG.setLevel(logging.INFO)
_TOKEN = re.compile(r"[!-~]+")
"""What can stand in a header and be one word of it."""


@dataclass(frozen=True, slots=True)
class TokenFrom:
    """Where the bearer token of a server is kept: a file or an environment variable, one of them."""

    file: Path | None = None
    variable: str | None = None

    def read(self) -> str:
        """Fetch the token.

        Raises:
            ConnectError: It is not there, empty, or not one word of visible ASCII. The error names the place alone.
        """
        if (self.file is None) == (self.variable is None):
            raise ConnectError("Name either a token file or an environment variable for the server's token, not both.")
        if self.file is not None:
            try:
                token = self.file.read_text(
                    "latin-1"
                ).strip()  # which reads any byte; what is no ASCII is refused below
            except OSError as error:
                raise ConnectError(f"The token file {self.file} cannot be read: {error}") from None
            where = f"The token file {self.file}"
        else:
            assert self.variable is not None
            token = os.environ.get(self.variable, "").strip()
            where = f"The environment variable {self.variable}"
        if not token:
            raise ConnectError(f"{where} holds no token.")
        if not _TOKEN.fullmatch(token):
            raise ConnectError(f"{where} holds more than a token, which is one word of visible ASCII characters.")
        return token


class WebSocketTransport:
    """The client's end of a WebSocket; make one with `websocket` or `unix_socket`."""

    def __init__(self, connection: ClientConnection, name: str, *, limit: int) -> None:
        self.name = name
        self._connection = connection
        self._limit = limit

    async def send(self, message: bytes) -> None:
        """Send one whole message; see `Transport.send`."""
        try:
            # The app-server ignores binary frames without a word (protocol reference, section 7).
            await self._connection.send(message, text=True)
        except ConnectionClosed as error:
            raise self._lost(error) from None

    async def receive(self) -> list[bytes]:
        """Wait for the next messages; see `Transport.receive`."""
        try:
            return [await self._connection.recv(decode=False)]
        except ConnectionClosed as error:
            # Sent first by us, and not the echo of a server that finds a message of ours too long.
            if error.sent is not None and error.sent.code == CloseCode.MESSAGE_TOO_BIG and not error.rcvd_then_sent:
                raise OversizedMessageError(self._limit) from None
            raise self._lost(error) from None

    async def aclose(self) -> None:
        """Say goodbye, and hang up when that takes too long."""
        with anyio.move_on_after(GOODBYE, shield=True):
            await self._connection.close()

    def _lost(self, error: ConnectionClosed) -> ConnectionLostError:
        if error.rcvd is None:
            return ConnectionLostError("the connection broke off")
        reason = f" ({error.rcvd.reason})" if error.rcvd.reason else ""
        return ConnectionLostError(f"the server closed it with code {error.rcvd.code}{reason}")


class _Straight(connect):
    """Connects to the address that was checked and to no other; the library alone would follow up to ten redirects."""

    def process_redirect(self, exc: Exception) -> Exception:
        """Take a redirect for the refusal that any other status is."""
        return exc


@asynccontextmanager
async def websocket(
    url: str,
    *,
    token: TokenFrom | None = None,
    headers: Mapping[str, str] = NO_HEADERS,
    limit: int = MESSAGE_LIMIT,
) -> AsyncGenerator[WebSocketTransport]:
    """Connect to a listening app-server for as long as the block lasts.

    Args:
        url: `ws://127.0.0.1:PORT` or `wss://HOST/…`, without a credential in it.
        token: Where its capability token is kept.
        headers: What else to say when the connection is opened.
        limit: Ceiling of one message in bytes.

    Raises:
        ConnectError: The address is refused, nobody answers, or the token is not accepted.
    """
    name = checked(url)
    given = {**headers, "Authorization": f"Bearer {token.read()}"} if token else headers
    opening = _Straight(
        url,
        additional_headers=given,
        max_size=limit,
        compression=None,
        proxy=None,
        logger=_WIRE_LOG,
        open_timeout=OPENING,
        close_timeout=GOODBYE,
    )
    async with _opened(opening, name, limit) as transport:
        yield transport


@asynccontextmanager
async def unix_socket(
    path: Path, *, headers: Mapping[str, str] = NO_HEADERS, limit: int = MESSAGE_LIMIT
) -> AsyncGenerator[WebSocketTransport]:
    """Connect to an app-server that listens on a unix socket, for as long as the block lasts.

    Args:
        path: The socket.
        headers: What to say when the connection is opened.
        limit: Ceiling of one message in bytes.

    Raises:
        ConnectError: There is no socket at `path`, or nobody answers on it.
    """
    opening = _Straight(
        "ws://localhost/",
        unix=True,
        path=str(path),
        additional_headers=headers,
        max_size=limit,
        compression=None,
        logger=_WIRE_LOG,
        open_timeout=OPENING,
        close_timeout=GOODBYE,
    )
    async with _opened(opening, f"unix socket {path}", limit) as transport:
        yield transport


@asynccontextmanager
async def _opened(opening: connect, name: str, limit: int) -> AsyncGenerator[WebSocketTransport]:
    try:
        connection = await opening
    except InvalidStatus as error:
        status = error.response.status_code
        if 300 <= status < 400:  # where to is not said: the address may hold a credential
            raise ConnectError(
                f"The server at {name} sends the connection on to another address (HTTP {status}), which is not "
                "followed; name the address of the app-server itself."
            ) from None
        hint = " (the token is missing or wrong)" if status in (401, 403) else ""
        raise ConnectError(f"The server at {name} refused the connection with HTTP {status}{hint}.") from None
    except InvalidHandshake:  # its text is not said: it may quote a header, ours or one that repeats it
        raise ConnectError(f"No app-server answers at {name}: what listens there speaks no WebSocket.") from None
    except (OSError, TimeoutError) as error:
        raise ConnectError(f"No app-server answers at {name}: {str(error) or 'it took too long'}") from None
    transport = WebSocketTransport(connection, name, limit=limit)
    try:
        yield transport
    finally:
        await transport.aclose()
