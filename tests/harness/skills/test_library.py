"""What changed on the disk reaches the next turn, and what did not is neither read nor written again."""

import os
import shutil
import time
from dataclasses import replace

import pytest

from harness.skills import (
    Host,
    PluginSkills,
    SkillEntry,
    SkillGates,
    SkillLibrary,
    SkillLimits,
    SkillRules,
    SkillSource,
    SkillVersions,
    Standing,
    Why,
    disk,
)
from harness.skills.disk import SETTLED_AFTER_NS, find_commands, settled
from harness.skills.judged import KEPT_LISTS, KEPT_RULES
from tests.harness.skills.shelf import OPTIONS, RULES, Shelf, names, standings


def test_an_unchanged_workspace_gives_the_same_value(shelf: Shelf) -> None:
    shelf.put("ws/skills/a")
    library = shelf.library()
    first = library.catalogue(RULES, OPTIONS)
    assert library.catalogue(RULES, OPTIONS) is first
    assert library.catalogue(replace(RULES), replace(OPTIONS)) is first
    assert library.version == 0


def test_an_edit_is_on_the_next_list_and_only_that_file_is_read_again(shelf: Shelf) -> None:
    for name in ("a", "b"):
        shelf.put(f"ws/skills/{name}")
    library = shelf.library()
    _let_rest(shelf)
    before = library.eligible(RULES)
    shelf.put("ws/skills/b", "Does other things")
    after = library.eligible(RULES)
    assert [one.description for one in after] == ["Does things", "Does other things"]
    assert after[0] is before[0]
    assert library.version == 1_000_000


def test_an_edit_of_the_same_size_in_the_same_moment_is_noticed(shelf: Shelf) -> None:
    shelf.put("ws/skills/a", "one")
    library = shelf.library()
    for word in ("two", "six", "ten", "one"):
        shelf.put("ws/skills/a", word)
        assert [one.description for one in library.eligible(RULES)] == [word]


def test_a_stamp_is_trusted_only_when_the_file_has_rested() -> None:
    assert settled((10**12, 1, 1), 10**12 + SETTLED_AFTER_NS) == (10**12, 1, 1)
    assert settled((10**12, 1, 1), 10**12 + SETTLED_AFTER_NS - 1) is None
    assert settled((10**12, 1, 1), 10**12 - 5) is None


def test_a_touched_file_changes_nothing(shelf: Shelf) -> None:
    file = shelf.put("ws/skills/a")
    library = shelf.library()
    first = library.catalogue(RULES, OPTIONS)
    os.utime(file, (1, 1))
    assert library.catalogue(RULES, OPTIONS) is first


def test_skills_that_come_go_and_move_are_followed(shelf: Shelf) -> None:
    library = shelf.library()
    assert names(library) == []
    shelf.put("ws/skills/a")
    assert names(library) == ["a"]
    shelf.put("ws/skills/group/b")
    assert names(library) == ["a", "b"]
    (shelf.skills / "group").rename(shelf.skills / ".group")
    assert names(library) == ["a"]
    shelf.put("ws/.agents/skills/c")
    assert names(library) == ["a", "c"]
    (shelf.skills / "a/SKILL.md").unlink()
    assert names(library) == ["c"]
    shutil.rmtree(shelf.workspace)
    assert names(library) == []


def test_a_file_that_turns_into_a_link_out_is_refused_and_comes_back_as_a_file(shelf: Shelf) -> None:
    file = shelf.put("ws/skills/a")
    secret = shelf.put("outside/x")
    library = shelf.library()
    _let_rest(shelf)
    assert names(library) == ["a"]
    file.unlink()
    file.symlink_to(secret)
    assert [one.why for one in library.survey(RULES, OPTIONS).verdicts] == [Why.UNSAFE]
    file.unlink()
    shelf.put("ws/skills/a", "Back")
    assert [one.description for one in library.eligible(RULES)] == ["Back"]


def test_a_file_that_turns_into_a_link_is_read_where_it_may_lead_and_refused_where_not(shelf: Shelf) -> None:
    file = shelf.put("ws/skills/a")
    inside = shelf.put("ws/skills/.pool/x", "From the pool", name="a")
    secret = shelf.put("outside/x")
    library = shelf.library()
    _let_rest(shelf)
    assert names(library) == ["a"]
    file.unlink()
    file.symlink_to(inside)
    assert [one.description for one in library.eligible(RULES)] == ["From the pool"]
    inside.unlink()
    inside.symlink_to(secret)
    assert [one.reason for one in library.survey(RULES, OPTIONS).verdicts] == [
        f"has a SKILL.md that links to {secret}, outside of its skills folder; list the folder it leads to in "
        "skills.load.allowSymlinkTargets if it is meant"
    ]


