"""The ledger fed by hand: what reaches the gateway, in which order, and what never does."""

import tracemalloc
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from codex_bridge.ledger import State, TurnLedger
from codex_bridge.rpc import JsonObject, Notified
from codex_bridge.telling import Telling
from codex_bridge.wire.notifications import Delta, Stream, ThreadTokenUsage, read
from codex_bridge.wire.requests import Turn
from harness.tools import Sent, ToolResult
from harness.turns import (
    Command,
    CommandAction,
    CommandFinished,
    CommandOutput,
    CommandStarted,
    Commentary,
    Compacted,
    CompactionStarted,
    EndedBy,
    Evidence,
    Failure,
    FileChange,
    FilesChanged,
    FilesChanging,
    Finished,
    Notice,
    Outcome,
    PlanChanged,
    PlanStep,
    Reasoning,
    Silence,
    TextDelta,
    TextRetracted,
    ToolFinished,
    ToolStarted,
    TurnEvent,
    TurnResult,
    Usage,
    UsageCounted,
)

TELLING = Telling("log in", lambda: 0.0)
HERE = {"threadId": "t", "turnId": "u"}
USAGE: dict[str, Any] = {
    "totalTokens": 12,
    "inputTokens": 10,
    "cachedInputTokens": 4,
    "outputTokens": 2,
    "reasoningOutputTokens": 1,
}


class Played:
    """A ledger and everything it said."""

    def __init__(self, *, accepted: bool = True, counted: ThreadTokenUsage | None = None) -> None:
        self.ledger = TurnLedger("t", TELLING.tell, counted=counted)
        self.events: list[TurnEvent] = []
        if accepted:
            self.accept()

    def accept(self) -> None:
        self.events += self.ledger.accept(Turn.model_validate({"id": "u", "status": "inProgress"}))

    def see(self, method: str, **params: Any) -> "Played":
        whole: JsonObject = {**HERE, **params}
        self.events += self.ledger.see(read(Notified(method, whole)))
        return self

    def item(self, when: str, kind: str, **fields: Any) -> "Played":
        return self.see(f"item/{when}", item={"type": kind, **fields})

    def say(self, item: str, text: str, phase: str | None = None) -> "Played":
        self.item("started", "agentMessage", id=item, text="", phase=phase)
        self.see("item/agentMessage/delta", itemId=item, delta=text)
        return self.item("completed", "agentMessage", id=item, text=text, phase=phase)

    def end(self, status: str = "completed", **turn: Any) -> TurnResult:
        self.see("turn/completed", turn={"id": "u", "status": status, "items": [], **turn})
        assert isinstance(self.events[-1], Finished)
        return self.events[-1].result


def ended(status: str) -> Notified:
    return Notified("turn/completed", {"threadId": "t", "turn": {"id": "u", "status": status, "items": []}})


def result(
    outcome: Outcome,
    text: str,
    error: str = "",
    detail: str = "",
    failure: Failure | None = None,
    *,
    by: EndedBy = EndedBy.ITSELF,
) -> TurnResult:
    return TurnResult(outcome, text, error, detail, "t", "u", failure=failure, ended_by=by)


def test_a_plain_turn_streams_its_text_and_ends_with_it() -> None:
    played = Played().say("m", "Done.")
    assert played.end() == result(Outcome.ANSWERED, "Done.")
    assert played.events[:-1] == [TextDelta("m", "Done.")]


def test_notifications_that_come_before_the_answer_to_turn_start_are_taken_in_with_it() -> None:
    played = Played(accepted=False)
    played.see("turn/started", turn={"id": "u"}).say("m", "Quick.")
    played.see("item/agentMessage/delta", turnId="another", itemId="x", delta="not ours")
    assert played.events == []
    played.accept()
    assert played.events == [TextDelta("m", "Quick.")]
    assert played.ledger.began
    assert played.end() == result(Outcome.ANSWERED, "Quick.")


