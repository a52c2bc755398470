"""A server that talks nonsense, and turns that must get their own answers all the same.

What it says begins with what real app-servers said (`tests.support.recording`): turns of every kind are played back
with ids and answers of their own, several conversations at once, and between their lines come the same lines mutated,
and lines made up from nothing. All of it passes through bytes, framing, peer, client and `CodexHarness`, over an
in-memory wire. Two kinds of nonsense:

    foreign  it names no turn that runs and answers no request that is open, however close it comes: every turn ends
             with its own answer, whole
    own      anything at all, the ids of running turns and the answers to open requests too, lines of turns lost,
             doubled or out of order, and lines over the ceiling, which end the connection: every turn ends exactly
             once, and with no word of another one

`python -m tests.support.fuzzing --lines 100000` is the full run; a failure names the seed and the round that repeat it.
"""

import argparse
import gc
import json
import logging
import math
import re
import resource
import sys
import tempfile
import time
import tracemalloc
from collections import Counter
from collections.abc import AsyncGenerator, Iterable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, Final, Literal, TypeAlias, cast
from unittest.mock import patch

import anyio
import anyio.lowlevel
from anyio.abc import TaskGroup
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from codex_bridge.bridge import CodexHarness, CodexSettings, codex_harness
from codex_bridge.capabilities import ServerCapabilities
from codex_bridge.client import connected
from codex_bridge.deadlines import Limits
from codex_bridge.errors import ConnectionLostError, OversizedMessageError
from codex_bridge.process import Server, handshake
from codex_bridge.rpc import (
    Answered,
    Json,
    JsonObject,
    LineFramer,
    MessageTooLargeError,
    Peer,
    Refused,
    Requested,
    decode,
)
from codex_bridge.turn import CodexTurn
from harness.compaction import Summary, compaction_of
from harness.layers import Layer, LayerName, Lifetime, Trust
from harness.store.bindings import bindings_at
from harness.tasks import beside
from harness.turns import Finished, Outcome, TurnEvent, TurnResult
from tests.support.recording import ANSWER, BESIDES, FOLDER, THREAD, TURN
from tests.support.turns import launch, words

Nonsense: TypeAlias = Literal["foreign", "own"]
CEILING: Final = 256 * 1024
"""Bytes of the longest message that the client takes."""
CHATS: Final = 6
"""Conversations at once."""
TURNS: Final = 4
"""Of each conversation in a round."""
PER_LINE: Final = 6
"""Lines of nonsense for each line of a turn, on average."""
OVER_EVERY: Final = 1_500
"""Lines from one over the ceiling to the next, where anything goes."""
OURS: Final = 1_000_000
"""From here on ids are no client's."""
HANGS: Final = 60.0
"""Seconds after which a round counts as hung."""
SETTLES: Final = 10.0
"""Seconds for what still has to be done when the last turn of a round has told its end."""
GROWTH: Final = 1_500_000
"""Bytes that may be held more at the end than after the first third: room for what Python itself caches."""
DEAD: Final = ("thread-dead", "turn-dead")


class FuzzError(AssertionError):
    """Something came out that must not."""


@dataclass(frozen=True, slots=True)
class Course:
    """What a server said in one turn."""

    name: str
    lines: tuple[JsonObject, ...]

    @property
    def ends(self) -> str:
        """The status that the turn ends with."""
        last = next(each for each in reversed(self.lines) if _is_end(each))
        return str(_dig(last, "params", "turn", "status"))


@dataclass(frozen=True, slots=True)
class Corpus:
    """All that real servers said."""

    courses: tuple[Course, ...]
    besides: tuple[JsonObject, ...]
    opened: JsonObject
    """The answer to thread/start."""
    summary: Course
    """A turn that only summarised."""

    @property
    def lines(self) -> list[JsonObject]:
        """Every line once."""
        return [*(line for course in self.courses for line in course.lines), *self.besides]


def corpus() -> Corpus:
    """Read the recordings of both versions."""
    turns: dict[tuple[str, str], list[JsonObject]] = {}
    for path in sorted(FOLDER.glob("*.jsonl")):
        for row in map(json.loads, path.read_text("utf-8").splitlines()):
            turns.setdefault((path.stem, row["course"]), []).append(row["line"])
    besides = [line for (_, name), lines in turns.items() if name == BESIDES for line in lines]
    opened = next(line for line in besides if isinstance(_dig(line, "result", "thread"), dict))
    # Without a person who stops it that turn would have no end.
    played = {key: lines for key, lines in turns.items() if key[1] not in (BESIDES, "stopped", "on request")}
    courses = (Course(f"{name} on {version}", tuple(lines)) for (version, name), lines in played.items())
    summary = next(Course(name, tuple(lines)) for (_, name), lines in turns.items() if name == "on request")
    return Corpus(tuple(courses), tuple(besides), cast("JsonObject", opened["result"]), summary)


