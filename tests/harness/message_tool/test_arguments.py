"""What a call of `message` says, read and refused."""

from typing import cast

import pytest

from harness.delivery.outbox import Button
from harness.json_value import Json
from harness.message_tool.arguments import DESCRIPTION, SCHEMA, Action, Wish, read_wish

SEND: dict[str, Json] = {"action": "send", "message": "Hi."}


def test_a_full_call_is_read() -> None:
    call: dict[str, Json] = {
        "action": "send",
        "channel": " Telegram ",
        "target": -100,
        "threadId": "7",
        "message": "  Hi.\n",
        "media": ["boat.png"],
        "asVoice": True,
        "buttons": [[{"text": "Yes", "data": "y"}, {"text": " No "}], []],
        "replyTo": "5",
        "messageId": None,
        "final": True,
    }
    assert read_wish(call) == Wish(
        action=Action.SEND,
        channel="telegram",
        target="-100",
        topic="7",
        text="  Hi.\n",
        media=("boat.png",),
        voice=True,
        buttons=((Button("Yes", "y"), Button("No", "No")),),
        message="5",
        final=True,
    )


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"action": "shout"}, "action must be one of send, reply, react, edit, delete."),
        ({"to": "me"}, "'to' is no argument of message; it takes action, asVoice, buttons, channel, emoji, final, "
                       "media, message, messageId, remove, replyTo, target, threadId."),
        ({"message": ["Hi."]}, "message must be a text."),
        ({"message": " "}, "send needs a text under message, or media."),
        ({"message": "x" * 100_001},
         "message is too long for a chat: at most 100,000 characters. Send a file instead."),
        ({"channel": "discord"},
         "channel names another chat only together with target; leave both out for the chat of this turn."),
        ({"target": "a\nb"}, "target is no id: it has more than 256 characters, or some that cannot be seen."),
        ({"messageId": "1", "replyTo": "2"}, "Give messageId or replyTo, not both."),
        ({"final": "yes"}, "final must be true or false."),
        ({"media": {"path": "a"}}, "media must be a list of paths or addresses."),
        ({"media": ["a", 1]}, "media must be a list of paths or addresses."),
        ({"media": ["a"] * 11}, "media has more than 10 files; send the others with another message."),
        ({"action": "react"}, "react needs one emoji."),
        ({"action": "react", "emoji": "🌿", "final": True}, "final goes with send and reply, not with react."),
        ({"action": "edit"}, "edit needs messageId: the id that the earlier send gave."),
        ({"action": "edit", "messageId": "1", "message": ""}, "edit needs the new text under message."),
        ({"action": "delete", "replyTo": "1"}, "delete needs messageId: the id that the earlier send gave."),
        ({"buttons": [{"text": "Yes"}]}, "buttons must be a list of rows, and a row a list of buttons."),
        ({"buttons": [["Yes"]]}, "A button is an object with text, and data if that is to be something else."),
        ({"buttons": [[{"text": " "}]]}, "A button needs a text of one line, at most 64 characters."),
        ({"buttons": [[{"text": "Yes", "data": ""}]]}, "The data of the button 'Yes' must be a text of one line."),
        ({"buttons": [[{"text": "Yes", "data": "é" * 33}]]},
         "The data of the button 'Yes' has more than 64 bytes; give it a shorter data."),
        ({"buttons": [[{"text": "Yes", "data": "ask:1:once"}]]},
         "The data of the button 'Yes' begins like something that is said to the gateway; change it."),
        ({"buttons": [[{"text": "/stop"}]]},
         "The data of the button '/stop' begins like something that is said to the gateway; change it."),
        ({"buttons": [[{"text": "a"}] * 6]}, "A row of buttons has at most 5."),
        ({"buttons": [[{"text": "a"}]] * 11}, "There are at most 10 rows of buttons."),
    ],
)  # fmt: skip
def test_a_wrong_call_is_answered_with_what_is_wrong(change: dict[str, Json], problem: str) -> None:
    assert read_wish({**SEND, **change}) == problem


def test_nothing_that_the_model_is_told_of_it_names_a_channel() -> None:
    told = f"{DESCRIPTION} {cast('object', SCHEMA)}".lower()
    assert [name for name in ("telegram", "discord", "slack", "whatsapp", "webchat") if name in told] == []
