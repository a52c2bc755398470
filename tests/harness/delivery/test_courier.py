"""Every answer reaches its chat once, whatever the channel does."""

import sqlite3
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Never

import anyio
import anyio.lowlevel
import pytest

from harness.delivery.advice import MOST_ROUNDS
from harness.delivery.courier import LATER, WAITS, Carried, Courier
from harness.delivery.outbox import Abilities, NotSentError, Outgoing
from harness.delivery.posting import AGAIN, LONGEST_WAIT
from harness.replies.gate import Say, Silent
from harness.store.admitted import Ending, Outbound, Sending, State
from harness.store.bindings import bindings_at
from harness.store.deliveries import Deliveries
from harness.testing.outbox import RecordingOutbox
from harness.turns import (
    CommandStarted,
    EndedBy,
    Failure,
    Finished,
    Joined,
    Outcome,
    TextDelta,
    TextRetracted,
    Trigger,
    TurnEvent,
    TurnResult,
)
from tests.support.delivery import Clock, HurriedClock, Played, answered, inbound

LIMIT = 5.0
PLAIN = Abilities()
"""A channel that can do nothing but send."""


@dataclass
class Office:
    """A courier with its ledger and its channel."""

    deliveries: Deliveries
    outbox: RecordingOutbox
    clock: Clock | HurriedClock
    told: list[str] = field(default_factory=list[str])

    @property
    def courier(self) -> Courier:
        return Courier(self.deliveries, self.outbox, tell=self.told.append, now=self.clock.now, sleep=self.clock.sleep)

    async def carry(self, turn: Played, number: str = "1", *, chat: str = "7") -> Carried:
        message = inbound(number, chat=chat)
        await self.deliveries.admit(message, running=True)
        return await self.courier.carry(turn, message)

    async def states(self) -> list[tuple[str, State]]:
        return [(each.lead, each.state) for each in await self.deliveries.open()]


@asynccontextmanager
async def office(
    folder: Path, outbox: RecordingOutbox | None = None, clock: Clock | HurriedClock | None = None
) -> AsyncGenerator[Office]:
    with anyio.fail_after(LIMIT):
        async with bindings_at(folder / "bridge.sqlite") as bindings:
            here = Office(Deliveries(bindings.database), outbox or RecordingOutbox(), clock or HurriedClock())
            await here.deliveries.open()  # from here on no step of the ledger waits for a thread
            yield here


async def test_an_answer_is_delivered_once_and_settled(tmp_path: Path) -> None:
    async with office(tmp_path) as here:
        carried = await here.carry(answered("Two o'clock."))
        left = await here.deliveries.open()
    assert (carried.reply, carried.ending, left) == (Say(("Two o'clock.",)), Ending.SENT, [])
    assert list(here.outbox.messages.values()) == [
        Outgoing(key="telegram:7:1#0", channel="telegram", chat="7", text="Two o'clock.", reply_to="1")
    ]


async def test_silence_sends_nothing_and_is_settled(tmp_path: Path) -> None:
    async with office(tmp_path) as here:
        carried = await here.carry(answered("NO_REPLY"))
        left = await here.deliveries.open()
    assert (carried.reply, carried.ending, left, here.outbox.seen) == (Silent(), Ending.SILENT, [], [])


async def test_the_answer_is_shown_as_it_comes_in_one_message_once_a_second(tmp_path: Path) -> None:
    """Spec 6: about one edit a second."""
    clock, turn, shown = Clock(), Played(), list[tuple[str, str]]()
    async with office(tmp_path, clock=clock) as here, anyio.create_task_group() as group:
        group.start_soon(here.carry, turn)
        for piece in ("It ", "is ", "two ", "o'", "clock"):
            turn.say(piece)
            await clock.advance(0.4)
        turn.end("It is two o'clock.")
        await clock.advance(0.9)
        shown += here.outbox.seen
        await clock.advance(0.1)
    assert shown == [("1", "It"), ("1", "It is two"), ("1", "It is two o'clock")]
    assert here.outbox.seen == [*shown, ("1", "It is two o'clock.")]
    assert list(here.outbox.messages) == ["1"]