def test_the_pieces_of_a_text_that_come_early_are_joined_and_what_commands_print_is_bounded() -> None:
    played = Played(accepted=False)
    for _ in range(1_000):
        played.see("item/agentMessage/delta", itemId="m", delta="ab")
        played.see("item/commandExecution/outputDelta", itemId="c", delta="x" * 10_000)
    played.accept()
    said, printed = played.events
    assert said == TextDelta("m", "ab" * 1_000)
    assert isinstance(printed, CommandOutput)
    assert len(printed.text) == 1_040_000
    whole = "x" * 2_000_000
    played.item("completed", "commandExecution", id="c", command="yes", status="completed", aggregatedOutput=whole)
    assert CommandOutput("c", whole, whole=True) in played.events


def test_the_turn_that_began_last_is_followed_when_the_answer_to_turn_start_is_lost() -> None:
    played = Played(accepted=False)
    for turn in ("earlier", "u"):
        played.see("turn/started", turn={"id": turn})
        played.see("item/agentMessage/delta", turnId=turn, itemId=f"m of {turn}", delta="Hm.")
    played.events += played.ledger.adopt()
    assert (played.ledger.turn_id, played.events) == ("u", [TextDelta("m of u", "Hm.")])


@pytest.mark.parametrize(
    ("status", "outcome"),
    [("completed", Outcome.ANSWERED), ("failed", Outcome.FAILED), ("interrupted", Outcome.INTERRUPTED)],
)
def test_a_turn_that_is_over_when_turn_start_is_answered_ends_with_the_answer(status: str, outcome: Outcome) -> None:
    """A8: no turn/completed follows."""
    played = Played(accepted=False).see("item/agentMessage/delta", itemId="m", delta="Quick.")
    final = {"type": "agentMessage", "id": "m", "text": "Quick."}
    played.events += played.ledger.accept(Turn.model_validate({"id": "u", "status": status, "items": [final]}))
    assert played.events[0] == TextDelta("m", "Quick.")
    assert isinstance(last := played.events[-1], Finished)
    assert (last.result.outcome, last.result.text, len(played.events)) == (outcome, "Quick.", 2)
    played.see("turn/completed", turn={"id": "u", "status": "completed", "items": []})
    assert len(played.events) == 2


def test_a_turn_that_ended_before_turn_start_was_answered_ends_once() -> None:
    """A8."""
    played = Played(accepted=False).say("m", "Quick.")
    played.see("turn/completed", turn={"id": "u", "status": "completed", "items": []})
    played.events += played.ledger.accept(Turn.model_validate({"id": "u", "status": "failed", "items": []}))
    assert played.events == [TextDelta("m", "Quick."), Finished(result(Outcome.ANSWERED, "Quick."))]


def test_another_turn_of_the_thread_neither_speaks_nor_ends_ours() -> None:
    played = Played()
    played.see("item/agentMessage/delta", turnId="other", itemId="m", delta="wrong")
    played.see("turn/completed", turn={"id": "other", "status": "completed", "items": []})
    played.see("thread/tokenUsage/updated", turnId="other", tokenUsage={"last": USAGE, "total": USAGE})
    assert (played.events, played.ledger.state) == ([], State.RUNNING)
    assert played.say("m", "Right.").end().usage == Usage()


def test_what_the_server_says_twice_counts_once() -> None:
    """As far as it can be told from something that happened twice: the pieces of a text cannot."""
    once, doubled = Played(), Played()
    total = USAGE | {"totalTokens": 40}
    command = {"type": "commandExecution", "id": "c", "command": "ls", "cwd": "/w", "status": "completed"}
    change = {"path": "a", "kind": {"type": "add"}, "diff": ""}
    items: list[dict[str, Any]] = [
        command | {"commandActions": [], "exitCode": 0},
        {"type": "fileChange", "id": "f", "status": "completed", "changes": [change]},
        {"type": "mcpToolCall", "id": "t", "server": "s", "tool": "x", "status": "completed"},
        {"type": "contextCompaction", "id": "k"},
        {"type": "userMessage", "id": "y", "content": []},
        {"type": "subAgentActivity", "id": "a"},
        {"type": "agentMessage", "id": "m", "text": "Done."},
    ]
    for played, times in ((once, 1), (doubled, 2)):
        for item in items:
            for when in ("started", "completed"):
                for _ in range(times):
                    played.see(f"item/{when}", item=item)
        for used in (total, total | {"totalTokens": 80}):
            for _ in range(times):
                played.see("thread/tokenUsage/updated", tokenUsage={"last": USAGE, "total": used})
        played.end()
    assert doubled.events == once.events
    assert isinstance(last := once.events[-1], Finished)
    assert last.result == replace(
        result(Outcome.ANSWERED, "Done."),
        usage=Usage(20, 8, 4, 2),
        context_used=12,
        evidence=Evidence(commands=(Command("ls"),), changes=("a",), tools=("s.x",), children=1, messages=1),
        compacted=True,
    )


