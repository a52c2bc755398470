"""What begins no turn by itself: what calls nobody, what changes an earlier message, and a button that is nobody's."""

from dataclasses import replace
from pathlib import Path

import pytest

from harness.agent import Agent
from harness.approvals.said import UNKNOWN
from harness.channels.unheard import CHANGED
from harness.delivery.courier import Courier
from harness.desk.desk import Receipt, open_desk
from harness.gather import Gatherer
from harness.habits import Habits
from harness.inbound import InboundMessage
from harness.layers import LayerName
from harness.plain import plain_settings
from harness.replies.media import MediaRules
from harness.settings.queue import DropPolicy, QueueMode, QueueRules
from harness.store.admitted import State
from harness.turns import Failure, Outcome, Steered, TurnResult
from tests.support.desk import House, PlayedHarness, PlayedTurn, house, message, until

QUIET = QueueRules().quiet


def group(number: int, *, calls: bool | None = True, text: str = "") -> InboundMessage:
    return replace(message(number, text, chat="-1", group=True), mentioned=calls)


def edit(number: int, text: str, *, calls: bool | None = None, in_group: bool = False) -> InboundMessage:
    before = group(number, calls=calls) if in_group else message(number)
    return replace(before, text=text, edited=True, event_id=f"edit-{text}")


def brought(turn: PlayedTurn) -> list[str]:
    """What a turn was told that was said before, in its order."""
    quotes = (each for each in turn.request.composition.layers if each.name is LayerName.QUOTES)
    return [line.removeprefix("> ") for each in quotes for line in each.text.splitlines() if line.startswith("> ")]


async def take(at: House, *messages: InboundMessage) -> list[Receipt]:
    return [await at.desk.receive(each) for each in messages]


# what calls nobody


async def test_a_group_is_heard_out_and_told_once_to_the_turn_of_the_message_that_calls_the_agent(
    tmp_path: Path,
) -> None:
    async with house(tmp_path) as at:
        heard = await take(at, group(1, calls=False), group(2, calls=False), group(2, calls=False), group(3))
        assert heard == [Receipt.HEARD, Receipt.HEARD, Receipt.TWICE, Receipt.TAKEN_IN]
        first = await at.begun(1)
        first.end()
        await at.settled()
        await take(at, group(4))
        second = await at.begun(2)
        assert (first.said, brought(first)) == (["message 3"], ["message 1", "message 2"])
        assert (second.said, brought(second)) == (["message 4"], [])
        second.end()


async def test_who_may_be_meant_is_answered(tmp_path: Path) -> None:
    async with house(tmp_path) as at:
        assert await at.desk.receive(group(1, calls=None)) is Receipt.TAKEN_IN
        (await at.begun(1)).end()


async def test_a_stop_that_calls_nobody_is_obeyed(tmp_path: Path) -> None:
    async with house(tmp_path) as at:
        assert await at.desk.receive(group(1, calls=False, text="/stop")) is Receipt.OBEYED
        await at.settled()


async def test_a_message_that_came_twice_keeps_nothing_of_what_was_said_before(tmp_path: Path) -> None:
    async with house(tmp_path) as at:
        await take(at, group(3))
        (await at.begun(1)).end()
        await at.settled()
        await take(at, group(4, calls=False))
        assert await at.desk.receive(group(3)) is Receipt.TWICE
        await take(at, group(5))
        second = await at.begun(2)
        assert brought(second) == ["message 4"]
        second.end()


@pytest.mark.parametrize("mode", [QueueMode.STEER, QueueMode.COLLECT, QueueMode.FOLLOWUP])
async def test_what_was_said_before_comes_once_however_messages_are_queued(tmp_path: Path, mode: QueueMode) -> None:
    refusing = PlayedHarness(takes=Steered.OVER)
    async with house(tmp_path, QueueRules(mode=mode), harness=refusing) as at:
        await take(at, group(1))
        first = await at.begun(1)
        await take(at, group(2, calls=False), group(3))
        at.clock.advance(QUIET)
        if mode is QueueMode.STEER:
            await until(lambda: first.steered == ["message 3"])
        first.end()
        second = await at.begun(2)
        assert (second.said, brought(second)) == (["message 3"], ["message 2"])
        second.end()


