"""Two ends of a wire inside one process, for tests and embedding."""

import math
from dataclasses import dataclass

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from codex_bridge.errors import ConnectionLostError, OversizedMessageError
from codex_bridge.rpc import MESSAGE_LIMIT


@dataclass
class MemoryTransport:
    """One end. What it sends, the other end receives, in order."""

    name: str
    _send: MemoryObjectSendStream[bytes]
    _receive: MemoryObjectReceiveStream[bytes]
    _limit: int

    async def send(self, message: bytes) -> None:
        """Send one whole message; see `Transport.send`."""
        try:
            await self._send.send(message)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            raise ConnectionLostError("the other end closed") from None

    async def receive(self) -> list[bytes]:
        """Wait for the next messages; see `Transport.receive`."""
        try:
            messages = [await self._receive.receive()]
        except (anyio.EndOfStream, anyio.ClosedResourceError):
            raise ConnectionLostError("the other end closed") from None
        try:
            while True:
                messages.append(self._receive.receive_nowait())
        except (anyio.WouldBlock, anyio.EndOfStream):
            pass  # an end is told by the next call, after what came before it
        if any(len(message) > self._limit for message in messages):
            await self.aclose()
            raise OversizedMessageError(self._limit)
        return messages

    async def aclose(self) -> None:
        """Close both directions."""
        self._send.close()
        self._receive.close()


def memory_pair(*, limit: int = MESSAGE_LIMIT) -> tuple[MemoryTransport, MemoryTransport]:
    """Make two connected ends; `limit` is the ceiling of one message in bytes."""
    to_server, from_client = anyio.create_memory_object_stream[bytes](math.inf)
    to_client, from_server = anyio.create_memory_object_stream[bytes](math.inf)
    return (
        MemoryTransport("memory (client end)", to_server, from_server, limit),
        MemoryTransport("memory (server end)", to_client, from_client, limit),
    )
