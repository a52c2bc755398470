"""When a usage limit is lifted, asked of the account's backend through the real binary; that backend stands in here."""

import base64
import json
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
from anyio.abc import SocketAttribute, SocketStream

from codex_bridge.binary import CodexBinary
from codex_bridge.home import own_home, private_dir
from codex_bridge.limits import with_reset
from codex_bridge.process import Launch, app_server
from codex_bridge.replays import Pending, Step
from codex_bridge.rpc import Json, JsonObject, Notified, Requested
from codex_bridge.telling import Telling
from codex_bridge.wire.requests import TurnError
from harness.tasks import beside
from harness.turns import Failure, Finished, Outcome, TurnResult
from tests.support.real import LIMIT

REACHED = TurnError.model_validate(
    {
        "message": "You\u2019ve hit your usage limit. To get more access now, send a request to your admin.",
        "codexErrorInfo": "usageLimitExceeded",
    }
)


@asynccontextmanager
async def backend(usage: JsonObject) -> AsyncGenerator[str]:
    """An account's backend that tells this usage; gives its address."""
    body = json.dumps(usage).encode()

    async def answer(stream: SocketStream) -> None:
        async with stream:
            asked = b""
            while b"\r\n\r\n" not in asked:
                asked += await stream.receive()
            found = body if b"/wham/usage" in asked.split(b"\r\n")[0] else b"{}"
            head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(found)}\r\n"
            await stream.send(f"{head}connection: close\r\n\r\n".encode() + found)

    listener = await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=0)
    async with listener, beside() as group:
        group.start_soon(listener.serve, answer)
        port = listener.extra(SocketAttribute.local_port)
        yield f"http://127.0.0.1:{port}"


def sign_in(home: Path) -> None:
    """Sign a home in to an account that nobody has."""

    def part(value: Json) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()

    account: JsonObject = {"chatgpt_plan_type": "team", "chatgpt_account_id": "acc", "chatgpt_user_id": "u"}
    claims: JsonObject = {"exp": int(time.time()) + 86_400, "https://api.openai.com/auth": account}
    token = f"{part({'alg': 'RS256', 'typ': 'JWT'})}.{part(claims)}.{part('signature')}"
    tokens = {"id_token": token, "access_token": token, "refresh_token": "none", "account_id": "acc"}
    now = time.strftime("%Y-%m-%dT%H:%M:%S.000000Z", time.gmtime())
    content = {"auth_mode": "chatgpt", "OPENAI_API_KEY": None, "tokens": tokens, "last_refresh": now}
    (home / "auth.json").write_text(json.dumps(content), "utf-8")


async def test_the_account_is_asked_when_its_limit_is_lifted(codex: CodexBinary, state: Path) -> None:
    lifted = int(time.time()) + 7_300
    window: JsonObject = {"used_percent": 100, "limit_window_seconds": 18_000, "reset_after_seconds": 7_300}
    window["reset_at"] = lifted
    limit: JsonObject = {"allowed": False, "limit_reached": True, "primary_window": window, "secondary_window": None}
    usage: JsonObject = {"plan_type": "team", "rate_limit": limit, "credits": None}
    home = own_home(state, "main")
    private_dir(home.path)
    sign_in(home.path)
    told = Telling("log in", time.time)
    found = told.tell(REACHED)
    result = TurnResult(Outcome.FAILED, "", found.sentence, failure=Failure.USAGE_LIMIT)
    pending = Pending(Step.LOOK, result, (Finished(result),))

    async def refuse(request: Requested) -> Json:
        raise AssertionError(request)

    def ignore(notification: Notified) -> None:
        pass

    with anyio.fail_after(LIMIT):
        async with backend(usage) as address:
            where = [("chatgpt_base_url", json.dumps(f"{address}/backend-api/"))]
            launch = Launch(codex, home, overrides=where, catalogue="untouched")
            async with app_server(launch, on_notification=ignore, on_request=refuse) as server:
                (end,) = await with_reset(server.client, pending, REACHED, told, "UTC")
    assert isinstance(end, Finished)
    assert found.retry_at is None
    assert end.result.retry_at == lifted
    assert end.result.error.startswith("The account's usage limit is reached. It is lifted in 2 h 1 min, ")
