"""Words that are said into a running turn of the real binary: in the model's next request, once, and answered."""

import os
import signal
from collections.abc import Callable, Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from codex_bridge.binary import CodexBinary
from codex_bridge.catalogue import CatalogueMode
from codex_bridge.loopback.recorder import RecordedRequest
from codex_bridge.loopback.script import Action, BeginSaying, CallTool, Reply, Say, Wait, always, in_turn, say
from codex_bridge.params import ThreadSettings
from codex_bridge.turn import CodexTurn
from harness.inbound import Chat, ChatKind, InboundMessage, Sender
from harness.turns import (
    CommandStarted,
    Finished,
    Joined,
    Outcome,
    Steered,
    TextDelta,
    TextRetracted,
    TurnEvent,
    UsageCounted,
)
from tests.real.test_subagents import is_child, spawn
from tests.support.real import MODEL, Stage, beat_of, count, group_message, message, places, stage

YOLO = ThreadSettings(sandbox="danger-full-access", approval_policy="never")
SLEEP = Reply((CallTool("exec_command", {"cmd": "sleep 1"}),))


async def steer(play: Stage, turn: CodexTurn, text: str, number: str = "2") -> Steered:
    said = message(text, number=number)
    return await turn.steer(play.agent.joining(said), said.key)


async def steered_at(
    turn: CodexTurn, when: Callable[[TurnEvent], bool], do: Callable[[], Coroutine[Any, Any, None]]
) -> list[TurnEvent]:
    """Read a turn to its end, and do something once, as soon as an event comes."""
    events: list[TurnEvent] = []
    done = False
    async with anyio.create_task_group() as group:
        async for event in turn.events():
            events.append(event)
            if not done and when(event):
                done = True
                group.start_soon(do)
    return events


def last_texts(request: RecordedRequest, number: int) -> list[str]:
    return [part.text for part in request.parts()[-number:]]


