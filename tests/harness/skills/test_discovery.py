"""Skills are found where they may lie, and nothing outside is reached by accident."""

import os
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from harness.skills import PluginSkills, SkillLimits, SkillPlaces, SkillProblem, SkillSource, Standing, Why, disk
from tests.harness.skills.shelf import Shelf, names, standings


def reasons(shelf: Shelf, places: SkillPlaces | None = None) -> dict[str, str]:
    return {one.name: one.reason for one in shelf.survey(places).verdicts if one.standing is Standing.OUT}


def test_nested_skills_are_found_by_their_flat_names(shelf: Shelf) -> None:
    """S75."""
    file = shelf.put("ws/skills/personal/foo", name="bar")
    (verdict,) = shelf.survey().verdicts
    assert (verdict.name, verdict.file, verdict.standing) == ("bar", str(file), Standing.IN)


def test_groups_are_searched_six_folders_deep(shelf: Shelf) -> None:
    shelf.put("ws/skills/a/b/c/d/e/six")
    shelf.put("ws/skills/a/b/c/d/e/f/seven")
    assert [one.name for one in shelf.survey().verdicts] == ["six"]


def test_an_extra_folder_is_searched_two_folders_deep_unless_it_is_named_skills(shelf: Shelf) -> None:
    for base in ("more", "other/skills"):
        shelf.put(f"{base}/a/two-{base[0]}")
        shelf.put(f"{base}/a/b/three-{base[0]}")
    places = replace(shelf.places(), extra_dirs=(str(shelf.base / "more"), str(shelf.base / "other/skills")))
    assert [one.name for one in shelf.survey(places).verdicts] == ["three-o", "two-m", "two-o"]


def test_a_skill_folder_is_not_searched_for_further_skills(shelf: Shelf) -> None:
    shelf.put("ws/skills/outer")
    shelf.put("ws/skills/outer/inner")
    assert [one.name for one in shelf.survey().verdicts] == ["outer"]


def test_dot_folders_and_node_modules_are_skipped(shelf: Shelf) -> None:
    for folder in (".hidden/a", "node_modules/b", "group/.git/c"):
        shelf.put(f"ws/skills/{folder}")
    assert shelf.survey().verdicts == ()


def test_a_root_that_is_itself_a_skill_is_one_skill(shelf: Shelf) -> None:
    shelf.put("single")
    shelf.put("single/below")
    places = replace(shelf.places(), extra_dirs=(str(shelf.base / "single"),))
    assert [one.name for one in shelf.survey(places).verdicts] == ["single"]


def test_a_skills_folder_inside_a_root_is_the_true_root(shelf: Shelf) -> None:
    shelf.put("checkout/skills/a/b/c/deep")
    shelf.put("checkout/skills/one")
    shelf.put("checkout/examples/two")
    places = replace(shelf.places(), extra_dirs=(str(shelf.base / "checkout"),))
    survey = shelf.survey(places)
    assert ([one.name for one in survey.verdicts], survey.problems) == (["deep", "one"], ())
    shelf.put("checkout/beside")
    path = str(shelf.base / "checkout")
    assert shelf.survey(places).problems == (
        SkillProblem(path, f"{path} has skills beside its folder skills, which are not read; move them into it."),
    )


def test_sources_are_merged_by_precedence(shelf: Shelf) -> None:
    places = replace(
        shelf.places(),
        bundled=str(shelf.base / "pkg/skills"),
        extra_dirs=(str(shelf.base / "extra"),),
        plugins=(PluginSkills("p", str(shelf.base / "plugin"), (str(shelf.base / "plugin/skills"),)),),
    )
    folders = {
        "ws/skills": SkillSource.WORKSPACE,
        "ws/.agents/skills": SkillSource.PROJECT,
        "home/.agents/skills": SkillSource.PERSONAL,
        "home/.openclaw/skills": SkillSource.MANAGED,
        "pkg/skills": SkillSource.BUNDLED,
        "extra": SkillSource.EXTRA,
        "plugin/skills": SkillSource.EXTRA,
    }
    for folder in reversed(folders):
        file = shelf.put(f"{folder}/same")
        winners = [one for one in shelf.survey(places).verdicts if one.standing is Standing.IN]
        assert [(one.file, one.source) for one in winners] == [(str(file), folders[folder])]


