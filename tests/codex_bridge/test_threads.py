"""Which thread a turn runs on, and what is remembered of it, when turns, stores and servers fail in between.

On the fake Codex: the real one can hardly be made to fail at these moments.
"""

import os
import signal
import sqlite3
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from codex_bridge.bridge import CodexHarness
from codex_bridge.failures import REFUSED
from codex_bridge.threads import MOVES_ON, holds_of
from codex_bridge.turn import CodexTurn
from codex_bridge.wire.requests import TurnStartParams
from harness.compaction import Compaction, Summary, compaction_of
from harness.errors import StoreError
from harness.projection import INTRO
from harness.store.bindings import Bindings, bindings_at
from harness.store.bound import Binding, Holds
from harness.store.transcript import Spoken
from harness.turns import Notice, Outcome
from tests.support.serving import executable
from tests.support.turns import first_delta, harness_on_fake, has_quoted, quoting, words


class Failing(Bindings):
    """A store that fails where it is told to, and waits between a read and its answer where it is told to."""

    def __init__(self, real: Bindings) -> None:
        super().__init__(real._database, real._limits)  # pyright: ignore[reportPrivateUsage]
        self.broken: set[str] = set()
        self.reading: anyio.Event | None = None
        self.go_on = anyio.Event()
        self.written = anyio.Event()
        """Set by the next write that succeeds; put a new one to wait for another."""

    async def get(self, backend: str, session_key: str) -> Binding | None:
        self._check("get")
        found = await super().get(backend, session_key)
        if self.reading is not None:
            self.reading.set()
            await self.go_on.wait()
        return found

    async def put(self, binding: Binding) -> None:
        self._check("put")
        await super().put(binding)
        self.written.set()

    async def record(self, binding: Binding, spoken: Spoken) -> int:
        self._check("put")
        return await super().record(binding, spoken)

    async def unheard(self, session_key: str, conversation: str, heard: int) -> list[Spoken]:
        self._check("unheard")
        return await super().unheard(session_key, conversation, heard)

    async def forget(self, backend: str, session_key: str) -> None:
        self._check("forget")
        await super().forget(backend, session_key)

    async def clear(self, session_key: str) -> None:
        self._check("clear")
        await super().clear(session_key)

    def _check(self, call: str) -> None:
        if call in self.broken:
            raise StoreError("The store cannot be used: disk full.")


@asynccontextmanager
async def failing(folder: Path) -> AsyncGenerator[Failing]:
    async with bindings_at(folder / "bindings.sqlite") as real:
        yield Failing(real)


def told(turn: CodexTurn, *, heard: int) -> Holds:
    """What a conversation holds that was told everything of the turn but the quoted files."""
    return replace(holds_of(turn.lanes), context="", heard=heard)


async def kept(store: Bindings, chat: str = "a") -> tuple[str, Holds] | None:
    """The thread that a chat is bound to, and what the store says that it holds."""
    found = await store.get("codex", chat)
    return None if found is None else (found.conversation, found.holds)


def added(turn: CodexTurn) -> list[str]:
    """What the turn's request quoted as less than a person's words."""
    params = turn.sent[-1].params
    assert isinstance(params, TurnStartParams)
    return [entry.value for entry in (params.additional_context or {}).values() if entry.kind == "untrusted"]


async def notices(turn: CodexTurn) -> list[str]:
    return [event.text async for event in turn.events() if isinstance(event, Notice)]


def methods(turn: CodexTurn) -> list[str]:
    return [sent.method for sent in turn.sent]


async def outcome(turn: CodexTurn) -> Outcome:
    return (await turn.result()).outcome


async def settled(harness: CodexHarness) -> None:
    """Wait until the turns so far have left what they leave."""
    while harness.unfinished:
        await anyio.lowlevel.checkpoint()


async def test_a_turn_that_does_not_end_ends_for_us_even_when_its_thread_cannot_be_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("codex_bridge.stopping.INTERRUPT_DEADLINE", 0.1)
    async with failing(tmp_path) as store, harness_on_fake(tmp_path, store) as harness:
        stuck = harness.start(words("stubborn"))
        assert await first_delta(stuck) == "Let me"
        store.broken = {"forget"}
        await stuck.interrupt()
        stopped = await stuck.result()
        after = harness.start(words("echo"))
        answered = await after.result()

        store.broken = set()
        await settled(harness)
        bound = await kept(store)
    assert (stopped.outcome, stopped.text, stopped.conversation) == (Outcome.INTERRUPTED, "Let me", "thr_1")
    assert (answered.outcome, answered.conversation) == (Outcome.ANSWERED, "thr_2")
    assert methods(after) == ["thread/start", "turn/start"]
    assert bound == ("thr_2", told(after, heard=2))


