"""What is called of a channel's API for what goes out, and what its answers mean."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.delivery.outbox import Button, Media, NotSentError, Outbox, Outgoing, Reaction, Reacts
from harness.json_value import Json
from harness.outboxes.calls import Answer, Call, File, NoAnswerError
from harness.outboxes.discord import DiscordOutbox
from harness.outboxes.telegram import TelegramOutbox
from harness.outboxes.telegram_html import as_html

GOOD = Answer(200, {"ok": True, "result": {"message_id": 9}, "id": "9"})


@dataclass
class Recorded:
    """A client that keeps the calls, and answers as it was told to."""

    answers: list[Answer] = field(default_factory=list[Answer])
    calls: list[Call] = field(default_factory=list[Call])

    async def call(self, call: Call) -> Answer:
        self.calls.append(call)
        return self.answers.pop(0) if self.answers else GOOD


def outgoing(
    text: str = "", *, reply_to: str = "", topic: str = "", media: tuple[Media, ...] = (), buttons: bool = False
) -> Outgoing:
    rows = ((Button(label="Yes", data="y"), Button(label="No", data="n")),) if buttons else ()
    return Outgoing(
        key="k", channel="c", chat="77", text=text, reply_to=reply_to, topic=topic, media=media, buttons=rows
    )


KEYBOARD: Json = {"inline_keyboard": [[{"text": "Yes", "callback_data": "y"}, {"text": "No", "callback_data": "n"}]]}


async def test_telegram_gets_a_text_with_its_place_and_its_buttons() -> None:
    caller = Recorded()
    outbox: Outbox = TelegramOutbox(caller)
    assert await outbox.send(outgoing("**36 C** <now>", reply_to="4", topic="12", buttons=True)) == "9"
    assert caller.calls == [
        Call(
            verb="POST",
            path="sendMessage",
            body={
                "chat_id": "77",
                "message_thread_id": 12,
                "reply_parameters": {"message_id": 4, "allow_sending_without_reply": True},
                "reply_markup": KEYBOARD,
                "text": "<b>36 C</b> &lt;now&gt;",
                "parse_mode": "HTML",
            },
        )
    ]


async def test_telegram_gets_a_text_as_it_is_where_it_cannot_read_it() -> None:
    caller = Recorded([Answer(400, {"description": "Bad Request: can't parse entities: odd"})])
    assert await TelegramOutbox(caller).send(outgoing("**a**", reply_to="not an id")) == "9"
    assert [call.body for call in caller.calls] == [
        {"chat_id": "77", "text": "<b>a</b>", "parse_mode": "HTML"},
        {"chat_id": "77", "text": "**a**"},
    ]


@pytest.mark.parametrize(
    ("name", "voice", "method", "part"),
    [
        ("a.png", False, "sendPhoto", "photo"),
        ("a.gif", False, "sendAnimation", "animation"),
        ("a.mp4", False, "sendVideo", "video"),
        ("a.mp3", False, "sendAudio", "audio"),
        ("a.ogg", True, "sendVoice", "voice"),
        ("a.ogg", False, "sendDocument", "document"),
        ("a.wav", True, "sendDocument", "document"),
        ("notes", False, "sendDocument", "document"),
    ],
)
async def test_telegram_gets_a_file_as_what_it_is(
    tmp_path: Path, name: str, voice: bool, method: str, part: str
) -> None:
    (tmp_path / name).write_bytes(b"bytes")
    caller, path = Recorded(), str((tmp_path / name).resolve())
    await TelegramOutbox(caller).send(outgoing(media=(Media(source=path, voice=voice),)))
    assert caller.calls == [Call(verb="POST", path=method, body={"chat_id": "77"}, files=(File(part, path, name),))]


async def test_telegram_fetches_an_address_by_itself_and_shows_a_text_under_the_first_file() -> None:
    caller = Recorded()
    media = (Media(source="https://example.com/a.PNG?w=1"), Media(source="https://example.com/b"))
    await TelegramOutbox(caller).send(outgoing("Here.", media=media, buttons=True))
    assert [(call.path, dict(call.body)) for call in caller.calls] == [
        (
            "sendPhoto",
            {"chat_id": "77", "photo": media[0].source, "caption": "Here.", "parse_mode": "HTML"},
        ),
        ("sendDocument", {"chat_id": "77", "document": media[1].source, "reply_markup": KEYBOARD}),
    ]
    caller = Recorded()
    await TelegramOutbox(caller).send(outgoing("x" * 1025, media=media[:1]))
    assert [call.path for call in caller.calls] == ["sendMessage", "sendPhoto"]


async def test_telegram_edits_takes_back_and_reacts() -> None:
    caller = Recorded([Answer(400, {"description": "Bad Request: message is not modified"})])
    outbox = TelegramOutbox(caller)
    assert isinstance(outbox, Reacts)
    await outbox.edit("9", outgoing("b"))
    caller.answers = [Answer(400, {"description": "Bad Request: message to delete not found"})]
    await outbox.withdraw("9", outgoing())
    await outbox.react(Reaction(channel="telegram", chat="77", message="4", emoji="\U0001f44d"))
    await outbox.react(Reaction(channel="telegram", chat="77", message="4", emoji="\U0001f44d", removed=True))
    assert [(call.path, dict(call.body)) for call in caller.calls] == [
        ("editMessageText", {"chat_id": "77", "message_id": 9, "text": "b", "parse_mode": "HTML"}),
        ("deleteMessage", {"chat_id": "77", "message_id": 9}),
        (
            "setMessageReaction",
            {"chat_id": "77", "message_id": 4, "reaction": [{"type": "emoji", "emoji": "\U0001f44d"}]},
        ),
        ("setMessageReaction", {"chat_id": "77", "message_id": 4, "reaction": []}),
    ]


async def test_discord_gets_a_text_once_and_pings_nobody() -> None:
    caller = Recorded()
    outbox: Outbox = DiscordOutbox(caller)
    assert await outbox.send(outgoing("@everyone 36 C", reply_to="4", topic="12", buttons=True)) == "9"
    (call,) = caller.calls
    assert (call.verb, call.path, call.files) == ("POST", "/channels/12/messages", ())
    nonce = call.body["nonce"]
    assert dict(call.body) == {
        "content": "@everyone 36 C",
        "allowed_mentions": {"parse": [], "replied_user": False},
        "components": [
            {
                "type": 1,
                "components": [
                    {"type": 2, "style": 2, "label": "Yes", "custom_id": "y"},
                    {"type": 2, "style": 2, "label": "No", "custom_id": "n"},
                ],
            }
        ],
        "nonce": nonce,
        "enforce_nonce": True,
        "message_reference": {"message_id": "4", "fail_if_not_exists": False},
    }
    assert re.fullmatch("[0-9a-f]{25}", str(nonce))
    await outbox.send(outgoing("other words under the same key"))
    assert caller.calls[1].body["nonce"] == nonce


async def test_discord_gets_files_and_shows_addresses_in_the_text(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"bytes")
    path, caller = str((tmp_path / "a.png").resolve()), Recorded()
    media = (Media(source=path), Media(source="https://example.com/b.png"))
    await DiscordOutbox(caller).send(outgoing("Here.", media=media))
    (call,) = caller.calls
    assert (call.body["content"], call.body["attachments"], call.files) == (
        "Here.\nhttps://example.com/b.png",
        [{"id": 0, "filename": "a.png"}],
        (File("files[0]", path, "a.png"),),
    )


async def test_discord_edits_takes_back_and_reacts() -> None:
    caller = Recorded([GOOD, Answer(404, {"code": 10008}), Answer(204, {})])
    outbox = DiscordOutbox(caller)
    await outbox.edit("9", outgoing("b"))
    await outbox.withdraw("9", outgoing())
    await outbox.react(Reaction(channel="discord", chat="77", message="4", emoji="\U0001f44d"))
    assert [(call.verb, call.path) for call in caller.calls] == [
        ("PATCH", "/channels/77/messages/9"),
        ("DELETE", "/channels/77/messages/9"),
        ("PUT", "/channels/77/messages/4/reactions/%F0%9F%91%8D/@me"),
    ]


@pytest.mark.parametrize("made", [TelegramOutbox, DiscordOutbox])
@pytest.mark.parametrize(
    ("answer", "for_good", "retry_after"),
    [
        (Answer(429, {"parameters": {"retry_after": 7}, "retry_after": 7.0}), False, 7.0),
        (Answer(429, {}), False, None),
        (
            Answer(403, {"description": "Forbidden: bot was blocked", "message": "Missing Access"}),
            True,
            None,
        ),
        (Answer(400, {"description": "Bad Request: chat not found", "message": "Invalid Form Body"}), True, None),
        (Answer(401, {}), False, None),
    ],
)
async def test_a_refusal_says_whether_to_try_again(
    made: Callable[[Recorded], Outbox], answer: Answer, for_good: bool, retry_after: float | None
) -> None:
    with pytest.raises(NotSentError) as refusal:
        await made(Recorded([answer])).send(outgoing("a"))
    assert (refusal.value.for_good, refusal.value.retry_after) == (for_good, retry_after)


@pytest.mark.parametrize("made", [TelegramOutbox, DiscordOutbox])
async def test_a_failure_of_the_channel_leaves_open_whether_it_took_it(made: Callable[[Recorded], Outbox]) -> None:
    for status in (502, 408):
        with pytest.raises(NoAnswerError):
            await made(Recorded([Answer(status, {})])).send(outgoing("a"))
        with pytest.raises(NoAnswerError):
            await made(Recorded([Answer(status, {})])).edit("9", outgoing("a"))
        with pytest.raises(NoAnswerError):
            await made(Recorded([Answer(status, {})])).withdraw("9", outgoing())


async def test_what_telegram_makes_nothing_of_is_sent_as_it_is() -> None:
    caller = Recorded([Answer(400, {"description": "Bad Request: message text is empty"})])
    assert await TelegramOutbox(caller).send(outgoing("```\n```")) == "9"
    assert [call.body.get("text") for call in caller.calls] == ["<pre></pre>", "```\n```"]


async def test_an_answer_follows_its_group_to_where_telegram_has_moved_it() -> None:
    caller = Recorded([Answer(400, {"parameters": {"migrate_to_chat_id": -10077}})])
    assert await TelegramOutbox(caller).send(outgoing("a")) == "9"
    assert [call.body["chat_id"] for call in caller.calls] == ["77", "-10077"]


@pytest.mark.parametrize("id_", ["..", "", "4/5", "\u0664", "-4", "9" * 30])
async def test_what_is_no_id_leads_to_no_other_path_and_keeps_no_answer_back(id_: str) -> None:
    """Many clients make of /channels/77/messages/.. the path of the channel itself."""
    caller = Recorded()
    telegram, discord = TelegramOutbox(caller), DiscordOutbox(caller)
    with pytest.raises(NotSentError):
        await discord.react(Reaction(channel="discord", chat="77", message=id_, emoji="\U0001f44d", removed=True))
    with pytest.raises(NotSentError):
        await telegram.react(Reaction(channel="telegram", chat="77", message=id_, emoji="\U0001f44d"))
    with pytest.raises(NotSentError):
        await discord.withdraw(id_, outgoing())
    assert caller.calls == []
    for outbox in (telegram, discord):
        assert await outbox.send(outgoing("It is 36 C.", reply_to=id_)) == "9"
    assert [
        name for call in caller.calls for name in call.body if name in ("reply_parameters", "message_reference")
    ] == []


async def test_of_several_messages_of_which_one_was_taken_it_is_not_said_that_none_was() -> None:
    media = (Media(source="https://example.com/a.png"), Media(source="https://example.com/b.png"))
    with pytest.raises(NoAnswerError):
        await TelegramOutbox(Recorded([GOOD, Answer(400, {})])).send(outgoing(media=media))


@pytest.mark.parametrize("made", [TelegramOutbox, DiscordOutbox])
async def test_a_file_that_is_gone_or_too_big_is_not_sent_at_all(
    made: Callable[[Recorded], Outbox], tmp_path: Path
) -> None:
    with (tmp_path / "big.bin").open("wb") as file:
        file.truncate(60 * 1024 * 1024)
    for name in ("none.png", "big.bin"):
        caller = Recorded()
        with pytest.raises(NotSentError) as refusal:
            await made(caller).send(outgoing(media=(Media(source=str(tmp_path.resolve() / name)),)))
        assert (refusal.value.for_good, caller.calls) == (True, [])


async def test_a_picture_that_is_too_big_to_be_shown_goes_as_a_document(tmp_path: Path) -> None:
    with (tmp_path / "big.png").open("wb") as file:
        file.truncate(11 * 1024 * 1024)
    caller = Recorded()
    await TelegramOutbox(caller).send(outgoing(media=(Media(source=str(tmp_path.resolve() / "big.png")),)))
    assert caller.calls[0].path == "sendDocument"


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("a < b & c", "a &lt; b &amp; c"),
        ("**a _b_** ~~c~~ *d*", "<b>a <i>b</i></b> <s>c</s> <i>d</i>"),
        ("`a<b` and ``c`d``", "<code>a&lt;b</code> and <code>c`d</code>"),
        ('[see](https://example.com/?a=1&b="2")', '<a href="https://example.com/?a=1&amp;b=&quot;2&quot;">see</a>'),
        ("[x](javascript:alert)", "[x](javascript:alert)"),
        ("# Heat\ntext", "<b>Heat</b>\ntext"),
        ("## **Heat** ##", "<b>Heat</b>"),
        ("```py\nif a < b:\n```\nend", '<pre><code class="language-py">if a &lt; b:</code></pre>\nend'),
        ("```\nopen", "<pre>open</pre>"),
        ("snake_case_name and 2 * 3 * 4", "snake_case_name and 2 * 3 * 4"),
        ("**a", "**a"),
        ("<b>raw</b>", "&lt;b&gt;raw&lt;/b&gt;"),
    ],
)
def test_markdown_becomes_what_telegram_shows(text: str, html: str) -> None:
    assert as_html(text) == html


class Nesting(HTMLParser):
    """Fails where tags are not closed in their order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in {"a", "b", "i", "s", "code", "pre"}
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


MARKS = st.sampled_from(["**", "*", "_", "~~", "`", "```\n", "[a](https://b.c)", "<i>", "&", "x", " ", "\n", "# "])


@given(st.lists(MARKS))
def test_whatever_is_written_the_tags_are_ours_and_closed(pieces: list[str]) -> None:
    parser = Nesting()
    parser.feed(as_html("".join(pieces)))
    parser.close()
    assert parser.open == []
