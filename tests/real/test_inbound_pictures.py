"""Pictures that come with a message, on the real binary."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio

from codex_bridge.binary import CodexBinary
from codex_bridge.loopback.recorder import RecordedRequest
from codex_bridge.loopback.script import Action, BeginSaying, HttpError, Reply, Wait, in_turn, say
from codex_bridge.pictures import OTHERS, REFUSED
from harness.inbound import Attachment, AttachmentKind, InboundMessage, Relation, with_files
from harness.pictures import NOT_WHOLE
from harness.turns import Outcome, Steered, TextDelta
from tests.real.test_pictures import DOT, SENTENCE, pictures
from tests.real.test_pictures import REFUSED as BAD_REQUEST
from tests.real.test_steering import steered_at
from tests.support.real import message, notices_of, stage


def photo(file_id: str, relation: Relation | None = None) -> Attachment:
    return Attachment(kind=AttachmentKind.IMAGE, file_id=file_id, relation=relation)


def with_photo(text: str, number: str, workspace: Path) -> InboundMessage:
    """A message with one whole picture."""
    (workspace / "dot.png").write_bytes(DOT)
    said = replace(message(text, chat="7", number=number), attachments=(photo("a"),))
    return with_files(said, {"a": str(workspace / "dot.png")})


def shown(request: Any, *, behind: int = 1) -> list[str]:
    """What the model was shown last, behind the files of the workspace: texts, and a mark for each picture."""
    parts = request.body["input"][-1]["content"]
    return [part.get("text", part["type"]) for part in parts[behind:]]


async def test_photos_reach_the_model_behind_the_words_and_those_of_others_behind_a_sentence(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    (workspace / "dot.png").write_bytes(DOT)
    (workspace / "fake.png").write_bytes(b"no picture at all")
    paths = {"a": str(workspace / "dot.png"), "b": str(workspace / "fake.png")}
    said = replace(
        message("heron", chat="7", number="1"), attachments=(photo("a", Relation.PASSED_ON), photo("a"), photo("b"))
    )
    async with stage(codex, state, workspace, lambda request: say("Yes.")) as play:
        turn = await play.agent.receive(with_files(said, paths))
        result = await turn.result()
        request = play.model.requests[-1]
    assert result.text == "Yes."
    assert shown(request) == ["heron", "input_image", OTHERS, "input_image"]
    told = str(request.body)
    assert told.count(NOT_WHOLE) == 1
    assert "[70 bytes]" in str(turn.sent[-1].params)


async def test_a_picture_that_joins_a_turn_is_in_its_next_request_behind_its_words(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    script = in_turn([Reply((BeginSaying("Half"), Wait(anyio.Event()))), say("To both.")])
    heard: list[Steered] = []
    async with stage(codex, state, workspace, script) as play:
        turn = await play.begin("heron", number="1")

        async def join() -> None:
            said = with_photo("osprey", "2", workspace)
            heard.append(await turn.steer(play.agent.joining(said), said.key))

        await steered_at(turn, lambda event: isinstance(event, TextDelta) and event.text == "Half", join)
        result = await turn.result()
        first, second = play.model.requests
    assert (heard, result.outcome, result.text) == ([Steered.TAKEN], Outcome.ANSWERED, "To both.")
    assert [pictures(first), pictures(second)] == [0, 1]
    assert shown(second, behind=0) == ["osprey", "input_image"]
    assert "[70 bytes]" in str(turn.sent[-1].params)


async def test_a_message_whose_picture_the_provider_refuses_is_answered_without_it_and_the_model_knows(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    def script(request: RecordedRequest) -> Action:
        return HttpError(400, BAD_REQUEST) if pictures(request) else say("Yes.")

    async with stage(codex, state, workspace, script) as play:
        turn = await play.agent.receive(with_photo("heron", "1", workspace))
        told = await notices_of(turn)
        result = await turn.result()
        after = await play.ask("osprey", number="2")
        requests = play.model.requests
    assert (result.outcome, result.text) == (Outcome.ANSWERED, "Yes.")
    assert told == [f"{SENTENCE} It goes on in a new thread."]
    assert [pictures(request) for request in requests] == [1, 0, 0]
    assert shown(requests[1]) == ["heron", REFUSED]
    assert after.conversation == result.conversation
    assert str(requests[2].body).count("heron") == 1
