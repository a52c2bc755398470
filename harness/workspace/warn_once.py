"""How the log hears of the same trouble once, and not on every turn."""

import logging
from collections import OrderedDict
from collections.abc import Iterable

from harness.workspace.entries import Notice

MOST_REMEMBERED = 1024
"""Warnings remembered as given (prompt-builder 7.10)."""

_log = logging.getLogger("harness.workspace")


class WarnOnce:
    """Logs each notice of a workspace once per session.

    Args:
        logger: Where warnings go.
    """

    def __init__(self, logger: logging.Logger = _log) -> None:
        self._logger = logger
        self._given: OrderedDict[tuple[str, str, str], None] = OrderedDict()

    def warn(self, notices: Iterable[Notice], *, workspace: str, session_key: str) -> None:
        """Log those of `notices` that were not logged for this workspace and session before."""
        for notice in notices:
            key = (workspace, session_key, notice.text)
            known = key in self._given
            self._given[key] = None
            self._given.move_to_end(key)
            if len(self._given) > MOST_REMEMBERED:
                self._given.popitem(last=False)
            if not known:
                self._logger.warning("%s (sessionKey=%s)", notice.text, session_key)
