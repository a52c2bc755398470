from dataclasses import replace
from datetime import UTC, datetime

import pytest

from harness.channels import Unheard
from harness.inbound import Attachment, AttachmentKind, Chat, ChatKind, InboundMessage, Quoted, Relation, Sender
from harness.settings.agent import ReplySettings

AT = datetime(2031, 5, 8, 8, tzinfo=UTC)
NEEDED = ReplySettings()


def said(text: str, number: int, *, calls: bool | None = False, chat: str = "-1", topic: str = "") -> InboundMessage:
    return InboundMessage(
        "telegram",
        Chat(ChatKind.GROUP, chat),
        Sender("8", "Mo"),
        str(number),
        text,
        AT,
        topic=topic,
        mentioned=calls,
    )


def before(*texts: str) -> tuple[Quoted, ...]:
    return tuple(Quoted(Relation.BEFORE, text, "Mo") for text in texts)


def test_what_was_said_before_comes_once_with_the_message_that_calls_the_agent() -> None:
    unheard = Unheard(NEEDED)
    assert [unheard.hear(said(text, number)) for number, text in enumerate(("Ahoy", "Fog"))] == [None, None]
    answered = Quoted(Relation.ANSWERED, "Fog", "Mo")
    call = replace(said("@pell?", 3, calls=True), quoted=(answered,))
    assert unheard.hear(call) == replace(call, quoted=(*before("Ahoy", "Fog"), answered))
    again = said("@pell!", 4, calls=True)
    assert unheard.hear(again) == again


def test_each_chat_and_each_topic_has_its_own() -> None:
    unheard = Unheard(NEEDED)
    for number, (chat, topic) in enumerate([("-1", ""), ("-1", "7"), ("-2", "")]):
        unheard.hear(said(f"{chat} {topic}", number, chat=chat, topic=topic))
    call = said("@pell", 9, calls=True, topic="7")
    assert unheard.hear(call) == replace(call, quoted=before("-1 7"))


def test_only_so_much_is_kept_and_the_oldest_goes_first() -> None:
    unheard = Unheard(NEEDED, most=2, chats=2)
    for number in range(3):
        unheard.hear(said(f"line {number}", number))
    for chat in ("-2", "-3"):
        unheard.hear(said("hi", 1, chat=chat))
    heard = [unheard.hear(said("@pell", 9, calls=True, chat=chat)) for chat in ("-1", "-2", "-3")]
    assert [each.quoted for each in heard if each] == [(), before("hi"), before("hi")]
    for number in range(3):
        unheard.hear(said(f"line {number}", number))
    last = unheard.hear(said("@pell", 9, calls=True))
    assert last is not None
    assert last.quoted == before("line 1", "line 2")


def test_an_edit_takes_the_place_of_what_is_kept() -> None:
    unheard = Unheard(NEEDED)
    for number, text in enumerate(("one", "two")):
        unheard.hear(said(text, number))
    unheard.hear(replace(said("ONE", 0), edited=True))
    call = replace(said("@pell two", 1, calls=True), edited=True)
    assert unheard.hear(call) == replace(call, quoted=before("ONE"))


def test_what_was_given_back_comes_before_what_was_said_since_and_goes_first() -> None:
    unheard = Unheard(NEEDED, most=3)
    for number, text in enumerate(("one", "two")):
        unheard.hear(said(text, number))
    call = unheard.hear(said("@pell", 2, calls=True))
    assert call is not None
    for number, text in enumerate(("three", "four"), 3):
        unheard.hear(said(text, number))
    unheard.give_back(call)
    unheard.give_back(said("@pell, who brought nothing", 9, calls=True))
    again = unheard.hear(said("@pell", 5, calls=True))
    assert again is not None
    assert again.quoted == before("two", "three", "four")


def test_a_change_of_what_somebody_was_told_is_marked_and_what_is_begun_anew_is_forgotten() -> None:
    unheard = Unheard(NEEDED)
    unheard.keep(replace(said("mended", 1), edited=True))
    unheard.hear(said("two", 2))
    call = unheard.hear(said("@pell", 3, calls=True))
    assert call is not None
    assert call.quoted == before("[changed] mended", "two")
    unheard.hear(said("three", 4))
    unheard.forget(call)
    call = said("@pell", 5, calls=True)
    assert unheard.hear(call) == call


def test_a_message_without_words_is_kept_by_what_it_brings() -> None:
    unheard = Unheard(NEEDED)
    photo = Attachment(kind=AttachmentKind.IMAGE, file_id="x")
    unheard.hear(replace(said("", 1), attachments=(photo, replace(photo, relation=Relation.ANSWERED))))
    unheard.hear(replace(said("", 2), quoted=(Quoted(Relation.PASSED_ON, "Storm", "News"),)))
    unheard.hear(replace(said("", 3), quoted=(Quoted(Relation.ANSWERED, "Storm", "News"),)))
    unheard.hear(said("x" * 9_999, 4))
    call = unheard.hear(said("@pell", 5, calls=True))
    assert call is not None
    assert call.quoted == before("[image]", "Storm", "x" * 2_000)


@pytest.mark.parametrize(
    ("message", "replies"),
    [
        (replace(said("hi", 1), chat=Chat(ChatKind.DIRECT, "7"), mentioned=None), NEEDED),
        (said("hi", 1, calls=None), NEEDED),
        (said("hi", 1), ReplySettings(needs_mention=False)),
        (said("hi", 1), ReplySettings(channel_needs_mention={"telegram": False})),
    ],
)
def test_what_the_agent_hears_anyway_is_not_kept(message: InboundMessage, replies: ReplySettings) -> None:
    assert Unheard(replies).hear(message) == message
