from typing import Any

import pytest

from harness.heartbeat import HeartbeatSettings, Target, target_of

LAST = Target(channel="telegram", chat="7", direct=False)


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
