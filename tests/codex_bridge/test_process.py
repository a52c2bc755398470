"""An app-server of our own is started quietly, greeted, and ended; one that is no good is named in one error.

With case T09, "transport is boring".
"""

import json
import os
import signal
import time
import tracemalloc
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from codex_bridge.binary import CodexBinary
from codex_bridge.client import Client, ignore_all, refuse_all
from codex_bridge.client import connected as over
from codex_bridge.errors import (
    CallTimeoutError,
    ConnectError,
    ConnectionLostError,
    OversizedMessageError,
    ServerTooOldError,
    UnreadableAnswerError,
)
from codex_bridge.home import Home
from codex_bridge.process import NOTES, QUIET, UNHEARD, Launch, Server, app_server, client_info, handshake
from codex_bridge.processes import began
from codex_bridge.providers import Provider
from codex_bridge.rpc import MESSAGE_LIMIT, Json, JsonObject, Junk, Notified, Requested, Stray
from codex_bridge.transports.child import TAIL_SIZE
from codex_bridge.transports.stdio import spawned
from codex_bridge.wire.notifications import DELTAS, NOTIFICATIONS
from tests.support.fake_codex import INITIALIZED
from tests.support.fake_server import Result, by_method
from tests.support.scripts import HELD_BACK, KEY
from tests.support.serving import LIMIT, Told, command, is_running, serving
from tests.support.turns import launch

MEBIBYTE = 1024 * 1024
PROVIDER = Provider("lab", 'The "lab"', "http://127.0.0.1:9/v1", "LAB_TOKEN", "tok-en-1234", request_retries=0)


async def started(given: Launch) -> Server:
    """Start a server, and end it at once."""
    with anyio.fail_after(LIMIT):
        async with app_server(given, on_notification=ignore_all, on_request=refuse_all) as server:
            return server


# start and handshake


async def test_a_server_is_started_greeted_and_gone_at_the_end_of_the_block(tmp_path: Path) -> None:
    with anyio.fail_after(LIMIT):
        async with app_server(launch(tmp_path, "codex"), on_notification=ignore_all, on_request=refuse_all) as server:
            assert server.version.numbers == (0, 163, 0)
            assert is_running(server.pid)
    assert not is_running(server.pid)


async def test_the_handshake_asks_for_the_experimental_api_and_for_less_and_says_that_it_is_done() -> None:
    script = by_method({"initialize": (Result(INITIALIZED),)})
    async with serving(script) as (wire, server), over(wire) as client:
        assert (await handshake(client)).text == "0.163.0"
        await server.heard_of(Notified)

    capabilities: JsonObject = {"experimentalApi": True, "optOutNotificationMethods": list(UNHEARD)}
    info: JsonObject = {"name": client_info().name, "version": client_info().version, "title": client_info().title}
    assert server.heard == [
        Requested(1, "initialize", {"clientInfo": info, "capabilities": capabilities}),
        Notified("initialized", {}),
    ]
    assert client_info().name.isascii()  # it becomes an HTTP header


def test_nothing_that_a_turn_is_made_of_is_kept_back() -> None:
    nobody_acts_on = {"thread/started", "thread/status/changed"}
    assert set(UNHEARD) & {*NOTIFICATIONS, *DELTAS} == nobody_acts_on


@pytest.mark.parametrize("result", [{}, {"userAgent": 5}, {"userAgent": "codex"}, None])
async def test_a_server_that_does_not_say_its_version_is_refused(result: Json) -> None:
    async with serving(by_method({"initialize": (Result(result),)})) as (wire, _), over(wire) as client:
        with pytest.raises(UnreadableAnswerError, match=r"^initialize was answered with something unreadable: "):
            await handshake(client)


async def test_a_server_below_the_floor_is_refused_and_ended(tmp_path: Path) -> None:
    with pytest.raises(ServerTooOldError, match=r"Codex 0\.98\.2 is too old .* needs 0\.163\.0 or later\. Update it"):
        await started(launch(tmp_path, "outdated"))


