"""Each message is answered once, in its order, whatever else happens in its chat or in another."""

import asyncio
import contextlib
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any, Never

import anyio
import anyio.lowlevel
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.delivery.advice import BROKE_OFF, Fate, Found, Looked
from harness.delivery.outbox import Outgoing
from harness.desk.desk import Receipt, Stopped
from harness.desk.held import END_GRACE, UNENDING
from harness.desk.lookup import STEER_GRACE
from harness.desk.talk import NOT_KNOWN, TOO_MANY
from harness.errors import StoreError, WorkspaceError
from harness.inbound import InboundMessage
from harness.layers import LayerName
from harness.settings.queue import DropPolicy, QueueMode, QueueRules
from harness.store.admitted import State
from harness.testing.outbox import RecordingOutbox
from harness.turns import EndedBy, Failure, Outcome, Steered, TextDelta, TurnEvent, TurnRequest, TurnResult
from tests.support.desk import LIMIT, House, PlayedHarness, PlayedTurn, house, message, until


class Looking(PlayedHarness):
    """A backend that knows what became of turns, or fails to."""

    def __init__(
        self, found: Found | Exception, lacking: frozenset[str] = frozenset(), *, silent: bool = False
    ) -> None:
        super().__init__(silent=silent)
        self.found = found
        self.lacking = lacking

    async def reconcile(
        self, session_key: str, message_key: str, *, conversation: str = "", steered: tuple[str, ...] = ()
    ) -> Looked:
        assert (session_key, message_key, conversation) == (CONVERSATION, message(1).key, "thread")
        assert not self.lacking or self.lacking == frozenset(steered)
        if isinstance(self.found, Exception):
            raise self.found
        return Looked(self.found, self.lacking)


CONVERSATION = "agent:main:telegram:direct:7"
QUIET = QueueRules().quiet


# who is answered, and when


async def test_a_message_that_finds_nobody_at_work_is_answered_at_once(tmp_path: Path) -> None:
    async with house(tmp_path) as at:
        assert await at.desk.receive(message(1)) is Receipt.TAKEN_IN
        turn = await at.begun(1)
        assert turn.said == ["message 1"]
        turn.end("first")
        await at.settled()
        assert at.outbox.texts() == ["first"]
        assert await at.states() == {}


async def test_messages_that_come_during_a_turn_join_it_together_once_it_is_quiet(tmp_path: Path) -> None:
    async with house(tmp_path) as at:
        await at.desk.receive(message(1))
        turn = await at.begun(1)
        await at.desk.receive(message(2))
        at.clock.advance(QUIET * 0.9)
        await at.desk.receive(message(3))
        at.clock.advance(QUIET * 0.9)
        assert turn.steered == []
        at.clock.advance(QUIET * 0.1)
        await until(lambda: len(turn.steered) == 2)
        turn.end("all three")
        await at.settled()
        assert turn.steered == ["message 2", "message 3"]
        assert len(at.turns) == 1
        assert at.outbox.texts() == ["all three"]
        assert await at.states() == {}


@pytest.mark.parametrize("refusal", [Steered.OVER, Steered.UNFIT])
async def test_what_a_turn_refuses_is_said_once_in_the_next_one(tmp_path: Path, refusal: Steered) -> None:
    async with house(tmp_path, harness=PlayedHarness(takes=refusal)) as at:
        await at.desk.receive(message(1))
        turn = await at.begun(1)
        await at.desk.receive(message(2))
        at.clock.advance(QUIET)
        await until(lambda: turn.steered == ["message 2"])
        await at.desk.receive(message(3))
        at.clock.advance(QUIET)
        turn.end("first")
        second = await at.begun(2)
        assert second.said == ["message 2", "message 3"]
        second.end("second")
        await at.settled()
        assert turn.steered == ["message 2"]
        assert at.outbox.texts() == ["first", "second"]
        assert await at.states() == {}


async def test_words_whose_fate_the_turn_ends_before_telling_have_the_next_turn_to_themselves(tmp_path: Path) -> None:
    async with house(tmp_path, harness=PlayedHarness(takes=None)) as at:
        await at.desk.receive(message(1))
        turn = await at.begun(1)
        await at.desk.receive(message(2))
        at.clock.advance(QUIET)
        await until(lambda: turn.steered == ["message 2"])
        turn.late = True
        turn.end("first")
        await at.desk.receive(message(3))
        await anyio.wait_all_tasks_blocked()
        assert len(at.turns) == 1  # 3 does not overtake 2
        turn.answer(Steered.OVER)
        at.clock.advance(QUIET)
        second = await at.begun(2)
        assert second.said == ["message 2", "message 3"]
        second.end()
        await at.settled()


@pytest.mark.parametrize("mode", [QueueMode.FOLLOWUP, QueueMode.COLLECT])
async def test_what_waits_has_the_next_turns_alone_or_one_of_them_together(tmp_path: Path, mode: QueueMode) -> None:
    async with house(tmp_path, QueueRules(mode=mode)) as at:
        await at.desk.receive(message(1))
        first = await at.begun(1)
        for number in (2, 3):
            await at.desk.receive(message(number))
        at.clock.advance(10 * QUIET)
        first.end("first")
        second = await at.begun(2)
        second.end("second")
        if mode is QueueMode.FOLLOWUP:
            (await at.begun(3)).end("third")
        await at.settled()
        said = [each.said for each in at.turns[1:]]
        assert said == ([["message 2"], ["message 3"]] if mode is QueueMode.FOLLOWUP else [["message 2", "message 3"]])
        assert first.steered == second.steered == []
        assert len(at.outbox.texts()) == len(at.turns)
        assert await at.states() == {}


async def test_a_message_that_interrupts_makes_the_turn_give_way_and_has_the_next_one(tmp_path: Path) -> None:
    async with house(tmp_path, QueueRules(mode=QueueMode.INTERRUPT)) as at:
        await at.desk.receive(message(1))
        first = await at.begun(1)
        await at.desk.receive(message(2))
        second = await at.begun(2)
        second.end("second")
        await at.settled()
        assert first.interrupts == [EndedBy.GIVEN_WAY]
        assert second.said == ["message 2"]  # the conversation has what the first one began with
        assert at.outbox.texts() == ["second"]
        assert await at.states() == {}


