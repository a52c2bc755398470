"""The owner's rules on the real binary: whatever stands in the workspace, only what the guard judged is read."""

from collections.abc import Callable
from pathlib import Path

import pytest

from codex_bridge import rules_read
from codex_bridge.binary import CodexBinary
from codex_bridge.loopback.recorder import RecordedRequest
from codex_bridge.loopback.script import Reply, Say, Usage, always, in_turn, say
from codex_bridge.rules import must_be_copied
from harness.layers import Composition
from harness.turns import Compacted, Notice, Outcome
from tests.support.real import count, events_of, group_message, notices_of, places, stage

IGNORED = "{}/AGENTS.override.md is not read: the rules of an agent stand in AGENTS.md; remove it."


def link_override(workspace: Path) -> None:
    (workspace / "AGENTS.override.md").symlink_to("MEMORY.md")


def link_rules(workspace: Path) -> None:
    (workspace / "AGENTS.md").unlink()
    (workspace / "AGENTS.md").symlink_to("MEMORY.md")


def replace_rules(workspace: Path) -> None:
    (workspace / "AGENTS.md").unlink()
    (workspace / "AGENTS.md").write_text("MEM_M77 as a copy", encoding="utf-8")


Exchange = Callable[[Path], None]

EXCHANGES = pytest.mark.parametrize("exchange", [link_override, link_rules, replace_rules])
"""What a command of the model, or of another conversation, can do to the workspace."""


async def test_an_override_file_is_never_read_and_the_workspaces_own_rules_hold(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    """No guard judged that file, and it may be a link to the memory."""
    link_override(workspace)
    async with stage(codex, state, workspace, in_turn([say("Yes."), say("Again.")])) as play:
        events = await events_of(await play.agent.receive(group_message("hi")))
    (request,) = play.model.requests
    assert (count(request, "MEM_M77"), places(request, "AGENTS_M11")) == (0, ["developer"])
    assert [event.text for event in events if isinstance(event, Notice)] == [IGNORED.format(workspace)]


async def test_an_override_file_that_appears_later_does_not_end_the_rules(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    """A command of the model can write that file, so nothing that it says may switch the owner's rules off."""
    override = workspace / "AGENTS.override.md"
    last: list[RecordedRequest] = []
    told: list[list[str]] = []
    for process in (("one", "two", "three"), ("four", "five")):
        async with stage(codex, state, workspace, always(say("Yes."))) as play:
            for text in process:
                told.append(await notices_of(await play.begin(text, number=text)))
                override.write_text("OVERRIDE_M99", encoding="utf-8")
        last.append(play.model.requests[-1])
    override.unlink()
    async with stage(codex, state, workspace, always(say("Yes."))) as play:
        await play.ask("six", number="six")
    last.append(play.model.requests[-1])
    ignored = IGNORED.format(workspace)
    assert told == [[], [ignored], [], [ignored], []]
    assert [count(request, "AGENTS.md is gone") for request in last] == [0, 0, 0]
    assert [count(request, "OVERRIDE_M99") for request in last] == [0, 0, 0]
    # A loaded thread is told nothing again: it knows its rules and its notes.
    assert [count(last[0], marker) for marker in ("AGENTS_M11", "TOOLS_M55")] == [1, 1]
    assert [count(request, "TOOLS_M55") for request in last] == [1, 1, 1]
    for request in last:
        ending = [part.text for part in request.parts() if "AGENTS_M11" in part.text or "no longer appl" in part.text]
        assert "AGENTS_M11" in ending[-1]


@EXCHANGES
async def test_rules_that_are_exchanged_while_a_message_waits_are_not_read(
    codex: CodexBinary, state: Path, workspace: Path, exchange: Exchange
) -> None:
    async with stage(codex, state, workspace, always(say("Yes."))) as play:
        turn = await play.agent.receive(group_message("hi"))
        assert turn.sent == []
        exchange(workspace)
        result = await turn.result()
    (request,) = play.model.requests
    assert (result.outcome, count(request, "MEM_M77"), places(request, "AGENTS_M11")) == (
        Outcome.ANSWERED,
        0,
        ["developer"],
    )


@EXCHANGES
@pytest.mark.parametrize("resumed", [False, True])
async def test_rules_that_are_exchanged_between_our_look_and_the_one_of_codex_reach_no_model(
    codex: CodexBinary, state: Path, workspace: Path, exchange: Exchange, resumed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if resumed:
        async with stage(codex, state, workspace, always(say("Yes."))) as play:
            await (await play.agent.receive(group_message("zebra", number="0"))).result()
    looks: list[bool] = []

    def look(workspace: Path, composition: Composition) -> bool:
        looks.append(must_be_copied(workspace, composition))
        if len(looks) == 1:
            exchange(workspace)
        return looks[-1]

    monkeypatch.setattr(rules_read, "must_be_copied", look)
    async with stage(codex, state, workspace, always(say("Yes."))) as play:
        turn = await play.agent.receive(group_message("hi"))
        result = await turn.result()
        again = await (await play.agent.receive(group_message("and now", number="2"))).result()
    assert looks[:2] == [False, True]
    assert [request.method for request in turn.sent] == [
        "thread/resume" if resumed else "thread/start",
        "thread/start",
        "turn/start",
    ]
    assert (result.outcome, again.outcome) == (Outcome.ANSWERED, Outcome.ANSWERED)
    assert again.conversation == result.conversation
    first = play.model.requests[0]
    assert (count(first, "MEM_M77"), places(first, "AGENTS_M11")) == (0, ["developer"])


async def test_an_override_file_is_not_read_at_a_compaction_either(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    full = Reply((Say("Long."),), usage=Usage(input=900_000, output=1))
    script = in_turn([full, say("In short."), say("On.")])
    async with stage(codex, state, workspace, script) as play:
        await (await play.agent.receive(group_message("word " * 30_000))).result()
        link_override(workspace)
        events = await events_of(await play.agent.receive(group_message("on", number="2")))
    assert [isinstance(event, Compacted) for event in events].count(True) == 1
    assert (count(play.model.requests[2], "MEM_M77"), count(play.model.requests[2], "AGENTS_M11")) == (0, 1)
