"""Several agents of one gateway on the real binary, and its end."""

import os
import signal
from pathlib import Path

import anyio
import pytest

from codex_bridge.binary import CodexBinary
from codex_bridge.bridge import CodexHarness, CodexSettings
from codex_bridge.home import Home
from codex_bridge.lanes import HABITS
from codex_bridge.loopback.model import loopback_model
from codex_bridge.loopback.recorder import RecordedRequest
from codex_bridge.loopback.script import Action, BeginSaying, Reply, Say, Wait, always, say
from codex_bridge.pool import codex_pool
from codex_bridge.process import Launch
from codex_bridge.turn import CodexTurn
from harness.agent import Agent
from harness.gather import Gatherer
from harness.plain import plain_settings
from harness.store.bindings import bindings_at
from harness.turns import EndedBy, Failure, Outcome
from tests.support.real import LIMIT, MODEL, count, message, stage


def agent_on(harness: CodexHarness, workspace: Path) -> Agent[CodexTurn]:
    return Agent(harness, Gatherer(plain_settings(workspace), HABITS), model=MODEL)


async def test_two_agents_on_one_home_share_its_server_and_its_end(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    home = Home(state / "home", owned=False)
    home.path.mkdir()
    with anyio.fail_after(LIMIT):
        async with (
            loopback_model(always(say("Yes."))) as model,
            bindings_at(state / "one.sqlite") as one_store,
            bindings_at(state / "two.sqlite") as two_store,
            codex_pool() as pool,
        ):
            launch = Launch(codex, home, model.provider)
            async with (
                pool.lease(CodexSettings(launch, agent="one"), one_store) as one,
                pool.lease(CodexSettings(launch, agent="two"), two_store) as two,
            ):
                agents = [agent_on(one, workspace), agent_on(two, workspace)]
                first = [
                    await (await agent.receive(message(word, chat=word, number=word))).result()
                    for agent, word in zip(agents, ("heron", "osprey"), strict=True)
                ]
                pids = {(await harness.ready()).pid for harness in (one, two)}
                os.kill(pids.pop(), signal.SIGKILL)
                again = [
                    await (await agent.receive(message("finch", chat=word, number=f"{word} 2"))).result()
                    for agent, word in zip(agents, ("heron", "osprey"), strict=True)
                ]
                assert (await one.ready()).pid == (await two.ready()).pid
    assert pids == set()
    assert [each.outcome for each in (*first, *again)] == [Outcome.ANSWERED] * 4
    assert [each.conversation for each in again] == [each.conversation for each in first]
    for request, word in zip(model.requests[-2:], ("heron", "osprey"), strict=True):
        assert [count(request, each) for each in ("heron", "osprey", "finch")] == [
            int(word == "heron"),
            int(word == "osprey"),
            1,
        ]


@pytest.mark.parametrize("seconds", [20.0, 0.0])
async def test_a_turn_that_runs_as_the_gateway_ends_comes_to_its_end_or_is_cut_short_and_the_next_start_goes_on(
    codex: CodexBinary, state: Path, workspace: Path, seconds: float
) -> None:
    go_on = anyio.Event()

    def script(request: RecordedRequest) -> Action:
        slow = Reply((BeginSaying("It is"), Wait(go_on), Say("It is blue.")))
        return slow if request.parts()[-1].text == "osprey" else say("Yes.")

    async with stage(codex, state, workspace, script) as play:
        await play.ask("heron", number="1")
        turn = await play.begin("osprey", number="2")
        while turn.ledger is None or not turn.ledger.began:
            await anyio.lowlevel.checkpoint()
        async with anyio.create_task_group() as group:
            group.start_soon(play.harness.drain, seconds)
            await anyio.wait_all_tasks_blocked()
            go_on.set()
        ended = await turn.result()
    async with stage(codex, state, workspace, always(say("Yes."))) as play:
        after = await play.ask("finch", number="3")
        (request,) = play.model.requests
    if seconds:
        assert (ended.outcome, ended.text) == (Outcome.ANSWERED, "It is blue.")
    else:
        assert (ended.outcome, ended.failure, ended.ended_by) == (
            Outcome.FAILED,
            Failure.SHUTDOWN,
            EndedBy.SHUTDOWN,
        )
    assert (after.outcome, after.conversation) == (Outcome.ANSWERED, ended.conversation)
    assert [count(request, word) for word in ("heron", "osprey", "finch")] == [1, 1, 1]
