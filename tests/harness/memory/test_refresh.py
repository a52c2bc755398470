from datetime import date

import pytest

from harness.memory import post_compaction_text
from harness.units import utf16_units

AGENTS = """# Garden
Preface.

## Session Startup
Read memory/YYYY-MM-DD.md.

### Details
Deep.

```
## Red Lines
not a heading
```

## Other
Skip me.

## red  LINES ##
Never water at noon.
# End
Done.
"""
TODAY = date(2026, 3, 2)
STARTUP = (
    "## Session Startup\nRead memory/2026-03-02.md.\n\n### Details\nDeep.\n\n```\n## Red Lines\nnot a heading\n```"
)
RED = "## red  LINES ##\nNever water at noon."
USUAL = (
    "The conversation was just compacted, and a summary may have lost what you do at the start of one. Do it again "
    "now, by these parts of AGENTS.md:"
)


def refresh(*sections: str, text: str = AGENTS, limit: int = 1_800) -> str | None:
    return post_compaction_text(text, sections, today=TODAY, max_units=limit)


def test_the_usual_sections_come_back_with_todays_date() -> None:
    assert refresh("Session Startup", "Red Lines") == f"{USUAL}\n\n{STARTUP}\n\n{RED}"


def test_the_usual_list_is_known_in_any_order_and_case() -> None:
    assert refresh("RED LINES", "session startup") == f"{USUAL}\n\n{RED}\n\n{STARTUP}"


def test_a_list_of_ones_own_is_named() -> None:
    assert refresh("Other") == (
        "The conversation was just compacted. These parts of AGENTS.md still hold in full (Other):\n\n"
        "## Other\nSkip me."
    )


def test_a_section_inside_another_is_not_repeated() -> None:
    text = refresh("Details", "Session Startup")
    assert text is not None
    assert text.count("### Details") == 1


def test_older_workspaces_are_served_by_the_earlier_titles() -> None:
    old = "## Every Session\nGreet.\n## Safety\nBe kind.\n"
    assert refresh("Session Startup", "Red Lines", text=old) == (
        f"{USUAL}\n\n## Every Session\nGreet.\n\n## Safety\nBe kind."
    )
    assert refresh("Session Startup", text=old) is None


@pytest.mark.parametrize("sections", [(), ("Garden",), ("End",), ("Nothing",), ("",)])
def test_nothing_named_or_found_says_nothing(sections: tuple[str, ...]) -> None:
    assert refresh(*sections) is None


def test_the_time_comes_last() -> None:
    text = post_compaction_text(AGENTS, ["Other"], today=TODAY, max_units=1_800, time_lines="Current time: noon (UTC)")
    assert text is not None
    assert text.endswith("Skip me.\n\nCurrent time: noon (UTC)")


def test_long_sections_are_cut_and_say_so() -> None:
    text = refresh("Long", text="## Long\n" + "🦞" * 500, limit=101)
    assert text is not None
    body = text.split("\n\n", 1)[1]
    assert body == "## Long\n" + "🦞" * 33 + "\n[...more in AGENTS.md...]"
    assert utf16_units(body) <= 101
