"""What is written behind a command is used, or refused in one sentence: nothing is passed over in silence."""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from codex_bridge.binary import CodexBinary
from codex_bridge.cli.app import app, run
from codex_bridge.cli.setup import configured, home_named, launch_of
from codex_bridge.config import CodexConfig
from codex_bridge.process import Launch
from codex_bridge.sources import Listener, Remote
from tests.support.scenarios import UPDATE, WHOLE, scenario

Shell = Callable[..., tuple[int, str, str]]

CONFIG = '{ agents: { list: [{ id: "Pell", workspace: "~/w" }, { id: "tamsin" }] } }'


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shell:
    """Runs a command line in a home with a workspace, a scenario and a configuration of two agents."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("CODEX_BRIDGE_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("COLUMNS", "150")
    monkeypatch.delenv("OPENCLAW_CONFIG_PATH", raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "openclaw.json").write_text(CONFIG, encoding="utf-8")
    (tmp_path / "w").mkdir()
    (tmp_path / "w" / "SOUL.md").write_text("dry", encoding="utf-8")

    def start(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["codex-bridge", *words])
        with pytest.raises(SystemExit) as left:
            run()
        out, err = capsys.readouterr()
        return int(left.value.code or 0), out, err

    return start


def leaves(command: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command that does something, with the words that call it."""
    if not hasattr(command, "commands"):
        yield words, command
        return
    for name, below in command.commands.items():
        yield from leaves(below, (*words, name))


def options_with_a_value() -> list[tuple[tuple[str, ...], str]]:
    found = leaves(typer.main.get_command(app))
    return [
        (words, param.opts[0])
        for words, command in found
        for param in command.params
        if param.opts[0].startswith("--") and not getattr(param, "is_flag", False)
    ]


@pytest.mark.parametrize(("words", "option"), options_with_a_value(), ids=lambda each: str(each))
def test_an_option_without_a_value_is_refused_by_every_command(
    shell: Shell, words: tuple[str, ...], option: str
) -> None:
    for value in ("", "  "):
        assert shell(*words, option, value) == (
            2, "", f"codex-bridge: {option} has no value; write one behind it, or leave it out.\n"
        )  # fmt: skip


TOGETHER = {
    "--json --text": "There is one output; leave out one of --json and --text.",
    "--diff w --text": "There is one output; leave out one of --diff and --text.",
    "--scenario telegram-direct --workspace w": (
        "A scenario brings a workspace, a chat and its message; leave out one of --scenario and --workspace."
    ),
    "--scenario telegram-direct --channel irc": (
        "A scenario brings a workspace, a chat and its message; leave out one of --scenario and --channel."
    ),
    "--scenario telegram-direct --for group": (
        "A scenario brings a workspace, a chat and its message; leave out one of --scenario and --for."
    ),
    "--harness codex --tool read": ("--tool is for --harness embedded: Codex gets the same either way."),
    "--harness codex --model m --tool t": (
        "--tool and --model are for --harness embedded: Codex gets the same either way."
    ),
    "--harness codex --channel irc": ("--channel is for --harness embedded: Codex gets the same either way."),
    "--for cron --channel irc": "--channel is for --for owner or group or heartbeat: no chat causes the others.",
    "--channel a:b": "--channel 'a:b' is no name of a channel, which has letters, digits, - and _ only.",
    "--tool read --tool two\twords": "--tool 'two\\twords' is no name of a tool, which has no blanks.",
}


@pytest.mark.parametrize("options", TOGETHER)
def test_options_of_prompt_that_do_not_go_together_are_refused(shell: Shell, options: str) -> None:
    assert shell("prompt", *options.split(" ")) == (2, "", f"codex-bridge: {TOGETHER[options]}\n")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ("--after 1s", "--after is for --then: one message alone waits for none."),
        ("--then b.json --after 100", "--after '100' is no length of time such as 100ms or 2s."),
        ("--then b.json --after soon", "--after 'soon' is no length of time such as 100ms or 2s."),
    ],
)
def test_how_long_a_message_comes_after_another_one_has_a_unit_and_another_one(
    shell: Shell, options: str, sentence: str
) -> None:
    assert shell("turn", "--payload", "a.json", *options.split(" ")) == (2, "", f"codex-bridge: {sentence}\n")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            "a.json --then b.json --approve all",
            "several messages have nobody at the terminal; leave out one of --approve and --then.",
        ),
        (
            "- --approve ask",
            "--approve ask reads answers from stdin, where the payload comes from; name a file for it.",
        ),
    ],
)
def test_who_answers_at_a_terminal_is_said_where_somebody_can(shell: Shell, options: str, sentence: str) -> None:
    assert shell("turn", "--payload", *options.split(" ")) == (2, "", f"codex-bridge: {sentence}\n")