def test_a_link_out_of_the_workspace_is_refused_with_its_fix(shelf: Shelf) -> None:
    shelf.put("outside/leak")
    shelf.skills.mkdir()
    (shelf.skills / "leak").symlink_to(shelf.base / "outside/leak")
    assert standings(shelf.survey()) == [("leak", "out", "unsafe")]
    assert reasons(shelf) == {
        "leak": f"links to {shelf.base}/outside/leak, outside of its skills folder; list the folder it leads to in "
        "skills.load.allowSymlinkTargets if it is meant"
    }


def test_a_link_to_a_trusted_folder_is_followed(shelf: Shelf) -> None:
    shelf.put("outside/group/fine")
    shelf.skills.mkdir()
    (shelf.skills / "group").symlink_to(shelf.base / "outside/group")
    places = replace(shelf.places(), allow_symlink_targets=(str(shelf.base / "outside"),))
    assert standings(shelf.survey(places)) == [("fine", "in", "eligible")]


def test_bundled_skills_may_not_link_out_even_to_a_trusted_folder(shelf: Shelf) -> None:
    shelf.put("outside/leak")
    (shelf.base / "pkg").mkdir()
    (shelf.base / "pkg/leak").symlink_to(shelf.base / "outside/leak")
    places = replace(
        shelf.places(), bundled=str(shelf.base / "pkg"), allow_symlink_targets=(str(shelf.base / "outside"),)
    )
    assert reasons(shelf, places) == {
        "leak": f"links to {shelf.base}/outside/leak, outside of its skills folder; put a copy there"
    }


def test_a_skills_folder_that_is_a_link_out_of_the_workspace_is_not_read(shelf: Shelf) -> None:
    shelf.put("outside/a")
    shelf.skills.symlink_to(shelf.base / "outside")
    survey = shelf.survey()
    assert (survey.verdicts, survey.problems) == (
        (),
        (
            SkillProblem(
                str(shelf.skills),
                f"{shelf.skills} leads to {shelf.base}/outside, outside of the workspace, and is not read; list that "
                "folder in skills.load.allowSymlinkTargets if it is meant.",
            ),
        ),
    )
    trusted = replace(shelf.places(), allow_symlink_targets=(str(shelf.base / "outside"),))
    assert standings(shelf.survey(trusted)) == [("a", "in", "eligible")]


def test_a_file_that_links_out_is_refused(shelf: Shelf) -> None:
    secret = shelf.put("outside/x")
    (shelf.skills / "leak").mkdir(parents=True)
    (shelf.skills / "leak/SKILL.md").symlink_to(secret)
    assert reasons(shelf) == {
        "leak": f"has a SKILL.md that links to {secret}, outside of its skills folder; list the folder it leads to in "
        "skills.load.allowSymlinkTargets if it is meant"
    }


def test_a_file_may_be_a_link_within_its_root(shelf: Shelf) -> None:
    real = shelf.put("ws/skills/real")
    (shelf.skills / "alias").mkdir()
    (shelf.skills / "alias/SKILL.md").symlink_to(real)
    assert standings(shelf.survey()) == [("real", "in", "eligible"), ("real", "out", "shadowed")]


def test_personal_folders_may_be_links_and_are_named_by_their_real_path(shelf: Shelf) -> None:
    file = shelf.put("dotfiles/mine")
    root = shelf.home / ".agents/skills"
    root.mkdir(parents=True)
    (root / "mine").symlink_to(shelf.base / "dotfiles/mine")
    (verdict,) = shelf.survey().verdicts
    assert (verdict.file, verdict.standing) == (str(file), Standing.IN)


def test_the_file_of_a_personal_skill_must_lie_in_its_own_folder(shelf: Shelf) -> None:
    other = shelf.put("home/.agents/skills/other")
    (other.parent.parent / "leak").mkdir()
    (other.parent.parent / "leak/SKILL.md").symlink_to(other)
    assert reasons(shelf) == {
        "leak": f"has a SKILL.md that links to {other}, outside of its skills folder; put a copy there"
    }


def test_a_hard_link_is_refused_except_in_what_an_installer_laid_out(shelf: Shelf) -> None:
    file = shelf.put("outside/x", name="twin")
    for folder in ("ws/skills/twin", "pkg/twin"):
        (shelf.base / folder).mkdir(parents=True)
        os.link(file, shelf.base / folder / "SKILL.md")
    places = replace(shelf.places(), bundled=str(shelf.base / "pkg"))
    assert standings(shelf.survey(places)) == [("twin", "out", "unsafe"), ("twin", "in", "eligible")]
    assert reasons(shelf, places) == {"twin": "its SKILL.md is a hard link; put a copy there"}


