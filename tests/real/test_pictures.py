"""A picture that the provider cannot read, on the real binary: it poisons its thread, and costs the chat nothing."""

import base64
import json
from pathlib import Path

from codex_bridge.binary import CodexBinary
from codex_bridge.loopback.recorder import RecordedRequest
from codex_bridge.loopback.script import Action, CallTool, HttpError, Reply, say
from codex_bridge.rpc import JsonObject
from codex_bridge.threads import MOVES_ON
from harness.turns import Failure, Outcome
from tests.support.real import count, notices_of, quoted, stage

DOT = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
REFUSED: JsonObject = {
    "error": {"message": "The image data you provided does not represent a valid image.", "type": "invalid"}
}
SENTENCE = "The model provider cannot read a picture in this conversation."


def pictures(request: RecordedRequest) -> int:
    return json.dumps(request.body).count('"input_image"')


def look(workspace: Path) -> Reply:
    """Look at a picture of the workspace."""
    path = workspace / "dot.png"
    path.write_bytes(DOT)
    return Reply((CallTool("view_image", {"path": str(path)}, call_id="look"),))


async def test_a_thread_that_holds_a_picture_which_is_no_longer_taken_is_left_at_once(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    """The message that meets it is answered, once, in a fresh thread; what was said before is told there."""
    taken = True

    def script(request: RecordedRequest) -> Action:
        if pictures(request) and not taken:
            return HttpError(400, REFUSED)
        return look(workspace) if request.parts()[-1].text == "heron" else say("Yes.")

    async with stage(codex, state, workspace, script) as play:
        first = await play.ask("heron", number="1")
        taken = False  # the agent has another model now, say
        before = len(play.model.requests)
        turn = await play.begin("osprey", number="2")
        told = await notices_of(turn)
        result = await turn.result()
        after = await play.ask("stork", number="3")
    assert [pictures(request) for request in play.model.requests[before:]] == [1, 0, 0]
    assert (result.outcome, result.text) == (Outcome.ANSWERED, "Yes.")
    assert first.conversation != result.conversation == after.conversation
    assert told == [f"{SENTENCE} It goes on in a new thread."]
    assert [text.count("> heron") for text in quoted(turn)] == [1]
    assert [count(play.model.requests[-1], words) for words in ("heron", "osprey", "stork")] == [1, 1, 1]


async def test_a_turn_that_met_a_picture_which_is_not_taken_runs_once_and_the_next_message_is_answered(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    """It had looked at it, so nothing is run again by itself."""

    def script(request: RecordedRequest) -> Action:
        if pictures(request):
            return HttpError(400, REFUSED)
        return look(workspace) if request.parts()[-1].text == "heron" else say("Yes.")

    async with stage(codex, state, workspace, script) as play:
        calm = await play.ask("zebra", number="0")
        failed = await play.ask("heron", number="1")
        turn = await play.begin("osprey", number="2")
        result = await turn.result()
    assert (failed.outcome, failed.failure, failed.error) == (
        Outcome.FAILED,
        Failure.IMAGE,
        f"{SENTENCE} {MOVES_ON}",
    )
    assert (result.outcome, result.conversation == calm.conversation) == (Outcome.ANSWERED, False)
    assert [text.count(f"> {words}") for text in quoted(turn) for words in ("zebra", "heron")] == [1, 1]
    assert [pictures(request) for request in play.model.requests] == [0, 0, 1, 0]


async def test_a_picture_that_a_turn_of_its_own_thread_met_costs_the_conversation_nothing(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    """Harness reference, 18: what goes wrong in a thread of one turn says nothing of the chat's."""

    def script(request: RecordedRequest) -> Action:
        if pictures(request):
            return HttpError(400, REFUSED)
        return look(workspace) if request.parts()[-1].text == "Look." else say("Yes.")

    async with stage(codex, state, workspace, script) as play:
        before = await play.begin("heron", number="1")
        key = before.request.session_key
        first = await before.result()
        job = await play.agent.scheduled("Look.", session_key=key, key="c:1", light=True)
        failed = await job.result()
        after = await play.ask("osprey", number="2")
    assert (failed.failure, failed.error) == (Failure.IMAGE, SENTENCE)
    assert first.conversation == after.conversation != failed.conversation
