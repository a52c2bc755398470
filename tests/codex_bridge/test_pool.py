"""Several agents in one process: a server for each home, which those that have one home share without harm."""

import os
import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest
from anyio.abc import TaskGroup

from codex_bridge.bridge import CodexHarness, CodexSettings
from codex_bridge.home import Home
from codex_bridge.pool import GRACE, CodexPool, SharedHomeError, codex_pool
from codex_bridge.process import Launch
from harness.store.bindings import Bindings, bindings_at
from harness.tasks import beside
from harness.turn_limit import TurnLimit
from harness.turns import EndedBy, Failure, Outcome, TurnResult
from tests.support.serving import LIMIT, is_running
from tests.support.time import HandClock
from tests.support.turns import first_delta, launch, words


class Lease:
    """The life of one agent, in a task of its own as in a gateway."""

    def __init__(self) -> None:
        self.begun, self.over, self.ended = anyio.Event(), anyio.Event(), anyio.Event()
        self.harness: CodexHarness | None = None

    async def hold(self, pool: CodexPool, settings: CodexSettings, store: Bindings) -> None:
        async with pool.lease(settings, store) as self.harness:
            self.begun.set()
            await self.over.wait()
        self.ended.set()


class Gateway:
    """A pool, and agents on the fake Codex."""

    def __init__(self, pool: CodexPool, store: Bindings, clock: HandClock, start: Launch, group: TaskGroup) -> None:
        self.pool = pool
        self.clock = clock
        self.store = store
        self._start = start
        self._group = group
        self._leases: list[Lease] = []

    def settings(self, agent: str, home: str) -> CodexSettings:
        path = self._start.home.path.parent / home
        path.mkdir(exist_ok=True, mode=0o700)
        (path / "models_cache.json").write_text('{"models": [{"slug": "gpt-5.5"}]}', "utf-8")
        return CodexSettings(replace(self._start, home=Home(path, owned=True)), agent=agent, drain=0.0)

    async def agent(self, agent: str, home: str) -> CodexHarness:
        lease = Lease()
        self._leases.append(lease)
        self._group.start_soon(lease.hold, self.pool, self.settings(agent, home), self.store)
        await lease.begun.wait()
        assert lease.harness is not None
        return lease.harness

    async def end(self, harness: CodexHarness) -> None:
        (lease,) = (each for each in self._leases if each.harness is harness)
        lease.over.set()
        await lease.ended.wait()

    async def end_all(self) -> None:
        for lease in self._leases:
            lease.over.set()
        for lease in self._leases:
            await lease.ended.wait()


@asynccontextmanager
async def gateway(folder: Path, *, limit: TurnLimit | None = None) -> AsyncGenerator[Gateway]:
    clock = HandClock()
    with anyio.fail_after(LIMIT):
        async with (
            bindings_at(folder / "bindings.sqlite") as store,
            codex_pool(limit=limit, clock=clock, now=lambda: 0.0) as pool,
            beside() as group,
        ):
            made = Gateway(pool, store, clock, launch(folder, "codex"), group)
            yield made
            await made.end_all()


async def ask(harness: CodexHarness, text: str = "echo", *, chat: str = "a") -> TurnResult:
    return await harness.start(words(text, chat=chat)).result()


async def pid_of(harness: CodexHarness) -> int:
    return (await harness.ready()).pid


async def gone(pid: int) -> None:
    while is_running(pid):
        await anyio.lowlevel.checkpoint()


async def test_agents_with_homes_of_their_own_have_servers_of_their_own(tmp_path: Path) -> None:
    async with gateway(tmp_path) as made:
        one, two = await made.agent("one", "a"), await made.agent("two", "b")
        assert await pid_of(one) != await pid_of(two)


