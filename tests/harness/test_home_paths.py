import pytest

from harness.home_paths import at_home


@pytest.mark.parametrize(
    ("written", "path"),
    [
        ("~", "/home/ana"),
        (" ~/notes ", "/home/ana/notes"),
        ("~\\notes", "/home/ana/notes"),
        ("~ben/notes", "~ben/notes"),
        ("/srv/~/notes", "/srv/~/notes"),
        ("notes", "notes"),
    ],
)
def test_only_a_leading_tilde_of_ones_own_is_the_home(written: str, path: str) -> None:
    assert at_home(written, "/home/ana") == path
