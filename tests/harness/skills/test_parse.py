"""The bytes of a SKILL.md become a skill or one reason why not."""

import hashlib

import pytest

from harness.skills import Skill, SkillCommand, SkillSource, Why
from harness.skills.parse import parse_skill, read_boolean
from harness.skills.values import Refused

FILE = "/ws/skills/personal/foo/SKILL.md"


def parsed(text: str | bytes) -> Skill | Refused:
    raw = text.encode() if isinstance(text, str) else text
    return parse_skill(raw, file=FILE, source=SkillSource.WORKSPACE)


def skill(text: str | bytes) -> Skill:
    result = parsed(text)
    assert isinstance(result, Skill)
    return result


def test_a_whole_file_is_understood() -> None:
    """S71 S75: the version comes from the content, the name from the frontmatter and not from the folders."""
    raw = (
        b"---\nname: weather\ndescription: Looks up the weather\nhomepage: https://wx.example\n"
        b"user-invocable: no\ndisable-model-invocation: YES\ncommand-dispatch: tool\ncommand-tool: exec\n"
        b'command-arg-mode: raw\nmetadata: {"openclaw": {"emoji": "W", "homepage": "https://other.example"}}\n---\n'
    )
    assert skill(raw) == Skill(
        name="weather",
        description="Looks up the weather",
        source=SkillSource.WORKSPACE,
        file=FILE,
        directory="/ws/skills/personal/foo",
        version="sha256:" + hashlib.sha256(raw).hexdigest()[:16],
        key="weather",
        homepage="https://wx.example",
        emoji="W",
        user_invocable=False,
        model_invocable=False,
        command=SkillCommand("exec"),
    )


def test_the_folder_names_a_skill_without_a_name() -> None:
    assert skill("---\ndescription: x\n---\n").name == "foo"


def test_the_key_of_the_metadata_is_what_the_configuration_calls_it() -> None:
    assert skill("---\ndescription: x\nmetadata: {openclaw: {skillKey: wx}}\n---\n").key == "wx"


def test_any_change_of_the_file_changes_its_version() -> None:
    """S71."""
    assert skill("---\ndescription: x\n---\na").version != skill("---\ndescription: x\n---\nb").version


def test_a_name_stays_on_one_line_and_control_characters_are_dropped() -> None:
    made = skill('---\nname: "a\\nb\\u202fc"\ndescription: "one\\ntwo\\u0007\\u2028"\n---\n')
    assert (made.name, made.description) == ("a b c", "one\ntwo")


def test_a_very_long_name_is_cut_between_characters_and_told() -> None:
    made = skill("---\nname: x" + "👩\u200d🚒" * 50 + "\ndescription: x\n---\n")
    assert (made.name, made.key) == ("x" + "👩\u200d🚒" * 39, "x" + "👩\u200d🚒" * 39)
    assert made.problems == ("its name has 251 characters, and only the first 200 count; shorten it",)
    assert skill(f"---\nname: {'y' * 200}\ndescription: x\n---\n").problems == ()


def test_nothing_of_a_skill_holds_a_character_that_cannot_be_written() -> None:
    made = skill(
        '---\ndescription: x\nhomepage: "a\\0b"\ncommand-dispatch: tool\ncommand-tool: "t\\0"\n'
        '"odd\\nkey": 1\n"odd\\nkey": 2\n---\n'
    )
    assert (made.homepage, made.command, made.problems) == (
        "ab",
        SkillCommand("t"),
        ("odd\\nkey is given more than once, and the last one counts",),
    )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("---\nname: a\n---\n", "its head has no description; add one"),
        ("---\nname: a\ndescription: '  '\n---\n", "its head has no description; add one"),
        ("hello", "its first line is not ---, so it has no name and description"),
        ("---\nname: a\n", "the --- line that ends its head is missing"),
    ],
)
def test_a_file_without_a_description_is_left_out_with_its_reason(text: str, reason: str) -> None:
    result = parsed(text)
    assert isinstance(result, Refused)
    assert (result.why, result.reason) == (Why.INCOMPLETE, reason)


def test_odd_values_are_told_and_the_defaults_hold() -> None:
    made = skill(
        "---\ndescription: x\nuser-invocable: maybe\ndisable-model-invocation: 2\ncommand-dispatch: shell\n---\n"
    )
    assert (made.user_invocable, made.model_invocable, made.command) == (True, True, None)
    assert made.problems == (
        "user-invocable must be true or false, not 'maybe', so it is ignored",
        "disable-model-invocation must be true or false, not '2', so it is ignored",
        "command-dispatch can only be tool, not 'shell', so it is ignored",
    )


def test_a_dispatch_without_its_tool_and_an_odd_argument_mode_are_told() -> None:
    lonely = skill("---\ndescription: x\ncommand-dispatch: tool\n---\n")
    assert (lonely.command, lonely.problems) == (
        None,
        ("command-dispatch is tool but command-tool names none; add it",),
    )
    odd = skill("---\ndescription: x\ncommand-dispatch: tool\ncommand-tool: t\ncommand-arg-mode: json\n---\n")
    assert (odd.command, odd.problems) == (
        SkillCommand("t"),
        ("command-arg-mode can only be raw, not 'json', so raw is used",),
    )


def test_bytes_that_are_not_utf_8_are_told_and_the_rest_is_read() -> None:
    made = skill(b"---\ndescription: caf\xe9\n---\n")
    assert (made.description, made.problems) == ("caf\ufffd", ("byte 21 is not UTF-8; save the file as UTF-8",))


@pytest.mark.parametrize(("text", "value"), [(" On ", True), ("1", True), ("OFF", False), ("0", False), ("", True)])
def test_booleans_are_read_generously(text: str, value: bool) -> None:
    assert read_boolean(text, default=True) is value
