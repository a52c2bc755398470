"""Which of the loaded files a run gets, by its session, its context mode, and the heartbeat settings.

Pure. Each rule says why a file is left out; no rule looks at the disk.
"""

from collections.abc import Callable, Iterable

from harness.lean_values import dataclass
from harness.settings.heartbeat import HeartbeatSettings
from harness.workspace.entries import LeftOutFile, WorkspaceFile
from harness.workspace.names import FILES_OF_SESSION, HEARTBEAT, ContextMode, RunKind, SessionKind

_SESSION_REASONS = {
    SessionKind.SUBAGENT: "a subagent gets only AGENTS.md and TOOLS.md",
    SessionKind.CRON: "a cron session gets only AGENTS.md, SOUL.md, TOOLS.md, IDENTITY.md and USER.md",
}

LIGHT_HEARTBEAT = "a light heartbeat run gets only HEARTBEAT.md"
LIGHT_RUN = "a light run gets no workspace files"
NO_FILE = "the file does not exist"
BOOTSTRAP_DONE = "the workspace is set up, so its first-run file is no longer used"
BOOTSTRAP_ELSEWHERE = "the first-run ritual cannot be done in this run"
COMMITMENTS_ONLY = "the run is about commitments only"
HEARTBEAT_OFF = "heartbeat guidance is off for the default agent"
INJECTION_OFF = "contextInjection is set to never"
ALREADY_SENT = "the conversation already holds the files (contextInjection is continuation-skip)"


@dataclass(frozen=True, slots=True)
class Sifted:
    """What a rule kept, in order, and what it did not."""

    files: tuple[WorkspaceFile, ...]
    left_out: tuple[LeftOutFile, ...]


Rule = Callable[[WorkspaceFile], str | None]
"""Says why a file is left out, or None when it stays."""


def sift(files: Iterable[WorkspaceFile], rules: Iterable[Rule]) -> Sifted:
    """Apply `rules` to each file; the first rule with a reason decides."""
    rules = tuple(rules)
    kept: list[WorkspaceFile] = []
    left_out: list[LeftOutFile] = []
    for file in files:
        reason = next((why for rule in rules if (why := rule(file)) is not None), None)
        if reason is None:
            kept.append(file)
        else:
            left_out.append(LeftOutFile(file.name, file.path, reason))
    return Sifted(tuple(kept), tuple(left_out))


def session_rule(kind: SessionKind) -> Rule:
    """Keep what a session of that kind may load (prompt-builder 7.2); hooks' own names pass in ordinary ones."""
    reason = _SESSION_REASONS.get(kind)
    allowed = FILES_OF_SESSION[kind]
    return lambda file: None if reason is None or file.name in allowed else reason


def completed_rule(bootstrap_paths: frozenset[str], *, completed: bool) -> Rule:
    """Drop the workspace's own BOOTSTRAP.md once the workspace is set up (prompt-builder 7.3).

    Args:
        bootstrap_paths: The file's path, as shown and with links followed. The file is known by them and not by its
            name, so a link or a hook cannot bring it back under another one; files of that name elsewhere stay.
        completed: Whether the workspace is set up.
    """

    def done(file: WorkspaceFile) -> str | None:
        if not completed or bootstrap_paths.isdisjoint((file.path, file.real_path)):
            return None
        return NO_FILE if file.missing else BOOTSTRAP_DONE

    return done


def context_mode_rule(mode: ContextMode, run: RunKind) -> Rule:
    """Keep HEARTBEAT.md alone in a light heartbeat, nothing in other light runs (prompt-builder 7.3)."""
    if mode is ContextMode.FULL:
        return lambda file: None
    if run is RunKind.HEARTBEAT:
        return lambda file: None if file.name == HEARTBEAT else LIGHT_HEARTBEAT
    return lambda file: LIGHT_RUN


def heartbeat_rule(run: RunKind, heartbeat: HeartbeatSettings | None) -> Rule:
    """Drop HEARTBEAT.md where heartbeats are not spoken of (prompt-builder 7.4).

    Args:
        run: What started the run.
        heartbeat: The settings of the run's agent; None when there is no configuration, which keeps the file. Only the
            default agent's file depends on them.
    """
    reason: str | None = None
    if run is RunKind.COMMITMENT_ONLY:
        reason = COMMITMENTS_ONLY
    elif heartbeat is not None and run is not RunKind.HEARTBEAT and heartbeat.default_agent and not heartbeat.guidance:
        reason = HEARTBEAT_OFF
    return lambda file: reason if file.name == HEARTBEAT else None
