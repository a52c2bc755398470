"""A fake Codex whose turns fall silent, and that says of their threads what the words of the turn ask for.

The person's words begin with what thread/read is to say from then on, see `STATUSES`, and with what the turn does.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from codex_bridge.rpc import Event, Json, JsonObject, Requested
from tests.support.fake_codex import COURSES, Course, FakeCodex, Running
from tests.support.fake_server import HangUp, Result, Step, Tell

STATUSES: Final = frozenset({"active", "idle", "deaf", "recorded", "mute", "hung"})
"""What thread/read says of a thread: active; idle, and thread/turns/list of the turn that it is, or is not, over; or
nothing. A thread that is deaf is idle and leaves an interrupt unanswered; a server that is hung says nothing at all
any more."""
ALL: Final = "that was all"
"""The last that is heard of a turn that falls silent; no word of the turn itself."""


def _silent(turn: Running, words: str) -> Iterable[Step]:
    """A turn that does what the words say and falls silent."""
    yield turn.began()
    command = turn.item("commandExecution", command="ls", cwd="/w", status="completed", exitCode=0)
    for word in words.split():
        match word:
            case "begin":
                yield turn.tell("item/started", item=command | {"status": "inProgress", "exitCode": None})
            case "run":
                yield turn.tell("item/completed", item=command)
            case "say":
                yield from turn.said("Two files.")
            case "retry":
                yield turn.tell("error", error={"message": "Reconnecting... 1/5"}, willRetry=True)
            case _:
                raise NotImplementedError(word)
    yield Tell("warning", {"threadId": turn.thread, "message": ALL})


def _poke(turn: Running, words: str) -> Iterable[Step]:
    """Let another turn, by its thread and its id, say something."""
    other = Running(*words.split())
    item = other.item("commandExecution")
    yield other.tell("item/commandExecution/outputDelta", itemId=item["id"], delta=".")
    yield from COURSES["echo"](turn, "")


class SilentCodex(FakeCodex):
    """The same, with turns that say neither more nor that they are over."""

    courses: Mapping[str, Course] = COURSES | {"silent": _silent, "poke": _poke}

    def __init__(self) -> None:
        super().__init__()
        self._status: dict[str, str] = {}
        self._unended: dict[str, Running] = {}
        """Turns that are silent, by their thread; the end of each is told when the next one begins."""
        self._heard: list[str] = []

    def __call__(self, event: Event) -> Iterable[Step]:
        """React to an event."""
        if isinstance(event, Requested):
            self._heard.append(event.method)
        if "hung" in self._status.values():
            return ()
        match event:
            case Requested(method="thread/compact/start", params={"threadId": str(thread)}):
                return self._compact(thread)
            case Requested(method="thread/turns/list", params={"threadId": str(thread)}) if thread not in self._unended:
                said = Running(thread, "turn_0").item("userMessage", content=[])
                return (Result({"data": [{"id": "turn_0", "status": "completed", "items": [said]}]}),)
            case Requested(method="turn/interrupt", params={"threadId": str(thread)}) if self._is_deaf(thread):
                return ()
            case Requested(method="thread/read", params={"threadId": str(thread)}):
                return self._read(thread)
            case Requested(method="thread/turns/list", params={"threadId": str(thread)}) if thread in self._unended:
                return (Result({"data": [self._last(thread)]}),)
            case Requested(method="turn/start", params={"threadId": str(thread)}):
                return self._begun(event, thread)
            case _:
                return super().__call__(event)

    def _begun(self, event: Requested, thread: str) -> Iterable[Step]:
        said = event.params["input"]
        assert isinstance(said, list)
        last = said[-1]
        assert isinstance(last, dict)
        words = str(last["text"])
        if (unended := self._unended.pop(thread, None)) is not None:
            yield unended.ended()
        first, _, rest = words.partition(" ")
        if words == "heard":
            words = f"echo {' '.join(self._heard)}"
        elif first in STATUSES:
            words = rest
        again = replace(event, params={**event.params, "input": [{**last, "text": words}]})
        for step in super().__call__(again):
            if isinstance(step, Result) and first in STATUSES:
                self._began(thread, first, step)
            yield step

    def _is_deaf(self, thread: str) -> bool:
        return self._status.get(thread) == "deaf"

    def _began(self, thread: str, status: str, answer: Result) -> None:
        assert isinstance(answer.value, dict)
        began = answer.value["turn"]
        assert isinstance(began, dict)
        self._status[thread] = status
        turn = self._unended[thread] = Running(thread, str(began["id"]))
        if status in {"active", "mute"}:
            self._running[thread] = turn

    def _compact(self, thread: str) -> Iterable[Step]:
        """A summary that does not say that it is over, nor on the second thread that it is whole; the record does.

        On the third one the server is gone before it says anything.
        """
        if thread == "thr_3":
            yield HangUp()
            return
        turn = self._unended[thread] = Running(thread, "turn_summary")
        self._status[thread] = "summarised"
        yield Result({})
        yield turn.began()
        item = turn.item("contextCompaction")
        yield turn.tell("item/started", item=item)
        if thread != "thr_2":
            yield turn.tell("item/completed", item=item)
        yield Tell("warning", {"threadId": turn.thread, "message": ALL})

    def _read(self, thread: str) -> Iterable[Step]:
        status = self._status.get(thread, "idle")
        if status == "mute":
            return ()
        kind = "active" if status == "active" else "idle"
        return (Result({"thread": {"id": thread, "status": {"type": kind}, "turns": []}}),)

    def _last(self, thread: str) -> JsonObject:
        turn = self._unended[thread]
        ended = self._status[thread] in {"recorded", "summarised"}
        items: list[Json] = [turn.item("agentMessage", text="From the record.")] if ended else []
        if self._status[thread] == "summarised":
            items = [turn.item("contextCompaction")]
        return {"id": turn.turn, "status": "completed" if ended else "inProgress", "items": items, "error": None}
