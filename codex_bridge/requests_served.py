"""What the server asks us: calls of tools go to `tool_serving`, what people are asked to `asks_served`."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from codex_bridge.rpc import Json, Requested
from codex_bridge.tool_serving import ToolServing
from codex_bridge.wire.notifications import ItemCompleted, RequestResolved, ThreadClosed, TurnEnded, Wire

if TYPE_CHECKING:
    from codex_bridge.asks_served import AsksServed


class RequestsServed:
    """Answers each request of the server, once.

    Args:
        tools: Carries out the calls of tools.
        asks: Makes what asks people.
        now: The time in Unix seconds.
    """

    def __init__(self, tools: ToolServing, asks: "Callable[[], AsksServed]", now: Callable[[], float]) -> None:
        self._tools = tools
        self._make = asks
        self._asks: AsksServed | None = None
        self._now = now

    async def answer(self, request: Requested) -> Json:
        """Answer a request.

        Raises:
            RefusalError: It is one that we do not know, or cannot serve.
            UnneededError: The server does not wait for the answer any more.
        """
        from codex_bridge.questions import asks_a_person, plain, tool_call, tool_refusal  # few turns are asked anything
        from codex_bridge.wire.server_requests import TOOL_CALL

        if request.method == TOOL_CALL:
            call = tool_call(request)
            if call is None:
                return tool_refusal("This call cannot be read.").to_wire()
            return await self._tools.serve(call, request.id)
        if not asks_a_person(request):
            return plain(request, self._now)
        self._asks = self._asks or self._make()
        return await self._asks.serve(request)

    def see(self, wire: Wire) -> None:
        """Take in what the server says, and what it means for what is open."""
        asks = self._asks
        if asks is None:
            return
        match wire:
            case RequestResolved(thread_id=thread_id, request_id=request_id):
                asks.resolved(thread_id, request_id)
            case TurnEnded(thread_id=thread_id, turn=turn):
                asks.turn_over(thread_id, turn.id)
            case ItemCompleted(thread_id=thread_id, item=item):
                asks.item_over(thread_id, item.id)
            case ThreadClosed(thread_id=thread_id):
                asks.unloaded(thread_id)
            case _:
                pass

    def lost(self) -> None:
        """The connection to the server is gone."""
        if self._asks is not None:
            self._asks.lost()
