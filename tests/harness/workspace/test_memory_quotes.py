"""What counts as a quotation of the memory."""

import pytest

from harness.workspace.memory_quotes import telling

MEMORY = """# Long-term memory of the household

- The boat is blue.
- Pin: 4711
- tea
## Family matters
The daughter's recital is on the ninth of May at the town hall; bring the grey shawl for grandmother.
船の鍵は台所の引き出しの奥にある古い缶の中に入っている。
"""
PUBLIC = "# Voice\n\nYou are Pell.\nThe gate is open.\n"


@pytest.mark.parametrize(
    "text",
    [
        MEMORY,
        "Know this: the BOAT\n> is blue!",
        "The pin is pin4711.",
        "recital is on the ninth\nof May",
        "> bring the *grey* shawl for grandmother",
        "船の鍵は台所の引き出しの奥にある古い缶の中に入っている",
        "古い缶の中に入っている、と",
    ],
)
def test_a_line_or_a_good_part_of_one_is_a_quotation_however_it_is_set(text: str) -> None:
    assert telling((MEMORY,), (PUBLIC,)).is_in(f"{PUBLIC}\n{text}\n")


@pytest.mark.parametrize("text", ["", "A boat, blue or not.", "Family matters", "Have tea.", "the ninth of May"])
def test_what_anybody_might_write_is_none(text: str) -> None:
    assert not telling((MEMORY,), (PUBLIC,)).is_in(f"{PUBLIC}\n{text}")


def test_what_the_workspace_says_elsewhere_is_no_secret() -> None:
    said = "The household speaks Occitan on Sundays and holidays.\nThe gate is open.\n"
    assert not telling((said,), (PUBLIC + said,)).is_in(PUBLIC + said)
    assert telling((said,), (PUBLIC,)).is_in(said)
