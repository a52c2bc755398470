"""A mistake of ours in a task ends at most its own turn, with a traceback in the log, and never the harness."""

import ast
from dataclasses import replace
from pathlib import Path

import pytest

import codex_bridge
from codex_bridge.bridge import CodexHarness
from codex_bridge.deadlines import Limit, Watch
from harness.store.bindings import bindings_at
from harness.turns import EndedBy, Outcome
from tests.support.time import HandClock
from tests.support.turns import first_delta, harness_on_fake, words

INTERNAL = "The bridge had an internal error; the log has the details."
BOUNDARIES = {
    "bridge.py": {"guarded", "self._unfinished.run", "self.interrupt"},
    "hosts.py": {"self._serve"},
    "client.py": {"self._read", "self._write", "self._serve"},
    "pool.py": {"guarded", "harness.drain"},
    "watching.py": {"guarded"},
    "opening.py": {"_watch"},
    "compaction.py": {"watch"},
    "stopping.py": {"self._interrupt_subagent"},
}
"""What each module begins as a task. What is not guarded is a boundary itself, ends the one server that it serves, or
belongs to a caller that waits for it, whose own boundary it comes out at."""


async def _breaks(*_: object, **__: object) -> None:
    raise RuntimeError("a mistake of ours")


def _breaks_at_once(*_: object) -> None:
    raise RuntimeError("a mistake of ours")


async def answers(harness: CodexHarness) -> bool:
    return (await harness.start(words("echo", chat="other")).result()).outcome is Outcome.ANSWERED


def test_each_task_is_guarded_or_has_a_boundary_of_its_own() -> None:
    begun: dict[str, set[str]] = {}
    for path in Path(codex_bridge.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "start_soon":
                begun.setdefault(path.name, set()).add(ast.unparse(node.args[0]))
            elif isinstance(node, ast.Call):  # it may be called, and not be handed on
                handed = [each for each in node.args if isinstance(each, ast.Attribute)]
                assert all(each.attr != "start_soon" for each in handed), path.name
    assert begun == BOUNDARIES


async def test_a_mistake_in_a_stop_ends_the_turn_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("codex_bridge.stopping.Stopping._interrupt", _breaks)
    async with harness_on_fake(tmp_path) as harness:
        turn = harness.start(words("stall"))
        await first_delta(turn)
        await turn.interrupt()
        result, after = await turn.result(), await harness.start(words("echo")).result()
        assert await answers(harness)
    assert (result.outcome, result.ended_by) == (Outcome.INTERRUPTED, EndedBy.PERSON)
    assert (after.outcome, after.conversation) == (Outcome.ANSWERED, "thr_2")
    assert "Traceback" in caplog.text
    assert "a mistake of ours" in caplog.text


async def test_a_mistake_at_a_deadline_ends_the_turn_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    clock = HandClock()
    monkeypatch.setattr("codex_bridge.watching.Watching._is_idle", _breaks)
    async with harness_on_fake(tmp_path, clock=clock) as harness:
        turn = harness.start(words("stall"))
        await first_delta(turn)
        clock.advance(60)
        result = await turn.result()
        assert await answers(harness)
    assert (result.outcome, result.error, result.ended_by) == (Outcome.FAILED, INTERNAL, EndedBy.DEADLINE)
    assert "Traceback" in caplog.text


async def test_a_mistake_about_the_deadlines_of_a_turn_keeps_no_other_from_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    clock, due = HandClock(), Watch.due
    async with harness_on_fake(tmp_path, clock=clock) as harness:
        broken, other = harness.start(words("stall", chat="broken")), harness.start(words("stall"))
        for turn in (broken, other):
            await first_delta(turn)

        def breaks(watch: Watch) -> tuple[float, Limit]:
            if watch is broken.watch:
                raise ZeroDivisionError
            return due(watch)

        monkeypatch.setattr(Watch, "due", breaks)
        clock.advance(60)
        result = await other.result()
        assert broken.buffer.result is None
        await broken.interrupt()
    assert (result.outcome, result.ended_by) == (Outcome.FAILED, EndedBy.DEADLINE)
    assert "Traceback" in caplog.text


async def test_a_mistake_over_a_loss_ends_every_turn_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("codex_bridge.losses.call_failure", _breaks_at_once)
    async with harness_on_fake(tmp_path) as harness:
        result = await harness.start(replace(words("die"), isolated=True)).result()
        monkeypatch.undo()
        assert await answers(harness)
    assert (result.outcome, result.error, result.ended_by) == (Outcome.FAILED, INTERNAL, EndedBy.LOSS)
    assert "a mistake of ours" in caplog.text


async def test_a_mistake_in_what_is_stored_beside_a_turn_ends_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with bindings_at(tmp_path / "bindings.sqlite") as store, harness_on_fake(tmp_path, store) as harness:
        monkeypatch.setattr("codex_bridge.remembered.Remembered.store", _breaks)
        result = await harness.start(words("compact done")).result()
        assert await answers(harness)
    assert (result.outcome, result.compacted) == (Outcome.ANSWERED, True)
    assert "a mistake of ours" in caplog.text
