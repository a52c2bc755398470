"""A simulated day on the real binary: what it must look like, and that a day which does not is noticed."""

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.day import PERSONA, Day, DayError, Seen, Shape, bill, check, live
from codex_bridge.wording import HEARTBEAT_TITLE
from tests.real.conftest import state

__all__ = ["state"]
SHAPE = Shape(chats=4, heartbeats=5, speaking=(2,), fills=2, persona_units=500, skills=2)


@pytest.mark.real_codex
async def test_a_day_with_quiet_heartbeats_taken_back_is_as_promised_and_one_without_is_not(state: Path) -> None:
    day = await live(state / "a", SHAPE, take_back=True)
    check(day, SHAPE)
    every = await live(state / "b", SHAPE, take_back=False)
    with pytest.raises(DayError, match=r"heartbeat 1: heartbeats in it: \[0, 1\] and not \[1\]"):
        check(every, SHAPE)
    assert [turn.heartbeat for turn in day.turns] == [None, 0, 1, None, 2, None, 3, None, 4]
    quiet, kept = bill(day), bill(every)
    assert quiet.requests == kept.requests == 4 + 3 * 5 + 1
    assert (quiet.persona, kept.persona) == (2, 4)
    assert quiet.sent < kept.sent
    assert quiet.instructions < kept.instructions


def test_a_day_that_lost_its_chats_is_not_one() -> None:
    with pytest.raises(DayError, match="the day"):
        check(Day([Seen(2, [])]), SHAPE)


@pytest.mark.real_codex
@pytest.mark.parametrize(
    ("role", "text", "problem"),
    [
        ("developer", f"{HEARTBEAT_TITLE}\n\nLook.", "a chat: heartbeat guidance in it: 1 and not 0"),
        ("assistant", "HEARTBEAT_OK", r"a chat: what the agent said of heartbeats: \{'HEARTBEAT_OK'\} and not set()"),
        ("user", f"{PERSONA}", "a chat: copies of the persona: 2 and not 1"),
    ],
)
async def test_a_trace_of_a_heartbeat_in_a_chat_is_noticed(state: Path, role: str, text: str, problem: str) -> None:
    shape = replace(SHAPE, chats=2, heartbeats=1, speaking=(), fills=-1)
    day = await live(state / "a", shape, take_back=True)
    check(day, shape)
    (chat,) = day.turns[-1].requests
    kind = "output_text" if role == "assistant" else "input_text"
    chat.input.append({"type": "message", "role": role, "content": [{"type": kind, "text": text}]})
    with pytest.raises(DayError, match=problem):
        check(day, shape)
