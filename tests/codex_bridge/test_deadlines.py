"""The table of deadlines: which one holds, from when on, and what its end is told as."""

import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest

from codex_bridge.deadlines import Limit, Limits, State, Watch, over, taken_as_answer
from codex_bridge.rpc import JsonObject, Notified
from codex_bridge.wire.notifications import Delta, Stream, read
from harness.turns import Failure

HERE: JsonObject = {"threadId": "t", "turnId": "u"}
DAY = 86_400.0


class Played:
    """A turn that is asked for at 0 and confirmed at 1, unless it is not."""

    def __init__(self, *, confirmed: bool = True, seconds: float = DAY, limits: Limits = Limits()) -> None:  # noqa: B008
        self.watch = Watch(limits, seconds, "agents.defaults.timeoutSeconds", 0)
        self.turn = ""
        if confirmed:
            self.confirm(1)

    def confirm(self, at: float) -> "Played":
        self.turn = "u"
        self.watch.begin("u", at)
        return self

    def see(self, at: float, method: str, **params: Any) -> "Played":
        whole: JsonObject = {**HERE, **params}
        self.watch.see(read(Notified(method, whole)), self.turn, at)
        return self

    def item(self, at: float, when: str, kind: str, **fields: Any) -> "Played":
        return self.see(at, f"item/{when}", item={"type": kind, "id": kind, **fields})

    def said(self, at: float, text: str = "Two files.", phase: str | None = "final_answer") -> "Played":
        return self.item(at, "completed", "agentMessage", text=text, phase=phase)

    def ran(self, at: float, when: str = "completed", kind: str = "commandExecution", **fields: Any) -> "Played":
        return self.item(at, when, kind, command="ls", tool="look", changes=[], **fields)

    def delta(self, at: float, method: str = "item/agentMessage/delta", **params: Any) -> "Played":
        return self.see(at, method, itemId="m", delta="x", **params)

    def retries(self, at: float) -> "Played":
        return self.see(at, "error", error={"message": "Reconnecting... 1/5"}, willRetry=True)

    @property
    def now(self) -> tuple[State, float, Limit]:
        return (self.watch.state, *self.watch.due())


