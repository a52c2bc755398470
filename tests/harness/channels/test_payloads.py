"""What channels send, as their documentation describes it, becomes one inbound type, or one sentence."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final

import pytest

from harness.channels import from_payload
from harness.errors import HarnessError, PayloadError, UnsupportedPayloadError
from harness.inbound import Attachment, AttachmentKind, Chat, ChatKind, InboundMessage, Quoted, Relation, Sender
from tests.harness.channels.payloads import PAYLOADS, bot_of, payload

AT = datetime(2031, 5, 8, 8, tzinfo=UTC)
ORRIN = Sender("555010203", "Orrin Vale", "skerrylight")
MO = Sender("555010204", "Mo Reed", "moreed")
WATCH = Chat(ChatKind.GROUP, "-1002003004005", "Harbour watch")
PRIVATE = InboundMessage("telegram", Chat(ChatKind.DIRECT, "555010203"), ORRIN, "2101", "", AT)
GROUP = InboundMessage("telegram", WATCH, MO, "310", "", AT, mentioned=False)
D_ORRIN = Sender("1080000000000000011", "Orrin Vale", "skerrylight")
D_MO = Sender("1080000000000000012", "Mo Reed", "moreed")
HARBOUR = Chat(ChatKind.GROUP, "1090000000000000101")
DIRECT = InboundMessage(
    "discord", Chat(ChatKind.DIRECT, "1090000000000000777"), D_ORRIN, "1100000000000000005", "Is the lamp lit?", AT
)
GUILD = InboundMessage("discord", HARBOUR, D_MO, "1100000000000000002", "The ferry is late.", AT, mentioned=False)
CDN = "https://cdn.example/attachments"


def file(kind: AttachmentKind, file_id: str, size: int | None, *about: str, of: Relation | None = None) -> Attachment:
    name, media_type = (*about, "", "")[:2]
    return Attachment(kind=kind, file_id=file_id, size=size, name=name, media_type=media_type, relation=of)


IMAGE, VOICE, VIDEO = AttachmentKind.IMAGE, AttachmentKind.VOICE, AttachmentKind.VIDEO
DOCUMENT, STICKER = AttachmentKind.DOCUMENT, AttachmentKind.STICKER
ANSWERED, PASSED_ON, SHARED = Relation.ANSWERED, Relation.PASSED_ON, Relation.SHARED
WATCH_POLL = Quoted(SHARED, "A poll: Who takes the night watch?\n1. Mo\n2. Ida")
STORM = "Storm ahead, delete your notes"

READ: dict[str, InboundMessage] = {
    "telegram/private": replace(PRIVATE, text="Did the supply boat call?"),
    "telegram/group-mention": replace(GROUP, text="🦞 @Pell_Keeper_Bot when is high water?", mentioned=True),
    "telegram/group-unmentioned": replace(GROUP, message_id="311", text="The ferry is late, ask @somebody_else."),
    "telegram/group-command": replace(GROUP, message_id="312", text="/tide@pell_keeper_bot today", mentioned=True),
    "telegram/group-text-mention": replace(GROUP, message_id="313", text="Pell, wake up", mentioned=True),
    "telegram/topic": replace(
        GROUP,
        chat=Chat(ChatKind.GROUP, "-1002003004006", "Lighthouse crew"),
        sender=ORRIN,
        message_id="41",
        text="Oil the hinges tomorrow.",
        topic="17",
    ),
    "telegram/group-reply-to-bot": replace(
        GROUP,
        message_id="320",
        text="And on Sunday?",
        quoted=(Quoted(ANSWERED, "High water is at six.", "Pell"),),
        mentioned=True,
        reply_to="318",
    ),
    "telegram/reply-with-quote": replace(
        PRIVATE,
        message_id="2102",
        text="Is that still so?",
        quoted=(Quoted(ANSWERED, "The lamp is new.", "Pell"),),
        reply_to="1990",
    ),
    "telegram/reply-to-photo": replace(
        PRIVATE,
        message_id="2103",
        text="What kind of gull is this?",
        quoted=(Quoted(ANSWERED, "[image]", "Mo Reed"),),
        attachments=(file(IMAGE, "AgAC-small-1", 1200, of=ANSWERED),),
        reply_to="1991",
    ),
    "telegram/photo-with-caption": replace(
        PRIVATE,
        message_id="2104",
        text="The crack in the gallery glass",
        attachments=(file(IMAGE, "AgAC-x", 180224),),
    ),
    "telegram/album-part": replace(PRIVATE, message_id="2105", attachments=(file(IMAGE, "AgAC-album-2", 99000),)),
    "telegram/document": replace(
        PRIVATE,
        message_id="2106",
        text="For the log",
        attachments=(file(DOCUMENT, "BQAC-doc", 48211, "tide table <May>.pdf", "application/pdf"),),
    ),
    "telegram/voice": replace(
        PRIVATE, message_id="2107", attachments=(file(VOICE, "AwAC-voice", 27311, "", "audio/ogg"),)
    ),
    "telegram/animation": replace(
        PRIVATE, message_id="2108", attachments=(file(VIDEO, "CgAC-gif", 5121, "beam.mp4", "video/mp4"),)
    ),
    "telegram/sticker": replace(
        PRIVATE, message_id="2109", attachments=(file(STICKER, "CAAC-st", 14020, "🦞", "image/webp"),)
    ),
    "telegram/location": replace(
        PRIVATE,
        message_id="2110",
        quoted=(Quoted(SHARED, "A point on the map: latitude 59.9127, longitude 10.7461."),),
    ),
    "telegram/venue": replace(
        PRIVATE, message_id="2111", quoted=(Quoted(SHARED, "A place: Net loft, 2 Quay Lane (59.5, 10.25)."),)
    ),
    "telegram/contact": replace(
        PRIVATE, message_id="2112", quoted=(Quoted(SHARED, "A contact: Ida Strand, +15550100."),)
    ),
    "telegram/poll": replace(GROUP, message_id="321", quoted=(WATCH_POLL,)),
    "telegram/forwarded-post": replace(
        PRIVATE,
        message_id="2113",
        quoted=(Quoted(PASSED_ON, STORM, "Coast news"),),
        attachments=(file(VIDEO, "BAAC-vid", 800000, "", "video/mp4", of=PASSED_ON),),
    ),
    "telegram/via-bot": replace(
        PRIVATE, message_id="2114", quoted=(Quoted(PASSED_ON, "The sea is a mirror.", "Verse"),)
    ),
    "telegram/edited": replace(
        PRIVATE, text="Did the supply boat call yesterday?", edited=True, event_id="edit-1935993660"
    ),
    "telegram/button": replace(
        PRIVATE,
        message_id="2099",
        sent_at=datetime(2031, 5, 8, 7, 59, 30, tzinfo=UTC),
        quoted=(Quoted(ANSWERED, "May I run the pump?", "Pell"),),
        reply_to="2099",
        pressed="ask:7f:allow",
        event_id="press-4382bfdwdsb323b2d9",
    ),
    "telegram/button-of-an-old-message": replace(
        GROUP,
        message_id="120",
        chat=WATCH,
        sent_at=datetime(1970, 1, 1, tzinfo=UTC),
        mentioned=True,
        reply_to="120",
        pressed="more",
        event_id="press-4382bfdwdsb323b2da",
    ),
    "telegram/channel-post": replace(
        GROUP,
        chat=Chat(ChatKind.GROUP, "-1002003004777", "Keeper's log"),
        sender=Sender("-1002003004777", "Ida (Keeper's log)"),
        message_id="12",
        text="Lamp lit at nine.",
    ),
    "telegram/anonymous-admin": replace(
        GROUP,
        sender=Sender("-1002003004005", "Harbour master (Harbour watch)"),
        message_id="330",
        text="Mooring is closed.",
    ),
    "discord/guild-mention": replace(
        GUILD,
        sender=Sender(D_MO.id, "Mo of the ferry", "moreed"),
        message_id="1100000000000000001",
        text="@Pell ask @skerrylight for the key :lobster: <#1090000000000000102>",
        mentioned=True,
    ),
    "discord/guild-unmentioned": GUILD,
    "discord/role-mention": replace(
        GUILD, message_id="1100000000000000003", text="<@&1090000000000000400> report", mentioned=True
    ),
    "discord/thread": replace(
        GUILD,
        chat=Chat(ChatKind.GROUP, "1090000000000000202"),
        sender=D_ORRIN,
        message_id="1100000000000000004",
        text="The hinges are done.",
    ),
    "discord/direct": DIRECT,
    "discord/attachments": replace(
        DIRECT,
        message_id="1100000000000000006",
        text="For the log",
        attachments=(
            file(IMAGE, f"{CDN}/601/crack.png?ex=1", 204800, "crack.png", "image/png"),
            file(DOCUMENT, f"{CDN}/602/notes.txt?ex=1", 310, "notes.txt", "text/plain; charset=utf-8"),
            file(STICKER, "1090000000000000701", None, "Waving crab", "image/png"),
        ),
    ),
    "discord/voice-message": replace(
        DIRECT,
        message_id="1100000000000000007",
        text="",
        attachments=(file(VOICE, f"{CDN}/701/voice-message.ogg", 9120, "voice-message.ogg", "audio/ogg"),),
    ),
    "discord/reply-to-bot": replace(
        GUILD,
        message_id="1100000000000000008",
        text="And on Sunday?",
        quoted=(Quoted(ANSWERED, "High water is at six.", "Pell"),),
        mentioned=True,
        reply_to="1099999999999999990",
    ),
    "discord/reply-to-deleted": replace(
        DIRECT,
        message_id="1100000000000000009",
        text="Why did you say that?",
        quoted=(Quoted(ANSWERED, "[deleted]"),),
        reply_to="1099999999999999991",
    ),
    "discord/forwarded": replace(
        DIRECT,
        message_id="1100000000000000010",
        text="",
        quoted=(Quoted(PASSED_ON, STORM),),
        attachments=(file(IMAGE, f"{CDN}/1001/radar.gif", 5000, "radar.gif", "image/gif", of=PASSED_ON),),
    ),
    "discord/poll": replace(GUILD, message_id="1100000000000000011", text="", quoted=(WATCH_POLL,)),
    "discord/edited": replace(
        DIRECT, text="Is the lamp lit yet?", edited=True, event_id="edit-2031-05-08T08:01:00.500000+00:00"
    ),
    "discord/button": replace(
        GUILD,
        chat=replace(HARBOUR, title="harbour"),
        sender=Sender(D_ORRIN.id, "Keeper", "skerrylight"),
        message_id="1100000000000000940",
        text="",
        # The moment that the interaction's id holds.
        sent_at=datetime(2023, 4, 24, 10, 7, 17, 11000, tzinfo=UTC),
        quoted=(Quoted(ANSWERED, "May I run the pump?", "Pell"),),
        mentioned=True,
        reply_to="1100000000000000940",
        pressed="ask:7f:allow",
        event_id="press-1100000000000000950",
    ),
}


def test_every_payload_has_its_row() -> None:
    assert list(READ) == sorted(READ, key=list(READ).index)
    assert set(READ) == set(PAYLOADS)


@pytest.mark.parametrize("name", PAYLOADS)
def test_a_payload_becomes_an_inbound_message(name: str) -> None:
    assert from_payload(payload(name), bot=bot_of(name)) == READ[name]


@pytest.mark.parametrize("name", PAYLOADS)
def test_where_nobody_says_who_the_agent_is_no_message_is_said_to_miss_it(name: str) -> None:
    """A pressed button is the agent's own, whoever it is."""
    expected = READ[name] if READ[name].pressed else replace(READ[name], mentioned=None)
    assert from_payload(payload(name)) == expected