async def test_a_whole_answer_stands_when_more_is_said_into_the_turn_and_the_next_one_has_a_message_of_its_own(
    tmp_path: Path,
) -> None:
    clock, turn = Clock(), Played()
    async with office(tmp_path, clock=clock) as here:
        async with anyio.create_task_group() as group:
            group.start_soon(here.carry, turn)
            turn.say("Two", item="a")
            await clock.advance(1.0)
            turn.say(" o'clock.", item="a")
            turn.buffer.push(Joined("telegram:7:2", "Two o'clock."))
            turn.say("In the", item="b")
            await clock.advance(2.0)
            turn.buffer.push(Finished(TurnResult(Outcome.ANSWERED, "In the harbour.", earlier=("Two o'clock.",))))
            await clock.advance(2.0)
        left = await here.deliveries.open()
    assert here.outbox.seen == [("1", "Two"), ("1", "Two o'clock."), ("3", "In the"), ("3", "In the harbour.")]
    assert (here.outbox.texts(), left) == (["Two o'clock.", "In the harbour."], [])


async def test_a_message_that_shows_what_turns_out_to_be_silence_is_taken_back_and_the_answer_before_it_stays(
    tmp_path: Path,
) -> None:
    clock, turn = Clock(), Played()
    async with office(tmp_path, clock=clock) as here:
        async with anyio.create_task_group() as group:
            group.start_soon(here.carry, turn)
            turn.say("Two o'clock.", item="a")
            await clock.advance(1.0)
            turn.buffer.push(Joined("telegram:7:2", "Two o'clock."))
            turn.say("Nothing more, I think.", item="b")
            await clock.advance(1.0)
            turn.buffer.push(Finished(TurnResult(Outcome.ANSWERED, "NO_REPLY", earlier=("Two o'clock.",))))
            await clock.advance(2.0)
        left = await here.deliveries.open()
    assert (here.outbox.texts(), left) == (["Two o'clock."], [])


async def test_an_alert_of_another_turn_is_not_held_up_by_a_turn_that_still_speaks(tmp_path: Path) -> None:
    clock, slow = Clock(), Played()
    async with office(tmp_path, clock=clock) as here, anyio.create_task_group() as group:
        courier = here.courier
        for message in (inbound("1"), inbound("2")):
            await here.deliveries.admit(message, running=True)
        group.start_soon(courier.carry, slow, inbound("1"))
        slow.say("Let me")
        await clock.advance(0.0)
        await courier.carry(answered("Boiler!"), inbound("2"))
        slow.end("Let me see.")
        await clock.advance(1.0)
    assert here.outbox.texts() == ["Let me see.", "Boiler!"]


@pytest.mark.parametrize("how", ["silence", "an interruption"])
async def test_what_was_shown_is_taken_back_when_the_agent_chose_silence_and_stays_when_a_person_stopped_it(
    tmp_path: Path, how: str
) -> None:
    """T08 f: nothing about failure."""
    clock, turn = Clock(), Played()
    async with office(tmp_path, clock=clock) as here, anyio.create_task_group() as group:
        group.start_soon(here.carry, turn)
        turn.say("Nobody asked me.")
        await clock.advance(0.0)
        if how == "silence":
            turn.end("Nobody asked me.\n\nNO_REPLY")
        else:
            turn.end("Nobody asked me.", by=EndedBy.PERSON)
        await anyio.wait_all_tasks_blocked()
        assert await here.deliveries.open() == []
        group.cancel_scope.cancel()
    assert here.outbox.texts() == ([] if how == "silence" else ["Nobody asked me."])


async def test_a_message_that_broke_off_is_edited_into_the_one_that_took_its_place(tmp_path: Path) -> None:
    """T08 h."""
    clock, turn = Clock(), Played()
    async with office(tmp_path, clock=clock) as here, anyio.create_task_group() as group:
        group.start_soon(here.carry, turn)
        turn.say("The ans", item="a")
        await clock.advance(0.0)
        turn.buffer.push(TextRetracted("a"))
        turn.say("and B", item="b")
        turn.end("and B")
        await clock.advance(1.0)
    assert here.outbox.seen == [("1", "The ans"), ("1", "and B")]


