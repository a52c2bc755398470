"""A gateway and its server that die between any two steps of a delivery: each message is answered once, or said to be
lost, and nothing is asked of the model twice."""

import os
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import pytest

from codex_bridge.binary import CodexBinary
from codex_bridge.client import Client
from codex_bridge.loopback.recorder import RecordedRequest
from codex_bridge.loopback.script import Action, BeginSaying, CallTool, Reply, Say, Script, Wait, say
from codex_bridge.rpc import Json, Notified
from harness.delivery.advice import BROKE_OFF, Fate, Looked
from harness.delivery.courier import Carried, Courier
from harness.delivery.payload import inbound_of, unpacked
from harness.delivery.starting import recover
from harness.replies.gate import ACTED
from harness.store.admitted import Admission, Inbound
from harness.store.deliveries import Deliveries
from harness.testing.outbox import RecordingOutbox
from harness.toolbox import ToolTurn
from harness.tools import Tool, ToolResult
from harness.turns import Outcome, TextDelta, TurnResult
from tests.support.real import LIMIT, Stage, message, stage

WORDS = "Is it late?"


@dataclass
class Gateway:
    """The few lines that a gateway is made of."""

    play: Stage
    deliveries: Deliveries
    courier: Courier
    ran: list[str] = field(default_factory=list[str])

    async def take_in(self, inbound: Inbound) -> Carried | None:
        if await self.deliveries.admit(inbound, running=True) is not Admission.NEW:
            return None
        told = unpacked(inbound.payload)
        assert told is not None
        self.ran.append(inbound.key)
        return await self.courier.carry(await self.play.agent.receive(told), inbound)

    async def receive(self, text: str, number: str) -> Carried | None:
        return await self.take_in(self.inbound(text, number))

    async def recover(self) -> None:
        async def run(inbound: Inbound) -> None:
            await self.take_in(inbound)

        await recover(self.deliveries, self.courier, run, self.play.harness, now=lambda: 1000.0)

    def inbound(self, text: str, number: str) -> Inbound:
        told = message(text, number=number)
        return inbound_of(told, told.session_key("main"), arrived_at=1000.0)

    def on(self, happens: Callable[[Notified], bool]) -> None:
        """Kill the server when that happens."""
        server = self.play.harness.server
        assert server is not None
        heard = getattr(self.play.harness, "_hearing")  # noqa: B009 - it is nobody else's
        take_in: Callable[[Notified], None] = heard._take_in

        def take(notification: Notified) -> None:
            if happens(notification):
                os.kill(server.pid, signal.SIGKILL)
            take_in(notification)

        heard._take_in = take


@asynccontextmanager
async def gateway(
    codex: CodexBinary,
    state: Path,
    workspace: Path,
    script: Callable[[RecordedRequest], Action],
    outbox: RecordingOutbox,
) -> AsyncGenerator[Gateway]:
    async with stage(codex, state, workspace, script) as play:
        deliveries = Deliveries(play.bindings.database)
        yield Gateway(play, deliveries, Courier(deliveries, outbox))


def answering(*actions: Action) -> Script:
    """Answer the message in this way, one request after the other, and everything else shortly."""
    left = list(actions)

    def script(request: RecordedRequest) -> Action:
        words = [part.text for part in request.parts() if part.role == "user"]
        return left.pop(0) if words[-1] == WORDS and left else say("Fine.")

    return script


async def die_in_the_middle(here: Gateway, happens: Callable[[Notified], bool]) -> None:
    """The server is killed when that happens, and the gateway with it: nothing of the turn's end reaches the ledger."""
    await here.receive("heron", "0")
    dead = anyio.Event()

    def noticed(notification: Notified) -> bool:
        if happens(notification):
            dead.set()
        return dead.is_set()

    here.on(noticed)
    async with anyio.create_task_group() as group:
        group.start_soon(here.receive, WORDS, "1")
        await dead.wait()
        group.cancel_scope.cancel()


def requests_for(here: Gateway) -> int:
    return sum(any(part.text == WORDS for part in request.parts()) for request in here.play.model.requests)


