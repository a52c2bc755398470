"""Which machine this is: home directory, environment variables, platform, time zone, form of the time."""

import os
import sys
from pathlib import Path

from harness.clock import Clock, find_zone
from harness.config.locale_clock import clock_of_locale
from harness.config.surroundings import Surroundings


def is_timezone(name: str) -> bool:
    """Say whether the machine's time zone data knows `name`."""
    return find_zone(name) is not None


def host_timezone() -> str:
    """Return the machine's IANA time zone: `TZ`, then `/etc/localtime`, then `/etc/timezone`, else UTC."""
    found = [os.environ.get("TZ", "").lstrip(":")]
    linked = os.path.realpath("/etc/localtime").partition("zoneinfo/")[2]
    found.append(linked.removeprefix("posix/").removeprefix("right/"))
    try:
        found.append(Path("/etc/timezone").read_text(encoding="utf-8").strip())
    except OSError:
        found.append("")
    return next((name for name in found if name and not name.startswith("/") and is_timezone(name)), "UTC")


def host_clock() -> Clock:
    """Return how the time is written here, by the locale that the environment names for times."""
    named = (os.environ.get(name) for name in ("LC_ALL", "LC_TIME", "LANG"))
    return clock_of_locale(next((name for name in named if name), ""))


def this_machine() -> Surroundings:
    """Return the facts about the machine as they are now."""
    return Surroundings(
        home=Path.home(),
        environment=dict(os.environ),
        host_timezone=host_timezone(),
        is_timezone=is_timezone,
        host_clock=host_clock(),
        platform=sys.platform,
    )
