import pytest

from harness.heartbeat import QuietEvidence, QuietVerdict, judge_quiet
from harness.turns import Command, CommandAction

READ, LIST, SEARCH, OTHER = CommandAction
TAKE_BACK = QuietVerdict(True, "it had nothing to tell and changed nothing")


def cat(*actions: CommandAction, text: str = "/bin/bash -lc 'cat HEARTBEAT.md'", over: bool = True) -> Command:
    return Command(text, actions, over)


def evidence(**change: object) -> QuietEvidence:
    return QuietEvidence(**({"acknowledged": True, "completed": True} | change))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "seen",
    [
        evidence(),
        evidence(commands=(cat(READ), cat(LIST, SEARCH), cat(READ, READ))),
        evidence(removed_units=900, returning_units=0),
        evidence(removed_units=900, returning_units=899),
    ],
)
def test_a_quiet_heartbeat_that_only_looked_is_taken_back(seen: QuietEvidence) -> None:
    assert judge_quiet(seen) == TAKE_BACK


@pytest.mark.parametrize(
    ("seen", "reason"),
    [
        (evidence(completed=False), "it did not end by itself"),
        (evidence(acknowledged=False), "it had something to tell"),
        (evidence(user_messages=2), "a message of a person is part of it"),
        (evidence(user_messages=0), "a message of a person is part of it"),
        (evidence(children=1), "it started other agents"),
        (evidence(effects=("message",)), "it changed something"),
        (evidence(compacted=True), "the conversation was summarised in it"),
        *(
            (evidence(commands=(cat(READ), command)), "it ran a command that may have changed something")
            for command in (cat(READ, OTHER), cat(), cat(READ, text="cat A | tee B"), cat(READ, over=False))
        ),
        (evidence(removed_units=900, returning_units=900), "taking it back would cost more than it frees"),
    ],
)
def test_one_doubt_keeps_the_turn(seen: QuietEvidence, reason: str) -> None:
    assert judge_quiet(seen) == QuietVerdict(False, reason)
