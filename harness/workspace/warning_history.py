"""When a prompt tells that files were cut: always, once for each kind of cut, or never.

Pure (prompt-builder 7.10). What was told before is handed in and handed back, for the caller to keep.
"""

from dataclasses import dataclass

from harness.settings.files import WarningMode
from harness.workspace.analysis import BudgetAnalysis

MOST_SEEN = 32
"""Signatures that are remembered; the newest are kept."""


@dataclass(frozen=True, slots=True)
class TruncationReport:
    """Whether a run tells of cut files, and what its conversation was told of then."""

    shown: bool
    """Whether the run's prompt told about them."""
    signature: str
    """Empty when nothing was cut."""
    seen: tuple[str, ...]
    """Signatures that count as told, oldest first."""


def decide_warning(analysis: BudgetAnalysis, mode: WarningMode, seen: tuple[str, ...]) -> TruncationReport:
    """Decide whether this run's prompt tells about cut files."""
    signature = analysis.signature
    known = signature in seen
    shown = bool(signature) and (mode is WarningMode.ALWAYS or (mode is WarningMode.ONCE and not known))
    if signature and not known and mode is not WarningMode.OFF:
        seen = (*seen, signature)[-MOST_SEEN:]
    return TruncationReport(shown, signature, seen)
