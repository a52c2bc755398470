"""Which conversations leave their thread because it cannot be summarised."""

import pytest

from codex_bridge.strain import CIRCLING, STUCK, Strain
from harness.turns import Command, Evidence, Failure, Outcome, TurnResult

CALM = TurnResult(Outcome.ANSWERED, "Fine.")
SUMMARISED = TurnResult(Outcome.ANSWERED, "Fine.", compacted=True)
WORKED = TurnResult(Outcome.ANSWERED, "Fine.", compacted=True, evidence=Evidence(commands=(Command("ls"),)))


def failed(failure: Failure = Failure.REQUEST) -> TurnResult:
    return TurnResult(Outcome.FAILED, "", failure=failure)


def seen(strain: Strain, *results: TurnResult, key: str = "one") -> list[str]:
    """What is said of turns of a conversation; those that failed, failed in their summary."""
    return [strain.see(key, each, summary_failed=each.outcome is Outcome.FAILED) for each in results]


def test_the_second_failure_in_a_row_gives_a_thread_up() -> None:
    assert seen(Strain(), failed(), failed()) == ["", STUCK]


def test_a_turn_that_went_well_between_two_failures_starts_the_count_anew() -> None:
    assert seen(Strain(), failed(), CALM, failed(), failed()) == ["", "", "", STUCK]


@pytest.mark.parametrize("end", [Outcome.INTERRUPTED, Outcome.LOST])
def test_a_turn_that_was_cut_off_says_nothing_of_its_thread(end: Outcome) -> None:
    assert seen(Strain(), failed(), TurnResult(end, ""), failed()) == ["", "", STUCK]


def test_a_turn_that_failed_after_its_summary_does_not_count() -> None:
    strain = Strain()
    assert [strain.see("one", failed(), summary_failed=False) for _ in range(4)] == [""] * 4


@pytest.mark.parametrize("failure", [Failure.PROVIDER, Failure.OUTAGE])
def test_what_may_be_the_providers_fault_is_tried_once_more(failure: Failure) -> None:
    assert seen(Strain(), failed(failure), failed(failure), failed(failure)) == ["", "", STUCK]


@pytest.mark.parametrize(
    "failure", [Failure.USAGE_LIMIT, Failure.RATE_LIMIT, Failure.OVERLOADED, Failure.LOGIN, Failure.DISK, Failure.MODEL]
)
def test_what_is_surely_somebody_elses_fault_never_costs_a_thread(failure: Failure) -> None:
    assert seen(Strain(), *[failed(failure)] * 5) == [""] * 5


def test_the_third_summary_in_a_row_for_nothing_gives_a_thread_up() -> None:
    assert seen(Strain(), SUMMARISED, SUMMARISED, SUMMARISED) == ["", "", CIRCLING]


def test_a_thread_that_is_filled_by_work_is_kept() -> None:
    assert seen(Strain(), *[WORKED] * 9) == [""] * 9


def test_a_fresh_thread_that_fares_no_better_is_kept() -> None:
    """Its first turn has nothing to summarise, which says nothing."""
    again = [CALM, SUMMARISED, SUMMARISED, SUMMARISED]
    assert seen(Strain(), *again, *again, *again).count(CIRCLING) == 1
    assert seen(Strain(), failed(), failed(), CALM, failed(), failed(), CALM, failed(), failed()).count(STUCK) == 1


def test_a_fresh_thread_that_fares_better_may_be_left_later_too() -> None:
    strain = Strain()
    said = seen(strain, failed(), failed(), CALM, CALM, failed(), failed())
    assert said == ["", STUCK, "", "", "", STUCK]


def test_conversations_are_counted_apart_and_begin_anew_with_nothing() -> None:
    strain = Strain()
    assert seen(strain, failed()) == [""]
    assert seen(strain, failed(), key="two") == [""]
    strain.forget("one")
    assert seen(strain, failed()) == [""]
    assert seen(strain, failed(), key="two") == [STUCK]
