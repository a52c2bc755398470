"""The ledger says what is left to be done, whatever ended the process that wrote it."""

import sqlite3
import subprocess
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from harness.errors import StoreError
from harness.store import admitted
from harness.store.admitted import Admission, Ending, Inbound, OpenDelivery, Outbound, Sending, State
from harness.store.bindings import bindings_at
from harness.store.deliveries import PRUNE_EVERY, Deliveries, DeliveryLimits, open_deliveries_at
from tests.support.delivery import inbound

NAME = "bridge.sqlite"
DEFAULT = DeliveryLimits()


@asynccontextmanager
async def ledger(
    folder: Path, limits: DeliveryLimits = DEFAULT, at: list[float] | None = None
) -> AsyncGenerator[Deliveries]:
    times = at or [1000.0]
    async with bindings_at(folder / NAME) as bindings:
        yield Deliveries(bindings.database, limits, now=lambda: times[-1])


def waiting(message: Inbound, **how: object) -> OpenDelivery:
    return replace(OpenDelivery(state=State.ADMITTED, lead=message.key, inbound=(message,), ours=False), **how)


def rows(folder: Path, statement: str) -> list[tuple[object, ...]]:
    with sqlite3.connect(folder / NAME) as other:
        found = other.execute(statement).fetchall()
    other.close()
    return found


A, B, C = inbound("1"), inbound("2"), inbound("3", chat="8")


async def test_each_step_is_there_after_a_restart(tmp_path: Path) -> None:
    seen: list[list[OpenDelivery]] = []

    async def restart() -> None:
        async with ledger(tmp_path) as again:
            seen.append(await again.open())

    async with ledger(tmp_path) as first:
        await first.admit(A)
    await restart()
    async with ledger(tmp_path) as first:
        await first.begin([A.key], A.key)
    await restart()
    async with ledger(tmp_path) as first:
        await first.answer(A.key, {0: "One.", 1: "Two."}, conversation="thread", turn="turn")
    await restart()
    async with ledger(tmp_path) as first:
        await first.sent(A.key, 0, "m1", then=1)
    await restart()
    async with ledger(tmp_path) as first:
        await first.sent(A.key, 1, "m2", last=True)
    await restart()
    running = waiting(A, state=State.RUNNING)
    answered = waiting(A, state=State.ANSWERED, conversation="thread", turn="turn", rounds=1)
    first, second = Outbound(A.key, 0, "One.", Sending.SENDING), Outbound(A.key, 1, "Two.", Sending.PLANNED)
    sent = Outbound(A.key, 0, "", Sending.SENT, "m1")
    assert seen == [
        [waiting(A)],
        [running],
        [replace(answered, outbound=(first, second))],
        [replace(answered, outbound=(sent, replace(second, state=Sending.SENDING)))],
        [],
    ]


STEPS: dict[str, Callable[[Deliveries], Awaitable[object]]] = {
    "it comes again": lambda to: to.admit(A),
    "it is begun with": lambda to: to.begin([A.key], A.key),
    "it is given back": lambda to: to.give_back([A.key]),
    "it is answered": lambda to: to.answer(A.key, {0: "One."}),
    "its last text is sent": lambda to: to.sent(A.key, 0, "m1", last=True),
    "its text is refused": lambda to: to.fail(A.key, 0),
    "it is let go of": lambda to: to.settle(A.key, Ending.DROPPED),
}
"""Whatever may happen to a message."""
WAY: dict[State, tuple[str, ...]] = {
    State.ADMITTED: (),
    State.RUNNING: ("it is begun with",),
    State.ANSWERED: ("it is begun with", "it is answered"),
    State.SETTLED: ("it is let go of",),
}
"""How it comes to be in a state."""


async def test_a_message_goes_from_each_state_to_those_that_the_table_names_and_to_no_other(tmp_path: Path) -> None:
    reached: dict[State, set[State]] = {}
    for at, state in enumerate(State):
        for of, step in enumerate(STEPS.values()):
            folder = tmp_path / f"{at}{of}"
            folder.mkdir()
            async with ledger(folder) as here:
                await here.admit(A)
                for earlier in WAY[state]:
                    await STEPS[earlier](here)
                await step(here)
                left = await here.open()
            after = left[0].state if left else State.SETTLED
            reached.setdefault(state, set()).update({after} - {state})
    rows = (line.split("|") for line in (admitted.__doc__ or "").splitlines() if line.count("|") == 2)
    table = {row[0].strip(): {each for each in State if each.name in row[2]} for row in rows}
    assert table == {"state": set(), **{state.name: reached[state] for state in State}}


