"""Plugins of the gateway bring skills, and only while they are on."""

import json
from pathlib import Path

import pytest

from harness.config import Surroundings, read_config, resolve_agent
from harness.gather import Gathered, Gatherer, Situation
from harness.habits import Habits
from harness.layers import Layer, LayerName, Lifetime, Trust
from harness.memory.access import Audience
from harness.skills.plugins import MANIFEST, Installed, installed_plugins
from harness.turns import Trigger

WORDS = Layer(LayerName.USER_TEXT, "m", Lifetime.INPUT, Trust.OWNER, "hi")


def plugin(root: Path, name: str, manifest: object, *skills: str) -> Path:
    folder = root / name
    for skill in skills:
        (folder / skill).mkdir(parents=True)
        text = f"---\nname: {Path(skill).name}\ndescription: of {name}\n---\n"
        (folder / skill / "SKILL.md").write_text(text, encoding="utf-8")
    folder.mkdir(parents=True, exist_ok=True)
    text = manifest if isinstance(manifest, str) else json.dumps(manifest)
    (folder / MANIFEST).write_text(text, encoding="utf-8")
    return folder


async def listed(home: Path, plugins: str) -> tuple[list[str], Gathered]:
    """What the agent of a configuration is told of skills."""
    (home / "w").mkdir(exist_ok=True)
    machine = Surroundings(home=home)
    config = read_config(f"{{agents: {{defaults: {{workspace: '~/w'}}}}, plugins: {plugins}}}", machine)
    gatherer = Gatherer(resolve_agent(config, "main", machine), Habits())
    gathered = await gatherer.gather(Situation(trigger=Trigger.CHAT, audience=Audience.OWNER, words=WORDS))
    return [entry.name for entry in gathered.catalogue.entries], gathered


@pytest.mark.parametrize(
    ("plugins", "names"),
    [
        ("{}", ["knots", "maps", "sails"]),
        ("{entries: {boats: {enabled: false}}}", ["maps"]),
        ("{allow: ['boats']}", ["knots", "sails"]),
        ("{deny: ['boats'], entries: {boats: {enabled: true}}}", ["maps"]),
        ("{enabled: false}", []),
    ],
)
async def test_an_agent_is_told_of_the_skills_of_plugins_that_are_on(
    tmp_path: Path, plugins: str, names: list[str]
) -> None:
    """S77."""
    folder = tmp_path / ".openclaw" / "extensions"
    plugin(folder, "boats", {"id": "boats", "skills": ["./skills"]}, "skills/knots", "skills/sails")
    plugin(folder, "atlas", {"id": "atlas", "skills": ["maps"]}, "maps")
    plugin(folder, "silent", {"id": "silent"}, "skills/unlisted")
    (folder / "no-plugin").mkdir()
    assert (await listed(tmp_path, plugins))[0] == names


async def test_a_plugin_may_lie_anywhere_when_it_is_named(tmp_path: Path) -> None:
    plugin(tmp_path / "more", "boats", {"id": "boats", "skills": ["skills"]}, "skills/knots")
    plugin(tmp_path, "alone", {"id": "alone", "skills": ["skills"]}, "skills/maps")
    assert (await listed(tmp_path, "{load: {paths: ['~/more', '~/alone', '~/nowhere']}}"))[0] == ["knots", "maps"]


@pytest.mark.parametrize(
    ("manifest", "why"),
    [
        ("{", "it is not valid JSON (unexpected end of data: line 1 column 2 (char 1))"),
        ([], "it is not a JSON object"),
        ({"skills": ["skills"]}, "it has no id"),
        ({"id": "boats", "skills": "skills"}, "its skills are no list of folders"),
        ({"id": "boats", "skills": [7]}, "its skills are no list of folders"),
        ({"id": "boats", "skills": ["../other"]}, "its folder of skills '../other' lies outside of the plugin"),
        ({"id": "boats", "skills": ["out"]}, "its folder of skills 'out' lies outside of the plugin"),
        ("x" * 300_000, "it is no regular file of at most 262,144 bytes"),
    ],
)
async def test_a_manifest_that_cannot_be_used_is_named_and_the_rest_works(
    tmp_path: Path, manifest: object, why: str
) -> None:
    folder = tmp_path / ".openclaw" / "extensions"
    (tmp_path / "secret").mkdir()
    bad = plugin(folder, "boats", manifest, "skills/knots")
    (bad / "out").symlink_to(tmp_path / "secret")
    plugin(folder, "atlas", {"id": "atlas", "skills": ["skills"]}, "skills/maps")
    names, gathered = await listed(tmp_path, "{}")
    assert names == ["maps"]
    assert [notice.text for notice in gathered.notices if notice.source == "plugins"] == [
        f"{bad}/{MANIFEST} cannot be used: {why}. The plugin's skills are left out; repair the file."
    ]


def test_where_no_plugin_was_ever_installed_there_is_none(tmp_path: Path) -> None:
    assert installed_plugins([str(tmp_path / "nowhere"), str(tmp_path)]) == Installed()