async def test_a_store_that_fails_after_codex_took_a_turn_costs_no_answer(tmp_path: Path) -> None:
    async with failing(tmp_path) as store, harness_on_fake(tmp_path, store) as harness:
        await harness.start(words("echo")).result()
        await settled(harness)
        store.broken = {"put"}
        turns = [harness.start(quoting("stray")), harness.start(quoting("stray"))]
        results = [await turn.result() for turn in turns]
        await settled(harness)
        store.broken = set()
        assert await outcome(harness.start(words("echo"))) is Outcome.ANSWERED
        await settled(harness)
        bound = await kept(store)
    assert [result.text for result in results] == ["still here"] * 2
    assert [has_quoted(turn) for turn in turns] == [True, False]
    assert bound == ("thr_1", replace(holds_of(turns[0].lanes), heard=2))


NOT_KEPT = "The store cannot be used: disk full. Until it can, nothing new is remembered over a restart."


async def test_a_store_that_keeps_nothing_costs_no_turn_and_is_told_once_until_it_works(tmp_path: Path) -> None:
    async with failing(tmp_path) as store, harness_on_fake(tmp_path, store) as harness:
        told_of: list[list[str]] = []
        for broken in ({"put"}, {"put"}, set[str](), {"put"}, {"put"}):
            store.broken = broken
            turn = harness.start(words("echo"))
            told_of.append(await notices(turn))
            await settled(harness)
            assert await outcome(turn) is Outcome.ANSWERED
        store.broken = set()
        bound = await kept(store)
    assert told_of == [[NOT_KEPT], [], [], [], [NOT_KEPT]]
    assert bound is not None
    assert bound[0] == "thr_1"


async def test_a_conversation_that_is_forgotten_while_its_thread_is_looked_up_begins_anew(tmp_path: Path) -> None:
    async with failing(tmp_path) as store, harness_on_fake(tmp_path, store) as harness:
        await harness.start(words("echo")).result()
    async with failing(tmp_path) as store, harness_on_fake(tmp_path, store) as harness:
        store.reading = anyio.Event()
        old = harness.start(quoting("stray"))
        await store.reading.wait()
        await harness.forget("a")
        store.go_on.set()
        assert await outcome(old) is Outcome.ANSWERED
        new = harness.start(words("echo"))
        assert await outcome(new) is Outcome.ANSWERED
        bound = await kept(store)
    assert methods(old) == ["thread/resume", "turn/start"]
    assert methods(new) == ["thread/start", "turn/start"]
    assert bound is not None
    assert bound[0] == (await new.result()).conversation


async def test_a_conversation_that_is_forgotten_while_a_turn_runs_begins_anew(tmp_path: Path) -> None:
    async with failing(tmp_path) as store, harness_on_fake(tmp_path, store) as harness:
        running = harness.start(quoting("stall"))
        await first_delta(running)
        await harness.forget("a")
        await running.interrupt()
        assert await store.get("codex", "a") is None
        new = harness.start(words("echo"))
        result = await new.result()
        await settled(harness)
        said = [each.said for each in await store.unheard("a", "", 0)]
    assert (said, added(new)) == (["echo"], [])
    assert methods(new) == ["thread/start", "turn/start"]
    assert result.outcome is Outcome.ANSWERED


async def test_what_a_killed_server_may_not_have_written_down_is_quoted_again(tmp_path: Path) -> None:
    async with failing(tmp_path) as store, harness_on_fake(tmp_path, store) as harness:
        lost = harness.start(quoting("stall"))
        await first_delta(lost)
        os.kill((await harness.ready()).pid, signal.SIGKILL)
        assert await outcome(lost) is Outcome.LOST
        bound = await kept(store)
        after = harness.start(quoting("stray"))
        await after.result()
    assert bound == ("thr_1", Holds())
    assert (methods(after), has_quoted(after)) == (["thread/resume", "turn/start"], True)


async def test_what_a_conversation_holds_is_quoted_anew_after_a_compaction(tmp_path: Path) -> None:
    """Also when nobody's turn runs, and in later processes."""
    async with failing(tmp_path) as store, harness_on_fake(tmp_path, store) as harness:
        turns = [harness.start(quoting(text)) for text in ("stray", "stray", "compact still here", "stray", "stray")]
        for turn in turns:
            await turn.result()
        await harness.start(quoting("compact still here")).result()
        await settled(harness)
        bound = await kept(store)
    assert [has_quoted(turn) for turn in turns] == [True, False, False, True, False]
    assert bound == ("thr_1", told(turns[0], heard=6))


