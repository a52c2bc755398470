"""Which layer reaches whom, seen on the installed binary: the proof behind `codex-bridge lanes verify`.

A workspace of sentinels, the real app-server, and a stand-in model that starts a fresh and a forked subagent, has the
conversation compacted, meets it again in a new process, and in a fork. Every cell of the matrix is read from a request
that the model got, never from what we meant to send.
"""

from collections.abc import AsyncGenerator, Awaitable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, TypeVar

import anyio

from codex_bridge.binary import CodexBinary
from codex_bridge.bridge import CodexHarness, CodexSettings, codex_harness
from codex_bridge.capabilities import ServerCapabilities
from codex_bridge.catalogue import CatalogueMode
from codex_bridge.entries import QUOTED_KEY, TURN_KEY
from codex_bridge.errors import CodexError
from codex_bridge.home import agent_dir, own_home, private_dir
from codex_bridge.lanes import HABITS
from codex_bridge.loopback.model import loopback_model
from codex_bridge.loopback.recorder import Part, RecordedRequest
from codex_bridge.loopback.script import Action, CallTool, Reply, Say, Usage, say
from codex_bridge.params import ThreadSettings, thread_fork, turn_start
from codex_bridge.process import Launch
from codex_bridge.rpc import encode
from codex_bridge.turn import CodexTurn
from codex_bridge.wire.besides import THREAD_FORK
from codex_bridge.wire.requests import TURN_START
from codex_bridge.wording import RUNTIME, SUBAGENTS, TOOL_MANIFEST
from harness.agent import Agent
from harness.gather import Gatherer
from harness.heartbeat.wording import RESPONSE_TOOL
from harness.inbound import Chat, ChatKind, InboundMessage, Quoted, Relation, Sender
from harness.plain import plain_settings
from harness.store.bindings import Bindings, bindings_at
from harness.toolbox import ToolTurn
from harness.tools import Tool
from harness.turns import Outcome

SETTINGS: Final = ThreadSettings(sandbox="read-only", approval_policy="never")
STEP_SECONDS: Final = 20.0
"""How long one step may take; a turn takes a fifth of a second."""
SUBAGENT: Final = "x-openai-subagent"
"""Header of a subagent's requests (protocol reference, 3.6)."""
FULL: Final = Usage(input=900_000, output=1)
"""More than any model holds, so that the next turn begins with a compaction."""


class VerifyError(CodexError):
    """The course could not be run to its end."""


class Observer(Enum):
    """Whose request is looked at."""

    ROOT = "root"
    FRESH = "fresh child"
    FORKED = "forked child"
    COMPACTED = "after compaction"
    RESUMED = "after resume"
    FORK = "after fork"


class Row(Enum):
    """A layer, by the name that the matrix shows."""

    RUNTIME = "the gateway's own words"
    MANIFEST = "names of its tools"
    SUBAGENTS = "rule for subagents"
    OFFERED = "a tool of the gateway"
    AGENTS = "AGENTS.md"
    TOOLS = "TOOLS.md"
    SOUL = "SOUL.md"
    IDENTITY = "IDENTITY.md"
    USER = "USER.md"
    SKILLS = "skills list"
    MEMORY = "MEMORY.md, quoted"
    QUOTES = "words of somebody else"


