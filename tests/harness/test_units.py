"""How long a text is, in the units that people's limits and servers' limits are meant in."""

import pytest

from harness.units import units_within


@pytest.mark.parametrize(
    ("text", "size", "units"),
    [
        ("abc", 5, 3),
        ("abc", 2, 2),
        ("éé", 3, 1),
        ("a🧭🧭", 8, 3),
        ("a🧭🧭", 9, 5),
        ("🧭", 3, 0),
        ("", 3, 0),
    ],
)
def test_the_beginning_that_so_many_bytes_hold_is_counted_in_units(text: str, size: int, units: int) -> None:
    assert units_within(text, size) == units
