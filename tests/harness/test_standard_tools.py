"""Which tools every agent has, and which only by its configuration or model."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from itertools import product
from pathlib import Path

import pytest

from harness.agent import Agent
from harness.gather import Gatherer
from harness.habits import Habits
from harness.heartbeat import HeartbeatRun, PollText
from harness.heartbeat.response import HeartbeatResponder
from harness.inbound import Chat, ChatKind, InboundMessage, Sender
from harness.memory.access import Open
from harness.memory.index import MemoryIndex
from harness.message_tool.tool import Messaging
from harness.plain import plain_settings
from harness.session_facts import SessionFacts
from harness.session_models import SessionModels
from harness.session_status import Picked, StatusSource
from harness.settings.agent import AgentSettings, ModelSettings, ToolSettings
from harness.standard_tools import StandardTools
from harness.testing.outbox import RecordingOutbox
from harness.toolbox import ToolTurn
from tests.support.untouched import Noted, Recording

ALWAYS = {"memory_search", "memory_get", "heartbeat_respond"}


class Telling:
    """A backend that runs every model, and is asked nothing else."""

    async def session_facts(self, session_key: str, message_key: str = "") -> SessionFacts:
        raise NotImplementedError

    def cannot_run(self, model: str) -> str:
        return ""


@pytest.fixture
def index(tmp_path: Path) -> Iterator[MemoryIndex]:
    with MemoryIndex(tmp_path) as opened:
        yield opened


def planning(settings: AgentSettings, chosen: bool | None, model: str | None) -> AgentSettings:
    return replace(settings, tools=ToolSettings(plan_tool=chosen), models=ModelSettings(primary=model))


@pytest.mark.parametrize(
    ("chosen", "configured", "used", "offered"),
    [
        (True, None, None, True),
        (None, "openai/gpt-5.5", None, True),
        (None, "openai/gpt-5.5", "acme/rocket", False),
        (None, None, None, False),
        (False, "openai/gpt-5.5", None, False),
    ],
)
def test_a_plan_is_a_tool_of_the_agent_where_it_is_offered(
    index: MemoryIndex, tmp_path: Path, chosen: bool | None, configured: str | None, used: str | None, offered: bool
) -> None:
    """S12: by the setting, or by the model that is used."""
    toolbox = StandardTools(planning(plain_settings(tmp_path), chosen, configured), index, model=used)
    for active in (False, True):
        turn = ToolTurn(access=Open(), responder=HeartbeatResponder(active=active))
        assert {tool.name for tool in toolbox.for_turn(turn)} == toolbox.names
    assert toolbox.names == (ALWAYS | {"update_plan"} if offered else ALWAYS)


def test_the_status_is_a_tool_where_the_backend_tells_of_conversations(index: MemoryIndex, tmp_path: Path) -> None:
    status = StatusSource(backend=Telling(), models=SessionModels(), pick=Picked)
    toolbox = StandardTools(plain_settings(tmp_path), index, status=status)
    turn = ToolTurn(access=Open(), responder=HeartbeatResponder(active=False))
    assert {tool.name for tool in toolbox.for_turn(turn)} == toolbox.names == ALWAYS | {"session_status"}


def test_messages_are_a_tool_of_an_agent_that_has_a_way_to_the_chats(index: MemoryIndex, tmp_path: Path) -> None:
    toolbox = StandardTools(plain_settings(tmp_path), index, messaging=Messaging(outbox=RecordingOutbox()))
    turn = ToolTurn(access=Open(), responder=HeartbeatResponder(active=False))
    assert {tool.name for tool in toolbox.for_turn(turn)} == toolbox.names == ALWAYS | {"message"}


CHANNELS = ("telegram", "discord", "slack", "whatsapp")


def messages() -> Iterator[InboundMessage]:
    """Of two people in chats of all kinds on all channels."""
    for number, (channel, kind, who) in enumerate(product(CHANNELS, ChatKind, ("Orrin", "Sabine"))):
        chat, at = Chat(kind, f"-10{number}", f"Boats of {who}"), datetime(2031, 5, 6, number, tzinfo=UTC)
        yield InboundMessage(channel, chat, Sender(who, who), str(number), "hi", at, topic="77" if number % 2 else "")


async def test_no_tool_is_described_by_what_changes_between_turns(index: MemoryIndex, tmp_path: Path) -> None:
    """The list of tools is registered once for a conversation: a word of a channel in it would begin a new one."""
    (tmp_path / "MEMORY.md").write_text("The boat is blue.", "utf-8")
    settings = planning(plain_settings(tmp_path), True, None)
    outbox, models = RecordingOutbox(), SessionModels()
    status = StatusSource(backend=Telling(), models=models, pick=Picked)
    toolbox = StandardTools(settings, index, messaging=Messaging(outbox=outbox), status=status)
    agent = Agent(Recording(), Gatherer(settings, Habits()), toolbox=toolbox, owners=frozenset({"Orrin"}))
    said: list[bytes] = []

    async def tell(turn: Noted) -> None:
        tools = turn.request.tools
        said.append(repr([(tool.name, tool.description, tool.input_schema, tool.namespace) for tool in tools]).encode())
        named = {tool.name: tool for tool in tools}
        await named["session_status"].call({"model": f"gpt-{len(said)}"})
        await named["message"].call({"action": "send", "message": f"Word {len(said)}."})

    for message in messages():
        await tell(await agent.receive(message))
    poll = PollText("Look around.")
    for shared in (False, True):
        run = HeartbeatRun("agent:main:main", poll, light=False, isolated=False, shared=shared)
        await tell((await agent.heartbeat(run, key=f"beat:{shared}")).turn)
    for light in (False, True):
        await tell(
            await agent.scheduled("Water the ferns.", session_key="agent:main:cron:1", key=f"c:{light}", light=light)
        )
    assert len(outbox.messages) > len(CHANNELS) * len(ChatKind)
    assert models.of("agent:main:telegram:direct:-100") == "gpt-1"
    assert set(said) == {said[0]}
    assert {name for name in toolbox.names if repr(name).encode() in said[0]} == ALWAYS | {
        "message",
        "session_status",
        "update_plan",
    }
    changing = (*CHANNELS, str(tmp_path), "orrin", "sabine", "boats", "gpt-", "2031", "-10")
    assert [word for word in changing if word.encode() in said[0].lower()] == []
