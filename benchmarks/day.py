"""One simulated day of an agent, and what of it the model is sent: `python -m benchmarks.day`, part of `make bench`.

A heartbeat each half hour, and chats in between, on one conversation: the real binary, with a stand-in as the model.
Every heartbeat reads HEARTBEAT.md by a real command, and most have nothing to tell. The same day is run twice: with
quiet heartbeats taken back, as an agent does by itself, and with all of them kept. What the day must look like is
checked on the recorded requests, and a break is an error and no row.
"""

import json
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Final

import anyio

from benchmarks.rounds import BUILD
from codex_bridge.binary import find_codex
from codex_bridge.bridge import CodexHarness, CodexSettings, codex_harness
from codex_bridge.home import agent_dir, own_home, private_dir
from codex_bridge.lanes import HABITS
from codex_bridge.loopback.model import loopback_model
from codex_bridge.loopback.recorder import RecordedRequest
from codex_bridge.loopback.script import Action, CallTool, Reply, Say, Usage, say
from codex_bridge.process import Launch
from codex_bridge.rpc import encode
from codex_bridge.turn import CodexTurn
from codex_bridge.wording import HEARTBEAT_TITLE
from harness.agent import Agent
from harness.gather import Gatherer
from harness.heartbeat.poll import PollText
from harness.heartbeat.run import HeartbeatRun
from harness.inbound import Chat, ChatKind, InboundMessage, Sender
from harness.json_value import Json
from harness.memory.index import MemoryIndex
from harness.plain import plain_settings
from harness.standard_tools import StandardTools
from harness.store.bindings import bindings_at
from harness.turns import Outcome, TurnRequest

MODEL: Final = "gpt-5.5"
PERSONA: Final = "SOUL-SENTINEL"
TASKS: Final = "GREENHOUSE-SENTINEL"
POLL: Final = "Heartbeat check number"
PONG: Final = "pong"
DONE: Final = "Done."
LOOK, ANSWER = STEPS = ("look", "answer")
"""The calls of a heartbeat, by how their ids begin."""
FULL: Final = Usage(input=900_000, output=1)
"""More than any model holds."""
LONGEST: Final = 300.0
"""Seconds that a day may take."""
DAWN: Final = datetime(2031, 5, 6, tzinfo=UTC)


class DayError(AssertionError):
    """The day did not go as it must."""


@dataclass(frozen=True, slots=True)
class Shape:
    """How busy the day is."""

    chats: int = 40
    heartbeats: int = 48
    speaking: tuple[int, ...] = (5, 15, 25, 35)
    """Numbers of the heartbeats that have something to tell."""
    fills: int = 25
    """The one of them after which the window is full, so that the chat that follows it begins with a compaction."""
    persona_units: int = 4_000
    skills: int = 20


@dataclass(slots=True)
class Seen:
    """A turn of the day and its requests to the model."""

    heartbeat: int | None
    """Its number; None for a chat."""
    requests: Sequence[RecordedRequest]


@dataclass(slots=True)
class Day:
    """A day that is over."""

    turns: list[Seen] = field(default_factory=list[Seen])

    @property
    def requests(self) -> list[RecordedRequest]:
        """All of them, in the order in which they were sent."""
        return [request for turn in self.turns for request in turn.requests]


class _Keeping:
    """A harness that takes no heartbeat back."""

    def __init__(self, inner: CodexHarness) -> None:
        self._inner = inner

    def start(self, request: TurnRequest) -> CodexTurn:
        return self._inner.start(replace(request, may_vanish=None))


def fill(workspace: Path, shape: Shape) -> None:
    """Write the workspace."""
    workspace.mkdir(parents=True)
    persona = f"{PERSONA} You are Pell, dry but kind. " + "You say what you mean, once. " * shape.persona_units
    (workspace / "SOUL.md").write_text(persona[: shape.persona_units], "utf-8")
    (workspace / "HEARTBEAT.md").write_text(f"{TASKS} - look at the greenhouse sensor\n", "utf-8")
    (workspace / "TOOLS.md").write_text("The printer is called Inkwell.\n", "utf-8")
    (workspace / "AGENTS.md").write_text("Keep answers short.\n", "utf-8")
    for number in range(shape.skills):
        path = workspace / "skills" / f"skill-{number:02}" / "SKILL.md"
        path.parent.mkdir(parents=True)
        path.write_text(f"---\nname: skill-{number:02}\ndescription: {'does a thing ' * 5}\n---\nBody.", "utf-8")