def test_a_picture_is_for_the_map_and_a_key_for_the_login_by_key(shell: Shell) -> None:
    assert shell("context", "list", "--png", "x.png") == (
        2, "", "codex-bridge: --png is for view map: it draws the map.\n"
    )  # fmt: skip
    assert shell("login", "--with", "browser", "--api-key-env", "KEY") == (
        2, "", "codex-bridge: --api-key-env is for --with api-key: the other ways need no key.\n"
    )  # fmt: skip


def test_a_comparison_can_be_had_as_data(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    code, out, _ = shell("prompt", "--workspace", "w", "--json", "--diff", "other")
    found = json.loads(out)
    assert (code, found["same"], found["with"]) == (1, False, "other")
    assert "+dry" in found["diff"]
    assert json.loads(shell("prompt", "--workspace", "w", "--json", "--diff", "w")[1]) == {
        "same": True,
        "with": "w",
        "diff": [],
    }


def test_each_of_two_scenarios_that_are_compared_keeps_its_model(shell: Shell, tmp_path: Path) -> None:
    scenario(tmp_path / "mine", WHOLE | {"model": "other-model", "workspace": "../w"})
    _, out, _ = shell("prompt", "--scenario", "telegram-direct", "--diff", "mine")
    assert "-Current model identity: other-model." in out
    assert "+Current model identity: gpt-5.5." in out
    _, out, _ = shell("prompt", "--scenario", "telegram-direct", "--diff", "w")
    assert '"chat_id"' not in out


WITH_AGENT = [
    words
    for words, command in leaves(typer.main.get_command(app))
    if any("--agent" in param.opts for param in command.params)
]


NEEDED: dict[tuple[str, ...], tuple[str, ...]] = {
    ("turn",): ("--payload", "update.json"),
    ("job",): ("--prompt", "Count the boats."),
    ("threads", "adopt"): ("thread-1", "agent:main:telegram:direct:7"),
    ("threads", "compact"): ("agent:main:telegram:direct:7",),
    ("threads", "forget"): ("agent:main:telegram:direct:7",),
}
"""What a command cannot do without."""


@pytest.mark.parametrize("words", WITH_AGENT, ids=" ".join)
def test_an_agent_that_nobody_configured_is_named_with_those_who_are(
    shell: Shell, tmp_path: Path, words: tuple[str, ...]
) -> None:
    (tmp_path / "update.json").write_text(json.dumps(UPDATE), encoding="utf-8")
    more = NEEDED.get(words, ())
    known = f"There is no agent 'zz' in {tmp_path}/openclaw.json; known are: pell, tamsin."
    assert shell(*words, *more, "--agent", "zz", "--config", "openclaw.json") == (
        2, "", f"codex-bridge: {known}\n".replace(f"{tmp_path}/", "")
    )  # fmt: skip
    assert shell(*words, *more, "--agent", "zz") == (
        2, "", "codex-bridge: There is no agent 'zz' without a configuration file; known are: main.\n"
    )  # fmt: skip


def test_the_default_agent_is_the_configured_one_and_every_spelling_of_an_id_means_the_same_home(
    shell: Shell, tmp_path: Path
) -> None:
    """So that a login serves the turns of the agent whom it was made for."""
    config = tmp_path / "openclaw.json"
    found = [configured(config, agent, None).settings for agent in (None, "pell", "Pell", " PELL ")]
    assert {(settings.id, settings.workspace) for settings in found} == {("pell", tmp_path / "w")}
    assert home_named("own", CodexConfig(), found[0].id, tmp_path).path == tmp_path / "agents" / "pell" / "codex-home"
    code, out, _ = shell("prompt", "--text", "--config", str(config))
    assert (code, "Runtime: agent=pell" in out) == (0, True)


@pytest.mark.parametrize("option", ["--scenario", "--diff"])
def test_a_broken_scenario_is_one_sentence(shell: Shell, tmp_path: Path, option: str) -> None:
    scenario(tmp_path / "mine", WHOLE | {"payload": 5})
    assert shell("prompt", *(["--workspace", "w"] if option == "--diff" else []), option, "mine") == (
        2, "", "codex-bridge: In the scenario mine/scenario.json payload is 5, but must be text.\n"
    )  # fmt: skip


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["nope"], "No such command 'nope'; see codex-bridge --help."),
        (["turn"], "Missing option '--payload'; see codex-bridge turn --help."),
        (
            ["prompt", "--nope"],
            "No such option: --nope (Possible options: --mode, --model); see codex-bridge prompt --help.",
        ),
        (
            ["context", "nope"],
            "Invalid value for 'view': 'nope' is not one of 'list', 'detail', 'json', 'map'; "
            "see codex-bridge context --help.",
        ),
        (["skills", "list", "more"], "Got unexpected extra argument (more); see codex-bridge skills list --help."),
    ],
)
def test_words_that_no_command_knows_are_one_sentence(shell: Shell, words: list[str], sentence: str) -> None:
    code, out, err = shell(*words)
    assert (code, out, err.replace("argument(s)", "argument")) == (2, "", f"codex-bridge: {sentence}\n")


