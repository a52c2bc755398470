"""Skill names stand in dictionary order."""

from harness.skills.order import name_key


def test_signs_come_before_digits_before_letters_and_case_decides_last() -> None:
    expected = ["_x", "-x", "a b", "a_b", "a-b", "a1", "ab", "Ab", "b", "éa", "Ez", "z"]
    for start in (expected, expected[::-1], expected[5:] + expected[:5]):
        assert sorted(start, key=name_key) == expected
