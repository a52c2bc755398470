"""The configuration names the server in the gateway's words, and a mistake in them is one sentence without a secret."""

from typing import Any

import pytest

from codex_bridge.capabilities import Stated
from codex_bridge.config import PATH, AppServer
from codex_bridge.endpoint import EndpointError, endpoint_of, without_effect
from codex_bridge.errors import ConnectError
from codex_bridge.sources import Remote

AT = f"{PATH}.appServer"
SECRET = "lantern-harbour-1289"
ENVIRON = {"CODEX_TOKEN": SECRET, "EMPTY": " "}
WS = {"transport": "websocket", "url": "ws://127.0.0.1:4500"}


def server(**keys: Any) -> AppServer:
    return AppServer.model_validate(keys)


@pytest.mark.parametrize(("transport", "endpoint"), [("stdio", None), ("unix", "unix"), ("websocket", "websocket")])
def test_without_an_address_codex_is_started_here(transport: str, endpoint: str | None) -> None:
    assert endpoint_of(server(transport=transport), {}) == endpoint
    assert endpoint_of(server(transport=transport, url="  "), {}) == endpoint


@pytest.mark.parametrize(
    ("keys", "remote"),
    [
        (WS, Remote("ws://127.0.0.1:4500", call_deadline=60.0)),
        (
            {"transport": "unix", "url": "unix:///run/codex/app.sock"},
            Remote("unix:///run/codex/app.sock", call_deadline=60.0),
        ),
        (
            {
                "transport": "websocket",
                "url": "wss://codex.example/agents",
                "authToken": SECRET,
                "headers": {"X-Desk": "4"},
                "remoteWorkspaceRoot": "/srv/pell",
                "requestTimeoutMs": 1500,
                "maxMessageBytes": 2_000_000,
                "capabilities": {"modeText": {"gpt-6-sol": True}},
            },
            Remote(
                "wss://codex.example/agents",
                headers={"X-Desk": "4", "Authorization": f"Bearer {SECRET}"},
                call_deadline=1.5,
                message_limit=2_000_000,
                stated=Stated({"gpt-6-sol": True}),
                workdir="/srv/pell",
            ),
        ),
    ],
)
def test_an_address_names_a_server_of_somebody_else(keys: dict[str, Any], remote: Remote) -> None:
    assert endpoint_of(server(**keys), {}) == remote


@pytest.mark.parametrize(
    "token",
    [
        SECRET,
        f" {SECRET}\n",
        "$CODEX_TOKEN",
        "${CODEX_TOKEN}",
        {"source": "env", "id": "CODEX_TOKEN"},
        {"source": "env", "provider": "default", "id": "CODEX_TOKEN"},
    ],
)
def test_a_secret_is_written_out_or_stands_in_a_variable(token: object) -> None:
    by_token = endpoint_of(server(**WS, authToken=token), ENVIRON)
    by_header = endpoint_of(server(**WS, headers={"X-Key": token}), ENVIRON)
    assert isinstance(by_token, Remote)
    assert isinstance(by_header, Remote)
    assert (by_token.headers, by_header.headers) == ({"Authorization": f"Bearer {SECRET}"}, {"X-Key": SECRET})
    assert SECRET not in f"{by_token!r} {by_header!r} {by_token.name} {server(**WS, authToken=token)!r}"