def _dig(value: Json, *path: str) -> Json:
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _is_end(line: JsonObject) -> bool:
    return line.get("method") == "turn/completed" and _dig(line, "params", "threadId") == THREAD


def _filled(value: Json, names: dict[str, str]) -> Json:
    """The same with every text that is a name replaced."""
    match value:
        case str():
            return names.get(value, value)
        case list():
            return [_filled(each, names) for each in value]
        case dict():
            return {key: _filled(each, names) for key, each in value.items()}
        case _:
            return value


def played(course: Course, thread: str, turn: str, answer: str) -> Iterator[JsonObject]:
    """The lines of a turn with ids and an answer of their own."""
    marks = {key: f"{key} {turn}" for key in _ids_in(course.lines)}
    names = {**marks, THREAD: thread, TURN: turn, ANSWER: answer}
    pieces = _pieces(course, answer)
    for line in course.lines:
        whole = cast("JsonObject", _filled(line, names))
        params = whole.get("params")
        if line.get("method") == "item/agentMessage/delta" and isinstance(params, dict):
            params["delta"] = next(pieces, "") if str(params["delta"]) in ANSWER else params["delta"]
        yield whole


def _ids_in(lines: Iterable[JsonObject]) -> set[str]:
    found: set[str] = set()

    def look(value: Json, key: str) -> None:
        match value:
            case str() if key in {"id", "itemId", "callId", "turnId", "rootTurnId", "threadId"}:
                found.add(value)
            case list():
                for each in value:
                    look(each, key)
            case dict():
                for name, each in value.items():
                    look(each, name)
            case _:
                pass

    for line in lines:
        look(line, "")
    return found - {THREAD, TURN}


