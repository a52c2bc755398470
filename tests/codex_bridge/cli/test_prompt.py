"""`prompt` and `context --harness embedded`: what a model gets that does not run on Codex, and what Codex gets."""

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest
from typer.testing import CliRunner

from codex_bridge.cli.app import app
from codex_bridge.cli.composing import Look, on_codex, own_tools
from codex_bridge.cli.context import sized
from codex_bridge.lanes import HABITS, plan
from codex_bridge.lanes import Standing as LaneStanding
from harness.agent import Agent
from harness.channels import telegram
from harness.config import load_config, read_tree, resolve_agent, this_machine
from harness.gather import Gatherer, Situation
from harness.habits import Habits
from harness.inbound import ChatKind
from harness.layers import Layer, LayerName, Lifetime, Trust
from harness.memory.access import Audience
from harness.memory.arguments import GET_SCHEMA
from harness.plain import in_workspace
from harness.prompt.adapters import Adapter, LiveFacts
from harness.prompt.boundary import MARKER
from harness.prompt.facts import ChatFacts, ToolFacts
from harness.prompt.machine import find_docs, machine_facts
from harness.prompt.prepare import prepare
from harness.prompt.tool_list import CORE
from harness.skills.wording import ReadTool
from harness.testing.scenarios import SAMPLE, scenario_folders
from harness.turns import Trigger
from tests.harness.test_agent import Recording

SCENARIO = next(folder for folder in scenario_folders() if folder.name == "telegram-direct")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with a workspace, and no configuration."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "150")
    monkeypatch.delenv("OPENCLAW_CONFIG_PATH", raising=False)
    workspace = tmp_path / "w"
    workspace.mkdir()
    for name in ("AGENTS.md", "SOUL.md", "MEMORY.md"):
        (workspace / name).write_text(f"{name} says hello", encoding="utf-8")
    return tmp_path


def run(place: Path, *arguments: str, code: int = 0) -> str:
    words = list(arguments)
    if "--scenario" not in words:
        words += ["--workspace", str(place / "w")]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == code, done.output
    return done.stdout


def refused(*arguments: str) -> str:
    done = CliRunner().invoke(app, ["prompt", *arguments])
    assert done.exception is not None
    return str(done.exception)


def data(place: Path, *arguments: str) -> Any:
    return json.loads(run(place, "prompt", "--json", *arguments))


def test_the_sections_are_listed_with_the_boundary_between_them(place: Path) -> None:
    lines = run(place, "prompt").splitlines()
    names = [line.split()[0] for line in lines[2 : lines.index("")]]
    assert names[:2] == ["identity", "tooling"]
    assert names.index("project_context") + 2 == names.index("dynamic_context")
    assert lines[2 + names.index("project_context") + 1].startswith(MARKER)
    assert names[-1] == "runtime"
    assert any(line.startswith("workspace/BOOTSTRAP.md") for line in lines)


def test_the_text_alone_is_the_prompt_and_the_data_agrees_with_it(place: Path) -> None:
    text, found = run(place, "prompt", "--text"), data(place)
    assert found["text"] + "\n" == text
    assert found["units"] == found["account"]["units"] == len(text) - 1
    assert [part["name"] for part in found["parts"]] == [row["name"] for row in found["account"]["sections"]]
    assert "AGENTS.md says hello" in text.partition(MARKER)[0]
    assert "MEMORY.md says hello" in text.partition(MARKER)[2]


@pytest.mark.parametrize(
    ("arguments", "mode"),
    [
        (["--mode", "none"], 1),
        (["--for", "subagent"], 2),
        (["--for", "cron"], 2),
        (["--mode", "minimal"], 2),
        ([], 3),
    ],
)
def test_the_mode_is_the_turns_or_the_one_asked_for(place: Path, arguments: list[str], mode: int) -> None:
    names = {part["name"] for part in data(place, *arguments)["parts"]}
    assert ("tooling" in names, "messaging" in names) == (mode > 1, mode > 2)


def test_a_prompt_without_a_boundary_is_shown_without_one(place: Path) -> None:
    """Who the agent is, and the model: nothing else that could be above or below."""
    whole = "system prompt, which has no cache boundary"
    parts = data(place, "--mode", "none", "--model", "acme/rocket")["parts"]
    assert [(part["name"], part["place"]) for part in parts] == [("identity", whole), ("model", whole)]
    assert MARKER not in run(place, "prompt", "--mode", "none", "--model", "acme/rocket")


def test_a_scenario_brings_its_workspace_words_and_model(place: Path) -> None:
    found = data(place, "--scenario", "telegram-direct", "--harness", "codex")
    assert {part["name"] for part in found["parts"]} == {
        "native", "thread_developer", "turn_developer", "turn_input"
    }  # fmt: skip
    assert next(part for part in found["parts"] if part["name"] == "turn_input")["text"].startswith("⛵")
    inside = data(place, "--scenario", "telegram-direct")
    assert "Current model identity: gpt-5.5." in inside["text"]
    assert inside["text"].count("⛵") == 0


