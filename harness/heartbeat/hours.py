"""Whether heartbeats may run at this time of day.

Pure but for the time zone database, which the standard library reads.
"""

from datetime import UTC, datetime

from harness.clock import find_zone
from harness.settings.heartbeat import ActiveHours


def within_active_hours(hours: ActiveHours | None, *, now: datetime) -> bool:
    """Say whether `now`, an aware moment, lies within the active hours.

    The start is part of them, the end is not; an end before the start wraps over midnight; equal ends leave no
    time at all; no hours leave the whole day (prompt-builder 10.7). A zone that the machine does not know counts as
    UTC.
    """
    if hours is None:
        return True
    local = now.astimezone(find_zone(hours.timezone) or UTC)
    minute = local.hour * 60 + local.minute
    if hours.start < hours.end:
        return hours.start <= minute < hours.end
    return hours.start != hours.end and (minute >= hours.start or minute < hours.end)