async def test_agents_that_begin_at_once_on_one_home_share_one_process(tmp_path: Path) -> None:
    """User report I9."""
    async with gateway(tmp_path) as made:
        agents = [await made.agent(f"agent {number}", "a") for number in range(4)]
        pids = list[int]()

        async def run(harness: CodexHarness, chat: str) -> None:
            assert (await ask(harness, chat=chat)).outcome is Outcome.ANSWERED
            pids.append(await pid_of(harness))

        async with anyio.create_task_group() as group:
            for number, harness in enumerate(agents):
                group.start_soon(run, harness, f"chat {number}")
    assert (len(pids), len(set(pids))) == (4, 1)


async def test_each_agent_hears_its_own_turns_on_a_shared_server_and_nothing_else(tmp_path: Path) -> None:
    async with gateway(tmp_path) as made:
        one, two = await made.agent("one", "a"), await made.agent("two", "a")
        turns = [
            harness.start(words(f"echo {chat}", chat=chat))
            for number in range(20)
            for harness, chat in ((one, f"one {number}"), (two, f"two {number}"))
        ]
        asked = two.start(words("approval rm -r build", chat="approval"))
        answers = [(await turn.result()).text for turn in turns]
        assert (await asked.result()).text == '{"decision":"decline"}'
        heard = [type(event).__name__ async for event in asked.events()]
        with_child = one.start(words("spawn", chat="spawn"))
        told = [type(event).__name__ async for event in with_child.events()]
    assert answers == [f"{name} {number}" for number in range(20) for name in ("one", "two")]
    assert "Notice" in heard
    assert [name for name in told if name.startswith("Subagent")] == ["SubagentStarted", "SubagentFinished"]


async def test_the_end_of_one_agent_leaves_the_turns_of_another_alone(tmp_path: Path) -> None:
    """User report I7."""
    async with gateway(tmp_path) as made:
        one, two = await made.agent("one", "a"), await made.agent("two", "a")
        others = [harness.start(words("stall", chat=chat)) for harness, chat in ((one, "b"), (two, "c"))]
        for turn in others:
            await first_delta(turn)
        pid = await pid_of(two)
        await made.end(one)
        cut = await others[0].result()
        assert (cut.outcome, cut.failure, cut.ended_by) == (Outcome.FAILED, Failure.SHUTDOWN, EndedBy.SHUTDOWN)
        assert (others[1].buffer.result, await pid_of(two)) == (None, pid)
        await others[1].interrupt()
        assert (await ask(two)).outcome is Outcome.ANSWERED


async def test_a_server_is_not_replaced_for_one_agent_while_another_one_has_a_turn_on_it(tmp_path: Path) -> None:
    async with gateway(tmp_path) as made:
        one, two = await made.agent("one", "a"), await made.agent("two", "a")
        await ask(one)
        pid, running = await pid_of(one), two.start(words("stall", chat="b"))
        await first_delta(running)
        other = replace(words("echo"), environment={"WX_KEY": "another"})
        assert (await one.start(other).result()).outcome is Outcome.ANSWERED
        assert (running.buffer.result, await pid_of(one)) == (None, pid)
        await running.interrupt()
        assert (await one.start(other).result()).outcome is Outcome.ANSWERED
        assert await pid_of(one) != pid


async def test_a_crash_is_that_of_all_who_run_on_the_server_and_of_nobody_else(tmp_path: Path) -> None:
    """User report I7."""
    async with gateway(tmp_path) as made:
        agents = [await made.agent("one", "a"), await made.agent("two", "a"), await made.agent("three", "b")]
        turns = [agent.start(words("stall", chat=f"chat {at}")) for at, agent in enumerate(agents)]
        for turn in turns:
            await first_delta(turn)
        os.kill(await pid_of(agents[0]), signal.SIGKILL)
        lost = [await turn.result() for turn in turns[:2]]
        assert [each.outcome for each in lost] == [Outcome.LOST, Outcome.LOST]
        assert turns[2].buffer.result is None
        pids = [await pid_of(agent) for agent in agents]
        assert pids[0] == pids[1] != pids[2]
        assert [(await ask(agent, chat=f"chat {at}")).outcome for at, agent in enumerate(agents[:2])] == [
            Outcome.ANSWERED
        ] * 2