async def test_what_was_still_being_gathered_when_it_made_way_is_said_in_the_next_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with house(tmp_path, QueueRules(mode=QueueMode.INTERRUPT)) as at:
        gathering = anyio.Event()

        async def gather(*_: object) -> None:
            gathering.set()
            await anyio.sleep_forever()

        monkeypatch.setattr("harness.gather.Gatherer.gather", gather)
        await at.desk.receive(message(1))
        with anyio.fail_after(LIMIT):
            await gathering.wait()
        monkeypatch.undo()
        await at.desk.receive(message(2))
        turn = await at.begun(1)
        assert turn.said == ["message 1", "message 2"]
        assert await at.states() == {"1": State.RUNNING, "2": State.RUNNING}
        turn.end("both")
        await at.settled()
        assert at.outbox.texts() == ["both"]
        assert await at.states() == {}


async def test_what_its_backend_had_not_begun_with_when_it_made_way_is_said_in_the_next_turn(tmp_path: Path) -> None:
    async with house(tmp_path, QueueRules(mode=QueueMode.INTERRUPT), harness=PlayedHarness(unborn=True)) as at:
        await at.desk.receive(message(1))
        await at.begun(1)
        await at.desk.receive(message(2))
        second = await at.begun(2)
        assert second.said == ["message 1", "message 2"]
        second.end("both")
        await at.settled()
        assert at.outbox.texts() == ["both"]
        assert await at.states() == {}


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (Fate.NEVER_BEGAN, ["message 1", "message 2"]),
        (Fate.UNREACHABLE, ["message 1", "message 2"]),
        (ZeroDivisionError(), ["message 1", "message 2"]),
        (Fate.RUNNING, ["message 2"]),
        (TurnResult(Outcome.INTERRUPTED, ""), ["message 2"]),
    ],
    ids=["never began", "cannot be asked", "breaks its word", "has them", "had them"],
)
async def test_a_backend_is_asked_whether_the_conversation_has_the_words_of_a_turn_that_made_way(
    tmp_path: Path, found: Found | Exception, said: list[str]
) -> None:
    async with house(tmp_path, QueueRules(mode=QueueMode.INTERRUPT), harness=Looking(found)) as at:
        await at.desk.receive(message(1))
        await at.begun(1)
        await at.desk.receive(message(2))
        second = await at.begun(2)
        assert second.said == said
        second.end("here")
        await at.settled()
        assert at.outbox.texts() == ["here"]
        assert await at.states() == {}


@pytest.mark.parametrize("how", ["stop", "anew", "closing"])
async def test_what_waits_again_is_let_go_of_by_a_stop_or_a_new_beginning_and_kept_by_a_desk_that_closes(
    tmp_path: Path, how: str
) -> None:
    async with house(tmp_path, QueueRules(mode=QueueMode.INTERRUPT), harness=PlayedHarness(deaf=True)) as at:
        await at.desk.receive(message(1))
        first = await at.begun(1)
        await at.desk.receive(message(2))
        await until(lambda: bool(first.interrupts))
        match how:
            case "stop":
                await at.desk.receive(message(3, "/stop"))
            case "anew":
                await at.desk.receive(message(3, "/new"))
            case _:
                await at.desk.close(0.0)
        first.finish(TurnResult(Outcome.INTERRUPTED, "", ended_by=EndedBy.GIVEN_WAY))
        if how == "anew":
            second = await at.begun(2)
            assert second.request.fresh
            second.end()
        if how == "closing":
            await at.desk.close(LIMIT)
        else:
            await at.settled()
        assert len(at.turns) == (2 if how == "anew" else 1)
        kept = {"1": State.ADMITTED, "2": State.ADMITTED}
        assert await at.states() == (kept if how == "closing" else {})


async def test_a_message_that_comes_twice_is_answered_once_also_after_a_restart(tmp_path: Path) -> None:
    async with house(tmp_path) as at:
        receipts = [await at.desk.receive(message(1)) for _ in range(2)]
        (await at.begun(1)).end("first")
        await at.settled()
        receipts.append(await at.desk.receive(message(1)))
        assert len(at.turns) == 1
    async with house(tmp_path) as at:
        receipts.append(await at.desk.receive(message(1)))
        assert at.turns == []
    assert receipts == [Receipt.TAKEN_IN, *[Receipt.TWICE] * 3]


async def test_what_comes_in_together_is_answered_in_the_order_of_the_calls(tmp_path: Path) -> None:
    async with house(tmp_path, QueueRules(mode=QueueMode.COLLECT)) as at:
        await at.desk.receive(message(0))
        async with anyio.create_task_group() as group:
            for number in range(1, 15):
                group.start_soon(at.desk.receive, message(number))
        at.turns[0].end()
        at.clock.advance(QUIET)
        second = await at.begun(2)
        assert second.said == [f"message {number}" for number in range(1, 15)]
        second.end()
        await at.settled()


async def test_the_pause_is_one_of_the_loop_where_no_other_clock_is_given(tmp_path: Path) -> None:
    rules = QueueRules(mode=QueueMode.COLLECT, quiet=0.05)
    async with house(tmp_path, rules, clock=asyncio.get_running_loop()) as at:
        await at.desk.receive(message(1))
        turn = await at.begun(1)
        await at.desk.receive(message(2))
        turn.end()
        second = await at.begun(2)
        second.end()
        await at.settled()


# too many


async def test_of_messages_that_are_too_many_the_agent_is_told_in_one_line(tmp_path: Path) -> None:
    async with house(tmp_path, QueueRules(cap=2)) as at:
        await at.desk.receive(message(1))
        turn = await at.begun(1)
        for number in range(2, 6):
            await at.desk.receive(message(number, f"ask\n{number}"))
        at.clock.advance(QUIET)
        await until(lambda: len(turn.steered) == 2)
        turn.end("done")
        await at.settled()
        assert turn.steered == ["ask\n4", "ask\n5"]
        (told,) = turn.left_out
        assert told.count("\n") == 0
        assert "2 messages were left out" in told
        assert "ask 2" in told
        assert "ask 3" in told
        assert at.outbox.texts() == ["done"]
        assert await at.states() == {}


