"""What a command does with a signal that tells it to stop."""

import os
import signal
from pathlib import Path

import anyio
import pytest

from codex_bridge.bridge import CodexHarness
from codex_bridge.cli.stopping import drained_by_sigterm, until_stopped
from codex_bridge.turn import CodexTurn
from harness.errors import HarnessError
from harness.turns import EndedBy, Failure
from tests.support.turns import first_delta, harness_on_fake, words


async def stalled(harness: CodexHarness) -> CodexTurn:
    turn = harness.start(words("stall"))
    await first_delta(turn)
    return turn


async def test_sigterm_lets_a_running_turn_come_to_its_end_and_the_command_say_it(tmp_path: Path) -> None:
    async with harness_on_fake(tmp_path, drain=20.0) as harness, drained_by_sigterm(harness):
        turn = await stalled(harness)
        os.kill(os.getpid(), signal.SIGTERM)
        while (await harness.start(words("echo", chat="b")).result()).failure is not Failure.SHUTDOWN:
            pass
        assert turn.buffer.result is None
        await turn.interrupt()
        assert (await turn.result()).ended_by is EndedBy.PERSON


async def test_a_second_sigterm_waits_for_no_turn(tmp_path: Path) -> None:
    async with harness_on_fake(tmp_path, drain=1000.0) as harness, drained_by_sigterm(harness):
        turn = await stalled(harness)
        for _ in range(2):
            os.kill(os.getpid(), signal.SIGTERM)
            await anyio.wait_all_tasks_blocked()
        assert (await turn.result()).failure is Failure.SHUTDOWN


async def test_an_error_of_the_command_comes_out_as_itself(tmp_path: Path) -> None:
    with pytest.raises(HarnessError, match="no such chat"):
        async with harness_on_fake(tmp_path) as harness, drained_by_sigterm(harness):
            raise HarnessError("no such chat")


@pytest.mark.parametrize("told", [signal.SIGTERM, signal.SIGINT])
async def test_work_without_an_end_ends_when_its_turns_have(tmp_path: Path, told: signal.Signals) -> None:
    async with harness_on_fake(tmp_path, drain=0.05) as harness:
        turn = await stalled(harness)

        async def work() -> None:
            os.kill(os.getpid(), told)
            await anyio.sleep_forever()

        await until_stopped(harness, work)
        assert (await turn.result()).failure is Failure.SHUTDOWN


async def test_work_without_an_end_ends_at_once_when_it_is_told_twice(tmp_path: Path) -> None:
    async with harness_on_fake(tmp_path, drain=0.0) as harness:
        turn = await stalled(harness)
        long = anyio.Event()

        class Slow(CodexHarness):
            async def drain(self, seconds: float | None = None) -> None:
                await long.wait()

        slow = Slow.__new__(Slow)

        async def work() -> None:
            for _ in range(2):
                os.kill(os.getpid(), signal.SIGTERM)
                await anyio.wait_all_tasks_blocked()
            await anyio.sleep_forever()

        await until_stopped(slow, work)
        assert turn.buffer.result is None


async def test_work_that_ends_by_itself_drains_nothing(tmp_path: Path) -> None:
    async with harness_on_fake(tmp_path) as harness:
        turn = await stalled(harness)
        await until_stopped(harness, anyio.lowlevel.checkpoint)
        assert turn.buffer.result is None
