"""Each agent's Codex home is closed to others, and the app-server sees of our environment only what is listed."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_bridge.home import (
    PASSED,
    AgentIdError,
    ChildEnvironment,
    Home,
    StateFolderError,
    TrustedFolderError,
    agent_dir,
    child_environment,
    forget_trust,
    login_command,
    own_home,
    private_dir,
    state_dir,
    user_codex_home,
)
from harness.written_paths import expanded

HOME = Path("/state/codex-home")


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


# folders


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_a_new_folder_and_those_above_it_are_closed_to_others(tmp_path: Path, umask: int) -> None:
    path = tmp_path / "state" / "agents" / "main" / "codex-home"
    before = os.umask(umask)
    try:
        assert private_dir(path) == path
    finally:
        os.umask(before)
    assert [mode(folder) for folder in (path, *path.parents[:3])] == [0o700] * 4


@pytest.mark.parametrize("loose", [0o755, 0o777, 0o710, 0o704])
def test_a_folder_that_others_may_enter_is_repaired_and_keeps_its_content(tmp_path: Path, loose: int) -> None:
    path = tmp_path / "codex-home"
    path.mkdir()
    path.chmod(loose)
    (path / "auth.json").write_text("{}", "utf-8")

    private_dir(path)

    assert mode(path) == 0o700
    assert (path / "auth.json").read_text("utf-8") == "{}"


TRUSTED = '[projects."/workspace"]\ntrust_level = "trusted"\n'


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (TRUSTED, ""),
        (
            f'model = "x" # mine\n\n{TRUSTED}\n[tui]\nanimations = false\n',
            'model = "x" # mine\n\n[tui]\nanimations = false\n',
        ),
        (f"{TRUSTED}\n{TRUSTED.replace('workspace', 'other')}", ""),
        (f"[projects]\n\n{TRUSTED}[[x]]\ny = 1\n", "[[x]]\ny = 1\n"),
        (TRUSTED.rstrip(), ""),
        ('model = "projects"\n', 'model = "projects"\n'),
    ],
)
def test_a_home_forgets_the_folders_that_it_trusts_and_keeps_the_rest(tmp_path: Path, before: str, after: str) -> None:
    config = tmp_path / "config.toml"
    config.write_text(before, "utf-8")
    forget_trust(tmp_path)
    assert config.read_text("utf-8") == after
    assert [path.name for path in tmp_path.iterdir()] == ["config.toml"]


@pytest.mark.parametrize(
    "text",
    [
        'projects."/workspace".trust_level = "trusted"\n',
        'projects = { "/workspace" = { trust_level = "trusted" } }\n',
        '[projects."/workspace"]\nnote = """\n[tui]\n"""\n',
        f"\ufeff{TRUSTED}",
        f'name = "\\e"\n{TRUSTED}',
        f"x = {{ a = 1,\n }}\n{TRUSTED}",
        "projects = [\n",
    ],
)
def test_trust_that_cannot_be_taken_out_safely_is_an_error_and_the_file_stays(tmp_path: Path, text: str) -> None:
    config = tmp_path / "config.toml"
    config.write_text(text, "utf-8")
    with pytest.raises(TrustedFolderError) as caught:
        forget_trust(tmp_path)
    assert str(caught.value) == (
        f"{config} trusts project folders, so a file in a workspace could start programs outside of the sandbox; "
        "remove its 'projects' part."
    )
    assert config.read_text("utf-8") == text


def test_a_home_without_a_configuration_has_nothing_to_forget(tmp_path: Path) -> None:
    forget_trust(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_closed_already_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "codex-home"
    path.mkdir(mode=0o500)
    private_dir(path)
    assert mode(path) == 0o500


def test_an_agents_folder_is_named_by_its_id() -> None:
    assert agent_dir(Path("/state"), "main") == Path("/state/agents/main")
    assert own_home(Path("/state"), "a-B_9") == Home(Path("/state/agents/a-B_9/codex-home"), owned=True)


@pytest.mark.parametrize(
    "agent", ["", ".", "..", "../other", "a/b", "a\\b", "-a", "_a", "a b", "a\n", "é", "a" * 65, "a.b"]
)
def test_an_id_that_cannot_name_a_folder_is_refused_with_the_rule(agent: str) -> None:
    for refused in (agent_dir, own_home):
        with pytest.raises(AgentIdError, match="an id has 1 to 64 letters, digits, '-' or '_'") as caught:
            refused(Path("/state"), agent)
        assert repr(agent) in str(caught.value)


@given(st.text(max_size=80))
def test_no_id_leads_out_of_the_folder_of_all_agents(agent: str) -> None:
    try:
        path = agent_dir(Path("/state"), agent)
    except AgentIdError:
        return
    assert path.parent == Path("/state/agents")
    assert path == Path(os.path.normpath(path))


def test_the_state_folder_is_the_one_named_or_the_platforms(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/sample")
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    assert state_dir({"CODEX_BRIDGE_STATE_DIR": " /srv/bridge "}) == Path("/srv/bridge")
    assert state_dir({"CODEX_BRIDGE_STATE_DIR": "~/bridge"}) == Path("/home/sample/bridge")
    assert state_dir({"CODEX_BRIDGE_STATE_DIR": " "}) == state_dir({})
    assert state_dir({}).name == "openclaw-codex-bridge"
    assert state_dir({}).is_relative_to("/home/sample")


def test_a_persons_own_home_is_where_codex_itself_would_look() -> None:
    assert user_codex_home({"CODEX_HOME": "/srv/codex", "HOME": "/home/sample"}) == Path("/srv/codex")
    assert user_codex_home({"HOME": "/home/sample"}) == Path("/home/sample/.codex")
    assert user_codex_home({"CODEX_HOME": "", "HOME": "/home/sample"}) == Path("/home/sample/.codex")


def test_folders_that_are_named_by_a_relative_path_are_absolute_from_then_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Codex refuses a relative home, and runs in another folder than whoever named it."""
    monkeypatch.chdir(tmp_path)
    found = [
        state_dir({"CODEX_BRIDGE_STATE_DIR": "bridge"}),
        user_codex_home({"CODEX_HOME": "./codex"}),
        user_codex_home({"HOME": "home"}),
        Home(Path("a/codex-home"), owned=True).path,
        own_home(Path("state"), "main").path,
    ]
    assert found == [
        tmp_path / "bridge",
        tmp_path / "codex",
        tmp_path / "home" / ".codex",
        tmp_path / "a" / "codex-home",
        tmp_path / "state" / "agents" / "main" / "codex-home",
    ]