async def test_a_turn_that_failed_says_so_after_what_exists_of_its_answer(tmp_path: Path) -> None:
    clock, turn = Clock(), Played()
    result = TurnResult(Outcome.FAILED, "Two fi", "The model is overloaded; try again later.")
    async with office(tmp_path, clock=clock) as here, anyio.create_task_group() as group:
        group.start_soon(here.carry, turn)
        turn.say("Two fi")
        await clock.advance(0.0)
        turn.buffer.push(Finished(result))
        await clock.advance(1.0)
    assert here.outbox.texts() == ["Two fi\n\nThe model is overloaded; try again later."]


async def test_a_turn_that_the_shutdown_ended_is_left_to_the_next_start(tmp_path: Path) -> None:
    result = TurnResult(Outcome.FAILED, "", "The gateway is shutting down.", failure=Failure.SHUTDOWN)
    async with office(tmp_path) as here:
        carried = await here.carry(Played(Finished(result)))
        states = await here.states()
    assert (carried.ending, states, here.outbox.seen) == (None, [("telegram:7:1", State.RUNNING)], [])


@pytest.mark.parametrize("trigger", ["a channel that cannot edit", "a chat that does not want it", "a heartbeat"])
async def test_an_answer_is_not_shown_before_it_is_whole(tmp_path: Path, trigger: str) -> None:
    outbox = RecordingOutbox(abilities=Abilities(keys=True, edits=trigger != "a channel that cannot edit"))
    turn = Played()
    async with office(tmp_path, outbox, Clock()) as here, anyio.create_task_group() as group:
        await here.deliveries.admit(inbound(), running=True)
        how = Trigger.HEARTBEAT if trigger == "a heartbeat" else Trigger.CHAT
        show = trigger != "a chat that does not want it"
        group.start_soon(partial(here.courier.carry, turn, inbound(), trigger=how, show=show))
        turn.say("Two ")
        await anyio.wait_all_tasks_blocked()
        assert outbox.seen == []
        turn.end("Two files.")
    assert outbox.seen == [("1", "Two files.")]


async def test_whoever_wants_to_hears_every_event_at_once_while_the_channel_is_slow(tmp_path: Path) -> None:
    clock, turn, heard = Clock(), Played(), list[TurnEvent]()
    async with office(tmp_path, clock=clock) as here, anyio.create_task_group() as group:
        await here.deliveries.admit(inbound(), running=True)
        group.start_soon(partial(here.courier.carry, turn, inbound(), hear=heard.append))
        turn.say("Two")
        await clock.advance(0.0)
        turn.say(" files")
        turn.buffer.push(CommandStarted("c", "ls", "/"))
        await anyio.wait_all_tasks_blocked()
        assert heard == [TextDelta("answer", "Two"), TextDelta("answer", " files"), CommandStarted("c", "ls", "/")]
        turn.end("Two files.")
        await clock.advance(1.0)


# a channel that fails


def failing(*errors: BaseException, call: str = "send") -> Callable[[str, Outgoing], None]:
    """Raise these, one at each call of that kind."""
    left = list(errors)

    def fail(kind: str, outgoing: Outgoing) -> None:
        del outgoing
        if kind == call and left:
            raise left.pop(0)

    return fail


REFUSED = NotSentError("no connection")
LOST_ANSWER = TimeoutError("no answer")


async def test_a_text_that_was_not_sent_is_sent_again_after_growing_waits(tmp_path: Path) -> None:
    outbox, clock = RecordingOutbox(PLAIN, failing(REFUSED, REFUSED, REFUSED)), HurriedClock()
    async with office(tmp_path, outbox, clock) as here:
        carried = await here.carry(answered("Yes."))
    assert (carried.ending, outbox.seen, clock.slept) == (Ending.SENT, [("1", "Yes.")], [1.0, 2.0, 4.0])


async def test_a_channel_that_asks_for_a_pause_gets_it_within_reason(tmp_path: Path) -> None:
    errors = NotSentError("slow down", retry_after=7.0), NotSentError("slow down", retry_after=86_400.0)
    outbox, clock = RecordingOutbox(PLAIN, failing(*errors)), HurriedClock()
    async with office(tmp_path, outbox, clock) as here:
        await here.carry(answered("Yes."))
    assert clock.slept == [7.0, LONGEST_WAIT]


