"""Case T07 as its chat sees it: through the desk and the courier, on a fake Codex and a clock that the test moves."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from codex_bridge.lanes import HABITS
from codex_bridge.turn import CodexTurn
from harness.agent import Agent
from harness.delivery.courier import Courier
from harness.desk.desk import Desk, open_desk
from harness.gather import Gatherer
from harness.inbound import InboundMessage
from harness.plain import plain_settings
from harness.store.bindings import bindings_at
from harness.store.deliveries import Deliveries
from harness.testing.outbox import RecordingOutbox
from harness.turns import Notice, TurnEvent
from tests.support.desk import message, until
from tests.support.silent_codex import ALL
from tests.support.time import HandClock
from tests.support.turns import harness_on_fake

INCOMPLETE = (
    "Codex was silent for 300 s, so the turn was ended (appServer.postToolRawAssistantCompletionIdleTimeoutMs); "
    "what it did may be incomplete, and nothing of it is run again. What it did until then was not undone."
)


@dataclass
class Front:
    """A desk whose backend falls silent."""

    desk: Desk[CodexTurn]
    deliveries: Deliveries
    outbox: RecordingOutbox
    clock: HandClock
    heard: list[TurnEvent]
    turns: list[CodexTurn]

    async def fallen_silent(self, text: str) -> None:
        """Bring a message in, and wait until all that its turn says has been heard."""
        await self.desk.receive(message(1, text))
        await until(lambda: Notice(ALL) in self.heard)

    async def settled(self) -> None:
        await self.desk.settled()
        assert await self.deliveries.open() == []


@asynccontextmanager
async def front(folder: Path) -> AsyncGenerator[Front]:
    clock, outbox = HandClock(), RecordingOutbox()
    heard, turns = list[TurnEvent](), list[CodexTurn]()

    def listen(said: InboundMessage, turn: CodexTurn) -> Callable[[TurnEvent], None]:
        del said
        turns.append(turn)
        return heard.append

    workspace = folder / "workspace"
    workspace.mkdir()
    async with (
        bindings_at(folder / "bindings.sqlite") as store,
        harness_on_fake(folder, store, script="silent", clock=clock) as harness,
    ):
        agent = Agent(harness, Gatherer(plain_settings(workspace, "main"), HABITS))
        deliveries = Deliveries(store.database)
        async with open_desk(agent, deliveries, Courier(deliveries, outbox), listen=listen, patience=0.0) as desk:
            yield Front(desk, deliveries, outbox, clock, heard, turns)


async def test_a_chat_gets_an_answer_whose_end_is_not_told_once_and_the_next_message_its_own(tmp_path: Path) -> None:
    """T07, and c."""
    async with front(tmp_path) as at:
        await at.fallen_silent("idle silent run say")
        at.clock.advance(10)
        await at.settled()
        assert at.outbox.texts() == ["Two files."]
        await at.desk.receive(message(2, "echo And now?"))
        await at.settled()
        assert at.outbox.texts() == ["Two files.", "And now?"]
        assert len(at.turns) == 2


async def test_a_chat_gets_one_honest_sentence_where_a_turn_stops_after_a_tool(tmp_path: Path) -> None:
    """T07 b."""
    async with front(tmp_path) as at:
        await at.fallen_silent("idle silent run")
        at.clock.advance(300)
        await at.settled()
        assert at.outbox.texts() == [INCOMPLETE]
        await at.desk.receive(message(2, "echo And now?"))
        await at.settled()
        assert at.outbox.texts() == [INCOMPLETE, "And now?"]
        assert len(at.turns) == 2


async def test_a_chat_hears_nothing_of_a_turn_whose_command_runs_for_long_until_somebody_stops_it(
    tmp_path: Path,
) -> None:
    """T07 d, A3: half the budget of silence is no end."""
    async with front(tmp_path) as at:
        await at.fallen_silent("idle silent begin")
        at.clock.advance(149)
        assert (at.outbox.texts(), at.desk.busy) == ([], True)
        await at.desk.receive(message(2, "/stop"))
        await at.settled()
        assert at.outbox.texts() == ["Stopped."]