ROWS: dict[str, tuple[Callable[[], Played], tuple[State, float, Limit]]] = {
    "a turn that is not confirmed has the whole time": (
        lambda: Played(confirmed=False),
        (State.OPENING, DAY, Limit.WHOLE),
    ),
    "one that is has to say something": (Played, (State.SILENT, 61, Limit.SILENCE)),
    "what it says counts from then on": (lambda: Played().delta(5), (State.SILENT, 65, Limit.SILENCE)),
    "thoughts, plans and counts are words too": (
        lambda: (
            Played()
            .delta(2, "item/reasoning/textDelta")
            .item(3, "started", "reasoning")
            .see(4, "turn/plan/updated", plan=[])
            .see(5, "thread/tokenUsage/updated", tokenUsage={"last": {}, "total": {}})
        ),
        (State.SILENT, 65, Limit.SILENCE),
    ),
    "so is what nobody here knows": (
        lambda: Played().see(7, "item/hologram/delta", beam=4),
        (State.SILENT, 67, Limit.SILENCE),
    ),
    "words of another turn, of the thread alone and of nobody are none": (
        lambda: (
            Played()
            .delta(5, turnId="other")
            .see(5, "item/started", turnId="other", item={"type": "commandExecution", "id": "c", "command": "ls"})
            .see(5, "item/completed", turnId="other", item={"type": "agentMessage", "id": "m", "text": "No."})
            .see(5, "warning", message="slow")
            .see(5, "thread/status/changed", turnId=None, status={"type": "idle"})
            .see(5, "turn/started", turn={"id": "other"})
        ),
        (State.SILENT, 61, Limit.SILENCE),
    ),
    "a command that runs has longer": (lambda: Played().ran(5, "started"), (State.ACTING, 305, Limit.AFTER_TOOL)),
    "its output renews that": (
        lambda: Played().ran(5, "started").delta(155, "item/commandExecution/outputDelta"),
        (State.ACTING, 455, Limit.AFTER_TOOL),
    ),
    "after it the model has as long": (lambda: Played().ran(5), (State.ACTING, 305, Limit.AFTER_TOOL)),
    "also once it speaks": (lambda: Played().ran(5).delta(9), (State.ACTING, 309, Limit.AFTER_TOOL)),
    "an item that nobody knows is taken for an act": (
        lambda: Played().item(5, "started", "hologram"),
        (State.ACTING, 305, Limit.AFTER_TOOL),
    ),
    "a compaction has longer while it lasts": (
        lambda: Played().item(5, "started", "contextCompaction"),
        (State.ACTING, 305, Limit.AFTER_TOOL),
    ),
    "and is no act": (
        lambda: Played().item(5, "started", "contextCompaction").item(6, "completed", "contextCompaction"),
        (State.SILENT, 66, Limit.SILENCE),
    ),
    "an answer is waited for the end of": (lambda: Played().ran(3).said(5), (State.ANSWERED, 15, Limit.ANSWER)),
    "what is counted after it renews that": (
        lambda: Played().said(5).see(8, "thread/tokenUsage/updated", tokenUsage={"last": {}, "total": {}}),
        (State.ANSWERED, 18, Limit.ANSWER),
    ),
    "thoughts after it do, too": (
        lambda: Played().said(5).item(8, "completed", "reasoning"),
        (State.ANSWERED, 18, Limit.ANSWER),
    ),
    "a message without a phase is an answer": (
        lambda: Played().said(5, phase=None),
        (State.ANSWERED, 15, Limit.ANSWER),
    ),
    "commentary is none": (lambda: Played().said(5, phase="commentary"), (State.SILENT, 65, Limit.SILENCE)),
    "nor are blanks": (lambda: Played().said(5, text=" \n"), (State.SILENT, 65, Limit.SILENCE)),
    "a message that only began is none": (
        lambda: Played().item(5, "started", "agentMessage", text="Two", phase="final_answer"),
        (State.SILENT, 65, Limit.SILENCE),
    ),
    "the next message is to be waited for": (lambda: Played().said(5).delta(6), (State.SILENT, 66, Limit.SILENCE)),
    "a word that joins the turn is to be answered": (
        lambda: Played().said(5).item(6, "completed", "userMessage"),
        (State.SILENT, 66, Limit.SILENCE),
    ),
    "an act after the answer is to be waited for": (
        lambda: Played().said(5).ran(6),
        (State.ACTING, 306, Limit.AFTER_TOOL),
    ),
    "what was left running is waited for as long as an act": (
        lambda: Played().ran(3, "started").said(5),
        (State.ACTING, 305, Limit.AFTER_TOOL),
    ),
    "retries are no words": (lambda: Played().retries(30), (State.RECONNECTING, 210, Limit.RECONNECTING)),
    "the first of them counts": (
        lambda: Played().retries(30).retries(60).retries(150),
        (State.RECONNECTING, 210, Limit.RECONNECTING),
    ),
    "any progress ends them": (lambda: Played().retries(30).delta(60), (State.SILENT, 120, Limit.SILENCE)),
    "and they count anew after it": (
        lambda: Played().retries(30).ran(60).retries(70),
        (State.RECONNECTING, 250, Limit.RECONNECTING),
    ),
    "an error that is not tried again is a word": (
        lambda: Played().retries(30).see(40, "error", error={"message": "no"}),
        (State.SILENT, 100, Limit.SILENCE),
    ),
    "the whole time is never too far away to count": (
        lambda: Played(seconds=100).ran(90, "started"),
        (State.ACTING, 100, Limit.WHOLE),
    ),
    "not even while the provider is away": (
        lambda: Played(seconds=100).retries(30),
        (State.RECONNECTING, 100, Limit.WHOLE),
    ),
}


@pytest.mark.parametrize("row", ROWS)
def test_what_came_last_says_which_deadline_holds(row: str) -> None:
    make, expected = ROWS[row]
    assert make().now == expected


def test_what_codex_says_before_it_answers_is_taken_in_with_the_answer() -> None:
    played = Played(confirmed=False).ran(2, "started").see(3, "item/started", turnId="other", item={"type": "x"})
    assert played.now == (State.OPENING, DAY, Limit.WHOLE)
    assert played.confirm(4).now == (State.ACTING, 304, Limit.AFTER_TOOL)
    assert played.ran(5).said(6).now == (State.ANSWERED, 16, Limit.ANSWER)


