"""`session_status`: what it tells, and who may change the model with it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType

import pytest

from harness.heartbeat.response import HeartbeatResponder
from harness.json_value import Json
from harness.memory.access import Open
from harness.plain import plain_settings
from harness.session_facts import Allowance, SessionFacts
from harness.session_models import MOST_CHOICES, SessionModels
from harness.session_status import NOT_ALLOWED, Picked, StatusSource, StatusTool
from harness.settings.agent import ModelSettings
from harness.settings.times import TimeSettings
from harness.store.model_file import ModelFile
from harness.toolbox import ToolTurn
from harness.tools import ToolResult
from harness.turns import Trigger, Usage

NOW = datetime(2031, 5, 6, 7, 8, tzinfo=UTC)
KEY = "agent:main:telegram:direct:7"
TURN = ToolTurn(
    access=Open(), responder=HeartbeatResponder(active=False), key="telegram:7:9", session_key=KEY, owned=True
)
FACTS = SessionFacts(
    backend="Codex 0.163.0",
    conversation="thread-1",
    model="gpt-5.5",
    effort="high",
    context_used=51_500,
    context_window=370_000,
    usage=Usage(433_428, 400_000, 2_000),
    allowances=(
        Allowance(name="5 h", used=42.4, resets_at=NOW.timestamp() + 3_720),
        Allowance(name="7 d", used=80.0),
    ),
)


@dataclass
class Backend:
    """Tells what the test says, and runs the models of one family."""

    facts: SessionFacts = FACTS
    asked: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])

    async def session_facts(self, session_key: str, message_key: str = "") -> SessionFacts:
        self.asked.append((session_key, message_key))
        return self.facts

    def cannot_run(self, model: str) -> str:
        return "" if model.startswith("gpt-") else f"There is no {model} here."


def pick(named: str) -> Picked:
    provider, slash, model = named.rpartition("/")
    return Picked(model) if not slash or provider == "openai" else Picked(problem=f"{named} is another provider's.")


class Stage:
    """The tool of an agent that is set up with a model, an alias and a time zone."""

    def __init__(self, folder: Path, facts: SessionFacts = FACTS, known: Mapping[str, str] | None = None) -> None:
        self.backend = Backend(facts)
        self.kept: list[Mapping[str, str]] = []
        self.models = SessionModels(known or {}, self.kept.append)
        source = StatusSource(
            backend=self.backend,
            models=self.models,
            pick=pick,
            model="gpt-5.5",
            why="it is configured",
            now=lambda: NOW,
        )
        aliases = MappingProxyType({"Swift": "openai/gpt-5.6"})
        settings = replace(
            plain_settings(folder),
            models=ModelSettings(primary="openai/gpt-5.5", aliases=aliases),
            time=TimeSettings(timezone="Europe/Berlin"),
        )
        self.tool = StatusTool(source, settings)

    async def __call__(self, turn: ToolTurn = TURN, **arguments: Json) -> ToolResult:
        return await self.tool.for_turn(turn).call(arguments)


async def test_the_owner_learns_the_time_the_model_how_full_it_is_and_the_limits(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    assert (await stage()).text.splitlines() == [
        "Current time: Tuesday, May 6th, 2031 - 09:08 (Europe/Berlin)",
        "Reference UTC: 2031-05-06 07:08 UTC",
        "Model: gpt-5.5, effort high, because it is configured",
        "Runs on: Codex 0.163.0",
        "Conversation: thread-1",
        "Context: 51,500 of 370,000 tokens (13 %)",
        "Tokens of all turns: 433,428 in, 400,000 of them cached; 2,000 out",
        "Limit of 5 h: 42 % used, resets in 1 h 2 min, at 10:10 (Europe/Berlin)",
        "Limit of 7 d: 80 % used",
    ]
    assert stage.backend.asked == [(KEY, "telegram:7:9")]


async def test_others_learn_nothing_of_the_account(tmp_path: Path) -> None:
    told = (await Stage(tmp_path)(replace(TURN, owned=False))).text
    assert [line.partition(":")[0] for line in told.splitlines()] == [
        "Current time", "Reference UTC", "Model", "Runs on", "Context", "Tokens of all turns"
    ]  # fmt: skip


async def test_what_is_not_known_is_said_so(tmp_path: Path) -> None:
    told = (await Stage(tmp_path, SessionFacts(backend="Codex"))()).text
    assert told.splitlines()[2:] == [
        "Model: gpt-5.5, because it is configured",
        "Runs on: Codex",
        "Conversation: not known",
        "Context: not counted yet",
        "Limits of the account: not known",
    ]


@pytest.mark.parametrize("named", ["gpt-5.6", "openai/gpt-5.6", "Swift", " swift "])
async def test_the_owner_sets_the_model_from_the_next_turn_on_and_takes_that_back(tmp_path: Path, named: str) -> None:
    stage = Stage(tmp_path)
    assert await stage(model=named) == ToolResult(True, "From the next turn on this conversation uses gpt-5.6.")
    assert "Model: gpt-5.5, effort high; from the next turn on gpt-5.6" in (await stage()).text
    stage.backend.facts = replace(FACTS, model="gpt-5.6")
    assert "Model: gpt-5.6, effort high, because it was chosen for this conversation" in (await stage()).text
    back = await stage(model="default")
    assert back == ToolResult(True, "From the next turn on this conversation uses gpt-5.5 again.")
    assert "Model: gpt-5.6, effort high; from the next turn on gpt-5.5" in (await stage()).text
    assert stage.kept == [{KEY: "gpt-5.6"}, {}]


@pytest.mark.parametrize("trigger", [Trigger.CHAT, Trigger.HEARTBEAT, Trigger.CRON])
@pytest.mark.parametrize("model", ["gpt-5.6", "default"])
async def test_nobody_else_and_no_clock_changes_the_model(tmp_path: Path, trigger: Trigger, model: str) -> None:
    stage = Stage(tmp_path, known={KEY: "gpt-5.5"})
    turn = replace(TURN, trigger=trigger, owned=trigger is not Trigger.CHAT)
    assert await stage(turn, model=model) == ToolResult(False, NOT_ALLOWED)
    assert (stage.models.of(KEY), stage.kept) == ("gpt-5.5", [])


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"model": "acme/rocket"}, "acme/rocket is another provider's. Aliases are: Swift. Nothing was changed."),
        ({"model": "rocket"}, "There is no rocket here. Aliases are: Swift. Nothing was changed."),
        ({"model": 5}, "model must be the id or the alias of a model, or default."),
        ({"model": "a\nb"}, "model must be the id or the alias of a model, or default."),
        ({"effort": "low"}, "'effort' is no argument of session_status; it takes model."),
    ],
)
async def test_a_model_that_cannot_be_run_is_named(tmp_path: Path, arguments: dict[str, Json], told: str) -> None:
    stage = Stage(tmp_path)
    assert await stage.tool.for_turn(TURN).call(arguments) == ToolResult(False, told)
    assert stage.kept == []


def test_choices_outlast_a_restart_and_spoilt_ones_count_for_nothing(tmp_path: Path) -> None:
    file = ModelFile(tmp_path)
    SessionModels(file.load(), file.keep).choose(KEY, "gpt-5.6")
    assert SessionModels(file.load()).of(KEY) == "gpt-5.6"
    (tmp_path / "session-models.json").write_text('{"a": 5, "b": " ", "c": "gpt-5.6"}', encoding="utf-8")
    assert file.load() == {"c": "gpt-5.6"}


def test_the_oldest_choices_are_forgotten() -> None:
    models = SessionModels()
    for number in range(MOST_CHOICES + 1):
        models.choose(f"chat {number}", "gpt-5.6")
    assert (models.of("chat 0"), models.of("chat 1"), models.of(f"chat {MOST_CHOICES}")) == (None, "gpt-5.6", "gpt-5.6")
