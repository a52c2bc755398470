from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from harness.agent import Agent
from harness.errors import WorkspaceError
from harness.gather import Gatherer
from harness.habits import Habits
from harness.inbound import Chat, ChatKind, InboundMessage, Sender
from harness.layers import LayerName
from harness.memory.access import Audience
from harness.plain import plain_settings
from harness.turns import Trigger, TurnEvent, TurnRequest, TurnResult

MESSAGE = InboundMessage(
    "telegram", Chat(ChatKind.DIRECT, "7"), Sender("7", "Orrin"), "9", "hi", datetime(2031, 5, 6, tzinfo=UTC)
)


def gatherer(workspace: Path, agent: str = "main") -> Gatherer:
    return Gatherer(plain_settings(workspace, agent), Habits(), now=lambda: datetime(2031, 5, 6, 7, 8, tzinfo=UTC))


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
    agent = Agent(Recording(), gatherer(tmp_path, "pell"), model="gpt-5.5", effort="low")
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
    agent = Agent(Recording(), gatherer(tmp_path / "nowhere"))
    with pytest.raises(WorkspaceError, match=r"The workspace .*/nowhere is no folder; create it or name another\."):
        await agent.receive(MESSAGE)


async def test_a_bare_new_begins_a_fresh_conversation_with_the_gateways_own_words(tmp_path: Path) -> None:
    """S59."""
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "2031-05-06.md").write_text("The lens was polished.", encoding="utf-8")
    agent = Agent(Recording(), gatherer(tmp_path))
    request = (await agent.receive(replace(MESSAGE, text=" /new "))).request
    words = request.composition.get(LayerName.USER_TEXT)
    assert request.fresh
    assert words is not None
    assert "The lens was polished." in words.text
    assert "/new" not in words.text
    assert not (await agent.receive(replace(MESSAGE, text="/new start"))).request.fresh


@pytest.mark.parametrize(
    ("kind", "owners", "audience"),
    [
        (ChatKind.DIRECT, None, Audience.OWNER),
        (ChatKind.DIRECT, frozenset({"7"}), Audience.OWNER),
        (ChatKind.DIRECT, frozenset({"8"}), Audience.OTHER_DIRECT),
        (ChatKind.GROUP, frozenset({"7"}), Audience.GROUP),
        (ChatKind.GROUP, None, Audience.GROUP),
    ],
)
async def test_only_the_owners_direct_chat_hears_the_memory(
    tmp_path: Path, kind: ChatKind, owners: frozenset[str] | None, audience: Audience
) -> None:
    """S54, S55; one link to the memory is the side door that has to stay shut."""
    (tmp_path / "MEMORY.md").write_text("The boat is blue.", encoding="utf-8")
    (tmp_path / "SOUL.md").symlink_to("MEMORY.md")
    agent = Agent(Recording(), gatherer(tmp_path), owners=owners)
    message = replace(MESSAGE, chat=Chat(kind, "7"))
    composition = (await agent.receive(message)).request.composition
    carried = [layer.name for layer in composition.layers if "The boat is blue." in layer.text]
    assert agent.audience(message) is audience
    assert carried == ([LayerName.MEMORY] if audience is Audience.OWNER else [])


async def test_a_stranger_does_not_continue_what_was_said_to_the_owner(tmp_path: Path) -> None:
    """The same chat, after the owner's list changed or an account changed hands: the thread holds the memory."""
    keys = [
        (await Agent(Recording(), gatherer(tmp_path), owners=frozenset({owner})).receive(MESSAGE)).request.session_key
        for owner in ("7", "8")
    ]
    assert keys == ["agent:main:telegram:direct:7", "agent:main:telegram:direct:7:other"]
