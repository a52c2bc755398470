"""A local stand-in for the Responses API, so that a real Codex runs a whole turn without an account.

Listens on 127.0.0.1 only, on a port of the system's choosing, and answers 401 to whoever does not know the
token of this run. HTTP is h11's; what is said is the script's.
"""

import math
import secrets
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Final

import anyio
import h11
from anyio.abc import SocketAttribute, SocketStream
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from codex_bridge.loopback.recorder import RecordedRequest, masked_headers
from codex_bridge.loopback.script import HttpError, Pause, Reply, Script, Wait
from codex_bridge.loopback.sse import Frames, HangUp, frames
from codex_bridge.providers import Provider
from codex_bridge.rpc import JsonObject, decode, encode
from harness.tasks import beside

TOKEN_VARIABLE: Final = "CODEX_BRIDGE_LOOPBACK_TOKEN"  # noqa: S105 - the name of a variable, not its value
LARGEST_REQUEST: Final = 64 * 1024 * 1024
_READ: Final = 64 * 1024


@dataclass
class LoopbackModel:
    """A running stand-in."""

    port: int
    token: str = field(repr=False)
    script: Script
    requests: list[RecordedRequest]
    """Every model request so far, oldest first."""
    _arrivals: MemoryObjectReceiveStream[RecordedRequest]
    picture: str = ""
    """What it answers in base64 where a picture is asked for; empty for one that makes none."""

    @property
    def base_url(self) -> str:
        """What a provider block names."""
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def provider(self) -> Provider:
        """The provider block for Codex; the token travels in the environment, never on a command line."""
        return Provider(
            id="loopback",
            name="Loopback model",
            base_url=self.base_url,
            token_variable=TOKEN_VARIABLE,
            token=self.token,
            request_retries=0,
            stream_retries=0,
        )

    async def next_request(self) -> RecordedRequest:
        """Wait for the next model request that nobody has waited for yet."""
        return await self._arrivals.receive()


class _Connection:
    def __init__(
        self, stream: SocketStream, model: LoopbackModel, arrivals: MemoryObjectSendStream[RecordedRequest]
    ) -> None:
        self._stream = stream
        self._model = model
        self._arrivals = arrivals
        self._http = h11.Connection(h11.SERVER)
        self._head = False
        """Whether the request wants an answer without a body."""

    async def serve(self) -> None:
        try:
            while await self._serve_one():
                self._http.start_next_cycle()
        except (h11.ProtocolError, anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.EndOfStream):
            pass  # whoever hangs up or talks nonsense is not answered, and what cannot be said to them ends them alone
        finally:
            with anyio.CancelScope(shield=True):
                await self._stream.aclose()

    async def _serve_one(self) -> bool:
        request = await self._next_event()
        if not isinstance(request, h11.Request):
            return False
        self._head = request.method == b"HEAD"
        body = bytearray()
        while isinstance(event := await self._next_event(), h11.Data):
            body += event.data
            if len(body) > LARGEST_REQUEST:
                await self._answer(413, {"error": {"message": "the request is too large"}})
                return False
        await self._route(request, bytes(body))
        return self._http.our_state is h11.DONE and self._http.their_state is h11.DONE

    async def _route(self, request: h11.Request, body: bytes) -> None:
        headers = dict(request.headers)
        if not secrets.compare_digest(headers.get(b"authorization", b""), f"Bearer {self._model.token}".encode()):
            await self._answer(401, {"error": {"message": "the token of this run is missing or wrong"}})
            return
        path = request.target.decode("latin-1").partition("?")[0]
        if request.method == b"GET" and path == "/v1/models":
            await self._answer(200, {"object": "list", "data": [], "models": []})
            return
        if self._model.picture and request.method == b"POST" and path == "/v1/images/generations":
            await self._answer(200, {"created": 0, "data": [{"b64_json": self._model.picture}]})
            return
        if request.method != b"POST" or path != "/v1/responses":
            await self._answer(404, {"error": {"message": f"the stand-in has no {path}"}})
            return
        try:
            decoded = decode(body)
        except ValueError:
            decoded = None
        if not isinstance(decoded, dict):
            await self._answer(400, {"error": {"message": "the body is not a JSON object"}})
            return
        recorded = RecordedRequest(
            number=len(self._model.requests) + 1, path=path, headers=masked_headers(request.headers), body=decoded
        )
        self._model.requests.append(recorded)
        self._arrivals.send_nowait(recorded)
        match self._model.script(recorded):
            case HttpError(status, error, extra):
                await self._answer(status, error, extra)
            case Reply() as reply:
                await self._stream_reply(reply, recorded.number)

    async def _stream_reply(self, reply: Reply, number: int) -> None:
        headers = [("content-type", "text/event-stream"), ("transfer-encoding", "chunked")]
        await self._send(h11.Response(status_code=200, headers=headers))
        for instruction in frames(reply, number):
            match instruction:
                case Frames(data):
                    await self._send(h11.Data(data))
                case Wait(until):
                    await self._wait_for(until)
                case Pause(seconds):
                    await anyio.sleep(seconds)
                case HangUp():
                    self._http.send_failed()
                    return
        await self._send(h11.EndOfMessage())

    async def _wait_for(self, event: anyio.Event) -> None:
        """Wait, but notice when the client hangs up meanwhile, as it does when a turn is interrupted."""
        gone = True
        async with anyio.create_task_group() as group:

            async def watch() -> None:
                with suppress(anyio.EndOfStream, anyio.BrokenResourceError):
                    await self._stream.receive(1)  # no request is pipelined here: what can be read is the end
                group.cancel_scope.cancel()

            group.start_soon(watch)
            await event.wait()
            gone = False
            group.cancel_scope.cancel()
        if gone:
            raise anyio.EndOfStream

    async def _answer(self, status: int, body: JsonObject, extra: tuple[tuple[str, str], ...] = ()) -> None:
        data = encode(body)
        headers = [("content-type", "application/json"), ("content-length", str(len(data))), *extra]
        await self._send(h11.Response(status_code=status, headers=headers))
        if not self._head:  # to which only the length is told
            await self._send(h11.Data(data))
        await self._send(h11.EndOfMessage())

    async def _send(self, event: h11.Event) -> None:
        data = self._http.send(event)
        if data:
            await self._stream.send(data)

    async def _next_event(self) -> h11.Event:
        while True:
            event = self._http.next_event()
            if event is h11.PAUSED:
                raise h11.RemoteProtocolError("pipelining is not supported")
            if event is not h11.NEED_DATA:
                return event  # type: ignore[return-value]  # the two sentinels are handled above
            if self._http.they_are_waiting_for_100_continue:
                await self._send(h11.InformationalResponse(status_code=100, headers=[]))
            try:
                self._http.receive_data(await self._stream.receive(_READ))
            except anyio.EndOfStream:
                self._http.receive_data(b"")


@asynccontextmanager
async def loopback_model(script: Script) -> AsyncGenerator[LoopbackModel]:
    """Run a stand-in for as long as the block lasts."""
    send, receive = anyio.create_memory_object_stream[RecordedRequest](math.inf)
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=0)
    async with listener, send, receive:
        port = listener.extra(SocketAttribute.local_port)  # noqa: S610 - anyio's attribute, not Django's
        model = LoopbackModel(port, secrets.token_urlsafe(24), script, [], receive)
        async with beside() as group:

            async def handle(stream: SocketStream) -> None:
                await _Connection(stream, model, send).serve()

            group.start_soon(listener.serve, handle)
            yield model
