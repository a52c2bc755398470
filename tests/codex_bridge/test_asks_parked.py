"""What becomes of an ask when the way to its server is cut, and of the place of a turn that waits for a person."""

from pathlib import Path

import pytest

from codex_bridge.asks_served import RESOLVED
from codex_bridge.bridge import CodexHarness
from codex_bridge.following import GONE
from codex_bridge.rpc import Json
from harness.asks import Answer, ApprovalAsked, AskSettled, Settlement, Verdict
from harness.turn_limit import TurnLimit
from harness.turns import Outcome, TurnEvent
from tests.support.asking import AskingCodex, FakeAsker, asking, harness_on
from tests.support.turns import words

RUN: list[Json] = ["ask", "item/commandExecution/requestApproval", {"itemId": "i9", "command": "rm -r build"}]


async def cut(harness: CodexHarness) -> None:
    assert harness.server is not None
    await harness.server.client.transport.aclose()


def told(events: list[TurnEvent]) -> list[Settlement | None]:
    """What was asked, as None, and how it was settled."""
    asks = [event for event in events if isinstance(event, ApprovalAsked | AskSettled)]
    return [event.how if isinstance(event, AskSettled) else None for event in asks]


async def test_what_a_server_that_lives_on_asks_again_is_the_same_ask_and_answered_once(tmp_path: Path) -> None:
    codex, asker = AskingCodex(), FakeAsker()
    async with harness_on(codex, tmp_path) as harness:
        turn = harness.start(asking(RUN, asker=asker))
        first = await asker.until_asked()
        await cut(harness)
        again = await asker.until_asked(2)
        asker.answer(again, Answer(Verdict.ALLOW))
        result = await turn.result()
        events = [event async for event in turn.events()]
    assert first == again
    assert (result.outcome, result.text) == (Outcome.ANSWERED, "Done.")
    assert told(events) == [None, Settlement.ALLOWED]
    assert (codex.answers, asker.withdrawn) == ([{"decision": "accept"}], [])


async def test_what_was_settled_while_the_way_was_cut_is_withdrawn_with_its_item(tmp_path: Path) -> None:
    codex, asker = AskingCodex(), FakeAsker()
    codex.settled_meanwhile = {
        "type": "commandExecution", "id": "i9", "command": "rm -r build", "status": "declined", "cwd": "/w",
    }  # fmt: skip
    async with harness_on(codex, tmp_path) as harness:
        turn = harness.start(asking(RUN, asker=asker))
        ask = await asker.until_asked()
        await cut(harness)
        result = await turn.result()
        withdrawn = await asker.until_withdrawn()
        events = [event async for event in turn.events()]
    assert (result.outcome, len(asker.asked)) == (Outcome.ANSWERED, 1)
    assert withdrawn == [(ask.identity, RESOLVED)]
    assert (told(events), codex.answers) == ([None, Settlement.WITHDRAWN], [])


async def test_what_was_asked_by_a_turn_that_is_found_gone_is_withdrawn(tmp_path: Path) -> None:
    codex, asker = AskingCodex(), FakeAsker()
    async with harness_on(codex, tmp_path) as harness:
        turn = harness.start(asking(RUN, asker=asker))
        ask = await asker.until_asked()
        codex.lives = False
        await cut(harness)
        result = await turn.result()
        withdrawn = await asker.until_withdrawn()
        events = [event async for event in turn.events()]
    assert (result.outcome, told(events)) == (Outcome.LOST, [None, Settlement.WITHDRAWN])
    assert ([identity for identity, _ in withdrawn], codex.answers) == ([ask.identity], [])


@pytest.mark.parametrize("lives", [True, False])
async def test_what_a_turn_of_an_earlier_process_asked_is_withdrawn_when_it_does_not_run_any_more(
    tmp_path: Path, *, lives: bool
) -> None:
    codex, asker = AskingCodex(), FakeAsker()
    request = asking(RUN, asker=FakeAsker())
    async with harness_on(codex, tmp_path) as first:
        first.start(request)
        assert isinstance(request.asker, FakeAsker)
        ask = await request.asker.until_asked()
        await cut(first)
        codex.lives = lives
        folder = tmp_path / "next"
        folder.mkdir()
        async with harness_on(codex, folder, asker=asker) as second:
            await second.reconcile(request.session_key, request.message_key, conversation=ask.thread)
            if lives:
                assert (await asker.until_asked()).identity == ask.identity
    assert asker.withdrawn == ([] if lives else [(ask.thread, GONE)])


async def test_what_a_turn_asks_that_runs_stays_open_when_another_one_of_its_conversation_is_over(
    tmp_path: Path,
) -> None:
    codex, asker, asked = AskingCodex(), FakeAsker(), FakeAsker()
    async with harness_on(codex, tmp_path) as first:
        first.start(asking(RUN, asker=asked))
        ask = await asked.until_asked()
        await cut(first)
        folder = tmp_path / "next"
        folder.mkdir()
        async with harness_on(codex, folder, asker=asker) as second:
            await second.reconcile("a", "a:another", conversation=ask.thread)
    assert asker.withdrawn == []


async def test_a_turn_that_waits_for_a_person_lends_its_place(tmp_path: Path) -> None:
    codex, asker, limit = AskingCodex(), FakeAsker(), TurnLimit(1)
    async with harness_on(codex, tmp_path, limit=limit) as harness:
        waiting = harness.start(asking(RUN, asker=asker))
        ask = await asker.until_asked()
        other = await harness.start(words("echo meanwhile", chat="b")).result()
        before = list(codex.answers)
        asker.answer(ask, Answer(Verdict.ALLOW))
        late = await waiting.result()
        after = await harness.start(words("echo afterwards", chat="c")).result()
    assert (other.text, before, late.text, after.text) == ("meanwhile", [], "Done.", "afterwards")
    assert limit.running == 0
