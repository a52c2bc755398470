from datetime import timedelta
from itertools import product

import pytest

from harness.heartbeat import (
    Ack,
    BasePoll,
    CommitmentsPoll,
    CronPoll,
    ExecPoll,
    HeartbeatTask,
    Pending,
    Poll,
    TasksPoll,
    ack_convention,
    choose_poll,
    heartbeat_guidance,
    heartbeat_pointer,
    heartbeat_section,
    render_poll,
)

VENTS = HeartbeatTask("vents", timedelta(minutes=30), "Check the vents, else say HEARTBEAT_OK")
PATH = "/home/pell/garden/HEARTBEAT.md"
FULL = Pending(
    prompt="Look around.",
    commitments=("Send Ada the seed list",),
    tasks=(VENTS,),
    context="Write short reports.",
    exec_results=("exit 0",),
    reminders=("Call the plumber",),
)
POLLS: list[Poll] = [
    BasePoll(),
    BasePoll("Read HEARTBEAT.md. If all is well reply HEARTBEAT_OK."),
    BasePoll("Call heartbeat_respond when done."),
    BasePoll("Look around."),
    TasksPoll((VENTS,), "Call heartbeat_respond or say heartbeat_ok."),
    CommitmentsPoll(("Send Ada the seed list",)),
    ExecPoll(("printed HEARTBEAT_OK",)),
    ExecPoll(("exit 0",), deliver=False),
    CronPoll(("Call heartbeat_respond",)),
    CronPoll(("Call the plumber",), deliver=False),
]


QUOTED = (ExecPoll, CronPoll, CommitmentsPoll)
"""Polls that quote what somebody or something else said, which stays as it is."""


@pytest.mark.parametrize(("poll", "ack"), list(product([poll for poll in POLLS if not isinstance(poll, QUOTED)], Ack)))
def test_a_turn_hears_of_its_own_convention_and_never_of_the_other(poll: Poll, ack: Ack) -> None:
    """T03."""
    file_path = "/home/pell/HEARTBEAT.md"
    poll_text = render_poll(poll, ack=ack, file_path=file_path).text
    turn = "\n".join([poll_text, heartbeat_guidance(ack), heartbeat_section(ack), heartbeat_pointer(file_path)])
    tokens = turn.lower().count("heartbeat_ok")
    tools = turn.count("heartbeat_respond")
    assert (tokens > 0, tools > 0) == ((True, False) if ack is Ack.TOKEN else (False, True))


@pytest.mark.parametrize(("poll", "ack"), list(product(POLLS, Ack)))
def test_every_poll_says_how_to_stay_quiet(poll: Poll, ack: Ack) -> None:
    own = "HEARTBEAT_OK" if ack is Ack.TOKEN else "heartbeat_respond"
    assert own in render_poll(poll, ack=ack).text


def test_the_convention_is_the_tool_wherever_it_is_registered() -> None:
    assert [ack_convention(tools) for tools in ({"cron", "heartbeat_respond"}, {"cron"})] == [Ack.TOOL, Ack.TOKEN]


def test_what_is_pending_is_asked_in_its_order_of_rank() -> None:
    ranked = [
        choose_poll(FULL),
        choose_poll(Pending(tasks=FULL.tasks, context="c", exec_results=("x",), reminders=("y",))),
        choose_poll(Pending(exec_results=("exit 0",), reminders=("y",), deliver=False)),
        choose_poll(Pending(reminders=("Call the plumber",))),
        choose_poll(Pending(prompt="Look around.")),
    ]
    assert ranked == [
        CommitmentsPoll(("Send Ada the seed list",)),
        TasksPoll((VENTS,), "c"),
        ExecPoll(("exit 0",), deliver=False),
        CronPoll(("Call the plumber",)),
        BasePoll("Look around."),
    ]


def test_the_built_in_poll_points_to_the_file_and_ends_with_the_time() -> None:
    poll = render_poll(BasePoll(), ack=Ack.TOKEN, file_path=PATH, time_lines="Current time: noon (UTC)")
    assert poll.text == (
        "Heartbeat check. If the workspace has a HEARTBEAT.md, read it and do what it says now. "
        "Take up no task from earlier conversations that it does not name. "
        "If nothing needs attention, answer with exactly HEARTBEAT_OK and nothing else.\n"
        f"HEARTBEAT.md is at {PATH}; use this very path and spelling.\n"
        "Current time: noon (UTC)"
    )
    assert poll.rewritten is False