@pytest.mark.parametrize(
    ("keys", "sentence"),
    [
        (
            {"url": "ws://127.0.0.1:4500"},
            f'{AT}.url is an address for transport "websocket", and {AT}.transport is "stdio"; change the one, or '
            "remove the url to have Codex started here.",
        ),
        (
            {"transport": "websocket", "url": "unix:///run/app.sock"},
            f'{AT}.url is an address for transport "unix", and {AT}.transport is "websocket"; change the one, or '
            "remove the url to have Codex started here.",
        ),
        (
            {"transport": "websocket", "url": "ws://codex.example:4500", "authToken": SECRET},
            f"{AT}.url: Plain ws:// would send everything to codex.example unprotected; use wss:// or an SSH tunnel.",
        ),
        (
            {"transport": "websocket", "url": "wss://codex.example"},
            f"{AT}.url: wss://codex.example is on another machine, which must not let in just anybody; name its token "
            "in appServer.authToken, or an Authorization header.",
        ),
        (
            {"transport": "websocket", "url": f"ws://someone:{SECRET}@127.0.0.1:4500"},
            f"{AT}.url: Take the credential out of the address of ws://127.0.0.1:4500; name a token file or variable "
            "instead.",
        ),
        (
            {"transport": "unix", "url": "unix://app.sock"},
            f"{AT}.url: The address of a unix socket has an absolute path, such as unix:///run/codex/app.sock.",
        ),
        (
            {**WS, "authToken": "$NOWHERE"},
            f"{AT}.authToken refers to the environment variable NOWHERE, which is not set.",
        ),
        (
            {**WS, "authToken": {"source": "env", "id": "EMPTY"}},
            f"{AT}.authToken refers to the environment variable EMPTY, which is not set.",
        ),
        (
            {**WS, "authToken": {"source": "file", "provider": "vault", "id": "/codex"}},
            f"{AT}.authToken is neither a text nor a reference to a variable; write "
            '{source: "env", id: "NAME"}, or have the gateway put the secret in its place.',
        ),
        (
            {**WS, "headers": {"X-Key": 7}},
            f"{AT}.headers.X-Key is neither a text nor a reference to a variable; write "
            '{source: "env", id: "NAME"}, or have the gateway put the secret in its place.',
        ),
        (
            {**WS, "authToken": f"Bearer {SECRET}"},
            f"{AT}.authToken holds more than a token, which is one word of visible ASCII characters.",
        ),
        (
            {**WS, "authToken": SECRET, "headers": {"authorization": "Basic x"}},
            f"{AT}.authToken and an Authorization header are both set; leave one of them out.",
        ),
        (
            {**WS, "headers": {"X-Key": f"{SECRET}\r\nX-Other: 1"}},
            f"{AT}.url: The value of the header X-Key has more than visible ASCII characters and blanks.",
        ),
        (
            {**WS, "headers": {"Origin": "https://codex.example"}},
            f"{AT}.url: The header 'Origin' cannot be sent to the app-server; leave it out.",
        ),
        (
            {**WS, "remoteWorkspaceRoot": "pell"},
            f"{AT}.remoteWorkspaceRoot must be an absolute path on the server's machine.",
        ),
    ],
)
def test_a_mistake_is_one_sentence_without_a_secret(keys: dict[str, Any], sentence: str) -> None:
    with pytest.raises(EndpointError) as caught:
        endpoint_of(server(**keys), ENVIRON)
    assert str(caught.value) == sentence
    assert SECRET not in sentence


def test_what_a_server_of_ours_or_of_somebody_else_has_no_use_for_is_named() -> None:
    ours = server(transport="unix", authToken=SECRET, headers={"X-Key": "1"}, remoteWorkspaceRoot="/srv")
    theirs = server(**WS, command="codex", clearEnv=["TZ"], homeScope="user", modelCatalog="patched")
    why = "without appServer.url Codex is started here"
    not_ours = "the server that appServer.url names is started by somebody else"
    assert without_effect(ours) == [
        f"{AT}.{key} is set and does nothing: {why}." for key in ("authToken", "headers", "remoteWorkspaceRoot")
    ]
    assert without_effect(theirs) == [
        f"{AT}.{key} is set and does nothing: {not_ours}."
        for key in ("command", "clearEnv", "homeScope", "modelCatalog")
    ]
    assert without_effect(server(transport="unix")) == without_effect(server(**WS)) == []


@pytest.mark.parametrize("address", ["http://127.0.0.1", "ws://", "unix://", "unix://relative"])
def test_whoever_makes_one_himself_gets_the_same_rules(address: str) -> None:
    with pytest.raises(ConnectError):
        Remote(address)


@pytest.mark.parametrize(
    ("address", "here"),
    [
        ("unix:///run/app.sock", True),
        ("ws://127.0.0.1:4500", True),
        ("ws://[::1]:4500", True),
        ("ws://localhost", True),
        ("wss://localhost:4500/way", True),
        ("wss://codex.example", False),
    ],
)
def test_it_is_known_whether_an_address_leads_elsewhere(address: str, here: bool) -> None:
    assert Remote(address, headers={"Authorization": "Bearer x"}).is_here is here
