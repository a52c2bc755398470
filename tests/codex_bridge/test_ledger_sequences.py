"""Whatever comes in whatever order, a ledger tells each thing once, nothing of another turn, and one end."""

from collections.abc import Sequence
from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st

from codex_bridge.ledger import State, TurnLedger
from codex_bridge.rpc import Json, JsonObject, Notified
from codex_bridge.telling import Telling
from codex_bridge.wire.notifications import read
from codex_bridge.wire.requests import Turn
from harness.turns import (
    CommandFinished,
    CommandOutput,
    CommandStarted,
    Compacted,
    CompactionStarted,
    FilesChanged,
    FilesChanging,
    Finished,
    Outcome,
    TextDelta,
    TextRetracted,
    ToolFinished,
    ToolStarted,
    TurnEvent,
    TurnResult,
    Usage,
)

OURS, THREAD, MARK = "u", "t", "FOREIGN"
BEGUN = (CommandStarted, FilesChanging, ToolStarted, CompactionStarted)
OVER = (CommandFinished, FilesChanged, ToolFinished, Compacted)
COUNTED = {"inputTokens": 10, "cachedInputTokens": 4, "outputTokens": 2, "reasoningOutputTokens": 1}
Line = tuple[str, JsonObject]


def line(method: str, **params: Json) -> Line:
    return method, params


def item(kind: str, name: str, **fields: Json) -> list[Line]:
    whole: JsonObject = {"type": kind, "id": name, **fields}
    begun = whole | {"status": "inProgress", "text": "", "aggregatedOutput": None}
    return [line("item/started", item=begun), line("item/completed", item=whole)]


def message(name: str, text: str, phase: str | None) -> list[Line]:
    half = len(text) // 2
    pieces = [line("item/agentMessage/delta", itemId=name, delta=part) for part in (text[:half], text[half:])]
    started, completed = item("agentMessage", name, text=text, phase=phase)
    return [started, *pieces, completed]


def command(name: str) -> list[Line]:
    started, completed = item(
        "commandExecution", name, command="ls", cwd="/w", status="completed", aggregatedOutput="ab"
    )
    return [started, line("item/commandExecution/outputDelta", itemId=name, delta="b"), completed]


def count(number: int) -> list[Line]:
    total: JsonObject = {"totalTokens": 1_000 * number, "inputTokens": 900 * number}
    last: JsonObject = {**COUNTED, "totalTokens": 12}
    return [line("thread/tokenUsage/updated", tokenUsage={"last": last, "total": total, "modelContextWindow": 9_000})]


def parts(number: int) -> st.SearchStrategy[list[Line]]:
    name = f"i{number}"
    change: Json = {"path": name, "kind": {"type": "add"}, "diff": "+x"}
    return st.sampled_from(
        [
            message(name, f"Text {number}.", None),
            message(name, f"Final {number}.", "final_answer"),
            message(name, f"Aside {number}.", "commentary"),
            command(name),
            item("fileChange", name, changes=[change], status="completed"),
            item("dynamicToolCall", name, tool="send", status="completed"),
            item("contextCompaction", name),
            item("hologram", name),
            item("reasoning", name),
            item("userMessage", name),
            [line("error", error={"message": "again"}, willRetry=True)],
            count(number),
        ]
    )


@dataclass(frozen=True)
class Told:
    """One line as it comes."""

    turn: str
    method: str
    params: JsonObject


def ended(turn: str, status: str) -> Told:
    return Told(turn, "turn/completed", {"turn": {"id": turn, "status": status, "items": []}})


@st.composite
def sequences(draw: st.DrawFn) -> tuple[list[Told], int, int]:
    """The lines of a turn, with some missing, doubled or out of order, and lines of others among them.

    Gives where the answer to turn/start comes as well, and how many different requests to the model are told of.
    """
    mine = [each for number in range(1, draw(st.integers(1, 8))) for each in draw(parts(number))]
    mine += [each for number in range(20, draw(st.integers(20, 24))) for each in count(number)]
    mine = [each for each in mine if draw(st.integers(0, 5))]  # some are lost
    lines = [Told(OURS, "turn/started", {"turn": {"id": OURS}})]
    lines += [Told(OURS, method, params) for method, params in mine]
    if draw(st.booleans()):
        lines.append(ended(OURS, draw(st.sampled_from(["completed", "interrupted", "failed", "perfected"]))))
    for _ in range(draw(st.integers(0, 6))):  # what comes twice, at once or later
        again = draw(st.integers(0, len(lines) - 1))
        lines.insert(draw(st.integers(again, len(lines))), lines[again])
    for _ in range(draw(st.integers(0, 3))):  # what comes late
        late = lines.pop(draw(st.integers(0, len(lines) - 1)))
        lines.insert(draw(st.integers(0, len(lines))), late)
    foreign = [
        *message("f1", MARK, "final_answer"),
        *command(MARK),
        *count(50),
        line("error", error={"message": MARK}, willRetry=True),
        line("turn/plan/updated", plan=[{"step": MARK, "status": "pending"}]),
    ]
    for _ in range(draw(st.integers(0, 6))):
        other = draw(st.sampled_from(["other", ""]))
        told = [Told(other, *each) for each in foreign] + [
            ended("other", "failed"),
            Told("other", "turn/started", {"turn": {"id": "other"}}),
        ]
        lines.insert(draw(st.integers(0, len(lines))), draw(st.sampled_from(told)))
    totals = {str(each.params["tokenUsage"]) for each in lines if each.turn == OURS and "tokenUsage" in each.params}
    return lines, draw(st.integers(0, len(lines))), len(totals)


