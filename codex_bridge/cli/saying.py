"""How what was written for a gateway is said on a command line."""

import logging
from typing import Final

from harness.errors import THE_LOG

VERBOSE: Final = "codex-bridge -v shows the details"


def said(sentence: str) -> str:
    """The sentence, with the way to a log that nobody is shown."""
    return sentence if logging.getLogger().isEnabledFor(logging.WARNING) else sentence.replace(THE_LOG, VERBOSE)
