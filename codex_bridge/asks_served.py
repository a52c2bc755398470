"""What the server asks people, from its request to our answer.

Each ask is told when it is made and when it is settled, once each. It waits in the task of its request, so it holds up
nothing else, and who may answer is reached through the asker of its turn; without one it is declined at once.

    what comes                              | what becomes of an open ask
    ----------------------------------------+---------------------------------------------------------------------
    the answer                              | sent, and told as allowed, answered or declined
    serverRequest/resolved                  | withdrawn; somebody else answered, or nobody has to any more
    the end of its turn, as Codex tells it  | withdrawn; Codex waits for nothing, so nothing is sent
    the end of its turn, as we decide it    | withdrawn; the server is answered with no
    its thread is unloaded                  | withdrawn
    its server is gone for good             | withdrawn
    the way to a server that lives on broke | parked: it is asked again, under the same name, when the way is back
    what waits for it is over, while parked | withdrawn
"""

import logging
from collections.abc import Callable, Coroutine, Iterable
from functools import partial
from typing import Any, Final, TypeAlias

import anyio

from codex_bridge.asks import asked_by, declined, identity_of, unfit
from codex_bridge.at_work import AtWork
from codex_bridge.errors import UnneededError
from codex_bridge.following import Following
from codex_bridge.questions import read, refusal, reply, wanted
from codex_bridge.rpc import Json, Requested, RequestId
from codex_bridge.turn import CodexTurn
from codex_bridge.watching import Watching
from codex_bridge.wire.server_requests import ServerRequestParams
from harness.asks import Answer, ApprovalAsked, Ask, Asker, AskSettled, QuestionAsked, Settlement, Verdict
from harness.lean_values import dataclass
from harness.masking import mask
from harness.turn_limit import TurnLimit
from harness.turns import EndedBy, TurnEvent

Begin: TypeAlias = Callable[[Callable[[], Coroutine[Any, Any, None]]], object]
Interrupt: TypeAlias = Callable[[CodexTurn, EndedBy], Coroutine[Any, Any, None]]

RESOLVED: Final = "it was answered elsewhere."
OVER: Final = "the turn is over."
UNLOADED: Final = "the conversation was closed."
GONE: Final = "Codex stopped before anybody answered."
STOPPED: Final = "the turn was stopped."

logger = logging.getLogger("codex_bridge")


@dataclass(frozen=True, slots=True)
class Place:
    """Whose request it is, and who may answer it."""

    asker: Asker | None
    session_key: str = ""
    message_key: str = ""
    turn: CodexTurn | None = None
    """The turn that is told; None for one that an earlier process of the gateway began."""
    agent: str = ""
    """The subagent that asks; empty when it is the turn itself."""


class OpenAsk:
    """An ask that is not settled."""

    def __init__(self, ask: Ask, asker: Asker, turn: CodexTurn | None, turn_id: str, request_id: RequestId) -> None:
        self.ask = ask
        self.asker = asker
        self.turn = turn
        self.turn_id = turn_id
        """The server's id of the turn that asks, a subagent's say; empty where the request names none."""
        self.request_id = request_id
        self.scope: anyio.CancelScope | None = None
        """Of the request that waits; None while it is parked."""
        self.withdrawn = False
        self.unneeded = False
        """Whether the server does not wait for an answer any more."""

    def tell(self, events: Iterable[TurnEvent]) -> None:
        """Tell the turn, if there is one."""
        if self.turn is not None:
            self.turn.push(events)