async def test_a_server_that_never_answers_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def impatient(client: Client) -> None:
        await client.raw_call("initialize", {}, deadline=0.01)

    monkeypatch.setattr("codex_bridge.process.handshake", impatient)
    with pytest.raises(CallTimeoutError, match="initialize"):
        await started(launch(tmp_path, "deaf"))


async def test_a_call_waits_as_long_as_the_launch_says(tmp_path: Path) -> None:
    given = replace(launch(tmp_path, "codex"), call_deadline=0)
    with anyio.fail_after(LIMIT), pytest.raises(CallTimeoutError) as caught:
        async with app_server(given, on_notification=ignore_all, on_request=refuse_all) as server:
            os.killpg(server.pid, signal.SIGSTOP)  # so that no answer can come first
            try:
                await server.client.raw_call("account/read", {})
            finally:
                os.killpg(server.pid, signal.SIGCONT)
    assert (caught.value.method, caught.value.seconds) == ("account/read", 0)


async def test_a_binary_that_cannot_run_is_named(tmp_path: Path) -> None:
    text = tmp_path / "codex"
    text.write_text("no program", "utf-8")
    text.chmod(0o755)
    with pytest.raises(ConnectError, match=f"^Could not start {text}: Exec format error$"):
        await started(Launch(CodexBinary(text, "the test"), Home(tmp_path / "home", owned=True)))


async def test_the_home_is_private_before_the_server_sees_it_and_a_persons_own_is_left_alone(tmp_path: Path) -> None:
    own, foreign = tmp_path / "own", tmp_path / "foreign"
    own.mkdir(mode=0o755)
    foreign.mkdir(mode=0o755)
    binary = launch(tmp_path, "codex").binary

    await started(Launch(binary, Home(own, owned=True)))
    await started(Launch(binary, Home(foreign, owned=False)))

    assert own.stat().st_mode & 0o777 == 0o700
    assert foreign.stat().st_mode & 0o777 == 0o755


def test_the_command_line_holds_settings_and_never_a_token(tmp_path: Path) -> None:
    binary = CodexBinary(Path("/opt/codex"), "the test")
    home = Home(tmp_path, owned=True)
    quiet = [word for key, value in QUIET for word in ("-c", f"{key}={value}")]

    assert Launch(binary, home).command() == ["/opt/codex", *quiet, "app-server"]
    assert Launch(binary, home, PROVIDER, [("model", '"m"')]).command() == [
        "/opt/codex",
        *quiet,
        *("-c", 'model_provider="lab"'),
        *("-c", 'model_providers.lab.name="The \\"lab\\""'),
        *("-c", 'model_providers.lab.base_url="http://127.0.0.1:9/v1"'),
        *("-c", 'model_providers.lab.env_key="LAB_TOKEN"'),
        *("-c", 'model_providers.lab.wire_api="responses"'),
        *("-c", 'shell_environment_policy.exclude=["LAB_TOKEN"]'),
        *("-c", "model_providers.lab.request_max_retries=0"),
        *("-c", 'model="m"'),
        "app-server",
    ]
    assert {"features.plugins": "false", "check_for_update_on_startup": "false"}.items() <= dict(QUIET).items()
    assert "tok-en-1234" not in repr(PROVIDER)


# case T09


class Odd:
    def __init__(self) -> None:
        self.junk_sizes: list[tuple[str, int]] = []

    def junk(self, junk: Junk) -> None:
        self.junk_sizes.append((junk.reason, junk.size))

    def stray(self, stray: Stray) -> None:
        raise NotImplementedError(stray)


