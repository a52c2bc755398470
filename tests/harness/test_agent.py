from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from harness.agent import Agent
from harness.errors import WorkspaceError
from harness.inbound import Chat, ChatKind, InboundMessage, Sender
from harness.layers import LayerName
from harness.turns import Trigger, TurnEvent, TurnRequest, TurnResult

MESSAGE = InboundMessage(
    "telegram", Chat(ChatKind.DIRECT, "7"), Sender("7", "Orrin"), "9", "hi", datetime(2031, 5, 6, tzinfo=UTC)
)


class Noted:
    """A turn that is only looked at."""

    def __init__(self, request: TurnRequest) -> None:
        self.request = request

    def events(self) -> AsyncIterator[TurnEvent]:
        raise NotImplementedError

    async def result(self) -> TurnResult:
        raise NotImplementedError

    async def interrupt(self) -> None:
        raise NotImplementedError


class Recording:
    """A backend that keeps the requests it is given."""

    def start(self, request: TurnRequest) -> Noted:
        return Noted(request)


async def test_a_message_becomes_a_request_with_the_workspace_as_it_is_now(tmp_path: Path) -> None:
    (tmp_path / "SOUL.md").write_text("dry", encoding="utf-8")
    agent = Agent(Recording(), tmp_path, id="pell", model="gpt-5.5", effort="low")
    first = (await agent.receive(MESSAGE)).request
    (tmp_path / "SOUL.md").write_text("dry but kind", encoding="utf-8")
    second = (await agent.receive(MESSAGE)).request
    souls = [request.composition.get(LayerName.SOUL) for request in (first, second)]
    assert [soul and soul.text for soul in souls] == ["dry", "dry but kind"]
    assert first == TurnRequest(
        agent="pell",
        session_key="agent:pell:telegram:direct:7",
        trigger=Trigger.CHAT,
        composition=first.composition,
        workspace=tmp_path,
        message_key="telegram:7:9",
        model="gpt-5.5",
        effort="low",
    )


async def test_a_workspace_that_is_not_there_is_named(tmp_path: Path) -> None:
    agent = Agent(Recording(), tmp_path / "nowhere")
    with pytest.raises(WorkspaceError, match=r"The workspace .*/nowhere is no folder; create it or name another\."):
        await agent.receive(MESSAGE)
