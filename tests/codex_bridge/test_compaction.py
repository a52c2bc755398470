"""Summaries on request whose server goes away, on a fake Codex; what the real one does is in tests/real."""

import os
import signal
from pathlib import Path

import anyio
import pytest

from codex_bridge.client import Client
from codex_bridge.wire.requests import Turn
from harness.compaction import Summary, compaction_of
from harness.turns import EndedBy, Failure, Notice, Outcome
from tests.support.silent_codex import ALL
from tests.support.turns import harness_on_fake, has_quoted, quoting, words

SPOKEN = Turn.model_validate(
    {"id": "turn_0", "status": "completed", "items": [{"type": "userMessage", "id": "said", "content": []}]}
)
DONE = Turn(id="turn_summary", status="completed")


class Record:
    """What Codex has written down of a thread, as a server says that does not remember it."""

    def __init__(self, *turns: Turn) -> None:
        self._turns = list(turns)

    async def last_turn(self, client: Client, thread_id: str) -> Turn:
        del client, thread_id
        return self._turns.pop(0) if len(self._turns) > 1 else self._turns[0]


async def test_a_summary_that_was_done_when_its_server_went_away_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("codex_bridge.compaction.last_turn", Record(SPOKEN, DONE).last_turn)
    async with harness_on_fake(tmp_path, script="silent") as harness:
        before = harness.start(quoting("echo hi"))
        await before.result()
        compacting = harness.compact(words(""))
        async for event in compacting.events():
            if event == Notice(ALL):
                break
        os.kill((await harness.ready()).pid, signal.SIGKILL)
        result = await compacting.result()
        after = harness.start(quoting("echo hi"))
        await after.result()
    assert (result.outcome, result.compacted) == (Outcome.EMPTY, True)
    assert compaction_of(result).summary is Summary.DONE
    assert [has_quoted(turn) for turn in (before, after)] == [True, True]


async def test_a_summary_of_which_no_server_tells_is_not_known(tmp_path: Path) -> None:
    async with harness_on_fake(tmp_path, script="silent") as harness:
        for chat in ("one", "a"):  # of the second thread only the begin of a summary is told
            await harness.start(words("echo hi", chat=chat)).result()
        compacting = harness.compact(words(""))
        async for event in compacting.events():
            if event == Notice(ALL):
                break
        server = await harness.ready()
        (tmp_path / "codex-silent").write_text("#!/bin/sh\nexit 3\n", "utf-8")
        os.kill(server.pid, signal.SIGKILL)
        result = await compacting.result()
    assert (result.outcome, result.failure, result.ended_by) == (Outcome.LOST, Failure.SERVER, EndedBy.LOSS)
    assert compaction_of(result).summary is Summary.UNKNOWN
    assert "Whether it was done by then is not known." in result.error


@pytest.mark.parametrize(
    ("record", "sent", "summary"),
    [
        ((SPOKEN, DONE), 1, Summary.DONE),
        ((DONE,), 0, Summary.NOTHING),
    ],
    ids=["done by the server that is gone", "done before"],
)
async def test_a_summary_is_asked_for_once_more_only_if_it_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, record: tuple[Turn, ...], sent: int, summary: Summary
) -> None:
    monkeypatch.setattr("codex_bridge.compaction.last_turn", Record(*record).last_turn)
    async with harness_on_fake(tmp_path, script="silent") as harness:
        for chat in ("one", "two", "a"):  # the third thread is the one whose server hangs up
            await harness.start(words("echo hi", chat=chat)).result()
        compacting = harness.compact(words(""))
        result = await compacting.result()
    assert compaction_of(result).summary is summary
    assert [each.method for each in compacting.sent].count("thread/compact/start") == sent


async def test_a_summary_that_is_stopped_while_its_loss_is_looked_into_is_left_to_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = anyio.Event()
    let_go: list[tuple[str, str]] = []

    async def ask(*_: object) -> None:
        asked.set()
        await anyio.sleep_forever()

    def note(losses: object, thread_id: str, turn_id: str) -> None:
        del losses
        let_go.append((thread_id, turn_id))

    monkeypatch.setattr("codex_bridge.losses.Losses.let_go", note)
    async with harness_on_fake(tmp_path, script="silent") as harness:
        await harness.start(words("echo hi")).result()
        compacting = harness.compact(words(""))
        async for event in compacting.events():
            if event == Notice(ALL):
                break
        assert compacting.ledger is not None
        ids = compacting.ledger.thread_id, compacting.ledger.turn_id
        monkeypatch.setattr("codex_bridge.compaction.settle_lost", ask)
        os.kill((await harness.ready()).pid, signal.SIGKILL)
        await asked.wait()
        await compacting.interrupt()
        result = await compacting.result()
    assert (result.outcome, result.ended_by, let_go) == (Outcome.INTERRUPTED, EndedBy.PERSON, [ids])
