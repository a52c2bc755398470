"""What a start does about each message that was left open: one table."""

from dataclasses import replace

import pytest

from harness.delivery.advice import (
    BROKE_OFF,
    LONGEST_TURN,
    MOST_ROUNDS,
    NOT_KEPT,
    STALE,
    STILL_RUNS,
    TOO_OLD,
    Advice,
    DeliverLate,
    Fate,
    Found,
    Looked,
    Nothing,
    Notice,
    RunNow,
    advise,
    must_ask,
    parted,
)
from harness.replies.gate import ACTED
from harness.store.admitted import Ending, OpenDelivery, Outbound, Sending, State
from harness.turns import EndedBy, Evidence, Outcome, TurnResult
from tests.support.delivery import inbound

NOW = 1060.0
A, B = inbound("1"), inbound("2")
WAITING = OpenDelivery(state=State.ADMITTED, lead=A.key, inbound=(A,), ours=False)
RUNNING = replace(WAITING, state=State.RUNNING)
ANSWERED = replace(WAITING, state=State.ANSWERED)
OLD = replace(A, arrived_at=NOW - STALE - 1)
PREVIEW = Outbound(A.key, 0, "", Sending.SENT, "m1")
FIRST, SECOND = Outbound(A.key, 0, "One.", Sending.SENDING), Outbound(A.key, 1, "Two.")
GONE = Outbound(A.key, 0, "", Sending.SENT, "m1")


def result(outcome: Outcome, text: str = "", **how: object) -> TurnResult:
    return replace(TurnResult(outcome, text, conversation="thread", turn="turn"), **how)


@pytest.mark.parametrize(
    ("delivery", "found", "expected"),
    [
        (replace(RUNNING, ours=True), None, Nothing("it is being worked on")),
        (WAITING, None, RunNow()),
        (replace(WAITING, inbound=(OLD,)), None, Notice(TOO_OLD)),
        (replace(WAITING, inbound=(replace(A, payload=""),)), None, Notice(NOT_KEPT)),
        (RUNNING, Fate.NEVER_BEGAN, RunNow()),
        (replace(RUNNING, inbound=(OLD,)), Fate.NEVER_BEGAN, Notice(TOO_OLD)),
        (RUNNING, Fate.RUNNING, Nothing("its turn still runs")),
        (RUNNING, Fate.UNKNOWN, Notice(BROKE_OFF)),
        (RUNNING, None, Notice(BROKE_OFF)),
        (RUNNING, Fate.UNREACHABLE, Nothing("what became of its turn cannot be looked up now")),
        (replace(RUNNING, inbound=(OLD,)), Fate.UNREACHABLE, Notice(BROKE_OFF)),
        (
            RUNNING,
            result(Outcome.ANSWERED, "Done."),
            DeliverLate((Outbound(A.key, 0, "Done."),), "thread", "turn"),
        ),
        (
            replace(RUNNING, outbound=(PREVIEW,)),
            result(Outcome.ANSWERED, "Done."),
            DeliverLate((Outbound(A.key, 0, "Done.", Sending.SENT, "m1"),), "thread", "turn"),
        ),
        (RUNNING, result(Outcome.ANSWERED, "NO_REPLY"), Nothing("the agent chose to say nothing", Ending.SILENT)),
        (RUNNING, result(Outcome.EMPTY), Notice("No response was produced: the turn ended without an answer.")),
        (RUNNING, result(Outcome.FAILED, error="No quota."), Notice("No quota.")),
        (
            RUNNING,
            result(Outcome.INTERRUPTED, "Let me", ended_by=EndedBy.PERSON),
            Nothing("a person stopped it", Ending.STOPPED),
        ),
        (
            RUNNING,
            result(Outcome.LOST, error=BROKE_OFF, evidence=Evidence(changes=("a",))),
            Notice(f"{BROKE_OFF} {ACTED}"),
        ),
        (
            RUNNING,
            result(Outcome.LOST, "Let me", error=BROKE_OFF),
            DeliverLate((Outbound(A.key, 0, f"Let me\n\n{BROKE_OFF}"),), "thread", "turn"),
        ),
        (
            replace(RUNNING, inbound=(B,), led=False, steered=(B.key,)),
            result(Outcome.ANSWERED, "Done."),
            Nothing("the turn that it was said into was answered", Ending.SENT),
        ),
        (replace(ANSWERED, outbound=(FIRST, SECOND)), None, DeliverLate((FIRST, SECOND))),
        (replace(ANSWERED, outbound=(FIRST,), rounds=4), None, DeliverLate((FIRST,), rounds=5)),
        (replace(ANSWERED, outbound=(FIRST,), rounds=MOST_ROUNDS), None, DeliverLate((FIRST,), rounds=MOST_ROUNDS + 1)),
        (
            replace(ANSWERED, inbound=(OLD,), outbound=(FIRST,), rounds=MOST_ROUNDS),
            None,
            Nothing("its answer was offered 12 times", Ending.UNDELIVERABLE),
        ),
        (replace(RUNNING, inbound=(OLD,)), Fate.RUNNING, Nothing("its turn still runs")),
        (
            replace(RUNNING, inbound=(replace(A, arrived_at=NOW - LONGEST_TURN),)),
            Fate.RUNNING,
            Notice(STILL_RUNS),
        ),
        (replace(ANSWERED, outbound=(GONE, SECOND)), None, DeliverLate((SECOND,))),
        (
            replace(ANSWERED, outbound=(replace(FIRST, state=Sending.FAILED),)),
            None,
            DeliverLate((replace(FIRST, state=Sending.FAILED),)),
        ),
        (replace(ANSWERED, outbound=(GONE,)), None, Nothing("everything was sent", Ending.SENT)),
        (ANSWERED, None, Notice(BROKE_OFF)),
    ],
)
def test_advice(delivery: OpenDelivery, found: Found | None, expected: Advice) -> None:
    assert advise(delivery, found, now=NOW) == expected


def test_the_backend_is_asked_only_where_it_may_know_something() -> None:
    asked = [WAITING, RUNNING, replace(RUNNING, ours=True), ANSWERED, replace(ANSWERED, steered=(B.key,))]
    assert [must_ask(each) for each in asked] == [False, True, False, False, True]


def test_a_message_that_its_turn_does_not_have_is_looked_at_alone() -> None:
    delivery = replace(RUNNING, inbound=(A, B), steered=(B.key,))
    alone = OpenDelivery(state=State.ADMITTED, lead=B.key, inbound=(B,), ours=False)
    done = result(Outcome.ANSWERED, "Done.")
    assert parted(delivery, Looked(done, frozenset({B.key}))) == [replace(delivery, inbound=(A,), steered=()), alone]
    assert parted(delivery, Looked(done)) == [delivery]
    assert parted(replace(delivery, inbound=(B,), led=False), Looked(done, frozenset({B.key}))) == [alone]
