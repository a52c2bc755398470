"""One bad key never stops the rest, and every bad key is named."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import AfterValidator, BaseModel, Field

from harness.config import (
    ConfigFinding,
    Section,
    Surroundings,
    UnknownKey,
    WrongValue,
    describe,
    read_config,
    read_tree,
    resolve_agent,
)
from harness.config.places import Place, show_value, write_place
from harness.config.root import OpenClawConfig
from harness.config.shape import ANY_KEY, Shape, known_places
from harness.json_value import Json
from harness.settings import WarningMode
from tests.support.values import json_values

HERE = Path(__file__).parent
MESSY = (HERE / "messy.json5").read_text(encoding="utf-8")
FINDINGS = (HERE / "messy.findings.txt").read_text(encoding="utf-8")


def sentences(findings: tuple[ConfigFinding, ...]) -> list[str]:
    return [describe(finding) for finding in findings]


def test_every_mistake_of_a_messy_file_is_named_in_one_sentence(machine: Surroundings) -> None:
    config = read_config(MESSY, machine)

    assert sentences(config.findings) == FINDINGS.splitlines()


def test_the_rest_of_a_messy_file_is_in_force(machine: Surroundings) -> None:
    config = read_config(MESSY, machine)
    ana = resolve_agent(config, "ana", machine)

    assert (ana.models.fallbacks, ana.skills.allow, ana.tools.plan_tool) == (("a/b",), {"weather"}, True)
    assert (ana.startup.daily_memory_days, ana.startup.apply_on) == (14, ("new",))
    assert (ana.files.limits.per_file, ana.files.warning) == (20_000, WarningMode.ALWAYS)
    assert (ana.heartbeat.runs, ana.time.timezone, ana.memory.groups) == (False, "Europe/Rome", False)


def test_what_was_written_comes_back_whole(machine: Surroundings) -> None:
    tree: dict[str, Json] = {
        "gateway": {"port": 1, "nested": [None, {"x": "${TOKEN}"}]},
        "agents": {"defaults": {"bootstrapMaxChars": "lots", "unheardOf": {"a": 1}}, "list": [7]},
    }
    with_token = replace(machine, environment={"TOKEN": "t0p"})

    config = read_tree(tree, with_token)

    assert config.written == tree
    assert config.effective["gateway"] == {"port": 1, "nested": [None, {"x": "t0p"}]}


def test_an_empty_file_gives_every_default_and_no_finding(machine: Surroundings) -> None:
    config = read_config("", machine)

    assert (config.values, config.findings) == (OpenClawConfig(), ())


def test_null_is_the_same_as_not_written(machine: Surroundings) -> None:
    config = read_config(
        "{agents: {defaults: {skipBootstrap: null, heartbeat: null}, list: null}, tools: null}", machine
    )

    assert (config.findings, config.values.agents.defaults.skip_bootstrap) == ((), False)


def test_a_whole_number_may_be_written_with_a_point(machine: Surroundings) -> None:
    config = read_config("{skills: {limits: {maxSkillsInPrompt: 7.0}}}", machine)

    assert (config.findings, config.values.skills.limits.max_skills_in_prompt) == ((), 7)


@pytest.mark.parametrize("text", ["[1]", "5", '"text"', "null"])
def test_a_file_that_is_no_object_is_refused(machine: Surroundings, text: str) -> None:
    with pytest.raises(Exception, match="line 1, column 1: the file must hold one object in braces"):
        read_config(text, machine)


def test_secrets_are_never_shown(machine: Surroundings) -> None:
    text = "{commands: {ownerDisplaySecret: 12345}, skills: {entries: {w: {apiKey: 98765, env: {A: 55555}}}}}"
    shown = repr(read_config(text, machine)) + str(sentences(read_config(text, machine).findings))

    assert not any(secret in shown for secret in ("12345", "98765", "55555"))


def test_an_unknown_key_never_passes_for_a_setting_of_that_name(machine: Surroundings) -> None:
    text = "{skills: {load: {places: 1, rules: 2, allow: ['x'], watch_debounce_ms: 9}}, memory: {_citations: 'on'}}"
    config = read_config(text, machine)
    found, built_in = resolve_agent(config, "main", machine), resolve_agent(read_config("", machine), "main", machine)

    assert (found.skills.places, found.skills.allow) == (built_in.skills.places, None)
    assert (found.skills.watch_debounce_ms, found.memory) == (250, built_in.memory)
    assert len(config.findings) == 5


def test_a_long_value_is_shown_shortened() -> None:
    assert show_value("x" * 100, ("a",)) == '"' + "x" * 58 + "…"


def test_a_key_with_odd_characters_is_written_as_json() -> None:
    assert write_place(("agents", "defaults", "models", "a/b.c", "alias")) == 'agents.defaults.models["a/b.c"].alias'


# A backend's own subtree -------------------------------------------------------------------------


def _program(value: str) -> str:
    if " " in value:
        raise ValueError("the path of a program, without arguments")
    return value


class AppServer(Section):
    command: Annotated[str, AfterValidator(_program)] = "codex"
    request_timeout_ms: Annotated[int, Field(gt=0)] = 60_000


class Backend(Section):
    app_server: AppServer = AppServer.model_construct()


PATH = "plugins.entries.codex.config"


def test_a_backends_subtree_is_raw_until_its_model_is_given(machine: Surroundings) -> None:
    text = "{plugins: {entries: {codex: {config: {appServer: {anything: [1, null]}}}}}}"

    config = read_config(text, machine)

    assert config.findings == ()
    assert config.values.plugins.entries["codex"].config == {"appServer": {"anything": [1, None]}}


def test_a_backends_subtree_is_checked_like_any_other(machine: Surroundings) -> None:
    text = "{plugins: {entries: {codex: {config: {appServer: {requestTimeoutMS: 5, command: 'codex --yolo'}, x: 1}}}}}"

    config = read_config(text, machine, sections={PATH: Backend})

    assert sentences(config.findings) == [
        f'{PATH}.appServer.command is "codex --yolo", but must be the path of a program, without arguments; '
        "it counts as not written.",
        f"{PATH}.appServer.requestTimeoutMS is not a known key; did you mean {PATH}.appServer.requestTimeoutMs?",
        f"{PATH}.x is not a key that anything here reads; it is kept as written.",
    ]
    assert config.section(PATH, Backend).app_server.command == "codex"


def test_a_section_is_there_with_its_defaults_when_the_file_lacks_it(machine: Surroundings) -> None:
    assert read_config("{}", machine, sections={PATH: Backend}).section(PATH, Backend) == Backend()
    assert read_config("{}", machine).section(PATH, Backend) == Backend()


def test_a_section_outside_the_known_keys_is_not_reported_as_unknown(machine: Surroundings) -> None:
    config = read_config("{lab: {backend: {appServer: {}}, other: 1}}", machine, sections={"lab.backend": Backend})
    wrong = read_config("{lab: {backend: 5}}", machine, sections={"lab.backend": Backend})

    assert config.findings == ()
    assert wrong.findings == (WrongValue("lab.backend", "5", "an object", "it counts as not written"),)


def test_a_key_in_the_wrong_object_of_a_section_is_led_to_its_place(machine: Surroundings) -> None:
    config = read_config("{lab: {requestTimeoutMs: 5}}", machine, sections={"lab": Backend})

    assert config.findings == (UnknownKey("lab.requestTimeoutMs", "lab.appServer.requestTimeoutMs"),)


def test_asking_for_a_section_as_another_model_is_an_error(machine: Surroundings) -> None:
    config = read_config("{}", machine, sections={PATH: Backend})

    with pytest.raises(TypeError, match=f"{PATH} was read as Backend, not as AppServer"):
        config.section(PATH, AppServer)


class Inner(BaseModel):
    must: int


class Demanding(BaseModel):
    inner: Inner = Inner(must=1)


class Impossible(BaseModel):
    must: int


def test_an_object_that_lacks_a_needed_key_falls_back_as_a_whole(machine: Surroundings) -> None:
    config = read_config("{a: {inner: {must: 'x'}}}", machine, sections={"a": Demanding})

    assert sentences(config.findings) == [
        'a.inner is an object, but must be an object with the key "must"; it counts as not written.',
        'a.inner.must is "x", but must be a whole number; it counts as not written.',
    ]
    assert config.section("a", Demanding) == Demanding()


def test_a_section_model_without_defaults_is_the_programmers_error(machine: Surroundings) -> None:
    with pytest.raises(TypeError, match="Impossible needs a default for every key"):
        read_config("{}", machine, sections={"a": Impossible})


# Anything at all ---------------------------------------------------------------------------------

PLACES = sorted(set(known_places(Shape(OpenClawConfig))), key=str)
JUNK = json_values(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8), st.text(max_size=8), depth=2
)


def put(tree: Json, place: Place, value: Json) -> Json:
    """Return `tree` with `value` at `place`, where nothing else is in the way."""
    if not place:
        return value if tree is None else tree
    first, *rest = place
    if isinstance(first, int):
        items = tree if isinstance(tree, list) else []
        return [put(items[0] if items else None, tuple(rest), value), *items[1:]]
    keys = tree if isinstance(tree, dict) else {}
    return {**keys, first: put(keys.get(first), tuple(rest), value)}


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(PLACES), JUNK), max_size=8))
def test_no_value_at_any_known_key_stops_the_reading(written: list[tuple[Place, Json]]) -> None:
    machine = Surroundings(home=Path("/home/ana"), is_timezone={"UTC"}.__contains__)
    tree: Json = {}
    for place, value in written:
        tree = put(tree, place, value)
    assert isinstance(tree, dict)

    config = read_tree(tree, machine)

    assert all(describe(finding).endswith((".", "?")) for finding in config.findings)
    assert resolve_agent(config, "main", machine).files.limits.per_file > 0


def test_unknown_keys_near_nothing_have_no_suggestion(machine: Surroundings) -> None:
    config = read_config("{agents: {defaults: {frobnicate: {mode: 'off'}}}, env: {A: 'b'}}", machine)

    assert config.findings == (UnknownKey("agents.defaults.frobnicate"), UnknownKey("env"))


def test_a_misspelt_key_is_suggested_in_its_own_entry_of_a_list(machine: Surroundings) -> None:
    config = read_config("{agents: {list: [{id: 'ana', Skills: [], userTimezone: 'UTC'}]}}", machine)

    assert config.findings == (
        UnknownKey("agents.list[0].Skills", "agents.list[0].skills"),
        UnknownKey("agents.list[0].userTimezone", "agents.defaults.userTimezone"),
    )


def test_known_places_name_keys_that_people_choose_by_one_word() -> None:
    assert ("skills", "entries", ANY_KEY, "apiKey") in PLACES