async def test_what_is_settled_leaves_no_words_behind(tmp_path: Path) -> None:
    async with ledger(tmp_path) as store:
        for message in (A, B):
            await store.admit(replace(message, payload="a secret"), running=True)
        await store.answer(A.key, {0: "another secret"})
        await store.sent(A.key, 0, "m1", last=True)
        await store.answer(B.key, {0: "a third secret", 1: "and a fourth"})
        await store.settle(B.key, Ending.UNDELIVERABLE)
    assert rows(tmp_path, "SELECT key, state, ending, payload, settled_at FROM deliveries ORDER BY seq") == [
        (A.key, "settled", "sent", "", 1000.0),
        (B.key, "settled", "undeliverable", "", 1000.0),
    ]
    assert rows(tmp_path, "SELECT lead, place, text, sent_as FROM outbound ORDER BY lead, place") == [
        (A.key, 0, "", "m1"),
        (B.key, 0, "", ""),
        (B.key, 1, "", ""),
    ]


async def test_a_message_that_comes_twice_is_known_while_it_is_open_and_afterwards(tmp_path: Path) -> None:
    async with ledger(tmp_path) as store:
        admissions = [await store.admit(A, running=True), await store.admit(A)]
        await store.answer(A.key, {0: "Done."})
        admissions.append(await store.admit(A))
        await store.sent(A.key, 0, "m1", last=True)
        admissions.append(await store.admit(A))
    async with ledger(tmp_path) as again:
        admissions.append(await again.admit(A))
    assert admissions == [Admission.NEW, Admission.OPEN, Admission.OPEN, Admission.DONE, Admission.DONE]


async def test_a_message_that_nobody_began_with_is_taken_over_by_the_next_process(tmp_path: Path) -> None:
    """A16: a claim of a process that is gone blocks nobody."""
    async with ledger(tmp_path) as gone:
        await gone.admit(A)
        await gone.admit(B, running=True)
    async with ledger(tmp_path) as store:
        assert [await store.admit(A), await store.admit(A), await store.admit(B)] == [
            Admission.NEW,
            Admission.OPEN,
            Admission.OPEN,  # what became of it has to be looked up first
        ]
        assert [(each.lead, each.ours) for each in await store.open()] == [(A.key, True), (B.key, False)]


async def test_a_chat_with_a_dead_claim_answers_the_next_message(tmp_path: Path) -> None:
    """A16."""
    async with ledger(tmp_path) as gone:
        await gone.admit(A, running=True)
    async with ledger(tmp_path) as store:
        assert await store.admit(B, running=True) is Admission.NEW
        await store.answer(B.key, {0: "Done."})
        await store.sent(B.key, 0, "m1", last=True)
        assert [each.lead for each in await store.open()] == [A.key]


async def test_messages_that_one_turn_answers_are_settled_together(tmp_path: Path) -> None:
    async with ledger(tmp_path) as store:
        for message in (A, B, C):
            await store.admit(message)
        await store.begin([A.key, B.key], B.key)
        together = OpenDelivery(state=State.RUNNING, lead=B.key, inbound=(A, B), ours=True)
        assert await store.open() == [together, waiting(C, ours=True)]
        await store.answer(B.key, {0: "Both."})
        await store.sent(B.key, 0, "m1", last=True)
        assert await store.open() == [waiting(C, ours=True)]


async def test_a_steered_message_shares_the_end_of_its_turn_only_once_it_joined(tmp_path: Path) -> None:
    async with ledger(tmp_path) as store:
        await store.admit(A, running=True)
        for message in (B, C):
            await store.admit(message)
            await store.begin([message.key], A.key, steered=True)
        await store.joined([B.key])
        (before,) = await store.open()
        await store.answer(A.key, {0: "Done."})
        await store.sent(A.key, 0, "m1", last=True)
        (left,) = await store.open()
        await store.begin([C.key], C.key)  # it was over: a turn of its own
        (alone,) = await store.open()
    assert before == OpenDelivery(state=State.RUNNING, lead=A.key, inbound=(A, B, C), ours=True, steered=(C.key,))
    assert (left.inbound, left.led, left.steered) == ((C,), False, (C.key,))
    assert alone == waiting(C, state=State.RUNNING, ours=True)


async def test_a_steered_message_that_joined_a_turn_which_is_over_is_settled_with_it(tmp_path: Path) -> None:
    async with ledger(tmp_path) as store:
        await store.admit(A, running=True)
        await store.admit(B)
        await store.begin([B.key], A.key, steered=True)
        await store.settle(A.key, Ending.SILENT)
        await store.joined([B.key])
        assert await store.open() == []


