import tracemalloc

import anyio
import pytest

from harness.events import EventBuffer
from harness.turns import (
    CommandOutput,
    CommandStarted,
    Commentary,
    Finished,
    Notice,
    Outcome,
    TextDelta,
    TurnEvent,
    TurnResult,
)

END = Finished(TurnResult(Outcome.ANSWERED, "ab"))


async def read(buffer: EventBuffer) -> list[TurnEvent]:
    with anyio.fail_after(5):
        return [event async for event in buffer.read()]


async def test_a_reader_who_lags_gets_neighbouring_pieces_joined_and_loses_nothing() -> None:
    buffer = EventBuffer()
    for event in (
        TextDelta("m1", "a"),
        TextDelta("m1", "b"),
        Commentary("m2", "c"),
        Commentary("m2", "d"),
        TextDelta("m3", "e"),
        TextDelta("m4", "f"),
        CommandStarted("c1", "ls", "/w"),
        CommandOutput("c1", "g\n"),
        CommandOutput("c1", "h\n"),
        END,
    ):
        buffer.push(event)
    assert await read(buffer) == [
        TextDelta("m1", "ab"),
        Commentary("m2", "cd"),
        TextDelta("m3", "e"),
        TextDelta("m4", "f"),
        CommandStarted("c1", "ls", "/w"),
        CommandOutput("c1", "g\nh\n"),
        END,
    ]


async def test_what_waits_for_a_reader_takes_its_own_length_however_many_pieces_it_came_in() -> None:
    buffer = EventBuffer()
    tracemalloc.start()
    try:
        for _ in range(20_000):
            buffer.push(TextDelta("m", "".join("piece ")))  # a new text each time, as from the wire
        held = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert 120_000 <= held < 200_000
    buffer.push(END)
    assert await read(buffer) == [TextDelta("m", "piece " * 20_000), END]


async def test_a_reader_who_keeps_up_gets_each_piece() -> None:
    buffer, seen = EventBuffer(), list[TurnEvent]()

    async def reader() -> None:
        seen.extend(await read(buffer))

    async with anyio.create_task_group() as group:
        group.start_soon(reader)
        for event in (TextDelta("m", "a"), TextDelta("m", "b"), END):
            await anyio.wait_all_tasks_blocked()
            buffer.push(event)
    assert seen == [TextDelta("m", "a"), TextDelta("m", "b"), END]


async def test_very_many_pieces_that_nobody_reads_are_kept_as_one_text() -> None:
    buffer = EventBuffer()
    for _ in range(100_000):
        buffer.push(TextDelta("m", "ab"))
    buffer.push(END)
    assert await read(buffer) == [TextDelta("m", "ab" * 100_000), END]


async def test_the_result_comes_to_whoever_waits_without_reading() -> None:
    buffer = EventBuffer()
    results: list[TurnResult] = []
    async with anyio.create_task_group() as group:

        async def wait() -> None:
            results.append(await buffer.wait())

        group.start_soon(wait)
        await anyio.wait_all_tasks_blocked()
        buffer.push(Notice("nearly"))
        buffer.push(END)
    assert results == [END.result]
    assert buffer.result == END.result


async def test_nothing_follows_the_end() -> None:
    buffer = EventBuffer()
    buffer.push(END)
    buffer.push(TextDelta("m", "late"))
    buffer.push(Finished(TurnResult(Outcome.LOST, "")))
    assert await read(buffer) == [END]
    assert buffer.result == END.result


async def test_a_second_reader_is_refused_and_takes_nothing_away() -> None:
    buffer = EventBuffer()
    buffer.push(END)
    assert await read(buffer) == [END]
    with pytest.raises(RuntimeError, match="the events of a turn can be read once"):
        await read(buffer)