def test_a_folder_behind_a_link_that_is_swapped_for_a_way_out_is_refused(shelf: Shelf) -> None:
    shelf.put("ws/skills/.pool/a", "Inside")
    outside = shelf.put("outside/a", "Outside").parent
    (shelf.skills / "a").symlink_to(".pool/a")
    library = shelf.library()
    _let_rest(shelf)
    assert [one.description for one in library.eligible(RULES)] == ["Inside"]
    (shelf.skills / ".pool/a").rename(shelf.base / "aside")
    (shelf.skills / ".pool/a").symlink_to(outside)
    assert library.eligible(RULES) == ()
    assert [(one.why, one.reason) for one in library.survey(RULES, OPTIONS).verdicts] == [
        (
            Why.UNSAFE,
            f"links to {outside}, outside of its skills folder; list the folder it leads to in "
            "skills.load.allowSymlinkTargets if it is meant",
        )
    ]


def test_a_skill_that_asks_for_a_command_that_cannot_be_stops_no_other(shelf: Shelf) -> None:
    file = shelf.put("ws/skills/bad", extra='metadata: {"openclaw": {"requires": {"bins": ["a\\u0000b"]}}}\n')
    shelf.put("ws/skills/fine", extra='metadata: {"openclaw": {"requires": {"bins": ["gadget"]}}}\n')
    (shelf.base / "gadget").touch(mode=0o755)
    rules = SkillRules(Host("linux", {"PATH": f"/odd\0:/odder\ud800:{shelf.base}"}))
    survey = shelf.library().survey(rules, OPTIONS)
    assert standings(survey) == [("bad", "out", "bins"), ("fine", "in", "eligible")]
    assert [problem.text for problem in survey.problems] == [
        f"{file}: metadata.openclaw.requires.bins holds a\\x00b, a name that nothing can have; correct it."
    ]


def test_a_skill_with_a_giant_name_leaves_room_for_the_others(shelf: Shelf) -> None:
    shelf.put("ws/skills/a", name="a" * 20_000)
    shelf.put("ws/skills/b")
    assert names(shelf.library()) == ["a" * 200, "b"]


@pytest.mark.parametrize("name", ["a\0b", "\ud800", "/bin/\0"])
def test_a_name_that_no_file_can_have_is_no_command(name: str) -> None:
    assert find_commands([name, "/bin/sh"], "/bin:\0") == {"/bin/sh"}


def test_an_agent_with_an_empty_list_has_no_skills_and_reads_none(shelf: Shelf) -> None:
    """S76."""
    shelf.put("ws/skills/a")
    library = shelf.library()
    nothing = replace(OPTIONS, allow=frozenset[str]())
    assert library.catalogue(RULES, nothing).text == ""
    assert library.eligible(RULES, frozenset()) == ()
    assert library.snapshot(RULES, nothing).prompt == ""
    assert standings(library.survey(RULES, nothing)) == [("a", "out", "not-allowed")]


def test_each_agent_gets_its_own_list_from_one_reading(shelf: Shelf) -> None:
    """S76."""
    for name in ("a", "b"):
        shelf.put(f"ws/skills/{name}")
    library = shelf.library()
    only_a = replace(OPTIONS, allow=frozenset({"a", "unknown"}))
    assert (names(library), names(library, options=only_a)) == (["a", "b"], ["a"])
    assert library.catalogue(RULES, only_a) is library.catalogue(RULES, replace(only_a))


def test_a_skill_kept_from_the_model_can_still_be_called(shelf: Shelf) -> None:
    shelf.put("ws/skills/quiet", extra="disable-model-invocation: true\n")
    library = shelf.library()
    assert names(library) == []
    assert [one.name for one in library.eligible(RULES)] == ["quiet"]
    assert [one.standing for one in library.survey(RULES, OPTIONS).verdicts] == [Standing.COMMAND_ONLY]


def test_skills_without_room_are_named_in_the_survey(shelf: Shelf) -> None:
    """S78."""
    for name in ("a", "b"):
        shelf.put(f"ws/skills/{name}")
    survey = shelf.library().survey(RULES, replace(OPTIONS, max_skills=1))
    assert standings(survey) == [("a", "in", "eligible"), ("b", "out", "no-room")]