@pytest.mark.parametrize("drop", [DropPolicy.OLD, DropPolicy.SUMMARIZE])
async def test_what_a_message_brought_that_was_let_go_of_comes_with_the_next_one(
    tmp_path: Path, drop: DropPolicy
) -> None:
    async with house(tmp_path, QueueRules(mode=QueueMode.COLLECT, cap=1, drop=drop)) as at:
        await take(at, group(1))
        first = await at.begun(1)
        await take(at, group(2, calls=False), group(3), group(4), group(5))
        first.end()
        at.clock.advance(QUIET)
        second = await at.begun(2)
        assert (second.said, brought(second)) == (["message 5"], ["message 2"])
        second.end()


@pytest.mark.parametrize(("turn", "again"), [("", ["message 1"]), ("turn", [])])
async def test_a_turn_that_never_began_gives_back_what_it_was_told(tmp_path: Path, turn: str, again: list[str]) -> None:
    async with house(tmp_path) as at:
        await take(at, group(1, calls=False), group(2))
        failed = TurnResult(Outcome.FAILED, "", error="No way.", failure=Failure.OTHER, turn=turn)
        (await at.begun(1)).finish(failed)
        await at.settled()
        await take(at, group(3))
        second = await at.begun(2)
        assert brought(second) == again
        second.end()


async def test_a_conversation_that_begins_anew_is_told_nothing_of_before(tmp_path: Path) -> None:
    async with house(tmp_path) as at:
        await take(at, group(1, calls=False), group(2, text="/new"))
        turn = await at.begun(1)
        assert brought(turn) == []
        turn.end()


# what changes a message


async def test_a_message_that_waits_is_answered_as_it_was_changed_at_its_place(tmp_path: Path) -> None:
    async with house(tmp_path, QueueRules(mode=QueueMode.COLLECT)) as at:
        await take(at, message(1))
        first = await at.begun(1)
        await take(at, message(2), message(3))
        change = edit(2, "two, mended")
        assert await take(at, change, change, edit(2, "mended again")) == [
            Receipt.CHANGED,
            Receipt.TWICE,
            Receipt.CHANGED,
        ]
        first.end()
        at.clock.advance(QUIET)
        second = await at.begun(2)
        assert (second.said, brought(second)) == (["mended again", "message 3"], [])
        second.end("both")
        await at.settled()
        assert await at.states() == {}
        assert len(at.turns) == 2


async def test_a_message_that_was_changed_while_it_waited_is_known_as_that_after_a_restart(tmp_path: Path) -> None:
    async with house(tmp_path) as at:
        await take(at, message(1))
        await at.begun(1)
        await take(at, message(2), edit(2, "mended"))
        assert await at.states() == {"1": State.RUNNING, "2": State.ADMITTED}
    async with house(tmp_path) as at:
        await at.desk.recover()
        turn = await at.begun(1)
        assert turn.said[-1] == "mended"
        assert await at.desk.receive(edit(2, "mended")) is Receipt.HEARD
        turn.end()


async def test_what_a_waiting_message_brought_stays_when_it_is_changed(tmp_path: Path) -> None:
    async with house(tmp_path, QueueRules(mode=QueueMode.COLLECT)) as at:
        await take(at, group(1))
        first = await at.begun(1)
        await take(at, group(2, calls=False), group(3), edit(3, "mended", calls=True, in_group=True))
        first.end()
        at.clock.advance(QUIET)
        second = await at.begun(2)
        assert (second.said, brought(second)) == (["mended"], ["message 2"])
        second.end()


