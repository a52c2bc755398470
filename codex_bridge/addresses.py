"""Where an app-server can be reached: which addresses are good, and how each may be shown.

Pure. An address of ours never holds a credential, so it may stand in logs, errors and the store.
"""

from ipaddress import ip_address
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from codex_bridge.errors import ConnectError

UNIX: Final = "unix://"


def checked(url: str) -> str:
    """Return a WebSocket's address as it may be shown, or refuse it.

    Raises:
        ConnectError: It is no such address, holds a credential, or would send everything through a network in the open.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
        (parts.hostname or "").encode("idna")  # as the resolver will, which has an error of its own for it
        if not url.isprintable():
            raise ValueError
    except ValueError:
        # Not even quoted: it may hold a credential in a place that nobody looked at.
        raise ConnectError("The app-server address cannot be read; it looks like ws://127.0.0.1:4500.") from None
    host = parts.hostname or ""
    name = f"{parts.scheme}://{host}:{port}" if port else f"{parts.scheme}://{host}"
    if parts.scheme not in ("ws", "wss") or not host:
        raise ConnectError(f"An app-server address starts with ws:// or wss:// and names a host; {name} does not.")
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise ConnectError(f"Take the credential out of the address of {name}; name a token file or variable instead.")
    if parts.scheme == "ws" and not is_loopback(host):
        raise ConnectError(f"Plain ws:// would send everything to {host} unprotected; use wss:// or an SSH tunnel.")
    return name


def is_loopback(host: str) -> bool:
    """Whether only this machine is reached under that name."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def socket_path(address: str) -> Path | None:
    """The path of `unix://PATH`; None for another kind of address.

    Raises:
        ConnectError: The path is missing or not absolute.
    """
    if not address.startswith(UNIX):
        return None
    path = Path(address.removeprefix(UNIX))
    if not path.is_absolute():
        raise ConnectError("The address of a unix socket has an absolute path, such as unix:///run/codex/app.sock.")
    return path
