import json
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from importlib.resources import files
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.channels.telegram import from_update
from harness.errors import HarnessError, PayloadError, UnsupportedPayloadError
from harness.inbound import Bot, Chat, ChatKind, InboundMessage, Quoted, Relation, Sender

Json = dict[str, Any]


@pytest.fixture
def update() -> Json:
    """The sample's update, fresh for each test to change."""
    return json.loads((files("harness.testing") / "sample" / "update.json").read_text("utf-8"))


def test_a_private_text_message_becomes_an_inbound_message(update: Json) -> None:
    message = from_update(update)
    assert message == InboundMessage(
        channel="telegram",
        chat=Chat(ChatKind.DIRECT, "555010203"),
        sender=Sender("555010203", "Orrin Vale", "skerrylight"),
        message_id="2041",
        text="Morning! Is it worth polishing the lens before the weekend?",
        sent_at=datetime(2031, 5, 8, 8, 0, tzinfo=UTC),
    )
    assert message.key == "telegram:555010203:2041"
    assert message.session_key("main") == "agent:main:telegram:direct:555010203"


def test_members_of_a_newer_bot_api_are_passed_over(update: Json) -> None:
    update["message"]["from"]["brand_new"] = {"deep": [1]}
    update["message"]["effect_id"] = "5104841245755180586"
    assert from_update(update).sender.name == "Orrin Vale"


def test_text_is_kept_as_it_was_typed(update: Json) -> None:
    update["message"]["text"] = "  two  spaces\n\nand a 🦞  "
    assert from_update(update).text == "  two  spaces\n\nand a 🦞  "


MO: Json = {"id": 8, "is_bot": False, "first_name": "Mo", "last_name": "Reed"}
ANSWERED: Json = {"message_id": 3, "date": 1, "chat": {"id": 555010203, "type": "private"}, "from": MO}


@pytest.mark.parametrize(
    ("members", "author"),
    [
        ({"forward_origin": {"type": "user", "date": 1, "sender_user": MO}}, "Mo Reed"),
        ({"forward_origin": {"type": "hidden_user", "date": 1, "sender_user_name": "M."}}, "M."),
        ({"forward_origin": {"type": "chat", "date": 1, "sender_chat": {"id": -1, "title": "Boats"}}}, "Boats"),
        ({"forward_origin": {"type": "channel", "date": 1, "chat": {"id": -1, "username": "news"}}}, "news"),
        ({"forward_origin": {"type": "something new"}}, ""),
        ({"forward_date": 1, "forward_sender_name": "M."}, ""),
        ({"via_bot": {"id": 9, "is_bot": True, "first_name": "Gif", "username": "gif"}}, "Gif"),
    ],
)
def test_what_is_passed_on_is_not_the_senders_word(update: Json, members: Json, author: str) -> None:
    """Spec 5."""
    text = update["message"]["text"]
    update["message"] |= members
    message = from_update(update)
    assert (message.text, message.quoted) == ("", (Quoted(Relation.PASSED_ON, text, author),))
    assert message.sender.name == "Orrin Vale"


@pytest.mark.parametrize(
    ("members", "quoted"),
    [
        ({"reply_to_message": {**ANSWERED, "text": "At six."}}, ("At six.", "Mo Reed")),
        ({"reply_to_message": {**ANSWERED, "photo": [], "caption": "The boat"}}, ("The boat", "Mo Reed")),
        ({"reply_to_message": {**ANSWERED, "text": "At six."}, "quote": {"text": "six"}}, ("six", "Mo Reed")),
        (
            {"reply_to_message": {"message_id": 3, "sender_chat": {"id": -1, "title": "Boats"}, "text": "At six."}},
            ("At six.", "Boats"),
        ),
        (
            {
                "external_reply": {"origin": {"type": "channel", "chat": {"id": -1, "title": "News"}}},
                "quote": {"text": "a storm", "position": 0},
            },
            ("a storm", "News"),
        ),
        ({"reply_to_message": {**ANSWERED, "sticker": {"file_id": "x"}}}, ("[sticker]", "Mo Reed")),
        ({"reply_to_message": {**ANSWERED, "story": {}}}, None),
    ],
)  # fmt: skip
def test_what_a_message_answers_is_told_apart_from_it(
    update: Json, members: Json, quoted: tuple[str, str] | None
) -> None:
    """Spec 5."""
    text = update["message"]["text"]
    update["message"] |= members
    message = from_update(update)
    assert message.text == text
    assert message.quoted == (() if quoted is None else (Quoted(Relation.ANSWERED, *quoted),))


def test_an_answer_that_passes_something_on_keeps_the_two_apart(update: Json) -> None:
    update["message"] |= {
        "reply_to_message": {**ANSWERED, "text": "Any news?"},
        "forward_origin": {"type": "user", "sender_user": MO},
    }
    message = from_update(update)
    relations = [each.relation for each in message.quoted]
    assert (message.text, relations) == ("", [Relation.ANSWERED, Relation.PASSED_ON])


def _reaction(update: Json) -> None:
    del update["message"]
    update["message_reaction"] = {}


def _story(update: Json) -> None:
    del update["message"]["text"]
    update["message"]["story"] = {}


def _joined(update: Json) -> None:
    del update["message"]["text"]
    update["message"]["new_chat_members"] = [MO]


def _bot(update: Json) -> None:
    update["message"]["from"]["is_bot"] = True


def _nobody(update: Json) -> None:
    del update["message"]["from"]


def _silent(update: Json) -> None:
    update["message"]["text"] = ""


