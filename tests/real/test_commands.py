"""The commands as a person starts them: a process of its own, an empty home."""

import fcntl
import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from codex_bridge.binary import CodexBinary

SAMPLE = Path(__file__).parent.parent.parent / "harness" / "testing" / "sample"
DEVELOPER = "thread/start · developerInstructions"
SENTINELS = {
    "gateway/runtime": ("You run inside a personal agent gateway.", "developer", DEVELOPER),
    "gateway/tool-manifest": ("# Tools of the gateway", "developer", DEVELOPER),
    "gateway/subagents": ("# Subagents", "developer", DEVELOPER),
    "workspace/AGENTS.md": ("The rule written in AGENTS.md", "user", "Codex reads it from the working directory"),
    "workspace/TOOLS.md": ("The device noted in TOOLS.md", "developer", DEVELOPER),
    "workspace/SOUL.md": ("The voice written in SOUL.md", "mode", MODE := "turn/start · collaborationMode.settings."
                          "developer_instructions"),
    "workspace/IDENTITY.md": ("The name written in IDENTITY.md", "mode", MODE),
    "workspace/USER.md": ("The person described in USER.md", "mode", MODE),
    "gateway/memory-note": ("Long-term memory is kept in this file.", "mode", MODE),
    "message/text": ("Is it worth polishing the lens", "user", "turn/start · input"),
}  # fmt: skip


FRAMES = {"<collaboration_mode>": "mode", "# Files of your workspace": "quoted"}
NO_KEY = "Expecting property name enclosed in double quotes"


def environment(codex: CodexBinary, state: Path) -> dict[str, str]:
    """An empty home, and no program but this one and this Codex."""
    return {"HOME": str(state), "PATH": os.environ["PATH"], "CODEX_BIN": str(codex.path), "COLUMNS": "118"}


def run(
    codex: CodexBinary, state: Path, *arguments: str, stdin: str = "", **variables: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "codex_bridge", *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=60,
        env=environment(codex, state) | variables,
        check=False,
    )