class AsksServed:
    """Serves the requests that ask people.

    Args:
        at_work: The turns that run.
        following: Those that an earlier process began.
        watching: Keeps their deadlines.
        begin: Has something done beside all that goes on.
        interrupt: Ends a turn.
        outlives: Whether the server goes on waiting when this process ends.
        limit: Lends the place of a turn that waits for a person; None where there are no places.
    """

    def __init__(
        self,
        at_work: AtWork,
        following: Following,
        watching: Watching,
        begin: Begin,
        interrupt: Interrupt,
        *,
        outlives: bool,
        limit: TurnLimit | None,
    ) -> None:
        self._at_work = at_work
        self._following = following
        self._watching = watching
        self._begin = begin
        self._interrupt = interrupt
        self._outlives = outlives
        self._limit = limit
        self._open: dict[str, OpenAsk] = {}

    async def serve(self, request: Requested) -> Json:
        """Answer a request that asks a person.

        Raises:
            UnneededError: The server does not wait for the answer any more.
        """
        params = read(request)
        place = self._place(params)
        if place is None:
            return self._declined(request, params, None, None, "it belongs to no turn that runs")
        what = self._what(params, str(request.id), place)
        if what is None or params is None:
            return self._declined(request, params, place, what, "nobody could be asked")
        if place.asker is None:
            return self._declined(request, params, place, what, "nobody could be asked")
        if why := unfit(params):
            return self._declined(request, params, place, what, why)
        return await self._asked(request, params, what, place, place.asker)

    # what ends an ask besides its answer

    def resolved(self, thread_id: str, request_id: RequestId) -> None:
        """The server has an answer, or needs none."""
        self._withdraw_all(lambda each: each.ask.thread == thread_id and each.request_id == request_id, RESOLVED)

    def turn_over(self, thread_id: str, turn_id: str) -> None:
        """A turn is over, as Codex tells."""
        self._withdraw_all(lambda each: each.ask.thread == thread_id and each.turn_id in ("", turn_id), OVER)

    def item_over(self, thread_id: str, item_id: str) -> None:
        """Something is over; while the way to the server was lost, its ask was settled."""
        if self._open:
            parked = [each for each in self._open.values() if each.scope is None and each.ask.thread == thread_id]
            for each in parked:
                if each.ask.what.item == item_id != "":
                    self._withdraw(each, RESOLVED, unneeded=True)

    def unloaded(self, thread_id: str) -> None:
        """A thread is unloaded."""
        self._withdraw_all(lambda each: each.ask.thread == thread_id, UNLOADED)

    def lost(self) -> None:
        """The connection is gone; a server that lives on goes on waiting, and asks again."""
        if not self._outlives:
            self._withdraw_all(lambda _: True, GONE)

    def _withdraw_all(self, which: Callable[[OpenAsk], bool], why: str) -> None:
        for each in [each for each in self._open.values() if which(each)]:
            self._withdraw(each, why, unneeded=True)

    def _withdraw(self, each: OpenAsk, why: str, *, unneeded: bool) -> None:
        """Let go of an ask; its answer, if one is on its way, is not sent."""
        if each.withdrawn:
            return
        each.withdrawn, each.unneeded = True, unneeded
        self._close(each)
        each.tell([AskSettled(each.ask.what.ask, Settlement.WITHDRAWN, why[0].upper() + why[1:])])
        if each.scope is not None:
            each.scope.cancel()
        self._begin(partial(_withdrawn, each, why))

    def _close(self, each: OpenAsk) -> None:
        self._open.pop(each.ask.identity, None)
        if each.turn is not None:
            each.turn.asks.pop(each.ask.identity, None)

    # from the request to the answer

    def _place(self, params: ServerRequestParams | None) -> Place | None:
        if params is None:
            return None
        found = self._at_work.asker(params.thread_id, params.turn_id or "")
        if found is not None:
            turn, agent = found
            if turn.buffer.result is not None and not agent:
                return None  # it came with the end of its turn
            request = turn.request
            return Place(request.asker, request.session_key, request.message_key, turn, agent)
        followed = self._following.at(params.thread_id)
        if followed is not None:
            return Place(followed.asker, followed.session_key, followed.message_key)
        return None

    def _what(
        self, params: ServerRequestParams | None, name: str, place: Place
    ) -> ApprovalAsked | QuestionAsked | None:
        item = getattr(params, "item_id", "")
        changes = self._at_work.changes_of(params.thread_id, item) if params is not None and item else ()
        return asked_by(params, name, place.agent, changes)

    def _declined(
        self,
        request: Requested,
        params: ServerRequestParams | None,
        place: Place | None,
        what: ApprovalAsked | QuestionAsked | None,
        because: str,
    ) -> Json:
        notice = mask(f"{wanted(params)}, and {because}, so the answer was no.")
        logger.warning("%s", notice)
        if place is not None and place.turn is not None:
            place.turn.push(declined(what, notice))
        return refusal(request, params, f"{because}.")

    async def _asked(
        self,
        request: Requested,
        params: ServerRequestParams,
        what: ApprovalAsked | QuestionAsked,
        place: Place,
        asker: Asker,
    ) -> Json:
        identity = identity_of(request)
        each = self._open.get(identity)
        if each is None:
            ask = Ask(
                identity=identity,
                session_key=place.session_key,
                message_key=place.message_key,
                thread=params.thread_id,
                what=what,
                outlives=self._outlives,
            )
            each = self._open[identity] = OpenAsk(ask, asker, place.turn, params.turn_id or "", request.id)
            each.tell([what])
            if place.turn is not None and not place.agent:
                place.turn.asks[identity] = partial(self._withdraw, each, OVER, unneeded=False)
        answer = await self._wait(each)
        if each.withdrawn or answer is None:
            if each.unneeded:
                raise UnneededError
            return refusal(request, params, STOPPED)
        self._close(each)
        if place.turn is not None and place.turn.stopped is not None and answer.verdict is not Verdict.CANCEL:
            # The interrupt is on its way, and what was allowed must not begin before it is there.
            each.tell([AskSettled(what.ask, Settlement.WITHDRAWN, "The turn was stopped.")])
            return refusal(request, params, STOPPED)
        said = reply(request, params, answer, always=not isinstance(what, ApprovalAsked) or what.always)
        why = mask(said.why)
        logger.info("%s: %s %s", wanted(params) if isinstance(what, QuestionAsked) else identity, said.how.value, why)
        each.tell([AskSettled(what.ask, said.how, why)])
        if said.ends_turn and place.turn is not None:
            self._begin(partial(self._interrupt, place.turn, EndedBy.PERSON))
        return said.result

    async def _wait(self, each: OpenAsk) -> Answer | None:
        """Wait for the answer; None when it was withdrawn before one came."""
        turn, answer = each.turn, None
        with anyio.CancelScope() as each.scope:
            asked_in = self._watching.ask(turn) if turn is not None else 0
            place = turn.place if turn is not None else None
            if self._limit is not None and place is not None:
                self._limit.lend(place)
            try:
                answer = await each.asker.ask(each.ask)
            except Exception:  # the gateway's own code; its mistake is a no
                logger.exception("an ask of %s", each.ask.session_key)
                answer = Answer(Verdict.DECLINE, why="The gateway could not ask, so the answer was no.")
            finally:
                each.scope = None
                if self._limit is not None and place is not None:
                    self._limit.take_back(place)
                if turn is not None:
                    self._watching.answer(turn, asked_in)
        return answer


async def _withdrawn(each: OpenAsk, why: str) -> None:
    try:
        await each.asker.withdraw(each.ask.identity, why)
    except Exception:  # as above
        logger.exception("withdrawing an ask of %s", each.ask.session_key)
