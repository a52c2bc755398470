"""A conversation that holds the files already need not get them again."""

import json
import os
from pathlib import Path

import pytest

from harness.settings import ContextInjection
from harness.workspace.filters import ALREADY_SENT, INJECTION_OFF
from harness.workspace.first_run import FirstRunMode
from harness.workspace.injection import (
    Attempt,
    holds_full_context,
    keeps_record,
    plans_record,
    reason_to_skip,
)
from harness.workspace.names import ContextMode, RunKind
from harness.workspace.transcript_tail import TAIL_BYTES, transcript_tail

MARK = json.dumps({"type": "custom", "customType": "openclaw:bootstrap-context:full", "data": {}}).encode()
COMPACTION = b'{"type":"compaction","summary":"..."}'
MESSAGE = b'{"type":"message"}'


@pytest.mark.parametrize(
    ("setting", "run", "first_run", "already", "reason"),
    [
        (ContextInjection.ALWAYS, RunKind.DEFAULT, FirstRunMode.NONE, True, None),
        (ContextInjection.CONTINUATION_SKIP, RunKind.DEFAULT, FirstRunMode.NONE, True, ALREADY_SENT),
        (ContextInjection.CONTINUATION_SKIP, RunKind.CRON, FirstRunMode.LIMITED, True, ALREADY_SENT),
        (ContextInjection.CONTINUATION_SKIP, RunKind.DEFAULT, FirstRunMode.NONE, False, None),
        (ContextInjection.CONTINUATION_SKIP, RunKind.DEFAULT, FirstRunMode.FULL, True, None),
        (ContextInjection.CONTINUATION_SKIP, RunKind.HEARTBEAT, FirstRunMode.NONE, True, None),
        (ContextInjection.CONTINUATION_SKIP, RunKind.COMMITMENT_ONLY, FirstRunMode.NONE, True, None),
        (ContextInjection.NEVER, RunKind.HEARTBEAT, FirstRunMode.FULL, False, INJECTION_OFF),
    ],
)
def test_files_are_skipped_only_where_the_conversation_holds_them(
    setting: ContextInjection, run: RunKind, first_run: FirstRunMode, already: bool, reason: str | None
) -> None:
    assert reason_to_skip(setting, run=run, first_run=first_run, already_sent=already) == reason


@pytest.mark.parametrize(
    ("lines", "holds"),
    [
        ([], False),
        ([MESSAGE], False),
        ([MARK, MESSAGE, b"{oops", b"[]", b""], True),
        ([MARK, COMPACTION, MESSAGE], False),
        ([COMPACTION, MARK], True),
        ([MARK, *[MESSAGE] * 499], True),
        ([MARK, *[MESSAGE] * 500], False),
        ([b'{"type":"custom","customType":"other"}'], False),
    ],
)
def test_a_later_compaction_takes_the_files_out_of_the_conversation(lines: list[bytes], holds: bool) -> None:
    assert holds_full_context(lines) is holds


def test_the_record_is_planned_for_a_full_first_run_only() -> None:
    options: dict[str, object] = {
        "skipped": False,
        "context": ContextMode.FULL,
        "run": RunKind.DEFAULT,
        "first_run": FirstRunMode.FULL,
    }
    changes: tuple[dict[str, object], ...] = (
        {},
        {"skipped": True},
        {"context": ContextMode.LIGHTWEIGHT},
        {"run": RunKind.HEARTBEAT},
        {"run": RunKind.COMMITMENT_ONLY},
        {"first_run": FirstRunMode.NONE},
    )
    assert [plans_record(**{**options, **change}) for change in changes] == [True, *[False] * 5]  # type: ignore[arg-type]


def test_the_record_is_written_after_a_clean_run_only() -> None:
    attempts = (Attempt(), Attempt(prompt_failed=True), Attempt(aborted=True), Attempt(compacted=True))
    assert [keeps_record(attempt) for attempt in attempts] == [True, False, False, False]


def test_the_tail_of_a_transcript_drops_the_line_it_begins_in(tmp_path: Path) -> None:
    transcript = tmp_path / "session.jsonl"
    transcript.write_bytes(MARK + b"\n" + b"x" * TAIL_BYTES + b"\n" + MESSAGE + b"\n")
    assert transcript_tail(str(transcript)) == [MESSAGE]
    transcript.write_bytes(MARK + b"\n" + MESSAGE)
    assert transcript_tail(str(transcript)) == [MARK, MESSAGE]


def test_what_is_no_transcript_file_is_an_empty_transcript(tmp_path: Path) -> None:
    (tmp_path / "real").write_bytes(MARK)
    (tmp_path / "link").symlink_to("real")
    os.mkfifo(tmp_path / "pipe")
    names = ("link", "pipe", "nothing", ".", "a\0b")
    assert [transcript_tail(str(tmp_path / name)) for name in names] == [[]] * 5
