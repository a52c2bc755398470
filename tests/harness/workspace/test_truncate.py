"""A file that is too long keeps its beginning and its end, says so, and never breaks a character."""

import time

import pytest
import regex
from hypothesis import example, given, settings
from hypothesis import strategies as st

from harness.units import utf16_units
from harness.workspace.boundaries import boundary_at_or_after, boundary_at_or_before, clamp, head, tail
from harness.workspace.truncate import Truncation, truncate

LOBSTER = "🦞"
FIREFIGHTER = "👩\u200d🚒"

STEADY = settings(derandomize=True, deadline=None)

PIECES = st.sampled_from(
    [
        "a",
        "b ",
        "\n",
        "\r\n",
        "\r",
        "好",
        LOBSTER,
        FIREFIGHTER,
        "e\u0301",
        "🇩🇪",
        "🇫",
        "\u200d",
        "\u0301",
        "각",
        "ᄀ",
        "ᅡ",
        "क्षि",
        "- must ",
    ]
)
TEXTS = st.lists(PIECES, max_size=120).map("".join) | st.text(max_size=200)
NAMES = st.sampled_from(["USER.md", "AGENTS.md", "agents.md"])


def character_ends(text: str) -> set[int]:
    return {0} | {match.end() for match in regex.finditer(r"\X", text)}


def sizes(cut: Truncation) -> tuple[int, int, int]:
    return cut.head_units, cut.tail_units, utf16_units(cut.text)


@pytest.mark.parametrize(
    ("raw", "limit", "name", "expected"),
    [
        (1000, 200, "USER.md", (75, 25, 200)),
        (910, 200, "USER.md", (75, 25, 199)),
        (40000, 20000, "USER.md", (14920, 4973, 19999)),
        (30000, 20000, "TOOLS.md", (14919, 4973, 20000)),
        (36697, 20000, "MEMORY.md", (14917, 4972, 19999)),
        (30000, 12000, "USER.md", (8921, 2973, 11999)),
        (1010, 120, "USER.md", (15, 5, 119)),
        (1010, 110, "USER.md", (65, 21, 109)),
        (1010, 100, "USER.md", (57, 19, 99)),
        (1010, 64, "USER.md", (30, 10, 63)),
        (1010, 40, "USER.md", (13, 4, 39)),
        (1010, 30, "USER.md", (6, 2, 29)),
        (1010, 24, "USER.md", (2, 0, 23)),
        (1010, 22, "USER.md", (1, 0, 22)),
        (1010, 21, "USER.md", (0, 0, 21)),
        (1010, 20, "USER.md", (0, 0, 20)),
        (1010, 1, "USER.md", (0, 0, 1)),
    ],
)
def test_a_file_is_cut_to_the_measured_sizes(raw: int, limit: int, name: str, expected: tuple[int, int, int]) -> None:
    """S60; the golden table of prompt-builder 7.6."""
    assert sizes(truncate("x" * raw, name=name, limit=limit)) == expected


def test_the_full_marker_names_the_file_and_the_sizes() -> None:
    """S60."""
    assert truncate("h" * 500 + "t" * 500, name="USER.md", limit=200).text == (
        "h" * 75
        + "\n\n[...truncated, read USER.md for full content...]\n…(truncated USER.md: kept 75+25 chars of 1000)…\n\n"
        + "t" * 25
    )


def test_the_compact_marker_stands_directly_between_the_parts() -> None:
    assert truncate("h" * 505 + "t" * 505, name="USER.md", limit=30).text == "hhhhhh[…truncated 6+2/1010]tt"


@pytest.mark.parametrize(("limit", "text"), [(21, "[…truncated 0+0/1010]"), (20, "[…truncated 0+0/1010"), (1, "[")])
def test_a_limit_smaller_than_the_marker_holds_what_it_can_of_it(limit: int, text: str) -> None:
    """Rule 7: tiny limits."""
    assert truncate("x" * 1010, name="USER.md", limit=limit).text == text


