"""Which app-server an agent runs on, apart from a child on its pipes: one of ours that listens, or somebody else's.

Pure.
"""

import re
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Final, Literal, TypeAlias
from urllib.parse import urlsplit

from codex_bridge.addresses import UNIX, checked, is_loopback, socket_path
from codex_bridge.capabilities import NOTHING_STATED, Stated
from codex_bridge.errors import ConnectError
from codex_bridge.rpc import MESSAGE_LIMIT
from harness.lean_values import dataclass

ListenerKind: TypeAlias = Literal["unix", "websocket"]

_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE: Final = re.compile(r"[!-~](?:[ -~]*[!-~])?")
_OF_THE_PROTOCOL: Final = re.compile(r"(?i)connection|upgrade|host|origin|sec-websocket-.*")
"""Headers that the opening of a WebSocket has itself; the server refuses any `Origin` (protocol reference, 7)."""
AUTHORIZATION: Final = "authorization"


@dataclass(frozen=True, slots=True)
class Listener:
    """How an app-server of ours is to listen."""

    kind: ListenerKind
    folder: Path
    """A folder that is ours alone, for sockets, tokens and notes."""


@dataclass(frozen=True, slots=True)
class Remote:
    """An app-server that somebody else runs. We neither start nor end it, and its home is not ours.

    Raises:
        ConnectError: The address or a header is refused; the error has no word of a credential.
    """

    address: str
    """`ws://127.0.0.1:PORT`, `wss://HOST/…` or `unix://PATH`, without a credential in it."""
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """What is said when the connection is opened, `Authorization` among it."""
    call_deadline: float | None = None
    """Seconds to wait for the answer to an ordinary call; None: those of `codex_bridge.client`."""
    message_limit: int = MESSAGE_LIMIT
    """Ceiling of one of its messages, in bytes; a longer one ends the connection."""
    stated: Stated = NOTHING_STATED
    """What the operator says that the server honours."""
    workdir: str | None = None
    """The workspace as the server's machine names it; None where it has the same path."""

    def __post_init__(self) -> None:
        """Refuse what cannot be used, before anything is sent."""
        if socket_path(self.address) is None:
            checked(self.address)
        if not self.is_here and AUTHORIZATION not in map(str.lower, self.headers):
            raise ConnectError(
                f"{self.name} is on another machine, which must not let in just anybody; name its token in "
                "appServer.authToken, or an Authorization header."
            )
        for name, value in self.headers.items():
            if not _NAME.fullmatch(name) or _OF_THE_PROTOCOL.fullmatch(name):
                raise ConnectError(f"The header {name!r} cannot be sent to the app-server; leave it out.")
            if not _VALUE.fullmatch(value):
                raise ConnectError(f"The value of the header {name} has more than visible ASCII characters and blanks.")

    @property
    def name(self) -> str:
        """The address as it may be shown."""
        return self.address if self.address.startswith(UNIX) else checked(self.address)

    @property
    def is_here(self) -> bool:
        """Whether the address leads to this machine; a tunnel may lead on from there."""
        return socket_path(self.address) is not None or is_loopback(urlsplit(self.address).hostname or "")