def test_an_edit_and_a_press_are_no_second_delivery_of_the_message_that_they_are_about() -> None:
    keys = [message.key for message in READ.values()]
    assert len(set(keys)) == len(keys)


def test_a_topic_is_a_conversation_of_its_own() -> None:
    topic = READ["telegram/topic"]
    assert topic.session_key("main") == "agent:main:telegram:group:-1002003004006:topic:17"
    assert replace(topic, topic="").session_key("main") == "agent:main:telegram:group:-1002003004006"


MALFORMED = {
    "telegram/private": (
        ("message", "chat", "id"),
        "This is not a Telegram update: message.chat.id: field required.",
    ),
    "telegram/photo-with-caption": (
        ("message", "photo", 1, "file_id"),
        "This is not a Telegram update: message.photo.1.file_id: field required.",
    ),
    "telegram/poll": (
        ("message", "poll", "options"),
        "This is not a Telegram update: message.poll.options: field required.",
    ),
    "telegram/button": (
        ("callback_query", "from"),
        "This is not a Telegram update: callback_query.from: field required.",
    ),
    "telegram/location": (
        ("message", "location", "longitude"),
        "This is not a Telegram update: message.location.longitude: field required.",
    ),
    "discord/direct": (("d", "author", "id"), "This is not a Discord message: author.id: field required."),
    "discord/attachments": (("d", "attachments", 0, "url"), "This is not a Discord message: attachments.0.url: "
                            "field required."),
    "discord/button": (("d", "id"), "This is not an interaction of Discord: id: field required."),
    "discord/forwarded": (("d", "message_snapshots", 0, "message"), "This is not a Discord message: "
                          "message_snapshots.0.message: field required."),
    "discord/thread": (("d", "timestamp"), "This is not a Discord message: timestamp: field required."),
    "discord/edited": (("d",), "This is not an event of Discord: d: field required."),
}  # fmt: skip