async def test_a_text_that_is_never_sent_is_kept_for_the_next_start_and_told(tmp_path: Path) -> None:
    outbox, clock = RecordingOutbox(PLAIN, failing(*[REFUSED] * 20)), HurriedClock()
    async with office(tmp_path, outbox, clock) as here:
        carried = await here.carry(answered("Yes."))
        (left,) = await here.deliveries.open()
    assert carried.ending is None
    assert clock.slept == list(WAITS)
    assert here.told == ["An answer to telegram 7 was not delivered; the next start tries it again."]
    assert (left.state, left.outbound) == (State.ANSWERED, (Outbound(left.lead, 0, "Yes.", Sending.FAILED),))


async def test_a_text_that_was_given_up_is_offered_again_later_until_it_is_taken(tmp_path: Path) -> None:
    rounds = 3
    outbox = RecordingOutbox(PLAIN, failing(*[REFUSED] * (rounds * (len(WAITS) + 1))))
    clock = HurriedClock()
    async with office(tmp_path, outbox, clock) as here, anyio.create_task_group() as group:
        courier = here.courier
        group.start_soon(courier.keep_trying)
        await anyio.wait_all_tasks_blocked()
        message = inbound("1")
        await here.deliveries.admit(message, running=True)
        carried = await courier.carry(answered("Yes."), message)
        while await here.deliveries.open():
            await anyio.lowlevel.checkpoint()
        assert carried.ending is None
        group.cancel_scope.cancel()
    assert clock.slept == [*WAITS, LATER[0], *WAITS, LATER[1], *WAITS, LATER[2]]
    assert here.told == ["An answer to telegram 7 was not delivered; it is tried again later."]
    assert outbox.texts() == ["Yes."]


async def test_a_text_that_is_taken_in_no_round_is_let_go_of_with_one_more_word(tmp_path: Path) -> None:
    outbox, clock = RecordingOutbox(PLAIN, failing(*[REFUSED] * 1_000)), HurriedClock()
    async with office(tmp_path, outbox, clock) as here, anyio.create_task_group() as group:
        courier = here.courier
        group.start_soon(courier.keep_trying)
        await anyio.wait_all_tasks_blocked()
        message = inbound("1")
        await here.deliveries.admit(message, running=True)
        await courier.carry(answered("Yes."), message)
        while await here.deliveries.open():
            await anyio.lowlevel.checkpoint()
        group.cancel_scope.cancel()
    assert [seconds for seconds in clock.slept if seconds in LATER] == [*LATER, *[LATER[-1]] * (MOST_ROUNDS - 5)]
    assert here.told == [
        "An answer to telegram 7 was not delivered; it is tried again later.",
        "An answer to telegram 7 was not delivered in 12 rounds, and is not tried again.",
    ]


async def test_a_channel_that_does_not_say_what_it_can_do_is_asked_again(tmp_path: Path) -> None:
    class Shy(RecordingOutbox):
        asked = 0

        def can(self, channel: str) -> Abilities:
            self.asked += 1
            if self.asked < 4:
                raise KeyError(channel)
            return super().can(channel)

    clock = HurriedClock()
    async with office(tmp_path, Shy(PLAIN), clock) as here:
        carried = await here.carry(answered("Yes."))
    assert (carried.ending, here.outbox.texts(), clock.slept) == (Ending.SENT, ["Yes."], [1.0])


async def test_a_turn_that_made_way_is_left_to_whoever_it_made_way_for(tmp_path: Path) -> None:
    gone = TurnResult(Outcome.INTERRUPTED, "", ended_by=EndedBy.GIVEN_WAY)
    async with office(tmp_path) as here:
        carried = await here.carry(Played(Finished(gone)))
        assert (carried.ending, here.outbox.seen, await here.states()) == (
            None,
            [],
            [("telegram:7:1", State.RUNNING)],
        )


async def test_a_chat_that_is_gone_is_not_asked_again(tmp_path: Path) -> None:
    outbox, clock = RecordingOutbox(PLAIN, failing(NotSentError("the chat is gone", for_good=True))), HurriedClock()
    async with office(tmp_path, outbox, clock) as here:
        carried = await here.carry(answered("Yes."))
        left = await here.deliveries.open()
    assert (carried.ending, left, clock.slept) == (Ending.UNDELIVERABLE, [], [])
    assert here.told == ["An answer to telegram 7 was not delivered, and is not tried again."]


