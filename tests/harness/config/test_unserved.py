"""What is known and does nothing yet is said, once for each place where it is asked for."""

from pathlib import Path
from typing import ClassVar

import pytest

from harness.config import NotServed, Surroundings, describe, read_config
from harness.config.findings import ConfigFinding
from harness.config.section import Opaque, Section, Texts, Unserved
from harness.config.unserved import not_served
from harness.json_value import Json


class Fence(Section):
    high: bool = False
    colour: str = "green"


class Garden(Section):
    """A root with every kind of key."""

    unserved: ClassVar = {
        "fence": Unserved("nobody builds it", harmless=({"colour": "none"},), refused=True),
        "plants": Unserved("nothing grows"),
        "beds.*.wet": Unserved("it is dry", harmless=("a little",)),
        "depth": Unserved("nobody digs", harmless=(0,)),
    }
    fence: Fence = Fence.model_construct()
    plants: Texts = ("rose", "thyme")
    beds: Opaque | None = None
    depth: int = 1


@pytest.mark.parametrize(
    "tree",
    [
        {},
        {"fence": None, "plants": None, "depth": None},
        {"fence": {"high": False}, "plants": ["rose", "thyme"], "depth": 1},
        {"fence": {"colour": "none", "high": True}, "depth": 0},
        {"fence": {}, "plants": [], "beds": {"north": {"wet": "a little"}, "south": {"dry": True}}},
    ],
)
def test_nothing_is_said_of_a_key_that_asks_for_what_holds_anyway(tree: dict[str, Json]) -> None:
    assert list(not_served(tree, Garden)) == []


def test_each_place_that_asks_for_more_is_named() -> None:
    tree: dict[str, Json] = {
        "fence": {"high": True},
        "plants": ["rose"],
        "beds": {"north": {"wet": "very"}, "by the sea": [{}, {"wet": True}]},
        "depth": True,
    }
    assert list(not_served(tree, Garden, at=("home", "garden"))) == [
        NotServed("home.garden.fence", "nobody builds it", refused=True),
        NotServed("home.garden.plants", "nothing grows"),
        NotServed("home.garden.beds.north.wet", "it is dry"),
        NotServed("home.garden.depth", "nobody digs"),
    ]
    deeper: dict[str, Json] = {"beds": {"by the sea": {"wet": True}}}
    assert [found.place for found in not_served(deeper, Garden)] == ['beds["by the sea"].wet']


def test_a_wrong_value_counts_as_not_written() -> None:
    assert list(not_served({"depth": "deep"}, Garden, removed=frozenset({("depth",)}))) == []


def found_in(text: str) -> list[ConfigFinding]:
    return list(read_config(text, Surroundings(home=Path("/home/ana"))).findings)


def test_a_key_is_named_at_every_level_that_sets_it() -> None:
    findings = found_in(
        """{agents: {
          defaults: {model: {primary: 'openai/gpt-5.5', fallbacks: ['openai/gpt-5.4']}},
          list: [{id: 'ana'}, {id: 'bo', model: {fallbacks: ['x/y']}}],
        }}"""
    )
    assert [describe(finding) for finding in findings] == [
        "agents.defaults.model.fallbacks is set and not served yet: "
        "a model that fails is not replaced, and the turn fails with it.",
        "agents.list[1].model.fallbacks is set and not served yet: "
        "a model that fails is not replaced, and the turn fails with it.",
    ]


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("{agents: {defaults: {sandbox: {mode: 'all'}}}}", ["agents.defaults.sandbox"]),
        ("{agents: {list: [{id: 'ana', sandbox: {mode: 'non-main'}}]}}", ["agents.list[0].sandbox"]),
        ("{agents: {defaults: {sandbox: {mode: 'off', scope: 'agent'}}}}", []),
        ("{tools: {exec: {security: 'allowlist', ask: 'always'}}}", ["tools.exec.ask", "tools.exec.security"]),
        ("{tools: {exec: {security: 'full', ask: 'off', host: 'gateway'}}}", []),
    ],
)
def test_a_limit_that_would_not_be_kept_is_refused(text: str, places: list[str]) -> None:
    findings = found_in(text)
    assert [finding.place for finding in findings if isinstance(finding, NotServed) and finding.refused] == places
    assert all("so no turn starts: " in describe(finding) for finding in findings)
