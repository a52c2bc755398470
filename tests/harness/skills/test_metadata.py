"""The metadata of a skill is read, and what is wrong in it is named."""

import pytest

from harness.skills import InstallStep, SkillGates
from harness.skills.metadata import MAX_JSON5_CHARACTERS, Metadata, read_metadata


def test_every_field_is_read() -> None:
    text = """{
      // what the skill needs
      openclaw: {
        always: true, emoji: '🌦', homepage: 'https://weather.example', skillKey: 'wx', primaryEnv: 'WX_KEY',
        os: ['darwin', 'linux'],
        requires: {bins: ['curl', ' jq '], anyBins: 'feh, sxiv,', env: ['WX_KEY'], config: ['browser.enabled']},
        install: [
          {id: 'brew', kind: 'brew', formula: 'jq', bins: ['jq'], label: 'Install jq', os: 'darwin'},
          {kind: 'download', url: 'https://x.example/a.tgz', archive: 'tar.gz', extract: true, stripComponents: 1,
           targetDir: 'bin'},
          {kind: 'go', module: 'example.com/tool@latest'}, {kind: 'node', package: 'tool'}, {kind: 'uv', package: 't'},
        ],
      },
    }"""
    assert read_metadata(text) == Metadata(
        gates=SkillGates(
            always=True,
            os=("darwin", "linux"),
            bins=("curl", "jq"),
            any_bins=("feh", "sxiv"),
            env=("WX_KEY",),
            config=("browser.enabled",),
        ),
        key="wx",
        primary_env="WX_KEY",
        homepage="https://weather.example",
        emoji="🌦",
        install=(
            InstallStep("brew", id="brew", label="Install jq", bins=("jq",), os=("darwin",), formula="jq"),
            InstallStep(
                "download",
                url="https://x.example/a.tgz",
                archive="tar.gz",
                extract=True,
                strip_components=1,
                target_dir="bin",
            ),
            InstallStep("go", module="example.com/tool@latest"),
            InstallStep("node", package="tool"),
            InstallStep("uv", package="t"),
        ),
    )


def test_the_old_name_of_the_block_still_counts_and_the_new_one_wins() -> None:
    assert read_metadata('{"clawdbot": {"emoji": "a"}}').emoji == "a"
    assert read_metadata('{"clawdbot": {"emoji": "a"}, "openclaw": {"emoji": "b"}}').emoji == "b"
    assert read_metadata('{"other": {"emoji": "a"}}') == Metadata()
    assert read_metadata("  ") == Metadata()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[1]", "metadata must be an object such as {openclaw: {…}}, not a list"),
        ("'x'", "metadata must be an object such as {openclaw: {…}}, not text"),
        ('{"openclaw": 3}', "metadata.openclaw must be an object, not a number"),
        (
            '{"openclaw": {"always": "true"}}',
            "metadata.openclaw.always must be true or false, not text, so it is ignored",
        ),
        ('{"openclaw": {"os": {}}}', "metadata.openclaw.os must be a list of names, not an object, so it is ignored"),
        (
            '{"openclaw": {"requires": {"bins": [1]}}}',
            "metadata.openclaw.requires.bins holds something that is not text, which is left out",
        ),
        (
            '{"openclaw": {"requires": true}}',
            "metadata.openclaw.requires must be an object, not a boolean, so it is ignored",
        ),
        ('{"openclaw": {"emoji": 1}}', "metadata.openclaw.emoji must be text, not a number, so it is ignored"),
        ('{"openclaw": {"install": "x"}}', "metadata.openclaw.install must be a list, not text, so it is ignored"),
        (
            '{"openclaw": {"install": [1]}}',
            "metadata.openclaw.install[0] must be an object, not a number, so it is ignored",
        ),
        (
            '{"openclaw": {"install": [{"kind": "apt"}]}}',
            "metadata.openclaw.install[0].kind must be one of brew, node, go, uv, download, so that step is left out",
        ),
    ],
)
def test_a_value_of_the_wrong_kind_is_named_and_asks_for_nothing(text: str, problem: str) -> None:
    unclear = not any(key in problem for key in ("emoji", "install"))
    assert read_metadata(text) == Metadata(unclear=unclear, problems=(problem,))


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ('{"openclaw": {"requires": {"bins": ["a\\u0000b"]}}}', "a\\x00b"),
        ("{openclaw: {requires: {bins: ['\\ud800']}}}", "\\ud800"),
    ],
)
def test_a_name_that_nothing_can_have_is_told_and_stays_a_requirement(text: str, written: str) -> None:
    assert read_metadata(text) == Metadata(
        gates=SkillGates(bins=(written,)),
        unclear=True,
        problems=(f"metadata.openclaw.requires.bins holds {written}, a name that nothing can have; correct it",),
    )


def test_a_word_with_a_control_character_is_told_and_ignored() -> None:
    assert read_metadata('{"openclaw": {"skillKey": "a\\u0000b", "emoji": "👩\u200d🚒"}}') == Metadata(
        emoji="👩\u200d🚒", problems=("metadata.openclaw.skillKey must be text on one line, so it is ignored",)
    )


@pytest.mark.parametrize("text", ["{openclaw: ", "[" * 5_000, "{a: 0x1, b: '" + "x" * MAX_JSON5_CHARACTERS + "'}"])
def test_text_that_cannot_be_read_is_one_sentence(text: str) -> None:
    (problem,) = read_metadata(text).problems
    assert problem.startswith("metadata is not valid JSON5 (")
    assert "\n" not in problem
