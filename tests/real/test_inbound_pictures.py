"""Pictures that come with a message, on the real binary."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from codex_bridge.binary import CodexBinary
from codex_bridge.loopback.script import say
from codex_bridge.pictures import OTHERS
from harness.inbound import Attachment, AttachmentKind, Relation, with_files
from tests.real.test_pictures import DOT
from tests.support.real import message, stage


def photo(file_id: str, relation: Relation | None = None) -> Attachment:
    return Attachment(kind=AttachmentKind.IMAGE, file_id=file_id, relation=relation)


def shown(request: Any) -> list[str]:
    """What the model was shown last, behind the files of the workspace: texts, and a mark for each picture."""
    parts = request.body["input"][-1]["content"]
    return [part.get("text", part["type"]) for part in parts[1:]]


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
    assert told.count("its bytes are none of a PNG, JPEG, GIF or WebP picture") == 1
    assert "[70 bytes]" in str(turn.sent[-1].params)
