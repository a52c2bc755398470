"""Threads that nobody uses are unloaded and come back with their next turn, and nothing at work is ended for it.

On a fake Codex and a clock that the test moves.
"""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Never

import anyio
import anyio.lowlevel
import pytest

from codex_bridge.bridge import CodexHarness
from codex_bridge.idle import AFTER, Rest, tired
from codex_bridge.servers import OpenThread
from codex_bridge.turn import CodexTurn
from codex_bridge.wire.requests import Thread, ThreadOpened
from harness.store.bound import Basis, Holds
from harness.turns import TurnRequest
from tests.codex_bridge.test_threads import failing, quoting
from tests.support.time import HandClock
from tests.support.turns import first_delta, harness_on_fake, words


def thread(used_at: float, *told: str) -> OpenThread:
    opened = ThreadOpened(thread=Thread(id=f"thr_{used_at}"), model="gpt-5.5")
    return OpenThread(opened, Basis(), Holds(), Holds(), None, {}, used_at=used_at, told=told)


def test_threads_are_tired_after_so_long_and_the_longest_idle_ones_when_there_are_too_many() -> None:
    threads = {"c": thread(30), "a": thread(10), "b": thread(20), "d": thread(40)}
    assert tired(threads, Rest(after=100, most=9), 119) == ["a"]
    assert tired(threads, Rest(after=100, most=9), 130) == ["c", "a", "b"]
    assert tired(threads, Rest(after=100, most=2), 50) == ["a", "b"]
    assert tired(threads, Rest(after=100, most=2), 115) == ["a", "b"]
    assert tired(threads, Rest(after=0, most=3), 10_000) == ["a"]


def test_threads_whose_persona_would_be_said_again_are_unloaded_last_and_only_when_there_are_too_many() -> None:
    threads = {"a": thread(10, "gpt-6-sol", "soul"), "b": thread(20), "c": thread(30, "gpt-6-sol", "soul")}
    assert tired(threads, Rest(after=100, most=9), 10_000) == ["b"]
    assert tired(threads, Rest(after=100, most=2), 50) == ["b"]
    assert tired(threads, Rest(after=100, most=1), 50) == ["b", "a"]


class Chats:
    """Chats of one harness, and a clock."""

    def __init__(self, harness: CodexHarness, clock: HandClock) -> None:
        self.harness = harness
        self.clock = clock
        self._asking = set[str]()

    async def ask(self, text: str = "echo", *, chat: str = "a") -> CodexTurn:
        turn = self.harness.start(words(text, chat=chat))
        await turn.result()
        await self.settled()
        return turn

    async def pause(self, seconds: float) -> None:
        self.clock.advance(seconds)
        await self.settled()

    async def settled(self) -> None:
        """Wait until nobody has anything to do."""
        client = (await self.harness.ready()).client
        while True:
            await anyio.wait_all_tasks_blocked()
            if not client.in_flight and not self.harness.unfinished:
                return
            await anyio.lowlevel.checkpoint()

    async def left(self) -> list[str]:
        """The threads that the server has unloaded so far, but for that of the chat in which this is asked."""
        result = await self.harness.start(words("left", chat="asking")).result()
        self._asking.add(result.conversation)
        return [each for each in result.text.split() if each not in ("none", *self._asking)]


@asynccontextmanager
async def chats(folder: Path, rest: Rest = Rest()) -> AsyncGenerator[Chats]:  # noqa: B008 - frozen
    clock = HandClock()
    async with harness_on_fake(folder, clock=clock, rest=rest) as harness:
        yield Chats(harness, clock)


def methods(turn: CodexTurn) -> list[str]:
    return [sent.method for sent in turn.sent]


async def test_a_chat_that_is_silent_for_so_long_is_unloaded_and_goes_on_in_its_thread(tmp_path: Path) -> None:
    async with chats(tmp_path) as play:
        first = await play.ask()
        await play.pause(AFTER - 1)
        assert methods(await play.ask("echo again")) == ["turn/start"]
        await play.pause(AFTER)
        assert await play.left() == ["thr_1"]
        after = await play.ask("echo once more")
    assert methods(after) == ["thread/resume", "turn/start"]
    assert (await after.result()).conversation == (await first.result()).conversation
    resumed = after.sent[0].to_wire()
    assert resumed["developerInstructions"] == first.sent[0].to_wire()["developerInstructions"]
    assert resumed["excludeTurns"] is True


async def test_one_timer_serves_all_chats_and_each_has_its_own_time(tmp_path: Path) -> None:
    async with chats(tmp_path, Rest(after=100)) as play:
        for chat in "abc":
            await play.ask(chat=chat)
            await play.pause(30)
        rests = [when for when in play.clock.pending if when in (100, 130, 160)]
        assert rests == [100]
        await play.pause(10)
        assert await play.left() == ["thr_1"]
        await play.pause(60)
        assert await play.left() == ["thr_1", "thr_2", "thr_3"]


