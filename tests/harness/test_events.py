import tracemalloc

import anyio
import pytest

from harness.events import EventBuffer
from harness.outputs import MOST_OUTPUT, MOST_OUTPUTS
from harness.turns import (
    CommandFinished,
    CommandOutput,
    CommandStarted,
    Commentary,
    Finished,
    Notice,
    Outcome,
    TextDelta,
    TurnEvent,
    TurnResult,
    Usage,
    UsageCounted,
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


async def test_a_command_that_prints_without_end_takes_no_more_than_its_share_when_nobody_reads() -> None:
    """A slow consumer loses nothing but the middle of that, and is told how much."""
    buffer = EventBuffer()
    megabyte = "x" * 999_999 + "\n"
    buffer.push(TextDelta("m", "Before."))
    tracemalloc.start()
    try:
        for _ in range(100):
            buffer.push(CommandOutput("c", "".join(megabyte)))
        held = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    for event in (CommandOutput("c", "the end\n"), CommandFinished("c", "yes", "completed", 0), END):
        buffer.push(event)
    before, output, *after = await read(buffer)
    assert held < 3 * MOST_OUTPUT
    assert (before, after) == (TextDelta("m", "Before."), [CommandFinished("c", "yes", "completed", 0), END])
    omitted = 100_000_000 + len("the end\n") - MOST_OUTPUT
    assert isinstance(output, CommandOutput)
    assert (output.item, output.whole, output.omitted) == ("c", False, omitted)
    head, marker, *tail = output.text.splitlines()
    assert (head, marker, tail[-1]) == ("x" * (MOST_OUTPUT // 2), f"[{omitted:,} bytes not shown]", "the end")
    assert len(output.text.encode()) == MOST_OUTPUT + len(f"\n{marker}\n")


async def test_the_output_of_very_many_commands_is_bounded_too_and_the_newest_is_kept() -> None:
    buffer, piece = EventBuffer(), "y" * (MOST_OUTPUT // 2)
    count = 4 * MOST_OUTPUTS // len(piece)
    for number in range(count):
        buffer.push(CommandOutput(f"c{number}", piece))
        buffer.push(CommandFinished(f"c{number}", "yes", "completed", 0))
    buffer.push(END)
    events = [event for event in await read(buffer) if isinstance(event, CommandOutput)]
    assert [event.item for event in events] == [f"c{number}" for number in range(count)]
    kept = [event for event in events if not event.omitted]
    assert kept == events[-len(kept) :]
    assert len(kept) * len(piece) == MOST_OUTPUTS + len(piece)
    assert {event.text for event in events[: -len(kept)]} == {f"\n[{len(piece):,} bytes not shown]\n"}


async def test_the_output_of_commands_that_run_at_the_same_time_is_joined_for_each() -> None:
    buffer = EventBuffer()
    for _ in range(20_000):
        buffer.push(CommandOutput("a", "1"))
        buffer.push(CommandOutput("b", "2"))
    buffer.push(END)
    assert await read(buffer) == [CommandOutput("a", "1" * 20_000), CommandOutput("b", "2" * 20_000), END]


async def test_all_of_an_output_takes_the_place_of_the_pieces_that_nobody_read() -> None:
    buffer = EventBuffer()
    for event in (CommandOutput("c", "half of"), CommandOutput("c", "all of it", whole=True), CommandOutput("c", "!")):
        buffer.push(event)
    buffer.push(END)
    assert await read(buffer) == [CommandOutput("c", "all of it!", whole=True), END]


async def test_an_output_is_cut_between_characters() -> None:
    buffer = EventBuffer()
    buffer.push(CommandOutput("c", "a" + "\u20ac" * MOST_OUTPUT))
    buffer.push(END)
    output = (await read(buffer))[0]
    assert isinstance(output, CommandOutput)
    assert set(output.text) == set(f"a\u20ac\n[{output.omitted:,} bytes not shown]")


async def test_of_several_counts_in_a_row_the_last_one_says_it_all() -> None:
    buffer = EventBuffer()
    counts = [UsageCounted(Usage(number), 100, number) for number in range(1, 6)]
    for event in (*counts[:3], Notice("then"), *counts[3:], END):
        buffer.push(event)
    assert await read(buffer) == [counts[2], Notice("then"), counts[4], END]
