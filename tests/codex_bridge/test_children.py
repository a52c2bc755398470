"""Subagents by their notifications: which turn each belongs to, and what is said of it."""

from typing import Any

from codex_bridge.children import Children
from codex_bridge.rpc import Notified
from codex_bridge.telling import Telling
from codex_bridge.wire.notifications import read
from harness.turns import Failure, Outcome, SubagentFinished, SubagentStarted, TurnEvent, TurnResult, Usage

PARENTS = {"root-1": "first", "root-2": "second"}
COUNTED = {"totalTokens": 12, "inputTokens": 10, "cachedInputTokens": 4, "outputTokens": 2, "reasoningOutputTokens": 1}


class Played:
    """Subagents, and everything that was said of them."""

    def __init__(self) -> None:
        self.children: Children[str] = Children(PARENTS.get, Telling("sign in", lambda: 0.0).tell)
        self.told: list[tuple[str, TurnEvent]] = []

    def see(self, method: str, thread: str, **params: Any) -> None:
        said = self.children.see(thread, read(Notified(method, {"threadId": thread, **params})))
        if said is not None:
            self.told.append(said)

    def begin(self, thread: str, turn: str, root: str) -> None:
        self.see("turn/started", thread, turn={"id": turn, "rootTurnId": root, "status": "inProgress"})

    def end(self, thread: str, turn: str, root: str, status: str = "completed", **more: Any) -> None:
        self.see("turn/completed", thread, turn={"id": turn, "rootTurnId": root, "status": status, **more})

    def say(self, thread: str, turn: str, text: str) -> None:
        item = {"type": "agentMessage", "id": "m", "text": text}
        self.see("item/completed", thread, turnId=turn, item=item)
        self.see("thread/tokenUsage/updated", thread, turnId=turn, tokenUsage={"total": COUNTED, "last": COUNTED})


def ended(thread: str, turn: str, text: str, outcome: Outcome = Outcome.ANSWERED) -> TurnResult:
    usage, used = (Usage(10, 4, 2, 1), 12) if text else (Usage(), None)
    return TurnResult(outcome, text, conversation=thread, turn=turn, usage=usage, context_used=used)


def test_a_subagent_is_told_of_to_the_turn_that_its_own_goes_back_to() -> None:
    played = Played()
    played.begin("a", "u", "root-1")
    played.begin("b", "v", "root-2")
    played.say("b", "v", "B.")
    played.say("a", "u", "A.")
    played.end("a", "u", "root-1")
    played.end("b", "v", "root-2", "interrupted")
    assert played.told == [
        ("first", SubagentStarted("a")),
        ("second", SubagentStarted("b")),
        ("first", SubagentFinished("a", ended("a", "u", "A."))),
        ("second", SubagentFinished("b", ended("b", "v", "B.", Outcome.INTERRUPTED))),
    ]


def test_a_conversation_is_at_work_as_long_as_a_subagent_of_its_turns_is() -> None:
    played = Played()
    played.begin("a", "u", "root-1")

    def busy() -> list[bool]:
        return [played.children.work_for(name.__eq__) for name in ("first", "second")]

    during = busy()
    played.end("a", "u", "root-1")
    assert (during, busy()) == ([True, False], [False, False])


def test_a_subagent_whose_login_is_over_names_the_command_that_renews_it() -> None:
    played = Played()
    played.begin("a", "u", "root-1")
    played.end("a", "u", "root-1", "failed", error={"message": "401", "codexErrorInfo": "unauthorized"})
    told = "The login has expired; sign in again with `sign in`."
    result = TurnResult(Outcome.FAILED, "", error=told, detail="401", conversation="a", turn="u", failure=Failure.LOGIN)
    assert played.told[1:] == [("first", SubagentFinished("a", result))]


def test_a_beginning_and_an_end_that_are_told_twice_happened_once() -> None:
    played = Played()
    played.begin("a", "u", "root-1")
    played.say("a", "u", "A.")
    played.begin("a", "u", "root-1")
    played.end("a", "u", "root-1")
    played.end("a", "u", "root-1")
    assert played.told == [
        ("first", SubagentStarted("a")),
        ("first", SubagentFinished("a", ended("a", "u", "A."))),
    ]


def test_a_thread_that_goes_back_to_no_turn_of_ours_is_none_of_our_subagents() -> None:
    played = Played()
    for root in ("u", "", "root-9"):
        played.begin("a", "u", root)
        played.say("a", "u", "A.")
        played.end("a", "u", root)
    assert (played.told, played.children.of("first")) == ([], ())


def test_a_subagent_that_is_spoken_to_again_begins_a_new_account() -> None:
    played = Played()
    for turn, root in (("u", "root-1"), ("v", "root-2")):
        played.begin("a", turn, root)
        played.say("a", turn, f"{turn}.")
        played.end("a", turn, root)
    assert [event.result for _, event in played.told if isinstance(event, SubagentFinished)] == [
        ended("a", "u", "u."),
        ended("a", "v", "v."),
    ]
    assert [parent for parent, _ in played.told] == ["first", "first", "second", "second"]


def test_those_at_work_are_known_until_they_end_or_the_server_is_lost() -> None:
    played = Played()
    played.begin("a", "u", "root-1")
    played.begin("b", "v", "root-1")
    played.begin("c", "w", "root-2")
    played.end("a", "u", "root-1")
    assert [(each.thread_id, each.turn_id) for each in played.children.of("first")] == [("b", "v")]
    played.children.lose()
    played.end("b", "v", "root-1")
    assert (played.children.of("first"), len(played.told)) == ((), 4)
