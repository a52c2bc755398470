"""Requirements are checked in a fixed order, and each refusal says what is missing."""

from typing import Any

import pytest

from harness.skills import Host, RemoteNode, SkillEntry, SkillGates, SkillRules, SkillSource, Why
from harness.skills.eligibility import is_on, rule
from tests.harness.skills.shelf import skill

LINUX = Host("linux")
NOTHING: frozenset[str] = frozenset()


def test_a_skill_that_asks_for_nothing_is_eligible() -> None:
    ruling = rule(skill("a"), SkillRules(LINUX), NOTHING)
    assert (ruling.eligible, ruling.why, ruling.reason) == (True, Why.ELIGIBLE, "meets all its requirements")


@pytest.mark.parametrize(
    ("made", "rules", "why", "reason"),
    [
        pytest.param(
            skill("a", key="k", gates=SkillGates(always=True)),
            SkillRules(LINUX, entries={"k": SkillEntry(enabled=False)}),
            Why.DISABLED,
            "is switched off by skills.entries.k.enabled",
            id="switched off, even when always",
        ),
        pytest.param(
            skill("a", source=SkillSource.BUNDLED),
            SkillRules(LINUX, allow_bundled=frozenset({"b"})),
            Why.BUNDLED_NOT_ALLOWED,
            "is bundled and skills.allowBundled does not name it",
            id="bundled and not listed",
        ),
        pytest.param(
            skill("a", gates=SkillGates(always=True, os=("darwin", "win32"))),
            SkillRules(LINUX),
            Why.OS,
            "needs macOS or Windows, and this machine is Linux",
            id="platform, even when always",
        ),
        pytest.param(
            skill("a", gates=SkillGates(bins=("jq", "curl", "git"))),
            SkillRules(LINUX),
            Why.BINS,
            "needs the commands jq, curl on PATH",
            id="commands",
        ),
        pytest.param(
            skill("a", gates=SkillGates(any_bins=("feh", "sxiv"))),
            SkillRules(LINUX),
            Why.ANY_BINS,
            "needs one of the commands feh, sxiv on PATH",
            id="one of the commands",
        ),
        pytest.param(
            skill("a", gates=SkillGates(env=("KEY",)), primary_env="KEY"),
            SkillRules(Host("linux", {"KEY": ""})),
            Why.ENV,
            "needs the environment variable KEY; set it in the environment or in skills.entries.a.env "
            "or skills.entries.a.apiKey",
            id="environment",
        ),
        pytest.param(
            skill("a", gates=SkillGates(config=("x.y",))),
            SkillRules(LINUX, config={"x": {"y": " "}}),
            Why.CONFIG,
            "needs x.y to be set in the configuration",
            id="configuration",
        ),
    ],
)
def test_what_is_missing_keeps_a_skill_out(made: Any, rules: SkillRules, why: Why, reason: str) -> None:
    """S76: metadata gates, environment and configuration."""
    ruling = rule(made, rules, frozenset({"git"}))
    assert (ruling.eligible, ruling.why, ruling.reason) == (False, why, reason)


def test_the_first_missing_requirement_in_order_is_the_one_named() -> None:
    gates = SkillGates(os=("darwin",), bins=("b",), any_bins=("c",), env=("E",), config=("f",))
    entries = {"a": SkillEntry(enabled=False)}
    made = skill("a", source=SkillSource.BUNDLED, gates=gates)
    rules = SkillRules(LINUX, entries=entries, allow_bundled=frozenset({"z"}))
    told = [
        rule(made, rules, NOTHING).why,
        rule(made, SkillRules(LINUX, allow_bundled=frozenset({"z"})), NOTHING).why,
        rule(made, SkillRules(LINUX), NOTHING).why,
        rule(made, SkillRules(Host("darwin")), NOTHING).why,
        rule(made, SkillRules(Host("darwin")), frozenset("b")).why,
        rule(made, SkillRules(Host("darwin")), frozenset("bc")).why,
        rule(made, SkillRules(Host("darwin", {"E": "1"})), frozenset("bc")).why,
        rule(made, SkillRules(Host("darwin", {"E": "1"}), config={"f": []}), frozenset("bc")).why,
    ]
    assert told == [
        Why.DISABLED,
        Why.BUNDLED_NOT_ALLOWED,
        Why.OS,
        Why.BINS,
        Why.ANY_BINS,
        Why.ENV,
        Why.CONFIG,
        Why.ELIGIBLE,
    ]