def test_the_home_of_a_user_who_does_not_exist_is_never_made_and_never_raises(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StateFolderError) as caught:
        state_dir({"CODEX_BRIDGE_STATE_DIR": "~nobody-of-this-name/bridge"})
    assert str(caught.value) == (
        "The folder ~nobody-of-this-name/bridge cannot be used (there is no user nobody-of-this-name); "
        "name another with CODEX_BRIDGE_STATE_DIR."
    )
    assert expanded("~nobody-of-this-name/x") == Path("~nobody-of-this-name/x")
    assert user_codex_home({"CODEX_HOME": "~nobody-of-this-name"}) == tmp_path / "~nobody-of-this-name"


@pytest.mark.parametrize(
    ("home", "command"),
    [
        (own_home(Path("/state"), "keeper"), "codex-bridge login --agent keeper"),
        (Home(Path("/home/sample/.codex"), owned=False), "codex-bridge login --codex-home user"),
        (Home(Path("/srv/codex home"), owned=False), "codex-bridge login --codex-home '/srv/codex home'"),
        # Kept for the agent, but not where the command would look for it.
        (
            own_home(Path("/elsewhere"), "keeper"),
            "codex-bridge login --codex-home /elsewhere/agents/keeper/codex-home",
        ),
        (own_home(Path("/state"), "other"), "codex-bridge login --codex-home /state/agents/other/codex-home"),
    ],
)
def test_each_home_has_a_command_that_signs_it_in(home: Home, command: str) -> None:
    assert login_command(home, "keeper", {"HOME": "/home/sample", "CODEX_BRIDGE_STATE_DIR": "/state"}) == command


def test_an_agent_whose_id_names_no_folder_has_a_command_too() -> None:
    home = Home(Path("/srv/codex"), owned=True)
    assert login_command(home, "the keeper", {"HOME": "/home/sample"}) == "codex-bridge login --codex-home /srv/codex"


# environment


GATEWAY = {
    "HOME": "/home/sample",
    "PATH": "/usr/bin:/bin",
    "LANG": "C.UTF-8",
    "LC_MESSAGES": "vi_VN.UTF-8",
    "LC_TOKEN": "lantern-of-the-gateway",
    "TZ": "Asia/Ho_Chi_Minh",
    "HTTPS_PROXY": "http://proxy.example.org:3128",
    "TELEGRAM_BOT_TOKEN": "123456789:AbCdEfGhIjKlMnOpQrStUvWxYz012345678",
    "OPENAI_API_KEY": "sk-proj-4f9Q2mZr71XcVbNa",
    "CODEX_HOME": "/home/sample/.codex",
    "LD_PRELOAD": "/tmp/evil.so",
    "PYTHONPATH": "/work",
    "GATEWAY_HOME": "/home/sample",
    "EMPTY": "",
    "PWD": "/srv/gateway",
}