async def test_a_lost_answer_of_a_channel_that_knows_keys_doubles_nothing(tmp_path: Path) -> None:
    outbox = RecordingOutbox(after=failing(LOST_ANSWER, LOST_ANSWER))
    async with office(tmp_path, outbox) as here:
        carried = await here.carry(answered("Yes."))
    assert (carried.ending, outbox.seen) == (Ending.SENT, [("1", "Yes.")])


async def test_a_lost_answer_of_another_channel_is_repeated_once_and_marked(tmp_path: Path) -> None:
    outbox = RecordingOutbox(PLAIN, after=failing(LOST_ANSWER))
    async with office(tmp_path, outbox) as here:
        carried = await here.carry(answered("Yes."))
    assert (carried.ending, outbox.texts()) == (Ending.SENT, ["Yes.", f"Yes.\n\n{AGAIN}"])
    assert [each.again for each in outbox.messages.values()] == [False, True]


async def test_a_repetition_is_no_longer_than_its_channel_takes(tmp_path: Path) -> None:
    outbox = RecordingOutbox(replace(PLAIN, limit=64), after=failing(LOST_ANSWER))
    async with office(tmp_path, outbox) as here:
        carried = await here.carry(answered("a" * 60))
    assert (carried.ending, outbox.texts()) == (Ending.SENT, ["a" * 60] * 2)


async def test_a_channel_that_never_answers_gets_one_marked_repetition_at_most(tmp_path: Path) -> None:
    outbox = RecordingOutbox(PLAIN, after=failing(*[LOST_ANSWER] * 20))
    async with office(tmp_path, outbox) as here:
        carried = await here.carry(answered("Yes."))
        left = await here.deliveries.open()
    assert (carried.ending, outbox.texts(), left) == (Ending.UNDELIVERABLE, ["Yes.", f"Yes.\n\n{AGAIN}"], [])
    assert here.told == ["An answer to telegram 7 was not delivered as far as is known, and is not tried again."]


async def test_a_repetition_that_was_refused_does_not_count_as_one(tmp_path: Path) -> None:
    errors = iter([None, REFUSED, REFUSED])

    def before(call: str, outgoing: Outgoing) -> None:
        del call, outgoing
        if (error := next(errors, None)) is not None:
            raise error

    outbox = RecordingOutbox(PLAIN, before, failing(LOST_ANSWER))
    async with office(tmp_path, outbox) as here:
        carried = await here.carry(answered("Yes."))
    assert (carried.ending, outbox.texts()) == (Ending.SENT, ["Yes.", f"Yes.\n\n{AGAIN}"])


async def test_a_preview_whose_answer_was_lost_ends_as_the_whole_text(tmp_path: Path) -> None:
    clock, turn, outbox = Clock(), Played(), RecordingOutbox(after=failing(LOST_ANSWER))
    async with office(tmp_path, outbox, clock) as here, anyio.create_task_group() as group:
        group.start_soon(here.carry, turn)
        turn.say("Two ")
        await clock.advance(0.0)
        turn.end("Two files.")
        await clock.advance(1.0)
    assert outbox.seen == [("1", "Two"), ("1", "Two files.")]


async def test_a_preview_that_is_refused_ends_the_showing_and_not_the_delivery(tmp_path: Path) -> None:
    clock, turn, outbox = Clock(), Played(), RecordingOutbox(before=failing(REFUSED))
    async with office(tmp_path, outbox, clock) as here, anyio.create_task_group() as group:
        group.start_soon(here.carry, turn)
        turn.say("Two ")
        await clock.advance(5.0)
        turn.say("files")
        await clock.advance(5.0)
        turn.end("Two files.")
        await clock.advance(1.0)
    assert outbox.seen == [("1", "Two files.")]


async def test_a_mistake_in_the_showing_costs_no_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(*_: object) -> Never:
        raise ZeroDivisionError

    monkeypatch.setattr("harness.delivery.showing.chunks", breaks)
    clock, turn, outbox = Clock(), Played(), RecordingOutbox()
    async with office(tmp_path, outbox, clock) as here, anyio.create_task_group() as group:
        group.start_soon(here.carry, turn)
        turn.say("Two ")
        await clock.advance(5.0)
        turn.end("Two files.")
        await clock.advance(1.0)
        assert outbox.seen == [("1", "Two files.")]
        assert await here.deliveries.open() == []