def test_agents_under_different_rules_take_turns_without_anything_being_made_again(shelf: Shelf) -> None:
    for name in ("a", "b"):
        shelf.put(f"ws/skills/{name}")
    library = shelf.library()
    rules = SkillRules(Host("linux"), entries={"a": SkillEntry(enabled=False)})
    first, second = library.catalogue(RULES, OPTIONS), library.catalogue(rules, OPTIONS)
    assert ([one.name for one in first.entries], [one.name for one in second.entries]) == (["a", "b"], ["b"])
    assert library.catalogue(replace(RULES), OPTIONS) is first
    assert library.catalogue(replace(rules), OPTIONS) is second
    assert library.version == 0


def test_an_edit_reaches_the_agents_of_all_rules(shelf: Shelf) -> None:
    shelf.put("ws/skills/a")
    library = shelf.library()
    rules = replace(RULES, hidden=frozenset({"b"}))
    assert (names(library), names(library, rules)) == (["a"], ["a"])
    shelf.put("ws/skills/b")
    shelf.put("ws/skills/c")
    assert (names(library), names(library, rules)) == (["a", "b", "c"], ["a", "c"])
    assert library.version == 1_000_000


def test_a_session_is_told_of_changed_rules_even_when_the_text_stays(shelf: Shelf) -> None:
    shelf.put("ws/skills/a")
    shelf.put("ws/skills/quiet", extra="disable-model-invocation: true\n")
    library = shelf.library()
    first = library.snapshot(RULES, OPTIONS)
    off = replace(RULES, entries={"quiet": SkillEntry(enabled=False)})
    second = library.snapshot(off, OPTIONS, first)
    assert (second.prompt, [one.name for one in second.skills]) == (first.prompt, ["a"])
    assert library.snapshot(off, OPTIONS, second) is second


def test_of_very_many_rules_those_used_longest_ago_are_made_again(shelf: Shelf) -> None:
    shelf.put("ws/skills/a")
    library = shelf.library()
    rules = [replace(RULES, hidden=frozenset({f"x{number}"})) for number in range(KEPT_RULES + 1)]
    made = [library.catalogue(one, OPTIONS) for one in rules]
    assert library.catalogue(rules[1], OPTIONS) is made[1]
    assert library.catalogue(rules[0], OPTIONS) is not made[0]
    assert library.catalogue(rules[0], OPTIONS) == made[0]


def test_of_very_many_lists_the_oldest_is_written_again(shelf: Shelf) -> None:
    shelf.put("ws/skills/a")
    library = shelf.library()
    options = [replace(OPTIONS, max_units=10_000 + number) for number in range(KEPT_LISTS + 1)]
    made = [library.catalogue(RULES, one) for one in options]
    assert library.catalogue(RULES, options[1]) is made[1]
    assert library.catalogue(RULES, options[0]) is not made[0]
    assert library.catalogue(RULES, options[0]) == made[0]


def test_limits_of_the_prompt_make_nothing_be_read_again(shelf: Shelf) -> None:
    """S78: agents of one workspace may have budgets of their own."""
    for name in ("a", "b"):
        shelf.put(f"ws/skills/{name}")
    library = shelf.library()
    _let_rest(shelf)
    before = library.catalogue(RULES, OPTIONS)
    library.configure(shelf.places(), limits=SkillLimits(max_skills_prompt_chars=900, max_skills_in_prompt=7))
    assert (library.catalogue(RULES, OPTIONS) is before, library.version) == (True, 0)
    library.configure(shelf.places(), limits=SkillLimits(max_skills_loaded_per_source=1))
    assert (names(library), library.version) == (["a"], 1_000_000)
    library.configure(shelf.places(), limits=SkillLimits(max_skill_file_bytes=1))
    assert (names(library), library.version) == ([], 1_000_001)


def test_a_command_that_is_installed_later_makes_its_skill_eligible(shelf: Shelf) -> None:
    shelf.put("ws/skills/a", extra='metadata: {"openclaw": {"requires": {"bins": ["gadget"]}}}\n')
    tools = shelf.base / "bin"
    tools.mkdir()
    rules = SkillRules(Host("linux", {"PATH": f"{tools}:/nowhere"}))
    library = shelf.library()
    assert names(library, rules) == []
    (tools / "gadget").mkdir()
    assert names(library, rules) == []
    (tools / "gadget").rmdir()
    (tools / "gadget").touch(mode=0o755)
    assert names(library, rules) == ["a"]
    assert library.eligible(rules)[0].gates == SkillGates(bins=("gadget",))


