"""Which time zone a name in the configuration means.

Pure: whoever calls knows the valid names.
"""

from collections.abc import Callable

ENVELOPE_WORDS = frozenset({"utc", "local", "user"})
"""What `envelopeTimezone` may be beside an IANA name (prompt-builder 9)."""
HOURS_WORDS = frozenset({"local", "user"})
"""What `activeHours.timezone` may be beside an IANA name (prompt-builder 10.7)."""

IsTimezone = Callable[[str], bool]


def user_timezone(configured: str | None, host: str, is_timezone: IsTimezone) -> str:
    """Return the configured zone if it is a known IANA name, else the machine's, else UTC (prompt-builder 9)."""
    wanted = ((configured or "").strip(), host.strip())
    return next((zone for zone in wanted if zone and is_timezone(zone)), "UTC")


def hours_timezone(named: str | None, *, user: str, host: str, is_timezone: IsTimezone) -> str:
    """Return the zone of active hours: the machine's for `local`, a known IANA name's own, else the person's."""
    plain = (named or "").strip()
    if plain.lower() == "local":
        return host
    return plain if plain and plain.lower() != "user" and is_timezone(plain) else user


def is_zone_name(plain: str, words: frozenset[str], is_timezone: IsTimezone) -> bool:
    """Say whether a name is one of `words`, in any letter case, or a known IANA name."""
    return plain.lower() in words or is_timezone(plain)