async def test_a_message_that_is_given_back_waits_again(tmp_path: Path) -> None:
    async with ledger(tmp_path) as store:
        for message in (A, B):
            await store.admit(message)
            await store.begin([message.key], A.key)
        await store.give_back([A.key])
        await store.give_back([B.key], anybody=True)  # this process is at it
        begun = [(each.lead, each.state, each.ours) for each in await store.open()]
        assert begun == [(A.key, State.ADMITTED, True)]
    async with ledger(tmp_path) as store:
        await store.give_back([B.key], anybody=True)
        assert await store.open() == [waiting(A), waiting(B)]
        assert [await store.admit(A), await store.admit(B)] == [Admission.NEW, Admission.NEW]


async def test_the_channels_id_of_a_preview_stays_when_its_answer_is_known(tmp_path: Path) -> None:
    async with ledger(tmp_path) as store:
        await store.admit(A, running=True)
        await store.sending(A.key, 0)
        await store.sent(A.key, 0, "m1")
        (shown,) = await store.open()
        await store.answer(A.key, {0: "Whole."})
        (known,) = await store.open()
    assert (shown.state, shown.outbound) == (State.RUNNING, (Outbound(A.key, 0, "", Sending.SENT, "m1"),))
    assert (known.state, known.outbound) == (State.ANSWERED, (Outbound(A.key, 0, "Whole.", Sending.SENDING, "m1"),))


async def test_that_a_preview_may_have_been_sent_stays_known_when_its_answer_is(tmp_path: Path) -> None:
    async with ledger(tmp_path) as store:
        await store.admit(A, running=True)
        await store.sending(A.key, 1, repeats=1)
        await store.answer(A.key, {0: "One.", 1: "Two."})
        (known,) = await store.open()
    assert known.outbound[1] == Outbound(A.key, 1, "Two.", Sending.SENDING, repeats=1)


async def test_settled_messages_are_forgotten_by_number_and_age_and_open_ones_never(tmp_path: Path) -> None:
    at = [0.0]
    async with ledger(tmp_path, DeliveryLimits(settled=3, seconds=50.0), at) as store:
        await store.admit(A)
        for number in range(PRUNE_EVERY):
            message = inbound(f"n{number}")
            at.append(float(number))
            await store.admit(message, running=True)
            await store.answer(message.key, {0: "Done."})
            await store.sent(message.key, 0, "m", last=True)
        kept = [key for (key,) in rows(tmp_path, "SELECT key FROM deliveries ORDER BY seq")]
        assert kept == [A.key, "telegram:7:n61", "telegram:7:n62", "telegram:7:n63"]
        assert [key for (key,) in rows(tmp_path, "SELECT lead FROM outbound ORDER BY lead")] == kept[1:]
    async with ledger(tmp_path, DeliveryLimits(seconds=50.0), [200.0]) as store:
        for number in range(PRUNE_EVERY):
            await store.admit(inbound(f"o{number}"), running=True)
            await store.settle(f"telegram:7:o{number}", Ending.SILENT)
        assert len(rows(tmp_path, "SELECT key FROM deliveries WHERE key LIKE '%:n%'")) == 0


async def test_too_long_a_payload_is_left_out_and_the_message_kept(tmp_path: Path) -> None:
    async with ledger(tmp_path, DeliveryLimits(payload=10)) as store:
        await store.admit(replace(A, payload="x" * 11))
        assert await store.open() == [waiting(replace(A, payload=""), ours=True)]


async def test_half_a_character_spoils_no_row(tmp_path: Path) -> None:
    async with ledger(tmp_path) as store:
        await store.admit(replace(A, payload="\ud83e"), running=True)
        await store.answer(A.key, {0: "\ud83e"})
        (found,) = await store.open()
    assert (found.inbound[0].payload, found.outbound[0].text) == ("?", "?")


async def test_damaged_values_cost_their_row_at_most(tmp_path: Path) -> None:
    async with ledger(tmp_path) as store:
        for message in (A, B, C):
            await store.admit(message, running=True)
            await store.answer(message.key, {0: "Done."})
    rows(tmp_path, "UPDATE deliveries SET arrived_at = 'yesterday' WHERE key = 'telegram:7:1'")
    rows(
        tmp_path, "UPDATE deliveries SET state = 'dreaming', payload = CAST(x'ff61' AS TEXT) WHERE key = 'telegram:7:2'"
    )
    rows(tmp_path, "UPDATE outbound SET state = 'dreaming', repeats = 'many' WHERE lead = 'telegram:8:3'")
    path = tmp_path / NAME
    looked = open_deliveries_at(path)
    async with bindings_at(path) as bindings:
        found = await Deliveries(bindings.database).open()
        told = bindings.take_notices()
    assert told == [f"The store {path} held 2 damaged rows, which are deleted; the rest is kept."]
    assert found == looked
    assert [(each.lead, each.state, each.outbound) for each in found] == [
        (B.key, State.RUNNING, (Outbound(B.key, 0, "Done.", Sending.SENDING),)),
        (C.key, State.ANSWERED, ()),
    ]


