"""A turn on Codex, as the gateway holds it."""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from dataclasses import replace

import anyio

from codex_bridge.deadlines import Watch
from codex_bridge.errors import TransportError
from codex_bridge.lanes import Standing, plan
from codex_bridge.ledger import State, TurnLedger
from codex_bridge.params import is_apart
from codex_bridge.replays import Pending
from codex_bridge.rpc import JsonObject, RequestId
from codex_bridge.rules import is_overridden
from codex_bridge.steers import Steers
from codex_bridge.telling import tell_nothing
from codex_bridge.tools import Registered
from codex_bridge.wire.base import Sent
from codex_bridge.wire.requests import ThreadOpened
from harness.events import EventBuffer
from harness.layers import Composition, Layer
from harness.lean_values import dataclass
from harness.turn_order import Place
from harness.turns import EndedBy, Finished, Joined, Steered, TurnEvent, TurnRequest, TurnResult

logger = logging.getLogger("codex_bridge")


@dataclass(frozen=True, slots=True)
class SentRequest:
    """A request as it went out."""

    method: str
    params: Sent

    def to_wire(self) -> JsonObject:
        """The parameters as JSON."""
        return self.params.to_wire()


class CodexTurn:
    """A turn on Codex, see `harness.turns.RunningTurn`."""

    def __init__(
        self,
        request: TurnRequest,
        tools: Registered,
        standing: Standing,
        interrupt: "Callable[[CodexTurn, EndedBy], Awaitable[None]]",
        steer: "Callable[[CodexTurn, tuple[Layer, ...], str], Awaitable[Steered]]",
        *,
        reads_rules: bool = True,
        compacts: bool = False,
    ) -> None:
        self.request = request
        self.tools: Registered = tools
        self.compacts = compacts
        """Whether it says nothing and only puts a summary in place of what the thread holds."""
        self._standing: Standing = standing
        self.apart = is_apart(request)
        """Whether it has a thread of its own, which nothing remembers."""
        self.key = f"{request.session_key} {request.message_key}" if self.apart else request.session_key
        """Of turns with the same key, one runs at a time, and all run on one thread."""
        self.history: Layer | None = None
        """What was said before and the thread does not know; None when it knows everything."""
        self.aftermath: Layer | None = None
        """How the turn before was really ended, where this one has to say so."""
        self.route(copied=not reads_rules or is_overridden(request.workspace))
        self.sent: list[SentRequest] = []
        """The thread and turn requests of this turn, as they went out."""
        self.thread: ThreadOpened | None = None
        """The thread as the server opened it for this turn; None until then."""
        self.heard = 0
        """The number of the last row of the chat's transcript that the thread knows when it has this turn."""
        self.aside = self.apart
        """Whether its thread ends with it, while the chat keeps another one."""
        self.begun = 0
        """How often its conversation had been forgotten when its thread was opened."""
        self.summary_heard = False
        """Whether Codex has told, while it ran, that a summary took the place of what its thread held."""
        self.outgrown = ""
        """Why its conversation cannot go on in its thread after it; empty when it can."""
        self.pictures_refused = False
        """Whether the provider did not take its pictures; it is run once more without them."""
        self.tried_again = False
        """Whether it was run once more by itself; that is done one time at most."""
        self.pending: Pending | None = None
        """An end of it that is not told yet, as something is left to do."""
        self.vanished = False
        """Whether the turn was taken out of its thread again."""
        self.over = anyio.Event()
        """Set when nothing of the turn runs any more, or it must be begun anew and `buffer` has no result."""
        self.ledger: TurnLedger | None = None
        self.lost: tuple[TurnLedger, TransportError | None] | None = None
        """The account of a turn whose server went away in the middle, when that does not settle how it ended."""
        self.watch: Watch | None = None
        """Its deadlines; None for one that has not come to its turn."""
        self._known: anyio.Event | None = None
        self.place: Place | None = None
        """Where it runs, or waits for the turns of other conversations; None while it waits for its own."""
        self.adrift = False
        """Its server is gone, and how it ended is being looked up."""
        self.stopped: EndedBy | None = None
        """Who asked for the end, if anybody did."""
        self.limit = ""
        """Which deadline ended it, in words; empty for none."""
        self.buffer = EventBuffer()
        self.scope = anyio.CancelScope()
        self.calls: set[anyio.CancelScope] = set()
        """The calls of tools that are being served."""
        self.called: set[RequestId] = set()
        """The server's requests for calls of tools so far: none is carried out twice. Ids of calls may come again."""
        self.asks: dict[str, Callable[[], None]] = {}
        """What lets go of each ask of it that is open, by the name of the ask."""
        self.steers = Steers()
        """The words that join it."""
        self._interrupt = interrupt
        self._steer = steer

    def route(self, *, copied: bool, hears_mode: bool = True, takes_context: bool = True) -> None:
        """Plan anew which layer travels where, see `lanes.plan`."""
        composition = self.request.composition
        if added := tuple(layer for layer in (self.aftermath, self.history) if layer is not None):
            composition = Composition((*composition.layers, *added), composition.left_out)
        self.lanes = plan(
            composition,
            self._standing,
            copied=copied,
            hears_mode=hears_mode,
            takes_context=takes_context,
            apart=self.apart,
        )

    def take_tools(self, tools: Registered) -> None:
        """Have a thread with these tools and no others, and tell the model of no others."""
        if tools != self.tools:
            self.tools, self._standing = tools, replace(self._standing, tools=tools.names)
            self.route(copied=self.lanes.copied)

    def begin_anew(self) -> None:
        """The turn is run once more, with what had joined it the first time."""
        self.tried_again = True
        composition = self.request.composition
        self.request = replace(
            self.request,
            composition=Composition((*composition.layers, *self.steers.joined), composition.left_out),
        )
        self.steers.joined.clear()
        self.steers.taken = 0
        self.route(copied=self.lanes.copied)

    def events(self) -> AsyncIterator[TurnEvent]:
        """Stream what happens, up to and with `Finished`; can be iterated once."""
        return self.buffer.read()

    async def result(self) -> TurnResult:
        """Wait for the end."""
        return await self.buffer.wait()

    async def interrupt(self, by: EndedBy = EndedBy.PERSON) -> None:
        """Ask for the end and wait for it; the turn then finishes as interrupted.

        Twice is harmless, and the first reason counts.
        """
        await self._interrupt(self, by)

    async def steer(self, words: tuple[Layer, ...], key: str) -> Steered:
        """Add words to the turn, see `harness.turns.RunningTurn`."""
        return await self._steer(self, words, key)

    async def until_known(self) -> None:
        """Wait until Codex has the turn, or it is over."""
        if self._known is None:
            self._known = anyio.Event()
        await self._known.wait()

    def push(self, events: Iterable[TurnEvent]) -> None:
        """Hand events to the reader."""
        for event in events:
            over = self.buffer.result is not None
            if self.asks and isinstance(event, Finished):
                for withdraw in tuple(self.asks.values()):  # each is told as settled before the end
                    withdraw()
            self.buffer.push(event)
            if isinstance(event, Finished):
                if not over:
                    self._tell_end(event.result)
            elif isinstance(event, Joined):
                self.steers.join(event.key)
        if self.buffer.result is not None:
            self.steers.open = False
            self.steers.release()
            if self.ledger is None or self.ledger.state is State.ENDED:
                self.over.set()
            self._tell_known()
        elif self._known is not None and self.ledger is not None and self.ledger.state is not State.OPENING:
            self._tell_known()

    def _tell_known(self) -> None:
        if self._known is not None:
            self._known.set()
            self._known = None

    def _tell_end(self, result: TurnResult) -> None:
        if self.request.on_end is not None:
            try:
                self.request.on_end(result)
            except Exception:  # the gateway's own code must end no other turn
                logger.exception("on_end of a turn for %s", self.request.session_key)

    def ended_ledger(self) -> TurnLedger:
        """The ledger that can end this turn, also when it never got as far as a thread."""
        ledger = self.ledger or TurnLedger("", tell_nothing)
        if self.stopped is not None:
            ledger.will_end(self.stopped)
        return ledger