Value = TypeVar("Value")
SENTINELS: Final[Mapping[Row, str]] = MappingProxyType(
    {
        **{row: f"SENTINEL-{row.name}-7F3A" for row in Row},
        Row.RUNTIME: RUNTIME[:40],
        Row.MANIFEST: TOOL_MANIFEST.partition("\n")[0],
        Row.SUBAGENTS: SUBAGENTS.partition("\n")[0],
        Row.OFFERED: RESPONSE_TOOL,
    }
)
"""What each layer is known by; the last one by the name in the list of tools."""
FILES: Final[Mapping[str, Row]] = MappingProxyType(
    {
        "AGENTS.md": Row.AGENTS,
        "TOOLS.md": Row.TOOLS,
        "SOUL.md": Row.SOUL,
        "IDENTITY.md": Row.IDENTITY,
        "USER.md": Row.USER,
        "MEMORY.md": Row.MEMORY,
    }
)
_ONCE, _NEVER, _SOME, _PERHAPS = (1, 1), (0, 0), (1, 3), (0, 1)
_TURN: Final = {
    Observer.ROOT: _ONCE,
    Observer.FRESH: _NEVER,
    Observer.FORKED: _ONCE,
    Observer.COMPACTED: _ONCE,
    Observer.RESUMED: _ONCE,
    Observer.FORK: _ONCE,
}
"""Persona and skills: for the main voice, and in the history of a child that is forked with it."""
_ADDED: Final = {**_TURN, Observer.COMPACTED: _SOME, Observer.RESUMED: _SOME, Observer.FORK: _SOME}
"""As additional context they are said again by a new process, and after a compaction."""
_THREAD: Final = dict.fromkeys(Observer, _ONCE)
_TOOLS: Final = {**_THREAD, Observer.FRESH: _NEVER}
"""A fresh child does not inherit the tools, whose names it reads; a forked one does (protocol reference, 3.6)."""
_PASSING: Final = {**_TURN, Observer.COMPACTED: _PERHAPS, Observer.RESUMED: _PERHAPS, Observer.FORK: _PERHAPS}
"""What one turn was told is history from then on, and a compaction may drop it."""
_QUOTED: Final = {**_TURN, Observer.COMPACTED: _SOME, Observer.RESUMED: _SOME, Observer.FORK: _SOME}
"""Quoted files are user text: a compaction may keep the first copy, and the next turn quotes them again."""


@dataclass(frozen=True, slots=True)
class Cell:
    """What one observer saw of one layer."""

    seen: tuple[str, ...]
    """Where, once for each time: "mode", "context", "developer", "user", "tools", "message" for one in a frame of data,
    or "toolOutput"."""
    place: str
    """Where it should be."""
    least: int
    most: int

    @property
    def as_expected(self) -> bool:
        """Whether it was seen as often as it should be, and nowhere else."""
        return self.least <= len(self.seen) <= self.most and set(self.seen) <= {self.place}


@dataclass(frozen=True, slots=True)
class Verification:
    """The matrix of one run."""

    codex: str
    model: str
    catalogue: str
    """Which catalogue of models was in force."""
    honours: Mapping[str, bool | str]
    """What the server was taken to honour, by name; the matrix is expected by that."""
    cells: Mapping[tuple[Row, Observer], Cell]
    problems: tuple[str, ...] = ()
    """What kept a part from being seen at all."""

    @property
    def holds(self) -> bool:
        """Whether every layer was seen where it should be, and nowhere else."""
        return not self.problems and all(cell.as_expected for cell in self.cells.values())

    def as_data(self) -> dict[str, Any]:
        """The same as JSON data."""
        return {
            "codex": self.codex,
            "model": self.model,
            "catalogue": self.catalogue,
            "honours": dict(self.honours),
            "holds": self.holds,
            "problems": list(self.problems),
            "cells": [
                {
                    "layer": row.value,
                    "observer": observer.value,
                    "seen": list(cell.seen),
                    "place": cell.place,
                    "expected": [cell.least, cell.most],
                    "asExpected": cell.as_expected,
                }
                for (row, observer), cell in self.cells.items()
            ],
        }


async def verify(codex: CodexBinary, root: Path, *, model: str, catalogue: CatalogueMode = "auto") -> Verification:
    """Run the whole course and look at what the model got.

    Args:
        codex: The binary.
        root: An empty folder to work in, not below the system's temporary folder.
        model: The model that is asked for; the stand-in plays it.
        catalogue: Whether the server gets the patched catalogue.

    Raises:
        CodexError: Codex cannot be used.
    """
    workspace = root / "workspace"
    _fill(workspace)
    course = _Course()
    seen: dict[Observer, RecordedRequest] = {}
    problems: list[str] = []
    async with loopback_model(course) as stand_in, bindings_at(private_dir(agent_dir(root, "main")) / "b") as store:
        launch = Launch(codex, own_home(root, "main"), stand_in.provider, catalogue=catalogue)
        async with _running(launch, store, workspace, model) as (harness, agent):
            server = await harness.ready()
            can = server.capabilities
            course.v2 = can.multi_agent(model) == "v2"
            await _step(problems, "the first turn", _turn(course, agent, "first", 1))
            await _step(problems, "the subagents", _children(course))
            await _step(problems, "the turn that fills the window", _turn(course, agent, "fill", 2))
            await _step(problems, "the turn that begins with a compaction", _turn(course, agent, "go on", 3))
            await _step(problems, "the turn after the compaction", _turn(course, agent, "after the compaction", 4))
        async with _running(launch, store, workspace, model) as (harness, agent):
            turn = await _step(problems, "the turn of a new process", _turn(course, agent, "after the restart", 5))
            if turn is not None:
                await _step(problems, "the turn of a fork", _fork(harness, turn, course))
        seen = course.seen
        problems += [f"No request was seen of: {each.value}." for each in Observer if each not in seen]
        return Verification(
            codex=server.version.text,
            model=model,
            catalogue=can.catalogue.source,
            honours=can.told_of(model),
            cells=_matrix(seen, can, model),
            problems=tuple(problems),
        )