def test_items_without_an_id_and_counts_without_a_total_are_each_taken_for_another() -> None:
    played = Played()
    for _ in range(2):
        played.item("completed", "subAgentActivity")
        played.see("thread/tokenUsage/updated", tokenUsage={"last": USAGE, "total": {}})
    ended = played.end()
    assert (ended.evidence, ended.usage) == (Evidence(children=2), Usage(20, 8, 4, 2))


def test_an_answer_whose_pieces_came_twice_is_right_at_the_end() -> None:
    played = Played()
    for _ in range(2):
        played.see("item/agentMessage/delta", itemId="m", delta="Ha")
    played.item("completed", "agentMessage", id="m", text="Ha")
    assert played.end() == result(Outcome.ANSWERED, "Ha")
    assert played.events[:-1] == [*[TextDelta("m", "Ha")] * 2, TextRetracted("m"), TextDelta("m", "Ha")]


def test_commentary_is_never_the_answer() -> None:
    played = Played().say("a", "Two files.", "final_answer").say("b", "Checking once more.", "commentary")
    assert played.end() == result(Outcome.ANSWERED, "Two files.")
    assert played.events[:2] == [TextDelta("a", "Two files."), Commentary("b", "Checking once more.")]


def test_the_last_message_with_words_is_the_answer() -> None:
    """T08 h."""
    assert Played().say("a", "First.").say("b", "and B").say("c", "  \n").end() == result(Outcome.ANSWERED, "and B")


def test_a_message_that_never_completed_counts_with_what_was_streamed() -> None:
    played = (
        Played()
        .see("item/agentMessage/delta", itemId="m", delta="Half")
        .see("item/agentMessage/delta", itemId="m", delta=" of it")
    )
    assert played.end("interrupted") == result(Outcome.INTERRUPTED, "Half of it", by=EndedBy.PERSON)


def test_a_long_answer_takes_its_own_length_however_many_pieces_it_comes_in() -> None:
    """Peers 5, row of the peak memory: as objects of their own, 20,000 pieces of 6 characters take 1.2 MB."""
    ledger = Played().ledger
    tracemalloc.start()
    try:
        for _ in range(20_000):
            ledger.see(Delta("t", "u", "m", Stream.MESSAGE, "".join("piece ")))  # a new one each time, as from the wire
        held = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert 120_000 <= held < 200_000


def test_a_retried_stream_takes_back_what_was_half_said_and_keeps_what_was_whole() -> None:
    played = Played().say("a", "Looking.", "commentary")
    played.see("item/agentMessage/delta", itemId="b", delta="The fir")
    played.see("error", error={"message": "Reconnecting... 1/5"}, willRetry=True)
    played.say("c", "The first.")
    assert played.events[1:] == [TextDelta("b", "The fir"), TextRetracted("b"), TextDelta("c", "The first.")]
    assert played.end() == result(Outcome.ANSWERED, "The first.")


def test_the_end_may_bring_a_message_that_was_never_streamed() -> None:
    final = {"type": "agentMessage", "id": "m", "text": "Only here."}
    assert Played().end(items=[final]) == result(Outcome.ANSWERED, "Only here.")


def test_a_turn_without_words_is_empty() -> None:
    """T08 e."""
    assert Played().end() == replace(result(Outcome.EMPTY, ""), silence=Silence.NOTHING)


def test_a_failure_is_one_sentence_and_the_providers_words_go_to_the_log() -> None:
    """T08 d."""
    raw = '{"detail":"model x not supported"}'
    error = {"message": raw, "codexErrorInfo": {"httpConnectionFailed": {"httpStatusCode": 404}}}
    played = Played().see("error", error=error, willRetry=False)
    assert played.end("failed", error=error) == result(
        Outcome.FAILED, "", "The model provider does not know this model, or its address is wrong.", raw, Failure.MODEL
    )
    assert len(played.events) == 1


