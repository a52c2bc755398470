"""Whether a run gets the workspace's files at all: `agents.defaults.contextInjection`.

Pure (prompt-builder 7.9). `continuation-skip` leaves them out while the conversation still holds them, which a record
in its transcript says; the record is read by `harness.workspace.transcript_tail`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import orjson

from harness.settings.files import ContextInjection
from harness.workspace.filters import ALREADY_SENT, INJECTION_OFF
from harness.workspace.first_run import FirstRunMode
from harness.workspace.names import ContextMode, RunKind

FULL_CONTEXT_RECORD = "openclaw:bootstrap-context:full"
"""`customType` of the record that says that a conversation holds the files."""

MOST_RECORDS = 500
"""Records looked at, from the end."""

_NEVER_SKIPPED = frozenset({RunKind.HEARTBEAT, RunKind.COMMITMENT_ONLY})


@dataclass(frozen=True, slots=True)
class Attempt:
    """How a run went, as far as the record depends on it."""

    prompt_failed: bool = False
    aborted: bool = False
    compacted: bool = False
    """Whether a compaction happened, or ran out of time, during the run."""


def reason_to_skip(
    setting: ContextInjection, *, run: RunKind, first_run: FirstRunMode, already_sent: bool
) -> str | None:
    """Say why a run gets no files, or None when it gets them.

    Args:
        setting: The agent's setting.
        run: What started the run; heartbeats and commitments always get their files, except under `never`.
        first_run: How far the run takes part in the first-run ritual; a full part always gets its files.
        already_sent: What `holds_full_context` says about the conversation.
    """
    if setting is ContextInjection.NEVER:
        return INJECTION_OFF
    skips = setting is ContextInjection.CONTINUATION_SKIP and already_sent
    needed = run in _NEVER_SKIPPED or first_run is FirstRunMode.FULL
    return ALREADY_SENT if skips and not needed else None


def holds_full_context(lines: Sequence[bytes]) -> bool:
    """Whether a conversation holds the files: the record is there, and no compaction came after it.

    Args:
        lines: The last lines of the transcript, one JSON record each, oldest first; what is not one is passed over.
    """
    for line in reversed(lines[-MOST_RECORDS:]):
        try:
            value = cast("object", orjson.loads(line))
        except orjson.JSONDecodeError:
            continue
        if not isinstance(value, dict):
            continue
        record = cast("dict[str, object]", value)
        if record.get("type") == "compaction":
            return False
        if record.get("type") == "custom" and record.get("customType") == FULL_CONTEXT_RECORD:
            return True
    return False


def plans_record(*, skipped: bool, context: ContextMode, run: RunKind, first_run: FirstRunMode) -> bool:
    """Whether a run that goes well is to leave the record behind."""
    return (
        not skipped
        and context is not ContextMode.LIGHTWEIGHT
        and run not in _NEVER_SKIPPED
        and first_run is FirstRunMode.FULL
    )


def keeps_record(attempt: Attempt) -> bool:
    """Whether a run went well enough for a planned record to be written."""
    return not (attempt.prompt_failed or attempt.aborted or attempt.compacted)