class _Course:
    """What the stand-in says, request by request, and whose request each one was."""

    def __init__(self) -> None:
        self.seen: dict[Observer, RecordedRequest] = {}
        self.changed = anyio.Event()
        self.v2 = False
        """Which kind of subagents the model has."""
        self._turn = ""
        self._asked = 0

    def begin(self, turn: str) -> None:
        """The requests from now on belong to this turn."""
        self._turn, self._asked = turn, 0

    def __call__(self, request: RecordedRequest) -> Action:
        if request.headers.get(SUBAGENT):
            forked = any(part.text == "first" for part in request.parts())
            self._note(Observer.FORKED if forked else Observer.FRESH, request)
            return say("Counted.")
        self._asked += 1
        # By turn and not by number: a subagent that reports back makes the turn ask once more, or not, as it happens.
        match self._turn, self._asked:
            case "first", 1:
                self._note(Observer.ROOT, request)
                return self._spawn("fresh", forked=False)
            case "first", 2:
                return self._spawn("forked", forked=True)
            case "first", _:
                return say("Done.")
            case "fill", _:
                return Reply((Say("Full."),), usage=FULL)
            case "go on", 1:
                return say("They talked about boats.")
            case "go on", _:
                return say("On.")
            case "after the compaction", _:
                self._note(Observer.COMPACTED, request)
                return say("And on.")
            case "after the restart", _:
                self._note(Observer.RESUMED, request)
                return say("Here.")
            case _:
                self._note(Observer.FORK, request)
                return say("There.")

    def _spawn(self, name: str, *, forked: bool) -> Reply:
        if self.v2:
            arguments: dict[str, Any] = {
                "task_name": name,
                "message": "count",
                "fork_turns": "all" if forked else "none",
            }
            return Reply((CallTool("spawn_agent", arguments, namespace="collaboration", call_id=f"call_{name}"),))
        arguments = {"message": "count", "fork_context": True} if forked else {"message": "count"}
        return Reply((CallTool("spawn_agent", arguments, namespace="multi_agent_v1", call_id=f"call_{name}"),))

    def _note(self, observer: Observer, request: RecordedRequest) -> None:
        self.seen.setdefault(observer, request)
        self.changed.set()
        self.changed = anyio.Event()

    async def until(self, *observers: Observer) -> None:
        """Wait until each of them was seen."""
        while not all(observer in self.seen for observer in observers):
            await self.changed.wait()


async def _step(problems: list[str], name: str, work: Awaitable[Value]) -> Value | None:
    """Run one step within its time; what goes wrong is noted and costs the other steps nothing."""
    with anyio.move_on_after(STEP_SECONDS):
        return await work
    problems.append(f"It took longer than {STEP_SECONDS:g} s: {name}.")
    return None


async def _turn(course: "_Course", agent: Agent[CodexTurn], text: str, number: int) -> CodexTurn:
    course.begin(text)
    turn = await agent.receive(_message(text, number))
    result = await turn.result()
    if result.outcome is not Outcome.ANSWERED:
        raise VerifyError(f"The turn {text!r} ended as {result.outcome.value}: {result.error or result.detail}")
    return turn


async def _children(course: "_Course") -> None:
    await course.until(Observer.FRESH, Observer.FORKED)