def test_the_server_sees_what_is_listed_and_its_own_home_and_nothing_else() -> None:
    environment = child_environment(HOME, environ=GATEWAY)
    assert environment == ChildEnvironment(
        passed={
            "HOME": "/home/sample",
            "PATH": "/usr/bin:/bin",
            "LANG": "C.UTF-8",
            "LC_MESSAGES": "vi_VN.UTF-8",
            "TZ": "Asia/Ho_Chi_Minh",
            "HTTPS_PROXY": "http://proxy.example.org:3128",
            "CODEX_HOME": "/state/codex-home",
        },
        secrets=(
            "lantern-of-the-gateway",
            GATEWAY["TELEGRAM_BOT_TOKEN"],
            GATEWAY["OPENAI_API_KEY"],
            "/home/sample/.codex",
            "/tmp/evil.so",
            "/work",
        ),
    )


def test_a_variable_that_is_cleared_is_a_secret_and_the_homes_stay() -> None:
    environ = {"HOME": "/home/sample", "HTTPS_PROXY": "http://pell:pw@proxy.example.org", "LC_TIME": "C", "TZ": "UTC"}
    cleared = ("HTTPS_PROXY", "LC_TIME", "HOME", "CODEX_HOME", "tz")
    assert child_environment(HOME, cleared=cleared, environ=environ) == ChildEnvironment(
        passed={"HOME": "/home/sample", "TZ": "UTC", "CODEX_HOME": str(HOME)},
        secrets=("http://pell:pw@proxy.example.org",),
    )


def test_a_provider_gets_its_token_and_the_token_is_a_secret() -> None:
    environment = child_environment(HOME, extra={"LAB_TOKEN": "tok-en-1234"}, environ={"LAB_TOKEN": "older"})
    assert environment.passed == {"LAB_TOKEN": "tok-en-1234", "CODEX_HOME": str(HOME)}
    assert environment.secrets == ("older", "tok-en-1234")


@pytest.mark.parametrize("name", ["HTTPS_PROXY", "http_proxy", "ALL_PROXY"])
@pytest.mark.parametrize("scheme", ["http://", "socks5h://", ""])
def test_the_credential_of_a_proxy_is_passed_on_and_is_a_secret(name: str, scheme: str) -> None:
    address = f"{scheme}keeper:lamp%40oil-77@proxy.example.org:3128/x"
    environment = child_environment(HOME, environ={name: address, "PROXY_PASSWORD": "lamp@oil-77"})
    assert environment.passed == {name: address, "CODEX_HOME": str(HOME)}
    assert set(environment.secrets) == {"keeper:lamp%40oil-77", "lamp%40oil-77", "lamp@oil-77"}


def test_a_password_that_also_stands_in_the_address_of_a_proxy_is_still_a_secret() -> None:
    environ = {"HTTPS_PROXY": "http://keeper:lampoil-77@proxy.example.org", "MAIL_PASSWORD": "lampoil-77"}
    assert "lampoil-77" in child_environment(HOME, environ=environ).secrets


def test_programs_that_ship_with_codex_are_found_first() -> None:
    tools = Path("/opt/codex/codex-path")
    assert child_environment(HOME, tools_dir=tools, environ={"PATH": "/bin"}).passed["PATH"] == f"{tools}:/bin"
    assert child_environment(HOME, tools_dir=tools, environ={}).passed["PATH"] == str(tools)


def test_the_environment_of_the_process_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Europe/Oslo")
    monkeypatch.setenv("SOME_GATEWAY_TOKEN", "green-harbour-lantern-42")
    environment = child_environment(HOME)
    assert environment.passed["TZ"] == "Europe/Oslo"
    assert "SOME_GATEWAY_TOKEN" not in environment.passed
    assert "green-harbour-lantern-42" in environment.secrets


@pytest.mark.parametrize("word", ["KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL", "AUTH", "PRELOAD", "PYTHON"])
def test_nothing_on_the_list_sounds_like_a_secret_or_changes_what_runs(word: str) -> None:
    assert not [name for name in PASSED if word in name.upper()]


NAMES = st.sampled_from([*PASSED, "LC_TOKEN", "LC_", "TOKEN", "codex_home", "CODEX_HOME", "PWD"]) | st.text(max_size=8)


@given(st.dictionaries(NAMES, st.text(max_size=12), max_size=8))
def test_each_value_is_passed_on_or_held_back(environ: dict[str, str]) -> None:
    environment = child_environment(HOME, environ=environ)
    assert environment.passed["CODEX_HOME"] == str(HOME)
    for name, value in environ.items():
        if name in PASSED:
            assert environment.passed[name] == value
        elif name != "CODEX_HOME":
            assert name not in environment.passed
            assert not value or name == "PWD" or value in environment.secrets or value in "\0".join(environ.values())
