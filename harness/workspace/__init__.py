"""The files of an agent's workspace: read safely, chosen for a run, fitted into the prompt, and accounted for."""

from harness.workspace.analysis import BudgetAnalysis, Injected, analyse
from harness.workspace.bootstrap import Bootstrap, BootstrapFiles, BootstrapRequest
from harness.workspace.budget import ContextFile, ContextFiles, Fit, build_context
from harness.workspace.entries import LeftOutFile, Notice, NoticeCode, WorkspaceFile
from harness.workspace.hooks import BootstrapEvent, BootstrapHooks, HookFile
from harness.workspace.limits import Limits, WarningMode, resolve_limits
from harness.workspace.names import ContextMode, RunKind, SessionKind, session_kind
from harness.workspace.reader import GuardedReader
from harness.workspace.reads import Content, Missing, ReadResult, Refusal, Refused
from harness.workspace.truncate import Truncation, truncate

__all__ = [
    "Bootstrap",
    "BootstrapEvent",
    "BootstrapFiles",
    "BootstrapHooks",
    "BootstrapRequest",
    "BudgetAnalysis",
    "Content",
    "ContextFile",
    "ContextFiles",
    "ContextMode",
    "Fit",
    "GuardedReader",
    "HookFile",
    "Injected",
    "LeftOutFile",
    "Limits",
    "Missing",
    "Notice",
    "NoticeCode",
    "ReadResult",
    "Refusal",
    "Refused",
    "RunKind",
    "SessionKind",
    "Truncation",
    "WarningMode",
    "WorkspaceFile",
    "analyse",
    "build_context",
    "resolve_limits",
    "session_kind",
    "truncate",
]