async def _fork(harness: CodexHarness, turn: CodexTurn, course: "_Course") -> None:
    """Fork the thread of `turn`, and say the same again in the fork."""
    if turn.thread is None:
        return
    client = (await harness.ready()).client
    request, lanes = turn.request, turn.lanes
    params = thread_fork(turn.thread.thread.id, request, lanes, SETTINGS)
    course.begin("fork")
    forked = await client.call(THREAD_FORK, params)
    await client.call(TURN_START, turn_start(request, lanes, forked, SETTINGS))
    await course.until(Observer.FORK)


@asynccontextmanager
async def _running(
    launch: Launch, store: Bindings, workspace: Path, model: str
) -> AsyncGenerator[tuple[CodexHarness, Agent[CodexTurn]]]:
    async with codex_harness(CodexSettings(launch, threads=SETTINGS), store) as harness:
        yield harness, Agent(harness, Gatherer(plain_settings(workspace), HABITS), model=model, toolbox=_Respond())


class _Respond:
    """One tool of the gateway; none for the memory, so that MEMORY.md is quoted."""

    names = frozenset({RESPONSE_TOOL})

    def for_turn(self, turn: ToolTurn) -> tuple[Tool, ...]:
        """The tool."""
        return (turn.responder.tool,)


def _message(text: str, number: int) -> InboundMessage:
    return InboundMessage(
        channel="telegram",
        chat=Chat(ChatKind.DIRECT, "7"),
        sender=Sender("7", "Orrin"),
        message_id=str(number),
        text=text,
        sent_at=datetime(2031, 5, 6, tzinfo=UTC),
        quoted=(Quoted(Relation.ANSWERED, SENTINELS[Row.QUOTES]),) if number == 1 else (),
    )


def _fill(workspace: Path) -> None:
    workspace.mkdir(parents=True)
    for name, row in FILES.items():
        (workspace / name).write_text(f"{SENTINELS[row]} stands in {name}.\n", encoding="utf-8")
    skill = workspace / "skills" / "tides" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text(f"---\nname: tides\ndescription: {SENTINELS[Row.SKILLS]} looks up tides\n---\nLook.\n", "utf-8")


def _matrix(
    seen: Mapping[Observer, RecordedRequest], can: ServerCapabilities, model: str
) -> dict[tuple[Row, Observer], Cell]:
    turn = ("mode", _TURN) if can.honours_mode_text(model) else ("context", _ADDED)
    expected: dict[Row, tuple[str, Mapping[Observer, tuple[int, int]]]] = {
        **dict.fromkeys((Row.RUNTIME, Row.MANIFEST, Row.SUBAGENTS, Row.TOOLS), ("developer", _THREAD)),
        Row.OFFERED: ("tools", _THREAD if can.child_tools else _TOOLS),
        Row.AGENTS: ("user", _THREAD),
        Row.MEMORY: ("user", _QUOTED),
        Row.QUOTES: (can.untrusted_form, _PASSING),
        **dict.fromkeys((Row.SOUL, Row.IDENTITY, Row.USER, Row.SKILLS), turn),
    }
    cells: dict[tuple[Row, Observer], Cell] = {}
    for row in Row:
        for observer in Observer:
            if observer in seen:
                place, often = expected[row]
                cells[row, observer] = Cell(tuple(_places(seen[observer], row)), place, *often[observer])
    return cells


def _places(request: RecordedRequest, row: Row) -> Iterable[str]:
    """Where a layer stands, once for each time that it stands there."""
    if row is Row.OFFERED:
        # GPT-6 models get their tools as an item of the input, and ours inside of one tool (protocol reference, 3.1).
        items = [item for item in request.input if isinstance(item, dict) and item.get("type") == "additional_tools"]
        if SENTINELS[row].encode() in encode([request.body.get("tools"), *items]):
            yield "tools"
        return
    for part in request.parts():
        yield from [_place(part)] * part.text.count(SENTINELS[row])


def _place(part: Part) -> str:
    if part.text.startswith("<collaboration_mode>"):
        return "mode"
    if part.name.startswith(QUOTED_KEY):
        return "toolOutput"
    if part.text.startswith(f"<external_{QUOTED_KEY}"):
        return "message"
    return "context" if part.text.startswith(f"<{TURN_KEY}_") else part.role or part.kind