async def test_a_write_that_failed_is_made_up_for_by_the_next_one(tmp_path: Path) -> None:
    async with ledger(tmp_path) as store:
        await store.admit(A, running=True)
        rows(
            tmp_path,
            "CREATE TRIGGER full BEFORE UPDATE ON deliveries BEGIN SELECT RAISE(ABORT, 'disk full'); END",
        )
        for write in (store.answer(A.key, {0: "Done."}), store.sent(A.key, 0, "m1", last=True)):
            with pytest.raises(StoreError, match="disk full"):
                await write
        rows(tmp_path, "DROP TRIGGER full")
        await store.admit(B)
        assert await store.open() == [waiting(B, ours=True)]
        assert rows(tmp_path, "SELECT sent_as FROM outbound") == [("m1",)]


async def test_a_write_that_can_never_be_made_costs_no_other(tmp_path: Path) -> None:
    async with ledger(tmp_path) as store:
        with pytest.raises(StoreError):
            await store.admit(replace(A, key="telegram:\ud83e:1"))
        await store.admit(B)
        assert await store.open() == [waiting(B, ours=True)]


async def test_what_is_written_counts_also_where_the_log_cannot_be_moved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: object) -> None:
        raise StoreError("disk full")

    async with ledger(tmp_path) as store:
        await store.admit(A)
        monkeypatch.setattr("harness.store.database.CHECKPOINT_EVERY", 1)
        monkeypatch.setattr("harness.store.database.Database.run", fail)
        assert await store.admit(A) is Admission.OPEN


async def test_a_store_of_before_gets_a_ledger(tmp_path: Path) -> None:
    async with ledger(tmp_path) as store:
        await store.admit(A)
    for statement in ("DROP TABLE deliveries", "DROP TABLE outbound", "PRAGMA user_version = 4"):
        rows(tmp_path, statement)
    assert open_deliveries_at(tmp_path / NAME) == []
    async with ledger(tmp_path) as store:
        await store.admit(B)
        assert await store.open() == [waiting(B, ours=True)]


async def test_somebody_who_only_looks_sees_what_is_open_and_whose_it_is_not(tmp_path: Path) -> None:
    assert open_deliveries_at(tmp_path / NAME) == []
    async with ledger(tmp_path) as store:
        await store.admit(A)
        assert open_deliveries_at(tmp_path / NAME) == [waiting(A)]
    (tmp_path / NAME).write_bytes(b"no database at all, and long enough to be looked at")
    with pytest.raises(StoreError, match="cannot be read"):
        open_deliveries_at(tmp_path / NAME)


async def test_how_often_an_answer_was_offered_is_known_after_a_restart_as_its_turn_is(
    tmp_path: Path,
) -> None:
    async with ledger(tmp_path) as first:
        await first.admit(A, running=True)
        await first.answer(A.key, {0: "One."}, conversation="thread", turn="turn")
        await first.answer(A.key, {0: "One."}, rounds=2)
    async with ledger(tmp_path) as again:
        (left,) = await again.open()
    assert (left.rounds, left.conversation, left.turn) == (2, "thread", "turn")


async def test_the_messages_that_were_settled_last_are_told_oldest_first(tmp_path: Path) -> None:
    async with ledger(tmp_path) as here:
        for message in (A, B, C):
            await here.admit(message)
        for message in (C, A, B):
            await here.settle(message.key, Ending.SENT)
        assert (await here.settled_keys(2), await here.settled_keys(9)) == ([B.key, C.key], [A.key, B.key, C.key])


async def test_a_second_process_cannot_use_the_ledger_and_a_killed_one_leaves_it(tmp_path: Path) -> None:
    program = f"""
import anyio, pathlib, sys
from harness.store.bindings import bindings_at
from harness.store.deliveries import Deliveries
from tests.support.delivery import inbound
async def main():
    async with bindings_at(pathlib.Path({str(tmp_path / NAME)!r})) as bindings:
        await Deliveries(bindings.database).admit(inbound("1"), running=True)
        print("in", flush=True)
        sys.stdin.read()
anyio.run(main)
"""
    with subprocess.Popen(  # noqa: ASYNC220 - it does not wait
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "in\n"
        with pytest.raises(StoreError, match=f"in use by process {other.pid}"):
            async with ledger(tmp_path):
                raise NotImplementedError
        other.kill()
    async with ledger(tmp_path) as store:
        assert await store.open() == [waiting(A, state=State.RUNNING)]
