"""A gateway's worst day in some minutes: `python -m benchmarks.soak`, part of `make bench`.

Fifty conversations on one real app-server, a thousand messages in all, with a stand-in as the model. By a seed,
messages are said into running turns, turns are stopped, commands and tools fail, the model refuses, conversations are
summarised, and the server is killed ten times with SIGKILL. What must hold whatever happens is checked, and a break
makes the exit status 1:

- every message is settled in the ledger, once: its chat has its answer, alone or with another one's, or one sentence
  that there is none, or a person stopped it;
- an answer is for messages of its own chat, and for all that its turn took in, and none is sent twice;
- no command ran twice for one message;
- no task and no file descriptor is left over, no process of a server lives on, and memory stays flat.
"""

import argparse
import asyncio
import json
import logging
import os
import shutil
import signal
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from statistics import median
from typing import Final

import anyio

from benchmarks.rounds import BUILD, stand_in
from benchmarks.soak_model import KINDS, RAN, TOOL, answered_in, asked_in, asking
from codex_bridge.binary import find_codex
from codex_bridge.bridge import CodexHarness, CodexSettings, codex_harness
from codex_bridge.home import agent_dir, own_home, private_dir
from codex_bridge.lanes import HABITS
from codex_bridge.params import ThreadSettings
from codex_bridge.process import Launch
from codex_bridge.providers import Provider
from codex_bridge.turn import CodexTurn
from harness.agent import Agent
from harness.delivery.courier import Courier
from harness.delivery.outbox import Abilities
from harness.desk.desk import Desk, open_desk
from harness.gather import Gatherer
from harness.inbound import Chat, ChatKind, InboundMessage, Sender
from harness.json_value import Json
from harness.layers import LayerName
from harness.plain import plain_settings
from harness.settings.queue import QueueRules, QueueSettings
from harness.store.bindings import bindings_at
from harness.store.deliveries import Deliveries
from harness.testing.outbox import RecordingOutbox
from harness.toolbox import ToolTurn
from harness.tools import Tool, ToolResult
from harness.turn_limit import TurnLimit
from harness.turns import Finished, Joined, Outcome, TurnEvent

MODEL: Final = "gpt-5.5"
DAWN: Final = datetime(2031, 5, 6, tzinfo=UTC)
LONGEST: Final = 900.0
"""Seconds after which the day counts as hung."""
WARM: Final = 0.3
"""The share of the day after which memory is looked at first: by then every thread and every cache is there."""
GROWTH: Final = 6.0
"""Megabytes that the gateway may take more at the end than then. Our choice: what a run needs for its own books of a
thousand turns, and for the allocator's habits."""
QUIET: Final = 5.0
"""Seconds for what still has to be done when the last message has its outcome."""
STOPPED: Final = 1.0
"""Seconds after which a message that was stopped counts as one that never had a turn."""
FIRST: Final = 9_000_000
COMMANDS: Final = 8_000_000
"""Numbers from here on are messages to the gateway itself."""
WEIGHTS: Final[Mapping[str, int]] = {"say": 52, "slow": 25, "command": 8, "failing": 5, "tool": 6, "error": 4}


class SoakError(AssertionError):
    """Something did not hold."""


@dataclass(frozen=True, slots=True)
class Shape:
    """How much happens."""

    chats: int = 50
    messages: int = 1_000
    kills: int = 10
    places: int = 16
    """Turns at once; four times what a gateway runs by itself."""
    seed: int = 6


@dataclass
class Books:
    """What happened."""

    turns: dict[int, str] = field(default_factory=dict[int, str])
    """Messages by how the turn ended that had them."""
    walls: list[float] = field(default_factory=list[float])
    """Seconds from a message to the end of its turn."""
    failures: Counter[str] = field(default_factory=Counter[str])
    sentences: Counter[str] = field(default_factory=Counter[str])
    """What people were told of them."""
    endings: Counter[str] = field(default_factory=Counter[str])
    """Messages by why nothing is left to be done about them."""
    problems: list[str] = field(default_factory=list[str])
    servers: set[int] = field(default_factory=set[int])
    """Processes of the servers that were seen."""
    waited_for: dict[int, anyio.Event] = field(default_factory=dict[int, anyio.Event])
    commands: int = 0
    """Messages to the gateway itself, to stop or to summarise."""

    def enter(self, number: int, outcome: str) -> None:
        """The turn of a message has ended."""
        if number in self.turns:
            self.problems.append(f"message {number} is {self.turns[number]}, and then {outcome}")
        self.turns[number] = outcome
        if number in self.waited_for:
            self.waited_for[number].set()


