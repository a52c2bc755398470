"""A real app-server with a scripted model, in one block."""

import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import anyio

from codex_bridge.binary import CodexBinary
from codex_bridge.bridge import COMPACTION_DEADLINE, HEARTBEAT_GRACE, CodexHarness, CodexSettings, codex_harness
from codex_bridge.capabilities import NOTHING_STATED, Stated
from codex_bridge.catalogue import CatalogueMode
from codex_bridge.catalogue_file import FILE, STAMP
from codex_bridge.deadlines import TURN_SECONDS, Limits
from codex_bridge.home import agent_dir, own_home, private_dir
from codex_bridge.idle import Rest
from codex_bridge.lanes import HABITS
from codex_bridge.loopback.model import LoopbackModel, loopback_model
from codex_bridge.loopback.recorder import RecordedRequest
from codex_bridge.loopback.script import Script
from codex_bridge.params import ThreadSettings
from codex_bridge.process import Launch
from codex_bridge.providers import Provider
from codex_bridge.turn import CodexTurn
from codex_bridge.watching import Clock
from codex_bridge.wire.requests import TurnStartParams
from harness.agent import Agent
from harness.gather import Gatherer
from harness.heartbeat.poll import PollText
from harness.heartbeat.run import HeartbeatRun, isolated_key
from harness.inbound import Chat, ChatKind, InboundMessage, Sender
from harness.plain import plain_settings
from harness.settings.agent import AgentSettings
from harness.store.bindings import Bindings, bindings_at
from harness.toolbox import Toolbox
from harness.turns import Notice, SubagentFinished, TurnEvent, TurnRequest, TurnResult

LIMIT = 30.0
"""Seconds that any wait of a real test may take; a turn needs a fifth of one."""
MODEL = "gpt-5.5"


@dataclass
class Stage:
    """What a real test plays on."""

    model: LoopbackModel
    harness: CodexHarness
    agent: Agent[CodexTurn]
    bindings: Bindings

    async def ask(self, text: str, *, chat: str = "7", number: str = "1") -> TurnResult:
        """Run one turn to its end."""
        turn = await self.agent.receive(message(text, chat=chat, number=number))
        return await turn.result()

    async def begin(self, text: str, *, chat: str = "7", number: str = "1") -> CodexTurn:
        """Begin a turn."""
        return await self.agent.receive(message(text, chat=chat, number=number))


def beat_of(text: str, turn: CodexTurn, *, light: bool = False, isolated: bool = False) -> HeartbeatRun:
    """A heartbeat with that poll in the conversation of `turn`, or beside it."""
    poll = PollText(text)
    key = turn.request.session_key
    return HeartbeatRun(isolated_key(key) if isolated else key, poll, light=light, isolated=isolated)


@asynccontextmanager
async def stage(
    codex: CodexBinary,
    state: Path,
    workspace: Path,
    script: Script,
    *,
    settings: ThreadSettings | None = None,
    model: str = MODEL,
    overrides: Sequence[tuple[str, str]] = (),
    catalogue: CatalogueMode = "auto",
    toolbox: Toolbox | None = None,
    store: str = "bridge.sqlite",
    agent: AgentSettings | None = None,
    on_late_subagent: Callable[[TurnRequest, SubagentFinished], None] = lambda request, event: None,
    heartbeat_grace: float = HEARTBEAT_GRACE,
    now: Callable[[], float] = time.time,
    rest: Rest = Rest(),  # noqa: B008 - frozen
    drain: float = 0.0,
    compaction_deadline: float = COMPACTION_DEADLINE,
    stated: Stated = NOTHING_STATED,
    turn_deadline: float = TURN_SECONDS,
    limits: Limits = Limits(),  # noqa: B008 - frozen
    provider: Provider | None = None,
    clock: Clock | None = None,
) -> AsyncGenerator[Stage]:
    """Run a harness on the real binary, by default on a stand-in for the model; everything is over within `LIMIT`."""
    folder, home = private_dir(agent_dir(state, "main")), own_home(state, "main")
    if not home.signed_in:  # an account has models of its own
        _bring_catalogue(codex, folder)
    with anyio.fail_after(LIMIT):
        async with loopback_model(script) as stand_in, bindings_at(folder / store) as bindings:
            launch = Launch(codex, home, provider or stand_in.provider, overrides, catalogue, stated=stated)
            how = CodexSettings(
                launch,
                threads=settings or ThreadSettings(),
                on_late_subagent=on_late_subagent,
                heartbeat_grace=heartbeat_grace,
                rest=rest,
                drain=drain,
                compaction_deadline=compaction_deadline,
                turn_deadline=turn_deadline,
                limits=limits,
            )
            async with codex_harness(how, bindings, now=now, clock=clock) as harness:
                yield Stage(
                    stand_in,
                    harness,
                    Agent(harness, Gatherer(agent or plain_settings(workspace), HABITS), model=model, toolbox=toolbox),
                    bindings,
                )
    if not home.signed_in:
        _keep_catalogue(codex, folder)


_CATALOGUES: dict[Path, dict[str, bytes]] = {}
"""The patched catalogue of each binary: to ask for it takes as long as half a turn, and it is the same each time."""


def _bring_catalogue(codex: CodexBinary, folder: Path) -> None:
    for name, content in _CATALOGUES.get(codex.path, {}).items():
        if not (folder / name).exists():
            (folder / name).write_bytes(content)


def _keep_catalogue(codex: CodexBinary, folder: Path) -> None:
    if codex.path not in _CATALOGUES and (folder / STAMP).is_file():
        _CATALOGUES[codex.path] = {name: (folder / name).read_bytes() for name in (FILE, STAMP)}


def message(text: str, *, chat: str = "7", number: str = "1") -> InboundMessage:
    """A message of the owner in a direct chat."""
    return InboundMessage(
        channel="telegram",
        chat=Chat(ChatKind.DIRECT, chat),
        sender=Sender(chat, "Orrin"),
        message_id=number,
        text=text,
        sent_at=datetime(2031, 5, 6, 7, 8, 9, tzinfo=UTC),
    )


def group_message(text: str, *, number: str = "1") -> InboundMessage:
    """A message in a group."""
    return replace(message(text, number=number), chat=Chat(ChatKind.GROUP, "-5"))


async def events_of(turn: CodexTurn) -> list[TurnEvent]:
    """Read a turn's events to the end."""
    return [event async for event in turn.events()]


async def notices_of(turn: CodexTurn) -> list[str]:
    """Read a turn to its end; gives what the operator was told."""
    return [event.text for event in await events_of(turn) if isinstance(event, Notice)]


def quoted(turn: CodexTurn) -> list[str]:
    """What the turn's request quoted as less than a person's words."""
    params = turn.sent[-1].params
    assert isinstance(params, TurnStartParams)
    return [entry.value for entry in (params.additional_context or {}).values() if entry.kind == "untrusted"]


def count(request: RecordedRequest, marker: str) -> int:
    """How often the model saw `marker` in one request."""
    return sum(part.text.count(marker) for part in request.parts())


def places(request: RecordedRequest, marker: str) -> list[str]:
    """Roles of the parts that hold `marker`; a mode message is "mode"."""
    return [
        "mode" if part.text.startswith("<collaboration_mode>") else part.role
        for part in request.parts()
        if marker in part.text
    ]