def test_the_end_counts_once() -> None:
    """T08 b."""
    played = Played().say("m", "Done.")
    first = played.end()
    played.see("turn/completed", turn={"id": "u", "status": "failed", "items": []})
    assert played.ledger.lose("late") == played.ledger.fail("late") == played.ledger.stop() == []
    assert [event for event in played.events if isinstance(event, Finished)] == [Finished(first)]


def test_usage_adds_up_over_the_model_requests_of_a_turn() -> None:
    played = Played()
    for _ in range(2):
        played.see("thread/tokenUsage/updated", tokenUsage={"last": USAGE, "total": {}, "modelContextWindow": 1000})
    assert played.events == [UsageCounted(Usage(10, 4, 2, 1), 1000, 12), UsageCounted(Usage(20, 8, 4, 2), 1000, 12)]
    assert played.end().usage == Usage(20, 8, 4, 2)


def test_work_is_told_with_its_outcome() -> None:
    played = Played()
    command: dict[str, Any] = {"id": "c", "command": "ls", "cwd": "/w", "status": "inProgress", "commandActions": []}
    played.item("started", "commandExecution", **command)
    played.see("item/commandExecution/outputDelta", itemId="c", delta="a.txt\n")
    played.item("completed", "commandExecution", **{**command, "status": "failed", "exitCode": 2})
    change = {"path": "/w/a", "kind": {"type": "add"}, "diff": "+a"}
    played.item("completed", "fileChange", id="f", status="completed", changes=[change])
    played.item("started", "dynamicToolCall", id="d", tool="message", namespace="openclaw", status="inProgress")
    played.item("completed", "dynamicToolCall", id="d", tool="message", namespace="openclaw", status="failed")
    played.item("started", "mcpToolCall", id="p", server="crm", tool="find", status="inProgress")
    played.item("completed", "mcpToolCall", id="p", server="crm", tool="find", status="completed")
    played.see("item/reasoning/summaryTextDelta", itemId="r", delta="Hm.")
    played.see("turn/plan/updated", plan=[{"step": "look", "status": "completed"}], explanation=None)
    played.item("completed", "contextCompaction", id="k")
    played.see("warning", message="Long thread.")
    played.see("model/rerouted", fromModel="a", toModel="b")
    assert played.events == [
        CommandStarted("c", "ls", "/w"),
        CommandOutput("c", "a.txt\n"),
        CommandFinished("c", "ls", "failed", 2),
        FilesChanging("f", (FileChange("/w/a", "add", "+a"),)),
        FilesChanged("f", "completed", (FileChange("/w/a", "add", "+a"),)),
        ToolStarted("d", "openclaw.message"),
        ToolFinished("d", "openclaw.message", succeeded=False),
        ToolStarted("p", "crm.find"),
        ToolFinished("p", "crm.find", succeeded=True),
        Reasoning("r", "Hm."),
        PlanChanged((PlanStep("look", "completed"),)),
        CompactionStarted("k"),
        Compacted("k"),
        Notice("Long thread."),
        Notice("b answers in place of a."),
    ]


def test_calls_under_one_id_are_each_told_and_each_kept() -> None:
    """A model may give two calls the same id; the one that did something must not hide behind the one that did not."""
    played = Played()
    for tool, status in (("message", "completed"), ("memory_search", "completed"), ("message", "failed")):
        played.item("started", "dynamicToolCall", id="call", tool=tool, status="inProgress")
        played.item("completed", "dynamicToolCall", id="call", tool=tool, status=status)
    for command in ("rm -r notes", "ls"):
        for when in ("started", "completed"):
            played.item(when, "commandExecution", id="run", command=command, cwd="/w", exitCode=0)
    evidence = played.end().evidence
    assert [each for each in played.events if isinstance(each, ToolFinished)] == [
        ToolFinished("call", "message", succeeded=True),
        ToolFinished("call", "memory_search", succeeded=True),
        ToolFinished("call", "message", succeeded=False),
    ]
    assert evidence.tools == ("message", "memory_search", "message")
    assert evidence.commands == (Command("rm -r notes"), Command("ls"))


