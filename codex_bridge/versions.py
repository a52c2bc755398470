"""Which app-server versions this bridge knows.

Pure. The server tells its version only inside its user agent, "NAME/0.171.0 (Debian …) …".
"""

import re
from typing import Final

from codex_bridge.errors import ServerTooOldError, UnreadableAnswerError
from harness.lean_values import dataclass

FLOOR: Final = (0, 163, 0)
"""The oldest version that the suite runs on; older ones were never measured."""
NEWEST_TESTED: Final = (0, 171, 0)

_IN_USER_AGENT = re.compile(r"/(\d+)\.(\d+)\.(\d+)(\S*)")


@dataclass(frozen=True, slots=True)
class ServerVersion:
    """A version of the app-server."""

    numbers: tuple[int, int, int]
    text: str

    @property
    def warning(self) -> str:
        """One sentence for the operator of a server that is newer than everything that the suite runs on; or empty."""
        if self.numbers[:2] <= NEWEST_TESTED[:2]:
            return ""
        newest = ".".join(map(str, NEWEST_TESTED))
        return (
            f"Codex {self.text} is newer than all that this bridge was tested on, which ends with {newest}; where it "
            "behaves oddly, update the bridge or name an older binary in CODEX_BIN."
        )


def version_of(user_agent: str) -> ServerVersion:
    """Read the version out of the `userAgent` of the initialize answer.

    Raises:
        UnreadableAnswerError: There is none in it.
        ServerTooOldError: It is below `FLOOR`.
    """
    found = _IN_USER_AGENT.search(user_agent)
    if found is None:
        raise UnreadableAnswerError("initialize", f"no version in the user agent {user_agent!r}")
    major, minor, patch, rest = found.groups()
    version = ServerVersion((int(major), int(minor), int(patch)), f"{major}.{minor}.{patch}{rest}")
    if version.numbers < FLOOR:
        raise ServerTooOldError(version.text, ".".join(map(str, FLOOR)))
    return version
