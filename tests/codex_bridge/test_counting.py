"""Tokens counted once, and how full a conversation is; the sequences are those of both pinned binaries."""

from codex_bridge.counting import Counting
from codex_bridge.wire.notifications import ThreadTokenUsage
from harness.turns import Usage, UsageCounted

WINDOW = 258_400


def counted(last: tuple[int, int], total: int, *, held: int | None = None) -> ThreadTokenUsage:
    """A request of so many tokens in and out, or with `held` an estimate without one."""
    size = sum(last) if held is None else held
    return ThreadTokenUsage.model_validate(
        {
            "last": {"totalTokens": size, "inputTokens": last[0], "outputTokens": last[1]},
            "total": {"totalTokens": total, "inputTokens": max(total, 1)},
            "modelContextWindow": WINDOW,
        }
    )


FULL = ThreadTokenUsage.model_validate(
    {"last": {"totalTokens": 206_900}, "total": {"totalTokens": WINDOW}, "modelContextWindow": WINDOW}
)
"""What comes in place of a count when the provider says that the conversation is too long."""


def told(usage: tuple[int, int], used: int | None) -> UsageCounted:
    return UsageCounted(Usage(input=usage[0], output=usage[1]), WINDOW, used)


def test_the_size_is_that_of_the_last_request_and_not_of_all_together() -> None:
    """K3: total 433,428, last 51,500, window 370,000 is 14 %."""
    counting = Counting()
    numbers = {"last": {"totalTokens": 51_500, "inputTokens": 50_000, "outputTokens": 1_500}}
    count = ThreadTokenUsage.model_validate(
        {**numbers, "total": {"totalTokens": 433_428}, "modelContextWindow": 370_000}
    )
    assert counting.count(count) == UsageCounted(Usage(input=50_000, output=1_500), 370_000, 51_500)
    assert (counting.used, counting.window) == (51_500, 370_000)


def test_the_count_of_the_turn_before_that_comes_again_under_a_new_id_is_not_counted_again() -> None:
    before = counted((50_000, 1_500), 51_500)
    counting = Counting(before)
    assert counting.used == 51_500
    assert counting.count(before) is None
    assert counting.count(counted((60_000, 1_500), 113_000)) == told((60_000, 1_500), 61_500)


def test_a_compaction_counts_the_request_for_the_summary_and_the_size_that_is_estimated_after_it() -> None:
    """K4."""
    before = counted((250_000, 1_500), 251_500)
    counting = Counting(before)
    assert counting.count(before) is None
    assert counting.count(counted((252_000, 300), 503_800)) == told((252_000, 300), 252_300)
    assert counting.count(counted((0, 0), 503_800, held=6_784)) == told((252_000, 300), 6_784)
    assert counting.compacted() is None
    assert counting.count(counted((9_000, 100), 512_900)) == told((261_000, 400), 9_100)


def test_after_a_compaction_that_nobody_counted_the_size_is_not_known() -> None:
    """K4."""
    counting = Counting(counted((250_000, 1_500), 251_500))
    assert counting.compacted() == told((0, 0), None)
    assert counting.compacted() is None
    assert counting.used is None
    assert counting.count(counted((9_000, 100), 260_600)) == told((9_000, 100), 9_100)


def test_a_conversation_that_is_too_long_fills_the_window_and_used_nothing() -> None:
    counting = Counting(counted((50_000, 1_500), 51_500))
    assert counting.count(FULL) == told((0, 0), WINDOW)
    assert counting.count(counted((52_000, 300), 310_700)) == told((52_000, 300), 52_300)


def test_a_thread_that_is_resumed_says_where_its_turns_begin() -> None:
    counting = Counting()
    counting.elsewhere(counted((60_000, 1_500), 113_000))
    assert counting.used == 61_500
    assert counting.count(counted((60_000, 1_500), 113_000)) is None
    assert counting.count(counted((70_000, 10), 183_010)) == told((70_000, 10), 70_010)


def test_counts_without_a_total_are_each_taken_for_a_request() -> None:
    counting = Counting()
    count = ThreadTokenUsage.model_validate({"last": {"inputTokens": 10, "outputTokens": 2}, "total": {}})
    assert [counting.count(count), counting.count(count)] == [
        UsageCounted(Usage(input=10, output=2), None, 12),
        UsageCounted(Usage(input=20, output=4), None, 12),
    ]
