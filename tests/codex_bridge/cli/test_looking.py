"""`context`, `skills list` and `doctor` on a workspace that a person made by hand, mistakes included."""

import json
import subprocess
import sys
from pathlib import Path
from typing import IO, Any

import pytest
from PIL import Image
from typer.testing import CliRunner

from codex_bridge.cli.app import app
from codex_bridge.cli.treemap import Tile, tiles
from codex_bridge.lanes import Lane
from harness.report import LayerLine
from harness.workspace.reads import Refusal
from tests.support.odd_tools import LEFT_OUT, OFFERED, Box

UNCLEAR = "is in, but its requirements could not be read: see what is wrong with it"
CONFIG = """{
  // the gateway of the light
  agents: { defaults: { bootstrapMaxChar: 100, userTimezone: "Mars/Phobos" } },
  plugins: { entries: { codex: { config: { appServer: { mode: "yollo", sandbox: "read-only" } } } } },
}"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with a workspace that has a bit of everything."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "150")
    monkeypatch.delenv("OPENCLAW_CONFIG_PATH", raising=False)
    (tmp_path / "openclaw.json").write_text(CONFIG, encoding="utf-8")
    workspace = tmp_path / "w"
    for name, text in {
        "AGENTS.md": "Rules.",
        "SOUL.md": "soul " * 6_000,
        "skills/good/SKILL.md": "---\nname: good\ndescription: a good one\n---\nBody.",
        "skills/broken/SKILL.md": '---\nname: broken\ndescription: "unclosed\n  bad: [\n---\nBody.',
        "skills/needy/SKILL.md": "---\nname: needy\ndescription: wants a tool\nmetadata: "
        '{"openclaw":{"requires":{"bins":["no-such-command"]}}}\n---\nBody.',
    }.items():
        path = workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    (tmp_path / "outside.md").write_text("not yours", encoding="utf-8")
    (workspace / "USER.md").symlink_to(tmp_path / "outside.md")
    return tmp_path


def run(place: Path, *arguments: str, code: int = 0) -> str:
    done = CliRunner().invoke(
        app, [*arguments, "--workspace", str(place / "w"), "--config", str(place / "openclaw.json")]
    )
    assert done.exit_code == code, done.output
    return done.stdout


def program(*arguments: str, stdout: int | IO[str] = subprocess.PIPE) -> "subprocess.CompletedProcess[str]":
    """Run the command line as a shell does."""
    command = [sys.executable, "-m", "codex_bridge", *arguments]
    return subprocess.run(command, stdout=stdout, stderr=subprocess.PIPE, text=True, timeout=60, check=False)


def data(place: Path, *arguments: str, code: int = 0) -> Any:
    return json.loads(run(place, *arguments, code=code))


def test_doctor_says_each_mistake_in_one_sentence_and_looks_at_the_rest(place: Path) -> None:
    checks = data(place, "doctor", "--json", code=1)
    wrong = [check["text"] for check in checks if not check["ok"]]
    workspace = place / "w"
    assert wrong[:3] == [
        "agents.defaults.bootstrapMaxChar is not a known key; did you mean agents.defaults.bootstrapMaxChars?",
        'plugins.entries.codex.config.appServer.mode is "yollo", but must be "yolo" or "guardian"; it counts as not '
        "written.",
        'agents.defaults.userTimezone is "Mars/Phobos", but must be an IANA time zone such as "Europe/Paris"; the '
        "machine's time zone is used.",
    ]
    assert [text.partition(" ")[0] for text in wrong[3:]] == [
        f"{workspace}/USER.md",
        "SOUL.md",
        f"{workspace}/skills/broken/SKILL.md:",
    ]
    assert {check["text"] for check in checks if check["ok"]} >= {
        "sandbox read-only, approvals on-request, decided by user.",
        "nobody may answer what it asks, so that is declined; commands.ownerAllowFrom names who may.",
        "2 listed, 3 found.",
    }


def test_doctor_says_who_may_answer_what_codex_asks(place: Path) -> None:
    text = '{ commands: { ownerAllowFrom: ["telegram:7", "8"] }, tools: { exec: { ask: "off" } } }'
    (place / "openclaw.json").write_text(text, encoding="utf-8")
    checks = data(place, "doctor", "--json", code=1)
    rules = "tools.exec.ask is off, so only rules allow commands."
    told = f"what it asks may be answered by telegram:7, 8, within 600 s; {rules}"
    assert told in {check["text"] for check in checks if check["ok"]}


def test_doctor_names_a_tone_that_there_is_not_and_says_who_can_read_the_workspace(place: Path) -> None:
    (place / "openclaw.json").write_text(
        '{ plugins: { entries: { openai: { config: { personality: "rude" } } } } }', encoding="utf-8"
    )
    checks = data(place, "doctor", "--json", code=1)
    assert [check["text"] for check in checks if check["part"] == "config"][1:] == [
        'plugins.entries.openai.config.personality is "rude", but must be "friendly", "on" or "off"; "friendly" is '
        "used."
    ]
    assert [check for check in checks if check["part"] == "memory"] == [
        {
            "part": "memory",
            "ok": True,
            "text": "the memory tools answer for the owner's direct chats alone; whoever the channel lets into a "
            "direct chat counts as the owner, unless the gateway names the owners' ids; Codex's shell can read any "
            "workspace file, whoever is listening.",
        }
    ]
    (place / "openclaw.json").write_text("{ memory: { groups: true } }", encoding="utf-8")
    assert "answer for the owner's direct chats and for groups; whoever the channel" in run(place, "doctor", code=1)


@pytest.mark.parametrize(("units", "said"), [(48_000, False), (48_001, True)])
def test_doctor_says_that_codex_reads_no_more_of_a_tool_than_it_does(place: Path, units: int, said: bool) -> None:
    (place / "openclaw.json").write_text(
        f"{{ agents: {{ defaults: {{ contextLimits: {{ toolResultMaxChars: {units} }} }} }} }}", encoding="utf-8"
    )
    told = "contextLimits.toolResultMaxChars is 48,001, and on Codex more than 48,000 has no effect: it lets"
    assert (told in run(place, "doctor", code=1)) is said


@pytest.mark.parametrize("command", [("context", "list"), ("context", "json"), ("skills", "list")])
def test_a_look_says_that_the_configuration_has_problems(place: Path, command: tuple[str, ...]) -> None:
    options = [*command, "--workspace", str(place / "w"), "--config", str(place / "openclaw.json")]
    wrong = CliRunner().invoke(app, options)
    assert wrong.stderr == "[3 problem(s) in the configuration; see codex-bridge doctor]\n"
    (place / "openclaw.json").write_text("{}", encoding="utf-8")
    assert CliRunner().invoke(app, options).stderr == ""


def test_doctor_names_what_is_set_and_does_nothing(place: Path) -> None:
    server = '{ clearEnv: ["HOME", "HTTPS_PROXY"], authToken: "lantern-1289", requestTimeoutMs: 5 }'
    (place / "openclaw.json").write_text(
        f"{{ plugins: {{ entries: {{ codex: {{ config: {{ appServer: {server} }} }} }} }} }}", encoding="utf-8"
    )
    checks = data(place, "doctor", "--json", code=1)
    at = "plugins.entries.codex.config.appServer"
    assert [check["text"] for check in checks if check["part"] in ("config", "codex") and not check["ok"]] == [
        f"{at}.requestTimeoutMs is 5, but must be a whole number of at least 100; it counts as not written.",
        f"{at}.authToken is set and does nothing: without appServer.url Codex is started here.",
        f"{at}.clearEnv names HOME, which is passed all the same: Codex finds its files by it.",
    ]


def test_doctor_names_a_file_that_the_environment_names_and_that_is_not_there(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENCLAW_CONFIG_PATH", str(place / "no.json"))
    done = CliRunner().invoke(app, ["doctor", "--json", "--workspace", str(place / "w")])
    assert json.loads(done.stdout)[0] == {
        "part": "config",
        "ok": False,
        "text": f"There is no {place}/no.json, which the environment names as the file.",
    }


def test_doctor_is_content_with_a_sound_workspace(place: Path) -> None:
    (place / "openclaw.json").write_text("{}", encoding="utf-8")
    (place / "w" / "USER.md").unlink()
    (place / "w" / "SOUL.md").write_text("dry", encoding="utf-8")
    (place / "w" / "skills" / "broken" / "SKILL.md").unlink()
    assert all(line.startswith("ok") for line in run(place, "doctor").splitlines())


@pytest.mark.parametrize("key", ["lightContext", "isolatedSession"])
def test_a_heartbeat_beside_the_chat_is_shown_as_it_would_run(place: Path, key: str) -> None:
    (place / "w" / "HEARTBEAT.md").write_text("- look at the sensor", "utf-8")
    (place / "openclaw.json").write_text(f"{{ agents: {{ defaults: {{ heartbeat: {{ {key}: true }} }} }} }}", "utf-8")
    report = data(place, "context", "json", "--for", "heartbeat")
    assert {layer["name"] for layer in report["layers"]} == {
        "gateway/runtime", "gateway/tool-manifest", "gateway/subagents", "gateway/heartbeat-guidance",
        "gateway/heartbeat-pointer",
    }  # fmt: skip
    reasons = {line["name"]: line["reason"] for line in report["leftOut"]}
    assert reasons["workspace/SOUL.md"]


def test_a_tool_that_is_left_out_by_configuration_is_named_nowhere(place: Path) -> None:
    """F7: a heartbeat is told of the way to end it that it has."""
    (place / "w" / "HEARTBEAT.md").write_text("- look at the sensor", "utf-8")
    codex = "codexDynamicToolsExclude: ['Heartbeat_respond', 'memory_search', 'memory_get']"
    (place / "openclaw.json").write_text(
        f"{{ plugins: {{ entries: {{ codex: {{ config: {{ {codex} }} }} }} }} }}", "utf-8"
    )
    shown = run(place, "prompt", "--harness", "codex", "--for", "heartbeat", "--text")
    assert "HEARTBEAT_OK" in shown
    assert not any(name in shown for name in ("heartbeat_respond", "memory_search", "memory_get"))


def test_doctor_names_what_is_wrong_with_the_tasks_of_heartbeats(place: Path) -> None:
    (place / "w" / "HEARTBEAT.md").write_text("tasks:\n- name: vents\n  interval: soon\n  prompt: Look.\n", "utf-8")
    checks = [check for check in data(place, "doctor", "--json", code=1) if check["part"] == "heartbeat"]
    never = "HEARTBEAT.md: task 'vents' never runs: 'soon' is no interval; write one such as 30m."
    assert checks == [{"part": "heartbeat", "ok": False, "text": never}]


def test_doctor_names_a_skill_that_cannot_be_used(place: Path) -> None:
    (place / "elsewhere").mkdir()
    (place / "elsewhere" / "SKILL.md").write_text("---\nname: far\ndescription: d\n---\n", encoding="utf-8")
    (place / "w" / "skills" / "far").symlink_to(place / "elsewhere")
    (place / "w" / "skills" / "headless").mkdir()
    (place / "w" / "skills" / "headless" / "SKILL.md").write_text("Body.", encoding="utf-8")
    out = " ".join(run(place, "doctor", code=1).split())
    assert "far is left out: " in out
    assert "headless is left out: " in out
    assert "needy is left out" not in out


def test_a_long_reason_costs_no_column(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    bins = [f"some-rather-long-command-{number}" for number in range(5)]
    (place / "w" / "skills" / "needy" / "SKILL.md").write_text(
        "---\nname: needy\ndescription: d\nmetadata: "
        + json.dumps({"openclaw": {"requires": {"bins": bins}}})
        + "\n---\n",
        encoding="utf-8",
    )
    shown = run(place, "skills", "list")
    assert ["needy", "out"] in [line.split()[:2] for line in shown.splitlines()]
    assert all(each in shown for each in bins)


def test_a_tool_that_codex_does_not_take_is_named_with_its_owner_and_the_reason_wherever_somebody_looks(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """T11."""
    box = Box(*OFFERED)

    def own_tools(*_: object) -> Box:
        return box

    monkeypatch.setattr("codex_bridge.cli.composing.own_tools", own_tools)
    checks = data(place, "doctor", "--json", code=1)
    assert [check["text"] for check in checks if check["part"] == "tools" and not check["ok"]] == LEFT_OUT
    report = data(place, "context", "json")
    offered = ["grid", "look", "message", "notes", "read_all", "web_search"]
    assert (report["toolsLeftOut"], [each["name"] for each in report["tools"]["entries"]]) == (LEFT_OUT, offered)
    shown = " ".join(run(place, "context", "list").split())
    assert [sentence for sentence in LEFT_OUT if f"! {sentence}" not in shown] == []
    assert [text for text in data(place, "status", "--json")["problems"] if text in LEFT_OUT] == LEFT_OUT


def test_doctor_names_a_workspace_that_is_not_there(place: Path) -> None:
    done = CliRunner().invoke(app, ["doctor", "--json", "--workspace", str(place / "no"), "--config",
                                    str(place / "openclaw.json")])  # fmt: skip
    assert json.loads(done.stdout)[-1] == {
        "part": "workspace",
        "ok": False,
        "text": f"The workspace {place}/no is no folder; create it or name another. `codex-bridge setup` makes it.",
    }


@pytest.mark.parametrize("command", [["context"], ["skills", "list"]])
def test_a_workspace_that_is_not_there_is_named_and_no_empty_report_is_shown(place: Path, command: list[str]) -> None:
    done = program(*command, "--workspace", str(place / "no"))
    assert (done.returncode, done.stdout, done.stderr) == (
        2, "", f"codex-bridge: The workspace {place}/no is no folder; create it or name another.\n"
    )  # fmt: skip


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no device that is always full")
@pytest.mark.parametrize("view", ["list", "json"])
def test_an_output_that_cannot_be_written_is_one_sentence(place: Path, view: str) -> None:
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        done = program("context", view, "--workspace", str(place / "w"), stdout=full)
    assert (done.returncode, done.stderr) == (
        1, "codex-bridge: The output cannot be written: No space left on device.\n"
    )  # fmt: skip


def test_context_names_the_lane_of_the_rules_beside_an_override_file(place: Path) -> None:
    (place / "w" / "AGENTS.override.md").write_text("Other rules.", encoding="utf-8")
    lanes = {line["name"]: line["lane"] for line in data(place, "context", "json")["layers"]}
    assert lanes["workspace/AGENTS.md"] == Lane.THREAD_DEVELOPER.value


def test_context_accounts_for_every_layer(place: Path) -> None:
    """S62, S67."""
    report = data(place, "context", "json")
    workspace = place / "w"
    names = [line["name"] for line in report["layers"]]
    assert names[:3] == ["gateway/runtime", "gateway/tool-manifest", "gateway/subagents"]
    assert [(line["name"], line["raw"], line["kept"]) for line in report["layers"][3:5]] == [
        ("workspace/AGENTS.md", 6, 6),
        ("workspace/SOUL.md", 29_999, 19_999),
    ]
    assert {line["name"]: line["reason"] for line in report["leftOut"]} == {
        "workspace/TOOLS.md": "the file does not exist",
        "workspace/IDENTITY.md": "the file does not exist",
        "workspace/USER.md": Refusal.OUTSIDE.value,
        "workspace/HEARTBEAT.md": "this is not a heartbeat",
        "workspace/BOOTSTRAP.md": "the file does not exist",
        "workspace/MEMORY.md": "the memory tools serve this workspace",
    }
    assert [skill["name"] for skill in report["skills"]["entries"]] == ["broken", "good"]
    assert report["units"] == sum(line["kept"] for line in report["layers"])
    assert [notice.partition(" ")[0] for notice in report["notices"]] == [f"{workspace}/USER.md", "SOUL.md"]


def test_context_tells_a_person_the_same(place: Path) -> None:
    lines = [" ".join(line.split()) for line in run(place, "context", "list").splitlines()]
    assert "Limits: 20,000 units a file, 60,000 in all" in lines
    lane = "turn/start · collaborationMode.settings.developer_instructions"
    assert f"workspace/SOUL.md TRUNCATED 29,999 19,999 {lane}" in lines
    assert "broken, good" in lines
    detail = run(place, "context", "detail")
    assert "Largest skills" in detail
    assert "Lanes" in detail


def test_context_of_a_heartbeat_has_its_guidance(place: Path) -> None:
    (place / "w" / "HEARTBEAT.md").write_text("- look", encoding="utf-8")
    report = data(place, "context", "json", "--for", "heartbeat")
    assert {"gateway/heartbeat-guidance", "gateway/heartbeat-pointer"} <= {line["name"] for line in report["layers"]}


def test_the_map_is_proportional(place: Path) -> None:
    bars = {line.split()[0]: line.count("█") for line in run(place, "context", "map").splitlines() if "█" in line}
    assert bars["workspace/SOUL.md"] == 50
    assert 1 <= bars["gateway/skills"] <= 3


def test_the_map_as_a_picture(place: Path) -> None:
    picture = place / "map.png"
    assert run(place, "context", "map", "--png", str(picture)) == f"Wrote {picture}.\n"
    with Image.open(picture) as image:
        assert (image.format, image.size) == ("PNG", (1280, 860))


def test_tiles_cover_the_area_in_proportion() -> None:
    lines = [LayerLine(str(size), "", "", size, size) for size in (50, 30, 15, 5, 0)]
    found = tiles(lines, 100, 50)
    shares = {tile.line.name: round(tile.width * tile.height / 5_000, 3) for tile in found}
    assert shares == {"50": 0.5, "30": 0.3, "15": 0.15, "5": 0.05}
    assert tiles([], 10, 10) == []
    assert tiles(lines[:1], 10, 20) == [Tile(lines[0], 0.0, 0.0, 10, 20)]


def test_skills_are_listed_with_why_each_is_in_or_out(place: Path) -> None:
    """S76."""
    vague = place / "w/skills/vague/SKILL.md"
    vague.parent.mkdir()
    vague.write_text('---\nname: vague\nname: vague\ndescription: odd\nmetadata: "{openclaw:"\n---\n', encoding="utf-8")
    listed = data(place, "skills", "list", "--json")
    assert [(skill["name"], skill["state"], skill["reason"]) for skill in listed["skills"]] == [
        ("broken", "in", UNCLEAR),
        ("good", "in", "meets all its requirements"),
        ("needy", "out", "needs the command no-such-command on PATH"),
        ("vague", "in", UNCLEAR),
    ]
    assert [problem.partition(":")[0].removeprefix(str(place)) for problem in listed["problems"]] == [
        "/w/skills/broken/SKILL.md",
        "/w/skills/vague/SKILL.md",
    ]
    assert "; metadata is not valid JSON5" in listed["problems"][1]
    shown = run(place, "skills", "list")
    assert "needs the command no-such-command on PATH" in shown
