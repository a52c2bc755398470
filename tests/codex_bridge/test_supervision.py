"""A server that dies again and again is started more slowly, then not for a while, and one bad chat harms no other."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from codex_bridge.binary import CodexBinary
from codex_bridge.bridge import CodexHarness
from codex_bridge.errors import ConnectionLostError, ServerRestsError
from codex_bridge.hosts import Host
from codex_bridge.restarts import Patience
from codex_bridge.turn import CodexTurn
from harness.store.bindings import bindings_at
from harness.store.bound import Binding
from harness.tasks import beside
from harness.turns import EndedBy, Failure, Notice, Outcome, TurnResult
from tests.support.serving import LIMIT, executable
from tests.support.time import HandClock
from tests.support.turns import first_delta, harness_on_fake, launch, words

AT_ONCE = Patience(first_wait=0.0)
"""Without the pauses, which a test would have to wait for."""


class Machine:
    """A Codex that dies at once while it is broken."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.path = folder / "codex-that-breaks"
        lines = [
            "#!/bin/sh",
            f"echo x >> {folder}/starts",
            f"if [ -e {folder}/broken ]; then echo 'Error: the disk is gone' >&2; exit 3; fi",
            f"exec {executable(folder, 'codex')}",
        ]
        self.path.write_text("\n".join(lines) + "\n", "utf-8")
        self.path.chmod(0o755)

    @property
    def starts(self) -> int:
        """How often it was started."""
        starts = self._folder / "starts"
        return len(starts.read_text("utf-8").split()) if starts.exists() else 0

    def break_down(self) -> None:
        (self._folder / "broken").touch()

    def repair(self) -> None:
        (self._folder / "broken").unlink()


@asynccontextmanager
async def host_of(machine: Machine, folder: Path, clock: HandClock) -> AsyncGenerator[Host]:
    source = replace(launch(folder, "codex"), binary=CodexBinary(machine.path, "the test"))
    with anyio.fail_after(LIMIT):
        async with beside() as group:
            yield Host(group, source, lambda: 0.0, clock, Patience())


async def death_of(host: Host) -> ConnectionLostError:
    with pytest.raises(ConnectionLostError) as died:
        await host.get()
    return died.value


async def test_a_server_that_dies_at_once_is_started_more_slowly_each_time_and_then_rests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("codex_bridge.hosts.random", lambda: 0.0)
    machine, clock = Machine(tmp_path), HandClock()
    machine.break_down()
    async with host_of(machine, tmp_path, clock) as host:
        assert (await death_of(host)).detail == "Error: the disk is gone"
        await death_of(host)
        for wait in (0.5, 1.0, 2.0):
            async with anyio.create_task_group() as group:
                group.start_soon(death_of, host)
                while not clock.pending:
                    await anyio.lowlevel.checkpoint()
                assert clock.pending == [clock.time() + wait]
                clock.advance(wait)
        assert machine.starts == 5

        for seconds, rest in ((0, 30), (10, 20)):
            clock.advance(seconds)
            with pytest.raises(ServerRestsError) as rests:
                await host.get()
            assert (str(rests.value), rests.value.seconds, rests.value.detail) == (
                "it went away 5 times in a row soon after its start, the last time because it exited with status 3; "
                f"the next try is in {rest} s",
                rest,
                "Error: the disk is gone",
            )
        assert machine.starts == 5

        clock.advance(20)
        await death_of(host)
        with pytest.raises(ServerRestsError, match=r"6 times in a row .* in 60 s"):
            await host.get()
        machine.repair()
        clock.advance(60)
        assert (await host.get()).server.client.lost is None


async def test_whoever_waits_for_the_next_start_can_give_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("codex_bridge.hosts.random", lambda: 0.0)
    machine, clock = Machine(tmp_path), HandClock()
    machine.break_down()
    async with host_of(machine, tmp_path, clock) as host:
        await death_of(host)
        await death_of(host)
        async with anyio.create_task_group() as group:
            group.start_soon(host.get)
            while not clock.pending:
                await anyio.lowlevel.checkpoint()
            group.cancel_scope.cancel()
        machine.repair()
        clock.advance(0.5)
        assert (await host.get()).server.client.lost is None
        assert machine.starts == 3


async def test_a_server_that_we_close_has_not_died(tmp_path: Path) -> None:
    machine, clock = Machine(tmp_path), HandClock()
    async with host_of(machine, tmp_path, clock) as host:
        for number in range(1, 8):
            life = await host.get()
            await host.retire(life, "the test wants another one")
            await life.server.client.closed.wait()
            assert (machine.starts, clock.pending) == (number, [])


async def ask(harness: CodexHarness, text: str = "echo", *, chat: str = "a") -> TurnResult:
    return await harness.start(words(text, chat=chat)).result()


async def notices(turn: CodexTurn) -> list[str]:
    return [event.text async for event in turn.events() if isinstance(event, Notice)]


async def test_turns_fail_at_once_while_the_server_rests_and_none_starts_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    machine = Machine(tmp_path)
    machine.break_down()
    async with harness_on_fake(tmp_path, binary=machine.path, patience=AT_ONCE) as harness:
        for _ in range(3):
            await ask(harness)
        assert machine.starts == 5
        failed = [await ask(harness, chat=chat) for chat in ("a", "b", "c")]
    assert machine.starts == 5
    told = "Codex could not be started: it went away 5 times in a row soon after its start, the last time because it "
    assert [each.error.startswith(told + "exited with status 3; the next try is in ") for each in failed] == [True] * 3
    assert {(each.outcome, each.failure, each.ended_by) for each in failed} == {
        (Outcome.FAILED, Failure.SERVER, EndedBy.LOSS)
    }
    assert "Error: the disk is gone" in failed[0].detail