@pytest.mark.parametrize("drop", [DropPolicy.OLD, DropPolicy.NEW])
async def test_of_messages_that_are_let_go_of_without_a_word_the_chat_is_told_once(
    tmp_path: Path, drop: DropPolicy
) -> None:
    async with house(tmp_path, QueueRules(mode=QueueMode.COLLECT, cap=1, drop=drop)) as at:
        await at.desk.receive(message(1))
        turn = await at.begun(1)
        for number in range(2, 6):
            await at.desk.receive(message(number))
        at.clock.advance(10 * QUIET)
        turn.end("first")
        second = await at.begun(2)
        second.end("second")
        await at.settled()
        assert second.said == ["message 2" if drop is DropPolicy.NEW else "message 5"]
        assert sorted(at.outbox.texts()) == sorted([TOO_MANY, "first", "second"])
        assert len(at.told) == 1
        assert await at.states() == {}
        assert LayerName.LEFT_OUT not in [each.name for each in second.request.composition.layers]


async def test_a_turn_of_its_own_is_told_of_what_was_left_out_as_well(tmp_path: Path) -> None:
    async with house(tmp_path, QueueRules(mode=QueueMode.COLLECT, cap=1)) as at:
        await at.desk.receive(message(1))
        turn = await at.begun(1)
        for number in range(2, 4):
            await at.desk.receive(message(number))
        at.clock.advance(10 * QUIET)
        turn.end()
        second = await at.begun(2)
        layer = second.request.composition.get(LayerName.LEFT_OUT)
        assert layer is not None
        assert "message 2" in layer.text
        second.end()
        await at.settled()


# stopping


async def test_a_stop_ends_the_turn_lets_go_of_what_waits_and_says_so(tmp_path: Path) -> None:
    async with house(tmp_path) as at:
        await at.desk.receive(message(1))
        turn = await at.begun(1)
        for number in (2, 3):
            await at.desk.receive(message(number))
        assert await at.desk.receive(message(4, "/stop")) is Receipt.OBEYED
        await at.settled()
        assert turn.interrupts == [EndedBy.PERSON]
        assert len(at.turns) == 1
        assert at.outbox.texts() == ["Stopped. 2 messages that waited were let go of."]
        assert await at.states() == {}


async def test_a_stop_waits_for_no_store_and_no_turn_and_twice_is_as_good_as_once(tmp_path: Path) -> None:
    async with house(tmp_path, harness=PlayedHarness(deaf=True)) as at:
        await at.desk.receive(message(1))
        turn = await at.begun(1)
        locked = sqlite3.connect(tmp_path / "store.sqlite")
        locked.execute("BEGIN IMMEDIATE")
        receipts: list[Receipt] = []
        async with anyio.create_task_group() as group:
            group.start_soon(at.desk.receive, message(2))  # waits for the store
            await anyio.wait_all_tasks_blocked()
            with anyio.fail_after(1):
                receipts += [await at.desk.receive(message(number, "/stop")) for number in (3, 3, 4)]
                await until(lambda: bool(turn.interrupts))
            locked.rollback()
        assert receipts == [Receipt.OBEYED, Receipt.TWICE, Receipt.OBEYED]
        assert turn.interrupts == [EndedBy.PERSON]
        turn.finish(TurnResult(Outcome.INTERRUPTED, "", ended_by=EndedBy.PERSON))
        await at.settled()
        assert len(at.turns) == 1  # 2 came before the stop
        assert await at.states() == {}
        locked.close()


async def test_a_stop_while_the_turn_is_being_gathered_begins_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with house(tmp_path) as at:
        gathering = anyio.Event()

        async def gather(*_: object) -> None:
            gathering.set()
            await anyio.sleep_forever()

        monkeypatch.setattr("harness.gather.Gatherer.gather", gather)
        await at.desk.receive(message(1))
        await gathering.wait()
        await at.desk.receive(message(2, "stop!"))
        await at.settled()
        monkeypatch.undo()
        assert at.turns == []
        assert at.outbox.texts() == ["Stopped."]
        assert await at.states() == {}
        await at.desk.receive(message(3))
        (await at.begun(1)).end("here")
        await at.settled()
        assert at.outbox.texts()[1:] == ["here"]


async def test_a_stop_at_the_very_moment_in_which_a_turn_begins_ends_it(tmp_path: Path) -> None:
    async with house(tmp_path) as at:

        def stop(request: TurnRequest) -> None:
            del request
            with contextlib.suppress(StopIteration):  # a stop waits for nothing
                at.desk.receive(message(2, "/stop")).send(None)

        at.harness.begin = stop
        await at.desk.receive(message(1))
        await at.settled()
        assert at.turns[0].interrupts == [EndedBy.PERSON]
        assert at.outbox.texts() == ["Stopped."]
        assert await at.states() == {}


async def test_a_stop_that_comes_again_after_a_restart_is_not_answered_again(tmp_path: Path) -> None:
    for answers in (1, 0):
        async with house(tmp_path) as at:
            await at.desk.receive(message(1, "/stop"))
            await at.settled()
            assert len(at.outbox.texts()) == answers


async def test_a_stop_that_comes_again_after_a_restart_stops_nothing_that_began_since(tmp_path: Path) -> None:
    async with house(tmp_path) as at:
        await at.desk.receive(message(1, "/stop"))
        await at.desk.receive(message(2, "/compact"))
        (await at.begun(1)).end()
        await at.settled()
    async with house(tmp_path) as at:
        await at.desk.receive(message(3))
        turn = await at.begun(1)
        again = [await at.desk.receive(message(number, text)) for number, text in ((1, "/stop"), (2, "/compact"))]
        await anyio.wait_all_tasks_blocked()
        assert (again, turn.interrupts, at.harness.summaries) == ([Receipt.TWICE] * 2, [], [])
        turn.end("here")
        await at.settled()
        assert at.outbox.texts() == ["here"]


async def test_a_stop_while_the_store_holds_up_the_begin_of_a_turn_begins_none_that_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with house(tmp_path) as at:
        await at.desk.receive(message(1))
        first = await at.begun(1)
        begins, goes_on = anyio.Event(), anyio.Event()
        begin = at.deliveries.begin

        async def held(*arguments: Any, **how: Any) -> None:
            begins.set()
            await goes_on.wait()
            await begin(*arguments, **how)

        monkeypatch.setattr(at.deliveries, "begin", held)
        await at.desk.receive(message(2, "/queue collect debounce:0ms"))
        await at.desk.receive(message(3))
        first.end("first")
        with anyio.fail_after(LIMIT):
            await begins.wait()
            assert await at.desk.receive(message(4, "/stop")) is Receipt.OBEYED
        goes_on.set()
        await at.settled()
        assert len(at.turns) == 1
        assert "Stopped." in at.outbox.texts()
        assert await at.states() == {}


