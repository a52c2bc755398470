"""The agent's ready tools on the real binary, each to the end of what it brings."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from codex_bridge.binary import CodexBinary
from codex_bridge.loopback.script import CallTool, Reply, in_turn, say
from harness.delivery.outbox import NotSentError, Outgoing
from harness.heartbeat import Alert, Failed, Gateway, HeartbeatEvent, HeartbeatRunner, Place, Scheduled, Target
from harness.json_value import Json
from harness.memory.index import MemoryIndex
from harness.message_tool.tool import Messaging
from harness.plain import plain_settings
from harness.replies.gate import Silent, decide
from harness.standard_tools import StandardTools
from harness.testing.outbox import RecordingOutbox
from harness.turns import EndedBy, Outcome
from tests.support.real import stage

KEY = "agent:main:main"
CHECK: Json = {"outcome": "no_change", "notify": False, "summary": "All is well.", "nextCheck": "in 10 minutes"}


def calls(*tools: CallTool) -> list[Reply]:
    """One model request for each call, so that each hears what came of the one before."""
    return [Reply((replace(tool, call_id=f"call_{number}"),)) for number, tool in enumerate(tools)]


@pytest.mark.parametrize("refused", [False, True])
async def test_a_heartbeat_looks_things_up_writes_and_says_when_it_looks_again_and_a_refused_message_fails_it(
    codex: CodexBinary, state: Path, workspace: Path, refused: bool
) -> None:
    """F8, F13: one answer by the tool, and no success over a send that was refused."""

    def channel(call: str, outgoing: Outgoing) -> None:
        if refused:
            raise NotSentError("the bot was blocked", for_good=True)

    outbox, told = RecordingOutbox(before=channel), list[HeartbeatEvent]()
    script = in_turn(
        [
            *calls(
                CallTool("memory_search", {"query": "boat"}),
                CallTool("message", {"action": "send", "message": "I look after the boat."}),
                CallTool("heartbeat_respond", CHECK),
            ),
            say("HEARTBEAT_OK"),
        ]
    )

    async def deliver(alert: Alert) -> None:
        raise NotImplementedError

    with MemoryIndex(state) as index:
        toolbox = StandardTools(plain_settings(workspace), index, messaging=Messaging(outbox=outbox))
        async with stage(codex, state, workspace, script, toolbox=toolbox) as play:
            runner = HeartbeatRunner(
                play.agent,
                Gateway(
                    place=lambda: Place(session_key=KEY, target=Target(channel="telegram", chat="7", direct=True)),
                    deliver=deliver,
                    tell=told.append,
                    unfinished=lambda: (),
                ),
                state / "heartbeat.json",
            )
            runner.wake()
            before = datetime.now(UTC)
            ended = await runner.attempt()
    outputs = [part.text for part in play.model.requests[-1].parts() if part.kind == "function_call_output"]
    assert "MEM_M77 The boat is blue." in outputs[0]
    assert [outbox.texts("7"), isinstance(ended, Failed)] == [[] if refused else ["I look after the boat."], refused]
    (due,) = (event.at for event in told if isinstance(event, Scheduled))
    assert due is not None
    if not refused:
        assert due - before < timedelta(minutes=10, seconds=30)


async def test_a_message_that_is_final_ends_the_turn_and_stands_in_place_of_the_answer(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    """G2, G8: a word in between does not end it, and the chat gets nothing twice."""
    outbox = RecordingOutbox()
    script = in_turn(
        [
            *calls(
                CallTool("message", {"action": "send", "message": "I look."}),
                CallTool("message", {"action": "reply", "message": "It is blue.", "final": True}),
            ),
            say("It is blue."),
            say("Yes."),
        ]
    )
    with MemoryIndex(state) as index:
        toolbox = StandardTools(plain_settings(workspace), index, messaging=Messaging(outbox=outbox))
        async with stage(codex, state, workspace, script, toolbox=toolbox) as play:
            turn = await play.begin("which colour is the boat?", number="1")
            result = await turn.result()
            await play.ask("sure?", number="2")
    place = turn.request.session_key.split(":")[2::2]
    assert [each.text for each in outbox.messages.values()] == ["I look.", "It is blue."]
    assert [(sent.channel, sent.chat) for sent in result.evidence.sent] == [tuple(place)] * 2
    assert [(sent.text, sent.final) for sent in result.evidence.sent] == [("I look.", False), ("It is blue.", True)]
    assert (result.outcome, result.ended_by, decide(result)) == (Outcome.INTERRUPTED, EndedBy.ITSELF, Silent())
