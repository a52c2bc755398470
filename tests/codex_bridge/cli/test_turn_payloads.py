"""What `codex-bridge turn` says of a payload that it cannot make a turn of."""

import json
from pathlib import Path

import pytest

from codex_bridge.cli.app import BAD_INPUT, run
from tests.harness.channels.payloads import payload


@pytest.mark.parametrize(
    ("content", "options", "sentence"),
    [
        ({"hello": 1}, (), "This is neither a Telegram update"),
        ({"update_id": 1, "message": {}}, (), "This is not a Telegram update: message.message_id: field required."),
        ({"t": "TYPING_START", "d": {}}, (), "The event TYPING_START of Discord is neither a message nor"),
        (payload("telegram/private"), ("--channel", "discord"), "This is not an event of Discord: t: field required."),
        (payload("telegram/private"), ("--channel", "pigeon"), "There is no channel pigeon; known are telegram and"),
    ],
)
def test_a_payload_that_is_none_is_told_in_one_sentence(
    content: object,
    options: tuple[str, ...],
    sentence: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    file = tmp_path / "payload.json"
    file.write_text(json.dumps(content), "utf-8")
    monkeypatch.setattr("sys.argv", ["codex-bridge", "turn", "--payload", str(file), *options])
    with pytest.raises(SystemExit) as end:
        run()
    told = capsys.readouterr().err
    assert (end.value.code, told.count("\n")) == (BAD_INPUT, 1)
    assert told.startswith(f"codex-bridge: {sentence}")