def play(lines: Sequence[Told], answered: int) -> list[TurnEvent]:
    ledger, events = TurnLedger(THREAD, Telling("log in", lambda: 0.0).tell), list[TurnEvent]()
    for number, each in enumerate([*lines, None]):
        if number == answered:
            events += ledger.accept(Turn.model_validate({"id": OURS, "status": "inProgress"}))
        if each is not None:
            params: JsonObject = {"threadId": THREAD, "turnId": each.turn, **each.params}
            events += ledger.see(read(Notified(each.method, params)))
    events += ledger.lose("Codex is gone.")
    assert ledger.state is State.ENDED
    assert [*ledger.see(read(Notified("turn/started", {"threadId": THREAD, "turn": {"id": OURS}})))] == []
    assert ledger.stop() == ledger.fail("late") == ledger.lose("late") == []
    return events


def shown(events: Sequence[TurnEvent]) -> dict[str, str]:
    """What a reader of the pieces has of each message."""
    texts: dict[str, str] = {}
    for event in events:
        match event:
            case TextDelta(item=name, text=text):
                texts[name] = texts.get(name, "") + text
            case TextRetracted(item=name):
                texts.pop(name, None)
            case _:
                pass
    return texts


@settings(max_examples=400)
@given(sequence=sequences())
def test_a_turn_ends_once_and_nothing_of_another_one_is_told(sequence: tuple[list[Told], int, int]) -> None:
    lines, answered, _ = sequence
    events = play(lines, answered)
    assert [isinstance(event, Finished) for event in events] == [False] * (len(events) - 1) + [True]
    assert MARK not in str(events)


@settings(max_examples=400)
@given(sequence=sequences())
def test_no_request_to_the_model_is_counted_twice_and_none_is_missed(sequence: tuple[list[Told], int, int]) -> None:
    lines, answered, _ = sequence
    result = result_of(play(lines, answered))
    end = next(
        (number for number, each in enumerate(lines) if (each.turn, each.method) == (OURS, "turn/completed")),
        len(lines),
    )
    told = {str(each.params["tokenUsage"]) for each in lines[:end] if each.turn == OURS and "tokenUsage" in each.params}
    assert result.usage == Usage(10 * len(told), 4 * len(told), 2 * len(told), len(told))


@settings(max_examples=400)
@given(sequence=sequences())
def test_whatever_begins_is_told_once_as_begun_and_once_as_over_in_that_order(
    sequence: tuple[list[Told], int, int],
) -> None:
    lines, answered, _ = sequence
    events = play(lines, answered)
    begun = [event.item for event in events if isinstance(event, BEGUN)]
    over = [event.item for event in events if isinstance(event, OVER)]
    assert sorted(begun) == sorted(over) == sorted(set(begun))
    steps = [event for event in events if isinstance(event, BEGUN + OVER)]
    for name in begun:
        first, last = (event for event in steps if event.item == name)
        assert isinstance(first, BEGUN)
        assert isinstance(last, OVER)
    printed = [event.item for event in events if isinstance(event, CommandOutput)]
    assert set(printed) <= {f"i{number}" for number in range(10)}


@settings(max_examples=400)
@given(sequence=sequences())
def test_a_reader_of_the_pieces_has_the_text_of_the_answer(sequence: tuple[list[Told], int, int]) -> None:
    lines, answered, _ = sequence
    events = play(lines, answered)
    result = result_of(events)
    assert result.text == "" or result.text in shown(events).values()
    if result.outcome is Outcome.EMPTY:
        assert not any(text.strip() for text in shown(events).values())


def result_of(events: Sequence[TurnEvent]) -> TurnResult:
    last = events[-1]
    assert isinstance(last, Finished)
    return last.result