def test_an_end_without_a_beginning_is_told_as_both() -> None:
    played = Played()
    played.item("completed", "commandExecution", id="c", command="ls", cwd="/w", status="completed", exitCode=0)
    played.item("completed", "mcpToolCall", id="p", server="crm", tool="find", status="completed")
    played.item("completed", "webSearch", id="w", query="tides")
    played.item("started", "commandExecution", id="c", command="ls", cwd="/w", status="inProgress")  # late
    assert played.events == [
        CommandStarted("c", "ls", "/w"),
        CommandFinished("c", "ls", "completed", 0),
        ToolStarted("p", "crm.find"),
        ToolFinished("p", "crm.find", succeeded=True),
        ToolStarted("w", "web_search"),
        ToolFinished("w", "web_search", succeeded=True),
    ]


def test_a_picture_that_codex_makes_belongs_to_the_answer_and_one_that_it_could_not_make_does_not() -> None:
    played = Played()
    played.item("started", "imageGeneration", id="a", status="in_progress", result="")
    for item, path in (("a", "/home/generated_images/t/a.png"), ("b", None), ("a", "/home/generated_images/t/a.png")):
        played.item("completed", "imageGeneration", id=item, status="completed", result="iVBO", savedPath=path)
    result = played.say("m", "Here it is.", "final_answer").end()
    assert (result.media, result.evidence.others) == (("/home/generated_images/t/a.png",), ("image_generation",))
    assert [each.succeeded for each in played.events if isinstance(each, ToolFinished)] == [True, False]


ENDS: dict[str, Callable[[TurnLedger], Iterable[TurnEvent]]] = {
    **{status: partial(TurnLedger.see, wire=read(ended(status))) for status in ("completed", "interrupted", "failed")},
    "lost": lambda ledger: ledger.lose("Codex is gone."),
    "down": lambda ledger: ledger.fail("Down.", failure=Failure.SHUTDOWN),
    "stopped": TurnLedger.stop,
}


@pytest.mark.parametrize("end", ENDS)
def test_what_began_and_never_ended_is_told_as_over_with_the_turn(end: str) -> None:
    """An item that began may never complete (protocol reference, 4), and nobody should wait for it."""
    played = Played()
    change = {"path": "/w/a", "kind": {"type": "add"}, "diff": "+a"}
    played.item("started", "commandExecution", id="c", command="sleep 60", cwd="/w", status="inProgress")
    played.item("started", "fileChange", id="f", status="inProgress", changes=[change])
    played.item("started", "dynamicToolCall", id="d", tool="send", status="inProgress")
    played.item("started", "contextCompaction", id="k")
    played.item("started", "dynamicToolCall", id="over", tool="look", status="inProgress")
    played.item("completed", "dynamicToolCall", id="over", tool="look", status="completed")
    *left, last = ENDS[end](played.ledger)
    assert left == [
        # It outlives its turn, and not its server (measured).
        CommandFinished("c", "sleep 60", "unknown" if end in ("lost", "down") else "running", None),
        FilesChanged("f", "unknown", (FileChange("/w/a", "add", "+a"),)),
        ToolFinished("d", "send", None),
        Compacted("k", succeeded=False),
    ]
    assert isinstance(last, Finished)
    assert not last.result.compacted


@pytest.mark.parametrize(
    ("pieces", "aggregated", "told"),
    [
        ([], "hi\n", [CommandOutput("c", "hi\n", whole=True)]),
        (["a\n", "b\n"], "a\nb\n", [CommandOutput("c", "a\n"), CommandOutput("c", "b\n")]),
        (["END\n"], "lots\nEND\n", [CommandOutput("c", "END\n"), CommandOutput("c", "lots\nEND\n", whole=True)]),
        (["a\n"], None, [CommandOutput("c", "a\n")]),
        ([], "", []),
    ],
)
def test_the_output_of_a_command_is_told_to_the_end_also_where_no_piece_of_it_came(
    pieces: list[str], aggregated: str | None, told: list[TurnEvent]
) -> None:
    """Both versions stream nothing of what a command prints in its first moments."""
    played = Played()
    command: dict[str, Any] = {"id": "c", "command": "x", "cwd": "/w", "status": "inProgress"}
    played.item("started", "commandExecution", **command)
    for piece in pieces:
        played.see("item/commandExecution/outputDelta", itemId="c", delta=piece)
    played.item("completed", "commandExecution", **{**command, "status": "completed", "aggregatedOutput": aggregated})
    assert played.events == [CommandStarted("c", "x", "/w"), *told, CommandFinished("c", "x", "completed", None)]