def test_a_session_keeps_its_snapshot_until_something_changes(shelf: Shelf) -> None:
    shelf.put("ws/skills/a")
    library = shelf.library()
    first = library.snapshot(RULES, OPTIONS)
    assert library.snapshot(RULES, OPTIONS, first) is first
    library.bump()
    second = library.snapshot(RULES, OPTIONS, first)
    assert second == replace(first, version=1_000_000)
    shelf.put("ws/skills/b")
    assert [one.name for one in library.snapshot(RULES, OPTIONS, second).skills] == ["a", "b"]


def test_a_snapshot_of_an_earlier_process_is_made_anew(shelf: Shelf) -> None:
    shelf.put("ws/skills/a")
    library = shelf.library()
    old = replace(library.snapshot(RULES, OPTIONS), version=99)
    assert library.snapshot(RULES, OPTIONS, old).version == 0


def test_a_change_of_everything_reaches_each_workspace(shelf: Shelf) -> None:
    shelf.put("ws/skills/a")
    versions = SkillVersions()
    library = SkillLibrary(shelf.places(), versions=versions)
    first = library.snapshot(RULES, OPTIONS)
    versions.bump(77)
    assert library.snapshot(RULES, OPTIONS, first).version == 77


def test_changed_places_are_read_and_unchanged_ones_are_not_read_again(shelf: Shelf) -> None:
    """S77."""
    shelf.put("ws/skills/a")
    shelf.put("plugin/skills/b")
    plugin = PluginSkills("p", str(shelf.base / "plugin"), (str(shelf.base / "plugin/skills"),), enabled=False)
    places = replace(shelf.places(), plugins=(plugin,))
    library = shelf.library(places)
    _let_rest(shelf)
    before = library.eligible(RULES)
    library.configure(places)
    assert library.version == 0
    library.configure(replace(places, plugins=(replace(plugin, enabled=True),)))
    after = library.eligible(RULES)
    assert [one.name for one in after] == ["a", "b"]
    assert after[0] is before[0]
    library.configure(replace(places, exclude=frozenset({SkillSource.WORKSPACE, SkillSource.EXTRA})))
    assert names(library) == []
    assert library.version == 1_000_001


def test_a_sandboxed_run_has_the_workspaces_own_skills_alone(shelf: Shelf) -> None:
    shelf.put("ws/skills/a")
    shelf.put("home/.openclaw/skills/b")
    assert names(shelf.library()) == ["a", "b"]
    assert names(shelf.library(replace(shelf.places(), workspace_only=True))) == ["a"]


def test_while_it_is_watched_a_library_looks_at_nothing_by_itself(shelf: Shelf) -> None:
    shelf.put("ws/skills/a")
    library = shelf.library()
    _let_rest(shelf)
    names(library)
    with library.watched():
        first = library.catalogue(RULES, OPTIONS)
        shutil.rmtree(shelf.workspace)
        assert library.catalogue(RULES, OPTIONS) is first
        library.mark_changed()
        assert names(library) == []
    shelf.put("ws/skills/b")
    assert names(library) == ["b"]


def test_what_was_read_too_soon_after_its_edit_is_looked_at_again_while_watched(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk, "SETTLED_AFTER_NS", 10**15)
    shelf.put("ws/skills/a", "one")
    library = shelf.library()
    with library.watched():
        assert [one.description for one in library.eligible(RULES)] == ["one"]
        shelf.put("ws/skills/a", "two")
        assert [one.description for one in library.eligible(RULES)] == ["two"]


def test_a_command_is_noticed_by_the_agents_of_all_rules_while_watched(shelf: Shelf) -> None:
    shelf.put("ws/skills/a", extra='metadata: {"openclaw": {"requires": {"bins": ["gadget"]}}}\n')
    tools = shelf.base / "bin"
    tools.mkdir()
    rules = SkillRules(Host("linux", {"PATH": str(tools)}))
    others = replace(rules, hidden=frozenset({"x"}))
    library = shelf.library()
    _let_rest(shelf)
    with library.watched(command_folders=frozenset({str(tools)})):
        assert (names(library, rules), names(library, others)) == ([], [])
        (tools / "gadget").touch(mode=0o755)
        assert (names(library, rules), names(library, others)) == ([], [])
        library.mark_commands_changed()
        assert (names(library, rules), names(library, others)) == (["a"], ["a"])
        assert library.version == 1_000_000


def _let_rest(shelf: Shelf) -> None:
    """Wait until every file of the shelf is old enough for its stamp to be trusted."""
    while any(settled((path.stat().st_ctime_ns, 0, 0), time.time_ns()) is None for path in shelf.workspace.rglob("*")):
        pass
