"""Words that join a running turn of a fake Codex: in it just once, or nowhere, whatever the server does."""

import os
import signal
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from codex_bridge.bridge import CodexHarness
from codex_bridge.lanes import HABITS
from codex_bridge.ledger import TurnLedger
from codex_bridge.rpc import Json, encode
from codex_bridge.turn import CodexTurn
from codex_bridge.wire.notifications import TurnEnded, Wire
from codex_bridge.wire.requests import TurnStartParams, TurnSteerParams
from harness.agent import Agent
from harness.delivery.courier import Courier
from harness.delivery.outbox import Abilities
from harness.desk.desk import open_desk
from harness.gather import Gatherer
from harness.inbound import InboundMessage
from harness.layers import Layer, LayerName, Lifetime, Trust
from harness.plain import plain_settings
from harness.settings.queue import QueueRules, QueueSettings
from harness.store.bindings import bindings_at
from harness.store.deliveries import Deliveries
from harness.testing.outbox import RecordingOutbox
from harness.turns import (
    EndedBy,
    Failure,
    Joined,
    Outcome,
    Steered,
    TextDelta,
    TextRetracted,
    Trigger,
    TurnEvent,
    TurnResult,
)
from tests.support.desk import message, until
from tests.support.turns import first_delta, harness_on_fake, words


def more(text: str) -> tuple[Layer, ...]:
    return (Layer(LayerName.USER_TEXT, text, Lifetime.INPUT, Trust.OWNER, text),)


async def stalled(harness: CodexHarness) -> CodexTurn:
    turn = harness.start(words("stall"))
    assert await first_delta(turn) == "Let me"
    return turn


def requests(turn: CodexTurn) -> list[str]:
    return [sent.method for sent in turn.sent]


async def test_words_that_join_a_turn_are_answered_by_it_and_kept_with_it(tmp_path: Path) -> None:
    async with bindings_at(tmp_path / "store.sqlite") as store:
        async with harness_on_fake(tmp_path, store) as harness:
            turn = await stalled(harness)
            steered = await turn.steer(more("join to both"), "key-2")
            result = await turn.result()
        kept = await store.unheard("a", "", 0)
    assert steered is Steered.TAKEN
    assert (result.outcome, result.text, result.evidence.messages) == (Outcome.ANSWERED, "to both", 1)
    assert requests(turn) == ["thread/start", "turn/start", "turn/steer"]
    params = turn.sent[-1].params
    assert isinstance(params, TurnSteerParams)
    assert params.to_wire() == {
        "threadId": "thr_1",
        "input": [{"type": "text", "text": "join to both"}],
        "expectedTurnId": "turn_1",
        "clientUserMessageId": "key-2 heard=0",
    }
    assert [(each.said, each.answered) for each in kept] == [("stall\n\njoin to both", "to both")]


async def test_the_reader_hears_what_was_cut_off_and_where_the_words_came_in(tmp_path: Path) -> None:
    async with harness_on_fake(tmp_path) as harness:
        turn = harness.start(words("stall"))
        events: list[TurnEvent] = []
        async for event in turn.events():
            events.append(event)
            if event == TextDelta("message", "Let me"):
                assert await turn.steer(more("join yes"), "key-2") is Steered.TAKEN
    assert events[:3] == [TextDelta("message", "Let me"), TextRetracted("message"), Joined("key-2")]


async def test_words_that_come_as_the_turn_ends_are_nowhere_and_the_next_turn_carries_them_once(tmp_path: Path) -> None:
    """B5: the server says "no active turn to steer"."""
    async with harness_on_fake(tmp_path) as harness:
        turn = await stalled(harness)
        steered = await turn.steer(more("late the first answer"), "key-2")
        first = await turn.result()
        second = await harness.start(words("echo again")).result()
    assert steered is Steered.OVER
    assert steered.refused
    assert (first.text, second.text) == ("the first answer", "again")
    assert (first.turn, second.turn) == ("turn_1", "turn_2")


