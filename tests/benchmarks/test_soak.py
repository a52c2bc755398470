"""A small day of the soak holds, and what does not hold is found."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks import soak
from benchmarks.soak import Shape, spend
from benchmarks.soak_model import KINDS, RAN, TOOL, answer, answered_in, asking
from codex_bridge.loopback.recorder import RecordedRequest
from codex_bridge.loopback.script import Action, CallTool, HttpError, Reply, Say
from codex_bridge.rpc import Json
from codex_bridge.turn import CodexTurn
from harness.inbound import InboundMessage
from harness.turns import TurnEvent

ROOT = Path(__file__).parents[2]


def asked(*items: Json) -> Action:
    """What the model does with an input."""
    return answer(RecordedRequest(1, "/v1/responses", {}, {"input": list(items)}))


def said(role: str, text: str) -> Json:
    return {"type": "message", "role": role, "content": [{"type": "input_text", "text": text}]}


def called(number: int) -> list[Json]:
    call_id = f"call_{number}"
    return [
        {"type": "function_call", "call_id": call_id, "name": "exec_command", "arguments": "{}"},
        {"type": "function_call_output", "call_id": call_id, "output": "done"},
    ]


def test_the_model_answers_what_was_not_answered_yet() -> None:
    before = (said("user", asking(1, "say")), said("assistant", "Reply to 1."))
    both = (said("user", asking(2, "say")), said("user", asking(3, "say")))
    assert asked(*before, *both) == Reply((Say("Reply to 2 3."),))
    assert answered_in("Reply to 2 3.") == [2, 3]


@pytest.mark.parametrize(
    ("kind", "call"),
    [
        ("command", CallTool("exec_command", {"cmd": f"echo 5 >> {RAN}"}, call_id="call_5")),
        ("failing", CallTool("exec_command", {"cmd": f"echo 5 >> {RAN}; exit 3"}, call_id="call_5")),
        ("tool", CallTool(TOOL, {"number": 5}, "openclaw", call_id="call_5")),
    ],
)
def test_the_model_calls_once_and_then_answers(kind: str, call: CallTool) -> None:
    words = said("user", asking(5, kind))
    assert kind in KINDS
    assert asked(words) == Reply((call,))
    assert asked(words, *called(5)) == Reply((Say("Reply to 5."),))


def test_the_model_refuses_the_message_that_asks_for_it_and_no_later_one() -> None:
    refused, later = said("user", asking(5, "error")), said("user", asking(6, "say"))
    assert isinstance(asked(refused), HttpError)
    assert asked(refused, later) == Reply((Say("Reply to 5 6."),))


@pytest.mark.real_codex
def test_a_small_day_holds() -> None:
    small = ["--chats=4", "--messages=24", "--kills=1", "--json"]
    run = subprocess.run(
        [sys.executable, "-m", "benchmarks.soak", *small], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    told = json.loads(run.stdout)
    assert (told["messages"], sum(told["turns"].values()) <= 24, told["servers"]) == (24, True, 2)
    assert sum(told["endings"].values()) == 24 + told["commands"]
    assert told["problems"] == []


@pytest.mark.real_codex
def test_tasks_files_and_memory_that_are_left_over_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each turn leaves one of each behind."""
    files: list[int] = []
    tasks: list[object] = []
    blocks: list[bytes] = []
    listen = soak.Turns.listen

    def leaking(self: soak.Turns, said: InboundMessage, turn: CodexTurn) -> Callable[[TurnEvent], None]:
        files.append(os.open(os.devnull, os.O_RDONLY))
        tasks.append(asyncio.ensure_future(asyncio.Event().wait()))
        blocks.append(b"x" * 8_000_000)
        return listen(self, said, turn)

    monkeypatch.setattr("benchmarks.soak.Turns.listen", leaking)
    monkeypatch.setattr("benchmarks.soak.QUIET", 0.1)
    monkeypatch.setattr("benchmarks.soak.WEIGHTS", {kind: int(kind == "say") for kind in KINDS})
    try:
        day = spend(Shape(chats=1, messages=5, kills=0))
    finally:
        for file in files:
            os.close(file)
    left, (*others, memory) = len(files), day.books.problems
    assert others == [f"{left} tasks are left over", f"{left} file descriptors are left over"]
    assert memory.startswith("memory grew from ")