MEMORY_REASON = (
    "has a SKILL.md that is memory of the workspace, which nobody but the owner may read; put a file of its own there"
)


def _folder_of_notes(shelf: Shelf) -> None:
    shelf.put("ws/memory")
    shelf.skills.symlink_to("memory")


def _workspace_as_a_skill(shelf: Shelf) -> None:
    shelf.put("ws").rename(shelf.workspace / "MEMORY.md")
    (shelf.workspace / "SKILL.md").symlink_to("MEMORY.md")
    shelf.skills.symlink_to(".")


def _memory_in_a_skill(shelf: Shelf) -> None:
    shelf.put("ws/skills/x")
    (shelf.workspace / "MEMORY.md").symlink_to("skills/x/SKILL.md")


def _note_in_a_skill(shelf: Shelf) -> None:
    shelf.put("ws/skills/x")
    (shelf.workspace / "memory").mkdir()
    (shelf.workspace / "memory/2026-12-01.md").symlink_to("../skills/x/SKILL.md")


@pytest.mark.parametrize("door", [_folder_of_notes, _workspace_as_a_skill, _memory_in_a_skill, _note_in_a_skill])
def test_the_memory_is_no_skill_by_whatever_links(shelf: Shelf, door: Callable[[Shelf], None]) -> None:
    door(shelf)
    (verdict,) = shelf.survey().verdicts
    assert (verdict.standing, verdict.why, verdict.reason) == (Standing.OUT, Why.MEMORY, MEMORY_REASON)


@pytest.mark.parametrize("link", ["MEMORY.md", "memory/2026-12-01.md"])
def test_a_skill_that_becomes_the_memory_is_one_no_longer_and_comes_back(
    shelf: Shelf, link: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk, "SETTLED_AFTER_NS", 0)  # as long after the skill was written
    file = shelf.put("ws/skills/x")
    shelf.put("ws/skills/y")
    (shelf.workspace / "memory").mkdir()
    library = shelf.library()
    assert names(library) == ["x", "y"]
    (shelf.workspace / link).symlink_to(file)
    assert names(library) == ["y"]
    (shelf.workspace / link).unlink()
    assert names(library) == ["x", "y"]


def test_a_pipe_or_folder_in_place_of_the_file_is_refused_without_waiting(shelf: Shelf) -> None:
    (shelf.skills / "pipe").mkdir(parents=True)
    os.mkfifo(shelf.skills / "pipe/SKILL.md")
    (shelf.skills / "tree/SKILL.md").mkdir(parents=True)
    reason = "its SKILL.md is not a regular file"
    assert reasons(shelf) == {"pipe": reason, "tree": reason}


def test_a_file_over_the_limit_is_left_out_with_both_numbers(shelf: Shelf) -> None:
    file = shelf.put("ws/skills/big")
    shelf.limits = SkillLimits(max_skill_file_bytes=file.stat().st_size)
    assert standings(shelf.survey()) == [("big", "in", "eligible")]
    shelf.limits = SkillLimits(max_skill_file_bytes=10)
    assert reasons(shelf) == {
        "big": f"its file has {file.stat().st_size} bytes, more than skills.limits.maxSkillFileBytes 10"
    }


def test_more_folders_than_allowed_are_cut_by_name_and_told(shelf: Shelf) -> None:
    for name in ("c", "a", "b"):
        shelf.put(f"ws/skills/{name}")
    shelf.limits = SkillLimits(max_candidates_per_root=2)
    survey = shelf.survey()
    assert [one.name for one in survey.verdicts] == ["a", "b"]
    assert survey.problems == (
        SkillProblem(
            str(shelf.skills),
            f"{shelf.skills} offers more than 2 folders; the first by name are read, and "
            "skills.limits.maxCandidatesPerRoot sets how many.",
        ),
    )


def test_the_limit_holds_for_the_whole_root_and_not_for_each_group(shelf: Shelf) -> None:
    for name in ("g1/a", "g1/b", "g2/c", "g2/d"):
        shelf.put(f"ws/skills/{name}")
    shelf.limits = SkillLimits(max_candidates_per_root=3)
    survey = shelf.survey()
    assert ([one.name for one in survey.verdicts], len(survey.problems)) == (["a", "b", "c"], 1)