async def test_no_error_of_the_store_loses_the_message_at_hand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(*_: object, **__: object) -> Never:
        raise OverflowError

    async with house(tmp_path) as at:
        monkeypatch.setattr(at.deliveries, "admit", fail)
        assert await at.desk.receive(message(1)) is Receipt.TAKEN_IN
        (await at.begun(1)).end("here")
        await at.settled()
        assert at.outbox.texts() == ["here"]


async def test_what_was_being_said_into_a_turn_that_is_stopped_is_not_said_again(tmp_path: Path) -> None:
    async with house(tmp_path, harness=PlayedHarness(takes=None)) as at:
        await at.desk.receive(message(1))
        turn = await at.begun(1)
        await at.desk.receive(message(2))
        at.clock.advance(QUIET)
        await until(lambda: turn.steered == ["message 2"])
        await at.desk.receive(message(3, "/stop"))
        turn.answer(Steered.OVER)
        await at.settled()
        assert len(at.turns) == 1
        assert await at.states() == {}


async def test_what_the_desk_did_not_begin_is_stopped_too(tmp_path: Path) -> None:
    async with house(tmp_path) as at:
        at.harness.aside[CONVERSATION] = 1  # a heartbeat, or an agent that outlived its turn
        await at.desk.receive(message(1, "/STOP"))
        await at.settled()
        await at.desk.receive(message(2, "/stop@pell_bot"))
        await at.settled()
        assert at.outbox.texts() == ["Stopped.", "There is nothing to stop."]
        assert await at.desk.stop(CONVERSATION) == Stopped(0, 0)


async def test_a_gateways_own_button_stops_like_a_message(tmp_path: Path) -> None:
    async with house(tmp_path) as at:
        await at.desk.receive(message(1))
        turn = await at.begun(1)
        await at.desk.receive(message(2))
        assert await at.desk.stop(CONVERSATION) == Stopped(1, 1)
        await at.settled()
        assert turn.interrupts == [EndedBy.PERSON]
        assert at.outbox.texts() == []


@pytest.mark.parametrize(
    ("sender", "owners", "text", "stops"),
    [
        ("7", frozenset({"7"}), "/stop", True),
        ("8", frozenset({"7"}), "/stop", False),
        ("9", frozenset({"7"}), "/stop", True),  # whom the turn answers
        ("8", None, "/stop", True),
        ("7", frozenset({"7"}), "stop", False),  # people say that to each other
        ("8", frozenset({"7"}), "/new", False),
        ("9", frozenset({"7"}), "/new", True),
    ],
)
async def test_in_a_group_the_owner_and_whoever_is_answered_may_stop(
    tmp_path: Path, sender: str, owners: frozenset[str] | None, text: str, stops: bool
) -> None:
    async with house(tmp_path, QueueRules(mode=QueueMode.FOLLOWUP), owners=owners) as at:
        await at.desk.receive(message(1, chat="-1", sender="9", group=True))
        turn = await at.begun(1)
        await at.desk.receive(message(2, text, chat="-1", sender=sender, group=True))
        await anyio.wait_all_tasks_blocked()
        assert bool(turn.interrupts) is stops
        if not stops:
            turn.end()
        if not stops or text == "/new":
            (await at.begun(2)).end()
        await at.settled()


async def test_a_bare_new_lets_go_of_what_waits_and_begins_anew_alone(tmp_path: Path) -> None:
    async with house(tmp_path) as at:
        await at.desk.receive(message(1))
        first = await at.begun(1)
        await at.desk.receive(message(2))
        await at.desk.receive(message(3, "/new"))
        await at.desk.receive(message(4))
        second = await at.begun(2)
        at.clock.advance(QUIET)
        await until(lambda: second.steered == ["message 4"])
        second.end("hello")
        await at.settled()
        assert first.interrupts == [EndedBy.PERSON]
        assert second.request.fresh
        assert at.outbox.texts() == ["hello"]
        assert await at.states() == {}


# errors stay where they are


async def test_a_turn_that_cannot_be_begun_is_one_sentence_and_the_next_one_runs(tmp_path: Path) -> None:
    def refuse(request: TurnRequest) -> None:
        if "1" in request.message_key:
            raise WorkspaceError("The workspace is gone.")
        if "2" in request.message_key:
            raise ZeroDivisionError

    async with house(tmp_path, harness=PlayedHarness(begin=refuse)) as at:
        for number in (1, 2, 3):
            await at.desk.receive(message(number))
            if number < 3:
                await at.settled()
        (await at.begun(1)).end("third")
        await at.settled()
        first, second, third = at.outbox.texts()
        assert first == "The workspace is gone."
        assert "internal error" in second
        assert third == "third"
        assert await at.states() == {}


async def test_an_error_in_one_chat_ends_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> Never:
        raise ZeroDivisionError

    async with house(tmp_path) as at:
        await at.desk.receive(message(1, chat="1"))
        await at.desk.receive(message(1, chat="2"))
        broken, sound = await at.begun(1), await at.begun(2)
        monkeypatch.setattr("harness.delivery.courier.decide", fail)
        broken.end()
        await until(lambda: bool(at.told))
        monkeypatch.undo()
        sound.end("here")
        await at.settled()
        assert at.outbox.texts() == ["here"]
        await at.desk.receive(message(2, chat="1"))
        (await at.begun(3)).end("there")
        await at.settled()
        assert at.outbox.texts() == ["here", "there"]


