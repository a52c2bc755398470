"""`codex-bridge lanes verify`: the matrix holds on the installed binary, and a difference is found."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from codex_bridge import lanes
from codex_bridge import verify as verifying
from codex_bridge.binary import CodexBinary
from codex_bridge.catalogue import CatalogueMode
from codex_bridge.cli.app import app
from codex_bridge.lanes import LANE_OF, Lane
from codex_bridge.verify import Observer, Row, Verification, verify
from harness.layers import LayerName

PERSONA = (Row.SOUL, Row.IDENTITY, Row.USER, Row.SKILLS)


def seen(found: Verification, observer: Observer) -> dict[Row, tuple[str, ...]]:
    return {row: found.cells[row, observer].seen for row in Row}


IN_HISTORY = {*PERSONA, Row.MEMORY, Row.QUOTES}
"""What a forked subagent has only because it has the conversation."""


def inherited(found: Verification) -> dict[str, tuple[str, str]]:
    """What subagents of both kinds were seen to have, as the documentation tells it."""
    told: dict[str, tuple[str, str]] = {}
    for row in Row:
        fresh, forked = (found.cells[row, each].seen for each in (Observer.FRESH, Observer.FORKED))
        history = "in the history" if forked else "-"
        told[row.value] = (" ".join(fresh) or "-", history if row in IN_HISTORY else " ".join(forked) or "-")
    return told


def documented() -> dict[str, tuple[str, str]]:
    """The table of `docs/subagents.md`."""
    text = (Path(__file__).parents[2] / "docs" / "subagents.md").read_text("utf-8")
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")]
    return {layer: (fresh, forked) for layer, fresh, forked in rows[2:]}


@pytest.mark.parametrize(
    ("model", "catalogue", "place"),
    [
        ("gpt-5.5", "auto", "mode"),
        ("gpt-6-sol", "auto", "mode"),
        ("gpt-6-sol", "untouched", "context"),
        ("nobody-knows-me", "auto", "mode"),
    ],
)
async def test_every_layer_is_seen_where_it_should_be_and_nowhere_else(
    codex: CodexBinary, state: Path, model: str, catalogue: CatalogueMode, place: str
) -> None:
    """T01, T01 e."""
    found = await verify(codex, state, model=model, catalogue=catalogue)
    assert found.problems == ()
    assert [key for key, cell in found.cells.items() if not cell.as_expected] == []
    assert found.holds
    persona = dict.fromkeys(PERSONA, (place,))
    standing = dict.fromkeys((Row.RUNTIME, Row.MANIFEST, Row.SUBAGENTS), ("developer",))
    shared = {Row.AGENTS: ("user",), Row.TOOLS: ("developer",), **standing}
    form = found.honours["untrusted"]
    quoted = "toolOutput" if found.codex >= "0.171" else "message"
    first = {**shared, Row.OFFERED: ("tools",), **persona, Row.MEMORY: ("user",), Row.QUOTES: (quoted,)}
    assert (seen(found, Observer.ROOT), form) == (first, quoted)
    assert found.honours["multiAgent"] == ("v2" if model == "gpt-6-sol" else "v1")
    assert seen(found, Observer.FRESH) == {**dict.fromkeys(Row, ()), **shared}
    assert seen(found, Observer.FORKED) == first
    assert len(found.cells) == len(Row) * len(Observer)
    assert inherited(found) == documented()


@pytest.fixture
def forgetful() -> Iterator[None]:
    """Routes are planned anew, before and after."""
    caches = (lanes.lanes_of, lanes._routed)  # pyright: ignore[reportPrivateUsage]
    for each in caches:
        each.cache_clear()
    yield
    for each in caches:
        each.cache_clear()


@pytest.mark.usefixtures("forgetful")
async def test_a_layer_in_the_wrong_lane_is_found(
    codex: CodexBinary, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = {**LANE_OF, LayerName.SOUL: Lane.THREAD_DEVELOPER}
    monkeypatch.setattr("codex_bridge.lanes.LANE_OF", wrong)
    monkeypatch.setattr("codex_bridge.lanes._thread_developer", lambda layers: "\n".join(each.text for each in layers))  # pyright: ignore
    found = await verify(codex, state, model="gpt-5.5")
    assert not found.holds
    assert found.cells[Row.SOUL, Observer.FRESH].seen == ("developer",)
    assert [key for key, cell in found.cells.items() if not cell.as_expected] == [
        (Row.SOUL, observer) for observer in Observer
    ]


@pytest.mark.usefixtures("forgetful")
@pytest.mark.parametrize(
    ("part", "times", "rows"),
    [
        ("_turn_sections", 2, set(PERSONA)),
        ("standing_layers", 0, {Row.RUNTIME, Row.MANIFEST, Row.SUBAGENTS}),
    ],
    ids=["twice in one text", "not at all"],
)
async def test_a_layer_that_is_said_twice_or_not_at_all_is_found(
    codex: CodexBinary, state: Path, monkeypatch: pytest.MonkeyPatch, part: str, times: int, rows: set[Row]
) -> None:
    real = getattr(lanes, part)

    def broken(given: Any) -> Any:
        return real(given) * times

    monkeypatch.setattr(lanes, part, broken)
    found = await verify(codex, state, model="gpt-5.5")
    assert not found.holds
    assert {row for (row, _), cell in found.cells.items() if not cell.as_expected} == rows


def test_the_command_shows_the_matrix_and_its_exit_code_says_whether_it_holds(
    codex: CodexBinary, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CODEX_BRIDGE_STATE_DIR", str(state))
    monkeypatch.setenv("COLUMNS", "150")
    done = CliRunner().invoke(app, ["lanes", "verify", "--codex", str(codex.path)])
    assert done.exit_code == 0, done.output
    lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
    assert "SOUL.md mode - mode mode mode mode" in lines
    assert any(line.startswith("Expected by what the server is taken to honour: modeText true, ") for line in lines)
    assert lines[-1] == "Every layer was seen where it should be, and nowhere else."
    monkeypatch.setitem(verifying._TURN, Observer.FRESH, (1, 1))  # pyright: ignore[reportPrivateUsage]
    wrong = CliRunner().invoke(app, ["lanes", "verify", "--codex", str(codex.path), "--json"])
    assert wrong.exit_code == 1
    cells = json.loads(wrong.stdout)["cells"]
    assert {cell["layer"] for cell in cells if not cell["asExpected"]} == {row.value for row in PERSONA}