def test_text_that_turns_out_to_be_commentary_is_taken_back_and_told_as_that() -> None:
    """Both versions tell the phase with the end when the provider does (measured)."""
    played = Played().item("started", "agentMessage", id="m", text="", phase=None)
    played.see("item/agentMessage/delta", itemId="m", delta="Need to look")
    played.item("completed", "agentMessage", id="m", text="Need to look.", phase="commentary")
    assert played.events == [TextDelta("m", "Need to look"), TextRetracted("m"), Commentary("m", "Need to look.")]
    assert played.end() == replace(result(Outcome.EMPTY, ""), silence=Silence.COMMENTARY)


def test_commentary_that_turns_out_to_be_the_answer_is_told_as_that() -> None:
    played = Played().item("started", "agentMessage", id="m", text="", phase="commentary")
    played.see("item/agentMessage/delta", itemId="m", delta="Two")
    played.item("completed", "agentMessage", id="m", text="Two files.", phase="final_answer")
    assert played.events == [Commentary("m", "Two"), TextDelta("m", "Two files.")]
    assert played.end().text == "Two files."


def test_a_reader_of_the_pieces_has_the_whole_text_whatever_of_it_was_streamed() -> None:
    played = Played()
    played.item("completed", "agentMessage", id="a", text="Never streamed.")
    played.see("item/agentMessage/delta", itemId="b", delta="Half")
    played.item("completed", "agentMessage", id="b", text="Half of it.")
    played.see("item/agentMessage/delta", itemId="b", delta=" late")
    played.item("completed", "agentMessage", id="c", text="Working", phase="commentary")
    assert played.events == [
        TextDelta("a", "Never streamed."),
        TextDelta("b", "Half"),
        TextDelta("b", " of it."),
        Commentary("c", "Working"),
    ]
    assert played.end().text == "Half of it."


@pytest.mark.parametrize(
    ("kinds", "silence"),
    [
        ([], Silence.NOTHING),
        (["reasoning"], Silence.REASONING),
        (["reasoning", "commentary"], Silence.COMMENTARY),
        (["reasoning", "commentary", "plan"], Silence.PLAN),
        (["reasoning", "commentary", "plan", "webSearch"], Silence.TOOLS),
        (["commandExecution"], Silence.TOOLS),
    ],
)
def test_an_answerless_turn_says_what_it_did_instead(kinds: list[str], silence: Silence) -> None:
    """A13."""
    played = Played()
    for kind in kinds:
        if kind == "commentary":
            played.say("m", "Looking.", "commentary")
        else:
            played.item("completed", kind, id=kind, text="", command="ls")
    ended = played.end()
    assert (ended.outcome, ended.text, ended.silence) == (Outcome.EMPTY, "", silence)


def test_a_compaction_leaves_the_size_unknown_until_somebody_counts() -> None:
    """K4."""
    played = Played()
    played.see("thread/tokenUsage/updated", tokenUsage={"last": USAGE, "total": USAGE, "modelContextWindow": 1000})
    played.item("completed", "contextCompaction", id="k")
    assert played.events[-1] == UsageCounted(Usage(10, 4, 2, 1), 1000, None)
    ended = played.end()
    assert (ended.context_used, ended.context_window, ended.usage) == (None, 1000, Usage(10, 4, 2, 1))


