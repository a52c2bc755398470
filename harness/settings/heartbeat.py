"""How an agent's heartbeats run, and what a channel shows of them.

Pure values. Rules of prompt-builder 10.1, 10.2, 10.7 and 10.8.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import field
from datetime import timedelta

from harness.lean_values import dataclass

ACK_MAX_CHARS = 300
"""The text beside the token, in UTF-16 units, up to which a heartbeat stays quiet (prompt-builder 10.1)."""
DAY = 24 * 60
"""The minutes of a day."""
_CLOCK = re.compile(r"([01]\d|2[0-3]):([0-5]\d)|24:00", re.ASCII)


def ack_limit(raw: str | float | None) -> int:
    """Return the limit that a configured `ackMaxChars` means, in UTF-16 units.

    A number may be given as text. What is no finite number means 300, a negative one 0 (prompt-builder 10.3).
    """
    if raw is None or isinstance(raw, bool):
        return ACK_MAX_CHARS
    try:
        number = float(raw)
    except (ValueError, OverflowError):
        return ACK_MAX_CHARS
    return max(0, int(number)) if math.isfinite(number) else ACK_MAX_CHARS


def day_minutes(clock: str) -> int | None:
    """Return how many minutes after midnight a time such as `08:30` is, `24:00` included; None for other texts."""
    found = _CLOCK.fullmatch(clock.strip())
    if found is None:
        return None
    return int(found[1]) * 60 + int(found[2]) if found[1] else DAY


@dataclass(frozen=True, slots=True)
class ActiveHours:
    """The part of the day in which heartbeats run (prompt-builder 10.7)."""

    start: int
    """Minutes after midnight; this minute belongs to the hours."""
    end: int
    """Minutes after midnight, up to `DAY`; this minute does not. Before `start`: on the next day."""
    timezone: str
    """An IANA name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeartbeatSettings:
    """How the heartbeats of an agent run (prompt-builder 10.1)."""

    default_agent: bool = True
    """They are those of the default agent."""
    enabled: bool = True
    """The agent is among those that have heartbeats."""
    every: timedelta | None = timedelta(minutes=30)
    """The time between two polls; None when they are off."""
    prompt: str | None = None
    """The configured poll text; None for the built-in one."""
    ack_max_chars: int = ACK_MAX_CHARS
    """How much text beside an acknowledgement still counts as quiet, in UTF-16 units."""
    target: str = "none"
    """`none`, `last` or a channel's name."""
    to: str | None = None
    account_id: str | None = None
    active_hours: ActiveHours | None = None
    """None: the whole day."""
    light_context: bool = False
    isolated_session: bool = False
    skip_when_busy: bool = False
    include_reasoning: bool = False
    include_system_prompt_section: bool = True
    suppress_tool_error_warnings: bool = False
    timeout_seconds: float = 600.0
    direct_allowed: bool = True
    """Alerts may go to a direct chat."""

    @property
    def runs(self) -> bool:
        """True when heartbeats are scheduled at all."""
        return self.enabled and self.every is not None

    @property
    def guidance(self) -> bool:
        """True when the agent's prompts speak of heartbeats at all (prompt-builder 10.2)."""
        return self.default_agent and self.runs and self.include_system_prompt_section


@dataclass(frozen=True, slots=True, kw_only=True)
class Visibility:
    """What of a heartbeat is shown in a chat (prompt-builder 10.8)."""

    show_ok: bool = False
    """Quiet heartbeats leave a short message."""
    show_alerts: bool = True
    use_indicator: bool = True
    """The state of heartbeats shows in status displays."""

    @property
    def nothing_shown(self) -> bool:
        """True when a heartbeat would change nothing that anybody sees."""
        return not (self.show_ok or self.show_alerts or self.use_indicator)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelVisibility:
    """What of a heartbeat each channel shows."""

    shared: Visibility = field(default_factory=Visibility)
    """Where nothing closer is said."""
    channels: Mapping[str, Visibility] = field(default_factory=dict[str, Visibility])
    accounts: Mapping[tuple[str, str], Visibility] = field(default_factory=dict[tuple[str, str], Visibility])
    """By channel and account."""

    def of(self, channel: str, account: str | None = None) -> Visibility:
        """Return what is shown in the chats of a channel's account."""
        own = self.channels.get(channel, self.shared)
        return own if account is None else self.accounts.get((channel, account), own)