async def test_a_compaction_is_remembered_at_once_and_outlives_a_killed_gateway(tmp_path: Path) -> None:
    async with failing(tmp_path) as store, harness_on_fake(tmp_path, store) as harness:
        await harness.start(quoting("stray")).result()
        await settled(harness)
        store.written = anyio.Event()
        running = harness.start(quoting("compact-and-stall"))
        await store.written.wait()
        bound = await kept(store)
        assert running.buffer.result is None
    assert bound == ("thr_1", told(running, heard=1))


async def test_a_server_that_dies_in_its_handshake_costs_no_chat_its_answer(tmp_path: Path) -> None:
    flaky, flag = tmp_path / "flaky", tmp_path / "died-once"
    whole = executable(tmp_path, "codex")
    flaky.write_text(f"#!/bin/sh\nif [ -e '{flag}' ]; then exec '{whole}'; fi\ntouch '{flag}'\nkill -9 $$\n", "utf-8")
    flaky.chmod(0o755)
    async with harness_on_fake(tmp_path, binary=flaky) as harness:
        turns = [harness.start(words("echo", chat=str(chat))) for chat in range(3)]
        results = [await turn.result() for turn in turns]
    assert [result.text for result in results] == ["pong"] * 3
    assert flag.exists()


async def test_a_locked_store_holds_up_all_waiting_chats_together_and_takes_no_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.store.database.BUSY_SECONDS", 0.3)
    async with failing(tmp_path) as store, harness_on_fake(tmp_path, store) as harness:
        await harness.ready()
        other = sqlite3.connect(tmp_path / "bindings.sqlite", isolation_level=None)
        other.execute("BEGIN EXCLUSIVE")
        before = time.monotonic()
        turns = [harness.start(words("echo", chat=str(chat))) for chat in range(12)]
        told_of = [await notices(turn) for turn in turns]
        waited = time.monotonic() - before
        other.execute("COMMIT")
        other.close()
        await settled(harness)
        after = harness.start(words("echo", chat="0"))
        assert await notices(after) == []
        results = [await turn.result() for turn in (*turns, after)]
    text = f"The store {tmp_path}/bindings.sqlite cannot be used: database is locked."
    assert {result.text for result in results} == {"pong"}
    assert [each for each in told_of if each] == [[f"{text} Until it can, nothing new is remembered over a restart."]]
    assert waited < 12 * 0.3
    assert methods(after) == ["turn/start"]


async def test_a_store_that_cannot_say_which_thread_is_whose_has_the_turn_run_aside_and_keeps_the_thread(
    tmp_path: Path,
) -> None:
    async with failing(tmp_path) as store, harness_on_fake(tmp_path, store) as harness:
        await harness.start(words("echo first")).result()
    async with failing(tmp_path) as store, harness_on_fake(tmp_path, store) as harness:
        store.broken = {"get"}
        aside = harness.start(words("echo second"))
        told_of = await notices(aside)
        await settled(harness)
        store.broken = set()
        after = harness.start(words("echo third"))
        assert await notices(after) == []
        results = [await turn.result() for turn in (aside, after)]
    assert told_of == ["The store cannot be used: disk full. This turn runs without the conversation so far."]
    assert [result.text for result in results] == ["second", "third"]
    assert methods(aside) == ["thread/start", "turn/start"]
    assert methods(after) == ["thread/resume", "turn/start"]
    assert added(after) == [f"{INTRO}\n\nThey wrote:\n> echo second\nYou answered:\n> second"]


async def test_a_conversation_that_cannot_be_deleted_is_not_seen_again_and_goes_as_soon_as_it_can(
    tmp_path: Path,
) -> None:
    async with failing(tmp_path) as store, harness_on_fake(tmp_path, store) as harness:
        await harness.start(words("echo secret")).result()
        await settled(harness)
        store.broken = {"clear"}
        fresh = harness.start(replace(words("echo new"), fresh=True))
        told_of = await notices(fresh)
        await settled(harness)
        store.broken = set()
        after = harness.start(words("echo after"))
        assert await outcome(after) is Outcome.ANSWERED
        await settled(harness)
        said = [each.said for each in await store.unheard("a", "", 0)]
    assert told_of == [
        "The store cannot be used: disk full. This conversation begins anew all the same.",
        NOT_KEPT,
    ]
    assert (methods(fresh), added(fresh), added(after)) == (["thread/start", "turn/start"], [], [])
    assert said == ["echo after"]


FULL = "Codex cannot write to its disk; make room, or give its folder back its rights, and try again."
HELD = "Another process, a gateway or codex-bridge, has this conversation open; close it there and try again."
NEW = ["thread/start", "turn/start"]