def test_tools_can_be_named(place: Path) -> None:
    text = run(place, "prompt", "--text", "--tool", "Read", "--tool", "cron")
    assert [line for line in text.splitlines()[3:6] if line.startswith("- ")] == [
        "- Read: Read a file",
        "- cron: Set, change and list reminders and scheduled jobs; word a reminder so that it makes sense then",
    ]


def test_two_prompts_are_compared(place: Path, tmp_path: Path) -> None:
    other, saved = tmp_path / "other", tmp_path / "saved.txt"
    other.mkdir()
    (other / "AGENTS.md").write_text("AGENTS.md says hello", encoding="utf-8")
    saved.write_text(run(place, "prompt", "--text"), encoding="utf-8")
    difference = run(place, "prompt", "--diff", str(other), code=1)
    assert f"--- {other}\n+++ this prompt\n" in difference
    assert "\n+SOUL.md says hello\n" in difference
    assert run(place, "prompt", "--diff", str(saved)) == "The two prompts are the same.\n"
    assert "--- telegram-direct\n" in run(place, "prompt", "--diff", "telegram-direct", code=1)


def test_what_is_not_there_is_named(place: Path) -> None:
    (place / "noise").write_bytes(b"\xff\xfe\x00")
    assert refused("--workspace", str(place / "w"), "--diff", str(place / "noise")) == (
        f"The file {place}/noise to compare with is not UTF-8 text."
    )
    assert refused("--scenario", "nope").startswith("There is no scenario nope; known are: telegram-direct.")
    assert refused("--workspace", str(place / "w"), "--diff", "nope").endswith(
        "Nor is it a workspace folder or a file with a prompt."
    )
    assert refused("--workspace", str(place / "no")) == (
        f"The workspace {place}/no is no folder; create it or name another."
    )


def test_context_accounts_for_the_system_prompt_of_the_embedded_harness(place: Path) -> None:
    """S62, S67."""
    report = json.loads(run(place, "context", "json", "--harness", "embedded"))
    prompt = data(place)
    assert report["systemPrompt"] == prompt["account"]
    lanes = {line["name"]: line["lane"] for line in report["layers"]}
    assert lanes["workspace/SOUL.md"] == "system prompt, above the cache boundary"
    assert lanes["workspace/MEMORY.md"] == "system prompt, below the cache boundary"
    listed = run(place, "context", "--harness", "embedded")
    assert f"System prompt (estimate): {prompt['units']:,} units" in listed
    assert f"sha256 {prompt['account']['stable']['hash'][:16]}" in listed


async def test_the_preview_of_a_scenario_has_the_bytes_that_its_payload_makes_a_live_run_compose(place: Path) -> None:
    """S05: the payload is received here, and the prompt put together fact by fact."""
    payload = json.loads((SCENARIO / "update.json").read_text("utf-8"))
    message = telegram.from_update(payload)
    machine = this_machine()
    settings = in_workspace(resolve_agent(load_config(machine), "main", machine), SAMPLE)
    key = f"agent:main:telegram:direct:{payload['message']['chat']['id']}"
    words = Layer(LayerName.USER_TEXT, message.key, Lifetime.INPUT, Trust.OWNER, payload["message"]["text"])
    tools = (*CORE, "memory_search", "memory_get")
    gathered = await Gatherer(settings, Habits(), loading=ReadTool("read")).gather(
        Situation(trigger=Trigger.CHAT, audience=Audience.OWNER, words=words, session_key=key, tools=frozenset(tools))
    )
    facts = LiveFacts(
        session_key=key,
        tools=ToolFacts(names=tools),
        chat=ChatFacts(channel="telegram", kind=ChatKind.DIRECT, id=str(payload["message"]["chat"]["id"])),
        docs=find_docs(SAMPLE),
        runtime=machine_facts(settings, model="gpt-5.5"),
    )
    live = await prepare(Adapter.EMBEDDED, settings, gathered, facts)
    # The command has an event loop of its own.
    shown = await anyio.to_thread.run_sync(lambda: run(place, "prompt", "--scenario", "telegram-direct", "--text"))
    assert shown == live.system_prompt + "\n"


async def test_the_fields_shown_for_codex_are_made_of_what_an_agent_hands_to_its_backend(place: Path) -> None:
    message = telegram.from_update(json.loads((SCENARIO / "update.json").read_text("utf-8")))
    settings = in_workspace(resolve_agent(read_tree({}, this_machine()), "main", this_machine()), place / "w")
    agent = Agent(Recording(), Gatherer(settings, HABITS), toolbox=own_tools(settings))
    request = (await agent.receive(message)).request
    shown = await on_codex(Look(settings=settings, message=message))
    assert shown.gathered.composition == request.composition
    names = tuple(sorted(tool.name for tool in request.tools))
    assert [line.name for line in shown.report.inventory.tools] == list(names)
    assert shown.lanes == plan(request.composition, LaneStanding(names), copied=False)


