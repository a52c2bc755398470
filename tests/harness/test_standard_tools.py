"""Which tools every agent has, and which only by its configuration or model."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from harness.heartbeat.response import HeartbeatResponder
from harness.memory.access import Closed, Open
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

ALWAYS = {"memory_search", "memory_get", "heartbeat_respond"}


class Telling:
    """A backend that nobody asks."""

    async def session_facts(self, session_key: str, message_key: str = "") -> SessionFacts:
        raise NotImplementedError

    def cannot_run(self, model: str) -> str:
        raise NotImplementedError


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


def test_no_tool_is_described_by_what_changes_between_turns(index: MemoryIndex, tmp_path: Path) -> None:
    """The list of tools is registered once for a conversation: a word of a channel in it would begin a new one."""
    toolbox = StandardTools(planning(plain_settings(tmp_path), True, None), index)
    turns = [
        ToolTurn(access=access, responder=HeartbeatResponder(active=active))
        for access in (Open(), Closed("this is a group"))
        for active in (False, True)
    ]
    said = [
        [(tool.name, tool.description, repr(tool.input_schema)) for tool in toolbox.for_turn(turn)] for turn in turns
    ]
    assert said == [said[0]] * len(turns)
    words = repr(said[0]).lower()
    assert [word for word in ("telegram", "discord", "slack", "whatsapp", str(tmp_path).lower()) if word in words] == []
