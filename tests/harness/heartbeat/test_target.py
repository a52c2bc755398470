from typing import Any

import pytest

from harness.heartbeat import HeartbeatSettings, Place, Target, target_of

LAST = Target(channel="telegram", chat="-7", direct=False)


@pytest.mark.parametrize(
    ("make", "last", "target"),
    [
        ({}, LAST, None),
        ({"target": "last"}, LAST, LAST),
        ({"target": "last"}, None, None),
        ({"target": "telegram"}, LAST, LAST),
        ({"target": "discord"}, LAST, None),
        ({"target": "discord"}, None, None),
        (
            {"target": "discord", "to": "42", "account_id": "home"},
            LAST,
            Target(channel="discord", chat="42", account="home"),
        ),
    ],
)
def test_the_configuration_names_the_chat_that_is_told(
    make: dict[str, Any], last: Target | None, target: Target | None
) -> None:
    assert target_of(HeartbeatSettings(**make), last) == target


@pytest.mark.parametrize(
    ("channel", "chat", "direct"),
    [
        ("telegram", "7", True),
        ("Telegram", " 7 ", True),
        ("telegram", "-1001234567890", False),
        ("telegram", "-1001234567890:topic:4", False),
        ("telegram", "@harbour_news", False),
        ("telegram", "+49 30 1", None),
        ("discord", "user:42", True),
        ("discord", "channel:42", False),
        ("discord", "42", None),
        ("signal", "7", None),
    ],
)
def test_a_chat_counts_as_direct_only_where_its_id_says_so(channel: str, chat: str, direct: bool | None) -> None:
    named = HeartbeatSettings(target=channel, to=chat)
    found = target_of(named, None)
    assert found == Target(channel=channel, chat=chat, direct=direct)
    place = Place(session_key="agent:main:main", target=found)
    assert place.shared is (direct is not True)


@pytest.mark.parametrize(
    ("last", "direct"),
    [
        (Target(channel="discord", chat="42", direct=True), True),
        (Target(channel="discord", chat="42", direct=False), False),
        (Target(channel="discord", chat="43", direct=True), None),
        (Target(channel="signal", chat="42", direct=True), None),
    ],
)
def test_the_chat_in_which_the_owner_wrote_last_is_known(last: Target, direct: bool | None) -> None:
    assert target_of(HeartbeatSettings(target="discord", to="42"), last) == Target(
        channel="discord", chat="42", direct=direct
    )


def test_a_last_chat_of_which_the_gateway_says_nothing_is_judged_by_its_id() -> None:
    last = Target(channel="telegram", chat="7")
    assert target_of(HeartbeatSettings(target="last"), last) == Target(channel="telegram", chat="7", direct=True)