async def live(folder: Path, shape: Shape, *, take_back: bool) -> Day:
    """Run the day.

    Raises:
        DayError: A turn was not answered.
    """
    workspace = folder / "workspace"
    fill(workspace, shape)
    state = private_dir(agent_dir(folder, "main"))
    settings = plain_settings(workspace)
    day = Day()
    with ExitStack() as stack, anyio.fail_after(LONGEST):
        toolbox = StandardTools(settings, stack.enter_context(MemoryIndex(folder)))
        async with (
            loopback_model(_script(shape)) as model,
            bindings_at(state / "bridge.sqlite") as bindings,
            codex_harness(
                CodexSettings(Launch(find_codex(), own_home(folder, "main"), model.provider)), bindings
            ) as harness,
        ):
            agent = Agent(
                harness if take_back else _Keeping(harness), Gatherer(settings, HABITS), model=MODEL, toolbox=toolbox
            )
            key = _message(0).session_key(settings.id)
            for heartbeat, number in _order(shape):
                before = len(model.requests)
                if heartbeat:
                    poll = PollText(f"{POLL} {number:02}.")
                    beat = await agent.heartbeat(HeartbeatRun(key, poll), key=f"beat:{number}")
                    turn = beat.turn
                else:
                    turn = await agent.receive(_message(number))
                result = await turn.result()
                if result.outcome is not Outcome.ANSWERED:
                    raise DayError(f"{'heartbeat' if heartbeat else 'chat'} {number}: {result.error}")
                day.turns.append(Seen(number if heartbeat else None, list(model.requests[before:])))
    return day


def _order(shape: Shape) -> Iterator[tuple[bool, int]]:
    """Whether it is a heartbeat, and its number; the chats lie evenly between the heartbeats, the first before all."""
    chats = [(number * shape.heartbeats / shape.chats, False, number) for number in range(shape.chats)]
    beats = [(float(number), True, number) for number in range(shape.heartbeats)]
    for _, heartbeat, number in sorted(chats + beats):
        yield heartbeat, number


def _message(number: int) -> InboundMessage:
    return InboundMessage(
        channel="telegram",
        chat=Chat(ChatKind.DIRECT, "7"),
        sender=Sender("7", "Orrin"),
        message_id=str(number),
        text=f"ping {number}",
        sent_at=DAWN + timedelta(minutes=number),
    )


def _script(shape: Shape) -> Callable[[RecordedRequest], Action]:
    def script(request: RecordedRequest) -> Action:
        last = request.parts()[-1]
        beat = _beats(request)[-1:] if last.text != PONG else []
        if last.text.startswith("ping"):
            return say(PONG)
        if last.text.startswith(POLL):
            return Reply((CallTool("exec_command", {"cmd": "cat HEARTBEAT.md"}, call_id=f"{LOOK}-{beat[0]}"),))
        if TASKS in last.text:
            speaks = beat[0] in shape.speaking
            answer: Json = {
                "outcome": "needs_attention" if speaks else "no_change",
                "notify": speaks,
                "summary": "The greenhouse is at 38 degrees." if speaks else "All is well.",
                **({"notificationText": "The greenhouse is at 38 degrees."} if speaks else {}),
            }
            return Reply((CallTool("heartbeat_respond", answer, call_id=f"{ANSWER}-{beat[0]}"),))
        # What is left: the answer to a heartbeat that spoke, and the summary that a compaction asks for.
        full = beat[-1:] == [shape.fills] and last.kind == "function_call_output"
        return Reply((Say(DONE),), usage=FULL) if full else say(DONE)

    return script


def _beats(request: RecordedRequest) -> list[int]:
    """Numbers of the heartbeats that the request holds."""
    texts = [part.text for part in request.parts() if part.text.startswith(POLL)]
    return [int(text.removeprefix(POLL).strip(" .")) for text in texts]


# what the day must look like


@dataclass(slots=True)
class _Held:
    """What the conversation must hold by now."""

    first: RecordedRequest
    polls: list[int] = field(default_factory=list[int])
    """Heartbeats that spoke; what they were asked is kept by a compaction, as everything that was said last."""
    since: list[int] = field(default_factory=list[int])
    """Those that spoke since the last compaction, which keeps nothing else of them."""
    kept: RecordedRequest | None = None
    """The last request that stays in the conversation."""
    chat: RecordedRequest | None = None
    """The last request of a chat."""


def check(day: Day, shape: Shape) -> None:
    """Hold a day whose quiet heartbeats were taken back against what is promised.

    Raises:
        DayError: The first thing that is not so.
    """
    counted = [turn.heartbeat for turn in day.turns if turn.heartbeat is not None]
    chats = len(day.turns) - len(counted)
    _same("the day", (chats, counted), (shape.chats, list(range(shape.heartbeats))))
    held = _Held(day.requests[0])
    before: int | None = None
    for turn in day.turns:
        requests = turn.requests
        if before == shape.fills:
            _same("a turn that begins with a compaction", (turn.heartbeat, len(requests)), (None, 2))
            _begins(f"the compaction after heartbeat {before}", requests[0], held.kept)
            held.since, held.kept, held.chat = [], None, None
            requests = requests[1:]
        _check_turn(turn.heartbeat, requests, held, speaks=turn.heartbeat in shape.speaking)
        before = turn.heartbeat


