"""The vendor's list of models on the real binary: what an account is told of is usable, and hears its persona."""

import base64
import json
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import anyio
import pytest

from codex_bridge.binary import CodexBinary
from codex_bridge.catalogue_file import FILE, STAMP
from codex_bridge.home import agent_dir, own_home
from codex_bridge.loopback.recorder import RecordedRequest
from codex_bridge.loopback.script import Action, Reply, Say, Wait, always, say
from harness.turns import TurnResult
from tests.support.real import count, notices_of, places, stage

DAY = 24 * 3600.0


def token(claims: dict[str, Any]) -> str:
    """A token that anybody can read and nobody has signed."""
    parts: tuple[dict[str, Any], ...] = ({"alg": "none", "typ": "JWT"}, claims, {})
    return ".".join(base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode() for part in parts)


def sign_in(home: Path, vendor: str) -> None:
    """Give a home an account of the vendor, at an address of ours."""
    account = {"chatgpt_plan_type": "plus", "chatgpt_account_id": "acc-1", "chatgpt_user_id": "user-1"}
    made = token({"email": "orrin@example.org", "exp": 4102444800, "https://api.openai.com/auth": account})
    tokens = {"id_token": made, "access_token": made, "refresh_token": "r", "account_id": "acc-1"}
    auth = {
        "auth_mode": "chatgpt",
        "OPENAI_API_KEY": None,
        "tokens": tokens,
        "last_refresh": datetime.now(UTC).isoformat(),
    }
    (home / "auth.json").write_text(json.dumps(auth), "utf-8")
    (home / "config.toml").write_text(f'openai_base_url = "{vendor}"\n', "utf-8")


class Vendor(ThreadingHTTPServer):
    """What the vendor offers at the moment, at `GET /v1/models`."""

    def __init__(self, entry: dict[str, Any]) -> None:
        super().__init__(("127.0.0.1", 0), _Answer)
        self.url = f"http://127.0.0.1:{self.server_port}/v1"
        self.models: list[str] = []
        self.asked: list[str] = []
        self._entry = entry

    def answer(self, path: str) -> bytes:
        self.asked.append(path.partition("?")[0])
        return json.dumps({"models": [{**self._entry, "slug": slug} for slug in self.models]}).encode()


