"""A sign-in tells the person what to do and ends well, with one sentence, or by being given up."""

from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio
import pytest

from codex_bridge.cli import login
from codex_bridge.cli.login import Ending, LoginError, Way, sign_in
from codex_bridge.client import Client, connected
from codex_bridge.errors import ConnectionLostError
from codex_bridge.rpc import Json, JsonObject, Requested
from tests.support.fake_server import Failure, Result, Step, Tell, by_method
from tests.support.serving import Served, serving

ADDRESS = "https://login.example/authorize?state=invented"
BROWSER: JsonObject = {"type": "chatgpt", "loginId": "login-1", "authUrl": ADDRESS}
DEVICE: JsonObject = {
    "type": "chatgptDeviceCode",
    "loginId": "login-1",
    "verificationUrl": "https://login.example/device",
    "userCode": "PELL-1289",
}
ORRIN: JsonObject = {"type": "chatgpt", "email": "orrin@harbour.example", "planType": "plus"}
DONE: JsonObject = {"loginId": "login-1", "success": True, "error": None}


@dataclass
class Fake:
    """An app-server that can be signed in, and who is signed in to it."""

    account: Json = None
    started: list[Json] = field(default_factory=list[Json])

    def start(self, request: Requested) -> Iterable[Step]:
        """Answer like the real one."""
        self.started.append(dict(request.params))
        answers: dict[str, Json] = {"apiKey": {"type": "apiKey"}, "chatgpt": BROWSER, "chatgptDeviceCode": DEVICE}
        yield Result(answers[str(request.params["type"])])

    def read(self, request: Requested) -> Iterable[Step]:
        """Say who is signed in."""
        yield Result({"account": self.account, "requiresOpenaiAuth": True})


@asynccontextmanager
async def signing_in(fake: Fake) -> AsyncGenerator[tuple[Client, Ending, Served]]:
    cancelled = (Result({"status": "canceled"}),)
    script = by_method(
        {"account/login/start": fake.start, "account/login/cancel": cancelled, "account/read": fake.read}
    )
    ending = Ending()
    async with serving(script) as (wire, server), connected(wire, on_notification=ending) as client:
        yield client, ending, server


@pytest.mark.parametrize(
    ("way", "asked", "shown"),
    [
        (Way.BROWSER, {"type": "chatgpt"}, f"Open this address in a browser on this machine:\n{ADDRESS}\n"),
        (
            Way.DEVICE_CODE,
            {"type": "chatgptDeviceCode"},
            "Open https://login.example/device and enter the code PELL-1289\n",
        ),
    ],
)
async def test_a_person_is_told_where_to_go_and_waited_for(
    capsys: pytest.CaptureFixture[str], way: Way, asked: JsonObject, shown: str
) -> None:
    fake, who = Fake(), list[str]()

    async def sign() -> None:
        who.append(await sign_in(client, ending, way))

    async with signing_in(fake) as (client, ending, server), anyio.create_task_group() as group:
        group.start_soon(sign)
        await server.heard_of(Requested)
        await client.raw_call("account/read", {})  # what was told before has arrived
        assert (capsys.readouterr().out, who) == (shown, [])
        fake.account = ORRIN
        await server.do(Tell("account/login/completed", DONE))
    assert (fake.started, who) == ([asked], ["as orrin@harbour.example (plus)"])
    assert server.requests == ["account/login/start", "account/read", "account/read"]


async def test_a_key_is_taken_at_once_and_shown_nowhere(capsys: pytest.CaptureFixture[str]) -> None:
    fake = Fake(account={"type": "apiKey"})
    async with signing_in(fake) as (client, ending, server):
        assert await sign_in(client, ending, Way.API_KEY, "sk-invented-0123456789") == "with an API key"
    assert fake.started == [{"type": "apiKey", "apiKey": "sk-invented-0123456789"}]
    assert capsys.readouterr().out == ""
    assert server.requests == ["account/login/start", "account/read"]


@pytest.mark.parametrize(("error", "reason"), [("access_denied", "access_denied"), (None, "no reason was given")])
async def test_a_sign_in_that_the_person_declines_says_why(error: str | None, reason: str) -> None:
    fake = Fake()

    def decline(request: Requested) -> Iterable[Step]:
        yield from fake.start(request)
        yield Tell("account/login/completed", {"loginId": "login-1", "success": False, "error": error})

    ending = Ending()
    script = by_method({"account/login/start": decline})
    async with serving(script) as (wire, _), connected(wire, on_notification=ending) as client:
        with pytest.raises(LoginError, match=rf"^The sign-in did not come about: {reason}\.$"):
            await sign_in(client, ending, Way.BROWSER)


async def test_a_sign_in_that_cannot_begin_says_why() -> None:
    refused = (Failure(-32603, "failed to request device code"),)
    async with serving(by_method({"account/login/start": refused})) as (wire, _), connected(wire) as client:
        with pytest.raises(LoginError, match=r"^The sign-in could not begin: failed to request device code\.$"):
            await sign_in(client, Ending(), Way.DEVICE_CODE)


async def test_a_sign_in_without_an_account_at_its_end_is_none() -> None:
    async with signing_in(Fake()) as (client, ending, _):
        with pytest.raises(LoginError, match="Codex reports no account"):
            await sign_in(client, ending, Way.API_KEY, "sk-invented-0123456789")


async def test_a_sign_in_that_nobody_finishes_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(login, "PATIENCE", 0.06)
    async with signing_in(Fake()) as (client, ending, server):
        with pytest.raises(LoginError, match=r"^Nobody finished the sign-in within 0\.001 minutes; run the command"):
            await sign_in(client, ending, Way.DEVICE_CODE)
    assert server.requests == ["account/login/start", "account/login/cancel"]


async def test_a_sign_in_that_is_broken_off_is_given_up() -> None:
    async with signing_in(Fake()) as (client, ending, server), anyio.create_task_group() as group:
        group.start_soon(sign_in, client, ending, Way.BROWSER)
        await server.heard_of(Requested)
        await client.raw_call("account/read", {})
        group.cancel_scope.cancel()
    assert server.requests == ["account/login/start", "account/read", "account/login/cancel"]


async def test_nobody_waits_for_a_server_that_is_gone() -> None:
    lost = list[str]()

    async def sign() -> None:
        with pytest.raises(ConnectionLostError) as caught:
            await sign_in(client, ending, Way.BROWSER)
        lost.append(caught.value.cause)

    async with signing_in(Fake()) as (client, ending, server), anyio.create_task_group() as group:
        group.start_soon(sign)
        await server.heard_of(Requested)
        await client.raw_call("account/read", {})
        await server.hang_up()
    assert len(lost) == 1