def test_always_passes_every_later_check() -> None:
    """Rule 13."""
    gates = SkillGates(always=True, bins=("b",), env=("E",), config=("f",))
    assert rule(skill("a", gates=gates), SkillRules(LINUX), NOTHING).why is Why.ALWAYS


def test_the_bundled_list_takes_keys_and_names_and_leaves_other_sources_alone() -> None:
    for allowed in ("k", "a"):
        bundled = skill("a", key="k", source=SkillSource.BUNDLED)
        assert rule(bundled, SkillRules(LINUX, allow_bundled=frozenset({allowed})), NOTHING).eligible
    assert rule(skill("a"), SkillRules(LINUX, allow_bundled=frozenset({"other"})), NOTHING).eligible


def test_a_connected_machine_lends_its_platform_and_commands() -> None:
    gates = SkillGates(os=("darwin",), bins=("osascript",), any_bins=("a", "b"))
    node = RemoteNode("attic-mac", "darwin", frozenset({"osascript", "b"}))
    assert rule(skill("a", gates=gates), SkillRules(LINUX, nodes=(node,)), NOTHING).eligible


@pytest.mark.parametrize(
    "rules",
    [
        SkillRules(Host("linux", {"KEY": "1"})),
        SkillRules(LINUX, entries={"a": SkillEntry(env={"KEY": "1"})}),
        SkillRules(LINUX, entries={"a": SkillEntry(api_key="1")}),
    ],
    ids=["process", "entry", "api key"],
)
def test_a_variable_may_come_from_three_places(rules: SkillRules) -> None:
    assert rule(skill("a", gates=SkillGates(env=("KEY",)), primary_env="KEY"), rules, NOTHING).eligible


def test_an_api_key_fills_only_the_variable_that_the_skill_calls_primary() -> None:
    rules = SkillRules(LINUX, entries={"a": SkillEntry(api_key="1")})
    assert not rule(skill("a", gates=SkillGates(env=("KEY",))), rules, NOTHING).eligible


@pytest.mark.parametrize(
    ("value", "on"),
    [
        (True, True),
        (False, False),
        (1, True),
        (0, False),
        (0.5, True),
        ("x", True),
        (" ", False),
        ({}, True),
        ([], True),
    ],
)
def test_a_configuration_value_counts_as_on_by_its_kind(value: Any, on: bool) -> None:
    assert is_on({"a": {"b": value}}, "a.b") == on


def test_two_browser_settings_are_on_until_somebody_sets_them() -> None:
    """Rule 13."""
    assert is_on({}, "browser.enabled")
    assert is_on({"browser": {}}, "browser.evaluateEnabled")
    assert not is_on({"browser": {"enabled": False}}, "browser.enabled")
    assert not is_on({}, "browser.headless")


@pytest.mark.parametrize("path", ["__proto__.x", "a.constructor", "prototype", "", "a.b.c", "a.missing", "constructor"])
def test_paths_that_lead_nowhere_or_through_forbidden_names_are_off(path: str) -> None:
    assert not is_on({"a": {"b": 1, "constructor": 1}, "prototype": 1, "__proto__": {"x": 1}}, path)


def test_secrets_do_not_show() -> None:
    rules = SkillRules(Host("linux", {"A": "s3cret"}), entries={"a": SkillEntry(api_key="s3cret", env={"B": "s3cret"})})
    assert "s3cret" not in repr(rules)