def test_a_configured_prompt_stays_word_for_word() -> None:
    prompt = "Read heartbeat.MD.\n\n  Keep the *indent*."
    poll = render_poll(BasePoll(prompt), ack=Ack.TOKEN, file_path=PATH)
    assert poll.text == (
        f"{prompt}\n\nIf nothing needs attention, answer with exactly HEARTBEAT_OK and nothing else.\n"
        f"HEARTBEAT.md is at {PATH}; use this very path and spelling."
    )


def test_a_configured_prompt_that_names_the_other_convention_is_put_in_terms_of_this_one() -> None:
    poll = render_poll(BasePoll("Look around. If all is well reply HEARTBEAT_OK."), ack=Ack.TOOL)
    assert (poll.text, poll.rewritten) == (
        "Look around. If all is well reply heartbeat_respond with notify=false.",
        True,
    )


def test_due_tasks_are_listed_and_the_rest_of_the_file_follows_once() -> None:
    task = HeartbeatTask("ferns", timedelta(hours=1), "Water the ferns. Be brief.")
    text = (
        "Heartbeat check. These recurring tasks are due; do each of them now:\n"
        "- ferns: Water the ferns. Be brief.\n\n"
        "If nothing needs attention, answer with exactly HEARTBEAT_OK and nothing else."
    )
    context = "\n\nAdditional context from HEARTBEAT.md:\nThe tap is outside."
    assert render_poll(TasksPoll((task,), "The tap is outside."), ack=Ack.TOKEN).text == text + context
    assert render_poll(TasksPoll((task,), "Be brief."), ack=Ack.TOKEN).text == text
    assert render_poll(TasksPoll((task,), "The tap is outside."), ack=Ack.TOKEN, quote_context=False).text == text


def test_an_event_that_nobody_is_told_of_is_kept_inside() -> None:
    told = render_poll(ExecPoll(("exit 0",)), ack=Ack.TOKEN).text
    kept = render_poll(ExecPoll(("exit 0",), deliver=False), ack=Ack.TOKEN).text
    assert ("Tell the owner" in told, "Nobody is to be told" in told) == (True, False)
    assert ("Tell the owner" in kept, "Nobody is to be told" in kept) == (False, True)


def test_the_pointer_names_the_file_and_quotes_nothing_of_it() -> None:
    """S53."""
    assert heartbeat_pointer(PATH) == f"Heartbeat instructions are in this file; read it before you act:\n- {PATH}"


@pytest.mark.parametrize(
    ("poll", "line"),
    [
        (ExecPoll(("wrote /srv/HEARTBEAT_OK.log",)), "- wrote /srv/HEARTBEAT_OK.log"),
        (CronPoll(("Ask Ada what HEARTBEAT_OK means",)), "- Ask Ada what HEARTBEAT_OK means"),
        (CommitmentsPoll(("Explain HEARTBEAT_OK to Ada",)), "- Explain HEARTBEAT_OK to Ada"),
    ],
)
def test_what_is_quoted_is_quoted_as_it_is(poll: Poll, line: str) -> None:
    rendered = render_poll(poll, ack=Ack.TOOL)
    assert (rendered.text.splitlines()[1], rendered.rewritten) == (line, False)


def test_a_task_is_put_in_terms_of_the_turns_own_convention() -> None:
    own, other = render_poll(TasksPoll((VENTS,)), ack=Ack.TOKEN), render_poll(TasksPoll((VENTS,)), ack=Ack.TOOL)
    assert (own.text.splitlines()[1], own.rewritten) == ("- vents: Check the vents, else say HEARTBEAT_OK", False)
    assert (other.text.splitlines()[1], other.rewritten) == (
        "- vents: Check the vents, else say heartbeat_respond with notify=false",
        True,
    )


def test_the_lines_of_a_task_stay_below_its_name() -> None:
    task = HeartbeatTask("ferns", timedelta(hours=1), "Water:\n- the big one")
    assert render_poll(TasksPoll((task,)), ack=Ack.TOKEN).text.splitlines()[1:3] == [
        "- ferns: Water:",
        "  - the big one",
    ]