class Tools:
    """One tool of the agent's own, which fails half of the time."""

    names = frozenset({TOOL})

    def __init__(self) -> None:
        schema: Mapping[str, Json] = {"type": "object", "properties": {"number": {"type": "integer"}}}
        self._tools = (Tool(TOOL, "Looks a number up.", schema, self._look_up),)

    def for_turn(self, turn: ToolTurn) -> tuple[Tool, ...]:
        """See `Toolbox`."""
        del turn
        return self._tools

    async def _look_up(self, arguments: Mapping[str, Json]) -> ToolResult:
        number = arguments.get("number")
        if isinstance(number, int) and number % 4 == 1:
            raise RuntimeError("the ledger is out of reach")
        odd = isinstance(number, int) and number % 2 == 1
        return ToolResult(not odd, "No such entry." if odd else "An entry.")


def message(number: int, text: str, chat: str) -> InboundMessage:
    """A message of the owner."""
    return InboundMessage(
        channel="telegram",
        chat=Chat(ChatKind.DIRECT, chat),
        sender=Sender(chat, "Orrin"),
        message_id=str(number),
        text=text,
        sent_at=DAWN,
    )


class Turns:
    """Hears every turn to its end, and enters what became of the messages that it had.

    Args:
        books: Where that is entered.
        answers: Filled with the numbers that the answer of each message has to name.
    """

    def __init__(self, books: Books, answers: dict[str, set[int]]) -> None:
        self._books = books
        self._answers = answers

    def listen(self, said: InboundMessage, turn: CodexTurn) -> Callable[[TurnEvent], None]:
        """See `open_desk`."""
        words = [each.text for each in turn.request.composition.layers if each.name is LayerName.USER_TEXT]
        has = {number for text in words for number in asked_in(text)}
        began = time.perf_counter()

        def hear(event: TurnEvent) -> None:
            if isinstance(event, Joined):
                has.add(int(event.key.rpartition(":")[2]))
            if not isinstance(event, Finished):
                return
            result = event.result
            self._books.walls.append(time.perf_counter() - began)
            if result.outcome is Outcome.ANSWERED:
                self._answers[said.message_id] = has
            if result.failure is not None:
                self._books.failures[f"{result.outcome.value}: {result.failure.value}"] += 1
                self._books.sentences[result.error] += 1
            for number in has:
                self._books.enter(number, result.outcome.value)

        return hear


class Talk:
    """One chat: says its messages, and waits for what becomes of them."""

    def __init__(self, desk: Desk[CodexTurn], books: Books, chat: str, numbers: range, seed: int) -> None:
        self._desk = desk
        self._books = books
        self._chat = chat
        self._numbers = numbers
        self._random = Random(f"{seed} {chat}")

    async def run(self) -> None:
        """Say all of them."""
        numbers = iter(self._numbers)
        for number in numbers:
            chance = self._random.random()
            kind = self._random.choices(KINDS, [WEIGHTS[each] for each in KINDS])[0]
            if chance < 0.02:
                await self._command("/compact")
            await self._say(number, asking(number, kind))
            if kind == "slow" and chance < 0.5 and (more := next(numbers, None)) is not None:
                await anyio.sleep(self._random.uniform(0, 0.4))
                await self._say(more, asking(more, "say"))
                await self._over(more)
            elif chance > 0.9:
                await anyio.sleep(self._random.uniform(0, 0.3))
                await self._command("/stop")
                with anyio.move_on_after(STOPPED):  # it may never have had a turn
                    await self._over(number)
                continue
            await self._over(number)

    async def _say(self, number: int, text: str) -> None:
        self._books.waited_for[number] = anyio.Event()
        await self._desk.receive(message(number, text, self._chat))

    async def _command(self, text: str) -> None:
        self._books.commands += 1
        number = COMMANDS + self._books.commands
        await self._desk.receive(message(number, text, self._chat))

    async def _over(self, number: int) -> None:
        await self._books.waited_for[number].wait()


async def _kill(harness: CodexHarness, books: Books, shape: Shape) -> None:
    """Kill the server at moments that the seed chooses, by how many messages have their outcome."""
    random = Random(f"{shape.seed} kills")
    moments = sorted(random.uniform(0.03, 0.85) * shape.messages for _ in range(shape.kills))
    for moment in moments:
        while len(books.turns) < moment or harness.server is None:  # noqa: ASYNC110 - nothing tells
            await anyio.sleep(0.02)
        server = harness.server
        books.servers.add(server.pid)
        with suppress(ProcessLookupError):
            os.kill(server.pid, signal.SIGKILL)
        while harness.server is server:  # noqa: ASYNC110
            await anyio.sleep(0.005)


