"""What the model is told of `message`, and what it asks for with it.

Pure. Nothing here names a channel or changes between turns. Names of arguments are those of the original gateway.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from harness.delivery.outbox import Button
from harness.json_value import Json
from harness.lean_values import dataclass
from harness.replies.mode import MESSAGE_TOOL
from harness.tools import strange_argument

MOST_MEDIA: Final = 10
"""Files of one message, which is what Telegram takes as one album."""
MOST_ROWS: Final = 10
MOST_IN_A_ROW: Final = 5
"""What Discord shows of buttons is 5 rows of 5; more rows are for channels that scroll."""
MOST_DATA: Final = 64
"""Bytes that come back from a button, see `Button.data`."""
LONGEST_LABEL: Final = 64
LONGEST_EMOJI: Final = 64
LONGEST_ID: Final = 256
LONGEST_TEXT: Final = 100_000
"""UTF-16 units or fewer; far more than a chat wants to read."""
NOT_FOR_BUTTONS: Final = ("ask:", "/")
"""How data begins that means something to the gateway: no button of the agent's may pass for one of the gateway's."""


class Action(StrEnum):
    """What is to be done."""

    SEND = "send"
    REPLY = "reply"
    REACT = "react"
    EDIT = "edit"
    DELETE = "delete"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """A call that makes sense by itself; whether it may be done is another question."""

    action: Action
    channel: str = ""
    """In lower case; empty for that of the turn's own chat."""
    target: str = ""
    """The chat; empty for the turn's own."""
    topic: str = ""
    text: str = ""
    media: tuple[str, ...] = ()
    voice: bool = False
    buttons: tuple[tuple[Button, ...], ...] = ()
    message: str = ""
    """The message that is answered, reacted to, changed or taken back; empty for the one that the turn answers."""
    emoji: str = ""
    removed: bool = False
    final: bool = False


DESCRIPTION: Final = (
    "Speaks in chats. Left to itself, what you answer at the end of a turn is delivered, so use this for what an "
    "answer cannot do: a word in between, a file or voice message, buttons, a reaction, another chat, or where you "
    "are told that only this tool is seen. Without target it means the chat of this turn; another chat is named by "
    "channel and target, and only some may be written to. Say nothing twice: what was sent here is not to be repeated "
    "in your answer. When you have sent all there is to say, set final."
)

_STRINGS: Final[tuple[tuple[str, str], ...]] = (
    ("channel", "The name of a channel; only together with target."),
    ("target", "The channel's id of a chat."),
    ("threadId", "The channel's id of a topic or thread in the chat."),
    ("message", "The text, for send, reply and edit."),
    ("replyTo", "The id of the message that a send answers."),
    ("messageId", "The id of the message for reply, react, edit and delete; for reply and react by default the one "
     "that this turn answers."),
    ("emoji", "The emoji of a reaction."),
)  # fmt: skip
_FLAGS: Final[tuple[tuple[str, str], ...]] = (
    ("asVoice", "The sound file is a voice message."),
    ("remove", "Take the reaction away instead."),
    ("final", "Nothing is left to say or do: the turn ends with this message in its own chat."),
)
SCHEMA: Final[Mapping[str, Json]] = {
    "type": "object",
    "properties": {
        "action": {"type": "string", "enum": [each.value for each in Action]},
        **{name: {"type": "string", "description": text} for name, text in _STRINGS},
        "media": {
            "type": "array",
            "items": {"type": "string"},
            "description": "Paths of files in the workspace, or http(s) addresses.",
        },
        "buttons": {
            "type": "array",
            "items": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"text": {"type": "string"}, "data": {"type": "string"}},
                    "required": ["text"],
                    "additionalProperties": False,
                },
            },
            "description": "Rows of buttons under the text. data, by default the text, is what you hear when one is "
            f"pressed: at most {MOST_DATA} bytes.",
        },
        **{name: {"type": "boolean", "description": text} for name, text in _FLAGS},
    },
    "required": ["action"],
    "additionalProperties": False,
}
"""The arguments of the tool."""