def _check_turn(heartbeat: int | None, requests: Sequence[RecordedRequest], held: _Held, *, speaks: bool) -> None:
    name = "a chat" if heartbeat is None else f"heartbeat {heartbeat}"
    own = [] if heartbeat is None else [heartbeat]
    stays = heartbeat is None or speaks
    for request in requests:
        for part in ("tools", "instructions"):
            _same(f"{name}: {part}", encode(request.body.get(part)), encode(held.first.body.get(part)))
        _same(f"{name}: Codex's own instructions", encode(request.input[0]), encode(held.first.input[0]))
        _same(f"{name}: heartbeats in it", _beats(request), held.polls + own)
        _same(f"{name}: copies of the persona", _count(request, PERSONA), 1 + 2 * len(held.since) + len(own))
        _same(f"{name}: heartbeat guidance in it", _count(request, f"{HEARTBEAT_TITLE}\n"), len(held.since) + len(own))
        _begins(name, request, held.kept if stays else held.chat)
        if stays:
            held.kept = request
    last = requests[-1]
    if heartbeat is None:
        _same(f"{name}: readings of HEARTBEAT.md", _count(last, TASKS), len(held.since))
        _same(f"{name}: calls in it", _calls(last), [f"{kind}-{each}" for each in held.since for kind in STEPS])
        _same(
            f"{name}: what the agent said of heartbeats",
            set(_said(last)) - {PONG},
            {DONE} if held.since else set[str](),
        )
        _same(f"{name}: how often it did", _said(last).count(DONE), len(held.since))
        held.chat = last
    else:
        _same(f"{name}: readings of HEARTBEAT.md", _count(last, TASKS), 1 + len(held.since))
    if speaks:
        held.polls, held.since = held.polls + own, held.since + own


def _begins(name: str, request: RecordedRequest, base: RecordedRequest | None) -> None:
    if base is not None:
        _same(f"{name}: what was said before", encode(request.input[: len(base.input)]), encode(base.input))


def _calls(request: RecordedRequest) -> list[str]:
    items = [item for item in request.input if isinstance(item, dict) and item.get("type") == "function_call"]
    return [str(item.get("call_id")) for item in items]


def _said(request: RecordedRequest) -> list[str]:
    return [part.text for part in request.parts() if part.role == "assistant"]


def _same(what: str, found: object, expected: object) -> None:
    if found != expected:
        raise DayError(f"{what}: {str(found)[:200]} and not {str(expected)[:200]}")


def _count(request: RecordedRequest, marker: str) -> int:
    return sum(part.text.count(marker) for part in request.parts())


# what it took


@dataclass(frozen=True, slots=True)
class Bill:
    """What the model was sent in a day."""

    requests: int
    sent: int
    """Bytes of tools, instructions and input, of all requests."""
    instructions: int
    """Those of them that instruct: the top-level text and what the developer says, the mode's text among it."""
    reused: float
    """Share of `sent` that begins as an earlier request did, item for item: what a provider's cache can hold."""
    persona: int
    """Copies of the persona in the last request."""


def bill(day: Day) -> Bill:
    """Add a day up."""
    sent = instructions = reused = 0
    known: set[bytes] = set()
    for request in day.requests:
        texts = request.body.get("instructions")
        instructions += len(texts.encode()) if isinstance(texts, str) else 0
        instructions += sum(len(part.text.encode()) for part in request.parts() if part.role == "developer")
        prefix, matches = sha256(), True
        for piece in [request.body.get("tools"), texts, *request.input]:
            encoded = json.dumps(piece, ensure_ascii=False).encode()
            prefix.update(encoded)
            matches = matches and prefix.digest() in known
            known.add(prefix.digest())
            sent += len(encoded)
            reused += len(encoded) if matches else 0
    return Bill(len(day.requests), sent, instructions, reused / sent, _count(day.requests[-1], PERSONA))


def table(bills: dict[str, Bill]) -> str:
    """The days below each other."""
    lines = [f"{'':<28}{'requests':>9}{'sent, kB':>10}{'instructions, kB':>18}{'reused':>9}{'not reused, kB':>16}"]
    lines[0] += f"{'personas at last':>18}"
    for name, found in bills.items():
        fresh = found.sent * (1 - found.reused)
        lines.append(
            f"{name:<28}{found.requests:>9}{found.sent / 1e3:>10,.0f}{found.instructions / 1e3:>18,.0f}"
            f"{found.reused:>9.1%}{fresh / 1e3:>16,.0f}{found.persona:>18}"
        )
    return "\n".join(lines)


async def days(shape: Shape) -> dict[str, Bill]:
    """Run the day both ways.

    Raises:
        DayError: It did not go as it must.
    """
    found: dict[str, Bill] = {}
    private_dir(BUILD)
    for name, take_back in (("quiet heartbeats taken back", True), ("all heartbeats kept", False)):
        with tempfile.TemporaryDirectory(dir=BUILD) as folder:
            day = await live(Path(folder), shape, take_back=take_back)
        if take_back:
            check(day, shape)
        found[name] = bill(day)
    return found


def main() -> None:
    """Print the table."""
    shape = Shape()
    print(f"a day of {shape.chats} chats and {shape.heartbeats} heartbeats, {len(shape.speaking)} of which speak")
    try:
        found = anyio.run(days, shape)
    except DayError as error:
        sys.exit(f"The day did not go as it must: {error}.")
    print(table(found))


if __name__ == "__main__":
    main()
