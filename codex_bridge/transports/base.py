"""What a transport owes the client: whole messages out, whole messages in, a clear end.

The client is the only reader and closes the transport itself. `receive` returns several messages at once
when they arrived together, so that a stream of small ones costs one wake-up and not one each.
"""

from collections.abc import Callable
from typing import Protocol, runtime_checkable

from codex_bridge.errors import TransportError


class Transport(Protocol):
    """A connection to an app-server."""

    @property
    def name(self) -> str:
        """For logs and errors, such as "stdio (process 4711)". Never holds a credential."""
        ...

    async def send(self, message: bytes) -> None:
        """Send one whole message.

        Raises:
            ConnectionLostError: The other side is gone.
        """
        ...

    async def receive(self) -> list[bytes]:
        """Wait for the next messages, at least one.

        Raises:
            ConnectionLostError: The other side closed, or is gone. Raised again on every further call.
            OversizedMessageError: A message is over the ceiling; the connection is closed.
        """
        ...

    async def aclose(self) -> None:
        """End the connection within a few seconds whatever the other side does. Twice is harmless."""
        ...


@runtime_checkable
class DirectTransport(Transport, Protocol):
    """A transport that hands over messages as they come, and takes them without waiting.

    It saves a task for each direction, and with every message that comes or goes the time until that task runs.
    """

    def attach(self, hear: Callable[[list[bytes]], None], end: Callable[[TransportError], None]) -> None:
        """Hand over all messages from here on, in place of `receive`.

        Args:
            hear: Gets what came together, in order; must not block.
            end: Hears once why nothing comes any more, after what came before.
        """
        ...

    def write(self, message: bytes) -> None:
        """Send one whole message. One that the other side cannot get any more is lost, and `end` tells why."""
        ...
