"""In which zone, and in which form, an agent is told the time.

Pure values (prompt-builder 9).
"""

from zoneinfo import ZoneInfo

from harness.clock import Clock, find_zone
from harness.lean_values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeSettings:
    """How the agent is told the time."""

    timezone: str = "UTC"
    """An IANA name: the configured one, else the machine's."""
    host_timezone: str = "UTC"
    clock: Clock = "24"
    """The configured form, else the machine's."""
    envelope_timezone: str = "utc"
    """`utc`, `local`, `user` or an IANA name."""
    envelope_timestamp: bool = True
    envelope_elapsed: bool = True

    @property
    def zone(self) -> ZoneInfo:
        """The agent's time zone, ready for use; UTC when the machine's data does not know `timezone`."""
        return find_zone(self.timezone) or ZoneInfo("UTC")