async def test_a_channel_that_wants_fewer_edits_gets_fewer(tmp_path: Path) -> None:
    clock, turn = Clock(), Played()
    outbox = RecordingOutbox(before=failing(NotSentError("slow down", retry_after=5.0), call="edit"))
    async with office(tmp_path, outbox, clock) as here, anyio.create_task_group() as group:
        group.start_soon(here.carry, turn)
        for piece in ("One", " two", " three"):
            turn.say(piece)
            await clock.advance(1.0)
        assert outbox.seen == [("1", "One")]
        await clock.advance(4.0)
        turn.end("One two three.")
        await clock.advance(1.0)
    assert outbox.seen == [("1", "One"), ("1", "One two three"), ("1", "One two three.")]


async def test_a_preview_that_somebody_deleted_is_sent_anew(tmp_path: Path) -> None:
    clock, turn = Clock(), Played()
    outbox = RecordingOutbox()
    async with office(tmp_path, outbox, clock) as here, anyio.create_task_group() as group:
        group.start_soon(here.carry, turn)
        turn.say("Two ")
        await clock.advance(1.0)
        outbox.messages.clear()
        turn.end("Two files.")
        await clock.advance(2.0)
    assert outbox.texts() == ["Two files."]


async def test_a_channel_that_does_not_answer_holds_up_no_other_chat(tmp_path: Path) -> None:
    never = anyio.Event()

    class Deaf(RecordingOutbox):
        async def send(self, outgoing: Outgoing) -> str:
            if outgoing.chat == "7":
                await never.wait()
            return await super().send(outgoing)

    async with office(tmp_path, Deaf()) as here, anyio.create_task_group() as group:
        group.start_soon(here.carry, answered("Yes."))
        await anyio.wait_all_tasks_blocked()
        carried = await here.carry(answered("No."), chat="8")
        assert (carried.ending, here.outbox.texts()) == (Ending.SENT, ["No."])
        group.cancel_scope.cancel()


async def test_a_call_of_the_channel_has_an_end(tmp_path: Path) -> None:
    class Deaf(RecordingOutbox):
        async def send(self, outgoing: Outgoing) -> str:
            del outgoing
            await anyio.sleep_forever()
            raise NotImplementedError

    outbox, clock = Deaf(), HurriedClock()
    async with office(tmp_path, outbox, clock) as here:
        await here.deliveries.admit(inbound(), running=True)
        courier = Courier(here.deliveries, outbox, tell=here.told.append, waits=(1.0,), deadline=0.0, sleep=clock.sleep)
        carried = await courier.carry(answered("Yes."), inbound())
    assert carried.ending is None
    assert here.told == ["An answer to telegram 7 was not delivered as far as is known; the next start tries it again."]


async def test_the_answers_of_a_chat_keep_their_order_while_the_first_one_is_retried(tmp_path: Path) -> None:
    clock, outbox = Clock(), RecordingOutbox(PLAIN, failing(REFUSED))
    async with office(tmp_path, outbox, clock) as here, anyio.create_task_group() as group:
        courier = here.courier
        for number, text in (("1", "First."), ("2", "Second.")):
            await here.deliveries.admit(inbound(number), running=True)
            group.start_soon(courier.carry, answered(text), inbound(number))
            await anyio.wait_all_tasks_blocked()
        assert outbox.seen == []
        await clock.advance(1.0)
    assert outbox.texts() == ["First.", "Second."]


@pytest.mark.parametrize("ends", ["before", "after"])
async def test_nothing_of_the_next_answer_is_shown_while_the_one_before_is_retried(tmp_path: Path, ends: str) -> None:
    clock, outbox, turn = Clock(), RecordingOutbox(before=failing(REFUSED)), Played()
    async with office(tmp_path, outbox, clock) as here, anyio.create_task_group() as group:
        courier = here.courier
        for number, each in (("1", answered("First.")), ("2", turn)):
            await here.deliveries.admit(inbound(number), running=True)
            group.start_soon(courier.carry, each, inbound(number))
            await anyio.wait_all_tasks_blocked()
        turn.say("Sec")
        await clock.advance(0.5)
        assert outbox.seen == []
        if ends == "before":
            turn.end("Second.")
        await clock.advance(1.0)
        if ends == "after":
            turn.end("Second.")
        await clock.advance(1.0)
    shown = [("1", "First."), ("2", "Sec"), ("2", "Second.")]
    assert outbox.seen == (shown if ends == "after" else [("1", "First."), ("2", "Second.")])


