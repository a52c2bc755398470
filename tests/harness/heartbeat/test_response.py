import pytest

from harness.heartbeat import HeartbeatAnswer, HeartbeatResponder, Outcome, read_answer
from harness.json_value import Json
from harness.tools import Tool, ToolResult

QUIET: dict[str, Json] = {"outcome": "no_change", "notify": False, "summary": "All vents closed."}


def test_a_full_call_is_read() -> None:
    answer = read_answer(
        {
            "outcome": "needs_attention",
            "notify": True,
            "summary": "It is hot.",
            "notificationText": " Greenhouse is 41 C. ",
            "reason": "limit 35 C",
            "priority": "high",
            "nextCheck": "in 10 minutes",
        }
    )
    assert answer == HeartbeatAnswer(
        Outcome.NEEDS_ATTENTION, True, "It is hot.", "Greenhouse is 41 C.", "limit 35 C", "high", "in 10 minutes"
    )


def test_without_a_notification_the_summary_is_the_message() -> None:
    answer = read_answer(QUIET | {"notify": True})
    assert isinstance(answer, HeartbeatAnswer)
    assert answer.message == "All vents closed."


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"notify": "false"}, "notify must be true or false."),
        ({"outcome": "fine"}, "outcome must be one of no_change, progress, done, blocked, needs_attention."),
        ({"outcome": None}, "outcome must be one of no_change, progress, done, blocked, needs_attention."),
        ({"summary": "  "}, "summary must say in a sentence what was checked or done."),
        ({"priority": "urgent"}, "priority must be one of low, normal, high."),
        ({"reason": 7}, "reason must be a text."),
        (
            {"mood": "good"},
            "'mood' is no argument of heartbeat_respond; it takes nextCheck, notificationText, notify, outcome, "
            "priority, reason, summary.",
        ),
    ],
)
def test_a_wrong_call_is_answered_with_what_is_wrong(change: dict[str, Json], problem: str) -> None:
    assert read_answer(QUIET | change) == problem


async def test_the_first_valid_call_ends_the_heartbeat_and_a_second_is_refused() -> None:
    turn = HeartbeatResponder(active=True)
    results = [
        await turn.tool.call({}),
        await turn.tool.call(QUIET),
        await turn.tool.call(QUIET | {"notify": True}),
    ]
    assert results == [
        ToolResult(False, "notify must be true or false."),
        ToolResult(True, "Recorded. The heartbeat is over."),
        ToolResult(False, "This heartbeat is already answered.", ends_turn=True),
    ]
    assert turn.answer == read_answer(QUIET)


async def test_outside_a_heartbeat_a_quiet_call_does_nothing_and_an_alert_is_refused() -> None:
    turn = HeartbeatResponder(active=False)
    quiet, alert = await turn.tool.call(QUIET), await turn.tool.call(QUIET | {"notify": True})
    assert (quiet, alert, turn.answer) == (
        ToolResult(True, "This turn is no heartbeat; nothing was recorded."),
        ToolResult(False, "This turn is no heartbeat: say it in your answer instead."),
        None,
    )


def test_the_tool_reads_the_same_on_every_turn() -> None:
    on, off = HeartbeatResponder(active=True).tool, HeartbeatResponder(active=False).tool
    assert (on.name, on.description, on.input_schema) == (off.name, off.description, off.input_schema)
    assert on == Tool("heartbeat_respond", on.description, on.input_schema, on.call)
    assert on.input_schema["required"] == ["outcome", "notify", "summary"]
    assert on.input_schema["additionalProperties"] is False


def test_null_for_an_optional_argument_is_as_good_as_none() -> None:
    full: dict[str, Json] = {"outcome": "no_change", "notify": False, "summary": "All well."}
    assert read_answer({**full, "notificationText": None, "priority": None, "reason": None, "nextCheck": None}) == (
        HeartbeatAnswer(Outcome.NO_CHANGE, False, "All well.")
    )
    assert read_answer({**full, "summary": None}) == "summary must be a text."