@pytest.mark.parametrize("over", [True, False])
async def test_a_change_of_what_the_agent_has_is_told_with_the_next_message(tmp_path: Path, over: bool) -> None:
    async with house(tmp_path) as at:
        await take(at, message(1))
        first = await at.begun(1)
        if over:
            first.end()
            await at.settled()
        change = edit(1, "mended")
        assert await take(at, change, change) == [Receipt.HEARD, Receipt.TWICE]
        first.end()
        await at.settled()
        assert len(at.turns) == 1
        await take(at, message(2))
        second = await at.begun(2)
        assert (second.said, brought(second)) == (["message 2"], [f"{CHANGED} mended"])
        second.end()


@pytest.mark.parametrize("remembered", [0, 10])
async def test_a_change_of_what_an_earlier_process_answered_begins_no_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, remembered: int
) -> None:
    monkeypatch.setattr("harness.desk.desk.MOST_REMEMBERED", remembered)
    async with house(tmp_path) as at:
        await take(at, message(1))
        (await at.begun(1)).end()
        await at.settled()
    async with house(tmp_path) as at:
        assert await at.desk.receive(edit(1, "mended")) is Receipt.HEARD
        assert at.turns == []


async def test_a_change_of_what_never_came_in_is_a_message_and_the_next_one_of_it_is_none(tmp_path: Path) -> None:
    async with house(tmp_path) as at:
        assert await at.desk.receive(edit(1, "mended")) is Receipt.TAKEN_IN
        (await at.begun(1)).end()
        await at.settled()
        assert await take(at, edit(1, "again"), message(1)) == [Receipt.HEARD, Receipt.TWICE]
        assert len(at.turns) == 1


async def test_who_calls_the_agent_by_a_change_is_answered_once(tmp_path: Path) -> None:
    async with house(tmp_path) as at:
        await take(at, group(1, calls=False), group(2, calls=False))
        change = edit(2, "@pell?", calls=True, in_group=True)
        assert await take(at, change, change) == [Receipt.TAKEN_IN, Receipt.TWICE]
        turn = await at.begun(1)
        assert (turn.said, brought(turn)) == (["@pell?"], ["message 1"])
        turn.end()


# buttons


@pytest.mark.parametrize("pressed", ["ask:nothing-of-ours", f"ask:{'a' * 26}:once", "ask:"])
async def test_a_button_of_an_ask_that_nobody_knows_never_reaches_the_agent(tmp_path: Path, pressed: str) -> None:
    press = replace(message(1, " "), pressed=pressed, text="", event_id="press-1")
    async with house(tmp_path, owners=frozenset({"7"})) as at:
        assert await at.desk.receive(press) is Receipt.OBEYED
        await at.settled()
        assert at.turns == []


@pytest.mark.parametrize(
    "said",
    [
        replace(message(1), text="", pressed=f"ask:{'a' * 26}:once", event_id="press-1"),
        replace(message(1), text=f"/approve {'a' * 26}"),
    ],
)
async def test_a_handle_never_reaches_an_agent_that_asks_nobody(tmp_path: Path, said: InboundMessage) -> None:
    async with house(tmp_path) as at:
        agent = Agent(at.harness, Gatherer(plain_settings(tmp_path / "workspace"), Habits()))
        courier = Courier(at.deliveries, at.outbox, media=MediaRules(workspace=str(tmp_path)))
        async with open_desk(agent, at.deliveries, courier, clock=at.clock, patience=0.0) as desk:
            assert [await desk.receive(said), await desk.receive(said)] == [Receipt.OBEYED, Receipt.TWICE]
            await desk.settled()
        assert (at.outbox.texts(), at.turns) == ([UNKNOWN], [])


async def test_a_button_of_the_agents_own_reaches_it(tmp_path: Path) -> None:
    async with house(tmp_path) as at:
        await take(at, replace(message(1), text="", pressed="menu:2", event_id="press-1"))
        turn = await at.begun(1)
        assert turn.said == ['I pressed the button that carries "menu:2".']
        turn.end()
