"""The words by which a server refuses to steer or interrupt a turn, as both versions say them."""

from codex_bridge.active_turn import another_turn, is_idle, is_unfit
from codex_bridge.errors import RpcError
from codex_bridge.rpc import Json

STEER, INTERRUPT = "turn/steer", "turn/interrupt"


def refused(method: str, message: str, data: Json = None) -> RpcError:
    return RpcError(method, -32600, message, data)


def test_a_thread_that_runs_nothing_is_known_by_its_words() -> None:
    assert is_idle(refused(STEER, "no active turn to steer"))
    assert is_idle(refused(INTERRUPT, "no active turn to interrupt"))
    assert not is_idle(refused(STEER, "expected active turn id `a` but found `b`"))


def test_the_turn_that_runs_in_place_of_the_one_that_was_meant_is_read_with_and_without_marks() -> None:
    assert another_turn(refused(STEER, "expected active turn id `01a2-3` but found `01a2-4`")) == "01a2-4"
    assert another_turn(refused(INTERRUPT, "expected active turn id 01a2-3 but found 01a2-4")) == "01a2-4"
    assert another_turn(refused(INTERRUPT, "no active turn to interrupt")) is None


def test_a_turn_that_takes_nothing_in_is_known_by_its_class_or_its_words() -> None:
    info: Json = {"codexErrorInfo": {"activeTurnNotSteerable": {"turnKind": "compact"}}}
    assert is_unfit(refused(STEER, "another wording", info))
    assert is_unfit(refused(STEER, "cannot steer a review turn"))
    assert not is_unfit(refused(STEER, "no active turn to steer"))
