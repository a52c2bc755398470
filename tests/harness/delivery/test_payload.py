import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.delivery.payload import inbound_of, packed, topic_of, unpacked
from harness.inbound import Chat, ChatKind, InboundMessage, Quoted, Relation, Sender

MESSAGES = st.builds(
    InboundMessage,
    channel=st.text(),
    chat=st.builds(Chat, kind=st.sampled_from(ChatKind), id=st.text(), title=st.text()),
    sender=st.builds(Sender, id=st.text(), name=st.text(), username=st.text()),
    message_id=st.text(),
    text=st.text(st.characters(exclude_categories=())),
    sent_at=st.datetimes(timezones=st.just(UTC)),
    quoted=st.lists(st.builds(Quoted, st.sampled_from(Relation), st.text(), st.text()), max_size=2).map(tuple),
)


@given(MESSAGES)
@settings(deadline=None)  # the first one makes the reader
def test_a_message_comes_back_whole(message: InboundMessage) -> None:
    assert unpacked(packed(message)) == message


@given(MESSAGES, st.text())
@settings(deadline=None)
def test_a_message_is_answered_in_its_topic(message: InboundMessage, topic: str) -> None:
    """Also one with half a character, which is kept by another writer."""
    assert topic_of(packed(replace(message, topic=topic))) == topic


def test_a_message_of_before_a_field_was_there_comes_back() -> None:
    data = json.loads(packed(message()))
    assert unpacked(json.dumps({**data, "quoted": [], "from a newer version": 1})) == message()
    del data["quoted"]
    assert unpacked(json.dumps(data)) == message()


@pytest.mark.parametrize("payload", ["", "no JSON", "[]", "{}", '{"channel": "x", "chat": 7}', "[" * 100_000])
def test_a_text_that_holds_no_message_is_none(payload: str) -> None:
    assert unpacked(payload) is None


def test_the_ledger_keeps_where_the_answer_goes() -> None:
    kept = inbound_of(message(), "agent:main:telegram:direct:7", arrived_at=5.0)
    assert (kept.key, kept.channel, kept.chat, kept.message_id) == ("telegram:7:1", "telegram", "7", "1")
    assert unpacked(kept.payload) == message()


def message() -> InboundMessage:
    at = datetime(2031, 5, 6, 7, 8, 9, tzinfo=UTC)
    return InboundMessage("telegram", Chat(ChatKind.DIRECT, "7"), Sender("7", "Orrin"), "1", "hi", at)