async def test_noise_overload_broken_lines_and_a_flood_are_each_dealt_with_on_one_connection() -> None:
    """Case T09."""
    odd, told = Odd(), Told()
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    with anyio.fail_after(LIMIT):
        async with (
            spawned(command("boring"), env={}) as transport,
            over(transport, diagnostics=odd, on_notification=told, sleep=sleep) as client,
        ):
            before = time.monotonic()
            await handshake(client)
            assert time.monotonic() - before < 5
            assert odd.junk_sizes == [("not JSON", 8), ("not JSON", 24)]

            # (a) a line of 300,000 bytes, (b) a character cut in two, (c) a line of another program
            await told.until("after junk")
            (padded,) = told.params("padded")
            assert len('{"method":"padded","params":{"text":""}}') + len(str(padded["text"])) == 300_000
            assert told.params("split") == [{"text": "日本語🦞"}]
            assert [each.method for each in told.all] == ["padded", "split", "before junk", "after junk"]
            assert odd.junk_sizes[2:] == [("not JSON", 27)]

            # (d) overloaded twice: two waits that grow and differ by more than their doubling
            assert await client.raw_call("work", {}) == {"done": True}
            assert len(waits) == 2
            assert 0.1 <= waits[0] < 0.15 <= 0.2 <= waits[1] < 0.3
            assert waits[1] != 2 * waits[0]

            # (e) a broken line is reported by itself, and later messages are handled
            await told.until("after broken")
            assert odd.junk_sizes[3:] == [("not JSON", 21)]

            # (f) 80 MiB without an end
            tracemalloc.start()
            try:
                with pytest.raises(OversizedMessageError, match=r"^message too large: ") as caught:
                    await client.raw_call("flood", {})
                _, peak = tracemalloc.get_traced_memory()
            finally:
                tracemalloc.stop()
            assert caught.value.limit == MESSAGE_LIMIT == 64 * MEBIBYTE
            assert peak < MESSAGE_LIMIT + 4 * MEBIBYTE
            await client.closed.wait()
            with pytest.raises(OversizedMessageError):
                await client.raw_call("work", {})
        assert not is_running(transport.pid)


async def test_a_start_up_error_shows_a_kilobyte_of_stderr_without_its_secrets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Case T09, last line."""
    monkeypatch.setenv("GATEWAY_PASSWORD", HELD_BACK)
    with pytest.raises(ConnectionLostError) as caught:
        await started(launch(tmp_path, "stillborn"))

    error = caught.value
    assert (error.cause, error.doing) == ("it exited with status 3", "initialize")
    assert 0.9 * TAIL_SIZE < len(error.detail.encode()) <= TAIL_SIZE == 1024
    assert error.detail.splitlines()[0] == "debug: nothing of interest, line after line"
    assert error.detail.splitlines()[-1] == ("ERROR key *** refused; header Authorization: Bearer ***; password ***")
    for secret in (KEY, HELD_BACK):
        assert secret not in str(error)


async def test_a_server_is_noted_beside_its_home_for_as_long_as_it_runs(tmp_path: Path) -> None:
    start = launch(tmp_path, "codex")
    notes = tmp_path / NOTES
    async with app_server(start, on_notification=ignore_all, on_request=refuse_all) as server:
        (path,) = notes.iterdir()
        said = json.loads(path.read_bytes())
        assert (said["pid"], said["began"]) == (server.pid, began(server.pid))
        assert said["gateway"] == [os.getpid(), began(os.getpid())]
        assert (path.stat().st_mode & 0o777, notes.stat().st_mode & 0o777) == (0o600, 0o700)
    assert list(notes.iterdir()) == []


async def test_a_home_of_somebody_else_gets_notes_only_where_they_are_wanted(tmp_path: Path) -> None:
    start = launch(tmp_path, "codex")
    theirs = replace(start, home=Home(start.home.path, owned=False))
    async with app_server(theirs, on_notification=ignore_all, on_request=refuse_all):
        assert not (tmp_path / NOTES).exists()
    async with app_server(replace(theirs, notes=tmp_path / "ours"), on_notification=ignore_all, on_request=refuse_all):
        assert len(list((tmp_path / "ours").iterdir())) == 1


async def test_a_note_that_cannot_be_written_keeps_no_server_from_starting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("codex_bridge.orphans.write_private", full)
    start = launch(tmp_path, "codex")
    async with app_server(start, on_notification=ignore_all, on_request=refuse_all) as server:
        assert server.client.lost is None
    assert "No space left on device" in caplog.text