@pytest.mark.parametrize(
    ("lost", "head_units", "tail_units"), [(0, 75, 25), (1, 74, 24), (4, 70, 20)], ids=["x", "lobster", "firefighter"]
)
def test_a_cut_moves_by_at_most_one_character_to_keep_it_whole(lost: int, head_units: int, tail_units: int) -> None:
    """Where the golden cut of 75+25 falls into a character of 2 or 5 units, it gives that character up."""
    character = {0: "x", 1: LOBSTER, 4: FIREFIGHTER}[lost]
    text = "h" * (75 - max(1, lost)) + character * 3 + "." * 830
    text += character * 3 + "t" * (25 - max(1, lost))
    cut = truncate(text, name="USER.md", limit=200)
    kept = cut.text.partition("\n\n[...truncated")[0], cut.text.rpartition("…\n\n")[2]
    assert kept == ("h" * (75 - max(1, lost)) + "x" * (not lost), "x" * (not lost) + "t" * (25 - max(1, lost)))
    assert cut.head_units == 75 - lost
    assert cut.tail_units == 25 - lost


def test_agents_md_keeps_a_digest_of_its_rules() -> None:
    """The golden value of prompt-builder 7.7: 1726 -> 600 is 270+policy 112+72."""
    rules = ["- " + "r" * 36, "1. " + "n" * 31, "# " + "t" * 36]
    filler = "f" * 500
    text = "\n".join(["h" * 400, rules[0], filler, rules[1], rules[2]])
    text += "\n" + "t" * (1726 - len(text) - 1)
    assert utf16_units("\n".join(rules)) == 112
    assert truncate(text, name="AGENTS.md", limit=600) == Truncation(
        text="\n".join(
            [
                "h" * 270,
                "[...truncated, read AGENTS.md for full content...]",
                "[Policy digest from AGENTS.md]",
                *rules,
                "…(truncated AGENTS.md: kept 270+policy 112+72 chars of 1726)…",
                "t" * 72,
            ]
        ),
        units=600,
        raw_units=1726,
        head_units=270,
        tail_units=72,
        digest_units=112,
    )


def test_an_agents_md_without_rules_does_not_use_the_share_of_the_digest() -> None:
    """Rule 8: the unused share is not given back.

    The golden value of prompt-builder 7.7: 30000 -> 20000 is 9000+policy 0+3000 in 12116.
    """
    cut = truncate("x" * 30000, name="AGENTS.md", limit=20000)
    assert (sizes(cut), cut.digest_units) == ((9000, 3000, 12116), 0)
    assert "kept 9000+policy 0+3000 chars of 30000" in cut.text


def test_an_agents_md_whose_limit_holds_no_digest_is_cut_like_any_other_file() -> None:
    cut = truncate("- must\n" * 200, name="AGENTS.md", limit=60)
    assert cut.text == "- must\n" * 4 + "[…truncated 28+9/1399]" + "st\n- must"


def test_trailing_white_space_is_neither_counted_nor_sent() -> None:
    assert truncate("x" * 100 + "\n \n", name="USER.md", limit=100) == Truncation("x" * 100, 100, 100, 100, 0)


def test_a_text_of_wide_characters_within_the_limit_is_whole() -> None:
    """T10 a: the limit counts neither bytes nor columns."""
    assert not truncate("好" * 12000, name="USER.md", limit=12000).truncated


def marked(raw: int, kept: str) -> str:
    """The marker between the two parts of a file of `raw` units that kept such as `8921+2973`."""
    return (
        f"\n\n[...truncated, read USER.md for full content...]\n…(truncated USER.md: kept {kept} chars of {raw})…\n\n"
    )


def test_an_emoji_at_the_limit_counts_as_two_and_stays_whole() -> None:
    """T10 b."""
    cut = truncate("a" * 11999 + LOBSTER, name="USER.md", limit=12000)
    assert (cut.truncated, cut.raw_units) == (True, 12001)
    assert cut.text == "a" * 8921 + marked(12001, "8921+2973") + "a" * 2971 + LOBSTER


def test_kept_and_removed_add_up_to_the_file() -> None:
    """T10 c: what is said to be removed is what the text lacks between its two parts."""
    raw = "a" * 11999 + LOBSTER + "tail-END"
    cut = truncate(raw, name="USER.md", limit=12000)
    first, _, last = cut.text.partition(marked(12009, f"{cut.head_units}+{cut.tail_units}"))
    assert (raw.startswith(first), raw.endswith(last), last.endswith(LOBSTER + "tail-END")) == (True, True, True)
    assert cut.removed_units == utf16_units(raw[len(first) : len(raw) - len(last)]) == 115
    assert cut.kept_units == utf16_units(first + last) == 12009 - 115