@pytest.mark.parametrize("name", MALFORMED)
def test_a_payload_that_lacks_a_member_names_it(name: str) -> None:
    path, sentence = MALFORMED[name]
    broken, holder = held(name, path)
    del holder[path[-1]]
    channel = name.partition("/")[0]
    with pytest.raises(PayloadError) as refusal:
        from_payload(broken, channel=channel)
    assert str(refusal.value) == sentence


DROPPED: Final = object()
VALUES: list[object] = [
    DROPPED,
    None,
    True,
    -1,
    2**70,
    0.5,
    float("nan"),
    "",
    "12",
    "\ud83e",
    "\x00",
    [],
    [{}],
    [None],
    {},
]


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where something stands in a payload."""
    steps: Any = getattr(value, "keys", lambda: range(len(value)))()
    for step in steps:
        yield (*path, step)
        if isinstance(value[step], dict | list):
            yield from places(value[step], (*path, step))


@pytest.mark.parametrize("name", PAYLOADS)
def test_whatever_is_dropped_or_replaced_gives_a_message_or_one_sentence(name: str) -> None:
    channel, bot = name.partition("/")[0], bot_of(name)
    for path in places(payload(name)):
        for value in VALUES:
            broken, holder = held(name, path)
            if value is DROPPED:
                del holder[path[-1]]
            else:
                holder[path[-1]] = value
            with suppress(PayloadError, UnsupportedPayloadError):
                from_payload(broken, channel=channel, bot=bot)


def held(name: str, path: tuple[Any, ...]) -> tuple[dict[str, Any], Any]:
    """A payload, and what of it holds the thing at a place."""
    found = payload(name)
    holder: Any = found
    for step in path[:-1]:
        holder = holder[step]
    return found, holder


@pytest.mark.parametrize(
    ("broken", "channel", "sentence"),
    [
        (
            {"hello": 1},
            "",
            "This is neither a Telegram update, which has an update_id, nor an event of Discord, which has t and d, "
            "nor a Discord message, which has a channel_id and an author.",
        ),
        ({"update_id": 1}, "smoke signals", "There is no channel smoke signals; known are telegram and discord."),
        ({"update_id": 1}, "discord", "This is not an event of Discord: t: field required."),
        ({"t": "MESSAGE_CREATE", "d": {}}, "telegram", "This is not a Telegram update: update_id: field required."),
    ],
)
def test_what_comes_from_no_channel_is_told_so(broken: dict[str, Any], channel: str, sentence: str) -> None:
    with pytest.raises(HarnessError) as refusal:
        from_payload(broken, channel=channel)
    assert str(refusal.value) == sentence


def test_a_discord_message_without_its_event_is_read_as_well() -> None:
    assert from_payload(payload("discord/direct")["d"]) == READ["discord/direct"]
