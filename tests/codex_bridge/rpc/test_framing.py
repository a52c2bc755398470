"""A stream of bytes is cut into its lines, however it was chopped up on the way, at a cost linear in its length."""

import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_bridge.rpc import MESSAGE_LIMIT, LineFramer, MessageTooLargeError

LOBSTER = '{"text":"日本語🦞"}'.encode()
MEGABYTE = 1024 * 1024


def fed(chunks: list[bytes], *, limit: int = MESSAGE_LIMIT) -> list[bytes]:
    framer = LineFramer(limit=limit)
    return [line for chunk in chunks for line in framer.feed(chunk)]


@pytest.mark.parametrize(
    ("chunks", "lines"),
    [
        ([b"{}\n"], [b"{}"]),
        ([b"{}"], []),
        ([b"", b"{", b"", b"}", b"\n"], [b"{}"]),
        ([b"1\n2\n3\n4"], [b"1", b"2", b"3"]),
        ([b"1\n2", b"3\n4", b"\n"], [b"1", b"23", b"4"]),
        ([b"1\r\n2\r", b"\n\r\n"], [b"1", b"2"]),
        ([b"a\rb\n"], [b"a\rb"]),
        ([b"\n\n  \t\n1\n"], [b"1"]),
        ([b" 1 \n"], [b" 1 "]),
    ],
)
def test_a_line_ends_at_its_newline(chunks: list[bytes], lines: list[bytes]) -> None:
    assert fed(chunks) == lines


@pytest.mark.parametrize("at", range(1, len(LOBSTER) + 1))
def test_a_character_cut_between_two_chunks_is_whole_in_its_line(at: int) -> None:
    """Case T09 (b)."""
    stream = LOBSTER + b"\n"
    assert fed([stream[:at], stream[at:]]) == [LOBSTER]


@given(
    lines=st.lists(st.binary(max_size=60).filter(lambda line: b"\n" not in line), max_size=20),
    cuts=st.lists(st.integers(min_value=0, max_value=1300), max_size=40),
)
def test_how_a_stream_is_chopped_changes_nothing(lines: list[bytes], cuts: list[int]) -> None:
    stream = b"".join(line + b"\n" for line in lines)
    edges = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    chopped = [stream[start:end] for start, end in pairwise(edges)]

    expected = [line.rstrip(b"\r") for line in lines]
    assert fed(chopped) == fed([stream]) == [line for line in expected if line.strip()]


@pytest.mark.parametrize(
    "chunks",
    [
        [b"x" * 101],
        [b"x" * 101 + b"\n"],
        [b"x" * 60, b"x" * 41],
        [b"x" * 60, b"x" * 41 + b"\n"],
        [b"{}\n" + b"x" * 101],
        [b"{}\n" + b"x" * 101 + b"\n{}\n"],
        [b"x"] * 101,
    ],
)
def test_a_line_over_the_limit_is_refused_and_let_go(chunks: list[bytes]) -> None:
    with pytest.raises(MessageTooLargeError, match="message too large: more than 100 bytes without an end") as caught:
        fed(chunks, limit=100)
    assert caught.value.limit == 100


def test_a_line_of_exactly_the_limit_passes() -> None:
    line = b"x" * 100
    assert fed([line + b"\n", line[:50], line[50:], b"\n"], limit=100) == [line, line]


def test_the_limit_is_for_one_line_and_not_for_a_chunk_or_the_stream() -> None:
    assert fed([b"x" * 100 + b"\n" + b"y" * 100 + b"\n"] * 10, limit=100) == [b"x" * 100, b"y" * 100] * 10


def test_the_unfinished_line_is_counted() -> None:
    framer = LineFramer()
    sizes: list[int] = []
    for chunk in (b"12", b"345", b"\n", b"6\n78", b"9\n"):
        framer.feed(chunk)
        sizes.append(framer.pending)
    assert sizes == [2, 5, 0, 2, 0]


def test_without_a_limit_of_its_own_a_line_may_have_64_mebibytes() -> None:
    framer = LineFramer()
    chunk = b"x" * MEGABYTE
    for _ in range(64):
        assert framer.feed(chunk) == []
    with pytest.raises(MessageTooLargeError, match="67,108,864"):
        framer.feed(b"x")


def test_a_long_line_in_small_chunks_costs_in_proportion_to_its_length() -> None:
    def cost(size: int) -> float:
        """CPU seconds for one line of that size in chunks of 4 KB."""
        chunk = b"x" * 4096
        framer = LineFramer()
        before = time.process_time()
        for _ in range(size // len(chunk)):
            framer.feed(chunk)
        (line,) = framer.feed(b"\n")
        spent = time.process_time() - before
        assert len(line) == size
        return spent

    short = min(cost(4 * MEGABYTE) for _ in range(5))
    long = min(cost(16 * MEGABYTE) for _ in range(5))
    assert long < 4 * 3 * short  # a quadratic one would need 16 times as much
