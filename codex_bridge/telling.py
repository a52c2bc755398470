"""What an agent's turns are told of the failures that Codex reports.

Pure: the time is given. What it takes to tell a failure is loaded when the first turn fails.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from pydantic import ValidationError

from codex_bridge.rpc import Json
from codex_bridge.wire.requests import TurnError

if TYPE_CHECKING:
    from codex_bridge.turn_errors import Told
    from codex_bridge.wire.besides import AccountLimits

Tell: TypeAlias = "Callable[[TurnError | None], Told]"
"""Says what an error of a turn means."""
LIMITS_TOLD = "account/rateLimits/updated"
"""What tells the limits of the account, after each answer of a provider that states them."""


def tell_nothing(error: TurnError | None) -> "Told":
    """What tells a turn of failures that Codex has never had."""
    return Telling("", lambda: 0.0).tell(error)


class Telling:
    """Tells the failures of one agent's turns.

    Args:
        login: The command that signs its home in.
        now: The time in Unix seconds.
    """

    def __init__(self, login: str, now: Callable[[], float]) -> None:
        self._login = login
        self._now = now
        self._limits: Mapping[str, Json] | None = None

    def hear(self, limits: Mapping[str, Json]) -> None:
        """The server told the limits of the account, see `LimitsTold`; a provider that states none does not count."""
        told = limits.get("rateLimits")
        if isinstance(told, dict) and (told.get("primary") or told.get("secondary") or told.get("individualLimit")):
            self._limits = limits

    def for_zone(self, zone: str) -> Tell:
        """What tells a person's turns of failures, with times of that time zone; empty for UTC."""
        return partial(self.tell, zone=zone)

    def tell(self, error: TurnError | None, zone: str = "", limits: "AccountLimits | None" = None) -> "Told":
        """Say what went wrong with a turn that Codex ended, see `turn_errors.tell`.

        Args:
            error: What Codex says.
            zone: The time zone that a person is told times in; empty for UTC.
            limits: The limits of the account; None for what was heard of them last.
        """
        from codex_bridge.turn_errors import tell  # few turns fail

        return tell(error, login=self._login, now=self._now(), zone=zone, limits=limits or self.limits)

    @property
    def limits(self) -> "AccountLimits | None":
        """The limits of the account as they were told last; None when they were not."""
        from codex_bridge.wire.besides import LimitsTold

        if self._limits is None:
            return None
        try:
            return LimitsTold.model_validate(self._limits).rate_limits
        except ValidationError:
            return None  # a newer server's
