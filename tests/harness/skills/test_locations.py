"""Paths are shortened where the model's shell understands them."""

import pytest

from harness.skills import PathNaming


def shown(naming: PathNaming, file: str) -> str:
    (location,) = naming.locations([file])
    return location


def test_the_longest_home_becomes_a_tilde() -> None:
    naming = PathNaming(homes=("/data", "/data/ann"))
    assert shown(naming, "/data/ann/ws/skills/a/SKILL.md") == "~/ws/skills/a/SKILL.md"
    assert shown(naming, "/data/annex/SKILL.md") == "~/annex/SKILL.md"
    assert shown(naming, "/srv/a/SKILL.md") == "/srv/a/SKILL.md"


def test_the_real_path_of_a_home_counts_too() -> None:
    assert shown(PathNaming(homes=("/home/ann", "/mnt/disk/ann")), "/mnt/disk/ann/s/SKILL.md") == "~/s/SKILL.md"


def test_the_root_folder_is_no_home() -> None:
    assert shown(PathNaming(homes=("/",)), "/srv/a/SKILL.md") == "/srv/a/SKILL.md"


def test_a_backslash_is_a_character_like_others() -> None:
    assert shown(PathNaming(), "/srv/a\\b/SKILL.md") == "/srv/a\\b/SKILL.md"


@pytest.mark.parametrize(
    ("file", "location"),
    [
        ("/data/.openclaw/skills/a/SKILL.md", "/data/.openclaw/skills/a/SKILL.md"),
        ("/data/.openclaw/plugin-skills/a/SKILL.md", "/data/.openclaw/plugin-skills/a/SKILL.md"),
        ("/data/.openclaw/other/a/SKILL.md", "~/.openclaw/other/a/SKILL.md"),
        ("/data/ws/skills/a/SKILL.md", "~/ws/skills/a/SKILL.md"),
    ],
)
def test_skills_of_the_state_folder_stay_absolute_where_the_shell_has_another_home(file: str, location: str) -> None:
    naming = PathNaming(homes=("/data",), shell_homes=("/root",), state_dir="/data/.openclaw")
    assert shown(naming, file) == location


def test_skills_of_the_state_folder_are_shortened_where_the_shell_has_the_same_home() -> None:
    naming = PathNaming(homes=("/data",), shell_homes=("/data",), state_dir="/data/.openclaw")
    assert shown(naming, "/data/.openclaw/skills/a/SKILL.md") == "~/.openclaw/skills/a/SKILL.md"
