"""In which order skill names stand: the English dictionary order.

Pure. Letter case and accents matter only between names that are otherwise equal, and signs come before digits
before letters, whatever the machine's own locale.
"""

import unicodedata
from functools import lru_cache
from typing import Final

_SIGNS: Final = "\t\n _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$"
"""The signs in the order of the Unicode collation table."""
_RANKED: Final = {ord(sign): rank for rank, sign in enumerate(_SIGNS, 1)}
NameKey = tuple[str, str, str, str]


@lru_cache(maxsize=4096)
def name_key(name: str) -> NameKey:
    """Return what to sort `name` by."""
    if name.isascii():
        return name.lower().translate(_RANKED), "", name.swapcase(), name
    parts = unicodedata.normalize("NFKD", name)
    bare = "".join(part for part in parts if not unicodedata.combining(part))
    return bare.casefold().translate(_RANKED), parts.casefold(), name.swapcase(), name
