"""What the end of a turn means for its chat (T05, T08): one table for every trigger."""

from dataclasses import replace

import pytest

from harness.replies.gate import ACTED, Reply, Say, Silent, acted, decide
from harness.turns import Command, CommandAction, EndedBy, Evidence, Outcome, Trigger, TurnResult

NOTHING = "No response was produced: the {} ended without an answer."
CHOSEN, STOPPED = Silent(), Silent(chosen=False)
ALERT = "Greenhouse is 41 C, vents are stuck."


@pytest.mark.parametrize(
    ("trigger", "text", "expected"),
    [
        (Trigger.CHAT, "NO_REPLY", CHOSEN),
        (Trigger.CHAT, "  no_reply\n", CHOSEN),
        (Trigger.CRON, "NO_REPLY", CHOSEN),
        (Trigger.HEARTBEAT, "HEARTBEAT_OK", CHOSEN),
        (Trigger.HEARTBEAT, "**HEARTBEAT_OK**", CHOSEN),
        (Trigger.HEARTBEAT, f"HEARTBEAT_OK\n\n{ALERT}", Say((ALERT,))),
        (Trigger.HEARTBEAT, "All fine. HEARTBEAT_OK", CHOSEN),
        (Trigger.CHAT, "Not addressed to me, nobody asked.\n\nNO_REPLY", CHOSEN),
        (Trigger.CHAT, "Put NO_REPLY on its own line.", Say(("Put NO_REPLY on its own line.",))),
        (Trigger.CHAT, "No, that is the wrong valve.", Say(("No, that is the wrong valve.",))),
        (Trigger.CHAT, "HEARTBEAT_OK", CHOSEN),
        (Trigger.CHAT, "", Say(("No response was produced: the turn ended without an answer.",), notice=True)),
        (
            Trigger.CRON,
            " \n",
            Say(("No response was produced: the scheduled run ended without an answer.",), notice=True),
        ),
    ],
)
def test_an_answer_is_told_or_kept_back(trigger: Trigger, text: str, expected: Reply) -> None:
    """T05."""
    outcome = Outcome.ANSWERED if text.strip() else Outcome.EMPTY
    assert decide(TurnResult(outcome, text), trigger, ack_max_chars=30) == expected


WROTE = Evidence(changes=("notes.md",), messages=1)
SORRY = "The model is overloaded; try again later."


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (TurnResult(Outcome.FAILED, "", SORRY), Say((SORRY,), notice=True)),
        (TurnResult(Outcome.FAILED, "", SORRY, evidence=WROTE), Say((f"{SORRY} {ACTED}",), notice=True)),
        (TurnResult(Outcome.FAILED, "Two fi", SORRY, evidence=WROTE), Say((f"Two fi\n\n{SORRY}",))),
        (TurnResult(Outcome.FAILED, "NO_REP", SORRY), Say((SORRY,), notice=True)),
        (TurnResult(Outcome.FAILED, "NO_REPLY", SORRY), CHOSEN),
        (TurnResult(Outcome.FAILED, ""), Say(("The turn failed.",), notice=True)),
        (TurnResult(Outcome.LOST, ""), Say(("The backend stopped in the middle of the turn.",), notice=True)),
        (TurnResult(Outcome.INTERRUPTED, "Let me", ended_by=EndedBy.PERSON), STOPPED),
        (TurnResult(Outcome.INTERRUPTED, "", evidence=WROTE, ended_by=EndedBy.PERSON), STOPPED),
        (TurnResult(Outcome.INTERRUPTED, "", ended_by=EndedBy.GIVEN_WAY), STOPPED),
        (TurnResult(Outcome.INTERRUPTED, "Done."), Say(("Done.",))),
        (TurnResult(Outcome.INTERRUPTED, ""), Say((NOTHING.format("turn"),), notice=True)),
        (
            TurnResult(Outcome.INTERRUPTED, "Let me", ended_by=EndedBy.DEADLINE),
            Say(("Let me\n\nThe turn was stopped.",)),
        ),
        (TurnResult(Outcome.ANSWERED, "No matches.", evidence=WROTE), Say(("No matches.",))),
    ],
)
def test_a_turn_that_did_not_end_well_is_told_honestly(result: TurnResult, expected: Reply) -> None:
    """T08 d to g."""
    assert decide(result) == expected


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (TurnResult(Outcome.ANSWERED, "Two."), Say(("One.", "Two."))),
        (TurnResult(Outcome.ANSWERED, "NO_REPLY"), Say(("One.",))),
        (TurnResult(Outcome.FAILED, "", SORRY), Say(("One.", SORRY))),
        (TurnResult(Outcome.INTERRUPTED, "Tw", ended_by=EndedBy.PERSON), Say(("One.",), rest_stays=True)),
    ],
)
def test_an_answer_that_was_whole_before_further_words_came_in_is_told_in_any_case(
    result: TurnResult, expected: Reply
) -> None:
    assert decide(replace(result, earlier=("One. NO_REPLY",))) == expected
    assert decide(replace(result, earlier=("NO_REPLY",))) == decide(result)


@pytest.mark.parametrize(
    ("evidence", "expected"),
    [
        (Evidence(messages=1), False),
        (Evidence(commands=(Command("cat a", (CommandAction.READ,)),)), False),
        (Evidence(commands=(Command("make", (CommandAction.OTHER,)),)), True),
        (Evidence(commands=(Command("cat a | sh", (CommandAction.READ,)),)), True),
        (Evidence(commands=(Command("make"),)), True),
        (Evidence(tools=("memory_search",)), False),
        (Evidence(tools=("message",)), True),
        (Evidence(others=("terminal",)), True),
        (Evidence(children=1), True),
        (WROTE, True),
    ],
)
def test_what_only_looks_is_no_deed(evidence: Evidence, expected: bool) -> None:
    assert acted(evidence) is expected


@pytest.mark.parametrize("blank", [" ", "\n\n", "\u00a0"])
def test_an_answer_of_spaces_alone_is_told_as_none(blank: str) -> None:
    reply = decide(TurnResult(Outcome.ANSWERED, blank))
    assert reply == decide(TurnResult(Outcome.EMPTY, ""))
    assert isinstance(reply, Say)
    assert reply.notice
