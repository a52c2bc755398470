"""Whatever carries the messages, a client sees the same: all of them, whole, in order, and one clear end."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio
import pytest

from codex_bridge.errors import ConnectionLostError, OversizedMessageError, TransportError
from codex_bridge.rpc import Answered, Event, Json, JsonObject, Notified, Peer
from codex_bridge.transports.base import Transport
from tests.support.serving import TRANSPORTS, linked

SIZES = [100_000, 1_100_000, 4_500_000]
SMALL_LIMIT = 10_000

pytestmark = pytest.mark.parametrize("kind", TRANSPORTS)


class Line:
    """Our end of a wire: a peer on a bare transport."""

    def __init__(self, transport: Transport) -> None:
        self.transport = transport
        self._peer = Peer()
        self._unread: list[bytes] = []

    async def ask(self, method: str, params: Json) -> None:
        self._peer.call(method, params)
        for message in self._peer.outgoing():
            await self.transport.send(message)

    async def hear(self) -> Event:
        while not self._unread:
            self._unread = await self.transport.receive()
        return self._peer.receive(self._unread.pop(0))


@asynccontextmanager
async def line_to_fake(kind: str) -> AsyncGenerator[Line]:
    async with linked(kind, "contract") as transport:
        yield Line(transport)


async def test_messages_keep_their_order(kind: str) -> None:
    async with line_to_fake(kind) as line:
        await line.ask("count", {"to": 500})
        heard = [await line.hear() for _ in range(501)]

    assert heard == [*(Notified("counted", {"number": number}) for number in range(500)), Answered(1, "count", {})]


async def test_several_messages_sent_at_once_are_several_messages(kind: str) -> None:
    async with line_to_fake(kind) as line:
        for number in range(50):
            await line.ask("echo", {"number": number})
        heard = [await line.hear() for _ in range(50)]

    assert heard == [Answered(number + 1, "echo", {"number": number}) for number in range(50)]


@pytest.mark.parametrize("size", SIZES)
async def test_a_big_message_is_whole_in_both_directions(kind: str, size: int) -> None:
    sent: JsonObject = {"text": "lobster 🦞 " * (size // 13)}
    async with line_to_fake(kind) as line:
        await line.ask("echo", sent)
        assert await line.hear() == Answered(1, "echo", sent)


async def test_text_of_every_script_and_control_characters_come_back_as_sent(kind: str) -> None:
    sent: JsonObject = {
        "text": "日本語 🦞 👩\u200d🚒 e\u0301 \u2028\u2029\x85 \x00\x1f\x7f \r\n \\n",
        "名": ["ключ", "\t"],
    }
    async with line_to_fake(kind) as line:
        await line.ask("echo", sent)
        assert await line.hear() == Answered(1, "echo", sent)


async def test_half_an_emoji_is_sent_as_a_replacement_character(kind: str) -> None:
    async with line_to_fake(kind) as line:
        await line.ask("echo", {"text": "cut \ud83e", "\udd9e": 1, "pair": "\ud83e\udd9e"})
        assert await line.hear() == Answered(1, "echo", {"text": "cut \ufffd", "\ufffd": 1, "pair": "🦞"})


async def test_what_came_before_the_end_is_heard_and_the_end_is_told_again_and_again(kind: str) -> None:
    async with line_to_fake(kind) as line:
        await line.ask("bye", {})
        assert await line.hear() == Notified("parting", {})
        for _ in range(3):
            with pytest.raises(ConnectionLostError):
                await line.hear()


async def test_sending_to_a_server_that_is_gone_fails(kind: str) -> None:
    async with line_to_fake(kind) as line:
        await line.ask("bye", {})
        await line.hear()
        with pytest.raises(ConnectionLostError):
            await line.hear()
        for _ in range(3):
            with pytest.raises(ConnectionLostError):
                await line.ask("echo", {})


async def test_a_message_as_long_as_the_ceiling_is_read(kind: str) -> None:
    async with linked(kind, "contract", limit=SMALL_LIMIT) as transport:
        line = Line(transport)
        await line.ask("grow", {"bytes": SMALL_LIMIT})
        padded = await line.hear()
        assert isinstance(padded, Notified)
        assert padded.method == "padded"
        await line.ask("echo", {})
        assert await line.hear() == Answered(2, "echo", {})


@pytest.mark.parametrize("size", [SMALL_LIMIT + 1, 30 * SMALL_LIMIT])
async def test_a_message_over_the_ceiling_is_an_error_that_names_it_and_closes_the_connection(
    kind: str, size: int
) -> None:
    async with linked(kind, "contract", limit=SMALL_LIMIT) as transport:
        line = Line(transport)
        await line.ask("grow", {"bytes": size})
        with pytest.raises(OversizedMessageError, match=r"message too large.*10,000 bytes") as caught:
            await line.hear()
        assert caught.value.limit == SMALL_LIMIT

        for _ in range(3):
            with pytest.raises(TransportError):
                await line.hear()
        with pytest.raises(ConnectionLostError):
            await line.ask("echo", {})


async def test_closing_twice_is_harmless_and_quick(kind: str) -> None:
    async with line_to_fake(kind) as line:
        await line.ask("echo", {})
        await line.hear()
        with anyio.fail_after(2):
            await line.transport.aclose()
            await line.transport.aclose()
        with pytest.raises(ConnectionLostError):
            await line.ask("echo", {})
        with pytest.raises(ConnectionLostError):
            await line.hear()


async def test_closing_is_quick_while_messages_are_still_coming(kind: str) -> None:
    async with line_to_fake(kind) as line:
        await line.ask("grow", {"bytes": 4_500_000})
        await line.ask("count", {"to": 5_000})
        with anyio.fail_after(5):
            await line.transport.aclose()


async def test_a_connection_has_a_name_for_the_log(kind: str) -> None:
    async with line_to_fake(kind) as line:
        expected = {
            "memory": "memory",
            "stdio": "stdio (process ",
            "websocket": "ws://127.0.0.1:",
            "unix": "unix socket",
        }
        assert line.transport.name.startswith(expected[kind])
