"""Messages at the desk of a gateway, on the real binary: each reaches the model once, and is answered in its chat."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from codex_bridge.binary import CodexBinary
from codex_bridge.loopback.recorder import RecordedRequest
from codex_bridge.loopback.script import Action, BeginSaying, Reply, Say, Script, Wait, say
from codex_bridge.turn import CodexTurn
from harness.delivery.courier import Courier
from harness.delivery.outbox import Abilities
from harness.desk.desk import Desk, Receipt, Stopped, open_desk
from harness.desk.talk import TOO_MANY
from harness.inbound import InboundMessage
from harness.plain import plain_settings
from harness.settings.queue import DropPolicy, QueueMode, QueueRules, QueueSettings
from harness.store.deliveries import Deliveries
from harness.testing.outbox import RecordingOutbox
from harness.turns import Outcome, SubagentFinished, TurnEvent, TurnRequest
from tests.real.test_subagents import is_child, spawn
from tests.support.desk import until
from tests.support.real import MODEL, Stage, beat_of, count, message, stage

AT_ONCE = QueueRules(quiet=0.0)


def half() -> Reply:
    """Something that is never said to its end."""
    return Reply((BeginSaying("Half"), Wait(anyio.Event())))


@dataclass
class Front:
    """A desk on a stage."""

    play: Stage
    desk: Desk[CodexTurn]
    outbox: RecordingOutbox
    deliveries: Deliveries
    turns: list[CodexTurn]
    heard: list[TurnEvent]

    async def say(self, text: str, *, number: str, chat: str = "7") -> Receipt:
        """Bring a message in."""
        return await self.desk.receive(message(text, number=number, chat=chat))

    async def asked(self, number: int) -> RecordedRequest:
        """Wait for a request of the model; the first one is 1."""
        await until(lambda: len(self.play.model.requests) >= number)
        return self.play.model.requests[number - 1]


@asynccontextmanager
async def front(
    codex: CodexBinary,
    state: Path,
    workspace: Path,
    script: Script,
    rules: QueueRules = AT_ONCE,
    on_late_subagent: Callable[[TurnRequest, SubagentFinished], None] = lambda request, event: None,
    outbox: RecordingOutbox | None = None,
) -> AsyncGenerator[Front]:
    settings = replace(plain_settings(workspace), queue=QueueSettings(rules=rules))
    turns, heard, outbox = list[CodexTurn](), list[TurnEvent](), outbox or RecordingOutbox(Abilities(keys=True))

    def listen(said: InboundMessage, turn: CodexTurn) -> Callable[[TurnEvent], None]:
        del said
        turns.append(turn)
        return heard.append

    async with stage(codex, state, workspace, script, agent=settings, on_late_subagent=on_late_subagent) as play:
        deliveries = Deliveries(play.bindings.database)
        courier = Courier(deliveries, outbox)
        async with open_desk(play.agent, deliveries, courier, listen=listen, patience=0.0) as desk:
            yield Front(play, desk, outbox, deliveries, turns, heard)


async def test_messages_that_come_during_a_turn_are_in_its_next_request_and_answered_with_it(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    def script(request: RecordedRequest) -> Action:
        return half() if request.number == 1 else say("To all three.")

    async with front(codex, state, workspace, script, QueueRules(quiet=0.1)) as at:
        await at.say("heron", number="1")
        await at.asked(1)
        for number, text in (("2", "osprey"), ("3", "finch")):
            await at.say(text, number=number)
        await at.desk.settled()
        assert await at.deliveries.open() == []
    first, second = at.play.model.requests
    assert count(first, "osprey") == 0
    assert [part.text for part in second.parts()][-3:] == ["heron", "osprey", "finch"]
    assert at.outbox.texts() == ["To all three."]
    assert len(at.turns) == 1


async def test_messages_that_come_as_a_turn_ends_are_each_answered_once_and_in_their_order(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    """B7: by the turn or by the next one, never by both and never by neither."""

    def script(request: RecordedRequest) -> Action:
        return say(f"re: {request.parts()[-1].text}")

    rounds = 15
    async with front(codex, state, workspace, script) as at:
        for number in range(rounds):
            requests, answers = len(at.play.model.requests), len(at.outbox.texts())
            await at.say(f"heron {number}", number=f"{number}a")
            await at.asked(requests + 1)
            await anyio.sleep(number * 0.002)
            await at.say(f"osprey {number}", number=f"{number}b")
            await at.desk.settled()
            said = [request.parts()[-1].text for request in at.play.model.requests[requests:]]
            assert said in ([f"heron {number}", f"osprey {number}"], [f"osprey {number}"])
            both = [f"re: heron {number}", f"re: osprey {number}"]
            assert at.outbox.texts()[answers:] in (both, both[1:])  # what was being said is cut short
            for text in (f"heron {number}", f"osprey {number}"):
                once = [part.text for part in at.play.model.requests[-1].parts()]
                assert once.count(text) == 1
        assert await at.deliveries.open() == []


@pytest.mark.parametrize("moment", ["gathered", "sent", 5, 20, "asked"])
async def test_words_that_make_a_turn_give_way_are_said_after_its_own_which_stand_there_once(
    codex: CodexBinary, state: Path, workspace: Path, moment: str | int
) -> None:
    """Whatever the turn had come to by then: its words are in the conversation, or in the next turn."""

    def script(request: RecordedRequest) -> Action:
        return half() if request.parts()[-1].text == "heron" else say("To both.")

    async with front(codex, state, workspace, script, replace(AT_ONCE, mode=QueueMode.INTERRUPT)) as at:
        await at.say("finch", number="0")
        await at.desk.settled()
        await at.say("heron", number="1")
        match moment:
            case "gathered":
                pass
            case "sent":
                await until(lambda: len(at.turns) == 2)
            case int():
                await until(lambda: len(at.turns) == 2)
                await anyio.sleep(moment / 1000)
            case _:
                await at.asked(2)
        await at.say("osprey", number="2")
        await at.desk.settled()
        assert await at.deliveries.open() == []
    words = [part.text for part in at.play.model.requests[-1].parts()]
    assert [word for word in words if word in ("heron", "osprey")] == ["heron", "osprey"]
    assert at.outbox.texts() == ["To both.", "To both."]


@pytest.mark.parametrize(
    ("rules", "asked"),
    [
        (QueueRules(mode=QueueMode.FOLLOWUP, quiet=0.0), [["osprey"], ["finch"], ["wren"]]),
        (QueueRules(mode=QueueMode.COLLECT, quiet=0.05), [["osprey", "finch", "wren"]]),
        (QueueRules(mode=QueueMode.COLLECT, quiet=0.05, cap=1, drop=DropPolicy.OLD), [["wren"]]),
        (QueueRules(mode=QueueMode.COLLECT, quiet=0.05, cap=1, drop=DropPolicy.NEW), [["osprey"]]),
        (QueueRules(mode=QueueMode.COLLECT, quiet=0.05, cap=1, drop=DropPolicy.SUMMARIZE), [["wren"]]),
    ],
    ids=["followup", "collect", "drop old", "drop new", "summarize"],
)
async def test_what_comes_during_a_turn_has_the_next_ones_as_the_queue_of_its_chat_says(
    codex: CodexBinary, state: Path, workspace: Path, rules: QueueRules, asked: list[list[str]]
) -> None:
    goes_on = anyio.Event()

    def script(request: RecordedRequest) -> Action:
        last = request.parts()[-1].text
        return Reply((BeginSaying("re: "), Wait(goes_on), Say("re: heron"))) if last == "heron" else say(f"re: {last}")

    async with front(codex, state, workspace, script, rules) as at:
        await at.say("heron", number="1")
        await at.asked(1)
        for number, text in (("2", "osprey"), ("3", "finch"), ("4", "wren")):
            await at.say(text, number=number)
        goes_on.set()
        await at.desk.settled()
        assert await at.deliveries.open() == []
    _, *requests = at.play.model.requests
    birds = ("osprey", "finch", "wren")
    said = [[part.text for part in request.parts() if part.text in birds] for request in requests]
    assert said == [[bird for one in asked[: at + 1] for bird in one] for at in range(len(asked))]
    told = [TOO_MANY] if rules.cap == 1 and rules.drop is not DropPolicy.SUMMARIZE else []
    assert sorted(at.outbox.texts()) == sorted([*told, "re: heron", *(f"re: {one[-1]}" for one in asked)])
    left_out = [part.text for part in requests[0].parts() if "left out here" in part.text]
    assert len(left_out) == (rules.drop is DropPolicy.SUMMARIZE and rules.cap == 1)
    assert all('"text": "osprey"' in text and '"text": "finch"' in text for text in left_out)


async def test_a_summary_is_made_between_the_turns_around_it_and_stopped_like_one(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    held = anyio.Event()

    def script(request: RecordedRequest) -> Action:
        if "CONTEXT CHECKPOINT" not in request.parts()[-1].text:
            return say(f"re: {request.parts()[-1].text}")
        return Reply((Say("In short."), Wait(held)))

    async with front(codex, state, workspace, script) as at:
        await at.say("heron", number="1")
        await at.asked(1)
        await at.say("/compact", number="2")
        await at.asked(2)
        await at.say("osprey", number="3")
        await anyio.wait_all_tasks_blocked()
        waiting = at.outbox.texts()
        held.set()
        await at.desk.settled()
        answered = sorted(at.outbox.texts())
        held = anyio.Event()
        await at.say("/compact", number="4")
        await at.asked(4)
        stopped = await at.desk.stop("agent:main:telegram:direct:7")
        await at.desk.settled()
        assert await at.deliveries.open() == []
    assert waiting == ["re: heron"]
    assert answered[1:] == ["re: heron", "re: osprey"]
    assert answered[0].startswith("The conversation is summarised. It holds about ")
    assert stopped == Stopped(turns=1, waiting=0)
    assert at.outbox.texts()[-1] == "The summary was stopped; the conversation is as it was."


@pytest.mark.parametrize("milliseconds", [0, 10, 100])
async def test_a_message_right_after_the_start_of_a_heartbeat_is_answered_and_outlives_the_revert(
    codex: CodexBinary, state: Path, workspace: Path, milliseconds: int
) -> None:
    ask = "Heartbeat check."

    def script(request: RecordedRequest) -> Action:
        return say("HEARTBEAT_OK") if request.parts()[-1].text == ask else say("Yes.")

    async with front(codex, state, workspace, script) as at:
        await at.say("heron", number="1")
        await at.desk.settled()
        beat = (await at.play.agent.heartbeat(beat_of(ask, at.turns[0]), key="beat:1")).turn
        while not any(sent.method == "turn/start" for sent in beat.sent):
            await anyio.lowlevel.checkpoint()
        await anyio.sleep(milliseconds / 1000)
        for number, text in (("2", "osprey"), ("3", "stork")):
            await at.say(text, number=number)
        await at.desk.settled()
        await at.say("finch", number="4")
        await at.desk.settled()
    assert beat.vanished
    of_messages = [request for request in at.play.model.requests if count(request, "osprey")]
    assert of_messages[0].parts()[-1].text in ("osprey", "stork")
    everything = [part.text for part in at.play.model.requests[-1].parts()]
    assert [everything.count(text) for text in ("heron", ask, "osprey", "stork", "finch")] == [1, 0, 1, 1, 1]
    assert set(at.outbox.texts()) == {"Yes."}


async def test_a_stop_ends_a_heartbeat_of_the_chat_as_well(codex: CodexBinary, state: Path, workspace: Path) -> None:
    def script(request: RecordedRequest) -> Action:
        return half() if request.parts()[-1].text == "Heartbeat check." else say("Yes.")

    async with front(codex, state, workspace, script) as at:
        await at.say("heron", number="1")
        await at.desk.settled()
        beat = (await at.play.agent.heartbeat(beat_of("Heartbeat check.", at.turns[0]), key="beat:1")).turn
        await at.asked(2)
        await at.say("/stop", number="2")
        await at.desk.settled()
        result = await beat.result()
    assert result.outcome is Outcome.INTERRUPTED
    assert at.outbox.texts() == ["Yes.", "Stopped."]


@pytest.mark.parametrize("milliseconds", [0, 20, 100])
async def test_a_stop_while_a_turn_starts_and_once_more_ends_it_and_the_chat_goes_on(
    codex: CodexBinary, state: Path, workspace: Path, milliseconds: int
) -> None:
    def script(request: RecordedRequest) -> Action:
        return half() if request.parts()[-1].text == "heron" else say("Yes.")

    async with front(codex, state, workspace, script) as at:
        await at.say("finch", number="0")
        await at.desk.settled()
        await at.say("heron", number="1")
        await anyio.sleep(milliseconds / 1000)
        for number in ("2", "3"):
            assert await at.say("stop", number=number) is Receipt.OBEYED
        await at.desk.settled()
        await at.say("osprey", number="4")
        await at.desk.settled()
        assert await at.deliveries.open() == []
    # Both stops find the turn, unless it is over before the second one.
    first, *stops, last = at.outbox.texts()
    assert (first, stops[0], len(stops), last) == ("Yes.", "Stopped.", 2, "Yes.")
    assert stops[1] in ("Stopped.", "There is nothing to stop.")
    assert [count(at.play.model.requests[-1], text) for text in ("finch", "osprey")] == [1, 1]


async def test_a_stop_reaches_a_subagent_that_outlived_its_turn(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    late: list[Outcome] = []

    def script(request: RecordedRequest) -> Action:
        if is_child(request):
            return Reply((BeginSaying("One boat, "), Wait(anyio.Event())))
        spawned = any(part.kind == "function_call_output" for part in request.parts())
        return say("Done.") if spawned else spawn(MODEL)

    def hear(request: TurnRequest, event: SubagentFinished) -> None:
        del request
        late.append(event.result.outcome)

    async with front(codex, state, workspace, script, on_late_subagent=hear) as at:
        await at.say("go", number="1")
        await at.desk.settled()
        await until(lambda: any(map(is_child, at.play.model.requests)))
        await at.say("/stop", number="2")
        await at.desk.settled()
        await until(lambda: bool(late))
    assert at.outbox.texts() == ["Done.", "Stopped."]
    assert late == [Outcome.INTERRUPTED]


async def test_a_gateway_that_goes_in_the_middle_of_a_turn_loses_none_of_its_messages_and_says_none_twice(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    """One began the turn, one has joined it, one waits for quiet."""
    outbox = RecordingOutbox(Abilities(keys=True))

    def script(request: RecordedRequest) -> Action:
        return half() if request.parts()[-1].text in ("heron", "osprey") else say("Yes.")

    async with front(codex, state, workspace, script, QueueRules(quiet=0.2), outbox=outbox) as at:
        await at.say("heron", number="1")
        await at.asked(1)
        await at.say("osprey", number="2")
        await at.asked(2)
        await at.say("finch", number="3")
    asked = at.play.model.requests
    assert [request.parts()[-1].text for request in asked] == ["heron", "osprey"]
    assert outbox.texts() == []
    async with front(codex, state, workspace, script, AT_ONCE, outbox=outbox) as at:
        await at.desk.recover(at.play.harness)
        await at.desk.settled()
        assert await at.deliveries.open() == []
        assert [await at.say(text, number=number) for number, text in (("1", "heron"), ("3", "finch"))] == [
            Receipt.TWICE
        ] * 2
    (request,) = at.play.model.requests
    everything = [part.text for part in request.parts()]
    assert [everything.count(text) for text in ("heron", "osprey", "finch")] == [1, 1, 1]
    told, answer = outbox.messages.values()
    assert (told.reply_to, answer.reply_to, answer.text) == ("1", "3", "Yes.")
    assert told.text
