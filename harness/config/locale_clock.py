"""How the people of a locale write the time of day: with hours to 12 or to 24.

Pure: the locale's name is an argument.
"""

import re

from harness.clock import Clock

TWELVE_HOURS = frozenset(
    {"AE", "AU", "BD", "CA", "CO", "EG", "HK", "IN", "JO", "KR", "KW", "MY", "NZ", "PH", "PK", "PR", "QA", "SA", "SG"}
    | {"TW", "US"}
)
"""Territories in which hours run to 12; our short list, enough for `timeFormat: auto`."""
TWENTY_FOUR = frozenset({"fr_CA"})
"""Locales of those territories that differ."""
LOCALE = re.compile(r"(?P<language>[a-z]{2,3})_(?P<territory>[A-Z]{2})")


def clock_of_locale(name: str) -> Clock:
    """Return the form for a locale such as `en_US.UTF-8`; 24 when the name says nothing of a territory."""
    found = LOCALE.match(name)
    twelve = found is not None and found["territory"] in TWELVE_HOURS and found[0] not in TWENTY_FOUR
    return "12" if twelve else "24"