@pytest.mark.parametrize("words", [[], ["skills"], ["lanes"]])
def test_without_a_command_there_is_help(shell: Shell, words: list[str]) -> None:
    code, out, err = shell(*words)
    assert (code, out.splitlines()[0], err) == (
        2, f"Usage: {' '.join(['codex-bridge', *words])} [OPTIONS] COMMAND [ARGS]...", ""
    )  # fmt: skip
    assert shell(*words, "--help")[:2] == (0, out)


def test_ctrl_c_ends_a_command_without_a_fuss(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("codex_bridge.cli.status.look", interrupted)
    code, out, err = shell("status")
    assert (code, out.strip()) == (130, "")
    assert err.strip() in ("", "codex-bridge: Stopped.")  # by the version of typer


def with_server(folder: Path, server: str) -> None:
    (folder / "openclaw.json").write_text(
        f"{{plugins: {{entries: {{codex: {{config: {{appServer: {server}}}}}}}}}}}", encoding="utf-8"
    )


@pytest.mark.parametrize("words", [("turn", "--payload", "update.json"), ("job", "--prompt", "go"), ("heartbeat",)])
def test_nothing_runs_under_a_limit_that_would_not_be_kept(
    shell: Shell, tmp_path: Path, words: tuple[str, ...]
) -> None:
    (tmp_path / "update.json").write_text(json.dumps(UPDATE), encoding="utf-8")
    with_server(tmp_path, "{networkProxy: {enabled: true}, url: 'ws://127.0.0.1:4500'}")
    assert shell(*words, "--workspace", "w", "--config", "openclaw.json") == (
        2,
        "",
        "codex-bridge: plugins.entries.codex.config.appServer.networkProxy is set and cannot be kept yet, so no turn "
        "starts: no proxy would hold the commands back; without it the sandboxes read-only and workspace-write keep "
        "them off the network.\n",
    )
    assert not (tmp_path / "state").exists()


def test_what_is_set_and_does_nothing_is_said_at_each_start(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENCLAW_CODEX_APP_SERVER_MODE", "wild")
    with_server(tmp_path, "{args: ['app-server'], mod: 'yolo'}")
    code, _, said = shell("heartbeat", "--workspace", "w", "--config", "openclaw.json")
    assert (code, said.splitlines()) == (
        0,
        [
            "[plugins.entries.codex.config.appServer.args is set and not served yet: the arguments are the bridge's; "
            "settings go into config.toml of the home.]",
            "[OPENCLAW_CODEX_APP_SERVER_MODE must be one of yolo, guardian; it counts as not set.]",
            "[1 problem(s) in the configuration; see codex-bridge doctor]",
        ],
    )
    assert "OPENCLAW_CODEX_APP_SERVER_MODE must be" in shell("doctor", "--workspace", "w")[1]


@pytest.mark.parametrize(
    ("scope", "named", "path"),
    [
        ("agent", None, "state/agents/main/codex-home"),
        ("user", None, "mine"),
        ("user", "own", "state/agents/main/codex-home"),
        ("agent", "user", "mine"),
        ("user", "other", "other"),
    ],
)
def test_the_command_line_names_the_codex_home_before_the_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scope: str, named: str | None, path: str
) -> None:
    """`appServer.homeScope`."""
    monkeypatch.chdir(tmp_path)
    for folder in ("mine", "other"):
        (tmp_path / folder).mkdir()
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "mine"))
    config = CodexConfig.model_validate({"appServer": {"homeScope": scope}})
    home = home_named(named, config, "main", tmp_path / "state")
    assert (home.path, home.owned) == (tmp_path / path, path.startswith("state"))


