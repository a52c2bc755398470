"""Which app-server the configuration asks for: ours on its pipes, ours on a socket, or one that somebody else runs.

Pure but for the environment, which is an argument.
"""

import re
from collections.abc import Mapping
from typing import Final, TypeAlias, cast

from codex_bridge.addresses import UNIX
from codex_bridge.config import PATH, AppServer
from codex_bridge.errors import ConnectError
from codex_bridge.sources import AUTHORIZATION, ListenerKind, Remote
from harness.config.section import Opaque
from harness.errors import HarnessError

Endpoint: TypeAlias = ListenerKind | Remote | None
"""How a server of ours is to listen, None for its pipes; or a server of somebody else."""

_KEY: Final = f"{PATH}.appServer"
_VARIABLE: Final = re.compile(r"\$\{?([A-Z_][A-Z0-9_]*)\}?")
_WORD: Final = re.compile(r"[!-~]+")
_ABSOLUTE: Final = re.compile(r"/|[A-Za-z]:[\\/]")


class EndpointError(HarnessError):
    """The configuration names a server in a way that cannot be followed."""


def endpoint_of(server: AppServer, environ: Mapping[str, str]) -> Endpoint:
    """The server that the configuration asks for.

    Raises:
        EndpointError: It asks for something that cannot be had; one sentence with the key and the fix, and no secret.
    """
    url = (server.url or "").strip()
    if not url:
        return None if server.transport == "stdio" else server.transport
    fitting = "unix" if url.startswith(UNIX) else "websocket"
    if server.transport != fitting:
        raise EndpointError(
            f'{_KEY}.url is an address for transport "{fitting}", and {_KEY}.transport is "{server.transport}"; '
            "change the one, or remove the url to have Codex started here."
        )
    root = server.remote_workspace_root
    if root is not None and not _ABSOLUTE.match(root):
        raise EndpointError(f"{_KEY}.remoteWorkspaceRoot must be an absolute path on the server's machine.")
    try:
        return Remote(
            url,
            headers=_headers(server, environ),
            call_deadline=server.request_timeout_ms / 1000,
            message_limit=server.max_message_bytes,
            stated=server.capabilities.stated(),
            workdir=root,
        )
    except ConnectError as error:
        raise EndpointError(f"{_KEY}.url: {error}") from None


def without_effect(server: AppServer) -> list[str]:
    """Name, in a sentence each, the keys that are set and do nothing with the server that is asked for."""
    if (server.url or "").strip():
        unused = {
            "command": bool(server.command),
            "clearEnv": bool(server.clear_env),
            "homeScope": server.home_scope != "agent",
            "modelCatalog": server.model_catalog == "patched",
        }
        why = "the server that appServer.url names is started by somebody else"
    else:
        unused = {
            "authToken": server.auth_token is not None,
            "headers": bool(server.headers),
            "remoteWorkspaceRoot": server.remote_workspace_root is not None,
        }
        why = "without appServer.url Codex is started here"
    return [f"{_KEY}.{key} is set and does nothing: {why}." for key, is_set in unused.items() if is_set]


def _headers(server: AppServer, environ: Mapping[str, str]) -> dict[str, str]:
    headers = {name: _secret(f"headers.{name}", value, environ) for name, value in server.headers.items()}
    if server.auth_token is None:
        return headers
    if AUTHORIZATION in map(str.lower, headers):
        raise EndpointError(f"{_KEY}.authToken and an Authorization header are both set; leave one of them out.")
    token = _secret("authToken", server.auth_token, environ)
    if not _WORD.fullmatch(token):
        raise EndpointError(f"{_KEY}.authToken holds more than a token, which is one word of visible ASCII characters.")
    return headers | {"Authorization": f"Bearer {token}"}


def _secret(key: str, written: object, environ: Mapping[str, str]) -> str:
    """The secret that stands there, or in the environment variable that is referred to there."""
    name: object = None
    if isinstance(written, str):
        found = _VARIABLE.fullmatch(written.strip())
        if found is None and written.strip():
            return written.strip()
        name = found[1] if found is not None else None
    elif isinstance(written, dict):
        source, provider, name = map(cast("Opaque", written).get, ("source", "provider", "id"))
        name = name if source == "env" and provider in (None, "default") else None
    if not isinstance(name, str):
        raise EndpointError(
            f"{_KEY}.{key} is neither a text nor a reference to a variable; write "
            '{source: "env", id: "NAME"}, or have the gateway put the secret in its place.'
        )
    if not (value := environ.get(name, "").strip()):
        raise EndpointError(f"{_KEY}.{key} refers to the environment variable {name}, which is not set.")
    return value