def test_the_last_count_of_the_turn_before_is_not_counted_again() -> None:
    """Codex repeats it under the id of the next turn (measured, in a compaction and in a failure)."""
    before = ThreadTokenUsage.model_validate({"last": USAGE, "total": USAGE, "modelContextWindow": 1000})
    for known in (before, None):
        played = Played(counted=known)
        if known is None:  # a thread that was resumed, which tells its last count then, perhaps after our request
            played.see("thread/tokenUsage/updated", turnId="earlier", tokenUsage={"last": USAGE, "total": USAGE})
        played.see("thread/tokenUsage/updated", tokenUsage={"last": USAGE, "total": USAGE})
        assert played.events == []
        assert played.end().usage == Usage()


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("item/started", {"item": {"type": "hologram", "id": "h"}}),
        ("item/completed", {"item": {"type": "agentMessage", "id": "m"}}),
        ("item/completed", {"item": None}),
        ("item/agentMessage/delta", {"itemId": "m"}),
        ("thread/tokenUsage/updated", {"tokenUsage": "many"}),
        ("turn/hologram", {}),
    ],
)
def test_what_is_not_understood_changes_nothing(method: str, params: dict[str, Any]) -> None:
    played = Played().see(method, **params)
    ended = played.say("x", "Fine.").end()
    assert replace(ended, evidence=Evidence()) == result(Outcome.ANSWERED, "Fine.")


def test_what_only_began_and_what_nobody_knows_counts_as_done() -> None:
    played = Played()
    actions: list[dict[str, Any]] = [{"type": "read"}]
    for name in ("ends", "runs on"):
        played.item("started", "commandExecution", id=name, command=name, commandActions=actions)
    played.item("completed", "commandExecution", id="ends", command="ends", commandActions=actions)
    played.item("started", "dynamicToolCall", id="t", tool="send")
    for name, status in (("f", "completed"), ("g", "declined")):
        change = {"path": name, "kind": {"type": "add"}}
        played.item("started", "fileChange", id=name, status="inProgress", changes=[change])
        played.item("completed", "fileChange", id=name, status=status, changes=[change])
    played.item("started", "hologram", id="h").item("completed", "hologram", id="h").see("item/completed", item=None)
    played.see("item/commandExecution/terminalInteraction", itemId="of an earlier turn", processId="7", stdin="")
    played.see("item/commandExecution/terminalInteraction", turnId="another", itemId="x", processId="7", stdin="")
    assert played.end().evidence == Evidence(
        commands=(Command("ends", (CommandAction.READ,)), Command("runs on", (CommandAction.READ,), over=False)),
        changes=("f",),
        tools=("send",),
        others=("hologram", "unknown", "terminal"),
    )


def test_what_tools_sent_by_themselves_is_evidence_and_their_files_belong_to_the_answer() -> None:
    played = Played()
    hello, more = Sent(channel="telegram", chat="7", text="Hello."), Sent(channel="telegram", chat="7", text="More.")
    played.ledger.hand_in(ToolResult(True, "Sent.", sent=(hello, more)))
    played.ledger.hand_in(ToolResult(True, "Drawn.", media=("/w/b.png", "/w/a.png")))
    played.ledger.hand_in(ToolResult(True, "Drawn again.", sent=(hello,), media=("/w/a.png",)))
    assert played.say("m", "Here.").end() == replace(
        result(Outcome.ANSWERED, "Here."),
        evidence=Evidence(sent=(hello, more, hello)),
        media=("/w/b.png", "/w/a.png"),
    )


def test_what_a_turn_adds_to_its_conversation_is_measured() -> None:
    played = Played().say("m", "Fine.")
    played.item("completed", "commandExecution", id="c", command="cat A", aggregatedOutput="x" * 30)
    played.item("completed", "commandExecution", id="d", command="cat B", aggregatedOutput="x" * 1_000_000)
    played.item("completed", "dynamicToolCall", id="t", tool="look", arguments={}, contentItems=["seen"])
    played.item("completed", "mcpToolCall", id="s", tool="look", arguments=None, result={})
    assert played.ledger.units == 5 + (5 + 30) + (5 + 40_000) + len('[{},["seen"]]') + len("[null,{}]")


def test_a_new_word_for_the_end_is_an_end() -> None:
    assert Played().say("m", "Done.").end("perfected") == result(Outcome.ANSWERED, "Done.")


def test_a_lost_connection_keeps_what_was_said() -> None:
    played = Played().see("item/agentMessage/delta", itemId="m", delta="Half")
    assert played.ledger.lose("Codex is gone.", "panic") == [
        Finished(result(Outcome.LOST, "Half", "Codex is gone.", "panic", Failure.SERVER, by=EndedBy.LOSS))
    ]