def test_the_demo_shows_each_sentinel_where_the_model_saw_it(codex: CodexBinary, state: Path) -> None:
    done = run(codex, state, "demo", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    data: dict[str, Any] = json.loads(done.stdout)
    seen: dict[str, tuple[str, str, str]] = {}
    for layer in data["layers"]:
        sentinel = SENTINELS[layer["layer"]][0]
        parts = [part for part in data["received"] if sentinel in part["text"]]
        assert [f"{part['item']}.{part['part']}" for part in parts] == layer["seenAt"]
        (part,) = parts
        role = next((role for start, role in FRAMES.items() if part["text"].startswith(start)), part["role"])
        seen[layer["layer"]] = (sentinel, role, layer["lane"])
    assert seen == SENTINELS
    assert data["asPromised"] is True
    assert "".join(data["reply"]["pieces"]) == data["reply"]["text"]
    assert [request["method"] for request in data["sent"]] == ["thread/start", "turn/start"]


def test_the_demo_tells_a_person_the_same(codex: CodexBinary, state: Path) -> None:
    done = run(codex, state, "demo")
    assert (done.returncode, done.stderr) == (0, "")
    lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
    assert "workspace/SOUL.md collaborationMode 130 1.2 in its lane" in lines
    assert lines[-1] == "Every layer reached the model once, in its lane, and the reply came back whole."
    assert list((state / ".local/state/openclaw-codex-bridge/demo").iterdir()) == []


def test_a_payload_becomes_an_outbox_and_the_chat_goes_on_in_the_next_process(codex: CodexBinary, state: Path) -> None:
    arguments = ("turn", "--payload", str(SAMPLE / "update.json"), "--workspace", str(SAMPLE / "workspace"))
    first, second = (json.loads(run(codex, state, *arguments, "--loopback", "--json").stdout) for _ in range(2))
    question = "Morning! Is it worth polishing the lens before the weekend?"
    assert first["outbox"] == [
        {
            "channel": "telegram",
            "chat": "555010203",
            "replyTo": "2041",
            "text": f"The loopback model received: {question}",
        }
    ]
    assert first["result"]["thread"] == second["result"]["thread"]
    assert first["result"]["turn"] != second["result"]["turn"]


def test_a_message_that_comes_during_a_turn_is_seen_to_join_it(codex: CodexBinary, state: Path, tmp_path: Path) -> None:
    payload = json.loads((SAMPLE / "update.json").read_text("utf-8"))
    question = payload["message"]["text"]
    files = [str(SAMPLE / "update.json")]
    for number, text in ((3001, "Or the bell?"), (3001, "Or the bell?"), (3002, "/stop")):
        path = tmp_path / f"{len(files)}.json"
        path.write_text(json.dumps({"update_id": number, "message": payload["message"] | {
            "message_id": number, "text": text, "entities": []}}), "utf-8")  # fmt: skip
        files.append(str(path))
    arguments = ("turn", "--workspace", str(SAMPLE / "workspace"), "--loopback", "--payload", files[0])
    joined = run(codex, state, *arguments, "--then", files[1], "--then", files[2], "--after", "100ms")
    assert (joined.returncode, joined.stdout) == (0, f"The loopback model received: {question} | Or the bell?\n")
    chat = "telegram:555010203"
    assert joined.stderr.splitlines() == [
        f"[{chat}:3001 came in before]", f"[{chat}:3001 came into the turn of {chat}:2041]"
    ]  # fmt: skip
    stopped = run(codex, state, *arguments, "--then", files[3], "--after", "0ms", "--json")
    data = json.loads(stopped.stdout)
    assert stopped.returncode == 1
    assert [(each["text"], each["replyTo"]) for each in data["outbox"]] == [("Stopped.", "3002")]
    assert [(each["message"], each["joined"]) for each in data["turns"]] in ([(f"{chat}:2041", [])], [])


def test_a_new_agent_gets_its_workspace_with_its_first_turn(codex: CodexBinary, state: Path) -> None:
    """Nothing was set up: the configured folder is made. One that somebody names is not, or a slip would make it."""
    arguments = ("turn", "--payload", str(SAMPLE / "update.json"), "--loopback")
    named = run(codex, state, *arguments, "--workspace", str(state / "mistyped"))
    first = run(codex, state, *arguments)
    (state / ".openclaw" / "workspace" / "SOUL.md").write_text("Dry.", "utf-8")
    second = run(codex, state, *arguments)
    assert (named.returncode, (state / "mistyped").exists()) == (2, False)
    assert (first.returncode, second.returncode) == (0, 0), first.stderr + second.stderr
    assert (state / ".openclaw" / "workspace" / "SOUL.md").read_text("utf-8") == "Dry."
    assert sorted(path.name for path in (state / ".openclaw" / "workspace").glob("*.md")) == [
        "AGENTS.md", "HEARTBEAT.md", "IDENTITY.md", "SOUL.md", "TOOLS.md", "USER.md"
    ]  # fmt: skip


def test_status_tells_of_the_turn_before(codex: CodexBinary, state: Path) -> None:
    arguments = ("turn", "--payload", str(SAMPLE / "update.json"), "--workspace", str(SAMPLE / "workspace"))
    turn = json.loads(run(codex, state, *arguments, "--loopback", "--json").stdout)
    root = str(state / ".local/state/openclaw-codex-bridge/loopback")
    done = run(codex, state, "status", "--workspace", str(SAMPLE / "workspace"), "--json", CODEX_BRIDGE_STATE_DIR=root)
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    session = "agent:main:telegram:direct:555010203"
    assert [(each["sessionKey"], each["thread"]) for each in found["conversations"]] == [
        (session, turn["result"]["thread"])
    ]
    last = found["lastPrompt"]
    assert (last["sessionKey"], last["model"], last["units"]) == (session, "gpt-5.5", sum(last["lanes"].values()))
    assert set(last["layers"]) >= set(SENTINELS)
    # The next message finds the same workspace; only its words are not known yet.
    assert found["nextPrompt"]["units"] == last["units"] - last["layers"]["message/text"]
    assert found["codex"]["version"].startswith("0.")
    assert found["home"]["signedIn"] is False


HEARTBEAT = "tasks:\n- name: vents\n  interval: 2h\n  prompt: Look at the vents.\n"
ASKED = "The loopback model received: Heartbeat check. These recurring tasks are due; do each of them now:"


def gateway(state: Path, heartbeat: str) -> tuple[str, ...]:
    """Options that name a workspace with a task and a configuration of its heartbeats."""
    (state / "w").mkdir(exist_ok=True)
    (state / "w" / "HEARTBEAT.md").write_text(HEARTBEAT, "utf-8")
    (state / "openclaw.json").write_text(f"{{agents: {{defaults: {{heartbeat: {heartbeat}}}}}}}", "utf-8")
    return ("--workspace", str(state / "w"), "--config", str(state / "openclaw.json"), "--loopback")


def test_a_heartbeat_is_run_once_and_what_would_be_delivered_is_printed(codex: CodexBinary, state: Path) -> None:
    where = gateway(state, "{target: 'telegram', to: '7', isolatedSession: true}")
    done = run(codex, state, "heartbeat", "--once", *where)
    assert (done.returncode, done.stdout) == (0, f"{ASKED}\n"), done.stderr
    told = done.stderr.splitlines()
    assert told[:2] == ["[began in agent:main:telegram:direct:7:heartbeat]", "[would be sent to telegram 7]"]
    assert told[2].startswith("[next: ")
    planned = json.loads(run(codex, state, "heartbeat", "--json", *where).stdout)
    assert (planned["skip"], planned["tasks"][0]["due"]) == ("no-tasks-due", False)
    again = json.loads(run(codex, state, "heartbeat", "--once", "--json", *where).stdout)
    assert (again["event"], again["quiet"]) == ("ended", False)
    assert again["outbox"] == [{"channel": "telegram", "chat": "7", "replyTo": "", "text": again["text"]}]
    assert again["text"].startswith("The loopback model received: Heartbeat check. If the workspace has a HEARTBEAT.md")
    off = run(codex, state, "heartbeat", "--once", *gateway(state, "{every: '0m'}"))
    assert (off.returncode, off.stdout) == (0, "")
    assert off.stderr.startswith("[skipped: this agent has no heartbeats: ")


def test_a_scheduled_prompt_runs_and_what_its_chat_would_be_told_is_printed(codex: CodexBinary, state: Path) -> None:
    words = ("job", "--prompt", "Count the boats.", *gateway(state, "{}"))
    done = run(codex, state, *words, "--light")
    assert (done.returncode, done.stderr, done.stdout) == (0, "", "The loopback model received: Count the boats.\n")
    full, again, light = (
        json.loads(run(codex, state, *words, "--json", *more).stdout) for more in ((), (), ("--light",))
    )
    assert (full["status"], full["error"], full["text"]) == (
        "told",
        "",
        "The loopback model received: Count the boats.",
    )
    assert [each["text"] for each in full["outbox"]] == [full["text"]]
    assert full["thread"] == again["thread"] != light["thread"]
    wrong = run(codex, state, *words, "--name", "a:b")
    assert (wrong.returncode, wrong.stderr) == (
        2,
        "codex-bridge: --name 'a:b' is no name of a job, which has letters, digits, - and _ only.\n",
    )


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_heartbeats_run_on_their_own_until_somebody_stops_them(
    codex: CodexBinary, state: Path, how: signal.Signals
) -> None:
    words = ("heartbeat", "--watch", "--json", *gateway(state, "{every: '1s'}"))
    command = [sys.executable, "-m", "codex_bridge", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment(codex, state)) as process:
        assert process.stdout is not None
        events = [json.loads(line) for line, _ in zip(process.stdout, range(5), strict=False)]
        process.send_signal(how)
        process.communicate(timeout=30)
        assert process.returncode == 0
    assert [each["event"] for each in events] == ["scheduled", "began", "ended", "scheduled", "skipped"]
    assert (events[2]["text"], events[4]["reason"]) == (ASKED, "no-tasks-due")


def test_a_turn_for_a_person_prints_the_answer_alone(codex: CodexBinary, state: Path) -> None:
    update = (SAMPLE / "update.json").read_text("utf-8")
    done = run(
        codex, state, "turn", "--payload", "-", "--workspace", str(SAMPLE / "workspace"), "--loopback", stdin=update
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == ("The loopback model received: Morning! Is it worth polishing the lens before the weekend?\n")


def test_the_stand_in_calls_a_tool_when_it_is_asked_to(codex: CodexBinary, state: Path) -> None:
    """The model that the owner sets holds from the next turn on, also after a restart, and a final message is all."""
    update = json.loads((SAMPLE / "update.json").read_text("utf-8"))
    printed: list[str] = []
    for number, call in enumerate(
        (
            'session_status {"model": "openai/no-such-model"}',
            "session_status {}",
            'message {"action": "reply", "message": "That is all.", "final": true}',
        )
    ):
        update["message"] |= {"text": f"call {call}", "message_id": 900 + number}
        payload = ("--payload", "-", "--workspace", str(SAMPLE / "workspace"), "--loopback")
        done = run(codex, state, "turn", *payload, stdin=json.dumps(update))
        assert done.returncode == 0
        printed.append(done.stdout)
    assert printed[0] == "The tool says: From the next turn on this conversation uses no-such-model.\n"
    assert "Model: no-such-model, because it was chosen for this conversation\nRuns on: Codex 0." in printed[1]
    assert printed[2] == "That is all.\n"


OWN = "the agent's own home"
USERS = "the person's own home"
FOLDER = "a folder with a space"


@pytest.mark.parametrize("which", [OWN, USERS, FOLDER])
def test_without_a_login_one_sentence_names_a_command_that_signs_that_home_in(
    codex: CodexBinary, state: Path, which: str
) -> None:
    homes = {
        OWN: state / ".local/state/openclaw-codex-bridge/agents/main/codex-home",
        USERS: state / ".codex",
        FOLDER: state / "a home",
    }
    options = {OWN: (), USERS: ("--codex-home", "user"), FOLDER: ("--codex-home", str(homes[FOLDER]))}
    others = {
        OWN: "use your own Codex login with `--codex-home user`",
        USERS: "leave `--codex-home` away and sign in the agent's own home with `codex-bridge login --agent main`",
    }
    home = homes[which]
    if which != OWN:
        home.mkdir()
    payload = ("--payload", str(SAMPLE / "update.json"), "--workspace", str(SAMPLE / "workspace"))
    done = run(codex, state, "turn", *payload, *options[which])
    start = f"codex-bridge: Codex is not signed in for agent 'main' (home: {home}). Sign this home in with `"
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (3, "", 1)
    assert done.stderr.startswith(start)
    command, _, rest = done.stderr.removeprefix(start).partition("`")
    assert rest == f", or {others.get(which, others[USERS])}.\n"

    program, *arguments = shlex.split(command)
    assert program == "codex-bridge"
    key = "sk-invented-0123456789\n"
    signed = run(codex, state, *arguments, "--with", "api-key", stdin=key)
    assert (signed.returncode, signed.stdout) == (0, f"Signed in with an API key; Codex home: {home}\n")
    assert [each for each in homes.values() if (each / "auth.json").exists()] == [home]


def test_a_turn_in_the_persons_own_home_leaves_its_settings_alone_and_uses_no_other_home(
    codex: CodexBinary, state: Path
) -> None:
    home = state / ".codex"
    home.mkdir()
    config = '# mine\n[projects."/srv/notes"]\ntrust_level = "trusted"\n'
    (home / "config.toml").write_text(config)
    payload = ("--payload", str(SAMPLE / "update.json"), "--workspace", str(SAMPLE / "workspace"))
    done = run(codex, state, "turn", *payload, "--loopback", "--codex-home", "user")
    assert done.returncode == 0
    assert done.stdout.startswith("The loopback model received: Morning")
    assert (home / "config.toml").read_text() == config
    assert list(home.glob("sessions/**/*.jsonl")) != []
    assert list(state.rglob("codex-home")) == []


@contextmanager
def waiting_for_the_browser(codex: CodexBinary, state: Path) -> Generator[tuple[subprocess.Popen[str], str]]:
    """A sign-in that has said where to go; gives the address. Its own server has a fixed port, so one at a time."""
    command = [sys.executable, "-m", "codex_bridge", "login"]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with (Path(tempfile.gettempdir()) / "codex-login-port.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with subprocess.Popen(command, text=True, env=environment(codex, state), **pipes) as login:
            assert login.stdout is not None
            try:
                assert login.stdout.readline() == "Open this address in a browser on this machine:\n"
                yield login, login.stdout.readline().strip()
            finally:
                login.kill()


def called_back(address: str, **answer: str) -> None:
    """Be the browser that comes back from the provider, which this test never asks."""
    asked = parse_qs(urlsplit(address).query)
    back = urlsplit(asked["redirect_uri"][0])
    assert back.hostname in ("localhost", "127.0.0.1")
    browser = HTTPConnection("127.0.0.1", back.port or 80, timeout=20)
    browser.request("GET", f"{back.path}?{urlencode({**answer, 'state': asked['state'][0]})}")
    browser.getresponse().read()
    browser.close()


def test_a_login_in_the_browser_that_is_declined_says_so(codex: CodexBinary, state: Path) -> None:
    with waiting_for_the_browser(codex, state) as (login, address):
        called_back(address, error="access_denied", error_description="The person said no")
        said, complaint = login.communicate(timeout=20)
    assert (login.returncode, said) == (2, "")
    assert complaint.startswith("codex-bridge: The sign-in did not come about: ")
    assert "The person said no" in complaint
    assert complaint.count("\n") == 1


def test_a_login_in_the_browser_can_be_broken_off(codex: CodexBinary, state: Path) -> None:
    with waiting_for_the_browser(codex, state) as (login, address):
        login.send_signal(signal.SIGINT)
        said, complaint = login.communicate(timeout=20)
        assert (login.returncode, said, complaint) == (130, "", "")
        with pytest.raises(ConnectionRefusedError):
            called_back(address)


def test_a_login_by_device_code_that_reaches_nobody_says_so(codex: CodexBinary, state: Path) -> None:
    with socket.socket() as unused:  # bound and not listening: nobody answers there
        unused.bind(("127.0.0.1", 0))
        nowhere = f"http://127.0.0.1:{unused.getsockname()[1]}"
        done = run(codex, state, "login", "--with", "device-code", HTTPS_PROXY=nowhere, https_proxy=nowhere)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("codex-bridge: The sign-in could not begin: failed to request device code: ")
    assert done.stderr.count("\n") == 1


def test_a_login_by_key_is_used_by_the_next_turn(codex: CodexBinary, state: Path) -> None:
    config = state / "openclaw.json"
    config.write_text('{ agents: { list: [{ id: "Keeper" }] } }', "utf-8")
    key = "sk-invented-0123456789\n"
    done = run(codex, state, "login", "--with", "api-key", "--agent", "keeper", "--config", str(config), stdin=key)
    assert (done.returncode, done.stderr) == (0, "")
    home = state / ".local/state/openclaw-codex-bridge/agents/keeper/codex-home"
    assert done.stdout == f"Signed in with an API key; Codex home: {home}\n"


def test_a_thread_is_adopted_if_codex_has_it(codex: CodexBinary, state: Path) -> None:
    chat, unknown = "agent:main:telegram:direct:7", "019a0000-0000-7000-8000-000000000000"
    done = run(codex, state, "threads", "adopt", unknown, chat)
    assert (done.returncode, done.stdout, done.stderr) == (
        2,
        "",
        f"codex-bridge: The thread {unknown} cannot be adopted: Codex no longer has this conversation.\n",
    )
    workspace, payload = state / "w", state / "update.json"
    workspace.mkdir()
    sender = {"id": 8, "first_name": "Wren", "is_bot": False}
    words = {"message_id": 1, "date": 1, "chat": {"id": 8, "type": "private", "first_name": "Wren"}, "from": sender}
    payload.write_text(json.dumps({"update_id": 1, "message": {**words, "text": "hi"}}), "utf-8")
    turn = run(codex, state, "turn", "--loopback", "--json", "--workspace", str(workspace), "--payload", str(payload))
    thread = json.loads(turn.stdout)["result"]["thread"]
    # The stand-in's threads are in a folder of their own.
    place = {"CODEX_BRIDGE_STATE_DIR": str(state / ".local/state/openclaw-codex-bridge/loopback")}
    taken = run(codex, state, "threads", "adopt", thread, chat, **place)
    assert taken.returncode == 2
    assert "It is the conversation of agent:main:telegram:direct:8." in taken.stderr
    freed = run(codex, state, "threads", "forget", "agent:main:telegram:direct:8", **place)
    assert freed.stdout == "agent:main:telegram:direct:8 begins anew with its next message.\n"
    adopted = run(codex, state, "threads", "adopt", thread, chat, "--json", **place)
    assert (json.loads(adopted.stdout), adopted.stderr) == ({"chat": chat, "thread": thread}, "")
    (listed,) = json.loads(run(codex, state, "threads", "list", "--json", **place).stdout)
    assert (listed["chat"], listed["thread"], listed["exchanges"]) == (chat, thread, 0)


def test_a_chat_is_summarised_on_request(codex: CodexBinary, state: Path) -> None:
    where = ("--workspace", str(SAMPLE / "workspace"), "--loopback")
    chat = "agent:main:telegram:direct:555010203"
    early = run(codex, state, "threads", "compact", chat, *where)
    turn = json.loads(run(codex, state, "turn", "--payload", str(SAMPLE / "update.json"), "--json", *where).stdout)
    done = json.loads(run(codex, state, "threads", "compact", chat, "--json", *where).stdout)
    again = run(codex, state, "threads", "compact", chat, *where)
    nothing = "There is nothing to summarise. Nothing was said in this conversation"
    assert (early.returncode, early.stdout) == (0, f"{nothing} yet.\n")
    assert 1_000 < done["tokens"] < 50_000  # instructions, tools and the summary; it differs with the paths in them
    assert {name: done[name] for name in ("chat", "thread", "summary", "sentence", "detail")} == {
        "chat": chat,
        "thread": turn["result"]["thread"],
        "summary": "done",
        "sentence": f"The conversation is summarised. It holds about {done['tokens']:,} tokens now.",
        "detail": "",
    }
    assert (again.returncode, again.stdout) == (0, f"{nothing} since it was summarised last.\n")


@pytest.mark.parametrize(
    ("payload", "stdin", "sentence"),
    [
        ("no-such-file.json", "", "The payload no-such-file.json cannot be read: No such file or directory."),
        (
            "-",
            "{",
            "The payload stdin is not JSON: Expecting property name enclosed in double quotes in line 1, column 2.",
        ),
        ("-", "[]", "The payload stdin is not a JSON object."),
        (
            "-",
            "{}",
            "This is neither a Telegram update, which has an update_id, nor an event of Discord, which has t and d, "
            "nor a Discord message, which has a channel_id and an author.",
        ),
    ],
    ids=["missing", "broken", "array", "foreign"],
)
def test_a_wrong_payload_gets_one_sentence(
    codex: CodexBinary, state: Path, payload: str, stdin: str, sentence: str
) -> None:
    done = run(codex, state, "turn", "--workspace", str(state), "--payload", payload, stdin=stdin)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"codex-bridge: {sentence}\n")


def test_a_binary_that_is_not_there_is_named_with_what_to_do(codex: CodexBinary, state: Path) -> None:
    done = run(codex, state, "demo", "--codex", "nowhere/codex")
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr == (
        "codex-bridge: No Codex binary found. Tried: the path given (nowhere/codex is no file). Install one with: "
        "pip install 'openclaw-codex-bridge[codex]', or name yours in CODEX_BIN.\n"
    )
