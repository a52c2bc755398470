"""Whether a run goes through the first-run ritual of BOOTSTRAP.md, and what the prompt says about it.

Pure (prompt-builder 7.11).
"""

from collections.abc import Iterable
from enum import Enum

from harness.lean_values import dataclass
from harness.workspace.entries import WorkspaceFile
from harness.workspace.filters import BOOTSTRAP_ELSEWHERE, Sifted, sift
from harness.workspace.names import BOOTSTRAP, RunKind, SessionKind

INTERACTIVE_TRIGGERS = frozenset({"user", "manual"})
"""What must have started a run for a person to be there to answer."""


class FirstRunMode(Enum):
    """How far a run takes part in the ritual."""

    NONE = "none"
    LIMITED = "limited"
    """The prompt says that the ritual is open and cannot be done here."""
    FULL = "full"
    """The run carries BOOTSTRAP.md."""


@dataclass(frozen=True, slots=True)
class FirstRunFacts:
    """What decides the mode."""

    pending: bool
    """Whether the workspace is waiting for the ritual: see `is_pending`."""
    run: RunKind
    session: SessionKind
    primary: bool
    """Whether this is a main session: no subagent and no session of another agent program."""
    trigger: str
    """What started the run, such as "user", "manual", "heartbeat"."""
    file_access: bool
    """Whether the run can read files, or has the ritual's text already: see `has_access`."""
    own_workspace: bool
    """Whether the run works in the agent's own workspace and not in a copy or another folder."""


def is_pending(*, setup_complete: bool, bootstrap_text: str) -> bool:
    """Whether the ritual is open: by the recorded state, or because a BOOTSTRAP.md with text was loaded."""
    return not setup_complete or bool(bootstrap_text.strip())


def has_access(*, can_read_files: bool, embedded: bool, bootstrap_text: str) -> bool:
    """Whether a run can know the ritual; an embedded run also knows it by the text in its prompt, a CLI run not."""
    return can_read_files or (embedded and bool(bootstrap_text.strip()))


def first_run_mode(facts: FirstRunFacts) -> FirstRunMode:
    """Decide how far a run takes part; automatic and secondary runs never do."""
    takes_part = (
        facts.pending
        and facts.run is RunKind.DEFAULT
        and facts.session is SessionKind.ORDINARY
        and facts.primary
        and facts.trigger in INTERACTIVE_TRIGGERS
    )
    if not takes_part:
        return FirstRunMode.NONE
    return FirstRunMode.FULL if facts.file_access and facts.own_workspace else FirstRunMode.LIMITED


def bootstrap_text(files: Iterable[WorkspaceFile]) -> str:
    """Return the text of the BOOTSTRAP.md among `files`, empty when there is none."""
    return next((file.text for file in files if file.name == BOOTSTRAP and file.text.strip()), "")


def for_mode(files: Iterable[WorkspaceFile], mode: FirstRunMode) -> Sifted:
    """Leave BOOTSTRAP.md out unless the run goes through the ritual; do this before sizes are counted."""
    if mode is FirstRunMode.FULL:
        return Sifted(tuple(files), ())
    return sift(files, (lambda file: BOOTSTRAP_ELSEWHERE if file.name == BOOTSTRAP else None,))


def workspace_notes(*, bootstrap_present: bool, embedded: bool, gateway: bool) -> tuple[str, ...]:
    """Return the lines that the Workspace section of the prompt adds.

    Args:
        bootstrap_present: Whether a BOOTSTRAP.md is there.
        embedded: Whether the prompt is for an embedded run, as opposed to a CLI one.
        gateway: Whether a gateway process is behind the run.
    """
    notes: list[str] = []
    if bootstrap_present:
        notes.append("When you change files of this workspace, commit the changes to its git repository.")
    if embedded and not gateway:
        notes.append("No gateway is running: nothing can be scheduled or sent later, so finish the work in this turn.")
    return tuple(notes)
