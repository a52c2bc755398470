"""Approvals and questions of the real binary: told as asked and as settled, with the item that waits."""

from pathlib import Path

import pytest

from codex_bridge.binary import CodexBinary
from codex_bridge.loopback.script import CallTool, Reply, in_turn, say
from codex_bridge.params import ThreadSettings
from codex_bridge.rpc import Json
from harness.asks import ApprovalAsked, ApprovalKind, AskSettled, Choice, Question, QuestionAsked, Settlement
from harness.turns import CommandFinished, CommandStarted, FilesChanged, FilesChanging, Finished
from tests.support.real import events_of, stage

ASKS = ThreadSettings(sandbox="read-only", approval_policy="untrusted")
PATCH = "*** Begin Patch\n*** Add File: made.txt\n+hello\n*** End Patch"
TOLD = (ApprovalAsked, QuestionAsked, AskSettled, CommandStarted, CommandFinished, FilesChanging, FilesChanged)


@pytest.mark.parametrize("what", ["command", "files"])
async def test_an_approval_is_told_between_the_beginning_and_the_end_of_what_waits_for_it(
    codex: CodexBinary, state: Path, workspace: Path, what: str
) -> None:
    command = "touch made.txt" if what == "command" else f"apply_patch <<'EOF'\n{PATCH}\nEOF"
    script = in_turn([Reply((CallTool("exec_command", {"cmd": command}),)), say("Not allowed.")])
    async with stage(codex, state, workspace, script, settings=ASKS) as play:
        events = await events_of(await play.begin("make a file"))
    began, asked, settled, over = (event for event in events if isinstance(event, TOLD))
    assert isinstance(asked, ApprovalAsked)
    assert isinstance(settled, AskSettled)
    assert (settled.ask, settled.how) == (asked.ask, Settlement.DECLINED)
    assert settled.why.endswith(", and nobody could be asked, so the answer was no.")
    if what == "command":
        assert isinstance(began, CommandStarted)
        assert isinstance(over, CommandFinished)
        assert (asked.kind, asked.text, asked.cwd) == (ApprovalKind.COMMAND, began.command, str(workspace))
    else:
        assert isinstance(began, FilesChanging)
        assert isinstance(over, FilesChanged)
        assert [(Path(each.path).name, each.kind, each.diff) for each in began.changes] == [
            ("made.txt", "add", "hello\n")
        ]
        assert asked.kind is ApprovalKind.FILES
    assert began.item == asked.item == over.item
    assert over.status == "declined"
    assert isinstance(events[-1], Finished)
    assert events[-1].result.text == "Not allowed."


async def test_a_question_is_told_with_its_choices(codex: CodexBinary, state: Path, workspace: Path) -> None:
    options: Json = [{"label": "Red", "description": "warm"}, {"label": "Blue", "description": "cold"}]
    asks: Json = {"questions": [{"id": "q1", "header": "Colour", "question": "Which?", "options": options}]}
    script = in_turn([Reply((CallTool("request_user_input", asks),)), say("Then blue.")])
    overrides = [("features.default_mode_request_user_input", "true")]
    async with stage(codex, state, workspace, script, overrides=overrides) as play:
        events = await events_of(await play.begin("paint it"))
    asked, settled = (event for event in events if isinstance(event, QuestionAsked | AskSettled))
    assert isinstance(asked, QuestionAsked)
    question = Question("q1", "Which?", "Colour", (Choice("Red", "warm"), Choice("Blue", "cold")))
    assert asked == QuestionAsked(asked.ask, "call_1", (question,))
    assert settled == AskSettled(
        asked.ask, Settlement.DECLINED, "The agent had questions, and nobody could be asked, so the answer was no."
    )