async def test_a_server_that_nobody_runs_on_is_closed_after_a_while(tmp_path: Path) -> None:
    async with gateway(tmp_path) as made:
        one, two = await made.agent("one", "a"), await made.agent("two", "a")
        pid = await pid_of(one)
        await made.end(one)
        made.clock.advance(1000)
        await ask(two)
        assert await pid_of(two) == pid
        await made.end(two)
        made.clock.advance(29)
        assert is_running(pid)
        made.clock.advance(1)
        await gone(pid)


async def test_an_agent_that_comes_back_in_time_finds_its_server(tmp_path: Path) -> None:
    async with gateway(tmp_path) as made:
        one = await made.agent("one", "a")
        pid = await pid_of(one)
        await made.end(one)
        made.clock.advance(20)
        again = await made.agent("one", "a")
        made.clock.advance(1000)
        assert await pid_of(again) == pid


async def test_other_settings_for_a_home_replace_its_server_when_nobody_runs_on_it(tmp_path: Path) -> None:
    async with gateway(tmp_path) as made:
        one = await made.agent("one", "a")
        pid = await pid_of(one)
        settings = made.settings("two", "a")
        other = replace(settings, launch=replace(settings.launch, call_deadline=7.0))
        async with bindings_at(tmp_path / "other.sqlite") as store:
            with pytest.raises(SharedHomeError) as refused:
                async with made.pool.lease(other, store):
                    pass
            assert str(refused.value) == (
                f"Agent 'two' shares the Codex home {tmp_path / 'a'} with 'one', whose server has other settings; give "
                "them the same binary, provider and options, or a home of its own."
            )
            await made.end(one)
            async with made.pool.lease(other, store) as two:
                assert await pid_of(two) != pid
                assert not is_running(pid)


async def test_the_places_for_turns_are_shared_by_all_agents(tmp_path: Path) -> None:
    limit = TurnLimit(1)
    async with gateway(tmp_path, limit=limit) as made:
        one, two = await made.agent("one", "a"), await made.agent("two", "b")
        running = one.start(words("stall", chat="b"))
        await first_delta(running)
        waiting = two.start(words("echo", chat="c"))
        await anyio.wait_all_tasks_blocked()
        assert (limit.waiting, waiting.sent) == (1, [])
        await running.interrupt()
        assert (await waiting.result()).outcome is Outcome.ANSWERED


async def test_draining_the_pool_ends_the_turns_of_all_agents(tmp_path: Path) -> None:
    async with gateway(tmp_path) as made:
        agents = [await made.agent("one", "a"), await made.agent("two", "b")]
        turns = [agent.start(words("stall", chat="b")) for agent in agents]
        for turn in turns:
            await first_delta(turn)
        await made.pool.drain(0)
        ended = [await turn.result() for turn in turns]
        late = await ask(agents[0])
    assert [each.failure for each in (*ended, late)] == [Failure.SHUTDOWN] * 3


async def test_the_end_of_the_pool_ends_its_servers(tmp_path: Path) -> None:
    async with gateway(tmp_path) as made:
        one, two = await made.agent("one", "a"), await made.agent("two", "b")
        pids = [await pid_of(one), await pid_of(two)]
        await made.end(two)
    assert ([is_running(pid) for pid in pids], made.clock.pending) == ([False, False], [])


async def test_the_server_of_an_agent_that_breaks_off_is_closed_as_any_other(tmp_path: Path) -> None:
    cancelled = broken = 0
    async with gateway(tmp_path) as made:
        with anyio.CancelScope() as scope:
            async with made.pool.lease(made.settings("one", "a"), made.store) as harness:
                cancelled = await pid_of(harness)
                scope.cancel()
                await anyio.lowlevel.checkpoint()
        with pytest.raises(RuntimeError, match="broken"):
            async with made.pool.lease(made.settings("two", "b"), made.store) as harness:
                broken = await pid_of(harness)
                raise RuntimeError("broken")
        made.clock.advance(GRACE)
        await gone(cancelled)
        await gone(broken)