@pytest.mark.parametrize(
    ("thread", "sent", "told_of", "error", "keeps"),
    [
        ("gone", NEW, ["Codex no longer has this conversation. It goes on in a new thread."], "", False),
        (
            "puzzling",
            NEW,
            ["Codex could not load this conversation; this turn runs in a thread of its own."],
            "",
            True,
        ),
        ("busy", ["turn/start"], [], "", True),
        ("full", [], [], FULL, True),
        ("held", [], [], HELD, True),
    ],
)
async def test_each_refusal_of_a_thread_has_its_own_end(
    tmp_path: Path, thread: str, sent: list[str], told_of: list[str], error: str, keeps: bool
) -> None:
    async with failing(tmp_path) as store, harness_on_fake(tmp_path, store) as harness:
        before = Binding("codex", "a", f"thr_{thread}", Holds(heard=1))
        await store.record(before, Spoken(said="heron", answered="osprey", conversation=f"thr_{thread}"))
        turn = harness.start(words("echo"))
        assert await notices(turn) == told_of
        result = await turn.result()
        await settled(harness)
        bound = await kept(store)
    assert methods(turn) == ["thread/resume", *sent]
    assert (result.error, result.text) == (error, "" if error else "pong")
    assert bound is not None
    assert (bound[0] == f"thr_{thread}") is keeps
    assert (["> heron" in text for text in added(turn)] if sent else []) == [True] * (len(sent) == 2)


@pytest.mark.parametrize(
    ("thread", "summary", "sentence", "keeps"),
    [
        (
            "gone",
            Summary.NOTHING,
            f"There is nothing to summarise. Codex no longer has this conversation. {MOVES_ON}",
            False,
        ),
        ("puzzling", Summary.FAILED, f"The conversation could not be summarised. {REFUSED}", True),
        ("full", Summary.FAILED, f"The conversation could not be summarised. {FULL}", True),
        ("held", Summary.FAILED, f"The conversation could not be summarised. {HELD}", True),
    ],
)
async def test_each_refusal_of_a_thread_that_is_to_be_summarised_has_its_own_end(
    tmp_path: Path, thread: str, summary: Summary, sentence: str, keeps: bool
) -> None:
    """C2, C3: the recovery is the same for every method, and what is no longer there is no error."""
    async with failing(tmp_path) as store, harness_on_fake(tmp_path, store) as harness:
        before = Binding("codex", "a", f"thr_{thread}", Holds(heard=1))
        await store.record(before, Spoken(said="heron", answered="osprey", conversation=f"thr_{thread}"))
        turn = harness.compact(words(""))
        result = await turn.result()
        await settled(harness)
        bound = await kept(store)
    assert methods(turn) == ["thread/resume"]
    assert compaction_of(result) == Compaction(summary, sentence)
    assert (bound is not None) is keeps


async def test_what_was_quoted_in_vain_is_quoted_again(tmp_path: Path) -> None:
    """C11: what a refused turn told was not heard."""
    async with failing(tmp_path) as store, harness_on_fake(tmp_path, store) as harness:
        await harness.start(words("echo")).result()
        await settled(harness)
        await store.mirror("a", Spoken(answered="The vents are stuck."))
        refused = harness.start(words("once full"))
        result = await refused.result()
        after = harness.start(words("echo"))
        assert await outcome(after) is Outcome.ANSWERED
        last = harness.start(words("echo"))
        assert await outcome(last) is Outcome.ANSWERED
        await settled(harness)
        said = [each.said for each in await store.unheard("a", "another", 0)]
    assert result.error == FULL
    assert [len(added(turn)) for turn in (refused, after, last)] == [1, 1, 0]
    assert added(refused) == added(after)
    assert said == ["echo", "echo", "", "echo"]


async def test_a_turn_that_comes_while_the_thread_is_busy_is_begun_once_more(tmp_path: Path) -> None:
    async with failing(tmp_path) as store, harness_on_fake(tmp_path, store) as harness:
        turn = harness.start(words("once busy"))
        result = await turn.result()
    assert (result.outcome, result.text) == (Outcome.ANSWERED, "busy")
    assert methods(turn) == ["thread/start", "turn/start", "turn/start"]


async def test_a_conversation_is_begun_anew_also_when_no_server_could_be_started_for_that(tmp_path: Path) -> None:
    async with failing(tmp_path) as store:
        async with harness_on_fake(tmp_path, store) as harness:
            await harness.start(words("echo")).result()
            await settled(harness)
        before = await kept(store)
        async with harness_on_fake(tmp_path, store, binary=executable(tmp_path, "stillborn")) as harness:
            failed = await harness.start(replace(words("echo"), fresh=True)).result()
        between = (await kept(store), await store.unheard("a", "another", 0))
        async with harness_on_fake(tmp_path, store) as harness:
            turn = harness.start(words("echo"))
            assert await notices(turn) == []
    assert before is not None
    assert (failed.outcome, between) == (Outcome.FAILED, (None, []))
    assert (methods(turn), added(turn)) == (["thread/start", "turn/start"], [])