@pytest.mark.parametrize("call", ["joining", "steer"])
async def test_an_error_while_words_join_a_turn_says_them_twice_in_no_case(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    def fail(*_: object, **__: object) -> Never:
        raise ZeroDivisionError

    where = "harness.agent.Agent.joining" if call == "joining" else "tests.support.desk.PlayedTurn.steer"
    monkeypatch.setattr(where, fail)
    async with house(tmp_path) as at:
        await at.desk.receive(message(1))
        turn = await at.begun(1)
        await at.desk.receive(message(2))
        at.clock.advance(QUIET)
        turn.end()
        if call == "joining":  # it surely was not said
            (await at.begun(2)).end()
        await at.settled()
        assert [each.said for each in at.turns[1:]] == ([["message 2"]] if call == "joining" else [])
        assert await at.states() == {}


@pytest.mark.parametrize("found", [None, Looked(Fate.UNKNOWN), Looked(Fate.RUNNING)], ids=["not asked", "lost", "runs"])
async def test_words_of_which_a_turn_never_tells_hold_up_no_other_and_their_chat_hears_of_them_once(
    tmp_path: Path, found: Looked | None
) -> None:
    harness = PlayedHarness(silent=True) if found is None else Looking(found.found, silent=True)
    async with house(tmp_path, harness=harness) as at:
        await at.desk.receive(message(1))
        turn = await at.begun(1)
        await at.desk.receive(message(2))
        at.clock.advance(QUIET)
        await until(lambda: turn.steered == ["message 2"])
        turn.end("first")
        await until(lambda: at.outbox.texts() == ["first"])
        await at.desk.receive(message(3))
        assert len(at.turns) == 1  # the turn may still say who has 2
        await until(lambda: bool(at.clock.pending))
        at.clock.advance(STEER_GRACE)
        second = await at.begun(2)
        assert second.said == ["message 3"]
        second.end("second")
        await at.settled()
        assert sorted(at.outbox.texts()) == sorted(["first", NOT_KNOWN, "second"])
        assert len(at.told) == 1
        assert await at.states() == {}


@pytest.mark.parametrize("has", [True, False])
async def test_of_words_of_which_a_turn_never_tells_the_backend_is_asked(tmp_path: Path, has: bool) -> None:
    lacking = frozenset[str]() if has else frozenset({message(2).key})
    harness = Looking(TurnResult(Outcome.ANSWERED, "first"), lacking, silent=True)
    async with house(tmp_path, harness=harness) as at:
        await at.desk.receive(message(1))
        turn = await at.begun(1)
        await at.desk.receive(message(2))
        at.clock.advance(QUIET)
        await until(lambda: turn.steered == ["message 2"])
        turn.end("first")
        await until(lambda: bool(at.clock.pending))
        at.clock.advance(STEER_GRACE)
        if not has:
            second = await at.begun(2)
            assert second.said == ["message 2"]
            second.end("second")
        await at.settled()
        assert at.outbox.texts() == (["first"] if has else ["first", "second"])
        assert await at.states() == {}


@pytest.mark.parametrize("step", ["begin", "joined"])
async def test_an_error_of_the_ledger_closes_no_chat(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    async def fail(*_: object, **__: object) -> None:
        raise RuntimeError("a page is missing")

    async with house(tmp_path) as at:
        await at.desk.receive(message(1))
        turn = await at.begun(1)
        with monkeypatch.context() as patched:
            patched.setattr(f"harness.store.deliveries.Deliveries.{step}", fail)
            await at.desk.receive(message(2))
            at.clock.advance(QUIET)
            await until(lambda: turn.has == ["message 2"])
            turn.end("both")
            await until(lambda: at.outbox.texts() == ["both"])
            await anyio.wait_all_tasks_blocked()
        await at.desk.receive(message(3))
        (await at.begun(2)).end("third")
        await until(lambda: at.outbox.texts() == ["both", "third"])


async def test_an_error_while_a_message_is_let_go_of_ends_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> Never:
        raise ZeroDivisionError

    async with house(tmp_path) as at:
        for number in (1, 2):
            await at.desk.receive(message(number))
        await at.desk.receive(message(1, chat="8"))
        _, other = await at.begun(1), await at.begun(2)
        with monkeypatch.context() as patched:
            patched.setattr("harness.store.deliveries.Deliveries.settle", fail)
            await at.desk.receive(message(3, "/stop"))
            await until(lambda: at.outbox.texts("7") != [])
        other.end("here")
        await at.settled()
        assert at.outbox.texts("8") == ["here"]


async def test_a_caller_that_is_cancelled_takes_no_message_back_that_the_store_may_have(tmp_path: Path) -> None:
    async with house(tmp_path) as at:
        await at.states()  # opens the store
        locked = sqlite3.connect(tmp_path / "store.sqlite")
        locked.execute("BEGIN IMMEDIATE")
        async with anyio.create_task_group() as group:
            group.start_soon(at.desk.receive, message(1))
            await anyio.wait_all_tasks_blocked()
            group.cancel_scope.cancel()
            locked.rollback()
        locked.close()
        (await at.begun(1)).end("first")
        await at.settled()
        assert at.outbox.texts() == ["first"]


async def test_a_message_that_comes_twice_at_once_is_answered_once_also_where_the_store_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: object, **__: object) -> None:
        await anyio.lowlevel.checkpoint()
        raise StoreError("The store is away.")

    monkeypatch.setattr("harness.store.database.Database.run_small", fail)
    async with house(tmp_path) as at:
        async with anyio.create_task_group() as group:
            for _ in range(2):
                group.start_soon(at.desk.receive, message(1))
        (await at.begun(1)).end("first")
        at.clock.advance(QUIET)
        await at.settled()
        assert (len(at.turns), at.turns[0].steered, at.outbox.texts()) == (1, [], ["first"])


async def test_a_store_that_fails_keeps_no_answer_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(*_: object, **__: object) -> None:
        raise StoreError("The store is away.")

    async with house(tmp_path) as at:
        monkeypatch.setattr("harness.store.database.Database.run_small", fail)
        monkeypatch.setattr("harness.store.database.Database.run", fail)
        await at.desk.receive(message(1))
        turn = await at.begun(1)
        receipts = [await at.desk.receive(message(2)) for _ in range(2)]
        at.clock.advance(QUIET)
        await until(lambda: turn.steered == ["message 2"])
        turn.end("both")
        await at.settled()
        assert receipts == [Receipt.TAKEN_IN, Receipt.TWICE]
        assert at.outbox.texts() == ["both"]
        monkeypatch.undo()
        await at.desk.receive(message(3))
        (await at.begun(2)).end("third")
        await at.settled()
        assert at.outbox.texts() == ["both", "third"]
        assert await at.states() == {}


async def test_that_the_store_takes_no_messages_in_is_told_once_until_it_does_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: object, **__: object) -> None:
        raise StoreError("The store is away.")

    async with house(tmp_path) as at:
        for outage in (1, 2):
            with monkeypatch.context() as patched:
                patched.setattr("harness.store.deliveries.Deliveries.admit", fail)
                for number in range(3):
                    await at.desk.receive(message(f"{outage}{number}"))
            told = ["The store is away. Until it can, a restart does not know which messages came in."] * outage
            assert at.told == told
            await at.desk.receive(message(f"{outage}9"))
        await at.desk.stop(CONVERSATION)
        await at.settled()


