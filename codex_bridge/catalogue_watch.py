"""Looks once a day whether the vendor has other models than a server that runs for weeks was started with.

Codex reads the catalogue that it is given when it starts. So what has changed is written down for the next server, and
the one that runs is replaced when nobody needs it.
"""

import logging
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, TypeAlias

from codex_bridge.catalogue import Catalogue
from codex_bridge.catalogue_file import catalogue_for, is_fresh
from codex_bridge.process import Launch

Look: TypeAlias = Callable[[], Coroutine[Any, Any, None]]

logger = logging.getLogger("codex_bridge")


class CatalogueWatch:
    """Watches the catalogue of an agent's servers.

    Args:
        begin: Has something done beside all that goes on, so that nobody waits for a look.
        launch: What the servers are started with; None for a server of somebody else, of whose catalogue nobody knows.
        now: The time in Unix seconds.
    """

    def __init__(
        self,
        begin: Callable[[Callable[[], Coroutine[Any, Any, None]]], object],
        launch: Launch | None,
        now: Callable[[], float],
    ) -> None:
        self._begin = begin
        self._launch = launch
        self._now = now
        self._seen: Catalogue | None = None
        self._looked_at = 0.0
        self._outdated: Catalogue | None = None

    def glance(self, in_force: Catalogue) -> None:
        """Begin a look if a day has passed since the vendor was last asked. Costs nothing otherwise."""
        if in_force is not self._seen:  # a server was started, and its start has asked if a day had passed by then
            now, told_at = self._now(), in_force.told_at
            self._seen, self._looked_at = in_force, told_at if is_fresh(told_at, now) else now
        if not is_fresh(self._looked_at, self._now()):
            # Before the answer is there: one that fails is not asked for again with each turn.
            self._looked_at = self._now()
            if self._launch is not None and self._launch.home.signed_in:
                self._begin(partial(self._look, self._launch, in_force))

    def replaces(self, in_force: Catalogue) -> bool:
        """Whether a server with this catalogue is to be replaced now; says so once."""
        found, self._outdated = in_force is self._outdated, None
        return found

    async def _look(self, launch: Launch, in_force: Catalogue) -> None:
        try:
            found = await catalogue_for(launch.binary, launch.home, launch.catalogue, self._now, launch.clear_env)
        except Exception:
            # The boundary of a look: whatever breaks in it must not end the agent's turns.
            logger.exception("looking for the vendor's models")
            return
        newest = found.catalogue
        changed = bool(newest.digest) and newest.digest != in_force.digest
        self._outdated = in_force if changed else None
        if changed:
            logger.info("the vendor has other models than yesterday; they are there once nothing runs")
