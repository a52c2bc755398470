"""A fake Codex: threads, and turns whose course the person's words choose.

Only for what the real one cannot be made to do; what it says has the form of version 0.163.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from codex_bridge.rpc import Answered, Event, Json, JsonObject, Refused, Requested, decode, encode
from tests.support.fake_server import Ask, Failure, HangUp, Raw, Result, Step, Tell, UntilRead

INITIALIZED: Final[JsonObject] = {
    "userAgent": "openclaw-codex-bridge/0.163.0 (Debian 12.0.0; x86_64) xterm (openclaw-codex-bridge; 0.1.0)",
    "codexHome": "/home/sample/codex-home",
    "platformFamily": "unix",
    "platformOs": "linux",
}


@dataclass(frozen=True, slots=True)
class Running:
    """A turn under way."""

    thread: str
    turn: str

    @property
    def number(self) -> int:
        """Which turn of the server it is."""
        return int(self.turn.rpartition("_")[2])

    def tell(self, method: str, **params: Json) -> Tell:
        """A notification of this turn."""
        return Tell(method, {"threadId": self.thread, "turnId": self.turn, **params})

    def took(self, client_id: Json) -> Iterable[Step]:
        """Words that joined are in the conversation."""
        item: JsonObject = {"type": "userMessage", "id": f"message-{client_id}", "clientId": client_id, "content": []}
        yield self.tell("item/started", item=item)
        yield self.tell("item/completed", item=item)

    def item(self, kind: str, **fields: Json) -> JsonObject:
        """An item of this turn."""
        return {"type": kind, "id": f"{kind}-{self.turn}", **fields}

    def wants_to_run(self, command: str) -> JsonObject:
        """The parameters of an approval request."""
        return {"threadId": self.thread, "turnId": self.turn, "itemId": "call_1", "command": command, "cwd": "/"}

    def began(self) -> Tell:
        """The turn runs."""
        turn: JsonObject = {"id": self.turn, "status": "inProgress", "items": [], "error": None}
        return Tell("turn/started", {"threadId": self.thread, "turn": turn})

    def ended(self, status: str = "completed", **fields: Json) -> Tell:
        """The turn is over."""
        turn: JsonObject = {"id": self.turn, "status": status, "items": [], "error": None, "durationMs": 5, **fields}
        return Tell("turn/completed", {"threadId": self.thread, "turn": turn})

    def said(self, text: str, *, pieces: int = 2) -> Iterable[Step]:
        """An assistant message, streamed and then whole."""
        item = self.item("agentMessage", text="", phase="final_answer")
        yield self.tell("item/started", item=item)
        size = -(-len(text) // pieces)
        for start in range(0, len(text), size):
            yield self.tell("item/agentMessage/delta", itemId=item["id"], delta=text[start : start + size])
        yield self.tell("item/completed", item=item | {"text": text})


Course: TypeAlias = Callable[[Running, str], Iterable[Step]]
"""What happens in a turn: the turn, and the words after the one that chose the course."""


def _echo(turn: Running, words: str) -> Iterable[Step]:
    yield turn.began()
    yield from turn.said(words or "pong")
    last: JsonObject = {"totalTokens": 110, "inputTokens": 100, "cachedInputTokens": 0, "outputTokens": 10}
    total: JsonObject = {"totalTokens": 110 * turn.number}  # it grows with every request
    yield turn.tell("thread/tokenUsage/updated", tokenUsage={"total": total, "last": last, "modelContextWindow": 9000})
    yield turn.ended()


def _large(turn: Running, words: str) -> Iterable[Step]:
    yield turn.began()
    yield turn.tell("item/completed", item=turn.item("agentMessage", text="x" * int(words), phase="final_answer"))
    yield turn.ended()


def _stall(turn: Running, words: str) -> Iterable[Step]:
    del words
    yield turn.began()
    yield turn.tell("item/agentMessage/delta", itemId="message", delta="Let me")


def _replaced(turn: Running, words: str) -> Iterable[Step]:
    """Another turn runs on the thread in place of this one, whose end is never told."""
    yield from _stall(turn, words)
    yield Running(turn.thread, f"{turn.turn}-b").began()


def _compact(turn: Running, words: str) -> Iterable[Step]:
    """A turn in which the conversation is summarised to make room."""
    yield turn.began()
    yield turn.tell("item/completed", item=turn.item("contextCompaction"))
    yield from turn.said(words)
    yield turn.ended()


def _compact_and_stall(turn: Running, words: str) -> Iterable[Step]:
    del words
    yield turn.began()
    yield turn.tell("item/completed", item=turn.item("contextCompaction"))


def _new_words(turn: Running, words: str) -> Iterable[Step]:
    """Values of enumerations that this client has never heard of."""
    del words
    yield turn.began()
    yield Tell("thread/status/changed", {"threadId": turn.thread, "status": {"type": "dreaming"}})
    yield turn.tell("item/completed", item=turn.item("commandExecution", command="ls", status="postponed"))
    yield turn.tell("item/completed", item=turn.item("agentMessage", text="still here", phase="musing"))
    yield turn.ended("fulfilled")


def _fields_gone(turn: Running, words: str) -> Iterable[Step]:
    """Known methods without fields that they always had."""
    del words
    yield turn.began()
    yield turn.tell("item/started")
    yield turn.tell("item/agentMessage/delta", itemId="message", delta="still ")
    yield turn.tell("item/agentMessage/delta", delta="lost")
    yield turn.tell("item/agentMessage/delta", itemId="message", delta="here")
    yield turn.tell("item/completed", item={"type": "agentMessage", "id": "message"})
    yield turn.tell("thread/tokenUsage/updated")
    yield turn.tell("turn/plan/updated", plan=[{"step": "look"}])
    yield turn.tell("error")
    yield Tell("item/completed", {})
    yield Tell("turn/completed", {"threadId": turn.thread, "turn": {"id": turn.turn}})


def _types_changed(turn: Running, words: str) -> Iterable[Step]:
    """An end of the turn whose details have other types than they used to."""
    yield turn.began()
    yield from turn.said(words)
    yield turn.ended(durationMs=5.25, error={"message": None, "codexErrorInfo": 7})


def _new_items(turn: Running, words: str) -> Iterable[Step]:
    """Items and notifications of kinds that are new, one of them under a name that is known."""
    del words
    hologram = turn.item("hologram", beams=[1, 2, 3])
    yield turn.began()
    yield turn.tell("item/started", item=hologram)
    yield turn.tell("item/hologram/delta", itemId="hologram", delta={"beam": 4})
    yield turn.tell("item/completed", item=hologram)
    yield turn.tell("item/completed", item={"type": "reasoning", "id": 17, "summary": "none"})
    yield turn.tell("item/completed", item="no object at all")
    yield from turn.said("still here")
    yield turn.ended()


def _junk(turn: Running, words: str) -> Iterable[Step]:
    del words
    yield turn.began()
    yield Raw(b"SUCCESS: process 4711 ended\n")
    yield Raw(b"\n   \r\n[]\n{}\n\xff\xfe\n{" + b"[" * 100_000 + b"\n")
    yield from turn.said("still here")
    yield turn.ended()


def _stray(turn: Running, words: str) -> Iterable[Step]:
    del words
    yield turn.began()
    odd_ids: list[Json] = [99_999, "19", None, 1.5, True, [], {}]
    for odd in odd_ids:
        yield Raw(encode({"id": odd, "result": {}}) + b"\n")
    yield Raw(encode({"error": {"code": -32600, "message": "Invalid request"}, "id": 88_888}) + b"\n")
    yield from turn.said("still here")
    yield turn.ended()


def _approval(turn: Running, words: str) -> Iterable[Step]:
    yield turn.began()
    params: JsonObject = {
        "threadId": turn.thread,
        "turnId": turn.turn,
        "itemId": "call_1",
        "command": words,
        "cwd": "/",
    }
    yield Ask("item/commandExecution/requestApproval", params)


def _call(turn: Running, words: str) -> Iterable[Step]:
    """The model calls a tool; whatever is answered is written to the file that the words name."""
    del words
    yield turn.began()
    call: JsonObject = {"callId": "call_1", "namespace": None, "tool": "message", "arguments": {}}
    yield Ask("item/tool/call", {"threadId": turn.thread, "turnId": turn.turn, **call})


def _child_asks(turn: Running, words: str) -> Iterable[Step]:
    """A subagent asks for an approval."""
    child = Running("thr_child", "turn_child")
    yield turn.began()
    begun: JsonObject = {"id": child.turn, "rootTurnId": turn.turn, "status": "inProgress", "items": []}
    yield Tell("turn/started", {"threadId": child.thread, "turn": begun})
    yield Ask("item/commandExecution/requestApproval", child.wants_to_run(words))


def _stale_ask(turn: Running, words: str) -> Iterable[Step]:
    """An approval for another turn of the thread."""
    yield turn.began()
    yield Ask("item/commandExecution/requestApproval", Running(turn.thread, "turn_0").wants_to_run(words))


def _twice(turn: Running, words: str) -> Iterable[Step]:
    """The same request two times under one id, as a server does that replays what is still open."""
    yield turn.began()
    params: JsonObject = {
        "threadId": turn.thread,
        "turnId": turn.turn,
        "itemId": "call_1",
        "command": words,
        "cwd": "/",
    }
    ask = encode({"id": 500, "method": "item/commandExecution/requestApproval", "params": params})
    yield Raw(ask + b"\n" + ask + b"\n")
    yield from turn.said("still here")
    yield turn.ended()


def _expired(turn: Running, words: str) -> Iterable[Step]:
    del words
    yield turn.began()
    yield turn.ended("failed", error={"message": "401", "codexErrorInfo": "unauthorized", "additionalDetails": None})


def _join(turn: Running, client_id: Json, words: str) -> Iterable[Step]:
    """Taken in and answered at once."""
    yield Result({"turnId": turn.turn})
    yield from turn.took(client_id)
    yield from turn.said(words)
    yield turn.ended()


def _stay(turn: Running, client_id: Json, words: str) -> Iterable[Step]:
    """Taken in, and the turn goes on."""
    del words
    yield Result({"turnId": turn.turn})
    yield from turn.took(client_id)


def _swallow(turn: Running, client_id: Json, words: str) -> Iterable[Step]:
    """Accepted, and not taken in as long as a command runs."""
    del client_id, words
    yield Result({"turnId": turn.turn})


def _ignore(turn: Running, client_id: Json, words: str) -> Iterable[Step]:
    """Neither answered nor taken in."""
    del turn, client_id, words
    return ()


def _unanswered(turn: Running, client_id: Json, words: str) -> Iterable[Step]:
    """Taken in, though the answer to the request is lost."""
    yield from turn.took(client_id)
    yield from turn.said(words)
    yield turn.ended()


def _unread(turn: Running, client_id: Json, words: str) -> Iterable[Step]:
    """Taken in just as the turn ends, so that nobody reads it."""
    yield from turn.said(words)
    count: JsonObject = {"totalTokens": 110, "inputTokens": 100, "cachedInputTokens": 0, "outputTokens": 10}
    yield turn.tell("thread/tokenUsage/updated", tokenUsage={"total": count, "last": count, "modelContextWindow": 9000})
    yield Result({"turnId": turn.turn})
    yield from turn.took(client_id)
    yield turn.ended(items=[turn.item("agentMessage", text=words, phase="final_answer")])


def _too_late(turn: Running, client_id: Json, words: str) -> Iterable[Step]:
    """The turn has just ended, and its end is told first."""
    del client_id
    yield from turn.said(words)
    yield turn.ended()
    yield Failure(-32600, "no active turn to steer")


def _unfit(turn: Running, client_id: Json, words: str) -> Iterable[Step]:
    """The turn takes nothing in."""
    del turn, client_id, words
    info: JsonObject = {"codexErrorInfo": {"activeTurnNotSteerable": {"turnKind": "review"}}}
    yield Failure(-32600, "cannot steer a review turn", info)


Joining: TypeAlias = Callable[[Running, Json, str], Iterable[Step]]
"""What becomes of words that are steered into a turn: the turn, their id, and the words after the one that chose it."""
STEERS: Final[dict[str, tuple[Joining, bool]]] = {
    "join": (_join, True),
    "stay": (_stay, False),
    "swallow": (_swallow, False),
    "ignore": (_ignore, False),
    "unanswered": (_unanswered, True),
    "unread": (_unread, True),
    "unconfirmed": (_unread, True),
    "late": (_too_late, True),
    "unfit": (_unfit, False),
}
"""By their first word, each with whether the turn is over after it."""


def _play(turn: Running, words: str) -> Iterable[Step]:
    """Exactly what the words say: a list of methods with their parameters, as JSON; a status alone ends the turn."""
    told = decode(words.encode())
    assert isinstance(told, list)
    yield turn.began()
    for each in told:
        assert isinstance(each, list)
        method, params = each
        assert isinstance(method, str)
        assert isinstance(params, dict)
        yield turn.tell(method, **params) if "/" in method or method == "error" else turn.ended(method, **params)


ANSWERS: Final = frozenset({"unanswered", "unreadable", "deaf"})
"""Words before a course: its turn runs though nothing can be told from the answer to turn/start, or does not run."""


def _background(turn: Running, words: str) -> Iterable[Step]:
    """A turn that leaves a command running, or ends the one that an earlier turn left."""
    yield turn.began()
    what: JsonObject = {"type": "commandExecution", "id": "serve", "command": "serve", "status": "inProgress"}
    yield turn.tell("item/completed" if words == "over" else "item/started", item=what)
    yield from turn.said("done")
    yield turn.ended()


def _spawn(turn: Running, words: str) -> Iterable[Step]:
    """A turn with a subagent, which outlives it if the words say so."""
    yield turn.began()
    yield UntilRead()  # as the real one, which has asked the model meanwhile
    child = Running(f"child_of_{turn.thread}", f"child_of_{turn.turn}")
    about: JsonObject = {"id": child.turn, "rootTurnId": turn.turn, "status": "inProgress", "items": [], "error": None}
    yield Tell("turn/started", {"threadId": child.thread, "turn": about})
    if words != "outlives":
        yield child.ended()
    yield from turn.said("done")
    yield turn.ended()


def _die(turn: Running, words: str) -> Iterable[Step]:
    """The server breaks over this turn."""
    yield turn.began()
    yield turn.tell("item/agentMessage/delta", itemId="message", delta=words)
    yield HangUp(101)


COURSES: Final[dict[str, Course]] = {
    "echo": _echo,
    "once": _echo,
    "unload": _echo,
    "expired": _expired,
    "large": _large,
    "stall": _stall,
    "stubborn": _stall,
    "die": _die,
    "left": _echo,
    "late": _echo,
    "background": _background,
    "spawn": _spawn,
    "silent-end": _stall,
    "usurped": _stall,
    "replaced": _replaced,
    "compact": _compact,
    "compact-and-stall": _compact_and_stall,
    "new-words": _new_words,
    "play": _play,
    "fields-gone": _fields_gone,
    "types-changed": _types_changed,
    "new-items": _new_items,
    "junk": _junk,
    "stray": _stray,
    "approval": _approval,
    "call": _call,
    "child-asks": _child_asks,
    "stale-ask": _stale_ask,
    "twice": _twice,
}


REFUSED: Final = {
    "thr_gone": Failure(-32600, "no rollout found for thread id thr_gone"),
    "thr_puzzling": Failure(-32603, "a thing that nobody has seen before"),
    "thr_busy": Failure(-32603, "failed to submit turn input: ActiveTurnNotSteerable { turn_kind: Compact }"),
    "thr_full": Failure(-32603, "failed to resume local thread recorder: No space left on device (os error 28)"),
    "thr_held": Failure(-32600, "thread thr_held already has an active writer"),
}
"""How the server refuses to load these threads; the busy one it loads when asked again."""


class FakeCodex:
    """The server's side of a connection, as a script."""

    courses: Mapping[str, Course] = COURSES
    """What a turn may do."""

    def __init__(self) -> None:
        self._threads = 0
        self._turns = 0
        self._running: dict[str, Running] = {}
        self._stubborn: set[str] = set()
        """Threads whose turn no interrupt ends, though the server says that it will."""
        self._asking: list[Running] = []
        self._refused: set[str] = set()
        """Threads, and words of turns, that were refused once."""
        self._unloaded: set[str] = set()
        """Threads that were unloaded, after a turn without a word or because nobody follows them."""
        self._goes_on = "echo and to what came in"
        """The course of a turn without words, which answers what came into the one before."""
        self._told_in: Path | None = None
        """Where the answer to the call of a tool is written down."""
        self.left: list[str] = []
        """Threads that nobody follows any more, in that order."""

    def __call__(self, event: Event) -> Iterable[Step]:
        """React to an event."""
        match event:
            case Requested(method="initialize"):
                yield Result(INITIALIZED)
            case Requested(method="account/read"):
                yield Result({"account": None, "requiresOpenaiAuth": False})
            case Requested(method="thread/start"):
                yield self._open(event)
            case Requested(method="thread/resume"):
                yield self._resume(str(event.params["threadId"]))
            case Requested(method="thread/unsubscribe"):
                thread = str(event.params["threadId"])
                self.left.append(thread)
                self._unloaded.add(thread)
                yield Result({"status": "unsubscribed"})
                yield Tell("thread/closed", {"threadId": thread})
            case Requested(method="thread/read"):
                yield Failure(-32603, "Your access token could not be refreshed.")
            case Requested(method="turn/start"):
                yield from self._start(event)
            case Requested(method="turn/steer"):
                yield from self._steer(event)
            case Requested(method="turn/interrupt"):
                yield from self._interrupt(event)
            case Requested():
                yield Failure(-32600, f"Invalid request: unknown variant `{event.method}`")
            case Answered() | Refused():
                yield from self._answered(event)
            case _:
                pass

    def _answered(self, event: Answered | Refused) -> Iterable[Step]:
        said = encode(event.result if isinstance(event, Answered) else event.message)
        if self._told_in is not None:
            self._told_in.write_bytes(said)
            return
        turn = self._asking.pop(0)
        yield from turn.said(said.decode())
        yield turn.ended()

    def _open(self, request: Requested) -> Step:
        if words := _complaint(request):
            return Failure(-32600, words)
        self._threads += 1
        return Result(_opened(f"thr_{self._threads}"))

    def _resume(self, thread: str) -> Step:
        self._unloaded.discard(thread)
        if thread == "thr_deadly":
            return HangUp(101)  # it breaks over what it has written down of this one
        refusal = REFUSED.get(thread)
        if refusal is None or (thread == "thr_busy" and thread in self._refused):
            return Result(_opened(thread))
        self._refused.add(thread)
        return refusal

    def _start(self, request: Requested) -> Iterable[Step]:
        if request.params["threadId"] in self._unloaded:
            yield Failure(-32600, f"thread not found: {request.params['threadId']}")
            return
        course, _, words = (_last_text(request) or self._goes_on).partition(" ")
        if course == "refuse":
            yield Failure(-32600, words)
            return
        if course == "once" and words not in self._refused:
            self._refused.add(words)
            yield REFUSED[f"thr_{words}"]
            return
        self._turns += 1
        turn = Running(str(request.params["threadId"]), f"turn_{self._turns}")
        answer: JsonObject = {"turn": {"id": turn.turn, "status": "inProgress", "items": [], "error": None}}
        how = ""
        if course in ANSWERS:
            how, (course, _, words) = course, words.partition(" ")
        if how == "unreadable":
            yield Result({"turn": 7})
        elif not how:
            yield Result(answer)
        if how == "deaf":
            return
        self._note(turn, course)
        if course == "call":
            self._told_in, self._running[turn.thread] = Path(words), turn
        if course == "left":
            words = " ".join(self.left) or "none"
        yield from self.courses[course](turn, words)

    def _note(self, turn: Running, course: str) -> None:
        """Keep what later requests depend on."""
        match course:
            case "stall":
                self._running[turn.thread] = turn
            case "replaced" | "usurped":
                self._running[turn.thread] = Running(turn.thread, f"{turn.turn}-b")
            case "stubborn":
                self._stubborn.add(turn.thread)
            case "unload":
                self._unloaded.add(turn.thread)
            case "approval" | "child-asks" | "stale-ask":
                self._asking.append(turn)
            case _:
                pass

    def _steer(self, request: Requested) -> Iterable[Step]:
        turn = self._running.get(str(request.params["threadId"]))
        if turn is None or request.params["expectedTurnId"] != turn.turn:
            yield Failure(-32600, "no active turn to steer")
            return
        how, _, words = _last_text(request).partition(" ")
        joining, is_last = STEERS[how]
        if how == "unconfirmed":
            self._goes_on = f"unanswered {self._goes_on}"
        if is_last:
            del self._running[turn.thread]
        yield from joining(turn, request.params["clientUserMessageId"], words)

    def _interrupt(self, request: Requested) -> Iterable[Step]:
        if request.params["threadId"] in self._stubborn:
            yield Result({})
            return
        named, turn = str(request.params["turnId"]), self._running.get(str(request.params["threadId"]))
        if turn is None:
            yield Failure(-32600, "no active turn to interrupt")
            return
        if named not in ("", turn.turn):
            yield Failure(-32600, f"expected active turn id {named} but found {turn.turn}")
            return
        del self._running[turn.thread]
        yield Result({})
        yield turn.ended("interrupted")


def _complaint(request: Requested) -> str:
    """Why a thread is refused: a tool whose description says so, or a model that there is none of."""
    if request.params.get("model") == "no-such-model":
        return "there is no such model"
    pending: list[Json] = [request.params.get("dynamicTools", [])]
    while pending:
        match pending.pop():
            case list(several):
                pending += reversed(several)
            case {"tools": inner}:
                pending.append(inner)
            case {"description": str(text)} if text.startswith("refused: "):
                return text.removeprefix("refused: ")
            case _:
                pass
    return ""


def _last_text(request: Requested) -> str:
    """The words; files may be quoted before them."""
    said = request.params["input"]
    assert isinstance(said, list)
    if not said:
        return ""
    last = said[-1]
    assert isinstance(last, dict)
    return str(last["text"])


def _opened(thread: str) -> JsonObject:
    return {
        "thread": {"id": thread, "cliVersion": "0.163.0", "cwd": "/workspace", "turns": []},
        "model": "gpt-5.5",
        "modelProvider": "loopback",
        "cwd": "/workspace",
        "instructionSources": [],
        "approvalPolicy": "on-request",
        "reasoningEffort": None,
    }