def is_item(kind: str) -> Callable[[Notified], bool]:
    def happens(notification: Notified) -> bool:
        item = notification.params.get("item")
        return notification.method == "item/completed" and isinstance(item, dict) and item.get("type") == kind

    return happens


async def test_an_answer_that_was_whole_when_everything_died_is_delivered_late_and_not_made_again(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    """A14."""
    outbox = RecordingOutbox()
    script = answering(Reply((Say("Two o'clock.", phase="final_answer"), Wait(anyio.Event()))))
    async with gateway(codex, state, workspace, script, outbox) as here:
        await die_in_the_middle(here, is_item("agentMessage"))
        assert requests_for(here) == 1
    async with gateway(codex, state, workspace, script, outbox) as here:
        await here.recover()
        await here.recover()
        assert (here.ran, requests_for(here), await here.deliveries.open()) == ([], 0, [])
    assert outbox.texts() == ["Fine.", "Two o'clock."]


async def test_a_message_that_never_reached_codex_runs_after_the_restart(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    outbox = RecordingOutbox()
    script = answering(say("Two o'clock."))
    async with gateway(codex, state, workspace, script, outbox) as here:
        await here.receive("heron", "0")
        await here.deliveries.admit(here.inbound(WORDS, "1"), running=True)
        await here.deliveries.admit(here.inbound("osprey", "2"))
    async with gateway(codex, state, workspace, script, outbox) as here:
        await here.recover()
        assert here.ran == ["telegram:7:1", "telegram:7:2"]
        assert await here.receive(WORDS, "1") is None
    assert outbox.texts() == ["Fine.", "Two o'clock.", "Fine."]


async def test_the_first_message_of_a_chat_that_never_reached_codex_runs_after_the_restart(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    outbox = RecordingOutbox()
    async with gateway(codex, state, workspace, answering(), outbox) as here:
        await here.deliveries.admit(here.inbound(WORDS, "1"), running=True)
    async with gateway(codex, state, workspace, answering(), outbox) as here:
        await here.recover()
        assert here.ran == ["telegram:7:1"]
    assert outbox.texts() == ["Fine."]


async def test_a_turn_that_ran_a_command_before_everything_died_is_told_of_once_and_not_run_again(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    outbox = RecordingOutbox()
    script = answering(
        Reply((CallTool("exec_command", {"cmd": "echo x >> made.txt"}),)),
        Reply((BeginSaying("It is", phase="final_answer"), Wait(anyio.Event()))),
    )
    async with gateway(codex, state, workspace, script, outbox) as here:
        await die_in_the_middle(here, is_item("commandExecution"))
    async with gateway(codex, state, workspace, script, outbox) as here:
        await here.recover()
        await here.recover()
        assert (here.ran, requests_for(here), await here.deliveries.open()) == ([], 0, [])
    assert (workspace / "made.txt").read_text() == "x\n"
    assert outbox.texts() == ["Fine.", f"{BROKE_OFF} {ACTED}"]


async def test_a_turn_that_had_only_begun_when_everything_died_is_told_of_once(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    outbox = RecordingOutbox()
    script = answering(Reply((Wait(anyio.Event()),)))
    async with gateway(codex, state, workspace, script, outbox) as here:
        await die_in_the_middle(here, is_item("userMessage"))
    async with gateway(codex, state, workspace, script, outbox) as here:
        await here.recover()
        assert here.ran == []
        await here.receive("osprey", "2")
    assert outbox.texts() == ["Fine.", BROKE_OFF, "Fine."]


async def test_a_turn_that_ended_just_before_the_gateway_died_is_delivered_late(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    outbox = RecordingOutbox()
    async with gateway(codex, state, workspace, answering(say("Two o'clock.")), outbox) as here:
        await here.deliveries.admit(here.inbound(WORDS, "1"), running=True)
        turn = await here.play.begin(WORDS, number="1")
        await turn.result()
    async with gateway(codex, state, workspace, answering(), outbox) as here:
        await here.recover()
        assert (here.ran, requests_for(here)) == ([], 0)
    assert outbox.texts() == ["Two o'clock."]


@pytest.mark.parametrize(
    ("said", "seen"), [("NO_REPLY", []), ("HEARTBEAT_OK", []), ("NOT yet, I think.", ["NOT yet, I think."])]
)
async def test_half_a_token_never_reaches_the_chat_while_the_model_speaks(
    codex: CodexBinary, state: Path, workspace: Path, said: str, seen: list[str]
) -> None:
    """T06."""
    outbox = RecordingOutbox()
    script = answering(say(said, pieces=len(said), pause=0.005, phase="final_answer"))
    async with gateway(codex, state, workspace, script, outbox) as here:
        await here.receive(WORDS, "1")
        assert await here.deliveries.open() == []
    assert outbox.texts() == seen
    assert all(said.startswith(text) and len(text) > 2 for _, text in outbox.seen)


class Shop:
    """A toolbox with one tool."""

    names = frozenset({"lamp"})

    def for_turn(self, turn: ToolTurn) -> tuple[Tool, ...]:
        del turn

        async def light(arguments: Mapping[str, Json]) -> ToolResult:
            raise NotImplementedError(str(arguments))

        return (Tool("lamp", "Light the lamp.", {"type": "object", "properties": {}}, light),)


async def test_a_turn_that_ran_aside_is_looked_for_in_no_other_thread(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    """A turn without tools runs in a thread that ends with it; the chat's own has never heard of it."""
    outbox = RecordingOutbox()
    script = answering(Reply((Wait(anyio.Event()),)))
    async with stage(codex, state, workspace, script, toolbox=Shop()) as play:
        await play.ask("heron", number="0")
    async with gateway(codex, state, workspace, script, outbox) as here, anyio.create_task_group() as group:
        group.start_soon(here.receive, WORDS, "1")
        await here.play.model.next_request()
        group.cancel_scope.cancel()
    async with gateway(codex, state, workspace, answering(), outbox) as here:
        await here.recover()
        assert (here.ran, requests_for(here)) == ([], 0)
    assert outbox.texts() == [BROKE_OFF]


async def test_what_was_said_into_a_turn_is_known_from_what_was_not(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    asked = anyio.Event()

    def script(request: RecordedRequest) -> Action:
        if any(part.text == "osprey" for part in request.parts()):
            return say("Both.")
        return Reply((Say("Two o'clock.", phase="final_answer"), Wait(asked)))

    async with gateway(codex, state, workspace, script, RecordingOutbox()) as here:
        turn = await here.play.begin(WORDS, number="1")
        async for event in turn.events():
            if isinstance(event, TextDelta):
                break
        async with anyio.create_task_group() as group:
            group.start_soon(turn.steer, here.play.agent.joining(message("osprey", number="2")), "telegram:7:2")
            await anyio.wait_all_tasks_blocked()
            asked.set()
        result = await turn.result()
        key = message("").session_key("main")
        looked = await here.play.harness.reconcile(key, "telegram:7:1", steered=("telegram:7:2", "telegram:7:3"))
        absent = await here.play.harness.reconcile(key, "telegram:7:9")
        elsewhere = await here.play.harness.reconcile(key, "telegram:7:9", conversation=result.conversation[::-1])
    assert isinstance(looked.found, TurnResult)
    assert (looked.found.outcome, looked.found.text, looked.found.earlier) == (
        Outcome.ANSWERED,
        "Both.",
        result.earlier,
    )
    assert (looked.found.conversation, looked.found.turn) == (result.conversation, result.turn)
    assert looked.lacking == {"telegram:7:3"}
    assert (absent, elsewhere) == (Looked(Fate.NEVER_BEGAN), Looked(Fate.UNKNOWN))


GATEWAY = """
import sys
import time
from pathlib import Path

import anyio

from codex_bridge.binary import CodexBinary
from harness.testing.outbox import RecordingOutbox
from tests.real.test_deliveries import MOMENTS, WORDS, gateway

path, state, workspace, moment = sys.argv[1:]
script, happens = MOMENTS[moment]


def ready(pid):
    print(pid, flush=True)
    time.sleep(60)


async def run():
    outbox = RecordingOutbox()
    async with gateway(CodexBinary(Path(path), "the test"), Path(state), Path(workspace), script(), outbox) as here:
        await here.receive("heron", "0")
        assert outbox.texts() == ["Fine."]
        pid = here.play.harness.server.pid
        if happens is None:
            await here.deliveries.admit(here.inbound(WORDS, "1"), running=True)
            ready(pid)
        here.on(lambda notification: happens(notification) and ready(pid))
        await here.receive(WORDS, "1")


anyio.run(run)
"""
MOMENTS: dict[str, tuple[Callable[[], Script], Callable[[Notified], bool] | None]] = {
    "before it was handed over": (lambda: answering(), None),
    "as the answer was whole": (
        lambda: answering(Reply((Say("Two o'clock.", phase="final_answer"), Wait(anyio.Event())))),
        is_item("agentMessage"),
    ),
    "after a command": (
        lambda: answering(
            Reply((CallTool("exec_command", {"cmd": "echo x >> made.txt"}),)), Reply((Wait(anyio.Event()),))
        ),
        is_item("commandExecution"),
    ),
}
"""What the model says, and the moment at which the gateway and its server are killed; None: before turn/start."""


def killed_gateway(codex: CodexBinary, state: Path, workspace: Path, moment: str) -> None:
    """Run a gateway in a process of its own, and kill it with its server at that moment."""
    arguments = [str(codex.path), str(state), str(workspace), moment]
    with subprocess.Popen([sys.executable, "-c", GATEWAY, *arguments], stdout=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout is not None
            server = int(child.stdout.readline())
            os.kill(server, signal.SIGKILL)
        finally:
            child.kill()


@pytest.mark.parametrize(
    ("moment", "told", "asked"),
    [
        ("before it was handed over", "Fine.", 1),
        ("as the answer was whole", "Two o'clock.", 0),
        ("after a command", f"{BROKE_OFF} {ACTED}", 0),
    ],
)
async def test_a_gateway_that_is_killed_with_its_server_makes_up_for_it_once(
    codex: CodexBinary, state: Path, workspace: Path, moment: str, told: str, asked: int
) -> None:
    """A14: kill -9 of both."""
    with anyio.fail_after(LIMIT):
        await anyio.to_thread.run_sync(killed_gateway, codex, state, workspace, moment)
    outbox = RecordingOutbox()
    for _ in range(2):
        async with gateway(codex, state, workspace, answering(), outbox) as here:
            await here.recover()
            assert await here.deliveries.open() == []
            assert requests_for(here) == asked
            asked = 0
    assert outbox.texts() == [told]


@pytest.mark.parametrize("lost", ["its file", "the server"])
async def test_what_cannot_be_looked_up_is_not_taken_for_a_turn_that_never_began(
    codex: CodexBinary, state: Path, workspace: Path, lost: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = message("").session_key("main")
    async with gateway(codex, state, workspace, answering(), RecordingOutbox()) as here:
        await here.receive(WORDS, "1")
    if lost == "its file":
        for path in state.rglob("rollout-*"):
            path.unlink()
        for path in state.rglob("*.sqlite*"):
            if "codex-home" in path.parts:
                path.unlink()
    async with gateway(codex, state, workspace, answering(), RecordingOutbox()) as here:
        if lost == "the server":
            await here.play.harness.ready()

            async def call(self: Client, *_: object, **__: object) -> object:
                raise_lost(self)

            monkeypatch.setattr(Client, "call", call)
        looked = await here.play.harness.reconcile(key, "telegram:7:2")
        monkeypatch.undo()
    assert looked == Looked(Fate.UNKNOWN if lost == "its file" else Fate.UNREACHABLE)


def raise_lost(client: Client) -> None:
    from codex_bridge.errors import ConnectionLostError

    raise ConnectionLostError("it was killed by SIGKILL", doing=str(client))