# backends that break their word


class Unending(PlayedTurn):
    """A turn that never tells its end, and whose interrupt never returns."""

    async def result(self) -> TurnResult:
        await anyio.sleep_forever()
        raise AssertionError

    async def interrupt(self, by: EndedBy = EndedBy.PERSON) -> None:
        self.interrupts.append(by)
        await anyio.sleep_forever()


class Broken(PlayedTurn):
    """A turn whose result cannot be had."""

    async def result(self) -> TurnResult:
        await self.buffer.wait()
        raise ZeroDivisionError


class Faithless(PlayedHarness):
    """A backend of which only the first turn is another one."""

    def __init__(self, first: type[PlayedTurn], *, silent: bool = False) -> None:
        super().__init__(silent=silent)
        self.first = first

    def start(self, request: TurnRequest) -> PlayedTurn:
        turn = super().start(request)
        if len(self.turns) == 1:
            turn = self.turns[0] = self.first(request, takes=self.takes, silent=self.silent)
        return turn


@pytest.mark.parametrize("mode", [QueueMode.STEER, QueueMode.INTERRUPT])
async def test_a_turn_that_never_ends_though_it_is_to_end_closes_no_chat(tmp_path: Path, mode: QueueMode) -> None:
    async with house(tmp_path, QueueRules(mode=mode), harness=Faithless(Unending)) as at:
        await at.desk.receive(message(1))
        first = await at.begun(1)
        if mode is QueueMode.STEER:
            await at.desk.receive(message(2, "/stop"))
        await at.desk.receive(message(3))
        await until(lambda: first.interrupts != [] and bool(at.clock.pending))
        assert len(at.turns) == 1
        at.clock.advance(END_GRACE)
        second = await at.begun(2)
        assert second.said == ["message 3"]
        second.end("third")
        await at.settled()
        texts = at.outbox.texts()
        assert texts[-1] == "third"
        assert (texts[0] == "Stopped.") is (mode is QueueMode.STEER)
        assert (UNENDING in texts[0]) is (mode is QueueMode.INTERRUPT)
        assert at.told == ["A turn of telegram 7 goes on though it was to end; nobody waits for it any longer."]
        assert await at.states() == {}


async def test_a_turn_whose_result_cannot_be_had_is_one_sentence_and_holds_up_no_words(tmp_path: Path) -> None:
    async with house(tmp_path, harness=Faithless(Broken, silent=True)) as at:
        await at.desk.receive(message(1, group=True))
        first = await at.begun(1)
        await at.desk.receive(message(2, group=True))
        at.clock.advance(QUIET)
        await until(lambda: first.steered != [])
        first.end("lost")
        await until(lambda: at.outbox.texts() != [])
        await at.desk.receive(message(3, group=True))
        await until(lambda: bool(at.clock.pending))
        at.clock.advance(STEER_GRACE)
        (await at.begun(2)).end("third")
        await at.settled()
        assert len(at.outbox.texts()) == 3
        assert at.outbox.texts()[-1] == "third"
        assert any("internal error" in each for each in at.outbox.texts())
        assert await at.states() == {}


@pytest.mark.parametrize("fails", [True, False])
async def test_a_stop_is_told_whatever_becomes_of_what_the_desk_did_not_begin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails: bool
) -> None:
    async def stop(*_: object) -> int:
        if fails:
            raise ZeroDivisionError
        await anyio.sleep_forever()
        return 0

    monkeypatch.setattr(PlayedHarness, "stop", stop)
    monkeypatch.setattr("harness.desk.desk.END_GRACE", 0.01)
    async with house(tmp_path) as at:
        await at.desk.receive(message(1, "/stop"))
        await at.settled()
        assert at.outbox.texts() == ["There is nothing to stop."]
        assert await at.states() == {}


async def test_whoever_cannot_be_told_costs_no_chat_anything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Deaf(list[str]):
        def append(self, text: str, /) -> Never:
            raise BrokenPipeError

    async def fail(*_: object, **__: object) -> Never:
        raise StoreError("The disk is full.")

    async with house(tmp_path, QueueRules(mode=QueueMode.FOLLOWUP), told=Deaf()) as at:
        for number in (1, 2):
            await at.desk.receive(message(number))
        first = await at.begun(1)
        with monkeypatch.context() as patched:
            patched.setattr("harness.store.deliveries.Deliveries.begin", fail)
            first.end("first")
            (await at.begun(2)).end("second")
            await at.settled()
        assert at.outbox.texts() == ["first", "second"]


async def test_a_summary_that_breaks_is_told_to_whoever_asked_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: object) -> Never:
        raise ZeroDivisionError

    monkeypatch.setattr("harness.agent.Agent.compact", fail)
    async with house(tmp_path) as at:
        await at.desk.receive(message(1, "/compact"))
        await at.settled()
        (text,) = at.outbox.texts()
        assert "internal error" in text
        assert await at.states() == {}


# how messages are queued


async def test_a_chat_is_queued_as_its_owner_says_until_that_is_taken_back(tmp_path: Path) -> None:
    async with house(tmp_path, owners=frozenset({"7"})) as at:
        await at.desk.receive(message(1, "/queue followup debounce:2s cap:3 drop:old"))
        await at.desk.receive(message(2))
        first = await at.begun(1)
        await at.desk.receive(message(3))
        at.clock.advance(10)
        assert first.steered == []
        await at.desk.receive(message(4, "/queue default"))  # holds for what waits, too
        at.clock.advance(10)
        await until(lambda: first.steered == ["message 3"])
        first.end("both")
        await at.settled()
        told = at.outbox.texts()
        assert [text for text in told if "followup, after 2 s" in text and "at most 3" in text and "old" in text]
        assert [text for text in told if "steer, after 0.5 s" in text]


