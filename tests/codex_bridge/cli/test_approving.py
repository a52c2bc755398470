"""What a terminal answers to what a turn asks."""

import os
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from codex_bridge.cli.approving import NO_MORE, NO_WORDS, NOBODY, NOT_WHOLE, Approve, Lines, TerminalAsker, at_terminal
from harness.asks import Answer, ApprovalAsked, ApprovalKind, Ask, Choice, Question, QuestionAsked, Verdict
from harness.settings.approvals import ApprovalSettings

COMMAND = ApprovalAsked("1", "i9", ApprovalKind.COMMAND, "rm -r build", cwd="/w", script="rm -r build")
COLOUR = QuestionAsked("1", "i9", (Question("q1", "Which colour?", "", (Choice("red"), Choice("blue")), False),))
BOTH = QuestionAsked("1", "i9", (*COLOUR.questions, Question("q2", "How many?")))
UNSEEN = ApprovalAsked("1", "i9", ApprovalKind.OTHER)
RULES = ApprovalSettings(allowed=(("rm",),))
ALLOWED = "Allowed as --approve all says: rm -r build"


def ask(what: ApprovalAsked | QuestionAsked, identity: str = "one") -> Ask:
    return Ask(identity=identity, session_key="a", message_key="m", thread="t", what=what)


class Keys:
    """Lines that somebody types."""

    def __init__(self, *lines: str) -> None:
        self._lines = list(lines)

    async def __call__(self) -> str:
        await anyio.lowlevel.checkpoint()
        return self._lines.pop(0) if self._lines else ""


@pytest.mark.parametrize(
    ("what", "lines", "answer"),
    [
        (COMMAND, ["y\n"], Answer(Verdict.ALLOW)),
        (COMMAND, ["A\n"], Answer(Verdict.ALLOW_ALWAYS)),
        (COMMAND, ["perhaps\n", "\n", "n\n"], Answer(Verdict.DECLINE)),
        (COMMAND, ["c\n"], Answer(Verdict.CANCEL)),
        (COMMAND, [], Answer(Verdict.DECLINE, why=NO_MORE)),
        (UNSEEN, ["y\n", "n\n"], Answer(Verdict.DECLINE)),
        (COLOUR, ["green\n", "2\n"], Answer(Verdict.ALLOW, {"q1": ("blue",)})),
        (COLOUR, ["/deny\n"], Answer(Verdict.DECLINE)),
        (COLOUR, ["/cancel\n"], Answer(Verdict.CANCEL)),
        (BOTH, ["1: red; 2: four\n"], Answer(Verdict.ALLOW, {"q1": ("red",), "q2": ("four",)})),
    ],
)
async def test_a_person_at_the_terminal_is_shown_it_whole_and_answers(
    what: ApprovalAsked | QuestionAsked, lines: list[str], answer: Answer, capsys: pytest.CaptureFixture[str]
) -> None:
    asker = TerminalAsker(Approve.ASK, ApprovalSettings(), lambda sentence: None, Keys(*lines))
    assert await asker.ask(ask(what)) == answer
    printed = capsys.readouterr()
    assert printed.out == ""
    assert ("Which colour?" if isinstance(what, QuestionAsked) else what.text) in printed.err


@pytest.mark.parametrize(
    ("approve", "what", "settings", "answer"),
    [
        (Approve.NEVER, COMMAND, ApprovalSettings(), Answer(Verdict.DECLINE, why=NOBODY)),
        (Approve.NEVER, COLOUR, ApprovalSettings(), Answer(Verdict.DECLINE, why=NOBODY)),
        (Approve.NEVER, COMMAND, RULES, Answer(Verdict.ALLOW, why="A rule of tools.exec.allow allows it.")),
        (Approve.ALL, COMMAND, ApprovalSettings(), Answer(Verdict.ALLOW, why=ALLOWED)),
        (Approve.ALL, COLOUR, ApprovalSettings(), Answer(Verdict.DECLINE, why=NO_WORDS)),
        (Approve.ALL, UNSEEN, ApprovalSettings(), Answer(Verdict.DECLINE, why=NOT_WHOLE)),
    ],
)
async def test_what_nobody_is_asked_is_answered_at_once_with_one_sentence(
    approve: Approve, what: ApprovalAsked | QuestionAsked, settings: ApprovalSettings, answer: Answer
) -> None:
    said: list[str] = []
    assert await TerminalAsker(approve, settings, said.append, Keys("y\n")).ask(ask(what)) == answer
    assert said == [answer.why]


async def test_what_nobody_needs_any_more_makes_room_for_the_next(capsys: pytest.CaptureFixture[str]) -> None:
    said: list[str] = []
    shown = anyio.Event()

    class Slow(Keys):
        async def __call__(self) -> str:
            if not shown.is_set():
                shown.set()
                await anyio.sleep_forever()
            return await super().__call__()

    asker, answers = TerminalAsker(Approve.ASK, ApprovalSettings(), said.append, Slow("y\n")), dict[str, Answer]()

    async def run(identity: str) -> None:
        answers[identity] = await asker.ask(ask(COMMAND, identity))

    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(run, "one")
            await shown.wait()
            group.start_soon(run, "two")
            await asker.withdraw("one", "the turn is over.")
            await asker.withdraw("unknown", "the turn is over.")
    assert answers == {"one": Answer(Verdict.DECLINE), "two": Answer(Verdict.ALLOW)}
    assert said == ["No longer needed: the turn is over."]
    assert capsys.readouterr().err.count("rm -r build") == 2


async def test_lines_come_one_by_one_and_one_that_nobody_waited_for_is_kept(tmp_path: Path) -> None:
    there, here = os.pipe()
    lines = Lines(there)
    with anyio.fail_after(5):
        os.write(here, b"one\ntw")
        first = await lines()
        with anyio.move_on_after(0):
            await lines()
        os.write(here, "o ü\nthree".encode())
        second = await lines()
        os.close(here)
        assert [first, second, await lines(), await lines()] == ["one\n", "two ü\n", "three", ""]
    os.close(there)
    (tmp_path / "answers").write_text("y\n", "utf-8")
    with (tmp_path / "answers").open() as file:
        assert await Lines(file.fileno())() == "y\n"


@pytest.mark.parametrize(
    ("tty", "reads_stdin", "as_json", "approve"),
    [
        (True, False, False, Approve.ASK),
        (False, False, False, Approve.NEVER),
        (True, True, False, Approve.NEVER),
        (True, False, True, Approve.NEVER),
    ],
)
def test_a_person_is_asked_by_default_only_where_there_is_one(
    monkeypatch: pytest.MonkeyPatch, *, tty: bool, reads_stdin: bool, as_json: bool, approve: Approve
) -> None:
    monkeypatch.setattr("sys.stdin.isatty", lambda: tty)
    monkeypatch.setattr("sys.stderr.isatty", lambda: tty)
    assert at_terminal(reads_stdin=reads_stdin, as_json=as_json) is approve
