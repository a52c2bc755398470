"""What a turn is told and counts of its commands, its tokens and the size of its conversation, on the real binary."""

from pathlib import Path

from codex_bridge.binary import CodexBinary
from codex_bridge.loopback.script import CallTool, FailResponse, Reply, Say, Usage, in_turn, say
from codex_bridge.params import ThreadSettings
from harness import turns
from harness.turns import CommandFinished, CommandOutput, CommandStarted, Compacted, CompactionStarted, UsageCounted
from tests.support.real import events_of, stage

YOLO = ThreadSettings(sandbox="danger-full-access", approval_policy="never")


async def test_a_turn_that_begins_with_a_compaction_counts_its_own_requests_and_the_size_after_it(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    """K3, K4. Codex tells the last count of the turn before once more, under the id of this one."""
    replies = [
        Reply((Say("One."),), Usage(250_000, 1_000, 1_500)),
        Reply((Say("SUMMARY"),), Usage(252_000, 0, 300)),
        Reply((Say("Two."),), Usage(9_000, 0, 100)),
    ]
    async with stage(codex, state, workspace, in_turn(replies)) as play:
        first = await play.ask("first", number="1")
        events = await events_of(await play.begin("second", number="2"))
    assert (first.usage, first.context_used) == (turns.Usage(250_000, 1_000, 1_500), 251_500)
    done = next(number for number, event in enumerate(events) if isinstance(event, Compacted))
    compaction = [event for event in events if isinstance(event, CompactionStarted | Compacted)]
    assert compaction == [CompactionStarted(compaction[0].item), Compacted(compaction[0].item)]
    # Of several in a row a reader may get the last one alone.
    estimated = [event for event in events[:done] if isinstance(event, UsageCounted)][-1]
    last = [event for event in events[done:] if isinstance(event, UsageCounted)][-1]
    assert (estimated.usage, last.usage) == (turns.Usage(252_000, 0, 300), turns.Usage(261_000, 0, 400))
    assert estimated.context_used is not None
    assert 1_000 < estimated.context_used < 20_000
    assert isinstance(events[-1], turns.Finished)
    assert events[-1].result.usage == turns.Usage(261_000, 0, 400)
    assert events[-1].result.context_used == last.context_used == 9_100
    assert events[-1].result.context_window == last.context_window


async def test_a_conversation_that_is_resumed_counts_what_comes_then(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    """A resume tells the last count, and so may the turn after it that fails."""
    async with stage(codex, state, workspace, in_turn([Reply((Say("One."),), Usage(50_000, 0, 1_500))])) as play:
        await play.ask("first", number="1")
    failing = [FailResponse("cyber_policy", "No."), Say("Three.")]
    async with stage(
        codex, state, workspace, in_turn(Reply((each,), Usage(52_000, 0, 300)) for each in failing)
    ) as play:
        failed = await play.ask("second", number="2")
        third = await play.ask("third", number="3")
    assert (failed.usage, failed.context_used) == (turns.Usage(), 51_500)
    assert (third.usage, third.context_used) == (turns.Usage(52_000, 0, 300), 52_300)


async def test_the_whole_output_of_a_command_is_told_however_quick_it_is(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    commands = ["echo quick", "echo first; sleep 0.4; echo later"]
    calls = [Reply((CallTool("exec_command", {"cmd": each}, call_id=f"call_{n}"),)) for n, each in enumerate(commands)]
    async with stage(codex, state, workspace, in_turn([*calls, say("Done.")]), settings=YOLO) as play:
        events = await events_of(await play.begin("run them"))
    told = [event for event in events if isinstance(event, CommandStarted | CommandOutput | CommandFinished)]
    shown: dict[str, str] = {}
    for event in told:
        if isinstance(event, CommandOutput):
            shown[event.item] = event.text if event.whole else shown.get(event.item, "") + event.text
    assert list(shown.values()) == ["quick\n", "first\nlater\n"]
    assert [type(event) for event in told if not isinstance(event, CommandOutput)] == [
        CommandStarted,
        CommandFinished,
    ] * 2