@dataclass(frozen=True, slots=True)
class Load:
    """What the gateway holds at a moment when nothing runs."""

    tasks: int
    files: int
    megabytes: float


def _load() -> Load:
    with Path("/proc/self/statm").open(encoding="ascii") as statm:
        pages = int(statm.read().split()[1])
    megabytes = pages * os.sysconf("SC_PAGE_SIZE") / 1e6
    return Load(len(asyncio.all_tasks()), len(os.listdir("/proc/self/fd")), megabytes)  # noqa: PTH208 - links


@dataclass
class Day:
    """A day that is over."""

    books: Books
    seconds: float
    cpu: float
    before: Load
    """When the first turn was over."""
    warm: float
    """Megabytes after `WARM` of the day."""
    after: Load


async def soak(shape: Shape, folder: Path, workspace: Path, provider: Provider) -> Day:
    """Run the day."""
    books = Books()
    home = own_home(folder, "main")
    launch = Launch(find_codex(), home, provider)
    threads = ThreadSettings(sandbox="danger-full-access", approval_policy="never")
    state = private_dir(agent_dir(folder, "main"))
    warm = 0.0

    async def look_when_warm() -> None:
        nonlocal warm
        while len(books.turns) < WARM * shape.messages:  # noqa: ASYNC110
            await anyio.sleep(0.05)
        warm = _load().megabytes

    outbox, answers = RecordingOutbox(Abilities(keys=True)), dict[str, set[int]]()
    settings = replace(plain_settings(workspace), queue=QueueSettings(rules=QueueRules(quiet=0.05)))
    with anyio.fail_after(LONGEST):
        async with (
            bindings_at(state / "bridge.sqlite") as bindings,
            codex_harness(CodexSettings(launch, threads=threads), bindings, limit=TurnLimit(shape.places)) as harness,
        ):
            agent = Agent(harness, Gatherer(settings, HABITS), model=MODEL, toolbox=Tools())
            deliveries = Deliveries(bindings.database)
            listen = Turns(books, answers).listen
            async with open_desk(agent, deliveries, Courier(deliveries, outbox), listen=listen) as desk:
                await (await agent.receive(message(FIRST, asking(FIRST, "say"), "first"))).result()
                await anyio.wait_all_tasks_blocked()  # what is at its end still would hide what is left over
                before, began, cpu = _load(), time.perf_counter(), time.process_time()
                share = shape.messages // shape.chats
                async with anyio.create_task_group() as group:
                    group.start_soon(_kill, harness, books, shape)
                    group.start_soon(look_when_warm)
                    for chat in range(shape.chats):
                        numbers = range(chat * share, (chat + 1) * share)
                        group.start_soon(Talk(desk, books, str(chat), numbers, shape.seed).run)
                await desk.settled()
                seconds, spent = time.perf_counter() - began, time.process_time() - cpu
                after = _load()
                with anyio.move_on_after(QUIET):
                    while harness.unfinished or (  # noqa: ASYNC110
                        (after := _load()).tasks > before.tasks or after.files > before.files
                    ):
                        await anyio.sleep(0.05)
                if harness.server is not None:
                    books.servers.add(harness.server.pid)
                if harness.unfinished:
                    books.problems.append(f"not over: {harness.unfinished}")
                books.problems += [f"still open: {each.lead}" for each in await deliveries.open()]
    _judge_deliveries(books, shape, state / "bridge.sqlite", outbox, answers)
    _judge_day(books, before, after, warm)
    _judge_files(books, workspace / RAN)
    return Day(books, seconds, spent, before, warm, after)


