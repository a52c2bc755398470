"""A session's list is kept until something changed."""

from dataclasses import replace

import pytest

from harness.skills import (
    SkillCommand,
    SkillGates,
    SkillNeed,
    SkillSnapshot,
    SkillVersions,
    build_catalogue,
    is_outdated,
    take_snapshot,
)
from tests.harness.skills.shelf import OPTIONS, skill

WEATHER = replace(
    skill("weather", gates=SkillGates(env=("WX_KEY",), os=("linux",)), primary_env="WX_KEY"),
    command=SkillCommand("exec"),
)
KEPT = SkillSnapshot("list", (), ("a", "b"), (), version=5)


def taken() -> SkillSnapshot:
    return take_snapshot(build_catalogue([WEATHER], OPTIONS), [WEATHER], allow=frozenset({"weather", "a"}), version=7)


def test_a_snapshot_holds_the_list_and_what_it_came_from() -> None:
    assert taken() == SkillSnapshot(
        prompt=build_catalogue([WEATHER], OPTIONS).text,
        skills=(SkillNeed("weather", "WX_KEY", ("WX_KEY",)),),
        skill_filter=("a", "weather"),
        resolved_skills=(WEATHER,),
        version=7,
        prompt_format=1,
    )


@pytest.mark.parametrize(
    ("kept", "current", "allow", "outdated"),
    [
        pytest.param(KEPT, 5, {"b", "a"}, False, id="same, in another order"),
        pytest.param(KEPT, 4, {"a", "b"}, False, id="newer than what is known"),
        pytest.param(KEPT, 6, {"a", "b"}, True, id="something changed"),
        pytest.param(KEPT, 0, {"a", "b"}, True, id="kept by an earlier process"),
        pytest.param(replace(KEPT, version=0), 0, {"a", "b"}, False, id="nothing changed yet"),
        pytest.param(KEPT, 5, {"a"}, True, id="another filter"),
        pytest.param(KEPT, 5, None, True, id="no filter any more"),
        pytest.param(replace(KEPT, skill_filter=None), 5, set[str](), True, id="a filter of nothing is a filter"),
        pytest.param(replace(KEPT, prompt_format=0), 5, {"a", "b"}, True, id="an older form"),
    ],
)
def test_a_list_is_written_anew_when_it_may_be_wrong(
    kept: SkillSnapshot, current: int, allow: set[str] | None, outdated: bool
) -> None:
    names = None if allow is None else frozenset(allow)
    assert is_outdated(kept, current=current, allow=names) is outdated


def test_versions_only_grow_and_a_change_of_everything_counts_for_each_workspace() -> None:
    versions = SkillVersions()
    assert versions.current("/a") == 0
    assert versions.bump(100, workspace="/a") == 100
    assert versions.bump(100, workspace="/a") == 101
    assert (versions.current("/a"), versions.current("/b")) == (101, 0)
    assert versions.bump(50) == 102
    assert (versions.current("/a"), versions.current("/b")) == (102, 102)
    assert versions.bump(200, workspace="/b") == 200
    assert (versions.current("/a"), versions.current("/b")) == (102, 200)
