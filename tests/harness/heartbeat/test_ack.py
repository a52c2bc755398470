import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.heartbeat import AckMode, Stripped, ack_limit, strip_heartbeat_token
from harness.heartbeat.ack import HEARTBEAT_TOKEN
from harness.units import utf16_units

HEARTBEAT, MESSAGE = AckMode.HEARTBEAT, AckMode.MESSAGE
SILENT = Stripped("", silent=True, stripped=True)


def told(text: str) -> Stripped:
    return Stripped(text, silent=False, stripped=True)


def untouched(text: str) -> Stripped:
    return Stripped(text, silent=False, stripped=False)


@pytest.mark.parametrize(
    ("mode", "text", "expected"),
    [
        pytest.param(HEARTBEAT, "HEARTBEAT_OK", SILENT, id="T05-4"),
        pytest.param(HEARTBEAT, "**HEARTBEAT_OK**", SILENT, id="T05-5"),
        pytest.param(
            HEARTBEAT,
            "HEARTBEAT_OK\n\nGreenhouse is 41 C, vents are stuck.",
            told("Greenhouse is 41 C, vents are stuck."),
            id="T05-6",
        ),
        pytest.param(HEARTBEAT, "All fine. HEARTBEAT_OK", SILENT, id="T05-7"),
        pytest.param(MESSAGE, "HEARTBEAT_OK", SILENT, id="T05-12"),
    ],
)
def test_the_heartbeat_rows_of_the_silence_table_hold(mode: AckMode, text: str, expected: Stripped) -> None:
    assert strip_heartbeat_token(text, mode=mode, ack_max_chars=30) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I should not respond HEARTBEAT_OK.", told("I should not respond.")),
        ("All fine. HEARTBEAT_OK.", told("All fine.")),
        ("All fine. HEARTBEAT_OK 👍", told("All fine. 👍")),
        ("HEARTBEAT_OK HEARTBEAT_OK the door is open", told("the door is open")),
        ("Fine. HEARTBEAT_OK. HEARTBEAT_OK.", told("Fine.")),
        ("**HEARTBEAT_OK** all **fine**", told("all **fine**")),
        ("**HEARTBEAT_OK all is well**", told("all is well")),
        ("HEARTBEAT_OK\n- one\n- two", told("- one - two")),
        ("HEARTBEAT_OK好的", told("好的")),
        ("好的HEARTBEAT_OK。", told("好的。")),
        ("HEARTBEAT_OK 5 < 7 and 8 > 3", told("5 < 7 and 8 > 3")),
        ("<b>HEARTBEAT_OK</b>", SILENT),
        ("<p>&nbsp;HEARTBEAT_OK</p>", SILENT),
        ("&nbsp;HEARTBEAT_OK", SILENT),
        ("_HEARTBEAT_OK_", SILENT),
        ("`HEARTBEAT_OK`", SILENT),
        ("~~HEARTBEAT_OK~~", SILENT),
        ("HEARTBEAT_OK!!!", SILENT),
        ("HEARTBEAT_OKAY then", untouched("HEARTBEAT_OKAY then")),
        ("HEARTBEAT_OK_LATER", untouched("HEARTBEAT_OK_LATER")),
        ("MY_HEARTBEAT_OK", untouched("MY_HEARTBEAT_OK")),
        ("say HEARTBEAT_OK when all is well", untouched("say HEARTBEAT_OK when all is well")),
        ("all is well, HEARTBEAT_OK (that is what I say)", untouched("all is well, HEARTBEAT_OK (that is what I say)")),
        ("Nothing.\nnotify=false", untouched("Nothing.\nnotify=false")),
        ("  two\n\nlines  ", untouched("two\n\nlines")),
    ],
)
def test_a_stray_token_goes_from_the_edges_of_a_message_and_nothing_else_does(text: str, expected: Stripped) -> None:
    """Rule 14."""
    assert strip_heartbeat_token(text) == expected


@pytest.mark.parametrize("text", [None, "", " \n\t "])
def test_no_text_is_silent_without_an_acknowledgement(text: str | None) -> None:
    assert strip_heartbeat_token(text, mode=HEARTBEAT) == Stripped("", silent=True, stripped=False)


@pytest.mark.parametrize("last", ["notify=false", "`notify = False`", "  **notify=false** "])
def test_a_heartbeat_that_ends_with_notify_false_is_silent(last: str) -> None:
    assert strip_heartbeat_token(f"Looked at the vents.\n{last}\n", mode=HEARTBEAT, ack_max_chars=0) == SILENT


def test_the_limit_counts_what_is_left_in_utf16_units() -> None:
    text = "HEARTBEAT_OK 🦞🦞"
    assert strip_heartbeat_token(text, mode=HEARTBEAT, ack_max_chars=4) == SILENT
    assert strip_heartbeat_token(text, mode=HEARTBEAT, ack_max_chars=3) == told("🦞🦞")


def test_without_a_token_even_a_short_heartbeat_text_is_told() -> None:
    assert strip_heartbeat_token("Fire!", mode=HEARTBEAT) == untouched("Fire!")


@pytest.mark.parametrize(
    ("raw", "limit"),
    [
        *(("30", 30), (" 12.9 ", 12), (45, 45), (-5, 0), ("-1", 0), (None, 300), ("many", 300), ("", 300)),
        *((float("inf"), 300), (float("nan"), 300), (True, 300), (10**400, 300)),
    ],
)
def test_an_odd_limit_means_the_default_and_a_negative_one_none(raw: str | float | None, limit: int) -> None:
    assert ack_limit(raw) == limit


@given(st.lists(st.sampled_from([HEARTBEAT_TOKEN, "*", "_", "<b>", "</b>", "&nbsp;", " ", "\n", ".", "words", "好"])))
def test_stripping_is_settled_after_one_pass_and_never_grows_a_text(parts: list[str]) -> None:
    text = "".join(parts)
    once = strip_heartbeat_token(text)
    assert utf16_units(once.text) <= utf16_units(text)
    assert once.silent == (once.text == "")
    if once.stripped:
        assert not once.text.startswith(HEARTBEAT_TOKEN + " ")


def test_a_flood_of_tokens_is_no_burden() -> None:
    flood = f"{HEARTBEAT_TOKEN} " * 5_000
    assert strip_heartbeat_token(flood) == SILENT
    assert strip_heartbeat_token(f"word {flood}") == told("word")


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("> HEARTBEAT_OK", ""),
        ("HEARTBEAT_OK\u200b", ""),
        ("ok (HEARTBEAT_OK)", "ok"),
        ('ok: "HEARTBEAT_OK"', "ok:"),
        ('ok ("HEARTBEAT_OK").', "ok."),
        ("ok „HEARTBEAT_OK“", "ok"),
        ("Fine HEARTBEAT_OK\u200b", "Fine"),
        ("| HEARTBEAT_OK |", ""),
        ("(all is well HEARTBEAT_OK)", "(all is well)"),
        ("Fine (really). HEARTBEAT_OK", "Fine (really)."),
    ],
)
def test_nothing_of_the_frame_around_a_token_is_left(text: str, left: str) -> None:
    assert strip_heartbeat_token(text).text == left


def test_four_marks_may_follow_a_token_at_the_end_and_five_may_not() -> None:
    assert strip_heartbeat_token("All fine HEARTBEAT_OK!!!!") == told("All fine!!!!")
    assert strip_heartbeat_token("All fine HEARTBEAT_OK!!!!!") == untouched("All fine HEARTBEAT_OK!!!!!")
