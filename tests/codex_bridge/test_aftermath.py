"""What is kept of how a turn ended, and what the next one says of it."""

from typing import Any

import pytest

from codex_bridge.aftermath import after_restart, left_by, told_of
from codex_bridge.marks import Mark
from codex_bridge.wire.requests import Turn
from codex_bridge.wording import ANSWER_IN_DOUBT
from harness.layers import Layer, LayerName, Lifetime, Trust
from harness.turns import EndedBy, Outcome, TurnResult

NOW, WHEN = 1935817689.0, "2031-05-06 07:08:09 UTC"


def text(how: str) -> str:
    return (
        f"At {WHEN} the turn before this one was ended {how}. The person did not interrupt it, whatever else this "
        "conversation says of its end. What it had begun may be unfinished."
    )


def left(outcome: Outcome, by: EndedBy, *, turn: str = "u", **more: Any) -> str | None:
    return left_by(TurnResult(outcome, "", turn=turn, ended_by=by), at=NOW, **more)


@pytest.mark.parametrize(
    ("outcome", "by", "how"),
    [
        (Outcome.FAILED, EndedBy.DEADLINE, "by the gateway's deadline for silence, 60 s"),
        (Outcome.INTERRUPTED, EndedBy.GIVEN_WAY, "by the gateway, to make way for a message of the person"),
        (Outcome.FAILED, EndedBy.SHUTDOWN, "because the gateway was shut down"),
        (Outcome.LOST, EndedBy.LOSS, "because its Codex stopped running"),
        (Outcome.INTERRUPTED, EndedBy.ITSELF, "by one of its own tools, which had nothing left to do"),
    ],
)
def test_a_turn_that_was_cut_short_is_told_of_by_who_did_it(outcome: Outcome, by: EndedBy, how: str) -> None:
    limit = "silence, 60 s" if by is EndedBy.DEADLINE else ""
    assert left(outcome, by, limit=limit, interrupted=outcome is Outcome.INTERRUPTED) == (
        f"u {text(how)} {ANSWER_IN_DOUBT}"
    )


def test_an_answer_that_counted_is_in_no_doubt_though_its_turn_was_interrupted() -> None:
    how = "by the gateway's deadline for the end after an answer, 10 s"
    limit = "the end after an answer, 10 s"
    assert left(Outcome.ANSWERED, EndedBy.DEADLINE, limit=limit, interrupted=True) == f"u {text(how)}"
    assert left(Outcome.ANSWERED, EndedBy.DEADLINE, limit=limit) == ""  # Codex has noted nothing of it


@pytest.mark.parametrize("outcome", [Outcome.ANSWERED, Outcome.EMPTY, Outcome.FAILED])
def test_of_a_turn_that_came_to_its_end_nothing_is_kept(outcome: Outcome) -> None:
    assert left(outcome, EndedBy.ITSELF) == ""


def test_of_one_that_a_person_stopped_only_its_name_is_kept() -> None:
    assert left(Outcome.INTERRUPTED, EndedBy.PERSON, interrupted=True) == "u"
    assert told_of("u") is None


def test_one_that_the_conversation_does_not_have_changes_nothing() -> None:
    assert left(Outcome.FAILED, EndedBy.DEADLINE, turn="") is None


def test_what_is_kept_becomes_a_layer_of_the_next_turn() -> None:
    assert told_of("u At noon it ended.") == Layer(
        LayerName.LAST_TURN, "codex_bridge", Lifetime.TURN, Trust.OPERATOR, "At noon it ended."
    )
    assert told_of("") is None


def last(status: str, *, item_id: str = "u", client_id: str | None = str(Mark("key", 3)), phase: str = "") -> Turn:
    items: list[dict[str, Any]] = [{"type": "userMessage", "id": "m", "clientId": client_id}]
    if phase:
        items.append({"type": "agentMessage", "id": "a", "text": "Two.", "phase": phase})
    return Turn.model_validate({"id": item_id, "status": status, "items": items})


BROKEN = (
    f"u At {WHEN} the gateway found that the turn before this one had broken off, because the gateway or its Codex had "
    "stopped running in the middle of it. The person did not interrupt it, whatever else this conversation says of its "
    f"end. What it had begun may be unfinished. {ANSWER_IN_DOUBT}"
)


@pytest.mark.parametrize(
    ("kept", "turn", "expected"),
    [
        ("", last("interrupted"), BROKEN),
        ("", last("interrupted", phase="commentary"), BROKEN),
        ("an earlier one", last("interrupted"), BROKEN),
        ("u", last("interrupted"), "u"),
        ("u It was ended.", last("interrupted"), "u It was ended."),
        ("", last("interrupted", phase="final_answer"), ""),
        ("", last("interrupted", client_id=None), ""),
        ("", last("interrupted", client_id="typed elsewhere"), ""),
        ("", last("completed"), ""),
        ("", last("failed"), ""),
        ("", None, ""),
    ],
)
def test_a_turn_that_broke_off_unnoted_is_found_when_its_thread_is_loaded_again(
    kept: str, turn: Turn | None, expected: str
) -> None:
    assert after_restart(kept, turn, at=NOW) == expected
