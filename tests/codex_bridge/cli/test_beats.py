"""What `codex-bridge heartbeat` prints of an alert, its files, and what a tool told already."""

from pathlib import Path

import pytest

from codex_bridge.cli.beats import Chats, Teller, account_of
from codex_bridge.cli.printed import Printed
from harness.delivery.outbox import Media, Outgoing
from harness.heartbeat import Ended, SkipReason, Status, Target, Verdict
from harness.plain import plain_settings
from harness.replies.media import MediaRules
from harness.turns import Outcome, TurnResult

CHAT = Target(channel="telegram", chat="7", direct=True)
HELD = Verdict(
    Status.HELD,
    skip=SkipReason.NO_TARGET,
    withheld="38 degrees!",
    media=(Media(source="heat.png"), Media(source=".env")),
)
TOLD = Verdict(Status.HELD, skip=SkipReason.SENT, withheld="38 degrees!")
RESULT = TurnResult(Outcome.ANSWERED, "38 degrees!", conversation="c", turn="t")


@pytest.fixture
def chats(tmp_path: Path) -> Chats:
    (tmp_path / "heat.png").write_bytes(b"png")
    (tmp_path / ".env").write_text("KEY=1", "utf-8")
    return Chats(CHAT, Printed(quiet=True), MediaRules(workspace=str(tmp_path)))


async def test_an_alert_is_data_with_its_files_and_with_what_tools_sent(chats: Chats, tmp_path: Path) -> None:
    await chats.printed.send(Outgoing(key="k", channel="telegram", chat="8", text="Look there."))
    path, place = str((tmp_path / "heat.png").resolve()), {"channel": "telegram", "chat": "7", "replyTo": ""}
    assert account_of([Ended("main", HELD, RESULT)], chats)["outbox"] == [
        {"channel": "telegram", "chat": "8", "replyTo": "", "text": "Look there."},
        {**place, "text": "38 degrees!"},
        {**place, "text": "", "media": [{"source": path, "voice": False}]},
    ]
    assert account_of([Ended("main", TOLD, RESULT)], chats)["outbox"] == []


def test_a_person_reads_the_files_and_why_nothing_more_is_sent(
    chats: Chats, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    teller = Teller(plain_settings(tmp_path), chats, as_json=False)
    teller(Ended("main", HELD, RESULT))
    path = (tmp_path / "heat.png").resolve()
    assert capsys.readouterr() == (f"38 degrees!\n[file: {path}]\n", "[would be sent to telegram 7]\n")
    teller(Ended("main", TOLD, RESULT))
    assert capsys.readouterr() == ("", "[nothing more would be sent: the message tool has told it]\n")
