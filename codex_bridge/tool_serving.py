"""Which calls of tools that the server asks for are carried out: those of a turn that runs, each once, and not longer.

`tool_calls` says how one is carried out.
"""

from collections.abc import Callable, Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import anyio

from codex_bridge.at_work import AtWork
from codex_bridge.capabilities import ServerCapabilities
from codex_bridge.rpc import Json, RequestId
from codex_bridge.servers import Servers
from codex_bridge.turn import CodexTurn
from codex_bridge.watching import Watching
from harness.tools import ToolResult
from harness.turns import EndedBy

if TYPE_CHECKING:
    from codex_bridge.wire.server_requests import ToolCall

Begin: TypeAlias = Callable[[Callable[[], Coroutine[Any, Any, None]]], object]
Interrupt: TypeAlias = Callable[[CodexTurn, EndedBy], Coroutine[Any, Any, None]]


class ToolServing:
    """Serves the calls of the tools of turns.

    Args:
        servers: The server that asks.
        at_work: The turns that run.
        watching: Keeps their deadlines.
        begin: Has something done beside all that goes on.
        interrupt: Ends a turn.
    """

    def __init__(
        self, servers: Servers, at_work: AtWork, watching: Watching, begin: Begin, interrupt: Interrupt
    ) -> None:
        self._servers = servers
        self._at_work = at_work
        self._watching = watching
        self._begin = begin
        self._interrupt = interrupt

    async def serve(self, call: "ToolCall", request_id: RequestId) -> Json:
        """Carry out a call; gives the answer in the form that Codex wants."""
        from codex_bridge.questions import tool_refusal  # few turns call tools

        turn = self._at_work.turns.get(call.thread_id)
        if turn is None or turn.ledger is None or turn.ledger.turn_id not in ("", call.turn_id):
            return tool_refusal("This tool belongs to the main conversation and answers only there.").to_wire()
        if request_id in turn.called:  # a server asks again, under the same id, when the way to it was lost
            return tool_refusal("The connection broke off during this call; nobody knows how far it came.").to_wire()
        turn.called.add(request_id)
        from codex_bridge.tool_calls import serve

        scope = anyio.CancelScope()  # ends with the turn: nobody would read the answer any more
        turn.calls.add(scope)
        asked = self._watching.ask(turn)
        try:
            with scope:
                units, ceiling = self._result_limits(turn)
                served = await serve(
                    call,
                    turn.request.tools,
                    done=partial(self._served, turn),
                    units=units,
                    ceiling=ceiling,
                    hooks=turn.request.hooks,
                    session_key=turn.request.session_key,
                )
                return served.to_wire()
        finally:
            turn.calls.discard(scope)
            self._watching.answer(turn, asked)
        return tool_refusal("The turn is over.").to_wire()

    def _served(self, turn: CodexTurn, result: ToolResult) -> None:
        if turn.ledger is not None:
            turn.ledger.hand_in(result)
        if result.ends_turn:
            self._begin(partial(self._interrupt, turn, EndedBy.ITSELF))

    def _result_limits(self, turn: CodexTurn) -> tuple[int, int]:
        """How long a tool's result may be: in UTF-16 units for the agent, and in bytes for Codex."""
        connection, thread, model = self._servers.current, turn.thread, turn.request.model or ""
        can = connection.server.capabilities if connection is not None else ServerCapabilities()
        model = model or (thread.model if thread is not None else "")
        excerpts, ceiling = turn.request.excerpts, can.tool_result_bytes(model)
        return ceiling if excerpts is None else excerpts.tool_result_units(can.context_tokens(model)), ceiling
