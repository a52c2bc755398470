"""The vendor's list of models on the real binary: what an account is told of is usable, and hears its persona."""

import base64
import json
import os
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

from codex_bridge.binary import CodexBinary
from codex_bridge.catalogue_file import FILE
from codex_bridge.home import agent_dir, own_home
from codex_bridge.loopback.script import always, say
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


def let_a_day_pass(patched: Path, cached: Path) -> None:
    """Date back our copy, and what Codex remembers of the vendor's answer."""
    os.utime(patched, (patched.stat().st_atime, patched.stat().st_mtime - DAY))
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
    with vendor_of(entry) as vendor:
        for asked, model in ((1, "gpt-7-nova"), (2, "gpt-7-vega")):
            vendor.models.append(model)
            sign_in(home, vendor.url)
            async with stage(codex, state, workspace, always(say("Yes.")), model=model) as play:
                told = await notices_of(await play.begin("hi", chat=model))
            (request,) = play.model.requests
            assert (request.body["model"], places(request, "SOUL_M22"), told) == (model, ["mode"], [])
            # The same day asks no more, though another model is there by then.
            vendor.models.append("gpt-7-lyra")
            async with stage(codex, state, workspace, always(say("Yes.")), model=model) as play:
                await play.ask("and now", chat=model, number="2")
            vendor.models.pop()
            assert (vendor.asked, count(play.model.requests[0], "SOUL_M22")) == (["/v1/models"] * asked, 1)
            file = agent_dir(state, "main") / FILE
            assert [each["slug"] for each in json.loads(file.read_bytes())["models"]] == vendor.models
            let_a_day_pass(file, home / "models_cache.json")
    assert "model_catalog_json" not in (home / "config.toml").read_text("utf-8")