def _pieces(course: Course, answer: str) -> Iterator[str]:
    deltas = [
        line
        for line in course.lines
        if line.get("method") == "item/agentMessage/delta" and str(_dig(line, "params", "delta")) in ANSWER
    ]
    size = -(-len(answer) // max(1, len(deltas)))
    return iter([answer[start : start + size] for start in range(0, len(answer), size)])


class Mutator:
    """Makes nonsense, from what servers said and from nothing."""

    def __init__(self, random: Random, known: Corpus) -> None:
        self._random = random
        self._lines = known.lines
        self._number = OURS
        self.threads: list[str] = [DEAD[0]]
        self.turns: list[str] = [DEAD[1]]
        """Ids that it may use."""

    def next_id(self) -> int:
        """An id that nothing had before."""
        self._number += 1
        return self._number

    def lines(self, *, hostile: bool) -> bytes:
        """One line, without its end; may hold more than one, or none. A hostile one may answer an open request."""
        random = self._random
        match random.randrange(20):
            case 0:
                return random.choice(
                    (b"", b" ", b"\r", b"\xef\xbb\xbf{}", b"[]", b"{}", b"null", b"0", b'"x"', b"[[],{}]")
                )
            case 1:
                return random.randbytes(random.randrange(1, 200)).replace(b"\n", b" ")
            case 2:
                return b'{"method":' * random.choice((3, 50, 3000)) + b'"x"'
            case 3:
                depth = random.choice((5, 200, 5000))
                return b'{"method":"turn/started","params":' + b"[" * depth + b"]" * depth + b"}"
            case 4:
                return self._answer()
            case 5:
                return self._request()
            case _:
                line = cast("JsonObject", _filled(random.choice(self._lines), self._names()))
                if "id" in line:
                    line["id"] = random.randrange(40) if hostile else self.next_id()
                for _ in range(random.choice((1, 1, 1, 2, 4))):
                    line = self.mutated(line)
                return self._broken(
                    json.dumps(line, ensure_ascii=random.random() < 0.5).encode("utf-8", "surrogatepass")
                )

    def _names(self) -> dict[str, str]:
        return {THREAD: self._random.choice(self.threads), TURN: self._random.choice(self.turns), ANSWER: "no answer"}

    def _answer(self) -> bytes:
        """An answer to nothing that is open, under an id that is as near as can be."""
        ids: list[Json] = [self._number + 7, -1, 2**63 - 1, -(2**63), 1.0, 2.5, True, None, "1", "", [1], {}]
        body: JsonObject = self._random.choice(
            ({"result": {}}, {"result": None}, {"error": None}, {"error": {"code": "x", "message": 5}}, {"error": 7})
        )
        return json.dumps({"id": self._random.choice(ids), **body}).encode()

    def _request(self) -> bytes:
        """A request, mostly under an id that is easily mishandled."""
        number = self.next_id()
        odd: list[Json] = [0, "", "0", -1, 1.5, None, True, [], {}, 2**70, number, str(number)]
        method = self._random.choice(
            (
                "item/tool/call",
                "item/commandExecution/requestApproval",
                "item/fileChange/requestApproval",
                "item/tool/requestUserInput",
                "mcpServer/elicitation/request",
                "no/such/method",
                "",
            )
        )
        thread, turn = self._random.choice(self.threads), self._random.choice(self.turns)
        params: Json = self._random.choice(
            (
                {"threadId": thread, "turnId": turn, "callId": "c", "itemId": "i", "tool": "t", "arguments": {}},
                {"threadId": 7, "turnId": [], "tool": None},
                {},
                None,
                [],
                "params",
            )
        )
        return json.dumps({"id": self._random.choice(odd), "method": method, "params": params}).encode()

    def mutated(self, line: JsonObject) -> JsonObject:
        """The same with something changed in it."""
        line = cast("JsonObject", _copy(line))
        random = self._random
        places = list(_places(line))
        if not places:
            return line
        holder, key = random.choice(places)
        match random.randrange(8):
            case 0:
                _drop(holder, key)
            case 1:
                _put(holder, key, self._other())
            case 2:
                other, there = random.choice(places)
                _put(holder, key, _copy(_get(other, there)))  # an id, a type, a method in the place of another value
            case 3:
                _put(holder, key, random.choice((self.threads, self.turns))[-1])
            case 4:
                line["method"] = random.choice(("item/started", "turn/completed", "item/hologram/delta", "", "error"))
            case 5:
                params = line.get("params")
                if isinstance(params, dict):
                    params[random.choice(("threadId", "turnId", "itemId"))] = random.choice(self.threads + self.turns)
            case 6:
                _put(holder, key, {"type": random.choice(("hologram", "agentMessage", 5, None)), "id": self._other()})
            case _:
                if isinstance(holder, dict):
                    holder[random.choice(("params", "id", "item", "turn", "result", "extra"))] = self._other()
        return line

    def _other(self) -> Json:
        random = self._random
        simple: list[Json] = [
            None,
            True,
            0,
            -1,
            1.5,
            "",
            "x",
            [],
            {},
            [[[]]],
            {"a": {"a": {}}},
            2**53,
            "\ud800",
            "\x00",
        ]
        if random.random() < 0.02:
            return "é" * random.choice((1000, 20_000))
        return random.choice(simple)

    def _broken(self, data: bytes) -> bytes:
        random = self._random
        where = random.randrange(len(data) + 1)
        match random.randrange(12):
            case 0:
                return data[:where]
            case 1:
                return (
                    data[:where]
                    + random.choice((b"\xff", b"\xc3", b"\xed\xa0\x80", b"\x00", b"\xf0\x9f"))
                    + data[where:]
                )
            case 2:
                return data.replace(b'"threadId"', b'"threadId":"x","threadId"', 1)
            case 3:
                return data.replace(
                    b"null", random.choice((b"NaN", b"Infinity", b"1e999", b"-0", b"99999999999999999999")), 1
                )
            case 4:
                return data + random.choice((data, b"\n" + data, b"\r", b",", b"}"))
            case 5:
                return data.replace(b'":', b'"\n:', 1)
            case _:
                return data


def _copy(value: Json) -> Json:
    copied: Json = json.loads(json.dumps(value))
    return copied


def _places(value: Json) -> Iterator[tuple["dict[str, Json] | list[Json]", Any]]:
    """Every place in a value where something stands."""
    match value:
        case dict():
            for key, each in value.items():
                yield value, key
                yield from _places(each)
        case list():
            for index, each in enumerate(value):
                yield value, index
                yield from _places(each)
        case _:
            pass


def _get(holder: "dict[str, Json] | list[Json]", key: Any) -> Json:
    return holder[key]


def _put(holder: "dict[str, Json] | list[Json]", key: Any, value: Json) -> None:
    holder[key] = value


def _drop(holder: "dict[str, Json] | list[Json]", key: Any) -> None:
    del holder[key]


class Wire:
    """The client's end: bytes in pieces of any size, cut into messages as those of a child's stdout are."""

    def __init__(self, to_server: MemoryObjectSendStream[bytes], from_server: MemoryObjectReceiveStream[bytes]) -> None:
        self.name = "memory (fuzzed)"
        self._to_server = to_server
        self._from_server = from_server
        self._framer = LineFramer(limit=CEILING)

    async def send(self, message: bytes) -> None:
        """See `Transport.send`."""
        try:
            await self._to_server.send(message)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            raise ConnectionLostError("the other end closed") from None

    async def receive(self) -> list[bytes]:
        """See `Transport.receive`."""
        try:
            while True:
                if messages := self._framer.feed(await self._from_server.receive()):
                    return messages
        except (anyio.EndOfStream, anyio.ClosedResourceError):
            raise ConnectionLostError("the other end closed") from None
        except MessageTooLargeError:
            await self.aclose()
            raise OversizedMessageError(CEILING) from None

    async def aclose(self) -> None:
        """Close both directions."""
        self._to_server.close()
        self._from_server.close()


@dataclass
class Figures:
    """What was counted."""

    lines: int = 0
    turns: Counter[str] = field(default_factory=Counter[str])
    joins: Counter[str] = field(default_factory=Counter[str])
    """What became of what was said into running turns."""
    summaries: Counter[str] = field(default_factory=Counter[str])
    connections: int = 0
    requests: int = 0
    """Of the server, each of which must be answered."""


class Storm:
    """A server that talks nonsense between the lines of its turns.

    Args:
        seed: Of everything that is left to chance.
        known: What it begins with.
        nonsense: How far it goes.
        figures: What is counted.
    """

    def __init__(self, seed: str, known: Corpus, nonsense: Nonsense, figures: Figures) -> None:
        self._random = Random(seed)
        self._seed = seed
        self._known = known
        self._own = nonsense == "own"
        self.strict = not self._own
        self._figures = figures
        self._mutator = Mutator(self._random, known)
        self.calm = False
        """Say nothing but the lines of the turns."""
        self._live: dict[str, str] = {}
        self._last: dict[str, JsonObject] = {}
        """The last turn of each thread, as it is written down."""
        self._stops: set[str] = set()
        self._numbers: dict[str, int] = {}
        """Of the turns that the threads are at."""
        self._joining: dict[str, list[JsonObject]] = {}
        """Messages that are to join the turns that run, by thread."""
        self._threads = 0
        self._turns = 0
        self._next_over = OVER_EVERY
        """Lines said when the next one over the ceiling comes: counted, since by chance a short run may have none."""
        self.asked: Counter[tuple[type, Json]] = Counter()
        self.answered: Counter[tuple[type, Json]] = Counter()

    def expected(self, number: int) -> tuple[Course, str]:
        """What happens in a turn, and what it answers."""
        random = Random(f"{self._seed} turn {number}")
        return random.choice(self._known.courses), f"answer {number} {random.randbytes(4).hex()}"

    @asynccontextmanager
    async def serve(self) -> AsyncGenerator[Wire]:
        """Be one more connection, for as long as the block lasts."""
        self._figures.connections += 1
        self._live.clear()
        self.asked.clear()
        self.answered.clear()
        to_server, from_client = anyio.create_memory_object_stream[bytes](math.inf)
        to_client, from_server = anyio.create_memory_object_stream[bytes](16)
        connection = _Connection(self, to_client, self._random)
        async with beside() as group, from_client, to_client:
            group.start_soon(connection.write)
            group.start_soon(connection.read, from_client, group)
            yield Wire(to_server, from_server)

    @property
    def unanswered(self) -> dict[tuple[type, Json], int]:
        """Requests that were not answered, or more than once; one that is repeated while it is open counts once."""
        return {key: n for key, n in self.asked.items() if not 1 <= self.answered[key] <= n}

    # one turn

    async def summarise(self, connection: "_Connection", thread: str) -> None:
        """Run a turn that only summarises."""
        turn = self._begun(thread)
        for line in played(self._known.summary, thread, turn, "none"):
            await self._rage(connection)
            if _is_end_of(line, thread):
                self._live.pop(thread, None)
                self._last[thread] = cast("JsonObject", _dig(line, "params", "turn"))
            await connection.say_line(line)

    def _begun(self, thread: str) -> str:
        self._turns += 1
        turn = f"turn-{self._turns}"
        self._live[thread] = turn
        self._mutator.threads = [DEAD[0], *self._live, thread]
        self._mutator.turns = [DEAD[1], *self._live.values(), turn]
        self._last[thread] = {"id": turn, "status": "inProgress", "items": []}
        return turn

    async def play(self, connection: "_Connection", request: Requested) -> None:
        """Run a turn to its end."""
        thread = str(request.params["threadId"])
        said = cast("list[dict[str, str]]", request.params["input"])
        if said:
            self._numbers[thread] = int(said[-1]["text"].rpartition(" ")[2])
        number = self._numbers[thread]  # a request without words goes on with what the last one said
        course, answer = self.expected(number)
        turn = self._begun(thread)
        begun: JsonObject = {"turn": {"id": turn, "status": "inProgress", "items": [], "error": None}}
        chance = self._random.random() if self._own and not self.calm else 1.0
        if chance < 0.03:
            await connection.answer(request, {"turn": 7})
        elif chance < 0.06:
            await connection.refuse(request, -32603, "a thing that nobody has seen before")
        elif chance > 0.08:
            await connection.answer(request, begun)
        lines = list(played(course, thread, turn, answer))
        last = max(index for index, line in enumerate(lines) if _is_end_of(line, thread))
        for line in self._disturbed(lines[:last]):
            await self._rage(connection)
            await connection.say_line(self._with_id(line))
            for joined in self._joining.pop(thread, []) if self._random.random() < 0.5 else []:
                for method in ("item/started", "item/completed"):
                    params: JsonObject = {"threadId": thread, "turnId": turn, "item": joined}
                    await connection.say_line({"method": method, "params": params})
            if thread in self._stops:
                break
        self._joining.pop(thread, None)
        end = lines[last]
        if thread in self._stops:
            end = json.loads(json.dumps(end))
            end["params"]["turn"] |= {"status": "interrupted", "items": [], "error": None}
        self._live.pop(thread, None)
        ended = cast("JsonObject", _copy(_dig(end, "params", "turn")))
        ended["items"] = [{"type": "userMessage", "id": "asked", "content": []}, *cast("list[Json]", ended["items"])]
        self._last[thread] = ended
        self._stops.discard(thread)
        await connection.say_line(end)
        for line in lines[last + 1 :]:  # what subagents still say
            await self._rage(connection)
            await connection.say_line(line)
        if self._random.random() < 0.2:
            await connection.say_line(end)

    def _disturbed(self, lines: list[JsonObject]) -> Iterator[JsonObject]:
        """The lines of a turn, some twice, and where anything goes some not at all, changed, or later."""
        random, held = self._random, list[JsonObject]()
        for line in lines:
            chance = 1.0 if self.calm else random.random()
            if self._own and chance < 0.12:
                if chance < 0.04:
                    continue
                if chance < 0.08:
                    held.append(line)
                    continue
                yield self._mutator.mutated(line)
            yield line
            if 0.12 < chance < 0.2 and "delta" not in str(line.get("method")) and "id" not in line:
                yield line
            if held and random.random() < 0.5:
                yield held.pop()
        yield from held

    def _with_id(self, line: JsonObject) -> JsonObject:
        return {**line, "id": self._mutator.next_id()} if "method" in line and "id" in line else line

    async def _rage(self, connection: "_Connection") -> None:
        if self.calm:
            return
        for _ in range(self._random.randrange(2 * PER_LINE)):
            if self._own and self._figures.lines >= self._next_over:
                self._next_over = self._figures.lines + OVER_EVERY
                await connection.say(b'{"method":"' + b"x" * CEILING + b'"}\n')
            data = self._mutator.lines(hostile=self._own)
            if self._own or (len(data) < CEILING and not self._touches(data)):
                await connection.say(data + b"\n")

    def _touches(self, data: bytes) -> bool:
        """Whether a line has a say in a turn that runs, or answers a request that may be open."""
        return any(self._touches_one(line) for line in data.split(b"\n"))

    def _touches_one(self, data: bytes) -> bool:
        try:
            line = decode(data)
        except ValueError:
            return False
        if not isinstance(line, dict):
            return False
        if "method" not in line:
            request_id = line.get("id")
            return isinstance(request_id, int) and not isinstance(request_id, bool) and 0 <= request_id < OURS
        if "id" in line:
            return False  # is refused or declined, whatever it names
        thread = _dig(line, "params", "threadId")
        if not isinstance(thread, str):
            return False
        if line["method"] == "turn/started" and thread in self._last:
            # Of a turn that only summarises the client learns the id by its begin alone, and may hear of this after.
            return True
        if thread not in self._live:
            return False
        named = (_dig(line, "params", "turnId"), _dig(line, "params", "turn", "id"))
        return self._live[thread] in named or line["method"] == "thread/closed"

    # what is asked

    async def react(self, connection: "_Connection", event: Requested, group: TaskGroup) -> None:
        """Answer a request of the client."""
        thread = event.params.get("threadId")
        match event.method:
            case "initialize":
                await connection.answer(event, {"userAgent": "openclaw-codex-bridge/0.163.0 (Debian) xterm (x; 0)"})
            case "account/read":
                await connection.answer(event, {"account": None, "requiresOpenaiAuth": False})
            case "thread/start":
                self._threads += 1
                await connection.answer(event, self._opened(f"thread-{self._threads}"))
            case "thread/resume":
                await connection.answer(event, self._opened(str(thread)))
            case "thread/read":
                status = "active" if thread in self._live else "idle"
                await connection.answer(event, {"thread": {"id": thread, "status": {"type": status}}})
            case "thread/turns/list":
                last = self._last.get(str(thread))
                await connection.answer(event, {"data": [] if last is None else [last]})
            case "turn/start":
                group.start_soon(self.play, connection, event)
            case "turn/steer":
                await self._join(connection, event, str(thread))
            case "thread/compact/start":
                await connection.answer(event, {})
                group.start_soon(self.summarise, connection, str(thread))
            case "turn/interrupt" if thread in self._live:
                self._stops.add(str(thread))
                await connection.answer(event, {})
            case "turn/interrupt":
                await connection.refuse(event, -32600, "no active turn to interrupt")
            case _:
                await connection.refuse(event, -32600, f"Invalid request: unknown variant `{event.method}`")

    async def _join(self, connection: "_Connection", event: Requested, thread: str) -> None:
        turn = self._live.get(thread)
        if turn is None or event.params["expectedTurnId"] != turn:
            await connection.refuse(event, -32600, "no active turn to steer")
            return
        client_id = event.params["clientUserMessageId"]
        joined: JsonObject = {"type": "userMessage", "id": f"joined {client_id}", "clientId": client_id, "content": []}
        self._joining.setdefault(thread, []).append(joined)
        await connection.answer(event, {"turnId": turn})

    def _opened(self, thread: str) -> JsonObject:
        opened = json.loads(json.dumps(self._known.opened))
        opened["thread"] |= {"id": thread, "path": None, "status": {"type": "idle"}}
        return opened | {"instructionSources": []}

    def hear(self, line: bytes) -> None:
        """A line goes out."""
        self._figures.lines += 1
        try:
            value = decode(line)
        except ValueError:
            return
        if isinstance(value, dict) and isinstance(value.get("method"), str) and "id" in value:
            request_id, params = value["id"], value.get("params")
            if (
                isinstance(request_id, int | str)
                and not isinstance(request_id, bool)
                and isinstance(params, dict | None)
            ):
                self.asked[type(request_id), request_id] += 1
                self._figures.requests += 1


class _Connection:
    """One connection of the storm."""

    def __init__(self, storm: Storm, to_client: MemoryObjectSendStream[bytes], random: Random) -> None:
        self._storm = storm
        self._to_client = to_client
        self._random = random
        self._peer = Peer()
        self._waiting = bytearray()
        self._room = anyio.Event()
        self._news = anyio.Event()

    async def say(self, data: bytes) -> None:
        """Send bytes, whole lines of them."""
        for line in data.split(b"\n"):
            if line.strip():
                self._storm.hear(line)
        self._waiting += data
        self._news.set()
        while len(self._waiting) > 4 * CEILING:
            self._room = anyio.Event()
            await self._room.wait()
        await anyio.lowlevel.checkpoint()

    async def say_line(self, line: JsonObject) -> None:
        """Send a line as it is."""
        await self.say(json.dumps(line).encode("utf-8", "surrogatepass") + b"\n")

    async def answer(self, request: Requested, result: JsonObject) -> None:
        """Answer a request."""
        self._peer.answer(request, result)
        await self._drain()

    async def refuse(self, request: Requested, code: int, message: str) -> None:
        """Refuse a request."""
        self._peer.refuse(request, code, message)
        await self._drain()

    async def _drain(self) -> None:
        for message in self._peer.outgoing():
            await self.say(message + b"\n")

    async def write(self) -> None:
        """Send what waits, in pieces of any size."""
        try:
            while True:
                while not self._waiting:
                    self._news = anyio.Event()
                    await self._news.wait()
                size = self._random.choice((1, 17, 1000, 70_000))
                piece = bytes(self._waiting[:size])
                del self._waiting[:size]
                self._room.set()
                await self._to_client.send(piece)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            pass

    async def read(self, from_client: MemoryObjectReceiveStream[bytes], group: TaskGroup) -> None:
        """Take in what the client says."""
        async for message in from_client:
            value = json.loads(message)
            if "method" not in value:
                self._storm.answered[type(value["id"]), value["id"]] += 1
                continue
            event = self._peer.receive(message)
            if isinstance(event, Requested):
                group.start_soon(self._storm.react, self, event, group)
            elif isinstance(event, Answered | Refused):
                raise FuzzError(f"the client answered what nobody asked: {message!r}")


def _is_end_of(line: JsonObject, thread: str) -> bool:
    return line.get("method") == "turn/completed" and _dig(line, "params", "threadId") == thread


class _Faults(logging.Handler):
    """What breaks inside of the bridge without ending anything."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.found: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep what has a traceback."""
        if record.exc_info:
            self.found.append(self.format(record))


@dataclass
class _Talk:
    """One conversation's turns, and whether each of them got what is its own."""

    harness: CodexHarness
    storm: Storm
    chat: str
    strict: bool
    random: Random
    figures: Figures

    async def turn(self, number: int) -> None:
        """Run a turn to its end and judge it."""
        if self.random.random() < 0.05:
            await self._summarise()
        running = self.harness.start(words(f"go {number}", chat=self.chat))
        chance, events = self.random.random(), list[TurnEvent]()
        async with anyio.create_task_group() as group:
            if chance < 0.1:
                await anyio.lowlevel.checkpoint()
                await running.interrupt()
            elif chance < 0.3:
                group.start_soon(self._join, running, number)
            events += [event async for event in running.events()]
        ends = [event.result for event in events if isinstance(event, Finished)]
        if len(ends) != 1 or not isinstance(events[-1], Finished):
            raise FuzzError(f"turn {number} has {len(ends)} ends")
        (result,) = ends
        if await running.result() != result:
            raise FuzzError(f"turn {number} has two results")
        self.figures.turns[result.outcome.value] += 1
        self._judge(number, result)

    async def _join(self, running: CodexTurn, number: int) -> None:
        """Say something into a turn."""
        layer = Layer(LayerName.USER_TEXT, "message", Lifetime.INPUT, Trust.OWNER, "and this")
        steered = await running.steer((layer,), f"{self.chat}:joining {number}")
        self.figures.joins[steered.value] += 1

    async def _summarise(self) -> None:
        """Have the conversation summarised."""
        done = compaction_of(await self.harness.compact(words("", chat=self.chat)).result())
        self.figures.summaries[done.summary.value] += 1
        if self.strict and done.summary not in (Summary.DONE, Summary.NOTHING):
            raise FuzzError(f"a summary of {self.chat} ended otherwise: {done}")

    def _judge(self, number: int, result: TurnResult) -> None:
        course, answer = self.storm.expected(number)
        strangers = [word for word in _answers_in(result.text) if word != answer]
        if not self.strict:
            # An answer to turn/start may name an earlier turn of the chat, whose end may be told once more.
            strangers = [word for word in strangers if int(word.split()[1]) % CHATS != number % CHATS]
        if strangers:
            raise FuzzError(f"turn {number} answers with the words of another: {strangers}")
        if not self.strict:
            return
        if result.outcome is Outcome.INTERRUPTED:
            return
        if course.ends == "completed" and (result.outcome, result.text) != (Outcome.ANSWERED, answer):
            raise FuzzError(f"turn {number} ({course.name}) should answer {answer!r}: {result}")
        if course.ends == "failed" and (result.outcome, bool(result.error)) != (Outcome.FAILED, True):
            raise FuzzError(f"turn {number} ({course.name}) should fail: {result}")


def _answers_in(text: str) -> list[str]:
    return re.findall(r"answer \d+ [0-9a-f]{8}", text)


@asynccontextmanager
async def _stormy(storm: Storm, folder: Path) -> AsyncGenerator[CodexHarness]:
    """A harness whose servers are the storm's."""

    @asynccontextmanager
    async def app_server(source: object, **handlers: Any) -> AsyncGenerator[Server]:
        del source
        handlers.pop("now", None)
        async with storm.serve() as wire, connected(wire, **handlers) as client:
            version = await handshake(client)
            yield Server(client, version, None, ServerCapabilities(version.numbers))

    patient = storm.strict
    limits = Limits() if patient else Limits(silence=2, after_tool=2, answer=0.5, reconnecting=2, probe=0.5)
    async with AsyncExitStack() as stack:
        stack.enter_context(patch("codex_bridge.hosts.app_server", app_server))
        if not patient:
            for name, seconds in _IMPATIENT.items():
                stack.enter_context(patch(f"codex_bridge.{name}", seconds))
        store = await stack.enter_async_context(bindings_at(folder / "bindings.sqlite"))
        yield await stack.enter_async_context(
            codex_harness(CodexSettings(launch(folder, "codex"), limits=limits, drain=0.0), store)
        )


_IMPATIENT: Final = {
    "starting.START_DEADLINE": 1.0,
    "starting.ADOPTION_DEADLINE": 0.5,
    "stopping.INTERRUPT_DEADLINE": 1.0,
    "hosts.PING_DEADLINE": 1.0,
}
"""Seconds where a lie of the server costs the whole time otherwise."""


async def rounds(lines: int, seed: int, nonsense: Nonsense, *, measure: bool = True) -> Figures:
    """Run rounds of turns until the server has said so many lines.

    Raises:
        FuzzError: A turn got what is not its own, or none or two ends, a request of the server stayed unanswered,
            something broke inside, or memory grew.
    """
    figures, faults = Figures(), _Faults()
    storm = Storm(f"{seed} {nonsense}", corpus(), nonsense, figures)
    random = Random(f"{seed} {nonsense} client")
    logger = logging.getLogger("codex_bridge")
    logger.addHandler(faults)
    before, propagate, logger.propagate = 0, logger.propagate, False
    if measure:
        tracemalloc.start()
    number = 0
    try:
        with tempfile.TemporaryDirectory() as folder:
            async with _stormy(storm, Path(folder)) as harness:
                talks = [_Talk(harness, storm, f"chat {n}", storm.strict, random, figures) for n in range(CHATS)]
                while figures.lines < lines:
                    first, number = number, number + CHATS * TURNS
                    await _round(talks, range(first, number), seed)
                    await _check_round(storm, harness, faults)
                    if measure and not before and figures.lines >= lines / 3:
                        before = _held()
                if measure and before and (grown := _held() - before) > GROWTH:
                    raise FuzzError(f"{grown:,} bytes more are held than after the first third")
                storm.calm = True
                await _Talk(harness, storm, "calm", strict=True, random=Random(7), figures=figures).turn(number)
    finally:
        logger.removeHandler(faults)
        logger.propagate = propagate
        if measure:
            tracemalloc.stop()
    return figures


async def _round(talks: list[_Talk], numbers: range, seed: int) -> None:
    async def run(talk: _Talk, share: Iterable[int]) -> None:
        for number in share:
            await talk.turn(number)

    hanging: list[str] = []

    async def look() -> None:
        await anyio.sleep(0.9 * HANGS)
        hanging.extend(_state(talks[0].harness))

    try:
        with anyio.fail_after(HANGS):
            async with anyio.create_task_group() as looking:
                looking.start_soon(look)
                async with anyio.create_task_group() as group:
                    for index, talk in enumerate(talks):
                        group.start_soon(run, talk, numbers[index :: len(talks)])
                looking.cancel_scope.cancel()
    except TimeoutError:
        raise FuzzError(f"seed {seed}: turns {numbers} hang: {hanging}") from None


def _state(harness: CodexHarness) -> list[str]:
    """What there is to know of turns that do not end."""
    found: list[str] = []
    for turn in harness._unfinished:  # pyright: ignore[reportPrivateUsage]
        kind, sent = "summary" if turn.compacts else "turn", [each.method for each in turn.sent]
        due = turn.watch.due() if turn.watch is not None else None
        ledger = vars(turn.ledger) if turn.ledger is not None else None
        key = turn.request.message_key
        found.append(f"{key}, {kind}, due {due}, sent {sent}, ledger {ledger}, stopped {turn.stopped}")
    return found


async def _check_round(storm: Storm, harness: CodexHarness, faults: _Faults) -> None:
    with anyio.move_on_after(SETTLES):
        while harness.unfinished or (storm.strict and storm.unanswered):  # noqa: ASYNC110 - nothing tells
            await anyio.sleep(0.01)
    if faults.found:
        raise FuzzError(f"something broke inside:\n{faults.found[0]}")
    if harness.unfinished:
        raise FuzzError(f"these are not over: {harness.unfinished}")
    if storm.strict and storm.unanswered:
        raise FuzzError(f"requests and their answers do not fit: {storm.unanswered}")


def _held() -> int:
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


def main() -> None:
    """Run both kinds of nonsense and print what was counted."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--lines", type=int, default=100_000, help="lines of the server in all")
    parser.add_argument("--seed", type=int, default=None, help="repeats an earlier run")
    parser.add_argument("--json", action="store_true", help="print data for programs")
    chosen = parser.parse_args()
    seed = time.time_ns() % 1_000_000 if chosen.seed is None else chosen.seed
    print(f"seed {seed}", file=sys.stderr)
    found: dict[str, object] = {"seed": seed}
    for nonsense in ("foreign", "own"):
        began = time.perf_counter()
        figures = anyio.run(rounds, chosen.lines // 2, seed, nonsense)
        found[nonsense] = {
            "lines": figures.lines,
            "turns": dict(figures.turns),
            "joins": dict(figures.joins),
            "summaries": dict(figures.summaries),
            "requests": figures.requests,
            "connections": figures.connections,
            "seconds": round(time.perf_counter() - began, 1),
        }
    found["peakMegabytes"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000, 1)
    print(json.dumps(found, indent=None if chosen.json else 2))


if __name__ == "__main__":
    main()
