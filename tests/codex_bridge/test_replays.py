"""Which failed turn is run again, how, and that none is twice."""

from dataclasses import replace

import pytest

from codex_bridge.replays import MOST_PAUSE, PAUSE, Step, Tried, next_step
from harness.turns import Command, Evidence, Failure, Outcome, Trigger, TurnResult

NOW = 1_000.0
FAILED = TurnResult(Outcome.FAILED, "", evidence=Evidence(messages=1))
TRIED = Tried(
    trigger=Trigger.CHAT,
    said=False,
    joined=0,
    tried_again=False,
    retried=False,
    outgrown=False,
    own_thread=True,
    fresh_is_less=True,
)
BUSY = (Failure.OVERLOADED, Failure.RATE_LIMIT)


@pytest.mark.parametrize("failure", Failure)
def test_only_a_provider_that_is_too_busy_is_asked_again_by_itself(failure: Failure) -> None:
    """A usage limit never is; of that it is looked up when it is lifted."""
    step = next_step(replace(FAILED, failure=failure), TRIED, NOW)
    expected = (Step.LATER, PAUSE) if failure in BUSY else (Step.LOOK, 0.0) if failure is Failure.USAGE_LIMIT else None
    assert step == expected


def test_a_usage_limit_of_which_the_time_is_known_is_told_at_once() -> None:
    assert next_step(replace(FAILED, failure=Failure.USAGE_LIMIT, retry_at=NOW + 1), TRIED, NOW) is None


@pytest.mark.parametrize(
    ("retry_at", "step"),
    [
        (NOW + 20, (Step.LATER, 20.0)),
        (NOW - 1, (Step.LATER, 0.0)),
        (NOW + MOST_PAUSE, (Step.LATER, MOST_PAUSE)),
        (NOW + MOST_PAUSE + 1, None),
    ],
)
def test_the_pause_is_the_one_that_the_provider_asks_for_if_a_person_can_wait_so_long(
    retry_at: float, step: tuple[Step, float] | None
) -> None:
    assert next_step(replace(FAILED, failure=Failure.RATE_LIMIT, retry_at=retry_at), TRIED, NOW) == step


def test_a_conversation_that_is_too_long_goes_on_in_a_fresh_thread_if_that_would_hold_less() -> None:
    outgrown = replace(TRIED, outgrown=True)
    for failure in (Failure.CONTEXT, Failure.OVERLOADED, Failure.OTHER):
        assert next_step(replace(FAILED, failure=failure), outgrown, NOW) == (Step.FRESH, 0.0)
    assert next_step(replace(FAILED, failure=Failure.CONTEXT), replace(outgrown, fresh_is_less=False), NOW) is None


RAN = [
    Evidence(commands=(Command("ls"),)),
    Evidence(commands=(Command("ls", over=False),)),
    Evidence(changes=("a",)),
    Evidence(tools=("send",)),
    Evidence(others=("hologram",)),
    Evidence(children=1),
    Evidence(messages=2),
]


@pytest.mark.parametrize("failure", [Failure.OVERLOADED, Failure.CONTEXT])
@pytest.mark.parametrize("evidence", RAN)
def test_a_turn_that_ran_anything_is_not_run_again(failure: Failure, evidence: Evidence) -> None:
    """A15. Nor one into which words came that nobody here knows of, as they are not in its request."""
    tried = replace(TRIED, outgrown=failure is Failure.CONTEXT)
    assert next_step(replace(FAILED, failure=failure, evidence=evidence), tried, NOW) is None


def test_words_that_joined_a_turn_run_again_with_it() -> None:
    failed = replace(FAILED, failure=Failure.OVERLOADED, evidence=Evidence(messages=2))
    assert next_step(failed, replace(TRIED, joined=1), NOW) == (Step.LATER, PAUSE)


@pytest.mark.parametrize("outgrown", [True, False])
def test_a_turn_that_said_anything_or_was_run_again_or_has_a_thread_of_its_own_is_not_run_again(
    *, outgrown: bool
) -> None:
    tried, failed = replace(TRIED, outgrown=outgrown), replace(FAILED, failure=Failure.OVERLOADED)
    assert next_step(failed, tried, NOW) is not None
    for but in (
        replace(tried, said=True),
        replace(tried, tried_again=True),
        replace(tried, own_thread=False),
    ):
        assert next_step(failed, but, NOW) is None
    assert next_step(replace(failed, text="Let me"), tried, NOW) is None
    assert next_step(replace(failed, outcome=Outcome.LOST), tried, NOW) is None


def test_what_codex_has_tried_again_by_itself_and_what_comes_again_anyway_is_not_tried_once_more() -> None:
    failed = replace(FAILED, failure=Failure.OVERLOADED)
    assert next_step(failed, replace(TRIED, retried=True), NOW) is None
    assert next_step(failed, replace(TRIED, trigger=Trigger.HEARTBEAT), NOW) is None
    assert next_step(failed, replace(TRIED, trigger=Trigger.CRON), NOW) == (Step.LATER, PAUSE)
    assert next_step(replace(failed, compacted=True), TRIED, NOW) is None  # it would be undone