@pytest.mark.parametrize("before", range(8914, 8925))
def test_a_joined_emoji_at_the_end_of_the_beginning_is_there_whole_or_not_at_all(before: int) -> None:
    """T10 d: the beginning has room for 8921 units, and the emoji takes five of them."""
    cut = truncate("a" * before + FIREFIGHTER + "b" * 6000, name="USER.md", limit=12000)
    first = "a" * before + FIREFIGHTER + "b" * (8916 - before) if before <= 8916 else "a" * min(before, 8921)
    assert cut.text == first + marked(before + 6005, f"{utf16_units(first)}+2973") + "b" * 2973


@pytest.mark.parametrize("after", range(2966, 2976))
def test_a_joined_emoji_at_the_beginning_of_the_end_is_there_whole_or_not_at_all(after: int) -> None:
    """T10 d: the end has room for 2973 units."""
    cut = truncate("b" * 12000 + FIREFIGHTER + "a" * after, name="USER.md", limit=12000)
    last = "b" * (2968 - after) + FIREFIGHTER + "a" * after if after <= 2968 else "a" * min(after, 2973)
    assert cut.text == "b" * 8921 + marked(after + 12005, f"8921+{utf16_units(last)}") + last


@pytest.mark.parametrize("shift", [0, 1])
def test_a_line_end_of_two_characters_is_not_split(shift: int) -> None:
    """T10 j."""
    cut = truncate("y" * shift + "\r\n" * 8000 + ".", name="USER.md", limit=12000)
    first, _, last = cut.text.partition("\n\n[...truncated")
    assert first.endswith("\r\n")
    assert last.rpartition("…\n\n")[2].startswith("\r\n")


@STEADY
@given(text=TEXTS, name=NAMES, limit=st.integers(1, 260))
@example(text="- must never\n" * 80, name="AGENTS.md", limit=200)
@example(text="\u0301" * 300, name="USER.md", limit=150)
def test_every_cut_keeps_the_promises(text: str, name: str, limit: int) -> None:
    """Rule 7: kept + removed = raw, never above the limit, no broken character, the same every time."""
    cut = truncate(text, name=name, limit=limit)
    raw = text.rstrip()
    first, last = head(raw, cut.head_units), tail(raw, cut.tail_units)

    assert cut.units == utf16_units(cut.text) <= limit
    assert cut.raw_units == utf16_units(raw)
    assert cut.removed_units == utf16_units(raw[len(first) : len(raw) - len(last)])
    assert (utf16_units(first), utf16_units(last)) == (cut.head_units, cut.tail_units)
    assert cut.text.startswith(first)
    assert cut.text.endswith(last)
    assert {len(first), len(raw) - len(last)} <= character_ends(raw)
    assert cut == truncate(text, name=name, limit=limit)


@STEADY
@given(text=TEXTS, index=st.integers(-2, 130))
def test_cuts_fall_where_a_reader_sees_characters_end(text: str, index: int) -> None:
    ends = character_ends(text)
    assert boundary_at_or_before(text, index) == max(end for end in ends if end <= max(0, index))
    assert boundary_at_or_after(text, index) == min(end for end in ends if end >= min(index, len(text)))


@STEADY
@given(text=TEXTS, units=st.integers(0, 130))
def test_beginnings_and_ends_are_as_long_as_they_can_be(text: str, units: int) -> None:
    ends = sorted(character_ends(text))
    assert head(text, units) == text[: max(end for end in ends if utf16_units(text[:end]) <= units)]
    assert tail(text, units) == text[min(end for end in ends if utf16_units(text[end:]) <= units) :]


@pytest.mark.parametrize(
    ("budget", "text"), [(30, "[MISSING] here"), (10, "[MISSING]…"), (4, "[MI…"), (3, "[MI"), (0, "")]
)
def test_a_clamped_line_ends_in_an_ellipsis_when_that_fits(budget: int, text: str) -> None:
    assert clamp("[MISSING] here", budget) == text


def test_a_cut_in_half_a_million_joined_flags_is_found_at_once() -> None:
    flags = "🇩🇪" * 250_000
    assert boundary_at_or_before(flags, 499_999) == 499_998


@pytest.mark.parametrize("joined", ["\u0301", "\u200d\U0001f692"], ids=["accents", "joined emoji"])
def test_a_character_longer_than_the_limit_is_left_out_at_a_cost_linear_in_its_length(joined: str) -> None:
    def cost(parts: int) -> float:
        start = time.process_time()
        found = truncate("a" + joined * parts, name="SOUL.md", limit=parts // 2)
        assert found.text.startswith(("a", "\n", "["))
        return max(time.process_time() - start, 1e-4)

    assert cost(20_000) / cost(2_000) < 60  # ten times the text; a quadratic search takes a hundred times as long
