"""People who are asked, and a server that asks: both as a test says."""

from collections.abc import AsyncGenerator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, cast

import anyio

from codex_bridge.bridge import CodexHarness, CodexSettings, codex_harness
from codex_bridge.lanes import HABITS
from codex_bridge.rpc import Answered, Event, Json, JsonObject, Refused, Requested, decode, encode
from codex_bridge.sources import Remote
from codex_bridge.turn import CodexTurn
from harness.agent import Agent
from harness.approvals.approvals import open_approvals
from harness.asks import Answer, Ask, Asker, KeepsAsks
from harness.delivery.courier import Courier
from harness.delivery.outbox import Outgoing
from harness.desk.desk import Desk, open_desk
from harness.gather import Gatherer
from harness.plain import plain_settings
from harness.settings.approvals import ApprovalSettings
from harness.store.bindings import bindings_at
from harness.store.deliveries import Deliveries
from harness.testing.outbox import RecordingOutbox
from harness.timing import Clock
from harness.turn_limit import TurnLimit
from harness.turns import Trigger, TurnRequest
from tests.support.fake_codex import COURSES, FakeCodex, Running
from tests.support.fake_server import Ask as AskStep
from tests.support.fake_server import Result, Script, Step, Tell
from tests.support.serving import LIMIT, listening
from tests.support.turns import words


class FakeAsker:
    """Keeps what it is asked until the test answers; with an answer it gives that at once."""

    def __init__(self, at_once: Answer | None = None) -> None:
        self.asked: list[Ask] = []
        self.withdrawn: list[tuple[str, str]] = []
        """Identities and reasons."""
        self._at_once = at_once
        self._answers: dict[str, Answer] = {}
        self._news = anyio.Event()

    async def ask(self, ask: Ask) -> Answer:
        """See `Asker`."""
        self.asked.append(ask)
        self._tell()
        while self._at_once is None and ask.identity not in self._answers:
            await self._news.wait()
        return self._at_once or self._answers[ask.identity]

    async def withdraw(self, identity: str, why: str) -> None:
        """See `Asker`."""
        self.withdrawn.append((identity, why))
        self._tell()

    async def withdraw_all(self, thread: str, why: str) -> None:
        """See `KeepsAsks`."""
        await self.withdraw(thread, why)

    def answer(self, ask: Ask, answer: Answer) -> None:
        """Answer what was asked."""
        self._answers[ask.identity] = answer
        self._tell()

    async def until_asked(self, number: int = 1) -> Ask:
        """Wait for that ask, and return it."""
        while len(self.asked) < number:
            await self._news.wait()
        return self.asked[number - 1]

    async def until_withdrawn(self, number: int = 1) -> list[tuple[str, str]]:
        """Wait for so many to be withdrawn."""
        while len(self.withdrawn) < number:
            await self._news.wait()
        return self.withdrawn

    def _tell(self) -> None:
        news, self._news = self._news, anyio.Event()
        news.set()


LOOKS: Final = ("thread/turns/list", "thread/items/list", "thread/resume")