def test_a_server_is_started_as_the_configuration_has_it(tmp_path: Path) -> None:
    program = tmp_path / "codex"
    program.write_text("#!/bin/sh\n", encoding="utf-8")
    program.chmod(0o755)
    server = {
        "requestTimeoutMs": 1500,
        "clearEnv": ["HTTPS_PROXY"],
        "modelCatalog": "untouched",
        "command": str(program),
    }
    launch = launch_of(CodexConfig.model_validate({"appServer": server}), "main", tmp_path, codex=None, codex_home=None)
    assert isinstance(launch, Launch)
    assert (launch.binary.path, launch.call_deadline, launch.clear_env, launch.catalogue) == (
        program, 1.5, ("HTTPS_PROXY",), "untouched"
    )  # fmt: skip


ELSEWHERE = {"transport": "websocket", "url": "ws://127.0.0.1:4500"}


@pytest.mark.parametrize(
    ("keys", "flags", "source"),
    [
        ({"transport": "unix"}, {}, Listener("unix", Path("state/agents/main/listeners"))),
        ({"transport": "websocket"}, {}, Listener("websocket", Path("state/agents/main/listeners"))),
        (ELSEWHERE, {}, Remote("ws://127.0.0.1:4500", call_deadline=60.0)),
        (ELSEWHERE, {"codex_home": "own"}, None),
        (ELSEWHERE, {"stands_in": True}, None),
    ],
)
def test_the_server_is_the_configured_one_unless_the_command_line_wants_one_of_its_own(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    keys: dict[str, str],
    flags: dict[str, Any],
    source: Listener | Remote | None,
) -> None:
    def find(path: Path | None) -> CodexBinary:
        return CodexBinary(path or Path("/codex"), "the test")

    monkeypatch.setattr("codex_bridge.cli.setup.find_codex", find)
    config = CodexConfig.model_validate({"appServer": keys})
    given: dict[str, Any] = {"codex": None, "codex_home": None, **flags}
    found = launch_of(config, "main", Path("state"), **given)
    said = capsys.readouterr().err
    if isinstance(source, Remote):
        assert (found, said) == (source, "")
        return
    assert isinstance(found, Launch)
    assert found.listener == source
    option = {"codex_home": "--codex-home", "stands_in": "--loopback"}.get(next(iter(flags), ""))
    told = f"[{option}: a Codex is started here, and ws://127.0.0.1:4500 is not used]\n" if option else ""
    assert said == told


def test_a_browser_cannot_sign_in_a_server_on_another_machine(shell: Shell, tmp_path: Path) -> None:
    keys = '{ transport: "websocket", url: "wss://codex.example", authToken: "lantern-1289" }'
    config = tmp_path / "elsewhere.json"
    config.write_text(f"{{ plugins: {{ entries: {{ codex: {{ config: {{ appServer: {keys} }} }} }} }} }}", "utf-8")
    assert shell("login", "--config", str(config)) == (
        2,
        "",
        "codex-bridge: The browser would have to come back to wss://codex.example, which is not this machine; "
        "use --with device-code or --with api-key.\n",
    )