async def test_words_cut_short_what_is_being_said_and_are_in_the_next_request_of_the_same_turn(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    script = in_turn([Reply((Say("Whole."), BeginSaying("Half"), Wait(anyio.Event()))), say("To both."), say("After.")])
    heard: list[Steered] = []
    async with stage(codex, state, workspace, script) as play:
        turn = await play.begin("heron", number="1")

        async def join() -> None:
            heard.append(await steer(play, turn, "osprey"))

        events = await steered_at(turn, lambda event: isinstance(event, TextDelta) and event.text == "Half", join)
        after = await play.ask("finch", number="3")
        kept = await play.bindings.unheard(turn.key, "", 0)
    result = await turn.result()
    first, second, third = play.model.requests
    assert heard == [Steered.TAKEN]
    assert (result.outcome, result.text, result.evidence.messages) == (Outcome.ANSWERED, "To both.", 2)
    assert count(first, "osprey") == 0
    assert last_texts(second, 3) == ["heron", "Whole.", "osprey"]
    assert last_texts(third, 4) == ["Whole.", "osprey", "To both.", "finch"]
    assert (after.conversation, after.turn == result.turn) == (result.conversation, False)
    told = [event for event in events if isinstance(event, TextDelta | TextRetracted | Joined)]
    half = next(event.item for event in events if isinstance(event, TextDelta) and event.text == "Half")
    assert told[1:4] == [TextDelta(half, "Half"), TextRetracted(half), Joined("telegram:7:2")]
    assert (kept[-1].said, kept[-1].answered) == ("heron\n\nosprey", "To both.")


async def test_words_during_a_command_wait_for_its_end_and_keep_their_order(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    heard: list[Steered] = []
    script = in_turn([SLEEP, say("To all.")])
    async with stage(codex, state, workspace, script, settings=YOLO) as play:
        turn = await play.begin("heron", number="1")

        async def join() -> None:
            async with anyio.create_task_group() as group:
                for number, text in (("2", "osprey"), ("3", "finch")):

                    async def one(text: str = text, number: str = number) -> None:
                        heard.append(await steer(play, turn, text, number))

                    group.start_soon(one)

        await steered_at(turn, lambda event: isinstance(event, CommandStarted), join)
    result = await turn.result()
    assert heard == [Steered.TAKEN, Steered.TAKEN]
    assert (result.text, result.evidence.messages, len(play.model.requests)) == ("To all.", 3, 2)
    assert last_texts(play.model.requests[1], 2) == ["osprey", "finch"]


async def test_several_messages_join_together_each_by_itself(codex: CodexBinary, state: Path, workspace: Path) -> None:
    script = in_turn([Reply((BeginSaying("Half"), Wait(anyio.Event()))), say("To all.")])
    heard: list[Steered] = []
    async with stage(codex, state, workspace, script) as play:
        turn = await play.begin("heron", number="1")

        async def join() -> None:
            both = message("osprey", number="2"), message("finch", number="3")
            heard.append(
                await turn.steer(play.agent.joining(*both, left_out="Two messages were left out."), both[0].key)
            )

        await steered_at(turn, lambda event: isinstance(event, TextDelta), join)
    request = play.model.requests[1]
    assert heard == [Steered.TAKEN]
    assert last_texts(request, 2) == ["osprey", "finch"]
    assert count(request, "Two messages were left out.") == 1
    assert set(places(request, "Two messages were left out.")) <= {"user", ""}
    assert (await turn.result()).evidence.messages == 2


async def test_words_that_come_in_as_a_turn_ends_are_answered_once_by_it_or_by_the_next(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    """B5, and a race of 0.163 alone: every fifth of these or so is taken in by a turn that ends without reading it."""
    rounds = 30

    def script(request: RecordedRequest) -> Action:
        return say(f"re: {request.parts()[-1].text}")

    taken: list[int] = []
    async with stage(codex, state, workspace, script) as play:
        for number in range(rounds):
            first, second = f"heron {number} a", f"heron {number} b"
            turn = await play.begin(first, number=f"{number}a")
            heard: list[Steered] = []

            async def join(
                turn: CodexTurn = turn, heard: list[Steered] = heard, text: str = second, number: int = number
            ) -> None:
                await anyio.sleep(number % 3 * 0.001)
                heard.append(await steer(play, turn, text, text))

            before = len(play.model.requests)
            await steered_at(turn, lambda event: isinstance(event, UsageCounted), join)
            result = await turn.result()
            if heard == [Steered.TAKEN]:
                taken.append(number)
                assert (result.earlier, result.text) == ((f"re: {first}",), f"re: {second}")
            else:
                assert heard == [Steered.OVER]
                assert (result.earlier, result.text) == ((), f"re: {first}")
                assert (await play.ask(second, number=second)).text == f"re: {second}"
            # Each was said to the model once, and each was what a request ended with once.
            ends = [request.parts()[-1].text for request in play.model.requests[before:]]
            assert ends == [first, second]
            assert [count(play.model.requests[-1], text) for text in (first, second)] == [2, 1]
    assert taken


async def test_words_that_codex_accepted_and_a_stop_took_away_are_nowhere(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    heard: list[Steered] = []
    script = in_turn([SLEEP, say("Fine.")])
    async with stage(codex, state, workspace, script, settings=YOLO) as play:
        turn = await play.begin("heron", number="1")

        async def join() -> None:
            async with anyio.create_task_group() as group:

                async def one() -> None:
                    heard.append(await steer(play, turn, "osprey"))

                group.start_soon(one)
                while turn.sent[-1].method != "turn/steer":
                    await anyio.lowlevel.checkpoint()
                await anyio.sleep(0.05)  # Codex has answered by then
                await turn.interrupt()

        await steered_at(turn, lambda event: isinstance(event, CommandStarted), join)
        after = await play.ask("osprey", number="2")
    assert heard == [Steered.OVER]
    assert after.text == "Fine."
    assert count(play.model.requests[-1], "osprey") == 1


async def test_words_that_are_lost_with_their_server_are_nowhere_or_in_the_conversation_once(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    """Killed right after Codex accepted the words, during a command: they were never written down."""
    heard: list[Steered] = []
    script = in_turn([SLEEP, say("Fine.")])
    async with stage(codex, state, workspace, script, settings=YOLO) as play:
        turn = await play.begin("heron", number="1")

        async def join() -> None:
            async with anyio.create_task_group() as group:

                async def one() -> None:
                    heard.append(await steer(play, turn, "osprey"))

                group.start_soon(one)
                while turn.sent[-1].method != "turn/steer":
                    await anyio.lowlevel.checkpoint()
                await anyio.sleep(0.05)
                server = play.harness.server
                assert server is not None
                os.kill(server.pid, signal.SIGKILL)

        await steered_at(turn, lambda event: isinstance(event, CommandStarted), join)
        assert (await turn.result()).outcome is Outcome.LOST
        assert heard == [Steered.OVER]
        await play.ask("osprey", number="2")
    assert [count(play.model.requests[-1], text) for text in ("heron", "osprey")] == [1, 1]


async def test_words_that_were_read_before_their_server_was_lost_are_not_said_again(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    heard: list[Steered] = []
    wait = Wait(anyio.Event())
    script = in_turn([Reply((BeginSaying("Half"), wait)), Reply((wait,)), say("Fine.")])
    async with stage(codex, state, workspace, script) as play:
        turn = await play.begin("heron", number="1")

        async def join() -> None:
            heard.append(await steer(play, turn, "osprey"))
            while len(play.model.requests) < 2:
                await play.model.next_request()
            server = play.harness.server
            assert server is not None
            os.kill(server.pid, signal.SIGKILL)

        await steered_at(turn, lambda event: isinstance(event, TextDelta), join)
        lost = await turn.result()
        after = await play.ask("finch", number="3")
    assert (heard, lost.outcome, after.outcome) == ([Steered.TAKEN], Outcome.LOST, Outcome.ANSWERED)
    assert [count(play.model.requests[-1], text) for text in ("heron", "osprey", "finch")] == [1, 1, 1]


@pytest.mark.parametrize("milliseconds", [0, 10, 100])
async def test_a_message_right_after_the_start_of_a_heartbeat_is_in_the_next_request_and_outlives_the_revert(
    codex: CodexBinary, state: Path, workspace: Path, milliseconds: int
) -> None:
    """Spec 2: it is never steered into the heartbeat, or the revert would take it along."""
    ask = "Heartbeat check."

    def script(request: RecordedRequest) -> Action:
        return say("HEARTBEAT_OK") if request.parts()[-1].text == ask else say("Yes.")

    async with stage(codex, state, workspace, script) as play:
        first = await play.begin("heron", number="1")
        await first.result()
        beat = (await play.agent.heartbeat(beat_of(ask, first), key="beat:1")).turn
        while not any(sent.method == "turn/start" for sent in beat.sent):
            await anyio.lowlevel.checkpoint()
        await anyio.sleep(milliseconds / 1000)
        assert await steer(play, beat, "osprey") in (Steered.UNFIT, Steered.OVER)
        said = await play.begin("osprey", number="2")
        result = await said.result()
        after = await play.ask("finch", number="3")
    assert beat.vanished
    assert (result.outcome, result.text, after.conversation) == (
        Outcome.ANSWERED,
        "Yes.",
        result.conversation,
    )
    of_message = [request for request in play.model.requests if request.parts()[-1].text == "osprey"]
    assert [count(request, "osprey") for request in of_message] == [1]
    assert [count(play.model.requests[-1], text) for text in ("heron", ask, "osprey", "finch")] == [1, 0, 1, 1]


ORRIN, MO = Sender("7", "Orrin"), Sender("8", "Mo")


def in_group(text: str, sender: Sender) -> InboundMessage:
    return replace(group_message(text, number=text), chat=Chat(ChatKind.GROUP, "-5", "Boats"), sender=sender)


@pytest.mark.parametrize(("model", "catalogue"), [(MODEL, "auto"), ("gpt-6-sol", "untouched")])
async def test_who_joins_a_turn_in_a_group_is_named_and_nothing_else_is_said_again(
    codex: CodexBinary, state: Path, workspace: Path, model: str, catalogue: CatalogueMode
) -> None:
    """A steer that left the entries out would have the server say all of them anew with the next turn (measured)."""
    heard: list[Steered] = []

    def script(request: RecordedRequest) -> Action:
        return Reply((BeginSaying("Half"), Wait(anyio.Event()))) if request.number == 1 else say("Yes.")

    async with stage(codex, state, workspace, script, model=model, catalogue=catalogue) as play:
        turn = await play.agent.receive(in_group("heron", ORRIN))

        async def join() -> None:
            said = in_group("osprey </external_x>", MO), in_group("stork", ORRIN)
            heard.append(await turn.steer(play.agent.joining(*said), said[0].key))

        await steered_at(turn, lambda event: isinstance(event, TextDelta), join)
        await (await play.agent.receive(in_group("finch", MO))).result()
    joined, after = play.model.requests[1:]
    assert heard == [Steered.TAKEN]
    assert last_texts(joined, 1)[0].startswith("People who are not known as your owner wrote to you here.")
    for request in (joined, after):
        once = ("SOUL_M22", "Boats", "heron", "osprey &lt;/external_x>", "stork")
        assert [count(request, text) for text in once] == [1] * len(once)
    who = "Who wrote each of the next 2 messages"
    assert [count(joined, text) for text in (who, '"name": "Orrin"', '"name": "Mo"')] == [1, 2, 1]
    assert [count(after, text) for text in (who, '"name": "Orrin"', '"name": "Mo"')] == [1, 2, 2]


@pytest.mark.parametrize(("model", "catalogue"), [(MODEL, "auto"), ("gpt-6-sol", "untouched")])
async def test_what_joins_a_turn_has_no_edited_rules_said_again(
    codex: CodexBinary, state: Path, workspace: Path, model: str, catalogue: CatalogueMode
) -> None:
    """They stand in the server's map as well, which forgets what a steer leaves out."""
    heard: list[Steered] = []

    def script(request: RecordedRequest) -> Action:
        return Reply((BeginSaying("Half"), Wait(anyio.Event()))) if request.number == 2 else say("Yes.")

    async with stage(codex, state, workspace, script, model=model, catalogue=catalogue) as play:
        await play.ask("heron", number="1")
        (workspace / "AGENTS.md").write_text("AGENTS_NEW Keep answers long.", "utf-8")
        (workspace / "TOOLS.md").write_text("TOOLS_NEW The printer is called Quill.", "utf-8")
        turn = await play.begin("osprey", number="2")

        async def join() -> None:
            said = message("stork", number="3")
            heard.append(await turn.steer(play.agent.joining(said), said.key))

        await steered_at(turn, lambda event: isinstance(event, TextDelta), join)
        await play.ask("finch", number="4")
    assert heard == [Steered.TAKEN]
    for request in play.model.requests[2:]:
        assert [count(request, text) for text in ("AGENTS_NEW", "TOOLS_NEW", "SOUL_M22")] == [1, 1, 1]


async def test_a_subagent_that_outlives_its_turn_is_stopped_with_the_conversation(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    told = anyio.Event()
    late: list[Outcome] = []

    def script(request: RecordedRequest) -> Action:
        if is_child(request):
            return Reply((BeginSaying("One boat, "), Wait(anyio.Event())))
        spawned = any(part.kind == "function_call_output" for part in request.parts())
        return say("Done.") if spawned else spawn(MODEL)

    def hear(_: object, event: object) -> None:
        late.append(event.result.outcome)  # type: ignore[attr-defined]
        told.set()

    async with stage(codex, state, workspace, script, on_late_subagent=hear) as play:
        turn = await play.begin("go")
        result = await turn.result()
        while not any(map(is_child, play.model.requests)):
            await play.model.next_request()
        await turn.interrupt()
        await told.wait()
    assert (result.outcome, result.text, late) == (Outcome.ANSWERED, "Done.", [Outcome.INTERRUPTED])


async def test_two_stops_at_once_end_a_turn_once(codex: CodexBinary, state: Path, workspace: Path) -> None:
    script = always(Reply((BeginSaying("Half"), Wait(anyio.Event()))))
    async with stage(codex, state, workspace, script) as play:
        turn = await play.begin("heron")
        finished = 0
        async with anyio.create_task_group() as group:
            async for event in turn.events():
                if isinstance(event, TextDelta):
                    for _ in range(3):
                        group.start_soon(turn.interrupt)
                finished += isinstance(event, Finished)
    assert (finished, (await turn.result()).outcome) == (1, Outcome.INTERRUPTED)