@pytest.mark.parametrize("harness", ["codex", "embedded"])
def test_context_shows_what_the_schemas_of_tools_add(place: Path, harness: str) -> None:
    """S67."""
    tools = json.loads(run(place, "context", "json", "--harness", harness))["tools"]
    line = next(each for each in tools["entries"] if each["name"] == "memory_get")
    text = json.dumps(GET_SCHEMA, separators=(",", ":"), sort_keys=True)
    assert (line["schemaUnits"], line["schemaHash"], line["propertiesCount"]) == (
        len(text), sha256(text.encode()).hexdigest(), len(GET_SCHEMA["properties"])  # type: ignore[arg-type]
    )  # fmt: skip
    known = [each["schemaUnits"] for each in tools["entries"] if each["schemaUnits"] is not None]
    assert tools["schemaUnits"] == sum(known)
    listed = [" ".join(text.split()) for text in run(place, "context", "--harness", harness).splitlines()]
    count, unknown = len(tools["entries"]), len(tools["entries"]) - len(known)
    assert any(text.startswith(f"Tools: {count} offered, listed in {tools['listUnits']:,} units") for text in listed)
    more = f"; the gateway has {unknown} more" if unknown else ""
    assert f"Tool schemas: {sized(tools['schemaUnits'])} beside the prompt{more}" in listed
    assert "memory_get" in " ".join(listed)
    detail = [text.split() for text in run(place, "context", "detail", "--harness", harness).splitlines()]
    assert ["memory_get", f"{line['summaryUnits']}", f"{line['schemaUnits']}", "3"] in detail


def test_context_tells_missing_files_from_whole_ones(place: Path) -> None:
    """The prompt holds a marker where a file is not."""
    report = json.loads(run(place, "context", "json", "--harness", "embedded"))
    states = {line["name"]: (line["state"], line["raw"]) for line in report["layers"]}
    assert states["workspace/SOUL.md"] == ("OK", 18)
    assert states["workspace/USER.md"] == ("MISSING", 0)
    (place / "w" / "USER.md").write_text("x" * 30_000, encoding="utf-8")
    listed = [" ".join(text.split()) for text in run(place, "context", "--harness", "embedded").splitlines()]
    assert "workspace/USER.md TRUNCATED 30,000 19,999 system prompt, above the cache boundary" in listed
    assert any(text.startswith("workspace/TOOLS.md MISSING 0 ") for text in listed)


@pytest.mark.parametrize("who", ["owner", "group", "heartbeat", "cron", "subagent"])
def test_context_says_on_which_side_of_the_boundary_a_layer_really_is(place: Path, who: str) -> None:
    """S62, and nothing is said to be carried that the prompt has no section for."""
    for name in ("USER.md", "IDENTITY.md", "TOOLS.md", "HEARTBEAT.md"):
        (place / "w" / name).write_text(f"{name} says hello", encoding="utf-8")
    report = json.loads(run(place, "context", "json", "--harness", "embedded", "--for", who))
    above, _, below = run(place, "prompt", "--text", "--for", who).partition(MARKER)
    for line in report["layers"]:
        text = f"{Path(line['source']).name} says hello"
        if line["name"].startswith("workspace/"):
            assert (text in above, text in below) == ("above" in line["lane"], "below" in line["lane"])
    carried = {line["name"] for line in report["layers"]}
    assert ("gateway/memory-note" in carried) == ("## Memory Recall" in below)
    assert ("gateway/heartbeat-guidance" in carried) == ("## Heartbeats" in below)


def test_context_accounts_for_skills_in_the_prompt(place: Path) -> None:
    """Prompt-builder 13.1."""
    skill = place / "w" / "skills" / "tide" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\nname: tide\ndescription: reads the tables\n---\n", encoding="utf-8")
    for harness in ("codex", "embedded"):
        report = json.loads(run(place, "context", "json", "--harness", harness))
        skills = report["skills"]
        layer = next(line for line in report["layers"] if line["name"] == "gateway/skills")
        assert [each["name"] for each in skills["entries"]] == ["tide"]
        assert skills["promptUnits"] == layer["kept"] > skills["entries"][0]["blockUnits"] > 0
        assert (report["source"], report["agent"]) == ("estimate", "main")
    report = json.loads(run(place, "context", "json", "--harness", "embedded"))
    assert report["systemPrompt"]["skills"] == report["skills"]
    none = data(place, "--mode", "none")["account"]
    assert (none["skills"]["entries"], none["files"]) == ([], [])


@pytest.mark.parametrize(
    ("arguments", "planned"),
    [
        (["--model", "openai/gpt-5.5"], True),
        (["--model", "acme/rocket"], False),
        (["--model", "openai/gpt-5.5", "--tool", "read"], False),
    ],
)
def test_a_preview_offers_a_plan_where_the_agent_is_offered_one(
    place: Path, arguments: list[str], planned: bool
) -> None:
    """S12."""
    text = run(place, "prompt", "--text", *arguments)
    assert ("\n- update_plan\n" in text, "Keep a plan with `update_plan` only for" in text) == (planned, planned)


def test_a_preview_for_a_subagent_says_what_one_is_told(place: Path) -> None:
    """S41."""
    text = run(place, "prompt", "--text", "--for", "subagent")
    assert "## Subagent Context\nYou are a subagent" in text
    assert "- Your session: agent:main:subagent:look\n" in text