async def test_when_too_many_are_loaded_the_one_goes_that_was_silent_longest(tmp_path: Path) -> None:
    async with chats(tmp_path, Rest(most=2)) as play:
        for chat in "aba":
            await play.ask(chat=chat)
            await play.pause(1)
        await play.ask(chat="c")
        third = await play.left()
        again = await play.ask(chat="a")
    assert third[:1] == ["thr_2"]
    assert "thr_1" not in third or methods(again) == ["thread/resume", "turn/start"]


async def test_a_running_turn_keeps_its_thread_however_long_it_takes(tmp_path: Path) -> None:
    async with chats(tmp_path, Rest(after=10)) as play:
        await play.ask()
        running = play.harness.start(replace(words("stall"), seconds=1e6))
        await first_delta(running)
        play.clock.advance(15)
        await anyio.wait_all_tasks_blocked()
        assert await play.left() == []
        await running.interrupt()
        await play.settled()
        assert await play.left() == []
        await play.pause(10)
        assert await play.left() == ["thr_1"]


async def test_a_thread_of_which_the_store_does_not_know_all_stays_loaded(tmp_path: Path) -> None:
    clock = HandClock()
    async with (
        failing(tmp_path) as store,
        harness_on_fake(tmp_path, store, clock=clock, rest=Rest(after=10)) as harness,
    ):
        play = Chats(harness, clock)
        await play.ask()
        store.broken = {"put"}
        await play.harness.start(quoting("echo again")).result()
        await play.settled()
        await play.pause(60)
        assert await play.left() == []
        store.broken = set()
        await play.pause(60)
        assert await play.left() == ["thr_1"]


async def test_a_command_that_outlasts_its_turn_keeps_the_thread_until_it_is_over(tmp_path: Path) -> None:
    async with chats(tmp_path, Rest(after=10)) as play:
        await play.ask("background")
        await play.pause(60)
        assert await play.left() == []
        assert methods(await play.ask("background over")) == ["turn/start"]
        await play.pause(10)
        assert await play.left() == ["thr_1"]


async def test_a_subagent_at_work_keeps_the_thread_and_one_that_is_done_is_unloaded_with_it(tmp_path: Path) -> None:
    async with chats(tmp_path, Rest(after=10)) as play:
        await play.ask("spawn outlives", chat="a")
        await play.ask("spawn", chat="b")
        await play.pause(60)
        assert await play.left() == ["thr_2", "child_of_thr_2"]


async def test_the_thread_of_a_conversation_that_begins_anew_is_unloaded(tmp_path: Path) -> None:
    async with chats(tmp_path) as play:
        await play.ask()
        fresh: TurnRequest = replace(words("echo anew"), fresh=True)
        await play.harness.start(fresh).result()
        await play.settled()
        assert await play.left() == ["thr_1"]
        await play.harness.forget("a")
        await play.ask(chat="b")
        assert await play.left() == ["thr_1", "thr_2"]


async def test_a_forgotten_conversation_with_a_command_at_work_stays_until_that_is_over(tmp_path: Path) -> None:
    async with chats(tmp_path, Rest(after=10)) as play:
        await play.ask("background")
        await play.harness.forget("a")
        await play.ask(chat="b")
        await play.pause(60)
        assert "thr_1" not in await play.left()


async def test_nothing_is_unloaded_where_the_time_for_it_is_none(tmp_path: Path) -> None:
    async with chats(tmp_path, Rest(after=0)) as play:
        await play.ask()
        await play.pause(1e7)
        assert await play.left() == []


async def test_threads_are_unloaded_again_after_a_time_at_which_there_was_no_server(tmp_path: Path) -> None:
    async with chats(tmp_path, Rest(after=100)) as play:
        await play.ask()
        client = (await play.harness.ready()).client
        await client.transport.aclose()
        await client.closed.wait()
        await anyio.wait_all_tasks_blocked()
        assert play.harness.server is None
        play.clock.advance(100)
        await anyio.wait_all_tasks_blocked()
        await play.ask()
        await play.pause(100)
        assert methods(await play.ask("echo again")) == ["thread/resume", "turn/start"]


async def test_a_look_that_breaks_is_not_the_last_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(*_: object) -> Never:
        raise ZeroDivisionError

    async with chats(tmp_path, Rest(after=100)) as play:
        await play.ask()
        with monkeypatch.context() as patched:
            patched.setattr("codex_bridge.idle.tired", breaks)
            await play.pause(100)
        await play.ask()
        await play.pause(100)
        assert methods(await play.ask("echo again")) == ["thread/resume", "turn/start"]
