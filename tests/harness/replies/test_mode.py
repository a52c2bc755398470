import itertools

from harness.inbound import ChatKind
from harness.replies.mode import Delivery, delivery_mode
from harness.settings.agent import ReplySettings, VisibleReplies
from harness.turns import Trigger

WITH, WITHOUT = frozenset({"message", "memory_get"}), frozenset({"memory_get"})
WISHES: tuple[VisibleReplies | None, ...] = (None, "automatic", "message_tool")


def test_nothing_is_left_to_the_message_tool_but_a_chat_s_answer_that_is_configured_so_and_has_the_tool() -> None:
    only = {
        (visible, group, kind, tools, trigger)
        for visible, group, kind, tools, trigger in itertools.product(
            WISHES, WISHES, (None, *ChatKind), (WITH, WITHOUT), Trigger
        )
        if delivery_mode(ReplySettings(visible=visible, group_visible=group), kind, tools=tools, trigger=trigger)
        is Delivery.TOOL_ONLY
    }

    direct = {("message_tool", group, ChatKind.DIRECT, WITH, Trigger.CHAT) for group in WISHES}
    groups = {(visible, "message_tool", ChatKind.GROUP, WITH, Trigger.CHAT) for visible in WISHES}
    assert only == direct | groups


def test_an_answer_is_delivered_where_nothing_is_configured() -> None:
    assert delivery_mode(ReplySettings(), ChatKind.GROUP, tools=WITH) is Delivery.AUTOMATIC
