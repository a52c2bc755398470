"""Whether a run gets the workspace's files at all: `agents.defaults.contextInjection`.

Pure (prompt-builder 7.9). `continuation-skip` leaves them out while the conversation still holds them, see
`harness.conversations`.
"""

from harness.settings.files import ContextInjection
from harness.workspace.filters import ALREADY_SENT, INJECTION_OFF
from harness.workspace.first_run import FirstRunMode
from harness.workspace.names import RunKind

_NEVER_SKIPPED = frozenset({RunKind.HEARTBEAT, RunKind.COMMITMENT_ONLY})


def reason_to_skip(
    setting: ContextInjection, *, run: RunKind, first_run: FirstRunMode, already_sent: bool
) -> str | None:
    """Say why a run gets no files, or None when it gets them.

    Args:
        setting: The agent's setting.
        run: What started the run; heartbeats and commitments always get their files, except under `never`.
        first_run: How far the run takes part in the first-run ritual; a full part always gets its files.
        already_sent: Whether the conversation holds the files, see `harness.conversations`.
    """
    if setting is ContextInjection.NEVER:
        return INJECTION_OFF
    skips = setting is ContextInjection.CONTINUATION_SKIP and already_sent
    needed = run in _NEVER_SKIPPED or first_run is FirstRunMode.FULL
    return ALREADY_SENT if skips and not needed else None
