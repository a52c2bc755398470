"""What is remembered of the account's limits, and told of a turn that failed for one."""

import pytest

from codex_bridge.rpc import Json, JsonObject
from codex_bridge.telling import Telling, tell_nothing
from codex_bridge.wire.besides import AccountLimits
from codex_bridge.wire.requests import TurnError
from harness.turns import Failure

NOW = 1_000_000.0
REACHED = TurnError.model_validate({"message": "Try again later.", "codexErrorInfo": "usageLimitExceeded"})


def stated(resets_at: float) -> JsonObject:
    window: JsonObject = {"usedPercent": 100, "windowDurationMins": 300, "resetsAt": int(resets_at)}
    return {"rateLimits": {"limitId": "codex", "primary": window, "secondary": None, "individualLimit": None}}


NOTHING: JsonObject = {"rateLimits": {"limitId": "codex", "primary": None, "secondary": None, "individualLimit": None}}


def test_the_limits_that_were_heard_last_say_when_one_is_lifted() -> None:
    telling = Telling("log in", lambda: NOW)
    assert telling.tell(REACHED).retry_at is None
    telling.hear(stated(NOW + 100))
    telling.hear(NOTHING)  # as every answer of a provider that states none tells
    assert telling.tell(REACHED).retry_at == NOW + 100
    telling.hear(stated(NOW + 200))
    assert telling.tell(REACHED).retry_at == NOW + 200
    asked = AccountLimits.model_validate(stated(NOW + 300)["rateLimits"])
    assert telling.tell(REACHED, limits=asked).retry_at == NOW + 300


@pytest.mark.parametrize("odd", [7, "x", [], {}, {"primary": 7}, {"primary": {"usedPercent": "many"}}])
def test_limits_that_nobody_understands_change_nothing(odd: Json) -> None:
    telling = Telling("log in", lambda: NOW)
    telling.hear({"rateLimits": odd})
    assert telling.tell(REACHED).retry_at is None


def test_times_are_told_in_the_zone_of_the_turn() -> None:
    telling = Telling("log in", lambda: NOW)
    telling.hear(stated(NOW + 7_200))
    tokyo = telling.for_zone("Asia/Tokyo")(REACHED).sentence
    assert tokyo.endswith("It is lifted in 2 h, on 1970-01-13 at 00:46 (Asia/Tokyo).")
    assert telling.for_zone("UTC")(REACHED).sentence.endswith("in 2 h, at 15:46 (UTC).")


def test_a_turn_that_codex_never_had_is_told_of_like_any_other() -> None:
    assert tell_nothing(None).failure is Failure.OTHER