def counted(played: Played) -> Played:
    return played.see("thread/tokenUsage/updated", tokenUsage={"last": USAGE, "total": USAGE})


def lost(played: Played) -> tuple[Outcome, str]:
    *_, ended = played.ledger.lose("Codex stopped.")
    assert isinstance(ended, Finished)
    return ended.result.outcome, ended.result.text


def test_an_answer_that_was_whole_when_the_server_went_is_an_answer() -> None:
    final, counted_up = Played().say("m", "Yes.", "final_answer"), counted(Played().say("m", "Yes."))
    assert (final.ledger.sure_of_its_end, lost(final)) == (True, (Outcome.ANSWERED, "Yes."))
    assert (counted_up.ledger.sure_of_its_end, lost(counted_up)) == (True, (Outcome.ANSWERED, "Yes."))


@pytest.mark.parametrize(
    "played",
    [
        Played().say("m", "Let me look."),
        counted(Played().say("m", "Let me look.", "commentary")),
        counted(Played().say("m", " ")),
        counted(Played().say("m", "Let me look.")).item("started", "commandExecution", id="c", command="ls"),
        counted(Played().say("m", "Yes.")).item("completed", "userMessage", id="w"),
        Played().say("m", "Yes.", "final_answer").see("error", willRetry=True, error={"message": "Reconnecting"}),
        counted(Played().say("m", "Yes.")).item("started", "agentMessage", id="n", text=""),
    ],
    ids=["more may come", "commentary", "blank", "a command", "said into it", "once more", "goes on"],
)
def test_a_message_after_which_more_may_come_is_no_answer_when_the_server_goes(played: Played) -> None:
    assert (played.ledger.sure_of_its_end, lost(played)[0]) == (False, Outcome.LOST)


def test_a_turn_that_was_being_stopped_when_the_server_went_is_stopped() -> None:
    played = Played()
    played.ledger.will_end(EndedBy.PERSON)
    *_, ended = played.ledger.lose("Codex stopped.")
    assert ended == Finished(TurnResult(Outcome.INTERRUPTED, "", conversation="t", turn="u", ended_by=EndedBy.PERSON))


@pytest.mark.parametrize("accepted", [True, False], ids=["running", "not confirmed"])
def test_what_codex_has_written_down_of_a_turn_ends_it(accepted: bool) -> None:
    played = Played(accepted=accepted)
    played.item("started", "agentMessage", id="m", text="")
    played.see("item/agentMessage/delta", itemId="m", delta="Ye")
    said = {"type": "agentMessage", "id": "m", "text": "Yes."}
    events = played.ledger.recall(Turn.model_validate({"id": "u", "status": "completed", "items": [said]}))
    assert events[-1] == Finished(TurnResult(Outcome.ANSWERED, "Yes.", conversation="t", turn="u"))
    assert played.ledger.lose("Codex stopped.") == []


def test_what_codex_has_written_down_of_an_unfinished_turn_is_kept_when_it_is_lost() -> None:
    played = Played()
    said = {"type": "agentMessage", "id": "m", "text": "Let me look."}
    recalled = played.ledger.recall(Turn.model_validate({"id": "u", "status": "interrupted", "items": [said]}))
    assert recalled == [TextDelta("m", "Let me look.")]
    assert lost(played) == (Outcome.LOST, "Let me look.")


def test_an_interrupt_of_our_own_is_told_as_what_it_is() -> None:
    sentence = "The turn was stopped after 5 s (turn deadline)."
    played = Played()
    played.ledger.will_end(EndedBy.DEADLINE, sentence, Failure.DEADLINE)
    played.ledger.will_end(EndedBy.PERSON)
    ended = result(Outcome.FAILED, "", sentence, failure=Failure.DEADLINE, by=EndedBy.DEADLINE)
    assert played.end("interrupted") == ended


def test_a_turn_that_ends_before_its_interrupt_gets_there_has_ended_by_itself() -> None:
    played = Played().say("m", "Done.")
    played.ledger.will_end(EndedBy.GIVEN_WAY)
    assert played.end() == result(Outcome.ANSWERED, "Done.")
