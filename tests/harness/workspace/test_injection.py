"""A conversation that holds the files already need not get them again."""

import pytest

from harness.settings import ContextInjection
from harness.workspace.filters import ALREADY_SENT, INJECTION_OFF
from harness.workspace.first_run import FirstRunMode
from harness.workspace.injection import reason_to_skip
from harness.workspace.names import RunKind


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
    """Rule 15: never on heartbeats or on a whole first run."""
    assert reason_to_skip(setting, run=run, first_run=first_run, already_sent=already) == reason
