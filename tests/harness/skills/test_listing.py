"""An agent's settings become the options of its list."""

from pathlib import Path

import pytest

from harness.settings import Host, SkillLimits, SkillPlaces, SkillRules, SkillSettings
from harness.skills import ListingOptions, PathNaming, ReadTool, listing_options

READ = ReadTool()


def settings(allow: frozenset[str] | None = None, homes: tuple[str, ...] = ()) -> SkillSettings:
    return SkillSettings(
        places=SkillPlaces("/ws", config_dir="/home/ann/.openclaw"),
        rules=SkillRules(Host("linux")),
        limits=SkillLimits(max_skills_in_prompt=3, max_skills_prompt_chars=900),
        allow=allow,
        homes=homes,
    )


def test_budget_names_and_homes_come_from_the_settings(tmp_path: Path) -> None:
    """S76, S78."""
    home = tmp_path.resolve() / "ann"
    home.mkdir()
    link = tmp_path.resolve() / "link"
    link.symlink_to("ann")

    made = listing_options(settings(frozenset({"maps"}), (str(link),)), loading=READ, check_command="gateway skills")

    assert made == ListingOptions(
        READ,
        "gateway skills",
        allow=frozenset({"maps"}),
        max_skills=3,
        max_units=900,
        naming=PathNaming(homes=(str(link), str(home)), state_dir="/home/ann/.openclaw"),
    )


@pytest.mark.parametrize(
    ("own", "run", "allowed"),
    [
        (None, None, None),
        (frozenset({"b"}), None, {"b"}),
        (frozenset({"b"}), [" x ", "", "  "], {"x"}),
        (frozenset({"b"}), [], frozenset[str]()),
        (None, ["x"], {"x"}),
    ],
)
def test_a_runs_filter_takes_the_place_of_the_agents_list(
    own: frozenset[str] | None, run: list[str] | None, allowed: object
) -> None:
    """Rule 13: no list is not an empty one. S76."""
    made = listing_options(settings(own), loading=READ, check_command="gateway skills", run_filter=run)

    assert made.allow == allowed