def read_wish(arguments: Mapping[str, Json]) -> Wish | str:
    """Return what a call asks for, or the sentence that says what is wrong with it."""
    if strange := strange_argument(MESSAGE_TOOL, SCHEMA, arguments):
        return strange
    # Models fill an optional argument that they have nothing for with null.
    given = {name: value for name, value in arguments.items() if value is not None}
    action = given.get("action")
    if not isinstance(action, str) or action not in set(Action):
        return f"action must be one of {', '.join(Action)}."
    texts: dict[str, str] = {}
    for name, _ in _STRINGS:
        value = given.get(name, "")
        if isinstance(value, int) and not isinstance(value, bool):
            value = str(value)  # ids look like numbers
        if not isinstance(value, str):
            return f"{name} must be a text."
        texts[name] = value if name == "message" else value.strip()
    flags = {name: given.get(name, False) for name, _ in _FLAGS}
    wrong = next((name for name, value in flags.items() if not isinstance(value, bool)), None)
    if wrong is not None:
        return f"{wrong} must be true or false."
    media, buttons = _media(given.get("media")), _buttons(given.get("buttons"))
    if isinstance(media, str):
        return media
    if isinstance(buttons, str):
        return buttons
    wish = Wish(
        action=Action(action),
        channel=texts["channel"].lower(),
        target=texts["target"],
        topic=texts["threadId"],
        text=texts["message"],
        media=media,
        voice=flags["asVoice"] is True,
        buttons=buttons,
        message=texts["messageId"] or texts["replyTo"],
        emoji=texts["emoji"],
        removed=flags["remove"] is True,
        final=flags["final"] is True,
    )
    return _problem(wish, texts) or wish


def _problem(wish: Wish, texts: Mapping[str, str]) -> str:
    """What does not belong together, in one sentence; empty when all does."""
    long = next((name for name in ("channel", "target", "threadId", "messageId", "replyTo")
                 if len(texts[name]) > LONGEST_ID or not texts[name].isprintable()), None)  # fmt: skip
    if long is not None:
        return f"{long} is no id: it has more than {LONGEST_ID} characters, or some that cannot be seen."
    if texts["messageId"] and texts["replyTo"]:
        return "Give messageId or replyTo, not both."
    if wish.channel and not wish.target:
        return "channel names another chat only together with target; leave both out for the chat of this turn."
    if len(wish.text) > LONGEST_TEXT:
        return f"message is too long for a chat: at most {LONGEST_TEXT:,} characters. Send a file instead."
    match wish.action:
        case Action.REACT:
            fits = wish.emoji.isprintable() and len(wish.emoji) <= LONGEST_EMOJI
            missing = "" if wish.emoji and fits else "react needs one emoji."
        case Action.EDIT:
            missing = "" if wish.text.strip() else "edit needs the new text under message."
        case Action.DELETE:
            missing = ""
        case _:
            says = wish.text.strip() or wish.media
            missing = "" if says else f"{wish.action} needs a text under message, or media."
    if missing:
        return missing
    if wish.action in (Action.EDIT, Action.DELETE) and not texts["messageId"]:
        return f"{wish.action} needs messageId: the id that the earlier send gave."
    if wish.final and wish.action not in (Action.SEND, Action.REPLY):
        return f"final goes with send and reply, not with {wish.action}."
    return ""


def _media(value: Json) -> tuple[str, ...] | str:
    given = [value] if isinstance(value, str) else value or []
    if not isinstance(given, list):
        return "media must be a list of paths or addresses."
    found = [each for each in given if isinstance(each, str)]
    if len(found) < len(given):
        return "media must be a list of paths or addresses."
    if len(found) > MOST_MEDIA:
        return f"media has more than {MOST_MEDIA} files; send the others with another message."
    return tuple(found)


def _buttons(value: Json) -> tuple[tuple[Button, ...], ...] | str:
    rows = value or []
    if not isinstance(rows, list) or not all(isinstance(row, list) for row in rows):
        return "buttons must be a list of rows, and a row a list of buttons."
    found: list[tuple[Button, ...]] = []
    for row in rows:
        assert isinstance(row, list)
        read = [_button(each) for each in row]
        problem = next((each for each in read if isinstance(each, str)), None)
        if problem is not None:
            return problem
        if len(read) > MOST_IN_A_ROW:
            return f"A row of buttons has at most {MOST_IN_A_ROW}."
        if read:
            found.append(tuple(each for each in read if isinstance(each, Button)))
    if len(found) > MOST_ROWS:
        return f"There are at most {MOST_ROWS} rows of buttons."
    return tuple(found)


def _button(value: Json) -> Button | str:
    if not isinstance(value, dict) or set(value) - {"text", "data"}:
        return "A button is an object with text, and data if that is to be something else."
    text = value.get("text")
    if not isinstance(text, str) or not text.strip() or len(text) > LONGEST_LABEL or not text.isprintable():
        return f"A button needs a text of one line, at most {LONGEST_LABEL} characters."
    data = value.get("data")
    if data is None:
        data = text.strip()
    if not isinstance(data, str) or not data.strip() or not data.isprintable():
        return f"The data of the button {text.strip()!r} must be a text of one line."
    if len(data.encode("utf-8", "replace")) > MOST_DATA:
        return f"The data of the button {text.strip()!r} has more than {MOST_DATA} bytes; give it a shorter data."
    if data.lower().startswith(NOT_FOR_BUTTONS):
        return f"The data of the button {text.strip()!r} begins like something that is said to the gateway; change it."
    return Button(text.strip(), data)
