"""`codex-bridge login`: sign an agent's Codex home in."""

import os
import sys
from contextlib import suppress
from enum import Enum
from getpass import getpass
from typing import Annotated, Final

import anyio
import typer

from codex_bridge.cli.options import only
from codex_bridge.cli.setup import AgentOption, CodexOption, ConfigOption, HomeOption, configured, launch_of
from codex_bridge.client import Client, refuse_all
from codex_bridge.errors import CodexError, RpcError
from codex_bridge.home import state_dir
from codex_bridge.process import Launch, Source, app_server
from codex_bridge.rpc import Notified
from codex_bridge.sources import Remote
from codex_bridge.wire.besides import LOGIN_CANCEL, LOGIN_START, LoginCancelParams, LoginParams, LoginStarted
from codex_bridge.wire.notifications import LoginCompleted, read
from codex_bridge.wire.requests import ACCOUNT_READ, AccountReadParams
from harness.errors import HarnessError
from harness.tasks import beside

PATIENCE: Final = 15 * 60.0
"""Seconds that a person has to finish a sign-in in the browser."""

KINDS: Final = {"apiKey": "with an API key", "chatgpt": "with a ChatGPT account"}
"""How somebody is signed in, by the type of the account."""


class LoginError(HarnessError):
    """A sign-in did not come about."""


class Way(Enum):
    """How to sign in."""

    BROWSER = "browser"
    DEVICE_CODE = "device-code"
    API_KEY = "api-key"


RULES: Final = (only("--api-key-env", deciding="--with", words=(Way.API_KEY,), why="the other ways need no key"),)


def command(
    way: Annotated[Way, typer.Option("--with", help="How to sign in.")] = Way.BROWSER,
    key_variable: Annotated[
        str, typer.Option("--api-key-env", help="Variable with the API key; asked for when it is not set.")
    ] = "OPENAI_API_KEY",
    agent: AgentOption = None,
    config: ConfigOption = None,
    codex: CodexOption = None,
    codex_home: HomeOption = None,
) -> None:
    """Sign in the Codex home of an agent, once; Codex keeps and renews the login by itself."""
    found = configured(config, agent, None)
    source = launch_of(found.codex, found.settings.id, state_dir(), codex=codex, codex_home=codex_home)
    if way is Way.BROWSER and isinstance(source, Remote) and not source.is_here:
        raise LoginError(
            f"The browser would have to come back to {source.name}, which is not this machine; "
            "use --with device-code or --with api-key."
        )
    key = _api_key(key_variable) if way is Way.API_KEY else None
    anyio.run(_login, way, key, source)


def _api_key(variable: str) -> str:
    if key := os.environ.get(variable, "").strip():
        return key
    typed = getpass(f"API key ({variable} is not set): ") if sys.stdin.isatty() else sys.stdin.readline()
    if not (key := typed.strip()):
        raise LoginError(f"No API key was given: set {variable}, or type or pipe it in.")
    return key


class Ending:
    """Notification handler that waits for the end of a sign-in."""

    def __init__(self) -> None:
        self.result: LoginCompleted | None = None
        self.over = anyio.Event()

    def __call__(self, notification: Notified) -> None:
        """Hear a notification."""
        wire = read(notification)
        if isinstance(wire, LoginCompleted):
            self.result = wire
            self.over.set()


async def _login(way: Way, key: str | None, source: Source) -> None:
    ending = Ending()
    async with app_server(source, on_notification=ending, on_request=refuse_all) as server:
        who = await sign_in(server.client, ending, way, key)
    where = source.home.path if isinstance(source, Launch) else f"that of the server at {source.name}"
    print(f"Signed in {who}; Codex home: {where}")


async def sign_in(client: Client, ending: Ending, way: Way, key: str | None = None) -> str:
    """Sign in the home of a running app-server; tells the person on stdout what to do.

    Args:
        client: The connection to it.
        ending: Its notification handler.
        way: How to sign in.
        key: The API key, for the way of that name.

    Returns:
        As whom, for a person.

    Raises:
        LoginError: It did not come about.
        CodexError: The server is gone; see `Client.call`.
    """
    started = await _start(client, way, key)
    if started.login_id is not None:
        await _wait_for_person(client, started, ending)
    account = (await client.call(ACCOUNT_READ, AccountReadParams())).account
    if account is None:
        raise LoginError("Codex reports no account after the sign-in; please try again.")
    return f"as {account.email} ({account.plan_type})" if account.email else KINDS.get(account.type, account.type)


async def _start(client: Client, way: Way, key: str | None) -> LoginStarted:
    match way:
        case Way.API_KEY:
            params = LoginParams(type="apiKey", api_key=key)
        case Way.BROWSER:
            params = LoginParams(type="chatgpt")
        case Way.DEVICE_CODE:
            params = LoginParams(type="chatgptDeviceCode")
    try:
        return await client.call(LOGIN_START, params)
    except RpcError as error:
        raise LoginError(f"The sign-in could not begin: {error.message}.") from None


async def _wait_for_person(client: Client, started: LoginStarted, ending: Ending) -> None:
    if started.user_code is not None:
        print(f"Open {started.verification_url} and enter the code {started.user_code}", flush=True)
    else:
        print(f"Open this address in a browser on this machine:\n{started.auth_url}", flush=True)
    try:
        with anyio.move_on_after(PATIENCE):
            async with beside() as group:
                group.start_soon(_once_gone, client, ending)
                await ending.over.wait()
    except anyio.get_cancelled_exc_class():
        with anyio.move_on_after(2, shield=True):
            await _cancel(client, started)
        raise
    if ending.result is None:
        if client.lost is not None:
            raise client.lost
        await _cancel(client, started)
        raise LoginError(f"Nobody finished the sign-in within {PATIENCE / 60:g} minutes; run the command again.")
    if not ending.result.success:
        raise LoginError(f"The sign-in did not come about: {ending.result.error or 'no reason was given'}.")


async def _once_gone(client: Client, ending: Ending) -> None:
    """A server that is gone ends no sign-in; nobody should wait for it."""
    await client.closed.wait()
    ending.over.set()


async def _cancel(client: Client, started: LoginStarted) -> None:
    assert started.login_id is not None
    with suppress(CodexError):  # it is over already, or the server is
        await client.call(LOGIN_CANCEL, LoginCancelParams(login_id=started.login_id))
