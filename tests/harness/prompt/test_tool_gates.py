"""No turn hears of a tool that it does not have, nor of two ways to say nothing, whatever its tools are (F7)."""

import re
from dataclasses import replace
from datetime import UTC, datetime
from itertools import chain, combinations, product
from pathlib import Path

import pytest

from harness.agent import Agent
from harness.gather import Gatherer
from harness.habits import Habits
from harness.heartbeat import BasePoll, Place, plan_run
from harness.inbound import Chat, ChatKind, InboundMessage, Sender
from harness.layers import Trust
from harness.plain import plain_settings
from harness.prompt.tool_list import CORE
from harness.settings.agent import ReplySettings, VisibleReplies
from harness.toolbox import ToolTurn
from harness.tools import Tool
from tests.support.untouched import Recording

CODEX = Habits(
    reads_agents_file=True,
    points_to_heartbeat_file=True,
    replaces_memory_file=True,
    keeps_what_it_was_told=True,
    hears_of_chats_by_layer=True,
    marks_missing_files=False,
)
OURS = ("memory_search", "memory_get", "heartbeat_respond", "message", "session_status")
KNOWN = {*CORE, *OURS, "tool_search", "update_plan"}
SETS = [frozenset(each) for each in chain.from_iterable(combinations(OURS, size) for size in range(len(OURS) + 1))]
TOKENS = ("NO_REPLY", "HEARTBEAT_OK", "heartbeat_respond", "send nothing")
"""By what each way to say nothing is known."""
DIRECT = InboundMessage(
    "telegram", Chat(ChatKind.DIRECT, "7"), Sender("7", "Orrin"), "9", "hi", datetime(2031, 5, 6, tzinfo=UTC)
)
GROUP = replace(DIRECT, chat=Chat(ChatKind.GROUP, "-9"))


class Named:
    """A toolbox of which only the names count."""

    def __init__(self, names: frozenset[str]) -> None:
        self.names = names

    def for_turn(self, turn: ToolTurn) -> tuple[Tool, ...]:
        return ()


async def said(workspace: Path, tools: frozenset[str], visible: VisibleReplies | None, cause: str) -> str:
    """All that the gateway itself tells the model on a turn."""
    replies = ReplySettings(visible=visible, group_visible=visible)
    settings = replace(plain_settings(workspace), replies=replies)
    agent = Agent(Recording(), Gatherer(settings, CODEX), toolbox=Named(tools))
    match cause:
        case "heartbeat":
            run = plan_run(
                settings.heartbeat,
                BasePoll(),
                place=Place(session_key="agent:main:main"),
                ack=agent.ack,
                file_path=str(workspace / "HEARTBEAT.md"),
            )
            turn = (await agent.heartbeat(run, key="h")).turn
        case "schedule":
            turn = await agent.scheduled("Count.", session_key="agent:main:cron:count", key="job:1")
        case _:
            turn = await agent.receive(GROUP if cause == "group" else DIRECT)
    layers = turn.request.composition.layers
    return "\n\n".join(layer.text for layer in layers if layer.trust is Trust.OPERATOR)


@pytest.mark.parametrize("cause", ["direct", "group", "heartbeat", "schedule"])
async def test_a_turn_hears_of_its_own_tools_and_of_one_way_to_say_nothing(tmp_path: Path, cause: str) -> None:
    for name in ("MEMORY.md", "HEARTBEAT.md"):
        (tmp_path / name).write_text("Look at the vents.", encoding="utf-8")
    visibles: tuple[VisibleReplies | None, ...] = (None, "automatic", "message_tool")
    for tools, visible in product(SETS, visibles):
        text = await said(tmp_path, tools, visible, cause)
        named = {word for word in re.findall(r"\w+", text) if "_" in word and word in KNOWN}
        named |= set(re.findall(r"`(\w+)`", text)) & KNOWN
        ways = [token for token in TOKENS if token in text]
        only = visible == "message_tool" and "message" in tools
        expected = {
            "direct": [],
            "group": ["send nothing"] if only else ["NO_REPLY"],
            "heartbeat": ["heartbeat_respond"] if "heartbeat_respond" in tools else ["HEARTBEAT_OK"],
            "schedule": [],
        }[cause]
        assert (named - tools, ways) == (set(), expected), (sorted(tools), visible, text)


@pytest.mark.parametrize(("tools", "only"), [(frozenset({"message"}), True), (frozenset[str](), False)])
async def test_a_direct_chat_is_told_when_only_the_message_tool_is_seen(
    tmp_path: Path, tools: frozenset[str], only: bool
) -> None:
    """G1: without the tool an answer is delivered, and nothing is said of it."""
    text = await said(tmp_path, tools, "message_tool", "direct")
    assert ("Answer every message with `message`; nothing else is seen." in text) is only