def test_a_folder_of_very_many_entries_is_looked_at_in_part(shelf: Shelf) -> None:
    shelf.skills.mkdir()
    for number in range(1_001):
        (shelf.skills / f"{number}.txt").touch()
    shelf.limits = SkillLimits(max_candidates_per_root=2)
    assert [problem.text for problem in shelf.survey().problems] == [
        f"{shelf.skills} has more than 1000 entries; only so many are looked at."
    ]


def test_more_skills_than_a_source_may_load_are_named_one_by_one(shelf: Shelf) -> None:
    for name in ("c", "a", "b"):
        shelf.put(f"ws/skills/{name}")
    shelf.limits = SkillLimits(max_skills_loaded_per_source=2)
    assert standings(shelf.survey()) == [
        ("a", "in", "eligible"),
        ("b", "in", "eligible"),
        ("c", "out", "too-many"),
    ]


def test_a_loop_of_links_ends(shelf: Shelf) -> None:
    shelf.put("ws/skills/group/a")
    (shelf.skills / "group/again").symlink_to(shelf.skills)
    (shelf.skills / "gone").symlink_to(shelf.base / "nowhere")
    assert standings(shelf.survey()) == [("a", "in", "eligible")]


@pytest.mark.parametrize("folder", ["line\nend", "bad\udcff"])
def test_a_folder_name_that_cannot_be_written_is_refused(shelf: Shelf, folder: str) -> None:
    try:
        shelf.put(f"ws/skills/{folder}", name="x")
    except OSError:
        pytest.skip("this file system does not take such a name")
    written = folder.encode("unicode_escape").decode()
    assert reasons(shelf) == {
        written: "lies at a path with a line end or a character that is not UTF-8; rename its folder"
    }
    assert [one.file for one in shelf.survey().verdicts] == [f"{shelf.skills}/{written}/SKILL.md"]


def test_whatever_is_said_of_a_folder_with_an_odd_name_can_be_written(shelf: Shelf) -> None:
    try:
        shelf.put("outside/bad\udcff", name="x")
    except OSError:
        pytest.skip("this file system does not take such a name")
    shelf.skills.mkdir()
    (shelf.skills / "leak").symlink_to(shelf.base / "outside/bad\udcff")
    for number in range(3):
        shelf.put(f"ws/.agents/skills/odd\udcff/{number}")
    shelf.limits = SkillLimits(max_candidates_per_root=2)
    survey = shelf.survey()
    path = f"{shelf.workspace}/.agents/skills/odd\\udcff"
    assert reasons(shelf)["leak"] == (
        f"links to {shelf.base}/outside/bad\\udcff, outside of its skills folder; list the folder it leads to in "
        "skills.load.allowSymlinkTargets if it is meant"
    )
    assert survey.problems == (
        SkillProblem(
            path,
            f"{path} offers more than 2 folders; the first by name are read, and "
            "skills.limits.maxCandidatesPerRoot sets how many.",
        ),
    )


@pytest.mark.parametrize(("character", "written"), [("\0", "\\x00"), ("\ud800", "\\ud800")])
def test_a_configured_folder_that_cannot_be_is_told_and_the_others_are_read(
    shelf: Shelf, character: str, written: str
) -> None:
    shelf.put("ws/skills/a")
    shelf.put("outside/b")
    (shelf.skills / "b").symlink_to(shelf.base / "outside/b")
    places = replace(
        shelf.places(),
        extra_dirs=(f"/more{character}",),
        allow_symlink_targets=(f"/x{character}", str(shelf.base / "outside")),
    )
    survey = shelf.survey(places)
    assert standings(survey) == [("a", "in", "eligible"), ("b", "in", "eligible")]
    assert survey.problems == (
        SkillProblem(
            f"/more{written}",
            f"/more{written} cannot be a folder: it holds a character that no path can have; "
            "correct the configuration.",
        ),
    )


