"""What `codex-bridge turn` puts into the outbox."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from codex_bridge.cli.printed import Printed
from codex_bridge.cli.saying import ended_well
from codex_bridge.cli.turn import SILENT, as_data, show
from harness.delivery.outbox import Button, Media, Outgoing, Reaction
from harness.inbound import Chat, ChatKind, InboundMessage, Sender
from harness.replies.media import MediaRules
from harness.tools import Sent
from harness.turns import EndedBy, Evidence, Finished, Outcome, TextDelta, TextRetracted, TurnEvent, TurnResult
from tests.support.delivery import Played

MESSAGE = InboundMessage(
    "telegram", Chat(ChatKind.GROUP, "-5"), Sender("7", "Orrin"), "9", "hi", datetime(2031, 5, 6, tzinfo=UTC)
)


@pytest.mark.parametrize(
    ("text", "outcome", "told"),
    [
        ("Two o'clock.", Outcome.ANSWERED, ["Two o'clock."]),
        ("NO_REPLY", Outcome.ANSWERED, []),
        ("Nobody asked me.\n\nNO_REPLY", Outcome.ANSWERED, []),
        ("Done. NO_REPLY", Outcome.ANSWERED, ["Done."]),
        ("Half an ans", Outcome.FAILED, ["Half an ans\n\nThe turn failed."]),
        ("Half an ans", Outcome.INTERRUPTED, []),
        ("", Outcome.EMPTY, ["No response was produced: the turn ended without an answer."]),
    ],
)
def test_what_an_agent_keeps_to_itself_is_not_sent(text: str, outcome: Outcome, told: list[str]) -> None:
    """T05."""
    outbox = as_data(MESSAGE, TurnResult(outcome, text, ended_by=EndedBy.PERSON), Printed())["outbox"]
    assert outbox == [{"channel": "telegram", "chat": "-5", "replyTo": "9", "text": text} for text in told]


ONCE_MORE = "[the stream broke off; once more]"


@pytest.mark.parametrize(
    ("events", "text", "printed", "aside"),
    [
        ([TextDelta("a", "Two o"), TextDelta("a", "'clock.")], "Two o'clock.", "Two o'clock.\n", ""),
        ([TextDelta("a", "NO_"), TextDelta("a", "REPLY")], "NO_REPLY", "", f"{SILENT}\n"),
        (
            [TextDelta("a", "Half"), TextRetracted("a"), TextDelta("b", "Whole.")],
            "Whole.",
            f"Half\n{ONCE_MORE}\nWhole.\n",
            "",
        ),
        ([TextDelta("a", "One."), TextDelta("b", "Two.")], "Two.", "One.\nTwo.\n", ""),
        ([], "Two.", "Two.\n", ""),
    ],
)
async def test_a_person_at_a_terminal_sees_the_answer_as_it_comes(
    events: list[TurnEvent], text: str, printed: str, aside: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """T06: never half a token."""
    await show(Played(*events, Finished(TurnResult(Outcome.ANSWERED, text))))
    assert capsys.readouterr() == (printed, aside)


async def test_what_exists_of_an_answer_is_printed_and_half_a_token_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    await show(Played(Finished(TurnResult(Outcome.FAILED, "Two fi"))))
    await show(Played(Finished(TurnResult(Outcome.LOST, "NO_RE"))))
    assert capsys.readouterr() == ("Two fi\n", "")


WORD = Outgoing(
    key="k",
    channel="telegram",
    chat="-5",
    text="Look.",
    media=(Media(source="/w/boat.ogg", voice=True),),
    buttons=((Button("More", "m"), Button("Less", "l")),),
)
FINAL = TurnResult(
    Outcome.INTERRUPTED, "", evidence=Evidence(sent=(Sent(channel="telegram", chat="-5", text="Look.", final=True),))
)


async def test_what_a_tool_sends_is_printed_as_its_chat_sees_it(capsys: pytest.CaptureFixture[str]) -> None:
    printed = Printed(before=lambda: print("|"))
    await printed.send(WORD)
    await printed.react(Reaction(channel="telegram", chat="-5", message="9", emoji="🌿"))
    assert capsys.readouterr() == ("|\nLook.\n[voice: /w/boat.ogg]\n[More] [Less]\n|\n", "[🌿 under message 9]\n")


async def test_files_of_an_answer_are_printed_and_those_that_may_not_go_out_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "heat.png").write_bytes(b"png")
    result = TurnResult(Outcome.ANSWERED, "Hot.\nMEDIA:heat.png\nMEDIA:.env")
    files = MediaRules(workspace=str(tmp_path))
    data = as_data(MESSAGE, result, Printed(), files=files)
    path, place = str((tmp_path / "heat.png").resolve()), {"channel": "telegram", "chat": "-5", "replyTo": "9"}
    assert data["outbox"] == [
        {**place, "text": "Hot."},
        {**place, "text": "", "media": [{"source": path, "voice": False}]},
    ]
    left_out = "'.env' was not sent: it cannot be read (No such file or directory)."
    assert data["leftOut"] == [left_out]
    await show(Played(Finished(result)), files=files)
    assert capsys.readouterr() == (f"Hot.\n[file: {path}]\n", f"[{left_out}]\n")


async def test_what_a_tool_sent_is_data_like_the_answer(capsys: pytest.CaptureFixture[str]) -> None:
    printed = Printed(quiet=True)
    await printed.send(WORD)
    await printed.react(Reaction(channel="telegram", chat="-5", message="9", emoji="🌿"))
    data = as_data(MESSAGE, TurnResult(Outcome.ANSWERED, "Done."), printed)
    place = {"channel": "telegram", "chat": "-5"}
    assert data["outbox"] == [
        {
            **place,
            "replyTo": "",
            "text": "Look.",
            "media": [{"source": "/w/boat.ogg", "voice": True}],
            "buttons": [[{"text": "More", "data": "m"}, {"text": "Less", "data": "l"}]],
        },
        {**place, "replyTo": "9", "text": "Done."},
    ]
    assert data["reactions"] == [{**place, "message": "9", "emoji": "🌿", "removed": False}]
    assert capsys.readouterr() == ("", "")


async def test_a_turn_that_a_final_message_ended_went_well_and_says_nothing_more(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert (ended_well(FINAL), as_data(MESSAGE, FINAL, Printed())["outbox"]) == (True, [])
    await show(Played(Finished(FINAL)))
    assert capsys.readouterr() == ("", "")
