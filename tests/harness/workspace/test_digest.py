"""The digest of a cut AGENTS.md holds its weightiest lines, in the order of the file."""

from harness.workspace.digest import choose_lines


def test_headings_list_items_and_policy_lines_are_candidates() -> None:
    text = "# Title\nplain words\n- item\n* other\n+ third\n2. second\n3) third\nYou must ask.\n#tag\n-dash\n"
    assert choose_lines(text, 1000) == (
        ["# Title", "- item", "* other", "+ third", "2. second", "3) third", "You must ask."],
        0,
    )


def test_policy_words_count_as_whole_words_only() -> None:
    assert choose_lines("express protest\nmusty ownership\nPR first\nowners decide\nDo not\nGitHub\n", 1000) == (
        ["PR first", "owners decide", "Do not", "GitHub"],
        0,
    )


def test_weightier_lines_are_chosen_first_and_shown_in_the_order_of_the_file() -> None:
    """Rule 8."""
    assert choose_lines("# A heading\n- an item\nnever do that\n- b\n", 25) == (["# A heading", "never do that"], 2)


def test_a_line_that_does_not_fit_gives_way_to_a_shorter_one() -> None:
    assert choose_lines("- must be very long indeed\n- must\n", 10) == (["- must"], 1)


def test_lines_are_collapsed_and_shortened() -> None:
    [line], omitted = choose_lines("-   must\t  " + "x" * 300, 1000)
    assert (line, len(line), omitted) == ("- must " + "x" * 232 + "…", 240, 0)