def _judge_deliveries(
    books: Books, shape: Shape, store: Path, outbox: RecordingOutbox, answers: Mapping[str, set[int]]
) -> None:
    with closing(sqlite3.connect(store)) as connection:
        query = "SELECT message_id, chat, lead, state, ending FROM deliveries"
        rows: list[tuple[str, str, str, str, str]] = connection.execute(query).fetchall()
    lacking = set(range(shape.messages)) - {int(row[0]) for row in rows}
    if lacking:
        books.problems.append(f"the ledger does not have {sorted(lacking)}")
    if len(outbox.seen) != len(outbox.messages) or len({each.key for each in outbox.messages.values()}) != len(
        outbox.seen
    ):
        books.problems.append("something was sent twice")
    texts: dict[str, list[str]] = {}
    for each in outbox.messages.values():
        texts.setdefault(each.reply_to, []).append(each.text)
    share = shape.messages // shape.chats
    for number, chat, lead, state, ending in rows:
        books.endings[ending or state] += 1
        said = texts.get(lead.rpartition(":")[2], [])
        if (ending == "sent") is not bool(said) and lead == f"telegram:{chat}:{number}":
            books.problems.append(f"message {number} is {ending}, and its chat has {said}")
        if number in answers and ending == "sent":
            named = {each for text in said for each in answered_in(text)}
            if missing := answers[number] - named:
                books.problems.append(f"the answer to {number} is none for {sorted(missing)}: {said}")
            if strangers := {each for each in named if each // share != int(chat)}:
                books.problems.append(f"the answer to {number} is for {sorted(strangers)}, of other chats")


def _judge_day(books: Books, before: Load, after: Load, warm: float) -> None:
    if after.tasks > before.tasks:
        books.problems.append(f"{after.tasks - before.tasks} tasks are left over")
    if after.files > before.files:
        books.problems.append(f"{after.files - before.files} file descriptors are left over")
    if after.megabytes - warm > GROWTH:
        books.problems.append(f"memory grew from {warm:.1f} to {after.megabytes:.1f} MB")
    alive = [pid for pid in books.servers if Path(f"/proc/{pid}").exists()]
    if alive:
        books.problems.append(f"servers live on: {alive}")


def _judge_files(books: Books, ran: Path) -> None:
    times = Counter(ran.read_text("utf-8").split()) if ran.exists() else Counter[str]()
    books.problems += [f"the command of message {number} ran {n} times" for number, n in times.items() if n > 1]


def figures(day: Day, shape: Shape) -> dict[str, object]:
    """What there is to tell."""
    walls = sorted(day.books.walls)
    return {
        "seed": shape.seed,
        "messages": shape.messages,
        "chats": shape.chats,
        "places": shape.places,
        "endings": dict(day.books.endings),
        "turns": dict(Counter(day.books.turns.values())),
        "failures": dict(day.books.failures),
        "told": dict(day.books.sentences.most_common()),
        "commands": day.books.commands,
        "kills": shape.kills,
        "servers": len(day.books.servers),
        "seconds": round(day.seconds, 1),
        "turnWallMs": {"p50": round(1000 * median(walls)), "p95": round(1000 * walls[int(0.95 * (len(walls) - 1))])},
        "cpuPerTurnMs": round(1000 * day.cpu / len(walls), 2),
        "megabytes": {
            "first": round(day.before.megabytes, 1),
            "warm": round(day.warm, 1),
            "end": round(day.after.megabytes, 1),
        },
        "files": {"first": day.before.files, "end": day.after.files},
        "tasks": {"first": day.before.tasks, "end": day.after.tasks},
        "problems": day.books.problems,
    }


def spend(shape: Shape) -> Day:
    """Run the day in folders of its own, which are gone afterwards."""
    BUILD.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="soak-", dir=BUILD))
    try:
        workspace = folder / "workspace"
        workspace.mkdir()
        (workspace / "AGENTS.md").write_text("Keep answers short.\n", "utf-8")
        with stand_in("soak") as fields:
            return anyio.run(soak, shape, folder, workspace, Provider(**fields))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main() -> int:
    usual = Shape()
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--chats", type=int, default=usual.chats)
    parser.add_argument("--messages", type=int, default=usual.messages, help="in all; the same number for each chat")
    parser.add_argument("--kills", type=int, default=usual.kills)
    parser.add_argument("--places", type=int, default=usual.places, help="turns at once")
    parser.add_argument("--seed", type=int, default=usual.seed)
    parser.add_argument("--json", action="store_true", help="print data instead of a table")
    asked = parser.parse_args()
    shape = Shape(asked.chats, asked.messages, asked.kills, asked.places, asked.seed)
    logging.getLogger("codex_bridge").setLevel(logging.CRITICAL)  # a thousand turns tell a lot
    day = spend(shape)
    found = figures(day, shape)
    if asked.json:
        print(json.dumps(found))
    else:
        for name, value in found.items():
            if name not in ("problems", "told"):
                print(f"{name:14} {value}")
        for sentence, times in day.books.sentences.most_common():
            print(f"{times:>14} x {sentence}")
    for problem in day.books.problems:
        print(f"soak: {problem}", file=sys.stderr)
    return 1 if day.books.problems else 0


if __name__ == "__main__":
    sys.exit(main())
