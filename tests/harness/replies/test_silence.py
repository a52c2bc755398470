"""One table of silence for every trigger and channel (T05)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.replies import NO_REPLY, is_silence, may_become_silence, told


@pytest.mark.parametrize(
    "text",
    [
        "NO_REPLY",
        "  no_reply\n",
        "**NO_REPLY**",
        "`NO_REPLY`.",
        "NO_REPLY NO_REPLY\nno_reply",
        '"NO_REPLY"',
        '{"action": "NO_REPLY"}',
        "<think>Nobody asked me.</think>\nNO_REPLY",
        "Not addressed to me, nobody asked.\n\nNO_REPLY",
        "HEARTBEAT_OK",
    ],
)
def test_an_agent_that_keeps_silent_says_nothing(text: str) -> None:
    """T05 1-3, 8, 12."""
    assert told(text) == ""


@pytest.mark.parametrize(
    "text",
    [
        "Put NO_REPLY on its own line to mute the bot.",
        "No, that is the wrong valve.",
        "no reply",
        "NO_REPLY_ALL is a setting.",
        '{"action": "no_reply"}',
        '{"action": "NO_REPLY", "why": "x"}',
        "[" * 100_000,
        "It prints `NO_REPLY`,\nand then it ends.",
    ],
)
def test_an_answer_that_speaks_of_the_token_arrives_unchanged(text: str) -> None:
    """T05 9, 10."""
    assert told(text) == text


@pytest.mark.parametrize(
    ("text", "left"), [("Done. NO_REPLY", "Done."), ("NO_REPLY Two o'clock.", "Two o'clock."), ("", "")]
)
def test_a_stray_token_at_an_edge_goes_and_the_rest_arrives(text: str, left: str) -> None:
    assert told(text) == left


@pytest.mark.parametrize("said", ["", "N", "NO", "no_re", "**NO_REPLY", "NO_REPLY", "HEART", " `"])
def test_half_a_token_is_not_shown(said: str) -> None:
    """T06."""
    assert may_become_silence(said)


@pytest.mark.parametrize("said", ["NOT", "No, thanks", "Heart rate", "Two"])
def test_what_cannot_become_a_token_is_shown(said: str) -> None:
    assert not may_become_silence(said)


@given(st.text())
def test_no_answer_is_lost_that_holds_no_token(text: str) -> None:
    if NO_REPLY not in text.upper() and "HEARTBEAT_OK" not in text:
        assert told(text) == text or not text.strip()
        assert not is_silence(text)
