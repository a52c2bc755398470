"""When a prompt tells that files were cut: always, once for each kind of cut, or never.

Pure (prompt-builder 7.10). What was told before is handed in and handed back, for the caller to keep.
"""

from dataclasses import dataclass

from harness.settings.files import WarningMode
from harness.workspace.analysis import BudgetAnalysis, FileStats

MOST_SEEN = 32
"""Signatures that are remembered; the newest are kept."""


@dataclass(frozen=True, slots=True)
class TruncationReport:
    """What a run's report keeps about cut files."""

    mode: WarningMode
    shown: bool
    """Whether the run's prompt told about them."""
    signature: str
    """Empty when nothing was cut."""
    seen: tuple[str, ...]
    """Signatures that count as told, oldest first."""
    truncated: tuple[FileStats, ...]
    near_limit: tuple[FileStats, ...]
    total_near_limit: bool

    def as_json(self) -> dict[str, object]:
        """Return the report under the names that the original's reports use."""
        return {
            "warningMode": self.mode.value,
            "warningShown": self.shown,
            **({"promptWarningSignature": self.signature} if self.signature else {}),
            **({"warningSignaturesSeen": list(self.seen)} if self.seen else {}),
            "truncatedFiles": len(self.truncated),
            "nearLimitFiles": len(self.near_limit),
            "totalNearLimit": self.total_near_limit,
        }


def seen_before(
    *, seen: tuple[str, ...] | None, signature: str | None = None, mode: WarningMode = WarningMode.ALWAYS
) -> tuple[str, ...]:
    """Restore what was told before from the last run's report.

    Args:
        seen: The report's `warningSignaturesSeen`; None in reports that have none.
        signature: Its `promptWarningSignature`, which counts in place of a list, unless nothing was told then.
        mode: Its warning mode.
    """
    if seen:
        return tuple(dict.fromkeys(entry for entry in seen if entry))[-MOST_SEEN:]
    return (signature,) if signature and mode is not WarningMode.OFF else ()


def decide_warning(analysis: BudgetAnalysis, mode: WarningMode, seen: tuple[str, ...]) -> TruncationReport:
    """Decide whether this run's prompt tells about cut files."""
    signature = analysis.signature
    known = signature in seen
    shown = bool(signature) and (mode is WarningMode.ALWAYS or (mode is WarningMode.ONCE and not known))
    if signature and not known and mode is not WarningMode.OFF:
        seen = (*seen, signature)[-MOST_SEEN:]
    return TruncationReport(
        mode=mode,
        shown=shown,
        signature=signature,
        seen=seen,
        truncated=analysis.truncated,
        near_limit=analysis.near_limit,
        total_near_limit=analysis.total_near_limit,
    )