class AskingCodex(FakeCodex):
    """A server whose turns ask what their words say, and end when all of it is answered.

    The words of the course `asks` are a list of steps as JSON: `["ask", method, params]`, `["tell", method, params]`,
    `["end"]`. Thread and turn are filled in where the parameters name none. What follows `["wait"]` comes with the next
    turn of the course `poke`.
    """

    def __init__(self) -> None:
        super().__init__()
        self.courses = {**COURSES, "asks": self._asks, "poke": self._poke}
        self.answers: list[Json] = []
        """What was answered, in that order."""
        self.open: list[tuple[str, JsonObject]] = []
        """What was asked, for who comes back over another connection."""
        self.settled_meanwhile: Json = None
        """The item that was waited for, when it is over by then."""
        self.lives = True
        """Whether its turns go on then."""
        self._said: dict[str, Json] = {}
        """The mark of the last message of each thread."""
        self._waits: list[Running] = []
        self._later: list[tuple[Running, list[list[Json]]]] = []

    def __call__(self, event: Event) -> Iterable[Step]:
        """React to an event."""
        if isinstance(event, Answered | Refused):
            self.answers.append(event.result if isinstance(event, Answered) else [event.code, event.message])
            turn = self._waits.pop(0)
            if turn not in self._waits:
                yield from turn.said("Done.")
                yield turn.ended()
        elif isinstance(event, Requested) and event.method in LOOKS:
            yield from self._looked_up(event)
        else:
            if isinstance(event, Requested) and event.method == "turn/start":
                self._said[str(event.params["threadId"])] = event.params["clientUserMessageId"]
            yield from super().__call__(event)

    def _looked_up(self, event: Requested) -> Iterable[Step]:
        """What a client that comes back asks: the turn runs, and what is open is asked again when it is listened to."""
        thread = str(event.params["threadId"])
        turn = self._running.get(thread)
        if turn is None or event.method == "thread/items/list":
            yield Result({"data": []})
            return
        if event.method == "thread/turns/list":
            said: Json = {"type": "userMessage", "id": "u1", "clientId": self._said[thread], "content": []}
            runs: Json = {"id": turn.turn, "status": "inProgress" if self.lives else "interrupted", "items": [said]}
            yield Result({"data": [runs]})
            return
        yield self._resume(thread)
        for method, params in self.open if self.settled_meanwhile is None else ():
            yield AskStep(method, params)
        if self.settled_meanwhile is not None:
            yield Tell("item/completed", {"threadId": thread, "turnId": turn.turn, "item": self.settled_meanwhile})
            yield from turn.said("Done.")
            yield turn.ended()

    def _asks(self, turn: Running, text: str) -> Iterable[Step]:
        yield turn.began()
        self._running[turn.thread] = turn
        yield from self._steps(turn, cast("list[list[Json]]", decode(text.encode())))

    def _poke(self, turn: Running, text: str) -> Iterable[Step]:
        del text
        later, self._later = self._later, []
        yield turn.began()
        for each, steps in later:
            yield from self._steps(each, steps)
        yield from turn.said("poked")
        yield turn.ended()

    def _steps(self, turn: Running, steps: list[list[Json]]) -> Iterable[Step]:
        for number, (kind, *rest) in enumerate(steps, 1):
            if kind == "wait":
                self._later.append((turn, steps[number:]))
                return
            if kind == "end":
                self._waits = [each for each in self._waits if each != turn]
                self._running.pop(turn.thread, None)
                yield turn.ended()
                continue
            method, params = str(rest[0]), cast("JsonObject", rest[1])
            params = {"threadId": turn.thread, "turnId": turn.turn, **params}
            if kind == "ask":
                self._waits.append(turn)
                self.open.append((method, params))
                yield AskStep(method, params)
            else:
                yield Tell(method, params)


def course(*steps: list[Json]) -> str:
    """The words of a message on which the server asks that."""
    return f"asks {encode(cast('Json', list(steps))).decode()}"


def asking(
    *steps: list[Json], asker: Asker | None = None, chat: str = "a", trigger: Trigger = Trigger.CHAT
) -> TurnRequest:
    """A turn of which the server asks that."""
    request = words(course(*steps), chat=chat)
    return replace(request, asker=asker, trigger=trigger)


@asynccontextmanager
async def harness_on(
    codex: AskingCodex,
    folder: Path,
    *,
    asker: KeepsAsks | None = None,
    clock: Clock | None = None,
    limit: TurnLimit | None = None,
) -> AsyncGenerator[CodexHarness]:
    """A harness on that server, which is somebody else's."""
    with anyio.fail_after(LIMIT):
        async with AsyncExitStack() as stack:
            url = await stack.enter_async_context(listening(Script(codex)))
            store = await stack.enter_async_context(bindings_at(folder / "bindings.sqlite"))
            settings = CodexSettings(Remote(url), drain=0.0, asker=asker)
            yield await stack.enter_async_context(
                codex_harness(settings, store, now=lambda: 1_893_456_000.9, clock=clock, limit=limit)
            )


@dataclass
class AskingDesk:
    """A desk whose turns ask, and what its chats show."""

    desk: Desk[CodexTurn]
    outbox: RecordingOutbox
    shown: "anyio.Event"

    async def shows(self, words: str) -> Outgoing:
        """Wait for a text with these words."""
        while True:
            found = next((each for each in self.outbox.messages.values() if words in each.text), None)
            if found is not None:
                return found
            self.shown = anyio.Event()
            await self.shown.wait()


@asynccontextmanager
async def desk_on(codex: AskingCodex, folder: Path, asks: ApprovalSettings, clock: Clock) -> AsyncGenerator[AskingDesk]:
    """A desk on that server; everybody goes by `clock`."""
    workspace = folder / "workspace"
    workspace.mkdir()
    outbox = RecordingOutbox()
    async with harness_on(codex, folder, clock=clock) as harness, bindings_at(folder / "desk.sqlite") as store:
        deliveries = Deliveries(store.database)
        agent = Agent[CodexTurn](harness, Gatherer(plain_settings(workspace), HABITS))
        async with (
            open_approvals(store.database, outbox, asks, clock=clock) as approvals,
            open_desk(agent, deliveries, Courier(deliveries, outbox), approvals=approvals, clock=clock) as desk,
        ):
            made = AskingDesk(desk, outbox, anyio.Event())
            outbox.after = lambda call, outgoing: made.shown.set()
            yield made