@pytest.mark.parametrize("third", ["is over", "still speaks"])
async def test_an_answer_whose_showing_waits_for_the_one_before_is_overtaken_by_none_after_it(
    tmp_path: Path, third: str
) -> None:
    clock, outbox = Clock(), RecordingOutbox(before=failing(REFUSED))
    turns = (answered("First."), Played(), answered("Third.") if third == "is over" else Played())
    async with office(tmp_path, outbox, clock) as here, anyio.create_task_group() as group:
        courier = here.courier
        for number, turn in enumerate(turns, 1):
            await here.deliveries.admit(inbound(str(number)), running=True)
            group.start_soon(courier.carry, turn, inbound(str(number)))
            if number == 2:
                turn.say("Sec")
                await anyio.wait_all_tasks_blocked()
                turn.end("Second.")
            if number == 3 and third == "still speaks":
                turn.say("Third")
            await anyio.wait_all_tasks_blocked()
        await clock.advance(1.0)
        if third == "still speaks":
            turns[2].end("Third.")
        await clock.advance(2.0)
    assert outbox.texts() == ["First.", "Second.", "Third."]


async def test_a_pause_that_a_channel_asks_for_holds_an_answer_up_within_reason_and_no_other_overtakes_it(
    tmp_path: Path,
) -> None:
    clock, turn = Clock(), Played()
    outbox = RecordingOutbox(before=failing(NotSentError("slow down", retry_after=3_600.0)))
    async with office(tmp_path, outbox, clock) as here, anyio.create_task_group() as group:
        courier = here.courier
        for number, each in (("1", turn), ("2", answered("Second."))):
            await here.deliveries.admit(inbound(number), running=True)
            if number == "2":
                turn.say("Fir")
                await anyio.wait_all_tasks_blocked()
                turn.end("First.")
                await anyio.wait_all_tasks_blocked()
            group.start_soon(courier.carry, each, inbound(number))
            await anyio.wait_all_tasks_blocked()
        await clock.advance(LONGEST_WAIT)
        assert outbox.texts() == ["First.", "Second."]


async def test_an_error_of_whoever_listens_keeps_no_answer_back(tmp_path: Path) -> None:
    heard: list[TurnEvent] = []

    def hear(event: TurnEvent) -> None:
        heard.append(event)
        raise RuntimeError("no light to switch")

    turn = Played(TextDelta("answer", "Do"), TextDelta("answer", "ne."))
    turn.end("Done.")
    async with office(tmp_path) as here:
        await here.deliveries.admit(inbound(), running=True)
        carried = await here.courier.carry(turn, inbound(), hear=hear)
        assert (carried.ending, here.outbox.texts(), await here.states()) == (Ending.SENT, ["Done."], [])
    assert isinstance(heard[-1], Finished)


# a store that fails


async def test_a_full_disk_keeps_no_answer_back_and_is_told_once(tmp_path: Path) -> None:
    async with office(tmp_path) as here:
        courier = here.courier
        for number in ("1", "2"):
            await here.deliveries.admit(inbound(number), running=True)
        with sqlite3.connect(tmp_path / "bridge.sqlite") as other:
            for table in ("deliveries", "outbound"):
                for what in ("INSERT", "UPDATE"):
                    other.execute(
                        f"CREATE TRIGGER {table}_{what} BEFORE {what} ON {table}"
                        " BEGIN SELECT RAISE(ABORT, 'disk full'); END"
                    )
        other.close()
        for number in ("1", "2"):
            carried = await courier.carry(answered(f"Answer {number}."), inbound(number))
            assert carried.ending is Ending.SENT
    assert here.outbox.texts() == ["Answer 1.", "Answer 2."]
    assert here.told == [
        f"The store {tmp_path / 'bridge.sqlite'} cannot be used: disk full."
        " Until it can, a restart does not know which answers were delivered."
    ]
