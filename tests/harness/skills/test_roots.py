"""Skills are looked for in a fixed order of folders."""

import pytest

from harness.skills import Guard, PluginSkills, SkillPlaces, SkillRoot, SkillSource, skill_roots

NOTES = PluginSkills("notes", "/plugins/notes", ("/plugins/notes/skills",))


def test_all_roots_stand_in_order_of_precedence_with_their_guards() -> None:
    places = SkillPlaces(
        "/ws",
        home="/home/ann",
        config_dir="/home/ann/.openclaw",
        bundled="/pkg/skills",
        extra_dirs=("~/more", "near", "/far"),
        plugins=(NOTES,),
        plugin_links="/home/ann/.openclaw/plugin-skills",
        allow_symlink_targets=("~/shared",),
    )
    trusted = ("/home/ann/shared",)
    extra, guarded = SkillSource.EXTRA, Guard.ROOT_OR_TRUSTED
    assert skill_roots(places) == (
        SkillRoot("/ws/skills", SkillSource.WORKSPACE, guarded, within="/ws", trusted=trusted),
        SkillRoot("/ws/.agents/skills", SkillSource.PROJECT, guarded, within="/ws", trusted=trusted),
        SkillRoot("/home/ann/.agents/skills", SkillSource.PERSONAL, Guard.OWN_FOLDER),
        SkillRoot("/home/ann/.openclaw/skills", SkillSource.MANAGED, Guard.OWN_FOLDER),
        SkillRoot("/pkg/skills", SkillSource.BUNDLED, Guard.ROOT),
        SkillRoot("/home/ann/more", extra, guarded, trusted=trusted, configured=True),
        SkillRoot("/ws/near", extra, guarded, trusted=trusted, configured=True),
        SkillRoot("/far", extra, guarded, trusted=trusted, configured=True),
        SkillRoot("/plugins/notes/skills", extra, guarded, trusted=trusted, plugin=NOTES),
        SkillRoot("/home/ann/.openclaw/plugin-skills", extra, Guard.PLUGIN_LINK, plugins=(NOTES,)),
    )


def test_a_sandboxed_run_sees_the_workspaces_own_skills_alone() -> None:
    places = SkillPlaces("/ws", home="/home/ann", bundled="/pkg/skills", workspace_only=True)
    assert [root.path for root in skill_roots(places)] == ["/ws/skills"]


def test_a_source_can_be_left_out() -> None:
    places = SkillPlaces("/ws", home="/home/ann", exclude=frozenset({SkillSource.PERSONAL}))
    assert [root.path for root in skill_roots(places)] == ["/ws/skills", "/ws/.agents/skills"]


@pytest.mark.parametrize(("path", "depth"), [("/x/more", 2), ("/x/skills", 6)])
def test_an_extra_folder_is_searched_deeply_only_when_it_is_named_skills(path: str, depth: int) -> None:
    assert SkillRoot(path, SkillSource.EXTRA, Guard.ROOT, configured=True).depth(path) == depth
    assert SkillRoot(path, SkillSource.BUNDLED, Guard.ROOT).depth(path) == 6
