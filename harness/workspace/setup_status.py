"""Whether the workspace of a run has been through its first run, as the disk says now.

Reads through the guarded reader, so an unchanged state costs one `stat`.
"""

from harness.lean_values import dataclass
from harness.workspace.entries import Notice, NoticeCode
from harness.workspace.reader import GuardedReader
from harness.workspace.reads import Content, Missing, Refused
from harness.workspace.setup_state import LEGACY_STATE_FILE, STATE_FILE, SetupState, SetupStateError, parse_state


@dataclass(frozen=True, slots=True)
class Setup:
    """The state found in a workspace."""

    state: SetupState
    file: str = ""
    """Path of the file that holds it, relative to the workspace; empty when there is none."""
    notices: tuple[Notice, ...] = ()
    """Not empty when a state file is there but cannot be used; the state is then that of a new workspace."""

    @property
    def completed(self) -> bool:
        """Whether the set-up was recorded as done. A workspace without BOOTSTRAP.md is set up as well."""
        return bool(self.state.completed_at)


async def read_setup(reader: GuardedReader, workspace: str) -> Setup:
    """Read the state of a workspace; what cannot be read counts as not completed (prompt-builder 7.3)."""
    for name in (STATE_FILE, LEGACY_STATE_FILE):
        match await reader.read(workspace, name):
            case Missing():
                continue
            case Refused() as refused:
                return _unusable(workspace, name, refused.reason)
            case Content(text):
                try:
                    return Setup(parse_state(text), name)
                except SetupStateError as error:
                    return _unusable(workspace, name, str(error))
    return Setup(SetupState())


def _unusable(workspace: str, name: str, why: str) -> Setup:
    path = f"{workspace}/{name}"
    text = f"{path} cannot be used: {why}. The workspace counts as not set up; repair or delete the file."
    return Setup(SetupState(), name, (Notice(NoticeCode.STATE, path, text),))