def test_a_plugins_skills_are_there_only_while_it_is_enabled(shelf: Shelf) -> None:
    """S77."""
    shelf.put("plugin/skills/scribe")
    plugin = PluginSkills("notes", str(shelf.base / "plugin"), (str(shelf.base / "plugin/skills"),))
    enabled = replace(shelf.places(), plugins=(plugin,))
    disabled = replace(shelf.places(), plugins=(replace(plugin, enabled=False),))
    assert standings(shelf.survey(enabled)) == [("scribe", "in", "eligible")]
    assert standings(shelf.survey(disabled)) == [("scribe", "out", "plugin-off")]
    assert reasons(shelf, disabled) == {"scribe": "belongs to the plugin notes, which is not enabled"}
    assert shelf.survey(disabled).catalogue.text == ""
    assert [one.plugin for one in shelf.survey(disabled).verdicts] == ["notes"]


def test_a_disabled_plugin_hides_no_other_skill(shelf: Shelf) -> None:
    """S77."""
    shelf.put("first/skills/scribe")
    other = shelf.put("second/skills/scribe")
    plugins = tuple(
        PluginSkills(name, str(shelf.base / name), (str(shelf.base / name / "skills"),), enabled=name == "second")
        for name in ("first", "second")
    )
    verdicts = shelf.survey(replace(shelf.places(), plugins=plugins)).verdicts
    assert [one.file for one in verdicts if one.standing is Standing.IN] == [str(other)]


def test_the_generated_plugin_folder_takes_only_links_to_known_plugins(shelf: Shelf) -> None:
    """S77."""
    for folder in ("plugin/skills/good", "off/skills/idle", "outside/stranger", "links/real", "plugin/skills/soft"):
        shelf.put(folder)
    (shelf.base / "plugin/skills/empty").mkdir()
    soft = shelf.base / "plugin/skills/soft/SKILL.md"
    soft.rename(soft.with_name("other.md"))
    soft.symlink_to("other.md")
    links = shelf.base / "links"
    for name, target in {
        "good": "plugin/skills/good",
        "idle": "off/skills/idle",
        "stranger": "outside/stranger",
        "empty": "plugin/skills/empty",
        "soft": "plugin/skills/soft",
    }.items():
        (links / name).symlink_to(shelf.base / target)
    plugins = (
        PluginSkills("notes", str(shelf.base / "plugin")),
        PluginSkills("old", str(shelf.base / "off"), enabled=False),
    )
    places = replace(shelf.places(), plugins=plugins, plugin_links=str(links))
    assert standings(shelf.survey(places)) == [
        ("empty", "out", "unsafe"),
        ("good", "in", "eligible"),
        ("idle", "out", "plugin-off"),
        ("real", "out", "unsafe"),
        ("soft", "out", "unsafe"),
        ("stranger", "out", "unsafe"),
    ]
    assert reasons(shelf, places) == {
        "empty": f"links to {shelf.base}/plugin/skills/empty, which has no regular SKILL.md",
        "idle": "belongs to the plugin old, which is not enabled",
        "real": "is not a link, and this folder holds only links to skills of plugins",
        "soft": f"links to {shelf.base}/plugin/skills/soft, which has no regular SKILL.md",
        "stranger": f"links to {shelf.base}/outside/stranger, which belongs to no known plugin",
    }


def test_a_broken_head_is_one_sentence_and_the_skill_still_works(shelf: Shelf) -> None:
    file = shelf.put("ws/skills/mail", "Use for: mail")
    survey = shelf.survey()
    assert standings(survey) == [("mail", "in", "eligible")]
    (problem,) = survey.problems
    assert problem.path == str(file)
    # The words in brackets are those of the YAML library in use.
    assert re.sub(r"\(.*\)", "(…)", problem.text) == (
        f"{file}: line 3 is not valid YAML (…), so its head was read line by line; put values that hold a colon in "
        "quotes and indent with spaces."
    )


def test_a_file_without_a_description_is_out_and_the_others_stay(shelf: Shelf) -> None:
    shelf.put("ws/skills/good")
    bad = shelf.skills / "bad/SKILL.md"
    bad.parent.mkdir()
    bad.write_text("# no head\n", "utf-8")
    assert standings(shelf.survey()) == [("bad", "out", "incomplete"), ("good", "in", "eligible")]


def test_no_folder_at_all_is_no_problem(shelf: Shelf) -> None:
    """S73."""
    survey = shelf.survey(SkillPlaces(str(Path(shelf.base, "nowhere"))))
    assert (survey.verdicts, survey.problems, survey.catalogue.text) == ((), (), "")
