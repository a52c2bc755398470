"""What changed on the disk reaches the next turn, and what did not is neither read nor written again."""

import os
import shutil
import time
from dataclasses import replace

from harness.skills import (
    Host,
    PluginSkills,
    SkillEntry,
    SkillGates,
    SkillLibrary,
    SkillRules,
    SkillSource,
    SkillVersions,
    Standing,
    Why,
)
from harness.skills.disk import SETTLED_AFTER_NS, settled
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
    assert names(library) == ["a"]
    file.unlink()
    file.symlink_to(secret)
    assert [one.why for one in library.survey(RULES, OPTIONS).verdicts] == [Why.UNSAFE]
    file.unlink()
    shelf.put("ws/skills/a", "Back")
    assert [one.description for one in library.eligible(RULES)] == ["Back"]


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


def test_changed_rules_make_a_new_list_and_a_new_version(shelf: Shelf) -> None:
    for name in ("a", "b"):
        shelf.put(f"ws/skills/{name}")
    library = shelf.library()
    assert names(library) == ["a", "b"]
    rules = SkillRules(Host("linux"), entries={"a": SkillEntry(enabled=False)})
    assert (names(library, rules), library.version) == (["b"], 1_000_000)


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


def _let_rest(shelf: Shelf) -> None:
    """Wait until every file of the shelf is old enough for its stamp to be trusted."""
    while any(settled((path.stat().st_ctime_ns, 0, 0), time.time_ns()) is None for path in shelf.workspace.rglob("*")):
        pass