def _moved(update: Json) -> None:
    update["edited_message"] = update.pop("message") | {"location": {"latitude": 1, "longitude": 2}}
    del update["edited_message"]["text"]


def _pressed_game(update: Json) -> None:
    message = update.pop("message")
    update["callback_query"] = {"id": "1", "from": MO, "message": message, "game_short_name": "crab"}


def _pressed_elsewhere(update: Json) -> None:
    del update["message"]
    update["callback_query"] = {"id": "1", "from": MO, "inline_message_id": "x", "data": "more"}


def _pressed_by_a_bot(update: Json) -> None:
    update["callback_query"] = {"id": "1", "from": {**MO, "is_bot": True}, "message": update.pop("message")}


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (_reaction, "Telegram update 730105512 holds message_reaction, not a message."),
        (_story, "Telegram update 730105512 holds story, of which nothing is read."),
        (
            _joined,
            "Telegram update 730105512 is a service message (new_chat_members); there is nothing to answer.",
        ),
        (_bot, "Telegram update 730105512 was not written by a person."),
        (_nobody, "Telegram update 730105512 was not written by a person."),
        (_silent, "Telegram update 730105512 holds neither text nor anything else that is read."),
        (_moved, "Telegram update 730105512 moves a live location; nothing is said with it."),
        (_pressed_game, "Telegram update 730105512 is a press that does not say what its button carries."),
        (
            _pressed_elsewhere,
            "Telegram update 730105512 is a press that does not say the message that its button hangs on.",
        ),
        (_pressed_by_a_bot, "Telegram update 730105512 was not caused by a person."),
    ],
)
def test_what_no_turn_can_be_made_of_is_named(update: Json, change: Callable[[Json], None], sentence: str) -> None:
    change(update)
    with pytest.raises(UnsupportedPayloadError) as refusal:
        from_update(update)
    assert str(refusal.value) == sentence


BOT = Bot("99", "pell_bot")
GROUP: Json = {"id": -100, "type": "supergroup", "title": "Harbour"}
PELL: Json = {"id": 99, "is_bot": True, "first_name": "Pell"}


@pytest.mark.parametrize(
    ("members", "mentioned"),
    [
        ({"entities": [{"type": "mention", "offset": 5, "length": 9}]}, True),
        ({"entities": [{"type": "mention", "offset": 5, "length": 8}]}, False),
        ({"entities": [{"type": "mention", "offset": -3, "length": 900}]}, False),
        ({"entities": [{"type": "url", "offset": 5, "length": 9}]}, False),
        ({"caption_entities": [{"type": "mention", "offset": 5, "length": 9}]}, False),
        (
            {
                "entities": [{"type": "mention", "offset": 5, "length": 9}],
                "forward_origin": {"type": "user", "sender_user": MO},
            },
            False,
        ),
        ({"reply_to_message": {"message_id": 3, "from": PELL, "text": "x"}}, True),
        ({"reply_to_message": {"message_id": 3, "from": MO, "text": "x"}}, False),
        ({"reply_to_message": {"message_id": 3, "from": PELL, "forum_topic_created": {"name": "x"}}}, False),
    ],
)
def test_a_message_of_a_group_calls_the_agent_by_its_name_or_by_an_answer(
    update: Json, members: Json, mentioned: bool
) -> None:
    update["message"] |= {"text": "Ahoy @pell_bot!", "chat": GROUP, **members}
    assert from_update(update, bot=BOT).mentioned is mentioned


@pytest.mark.parametrize(
    ("path", "value", "sentence"),
    [
        (("update_id",), None, "This is not a Telegram update: update_id: input should be a valid integer."),
        (("message", "chat"), {}, "This is not a Telegram update: message.chat.id: field required."),
        (("message", "date"), "noon", "This is not a Telegram update: message.date: input should be a valid integer, "
                                      "unable to parse string as an integer."),
        (("message", "date"), 10**15, "This is not a Telegram update: message.date: input should be less than or "
                                     "equal to 253402300799."),
    ],
)  # fmt: skip
def test_a_broken_update_names_the_member(update: Json, path: tuple[str, ...], value: object, sentence: str) -> None:
    place = update
    for name in path[:-1]:
        place = place[name]
    place[path[-1]] = value
    with pytest.raises(PayloadError) as refusal:
        from_update(update)
    assert str(refusal.value) == sentence


MEMBERS = {
    "": ["update_id", "message", "edited_message", "poll"],
    "message": ["message_id", "date", "chat", "from", "text", "photo"],
}
VALUES: list[object] = [
    None, True, 0, -1, 0.5, 10**15, 2**70, "", "private", "12", "noon", "\ud83e", "\x00", [], [{}], {}, {"id": 1},
    {"id": 2**70, "type": "private"}, {"id": 1, "type": "private", "first_name": "\ud83e"}, {"id": "1", "is_bot": 0},
]  # fmt: skip
CHANGES = st.sampled_from([(place, member) for place in MEMBERS for member in MEMBERS[place]])


@settings(derandomize=True, deadline=None, max_examples=300)
@given(st.lists(st.tuples(CHANGES, st.sampled_from(VALUES)), min_size=1, max_size=3))
def test_no_payload_raises_anything_but_our_own_errors(changes: list[tuple[tuple[str, str], object]]) -> None:
    """Changes of a sound update get further in than payloads out of nothing, and are drawn in no time."""
    payload: Json = json.loads((files("harness.testing") / "sample" / "update.json").read_text("utf-8"))
    for (place, member), value in changes:
        (payload[place] if place else payload)[member] = value
        if not isinstance(payload["message"], dict):
            break
    with suppress(HarnessError):
        from_update(payload)
