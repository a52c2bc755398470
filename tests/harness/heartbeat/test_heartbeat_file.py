import time

import pytest

from harness.heartbeat import is_effectively_empty


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\ufeff\n",
        "\n \t\r\n",
        "# Heartbeat\n\n## Later\n#\n",
        "- \n* \n+\n- [ ]\n- [x]\n* [ ] \n1.\n2)\n",
        "```\n```\n~~~text\n~~~\n",
        "<!-- fill me in -->\n<!-- over\nseveral\nlines -->",
        "# Title <!-- note -->\n",
    ],
)
def test_a_file_of_headings_stubs_fences_and_comments_asks_for_nothing(text: str) -> None:
    """Rule 14."""
    assert is_effectively_empty(text)


@pytest.mark.parametrize(
    "text",
    [
        None,
        "look at the greenhouse sensor",
        "#tag",
        "- water the ferns",
        "- [ ] water the ferns",
        "```\nmake check\n```",
        "<!-- done --> water the ferns",
        "<!-- never closed\nwater the ferns",
        "[Feed](https://feed.example)",
        "tasks:\n",
    ],
)
def test_anything_else_and_a_file_that_is_not_there_is_something_to_do(text: str | None) -> None:
    """Rule 14."""
    assert not is_effectively_empty(text)


def test_a_link_to_a_list_is_something_to_do() -> None:
    assert not is_effectively_empty("- [Morning list](/lists/morning.md)")


def test_a_comment_that_is_never_closed_is_content_and_costs_no_more_than_its_length() -> None:
    def cost(openers: int) -> float:
        start = time.process_time()
        assert not is_effectively_empty("<!--" * openers)
        return max(time.process_time() - start, 1e-4)

    assert cost(40_000) / cost(4_000) < 60  # ten times the text; a quadratic search takes a hundred times as long