async def test_a_mistake_of_ours_at_a_start_fails_that_start_and_not_the_gateway(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(*_: object) -> str:
        monkeypatch.undo()
        raise RuntimeError("a mistake of ours")

    monkeypatch.setattr("codex_bridge.hosts.Host._check_account", broken)
    async with harness_on_fake(tmp_path) as harness:
        failed, after = await ask(harness), await ask(harness)
    assert (failed.outcome, failed.error) == (
        Outcome.FAILED,
        "The bridge had an internal error with Codex; the log has the details.",
    )
    assert after.outcome is Outcome.ANSWERED
    assert "a mistake of ours" in caplog.text


async def test_a_mistake_of_ours_while_a_loss_is_looked_into_ends_the_turn_as_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(*_: object, **__: object) -> None:
        raise RuntimeError("a mistake of ours")

    monkeypatch.setattr("codex_bridge.reconcile.trace", broken)
    async with harness_on_fake(tmp_path) as harness:
        lost = await ask(harness, "die")
        after = await ask(harness)
    assert (lost.outcome, after.outcome) == (Outcome.LOST, Outcome.ANSWERED)
    assert "a mistake of ours" in caplog.text


async def test_a_server_that_dies_between_whole_turns_is_always_started_again(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    async with harness_on_fake(tmp_path, binary=machine.path) as harness:
        for number in range(8):
            assert (await ask(harness)).outcome is Outcome.ANSWERED
            assert (await ask(harness, "die", chat=f"b{number}")).outcome is Outcome.LOST
    assert machine.starts == 9


async def test_a_chat_whose_turns_kill_the_server_goes_on_in_a_fresh_thread(tmp_path: Path) -> None:
    async with harness_on_fake(tmp_path, patience=AT_ONCE) as harness:
        assert (await ask(harness)).outcome is Outcome.ANSWERED
        lost = [await ask(harness, "die Hm.") for _ in range(2)]
        turn = harness.start(words("echo"))
        told, after = await notices(turn), await turn.result()
        third = await ask(harness, "die Hm.")
        again = harness.start(words("echo"))
        calm = await notices(again)
    stopped = "Codex stopped in the middle of this turn: it exited with status 101."
    assert [each.error for each in lost] == [
        stopped,
        f"{stopped} The next message goes on in a new thread, which is told what was said last.",
    ]
    assert (told, after.outcome) == (
        ["Codex stopped twice in the middle of this conversation. It goes on in a new thread."],
        Outcome.ANSWERED,
    )
    assert [sent.method for sent in turn.sent] == ["thread/start", "turn/start"]
    # One death after a whole turn says nothing of the fresh thread.
    assert (third.error, calm, [sent.method for sent in again.sent]) == (stopped, [], ["thread/resume", "turn/start"])


async def test_a_whole_turn_between_two_deaths_speaks_for_the_thread(tmp_path: Path) -> None:
    async with harness_on_fake(tmp_path, patience=AT_ONCE) as harness:
        for text in ("die", "echo", "die"):
            await ask(harness, text)
        turn = harness.start(words("echo"))
        assert await notices(turn) == []
    assert [sent.method for sent in turn.sent] == ["thread/resume", "turn/start"]


async def test_a_thread_that_kills_the_server_when_it_is_loaded_costs_its_chat_no_message(tmp_path: Path) -> None:
    async with bindings_at(tmp_path / "bindings.sqlite") as store:
        await store.put(Binding("codex", "a", "thr_deadly"))
        async with harness_on_fake(tmp_path, store, patience=AT_ONCE) as harness:
            turn = harness.start(words("echo"))
            told, result = await notices(turn), await turn.result()
    assert (result.outcome, result.text) == (Outcome.ANSWERED, "pong")
    assert told == ["Codex stopped twice in the middle of this conversation. It goes on in a new thread."]
    assert [sent.method for sent in turn.sent] == ["thread/resume", "thread/resume", "thread/start", "turn/start"]


async def test_a_chat_that_was_lost_beside_a_deadly_one_keeps_its_thread(tmp_path: Path) -> None:
    async with harness_on_fake(tmp_path, patience=AT_ONCE) as harness:
        kept = (await ask(harness, chat="b")).conversation
        for _ in range(2):
            beside_it = harness.start(words("stall", chat="b"))
            await first_delta(beside_it)
            assert (await ask(harness, "die", chat="a")).outcome is Outcome.LOST
            assert (await beside_it.result()).outcome is Outcome.LOST
        turn = harness.start(words("echo", chat="b"))
        told, after = await notices(turn), await turn.result()
        deadly = await notices(harness.start(words("echo", chat="a")))
    assert (after.outcome, after.conversation, told) == (Outcome.ANSWERED, kept, [])
    assert [sent.method for sent in turn.sent] == ["thread/resume", "turn/start"]
    assert deadly == ["Codex stopped twice in the middle of this conversation. It goes on in a new thread."]