async def test_what_is_wrong_with_a_word_about_the_queue_is_said_and_nothing_changes(tmp_path: Path) -> None:
    async with house(tmp_path) as at:
        await at.desk.receive(message(1, "/queue collct"))
        await at.desk.receive(message(2, "/queue"))
        await at.settled()
        wrong, rules = sorted(at.outbox.texts())
        assert "collct" in wrong
        assert rules.startswith("Messages that come while I am at work: steer")
        assert at.turns == []


async def test_the_owner_has_a_conversation_summarised_and_hears_what_came_of_it_once(tmp_path: Path) -> None:
    async with house(tmp_path) as at:
        for _ in range(2):  # it comes twice
            await at.desk.receive(message(1, "/compact"))
        summary = await at.begun(1)
        summary.finish(TurnResult(Outcome.EMPTY, "", compacted=True, context_used=6802))
        await at.settled()
        await at.desk.receive(message(2, "/compact the boats"))
        await at.settled()
        assert at.harness.summaries == [CONVERSATION]
        assert at.outbox.texts() == [
            "The conversation is summarised. It holds about 6,802 tokens now.",
            "A summary takes no instructions; say /compact alone.",
        ]
        assert await at.states() == {}


async def test_somebody_else_in_a_group_does_not_have_it_summarised(tmp_path: Path) -> None:
    async with house(tmp_path, owners=frozenset({"7"})) as at:
        await at.desk.receive(message(1, "/compact", chat="-1", sender="8", group=True))
        turn = await at.begun(1)
        assert (turn.said, at.harness.summaries) == (["/compact"], [])
        turn.end()
        await at.settled()


async def test_somebody_else_does_not_say_how_a_chat_is_queued(tmp_path: Path) -> None:
    async with house(tmp_path, owners=frozenset({"7"})) as at:
        await at.desk.receive(message(1, "/queue collect", chat="-1", sender="8", group=True))
        turn = await at.begun(1)
        assert turn.said == ["/queue collect"]
        turn.end()
        await at.settled()


# listening, and the end


async def test_a_gateway_hears_what_happens_in_a_turn(tmp_path: Path) -> None:
    heard: list[TurnEvent] = []

    def listen(said: InboundMessage, turn: PlayedTurn) -> Callable[[TurnEvent], None]:
        assert (said.message_id, turn.said) == ("1", ["message 1"])
        return heard.append

    async with house(tmp_path, listen=listen) as at:
        await at.desk.receive(message(1))
        turn = await at.begun(1)
        turn.say("do")
        turn.end("done")
        await at.settled()
    assert heard[0] == TextDelta("answer", "do")


async def test_an_answer_is_shown_while_it_is_said_in_a_direct_chat_alone(tmp_path: Path) -> None:
    async with house(tmp_path) as at:
        await at.desk.receive(message(1, chat="-1", group=True))
        group = await at.begun(1)
        await at.desk.receive(message(2))
        direct = await at.begun(2)
        for turn in (group, direct):
            turn.say("The beginning of an answer. And then")
        await until(lambda: bool(at.outbox.texts()))
        assert at.outbox.texts("-1") == []
        assert at.outbox.texts("7") != []
        group.end()
        direct.end()
        await at.settled()


async def test_what_waits_when_a_gateway_goes_is_answered_by_the_next_start(tmp_path: Path) -> None:
    async with house(tmp_path, QueueRules(mode=QueueMode.FOLLOWUP), patience=5) as at:
        await at.desk.receive(message(1))
        turn = await at.begun(1)
        await at.desk.receive(message(2))
        async with anyio.create_task_group() as group:
            group.start_soon(at.desk.close, 5)
            await anyio.wait_all_tasks_blocked()
            assert await at.desk.receive(message(3)) is Receipt.KEPT
            assert await at.desk.receive(message(4, chat="8")) is Receipt.KEPT
            turn.end("first")  # is still delivered
        assert at.outbox.texts() == ["first"]
        assert await at.states() == dict.fromkeys("234", State.ADMITTED)
    async with house(tmp_path, QueueRules(mode=QueueMode.FOLLOWUP)) as at:
        await at.desk.recover()
        await at.begun(2)
        for turn in at.turns:
            turn.end(f"to {turn.said[0]}")
        (await at.begun(3)).end("to message 3")
        await at.settled()
        assert at.outbox.texts("7") == ["to message 2", "to message 3"]
        assert at.outbox.texts("8") == ["to message 4"]
        assert await at.states() == {}


async def test_a_desk_that_closes_says_nothing_more_into_a_turn(tmp_path: Path) -> None:
    async with house(tmp_path) as at:
        await at.desk.receive(message(1))
        turn = await at.begun(1)
        await at.desk.receive(message(2))
        async with anyio.create_task_group() as group:
            group.start_soon(at.desk.close, 5)
            await anyio.wait_all_tasks_blocked()
            assert at.clock.pending == []
            turn.end()
        assert turn.steered == []
        assert await at.states() == {"2": State.ADMITTED}


async def test_words_that_nobody_knows_of_when_the_gateway_goes_are_looked_up_by_the_next_start(tmp_path: Path) -> None:
    async with house(tmp_path, harness=PlayedHarness(takes=None)) as at:
        await at.desk.receive(message(1))
        turn = await at.begun(1)
        await at.desk.receive(message(2))
        at.clock.advance(QUIET)
        await until(lambda: turn.steered == ["message 2"])
        turn.late = True
        turn.finish(TurnResult(Outcome.FAILED, "", failure=Failure.SHUTDOWN, ended_by=EndedBy.SHUTDOWN))
        turn.answer(Steered.UNKNOWN)
        await at.settled()
        (open_,) = await at.deliveries.open()
        assert open_.steered == ("telegram:7:2",)
        assert open_.state is State.RUNNING


async def test_a_message_that_comes_again_before_its_turn_can_be_looked_up_is_answered_once_that_can(
    tmp_path: Path,
) -> None:
    class Backend:
        """Is not there at the first look."""

        looks = 0

        async def reconcile(
            self, session_key: str, message_key: str, *, conversation: str = "", steered: tuple[str, ...] = ()
        ) -> Looked:
            del session_key, message_key, conversation, steered
            self.looks += 1
            return Looked(Fate.UNREACHABLE if self.looks == 1 else Fate.NEVER_BEGAN)

    async with house(tmp_path) as at:
        await at.desk.receive(message(1))
        await at.begun(1)
    async with house(tmp_path) as at:
        backend = Backend()
        await at.desk.recover(backend)
        assert await at.desk.receive(message(1)) is Receipt.TWICE
        await until(lambda: backend.looks == 1)
        await at.desk.recover(backend)
        (await at.begun(1)).end("late")
        await at.settled()
        assert at.outbox.texts() == ["late"]


