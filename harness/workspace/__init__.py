"""The files of an agent's workspace: read safely, chosen for a run, fitted into the prompt, and accounted for."""

from typing import TYPE_CHECKING

from harness.lazy import lazily

if TYPE_CHECKING:
    from harness.settings.files import (
        EXTRA_FILES_HOOK,
        ContextInjection,
        FileLimits,
        FileSettings,
        SeedOptions,
        WarningMode,
    )
    from harness.workspace.analysis import BudgetAnalysis, Cause, FileStats, Injected, analyse
    from harness.workspace.attestation import WorkspaceVanishedError
    from harness.workspace.bootstrap import Bootstrap, BootstrapFiles, BootstrapRequest
    from harness.workspace.budget import ContextFile, ContextFiles, Fit, build_context
    from harness.workspace.entries import LeftOutFile, Notice, NoticeCode, WorkspaceFile
    from harness.workspace.extra_files import ExtraFiles
    from harness.workspace.first_run import (
        FirstRunFacts,
        FirstRunMode,
        bootstrap_text,
        first_run_mode,
        for_mode,
        has_access,
        is_pending,
        workspace_notes,
    )
    from harness.workspace.hooks import BootstrapEvent, BootstrapHooks, HookFile
    from harness.workspace.injection import reason_to_skip
    from harness.workspace.memory_files import MemoryKind
    from harness.workspace.names import ContextMode, RunKind, SessionKind, session_kind
    from harness.workspace.reader import GuardedReader
    from harness.workspace.reads import Content, Missing, ReadResult, Refusal, Refused
    from harness.workspace.seeding import Seeded, ensure_workspace
    from harness.workspace.setup_state import SetupState
    from harness.workspace.setup_status import Setup, read_setup
    from harness.workspace.truncate import Truncation, truncate
    from harness.workspace.warn_once import WarnOnce
    from harness.workspace.warning_history import TruncationReport, decide_warning
    from harness.workspace.warning_text import advice, prompt_notice, user_prompt_with_warning, warning_lines

__all__ = [
    "EXTRA_FILES_HOOK",
    "Bootstrap",
    "BootstrapEvent",
    "BootstrapFiles",
    "BootstrapHooks",
    "BootstrapRequest",
    "BudgetAnalysis",
    "Cause",
    "Content",
    "ContextFile",
    "ContextFiles",
    "ContextInjection",
    "ContextMode",
    "ExtraFiles",
    "FileLimits",
    "FileSettings",
    "FileStats",
    "FirstRunFacts",
    "FirstRunMode",
    "Fit",
    "GuardedReader",
    "HookFile",
    "Injected",
    "LeftOutFile",
    "MemoryKind",
    "Missing",
    "Notice",
    "NoticeCode",
    "ReadResult",
    "Refusal",
    "Refused",
    "RunKind",
    "SeedOptions",
    "Seeded",
    "SessionKind",
    "Setup",
    "SetupState",
    "Truncation",
    "TruncationReport",
    "WarnOnce",
    "WarningMode",
    "WorkspaceFile",
    "WorkspaceVanishedError",
    "advice",
    "analyse",
    "bootstrap_text",
    "build_context",
    "decide_warning",
    "ensure_workspace",
    "first_run_mode",
    "for_mode",
    "has_access",
    "is_pending",
    "prompt_notice",
    "read_setup",
    "reason_to_skip",
    "session_kind",
    "truncate",
    "user_prompt_with_warning",
    "warning_lines",
    "workspace_notes",
]

__getattr__ = lazily(
    __name__,
    {
        "EXTRA_FILES_HOOK": "harness.settings.files",
        "Bootstrap": "harness.workspace.bootstrap",
        "BootstrapEvent": "harness.workspace.hooks",
        "BootstrapFiles": "harness.workspace.bootstrap",
        "BootstrapHooks": "harness.workspace.hooks",
        "BootstrapRequest": "harness.workspace.bootstrap",
        "BudgetAnalysis": "harness.workspace.analysis",
        "Cause": "harness.workspace.analysis",
        "Content": "harness.workspace.reads",
        "ContextFile": "harness.workspace.budget",
        "ContextFiles": "harness.workspace.budget",
        "ContextInjection": "harness.settings.files",
        "ContextMode": "harness.workspace.names",
        "ExtraFiles": "harness.workspace.extra_files",
        "FileLimits": "harness.settings.files",
        "FileSettings": "harness.settings.files",
        "FileStats": "harness.workspace.analysis",
        "FirstRunFacts": "harness.workspace.first_run",
        "FirstRunMode": "harness.workspace.first_run",
        "Fit": "harness.workspace.budget",
        "GuardedReader": "harness.workspace.reader",
        "HookFile": "harness.workspace.hooks",
        "Injected": "harness.workspace.analysis",
        "LeftOutFile": "harness.workspace.entries",
        "MemoryKind": "harness.workspace.memory_files",
        "Missing": "harness.workspace.reads",
        "Notice": "harness.workspace.entries",
        "NoticeCode": "harness.workspace.entries",
        "ReadResult": "harness.workspace.reads",
        "Refusal": "harness.workspace.reads",
        "Refused": "harness.workspace.reads",
        "RunKind": "harness.workspace.names",
        "SeedOptions": "harness.settings.files",
        "Seeded": "harness.workspace.seeding",
        "SessionKind": "harness.workspace.names",
        "Setup": "harness.workspace.setup_status",
        "SetupState": "harness.workspace.setup_state",
        "Truncation": "harness.workspace.truncate",
        "TruncationReport": "harness.workspace.warning_history",
        "WarnOnce": "harness.workspace.warn_once",
        "WarningMode": "harness.settings.files",
        "WorkspaceFile": "harness.workspace.entries",
        "WorkspaceVanishedError": "harness.workspace.attestation",
        "advice": "harness.workspace.warning_text",
        "analyse": "harness.workspace.analysis",
        "bootstrap_text": "harness.workspace.first_run",
        "build_context": "harness.workspace.budget",
        "decide_warning": "harness.workspace.warning_history",
        "ensure_workspace": "harness.workspace.seeding",
        "first_run_mode": "harness.workspace.first_run",
        "for_mode": "harness.workspace.first_run",
        "has_access": "harness.workspace.first_run",
        "is_pending": "harness.workspace.first_run",
        "prompt_notice": "harness.workspace.warning_text",
        "read_setup": "harness.workspace.setup_status",
        "reason_to_skip": "harness.workspace.injection",
        "session_kind": "harness.workspace.names",
        "truncate": "harness.workspace.truncate",
        "user_prompt_with_warning": "harness.workspace.warning_text",
        "warning_lines": "harness.workspace.warning_text",
        "workspace_notes": "harness.workspace.first_run",
    },
)
