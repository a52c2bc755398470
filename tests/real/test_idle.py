"""Threads of idle chats are unloaded on the real server, and their next turn is as if nothing had been."""

from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from codex_bridge.binary import CodexBinary
from codex_bridge.bridge import CodexHarness
from codex_bridge.idle import Rest
from codex_bridge.loopback.recorder import RecordedRequest
from codex_bridge.loopback.script import Action, CallTool, Reply, Say, always, say
from codex_bridge.params import ThreadSettings
from tests.real.test_subagents import has_spawned, is_child, spawn
from tests.support.real import MODEL, Stage, count, stage

SOON = [("thread_unload_delay_secs", "1")]
"""The server unloads what nobody follows after a minute by itself."""
ONE = Rest(most=1)
FREE = ThreadSettings(sandbox="danger-full-access", approval_policy="never")


async def loaded(harness: CodexHarness) -> list[str]:
    answer = await (await harness.ready()).client.raw_call("thread/loaded/list", {})
    assert isinstance(answer, dict)
    found = answer["data"]
    assert isinstance(found, list)
    return [str(each) for each in found]


async def only(play: Stage, thread: str) -> None:
    """Wait until the server has no other thread loaded."""
    while await loaded(play.harness) != [thread]:
        await anyio.lowlevel.checkpoint()


@pytest.mark.parametrize("model", [MODEL, "gpt-6-sol"])
async def test_a_chat_whose_thread_was_unloaded_goes_on_with_the_same_words_in_the_same_order(
    codex: CodexBinary, state: Path, workspace: Path, model: str
) -> None:
    async with stage(codex, state, workspace, always(say("Yes.")), model=model, overrides=SOON, rest=ONE) as play:
        first = await play.ask("heron", chat="1", number="1")
        other = await play.ask("osprey", chat="2", number="2")
        await only(play, other.conversation)
        turn = await play.begin("finch", chat="1", number="3")
        again = await turn.result()
        before, _, after = play.model.requests
    assert (again.conversation, [sent.method for sent in turn.sent]) == (
        first.conversation,
        ["thread/resume", "turn/start"],
    )
    kept = [part.text for part in before.parts()]
    # The cached prefix holds: nothing was said again, and nothing in another place.
    assert [part.text for part in after.parts()][: len(kept)] == kept
    assert [count(after, marker) for marker in ("AGENTS_M11", "SOUL_M22", "TOOLS_M55", "heron", "finch")] == [1] * 5


async def test_a_thread_whose_persona_the_server_would_forget_stays_loaded_while_there_is_room(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    rest = Rest(after=0.01, most=2)
    async with stage(
        codex,
        state,
        workspace,
        always(say("Yes.")),
        model="gpt-6-sol",
        catalogue="untouched",
        overrides=SOON,
        rest=rest,
    ) as play:
        first = await play.ask("heron", chat="1", number="1")
        await play.ask("osprey", chat="2", number="2")
        await play.ask("finch", chat="1", number="3")
        assert first.conversation in await loaded(play.harness)
        assert count(play.model.requests[-1], "SOUL_M22") == 1


async def test_a_command_that_outlasts_its_turn_is_not_ended_by_unloading(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    def script(request: RecordedRequest) -> Action:
        ticking = CallTool(
            "exec_command", {"cmd": "while true; do echo x >> TICK; sleep .05; done", "yield_time_ms": 300}
        )
        return Reply((ticking,)) if request.parts()[-1].text == "heron" else say("Yes.")

    async with stage(codex, state, workspace, script, settings=FREE, overrides=SOON, rest=ONE) as play:
        first = await play.ask("heron", chat="1", number="1")
        for number in range(3):
            await play.ask("osprey", chat="2", number=f"2{number}")
        assert first.conversation in await loaded(play.harness)
        while not (workspace / "TICK").exists():  # a login shell may take its time
            await anyio.lowlevel.checkpoint()
        (workspace / "TICK").unlink()
        while not (workspace / "TICK").exists():
            await anyio.lowlevel.checkpoint()
        turn = await play.begin("finch", chat="1", number="3")
        assert (await turn.result()).conversation == first.conversation
    assert [sent.method for sent in turn.sent] == ["turn/start"]


async def test_the_threads_of_subagents_that_are_done_are_unloaded_with_their_chats(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    def script(request: RecordedRequest) -> Action:
        if is_child(request):
            return Reply((Say("Four boats."),))
        asked = any(part.text == "heron" for part in request.parts())
        return spawn(MODEL) if asked and not has_spawned(request) else say("Yes.")

    async with stage(codex, state, workspace, script, overrides=SOON, rest=ONE) as play:
        await play.ask("heron", chat="1", number="1")
        while len(await loaded(play.harness)) < 2:
            await anyio.lowlevel.checkpoint()
        other = await play.ask("osprey", chat="2", number="2")
        await play.ask("osprey", chat="2", number="3")
        await only(play, other.conversation)
