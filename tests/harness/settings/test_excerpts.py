"""Excerpts have sizes, and a tool's result grows with the model's context."""

import pytest

from harness.settings import ExcerptLimits


def test_excerpts_have_the_documented_defaults() -> None:
    """S78."""
    assert ExcerptLimits() == ExcerptLimits(
        memory_get_max_chars=12_000,
        memory_get_default_lines=120,
        post_compaction_max_chars=1_800,
        tool_result_max_chars=None,
    )


def test_values_out_of_range_are_brought_to_its_ends() -> None:
    """S78."""
    huge, tiny = 10**9, -1
    assert ExcerptLimits(
        memory_get_max_chars=huge,
        memory_get_default_lines=huge,
        post_compaction_max_chars=huge,
        tool_result_max_chars=huge,
    ) == ExcerptLimits(
        memory_get_max_chars=250_000,
        memory_get_default_lines=5_000,
        post_compaction_max_chars=50_000,
        tool_result_max_chars=1_000_000,
    )
    assert ExcerptLimits(memory_get_max_chars=tiny).memory_get_max_chars == 1


@pytest.mark.parametrize(
    ("tokens", "configured", "units"),
    [
        (None, None, 16_000),
        (None, 8_000, 8_000),
        (199_999, None, 32_000),
        (400_000, 1_000_000, 480_000),
        (32_000, None, 16_000),
        (99_999, None, 16_000),
        (100_000, None, 32_000),
        (200_000, None, 64_000),
        (8_000, None, 9_600),
        (200_000, 5_000, 5_000),
        (200_000, 10**9, 240_000),
        (0, None, 1),
    ],
)
def test_a_tool_result_grows_with_the_context_up_to_three_tenths_of_it(
    tokens: int | None, configured: int | None, units: int
) -> None:
    """S78: live tool results, by size of the context unless a limit is written."""
    assert ExcerptLimits(tool_result_max_chars=configured).tool_result_units(tokens) == units
