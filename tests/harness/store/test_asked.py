"""What people were asked is known over restarts, ends once, and is forgotten in time."""

import sqlite3
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from harness.store.asked import PRUNE_EVERY, Asked, AskState, Parked
from harness.store.bindings import bindings_at

PARKED = Parked(
    identity="one",
    handle="digest of a handle",
    digest="digest of it",
    session_key="agent:main:telegram:direct:7",
    thread="thread",
    channel="telegram",
    chat="7",
    topic="3",
    card="{}",
    expires_at=1_600.5,
)


@asynccontextmanager
async def asked_at(folder: Path) -> AsyncGenerator[Asked]:
    async with bindings_at(folder / "store.sqlite") as bindings:
        yield Asked(bindings.database)


def rows(folder: Path, statement: str) -> list[tuple[object, ...]]:
    with sqlite3.connect(folder / "store.sqlite") as connection:
        return list(connection.execute(statement))


async def test_an_ask_is_found_by_its_handle_and_ends_once(tmp_path: Path) -> None:
    async with asked_at(tmp_path) as asked:
        await asked.park(PARKED)
        await asked.sent("one", "12")
        assert await asked.by_handle(PARKED.handle) == replace(PARKED, sent_as="12")
        ends = [
            await asked.settle("one", state, told, answer=answer)
            for state, told, answer in [(AskState.ANSWERED, "Allowed.", "yes"), (AskState.OVER, "Expired.", "no")]
        ]
        assert ends == [True, False]
        over = replace(PARKED, sent_as="12", card="", state=AskState.ANSWERED, told="Allowed.", answer="yes")
        assert await asked.by_handle(PARKED.handle) == over
        await asked.forget_answer("one")
        assert await asked.by_handle(PARKED.handle) == replace(over, answer="")
        assert await asked.by_handle("another") is None


async def test_a_start_takes_over_what_outlived_the_gateway_and_loses_the_rest(tmp_path: Path) -> None:
    outlives = replace(PARKED, identity="two", handle="second", outlives=True)
    answered = replace(PARKED, identity="three", handle="third", outlives=True)
    settled = replace(PARKED, identity="four", handle="fourth")
    async with asked_at(tmp_path) as asked:
        for each in (PARKED, outlives, answered, settled):
            await asked.park(each)
        await asked.settle("three", AskState.ANSWERED, "Allowed.", answer="yes")
        await asked.settle("four", AskState.OVER, "Expired.")
        assert await asked.adopt() == ([], [])  # they are this process's own
    answered = replace(answered, card="", state=AskState.ANSWERED, told="Allowed.", answer="yes")
    async with asked_at(tmp_path) as asked:
        assert await asked.adopt() == ([outlives, answered], [PARKED])
        assert await asked.adopt() == ([], [])
        assert [await asked.tell_lost("one") for _ in range(2)] == [True, False]
        assert not await asked.settle("one", AskState.ANSWERED, "Allowed.", answer="yes")
        assert await asked.by_handle(PARKED.handle) == replace(PARKED, card="", state=AskState.TOLD)
    async with asked_at(tmp_path) as asked:
        assert await asked.adopt() == ([outlives, answered], [])


async def test_what_is_asked_again_stands_in_the_place_of_the_first(tmp_path: Path) -> None:
    async with asked_at(tmp_path) as asked:
        await asked.park(PARKED)
        await asked.park(replace(PARKED, handle="another"))
        assert await asked.by_handle(PARKED.handle) is None
    assert rows(tmp_path, "SELECT handle FROM asked") == [("another",)]


async def test_what_is_over_is_forgotten_in_time_and_what_is_open_never(tmp_path: Path) -> None:
    async with bindings_at(tmp_path / "store.sqlite") as bindings:
        asked = Asked(bindings.database, kept=5)
        await asked.park(replace(PARKED, identity="open"))
        for number in range(PRUNE_EVERY):
            await asked.park(replace(PARKED, identity=str(number)))
            await asked.settle(str(number), AskState.OVER, "Expired.")
    assert rows(tmp_path, "SELECT COUNT(*), MAX(identity = 'open') FROM asked") == [(6, 1)]


async def test_half_a_character_and_damaged_values_cost_nothing_else(tmp_path: Path) -> None:
    async with asked_at(tmp_path) as asked:
        await asked.park(replace(PARKED, card="\ud800"))
        await asked.park(replace(PARKED, identity="two", handle="second", outlives=True))
    with sqlite3.connect(tmp_path / "store.sqlite") as connection:
        connection.execute("UPDATE asked SET expires_at = 'soon', state = 'open' WHERE identity = 'one'")
        connection.execute("UPDATE asked SET state = 'granted' WHERE identity = 'two'")
    async with asked_at(tmp_path) as asked:
        kept, lost = await asked.adopt()
        assert ([(each.identity, each.state) for each in kept], lost) == ([("two", AskState.OVER)], [])
        assert await asked.by_handle(PARKED.handle) is None