class _Answer(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        assert isinstance(self.server, Vendor)
        body = self.server.answer(self.path)
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the library's
        pass


@contextmanager
def vendor_of(entry: dict[str, Any]) -> Generator[Vendor]:
    with Vendor(entry) as vendor:
        thread = Thread(target=vendor.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield vendor
        finally:
            vendor.shutdown()
            thread.join()


def let_a_day_pass(cached: Path) -> None:
    """Date back what Codex remembers of the vendor's answer; the gateway's own clock is the test's."""
    remembered = json.loads(cached.read_bytes())
    assert "fetched_at" in remembered
    remembered["fetched_at"] = "2026-01-02T03:04:05.000000Z"
    cached.write_text(json.dumps(remembered), "utf-8")


def bundled(codex: CodexBinary, home: Path, slug: str) -> dict[str, Any]:
    """The binary's own entry of a model."""
    command = [str(codex.path), "debug", "models", "--bundled"]
    done = subprocess.run(command, env={"CODEX_HOME": str(home)}, capture_output=True, check=True)
    return next(each for each in json.loads(done.stdout)["models"] if each["slug"] == slug)


async def test_a_model_that_the_vendor_lists_anew_is_usable_after_a_restart_and_hears_its_persona(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    home = own_home(state, "main").path
    home.mkdir(parents=True)
    entry = bundled(codex, home, "gpt-6-sol")
    assert entry["model_messages"]["collaboration_modes"]["default"]
    clock = [0.0]
    with vendor_of(entry) as vendor:
        for asked, model in ((1, "gpt-7-nova"), (2, "gpt-7-vega")):
            vendor.models.append(model)
            sign_in(home, vendor.url)
            how: dict[str, Any] = {"model": model, "now": lambda: clock[0]}
            async with stage(codex, state, workspace, always(say("Yes.")), **how) as play:
                told = await notices_of(await play.begin("hi", chat=model))
            (request,) = play.model.requests
            assert (request.body["model"], places(request, "SOUL_M22"), told) == (model, ["mode"], [])
            # The same day asks no more, though another model is there by then.
            vendor.models.append("gpt-7-lyra")
            async with stage(codex, state, workspace, always(say("Yes.")), **how) as play:
                await play.ask("and now", chat=model, number="2")
            vendor.models.pop()
            assert (vendor.asked, count(play.model.requests[0], "SOUL_M22")) == (["/v1/models"] * asked, 1)
            file = agent_dir(state, "main") / FILE
            assert [each["slug"] for each in json.loads(file.read_bytes())["models"]] == vendor.models
            clock[0] += DAY
            let_a_day_pass(home / "models_cache.json")
    assert "model_catalog_json" not in (home / "config.toml").read_text("utf-8")


async def test_a_gateway_that_runs_for_days_learns_once_a_day_of_the_vendors_models_and_interrupts_nobody_for_it(
    codex: CodexBinary,
    state: Path,
    workspace: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    home = own_home(state, "main").path
    home.mkdir(parents=True)
    clock, release = 0.0, anyio.Event()

    def script(request: RecordedRequest) -> Action:
        return Reply((Wait(release), Say("At last."))) if request.parts()[-1].text == "long" else say("Yes.")

    with vendor_of(bundled(codex, home, "gpt-6-sol")) as vendor:
        vendor.models.append("gpt-7-nova")
        sign_in(home, vendor.url)
        async with stage(codex, state, workspace, script, model="gpt-7-nova", now=lambda: clock) as play:
            pids: list[int] = []

            async def ask(text: str, chat: str) -> TurnResult:
                result = await play.ask(text, chat=chat, number=text)
                pids.append((await play.harness.ready()).pid)
                return result

            first = await ask("one", "7")
            vendor.models.append("gpt-7-vega")
            let_a_day_pass(home / "models_cache.json")
            clock += DAY
            long = await play.begin("long", chat="8")
            while len(vendor.asked) < 2:
                await anyio.lowlevel.checkpoint()
            while b"gpt-7-vega" not in (agent_dir(state, "main") / STAMP).read_bytes():
                await anyio.lowlevel.checkpoint()
            await ask("two", "7")  # something runs, so nothing is replaced
            release.set()
            assert (await long.result()).text == "At last."
            while play.harness.unfinished:
                await anyio.lowlevel.checkpoint()
            third = await ask("three", "7")
            await ask("four", "7")
            turn = play.harness.start(replace(long.request, model="gpt-7-vega", message_key="t:5", on_end=None))
            assert (await turn.result()).text == "At last."
            request = play.model.requests[-1]
            # Another day, and nothing new; and one on which the vendor cannot be reached.
            clock += DAY
            let_a_day_pass(home / "models_cache.json")
            await ask("day 1", "7")
            while len(vendor.asked) < 3:
                await anyio.lowlevel.checkpoint()
            await ask("later", "7")
            clock += DAY
            let_a_day_pass(home / "models_cache.json")
            vendor.server_close()
            monkeypatch.setattr("codex_bridge.catalogue_file.ASK_SECONDS", 0.5)
            await ask("day 2", "7")
            while "those of before hold" not in caplog.text:
                await anyio.lowlevel.checkpoint()
            await ask("last", "7")
    assert [pid == pids[0] for pid in pids] == [True, True, *[False] * 6]
    assert len(set(pids)) == 2
    assert vendor.asked == ["/v1/models"] * 3
    assert third.conversation == first.conversation
    assert (request.body["model"], places(request, "SOUL_M22")[-1:]) == ("gpt-7-vega", ["mode"])