async def test_a_start_takes_messages_in_while_a_channel_does_not_take_what_is_late(tmp_path: Path) -> None:
    async with house(tmp_path) as at:
        for number in (1, 2):
            await at.desk.receive(message(number, chat=str(number)))
            await at.begun(number)
    open_, refused = anyio.Event(), list[str]()

    class Shut(RecordingOutbox):
        async def send(self, outgoing: Outgoing) -> str:
            if outgoing.chat == "1" and not open_.is_set():
                refused.append(outgoing.text)
                await open_.wait()
            return await super().send(outgoing)

    async with house(tmp_path, outbox=Shut()) as at:
        with anyio.fail_after(LIMIT):
            await at.desk.recover()
        await at.desk.receive(message(3, chat="2"))
        (await at.begun(1)).end("third")
        await until(lambda: at.outbox.texts("2") == [BROKE_OFF, "third"])
        assert (refused, at.outbox.texts("1")) == ([BROKE_OFF], [])
        open_.set()
        await at.settled()
        assert at.outbox.texts("1") == [BROKE_OFF]
        assert await at.states() == {}


async def test_a_message_that_the_store_takes_in_while_the_desk_closes_waits_for_the_next_start(tmp_path: Path) -> None:
    async with house(tmp_path) as at:
        await at.states()  # opens the store
        locked = sqlite3.connect(tmp_path / "store.sqlite")
        locked.execute("BEGIN IMMEDIATE")
        async with anyio.create_task_group() as group:
            group.start_soon(at.desk.receive, message(1))
            await anyio.wait_all_tasks_blocked()
            await at.desk.close(0)
            locked.rollback()
        locked.close()
        assert await at.states() == {"1": State.ADMITTED}


async def test_whoever_waits_for_rest_hears_of_it_also_besides_others(tmp_path: Path) -> None:
    async with house(tmp_path) as at:
        await at.desk.receive(message(1))
        turn = await at.begun(1)
        with anyio.fail_after(LIMIT):
            async with anyio.create_task_group() as group:
                for _ in range(2):
                    group.start_soon(at.desk.settled)
                await anyio.wait_all_tasks_blocked()
                turn.end("first")


async def test_a_turn_that_does_not_end_holds_up_the_end_of_a_desk_no_longer_than_it_may(tmp_path: Path) -> None:
    with anyio.fail_after(3):
        async with house(tmp_path, patience=0.05) as at:
            await at.desk.receive(message(1))
            await at.begun(1)
    async with house(tmp_path) as at:
        assert await at.states() == {"1": State.RUNNING}


async def test_a_desk_forgets_a_conversation_in_which_nothing_waits_and_nothing_runs(tmp_path: Path) -> None:
    async with house(tmp_path) as at:
        for number in range(3):
            await at.desk.receive(message(number, chat=str(number)))
            (await at.begun(number + 1)).end()
        await at.settled()
        assert not at.desk.busy


# anything at all

STEPS = st.one_of(
    st.tuples(st.just("say"), st.sampled_from(["1", "2"])),
    st.tuples(st.just("say"), st.sampled_from(["1", "2"])),
    st.tuples(st.just("pass"), st.sampled_from([0.1, QUIET, 4 * QUIET])),
    st.tuples(st.just("end"), st.just("")),
    st.tuples(st.just("answer"), st.sampled_from([Steered.TAKEN, Steered.OVER, Steered.UNFIT])),
    st.tuples(st.just("stop"), st.sampled_from(["1", "2"])),
    st.tuples(st.just("settle"), st.just("")),
)
RULES = st.builds(
    QueueRules,
    mode=st.sampled_from(QueueMode),
    quiet=st.sampled_from([0.0, QUIET]),
    cap=st.sampled_from([1, 3, 20]),
    drop=st.sampled_from(DropPolicy),
)


@settings(max_examples=40, deadline=None)
@given(steps=st.lists(STEPS, max_size=25), rules=RULES)
def test_whatever_happens_each_message_is_said_once_or_let_go_of_and_none_overtakes_another(
    steps: list[tuple[str, Any]], rules: QueueRules, tmp_path_factory: pytest.TempPathFactory
) -> None:
    anyio.run(_play, steps, rules, tmp_path_factory.mktemp("house"))


async def _play(steps: list[tuple[str, Any]], rules: QueueRules, folder: Path) -> None:
    async with house(folder, rules, harness=PlayedHarness(takes=None)) as at:
        came: dict[str, list[str]] = {"1": [], "2": []}
        for number, (step, with_) in enumerate(steps):
            if step == "say":
                came[with_].append(f"message {number}")
            await _step(at, number, step, with_)
        with anyio.fail_after(LIMIT):
            while at.desk.busy:
                at.clock.advance(QUIET)
                for turn in _open_turns(at):
                    turn.end()
                await anyio.lowlevel.checkpoint()
        assert await at.states() == {}
        for chat, texts in came.items():
            turns = [turn for turn in at.turns if turn.request.session_key.endswith(f":{chat}")]
            have = [text for turn in turns for text in (*turn.said, *turn.has)]
            assert have == [text for text in texts if text in have]
            if ("stop", chat) not in steps and rules.cap > len(texts):
                assert have == texts


async def _step(at: House, number: int, step: str, with_: Any) -> None:
    match step:
        case "say":
            await at.desk.receive(message(number, chat=with_))
        case "pass":
            at.clock.advance(with_)
        case "answer":
            for turn in _open_turns(at):
                turn.answer(with_)
        case "end":
            for turn in _open_turns(at)[:1]:
                turn.end()
        case "stop":
            await at.desk.receive(message(number, "/stop", chat=with_))
        case _:
            await anyio.wait_all_tasks_blocked()


def _open_turns(at: House) -> list[PlayedTurn]:
    return [turn for turn in at.turns if turn.buffer.result is None]
