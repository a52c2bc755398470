"""Whether words that were sent into a turn are in it, and whether somebody has read them."""

from codex_bridge.joining import Joining
from codex_bridge.ledger import State, TurnLedger
from codex_bridge.rpc import Json, JsonObject, Notified
from codex_bridge.telling import tell_nothing
from codex_bridge.wire.notifications import Wire, read
from codex_bridge.wire.requests import Turn
from harness.turns import EndedBy, Finished, Joined, Outcome, TextDelta, TextRetracted, TurnEvent, TurnResult

COUNT: JsonObject = {"totalTokens": 110, "inputTokens": 100, "cachedInputTokens": 0, "outputTokens": 10}
ASKED = read(
    Notified(
        "thread/tokenUsage/updated", {"threadId": "thr", "turnId": "t", "tokenUsage": {"total": COUNT, "last": COUNT}}
    )
)


def item(method: str, **fields: Json) -> Wire:
    return read(Notified(method, {"threadId": "thr", "turnId": "t", "item": fields}))


def took(client_id: str) -> Wire:
    return item("item/started", type="userMessage", id=f"m-{client_id}", clientId=client_id)


def said(text: str, *, phase: str | None = None, name: str = "a") -> list[Wire]:
    return [
        item("item/started", type="agentMessage", id=name, text="", phase=phase),
        item("item/completed", type="agentMessage", id=name, text=text, phase=phase),
    ]


def seen(joining: Joining, *wires: Wire) -> list[str]:
    return [key for wire in wires if (key := joining.see(wire)) is not None]


def test_words_have_joined_once_codex_shows_them_and_not_before() -> None:
    joining = Joining()
    joining.expect("id-1", "key-1")
    assert seen(joining, took("id-2"), took("id-1"), took("id-1")) == ["key-1"]
    assert joining.unread


def test_words_that_were_refused_are_not_waited_for() -> None:
    joining = Joining()
    joining.expect("id-1", "key-1")
    joining.give_up("id-1")
    assert seen(joining, took("id-1")) == []


def test_what_the_model_does_after_them_shows_that_it_was_asked() -> None:
    for sign in (said("Yes.")[0], said("Yes.")[1], ASKED, item("item/started", type="commandExecution", id="c")):
        joining = Joining()
        joining.expect("id-1", "key-1")
        seen(joining, took("id-1"))
        seen(joining, item("item/completed", type="userMessage", id="m-id-1", clientId="id-1"))
        assert joining.unread
        seen(joining, sign)
        assert not joining.unread


class Followed:
    """A ledger whose turn runs."""

    def __init__(self) -> None:
        self.ledger = TurnLedger("thr", tell_nothing)
        self.accept("t")
        self.events: list[TurnEvent] = []

    def accept(self, turn: str) -> None:
        self.ledger.accept(Turn(id=turn))

    def see(self, *wires: Wire) -> None:
        for wire in wires:
            self.events += self.ledger.see(wire)

    def end(self, turn: str = "t", **fields: Json) -> TurnResult | None:
        ended: JsonObject = {"id": turn, "status": "completed", **fields}
        self.see(read(Notified("turn/completed", {"threadId": "thr", "turn": ended})))
        last = self.events[-1]
        return last.result if isinstance(last, Finished) else None


def test_a_message_is_an_answer_when_nothing_was_begun_after_it() -> None:
    rows: list[tuple[list[Wire], str]] = [
        ([*said("Done."), ASKED], "Done."),
        (said("Done.", phase="final_answer"), "Done."),
        (said("Let me look."), ""),
        ([*said("Let me look."), item("item/started", type="commandExecution", id="c"), ASKED], ""),
        ([*said("Looking.", phase="commentary"), ASKED], ""),
        ([*said("  "), ASKED], ""),
        ([], ""),
    ]
    for before, answered in rows:
        played = Followed()
        played.ledger.joining.expect("id-1", "key-1")
        played.see(*before, took("id-1"))
        assert [event for event in played.events if isinstance(event, Joined)] == [Joined("key-1", answered)]


def test_words_cut_off_what_is_being_said_and_keep_what_was_whole() -> None:
    """Measured on both versions: the model is asked again at once, and only whole messages stay."""
    played = Followed()
    played.ledger.joining.expect("id-1", "key-1")
    played.see(*said("Whole.", name="a"), said("", name="b")[0])
    played.see(
        read(Notified("item/agentMessage/delta", {"threadId": "thr", "turnId": "t", "itemId": "b", "delta": "Ha"}))
    )
    played.see(took("id-1"), *said("To both.", name="c"))
    result = played.end()
    told = [event for event in played.events if isinstance(event, TextDelta | TextRetracted | Joined)]
    assert told[1:4] == [TextDelta("b", "Ha"), TextRetracted("b"), Joined("key-1")]
    assert result is not None
    assert (result.outcome, result.text, result.earlier) == (Outcome.ANSWERED, "To both.", ())


def test_an_answer_that_was_whole_before_more_was_said_stands_beside_the_next_one() -> None:
    played = Followed()
    played.ledger.joining.expect("id-1", "key-1")
    played.see(*said("To the first.", name="a"), ASKED, took("id-1"), *said("To the second.", name="b"))
    result = played.end()
    assert Joined("key-1", "To the first.") in played.events
    assert result is not None
    assert (result.text, result.earlier) == ("To the second.", ("To the first.",))


def test_a_turn_whose_last_words_nobody_has_read_goes_on_and_is_one_turn() -> None:
    """Seen on 0.163 alone: words that come in at the very end are in the conversation, and the model is not asked."""
    played = Followed()
    played.ledger.joining.expect("id-1", "key-1")
    played.see(*said("To the first.", name="a"), ASKED, took("id-1"))
    summary: list[Json] = [{"type": "agentMessage", "id": "a", "text": "To the first."}]
    assert played.end(items=summary) is None
    assert (played.ledger.state, played.ledger.goes_on) == (State.OPENING, True)

    played.accept("t-2")
    other = [
        read(
            Notified(
                "item/completed",
                {"threadId": "thr", "turnId": "t-2", "item": {"type": "agentMessage", "id": "b", "text": "2"}},
            )
        )
    ]
    played.see(*other)
    result = played.end("t-2")
    assert result is not None
    assert (result.outcome, result.text, result.earlier, result.turn) == (
        Outcome.ANSWERED,
        "2",
        ("To the first.",),
        "t",
    )


def test_a_turn_that_somebody_wants_to_end_does_not_go_on() -> None:
    played = Followed()
    played.ledger.joining.expect("id-1", "key-1")
    played.see(*said("To the first.", name="a"), ASKED, took("id-1"))
    played.ledger.will_end(EndedBy.PERSON)
    result = played.end()
    assert result is not None
    assert (result.outcome, result.earlier) == (Outcome.EMPTY, ("To the first.",))


def test_an_answer_is_not_given_twice_when_the_model_has_nothing_to_say_to_what_came_in() -> None:
    played = Followed()
    played.ledger.joining.expect("id-1", "key-1")
    played.see(*said("To the first.", name="a"), ASKED, took("id-1"), ASKED)
    result = played.end(items=[{"type": "agentMessage", "id": "a", "text": "To the first."}])
    assert result is not None
    assert (result.outcome, result.text, result.earlier) == (Outcome.EMPTY, "", ("To the first.",))
