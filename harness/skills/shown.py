"""How a path or name with odd characters is written for a person.

Pure. File names are bytes and configuration is free text: either may hold line ends, or characters that no terminal
and no file in UTF-8 takes.
"""

import re
from typing import Final

_ODD: Final = re.compile(r"[\x00-\x1f\x7f\x85\u2028\u2029\ud800-\udfff]")


def is_plain(text: str) -> bool:
    """Tell whether `text` stays on one line and can be encoded."""
    return text.isprintable() or _ODD.search(text) is None


def shown(text: str) -> str:
    r"""Return `text` with each odd character written as in Python, such as `\n`."""
    return text if is_plain(text) else _ODD.sub(lambda odd: odd[0].encode("unicode_escape").decode(), text)