def test_a_turn_whose_first_word_is_its_confirmation_counts_from_there() -> None:
    played = Played(confirmed=False)
    played.turn = "u"  # the ledger has found it on its thread, though turn/start was never answered
    assert played.see(7, "turn/started", turn={"id": "u"}).now == (State.SILENT, 67, Limit.SILENCE)


def test_a_turn_that_is_asked_for_once_more_is_waited_for_from_the_begin() -> None:
    played = Played().ran(3, "started").retries(4)
    played.watch.reopen()
    assert played.now == (State.OPENING, DAY, Limit.WHOLE)
    assert played.confirm(20).now == (State.SILENT, 80, Limit.SILENCE)


def test_what_codex_waits_for_of_us_holds_no_deadline_up() -> None:
    """A6."""
    played = Played(seconds=400)
    asked = played.watch.ask(10)
    assert played.now == (State.ACTING, 310, Limit.AFTER_TOOL)
    played.said(20)
    assert played.now == (State.ACTING, 320, Limit.AFTER_TOOL)
    played.watch.answer(30, asked)
    assert played.now == (State.ANSWERED, 40, Limit.ANSWER)
    played.watch.ask(350)
    assert played.now == (State.ACTING, 400, Limit.WHOLE)


def test_a_tool_that_outlasts_the_try_in_which_it_was_called_holds_nothing_up_in_the_next_one() -> None:
    played = Played(seconds=400)
    asked = played.watch.ask(10)
    played.watch.reopen()
    played.confirm(20)
    assert played.now == (State.SILENT, 80, Limit.SILENCE)
    played.watch.answer(30, asked)
    assert played.now == (State.SILENT, 80, Limit.SILENCE)
    again = played.watch.ask(40)
    assert played.now == (State.ACTING, 340, Limit.AFTER_TOOL)
    played.watch.answer(50, again)
    assert played.said(60).now == (State.ANSWERED, 70, Limit.ANSWER)


def test_a_turn_that_is_found_active_is_waited_for_anew() -> None:
    played = Played().said(5)
    played.watch.renew(15)
    assert played.now == (State.ANSWERED, 25, Limit.ANSWER)


def test_each_deadline_is_told_by_the_seconds_and_the_key_that_made_it() -> None:
    """A4."""
    limits = Limits(silence=1, after_tool=2, answer=3, reconnecting=4)
    idle, busy = Played(seconds=5, limits=limits).watch, Played(seconds=6, limits=limits).ran(1).watch
    assert [over(limit, idle, limits) for limit in (Limit.WHOLE, Limit.SILENCE, Limit.RECONNECTING)] == [
        ("The turn was stopped after 5 s (agents.defaults.timeoutSeconds).", Failure.DEADLINE),
        (
            "Codex was silent for 1 s, so the turn was ended (appServer.turnCompletionIdleTimeoutMs).",
            Failure.DEADLINE,
        ),
        (
            "The model provider could not be reached for 4 s, so the turn ended (appServer.deadlines.reconnectingMs).",
            Failure.OUTAGE,
        ),
    ]
    assert over(Limit.AFTER_TOOL, busy, limits) == (
        "Codex was silent for 2 s, so the turn was ended (appServer.postToolRawAssistantCompletionIdleTimeoutMs); "
        "what it did may be incomplete, and nothing of it is run again.",
        Failure.DEADLINE,
    )
    assert taken_as_answer(Limit.ANSWER, limits) == (
        "Codex did not say within 3 s that the turn was over; its answer counts (appServer.deadlines.answerMs)."
    )


def test_nothing_is_late_that_is_looked_at_by_the_shortest_limit() -> None:
    limits = Limits(silence=7, after_tool=5, answer=6, reconnecting=9)
    assert limits.shortest == 5
    assert Limits().shortest == 10


def test_what_streams_before_a_turn_is_confirmed_is_not_kept_for_its_deadlines() -> None:
    """It may be half a minute of what a command prints."""
    watch = Watch(Limits(), 100.0, "", 0.0)
    tracemalloc.start()
    try:
        for number in range(2_000):
            watch.see(Delta("thr", "turn", f"item {number}", Stream.COMMAND_OUTPUT, "x" * 1_000), "", 0.0)
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    watch.begin("turn", 1.0)
    assert kept < 20_000
    assert watch.due() == (61.0, Limit.SILENCE)