async def test_words_that_nobody_has_read_when_their_turn_ends_are_answered_all_the_same(tmp_path: Path) -> None:
    async with harness_on_fake(tmp_path) as harness:
        turn = await stalled(harness)
        steered = await turn.steer(more("unread to the first"), "key-2")
        result = await turn.result()
        after = await harness.start(words("echo again")).result()
    assert steered is Steered.TAKEN
    assert (result.outcome, result.earlier, result.text) == (
        Outcome.ANSWERED,
        ("to the first",),
        "and to what came in",
    )
    assert requests(turn) == ["thread/start", "turn/start", "turn/steer", "turn/start"]
    last = turn.sent[-1].params
    assert isinstance(last, TurnStartParams)
    assert (last.input, last.client_user_message_id, last.collaboration_mode is None) == ([], None, False)
    assert (result.turn, after.turn) == ("turn_1", "turn_3")


async def test_a_turn_that_goes_on_is_followed_though_nothing_confirms_that_it_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else it would run on, and the next message would join it."""
    monkeypatch.setattr("codex_bridge.starting.START_DEADLINE", 0.2)
    async with harness_on_fake(tmp_path) as harness:
        turn = await stalled(harness)
        assert await turn.steer(more("unconfirmed to the first"), "key-2") is Steered.TAKEN
        result = await turn.result()
    assert (result.outcome, result.earlier, result.text) == (
        Outcome.ANSWERED,
        ("to the first",),
        "and to what came in",
    )


async def test_a_turn_that_is_stopped_just_as_it_would_go_on_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    see = TurnLedger.see

    def stop_and_see(ledger: TurnLedger, wire: Wire) -> Iterable[TurnEvent]:
        if isinstance(wire, TurnEnded):
            asked = harness.interrupt(turn)
            asked.send(None)  # as far as it comes at once
            asked.close()
        return see(ledger, wire)

    async with harness_on_fake(tmp_path) as harness:
        turn = await stalled(harness)
        monkeypatch.setattr(TurnLedger, "see", stop_and_see)
        assert await turn.steer(more("unread to the first"), "key-2") is Steered.TAKEN
        result = await turn.result()
    assert (result.outcome, result.ended_by) == (Outcome.INTERRUPTED, EndedBy.PERSON)
    assert requests(turn) == ["thread/start", "turn/start", "turn/steer"]


async def test_a_turn_has_an_end_even_if_its_end_breaks_something_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> str:
        monkeypatch.undo()
        raise RuntimeError("broken")

    async with harness_on_fake(tmp_path) as harness:
        turn = await stalled(harness)
        monkeypatch.setattr("codex_bridge.strain.Strain.see", broken)
        assert await turn.steer(more("join to both"), "key-2") is Steered.TAKEN
        result = await turn.result()
        after = await harness.start(words("echo again")).result()
    assert (result.outcome, result.text) == (Outcome.ANSWERED, "to both")
    assert (after.outcome, after.conversation) == (Outcome.ANSWERED, result.conversation)


async def test_a_turn_that_failed_before_it_was_confirmed_is_run_again_as_any_other(tmp_path: Path) -> None:
    failed: Json = [["failed", {"error": {"message": "", "codexErrorInfo": "contextWindowExceeded"}}]]
    async with harness_on_fake(tmp_path) as harness:
        await harness.start(words("echo")).result()
        turn = harness.start(words(f"play {encode(failed).decode()}"))
        result = await turn.result()
    assert (result.outcome, result.failure) == (Outcome.FAILED, Failure.CONTEXT)
    assert requests(turn) == ["turn/start", "thread/start", "turn/start"]


async def test_a_turn_that_takes_nothing_in_says_so_and_takes_nothing_later_either(tmp_path: Path) -> None:
    """B7: a later message must not overtake the one that was refused."""
    async with harness_on_fake(tmp_path) as harness:
        turn = await stalled(harness)
        assert await turn.steer(more("unfit"), "key-2") is Steered.UNFIT
        assert await turn.steer(more("join no"), "key-3") is Steered.OVER
        await turn.interrupt()
    assert requests(turn).count("turn/steer") == 1


@pytest.mark.parametrize("trigger", [Trigger.HEARTBEAT, Trigger.CRON])
async def test_nothing_joins_a_turn_that_no_person_began(tmp_path: Path, trigger: Trigger) -> None:
    """Spec 2: it may be taken back, and the words with it."""
    async with harness_on_fake(tmp_path) as harness:
        turn = harness.start(replace(words("stall"), trigger=trigger))
        await first_delta(turn)
        assert await turn.steer(more("join no"), "key-2") is Steered.UNFIT
        await turn.interrupt()
    assert requests(turn) == ["thread/start", "turn/start"]


async def test_words_for_a_turn_that_has_yet_to_begin_wait_until_it_runs(tmp_path: Path) -> None:
    async with harness_on_fake(tmp_path) as harness:
        turn = harness.start(words("stall"))
        steered = await turn.steer(more("join both"), "key-2")
        result = await turn.result()
    assert (steered, result.text) == (Steered.TAKEN, "both")


async def test_words_for_a_turn_that_does_not_begin_in_time_are_given_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("codex_bridge.steering.BEGIN_DEADLINE", 0.05)
    async with harness_on_fake(tmp_path) as harness:
        before = await stalled(harness)
        turn = harness.start(words("stall"))
        assert await turn.steer(more("join no"), "key-2") is Steered.OVER
        await turn.interrupt()
        await before.interrupt()


async def test_words_for_a_turn_that_is_over_are_not_sent(tmp_path: Path) -> None:
    async with harness_on_fake(tmp_path) as harness:
        turn = harness.start(words("echo"))
        await turn.result()
        assert await turn.steer(more("join no"), "key-2") is Steered.OVER
    assert requests(turn) == ["thread/start", "turn/start"]


async def test_words_that_codex_accepted_and_let_go_of_are_nowhere(tmp_path: Path) -> None:
    """Measured on both versions: an interrupt during a command loses what was steered meanwhile."""
    async with bindings_at(tmp_path / "store.sqlite") as store:
        async with harness_on_fake(tmp_path, store) as harness:
            turn = await stalled(harness)
            heard: list[Steered] = []
            async with anyio.create_task_group() as group:

                async def steer() -> None:
                    heard.append(await turn.steer(more("swallow this"), "key-2"))

                group.start_soon(steer)
                while "turn/steer" not in requests(turn):
                    await anyio.lowlevel.checkpoint()
                await turn.interrupt()
        kept = await store.unheard("a", "", 0)
    assert heard == [Steered.OVER]
    assert [each.said for each in kept] == ["stall"]


async def test_a_steer_that_is_never_answered_holds_up_no_stop_and_is_over_with_the_turn(tmp_path: Path) -> None:
    """B6."""
    async with harness_on_fake(tmp_path) as harness:
        turn = await stalled(harness)
        heard: list[Steered] = []
        async with anyio.create_task_group() as group:

            async def steer() -> None:
                heard.append(await turn.steer(more("ignore this"), "key-2"))

            group.start_soon(steer)
            while "turn/steer" not in requests(turn):
                await anyio.lowlevel.checkpoint()
            with anyio.fail_after(2):
                await turn.interrupt()
            group.cancel_scope.cancel()
        result = await turn.result()
        after = await harness.start(words("echo")).result()
    assert (result.outcome, after.outcome) == (Outcome.INTERRUPTED, Outcome.ANSWERED)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("codex_bridge.steering.STEER_DEADLINE", 0.1)


@pytest.mark.usefixtures("impatient")
async def test_a_steer_whose_answer_is_lost_is_followed_and_not_sent_again(tmp_path: Path) -> None:
    async with harness_on_fake(tmp_path) as harness:
        turn = await stalled(harness)
        steered = await turn.steer(more("unanswered to both"), "key-2")
        result = await turn.result()
    assert (steered, result.text) == (Steered.TAKEN, "to both")
    assert requests(turn).count("turn/steer") == 1


@pytest.mark.usefixtures("impatient")
async def test_nothing_overtakes_words_whose_fate_is_not_known(tmp_path: Path) -> None:
    """B7: m1 may be in the turn or not, so m2 waits for the next one."""
    async with harness_on_fake(tmp_path) as harness:
        turn = await stalled(harness)
        heard: list[tuple[str, Steered]] = []
        async with anyio.create_task_group() as group:

            async def steer(text: str, key: str) -> None:
                heard.append((key, await turn.steer(more(text), key)))

            group.start_soon(steer, "ignore this", "m1")
            group.start_soon(steer, "join no", "m2")
            while len(heard) < 1:
                await anyio.lowlevel.checkpoint()
            assert heard == [("m2", Steered.OVER)]
            await turn.interrupt()
    assert heard == [("m2", Steered.OVER), ("m1", Steered.OVER)]


async def test_several_messages_join_in_the_order_in_which_they_were_said(tmp_path: Path) -> None:
    async with harness_on_fake(tmp_path) as harness:
        turn = await stalled(harness)
        heard: list[tuple[str, Steered]] = []
        async with anyio.create_task_group() as group:

            async def steer(text: str, key: str) -> None:
                heard.append((key, await turn.steer(more(text), key)))

            for key, text in (("m1", "stay"), ("m2", "stay"), ("m3", "join to all")):
                group.start_soon(steer, text, key)
        result = await turn.result()
    assert heard == [("m1", Steered.TAKEN), ("m2", Steered.TAKEN), ("m3", Steered.TAKEN)]
    sent = [each.params for each in turn.sent if isinstance(each.params, TurnSteerParams)]
    assert [params.client_user_message_id for params in sent] == ["m1 heard=0", "m2 heard=0", "m3 heard=0"]
    assert (result.text, result.evidence.messages) == ("to all", 3)


async def killed_after(turn: CodexTurn, harness: CodexHarness, text: str) -> tuple[Steered, TurnResult]:
    """Steer, and kill the server as soon as the request is out."""
    heard: list[Steered] = []
    async with anyio.create_task_group() as group:

        async def steer() -> None:
            heard.append(await turn.steer(more(text), "key-2"))

        group.start_soon(steer)
        while "turn/steer" not in requests(turn):
            await anyio.lowlevel.checkpoint()
        os.kill((await harness.ready()).pid, signal.SIGKILL)
    return heard[0], await turn.result()


async def test_words_that_are_lost_with_their_server_are_looked_up_before_anything_is_said_again(
    tmp_path: Path,
) -> None:
    """The fake has no list of turns: Codex does not tell, so the words share the fate of their turn."""
    async with harness_on_fake(tmp_path) as harness:
        turn = await stalled(harness)
        steered, result = await killed_after(turn, harness, "swallow this")
    assert (steered, result.outcome) == (Steered.UNKNOWN, Outcome.LOST)
    assert not steered.refused


async def test_a_message_that_came_too_late_for_a_turn_has_the_next_one_with_the_same_words(tmp_path: Path) -> None:
    """The desk of a gateway hears "no active turn to steer", and begins one turn."""
    outbox, turns = RecordingOutbox(Abilities(keys=True)), list[CodexTurn]()
    settings = replace(plain_settings(tmp_path), queue=QueueSettings(rules=QueueRules(quiet=0.0)))

    def listen(said: InboundMessage, turn: CodexTurn) -> None:
        del said
        turns.append(turn)

    async with bindings_at(tmp_path / "store.sqlite") as store, harness_on_fake(tmp_path, store) as harness:
        deliveries = Deliveries(store.database)
        agent = Agent(harness, Gatherer(settings, HABITS))
        async with open_desk(agent, deliveries, Courier(deliveries, outbox), listen=listen) as desk:
            await desk.receive(message(1, "stall"))
            await until(lambda: bool(turns) and "turn/start" in requests(turns[0]))
            await desk.receive(message(2, "late as ever"))
            await desk.settled()
    assert [requests(turn) for turn in turns] == [["thread/start", "turn/start", "turn/steer"], ["turn/start"]]
    first, second = turns[0].sent[-1].to_wire(), turns[1].sent[-1].to_wire()
    assert first["input"] == second["input"]
    assert outbox.texts() == ["as ever", "as ever"]
