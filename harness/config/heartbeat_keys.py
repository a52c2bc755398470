"""Which keys a heartbeat block has, in the defaults and in an agent's entry.

Pure. None means "not written".
"""

from typing import Annotated, Literal

from pydantic import AfterValidator

from harness.config.section import UNUSABLE, Duration, InWords, Numeral, PositiveNumber, Section, Unusable, WhenWrong
from harness.settings.heartbeat import DAY, day_minutes


def _time_of_day(value: str) -> str:
    if day_minutes(value) is None:
        raise ValueError("not a time of day")
    return value


TimeOfDay = Annotated[
    str, AfterValidator(_time_of_day), InWords('a time of day such as "08:00" (the end may be "24:00")')
]


class ActiveHours(Section):
    """`heartbeat.activeHours`: when heartbeats run."""

    start: TimeOfDay | None = None
    end: TimeOfDay | None = None
    timezone: str | None = None
    """`user`, `local` or an IANA name."""

    @property
    def minutes(self) -> tuple[int, int] | None:
        """Both ends in minutes after midnight; None when one is missing or the start is no minute of the day."""
        start, end = (None if text is None else day_minutes(text) for text in (self.start, self.end))
        return None if start is None or end is None or start == DAY else (start, end)


class Heartbeat(Section):
    """`heartbeat`: the block of an agent replaces single keys of the defaults (prompt-builder 10.1)."""

    every: Annotated[Duration | Unusable | None, WhenWrong(UNUSABLE, "heartbeats stay off")] = None
    prompt: str | None = None
    ack_max_chars: Annotated[Numeral | Unusable | None, WhenWrong(UNUSABLE, "300 is used")] = None
    target: str | None = None
    """`none`, `last` or a channel."""
    to: str | None = None
    account_id: str | None = None
    active_hours: ActiveHours | None = None
    light_context: bool | None = None
    isolated_session: bool | None = None
    skip_when_busy: bool | None = None
    include_reasoning: bool | None = None
    include_system_prompt_section: bool | None = None
    suppress_tool_error_warnings: bool | None = None
    timeout_seconds: PositiveNumber | None = None
    direct_policy: Literal["allow", "block"] | None = None
