"""Records what a real app-server says during turns of many kinds, as the seed of `tests.support.fuzzing`.

`python -m tests.support.recording` writes fixtures/protocol/<version>.jsonl for the binary under test. Ids, times and
paths are replaced, so that nothing of a machine is kept and a second recording differs in little.
"""

import json
import logging
import re
import shutil
import socket
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, cast
from unittest.mock import patch

import anyio

from codex_bridge import process
from codex_bridge.loopback.recorder import RecordedRequest
from codex_bridge.loopback.script import (
    Action,
    BeginSaying,
    BreakOff,
    CallTool,
    HttpError,
    Reply,
    Say,
    Script,
    Think,
    Usage,
    Wait,
    always,
    in_turn,
    say,
)
from codex_bridge.params import ThreadSettings
from codex_bridge.rpc import Event, Json, JsonObject, Peer
from harness.plain import plain_settings
from harness.standard_tools import StandardTools
from tests.support.chosen import chosen
from tests.support.real import Stage, stage

FOLDER: Final = Path(__file__).parent.parent.parent / "fixtures" / "protocol"
ANSWER: Final = "an answer of the model"
"""Stands for what a turn says in the end."""
THREAD, TURN = "<thread>", "<turn>"
_ID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_MOMENT: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d")
_DAY: Final = re.compile(r"\d{4}/\d\d/\d\d")
_TIMES: Final = re.compile(r"(.*At|.*AtMs|.*Ms|pid|processId|emittedAtMs)")
_YOLO: Final = ThreadSettings(sandbox="danger-full-access", approval_policy="never")
_PATCH: Final = "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: note.txt\n+one\n*** End Patch\nEOF"
BESIDES: Final = "besides"
"""The course of lines that belong to no turn, one of each kind."""
_BORING: Final = frozenset(
    {
        "account/rateLimits/updated",
        "thread/readState/changed",
        "thread/settings/updated",
        "thread/started",
        "thread/status/changed",
        "serverRequest/resolved",
    }
)
"""Told over and over; one of each is enough."""


def _command(text: str) -> Reply:
    return Reply((CallTool("exec_command", {"cmd": text}),))


def _done() -> Reply:
    return Reply(
        (Think("Let me see."), Say("Looking.", phase="commentary"), Say(ANSWER, pieces=3, phase="final_answer"))
    )


def _spawn() -> Reply:
    return Reply((CallTool("spawn_agent", {"message": "count the boats"}, namespace="multi_agent_v1"),))


def _family(request: RecordedRequest) -> Action:
    if "x-openai-subagent" in request.headers:
        return say("Four boats.")
    return _done() if any(part.kind == "function_call_output" for part in request.parts()) else _spawn()


def _full(request: RecordedRequest) -> Action:
    if any("CONTEXT CHECKPOINT" in part.text for part in request.parts()[-1:]):
        return say("In short.")
    return Reply((Say(ANSWER, pieces=3),), usage=Usage(input=900_000, output=1))


async def _ask(play: Stage) -> None:
    await play.ask("go")


async def _ask_twice(play: Stage) -> None:
    await play.ask("go", number="1")
    await play.ask("go", number="2")


async def _stop(play: Stage) -> None:
    turn = await play.begin("go")
    await play.model.next_request()
    await anyio.sleep(0.2)
    await turn.interrupt()


async def _compact(play: Stage) -> None:
    await play.ask("go")
    await (await play.agent.compact("agent:main:telegram:direct:7")).result()


_REFUSED: Final = HttpError(400, {"error": {"message": "no such thing", "type": "invalid_request_error"}})
_RETRIES: Final = (("model_providers.loopback.stream_max_retries", "2"),)
COURSES: Final[Mapping[str, tuple[Callable[[], Script], Callable[[Stage], object], ThreadSettings]]] = {
    "answer": (lambda: always(_done()), _ask, _YOLO),
    "command": (lambda: in_turn([_command("echo one; echo two"), _done()]), _ask, _YOLO),
    "patch": (lambda: in_turn([_command(_PATCH), _done()]), _ask, _YOLO),
    "approval": (
        lambda: in_turn([_command("touch no.txt"), _done()]),
        _ask,
        ThreadSettings(sandbox="read-only", approval_policy="untrusted"),
    ),
    "tool": (
        lambda: in_turn([Reply((CallTool("memory_search", {"query": "boat"}),)), _done()]),
        _ask,
        _YOLO,
    ),
    "subagent": (lambda: _family, _ask, _YOLO),
    "retry": (lambda: in_turn([Reply((BeginSaying("The first t"), BreakOff())), _done()]), _ask, _YOLO),
    "failed": (lambda: in_turn([_REFUSED]), _ask, _YOLO),
    "stopped": (lambda: always(Reply((BeginSaying("Half"), Wait(anyio.Event())))), _stop, _YOLO),
    "compacted": (lambda: _full, _ask_twice, _YOLO),
    "on request": (lambda: always(say("In short.")), _compact, _YOLO),
}

_PROSE: Final = frozenset({"developer_instructions", "summary"})
"""Fields in which Codex sends sentences of its own."""
MOST_PROSE: Final = 160
"""Characters of them that are kept: the words are the vendor's, and no test needs them."""


class _Masked:
    """Gives each id, path and time of a recording a name that is the same in the next one."""

    def __init__(self, places: Mapping[str, str]) -> None:
        self._places = places
        self.names: dict[str, str] = {}

    def value(self, value: Json, key: str = "") -> Json:
        match value:
            case dict():
                return {name: self.value(each, name) for name, each in value.items()}
            case list():
                return [self.value(each, key) for each in value]
            case str() if key in _PROSE and len(value) > MOST_PROSE:
                return "." * len(value)  # as long as it was
            case str():
                return self._text(value)
            case int() if _TIMES.fullmatch(key) and not isinstance(value, bool):
                return 1_900_000_000
            case _:
                return value

    def _text(self, text: str) -> str:
        for place, name in self._places.items():
            text = text.replace(place, name)
        text = _DAY.sub("2031/05/06", _MOMENT.sub("2031-05-06T07-08-09", text))
        return _ID.sub(lambda found: self.names.setdefault(found[0], f"<id {len(self.names)}>"), text)


async def _record(name: str, folder: Path) -> list[JsonObject]:
    script, play_it, settings = COURSES[name]
    state, workspace = folder / "state", folder / "workspace"
    for each in (state, workspace):
        shutil.rmtree(each, ignore_errors=True)
        each.mkdir(parents=True)
    (workspace / "AGENTS.md").write_text("Keep answers short.", "utf-8")
    heard: list[JsonObject] = []
    receive = Peer.receive

    def hear(self: Peer, message: bytes) -> Event:
        heard.append(json.loads(message))
        return receive(self, message)

    from harness.memory.index import MemoryIndex

    tools = StandardTools(plain_settings(workspace), MemoryIndex(folder)) if name == "tool" else None
    with patch.object(Peer, "receive", hear), patch.object(process, "UNHEARD", ()):
        async with stage(
            chosen(), state, workspace, script(), settings=settings, overrides=_RETRIES, toolbox=tools
        ) as play:
            await cast("Callable[[Stage], object]", play_it)(play)  # type: ignore[misc]
            await anyio.sleep(0.2)  # what still comes after the end
    places = {str(workspace): "/workspace", str(state): "/state"}
    bare = {place.lstrip("/"): name.lstrip("/") for place, name in places.items()}
    bare |= {f"build/{folder.name}/workspace": "workspace"}  # a diff names it from the repository's root
    masked = _Masked(places | bare | {socket.gethostname(): "<host>"})
    return [cast("JsonObject", masked.value(each)) for each in heard]


def _at(line: JsonObject, *path: str) -> Json:
    value: Json = line
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _last_turn(lines: list[JsonObject]) -> list[JsonObject]:
    """What was said of the last turn of the chat from its beginning on, with its ids replaced."""
    thread = next(found for line in lines if isinstance(found := _at(line, "result", "thread", "id"), str))
    begins = [
        n
        for n, line in enumerate(lines)
        if line.get("method") == "turn/started" and _at(line, "params", "threadId") == thread
    ]
    turn = _at(lines[begins[-1]], "params", "turn", "id")
    text = json.dumps([line for line in lines[begins[-1] :] if line.get("method") not in (None, *_BORING)])
    return json.loads(text.replace(thread, THREAD).replace(str(turn), TURN))


def _kind(line: JsonObject) -> str:
    method = line.get("method")
    shape = sorted(result) if isinstance(result := line.get("result"), dict) else ()
    return str(method or ("error" if "error" in line else " ".join(shape)))


async def _main() -> None:
    logging.disable()
    FOLDER.mkdir(parents=True, exist_ok=True)
    version = ""
    rows: list[str] = []
    besides: dict[str, JsonObject] = {}
    build = FOLDER.parent.parent / "build"
    build.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="recording-", dir=build) as folder:
        for name in COURSES:
            lines = await _record(name, Path(folder))
            for line in lines:
                result = line.get("result")
                if isinstance(result, dict) and isinstance(result.get("userAgent"), str):
                    version = str(result["userAgent"]).partition("/")[2].partition(" ")[0]
            rows += [json.dumps({"course": name, "line": line}, ensure_ascii=False) for line in _last_turn(lines)]
            for line in lines:
                besides.setdefault(_kind(line), line)
    told = {str(json.loads(row)["line"].get("method")) for row in rows}
    others = [line for kind, line in besides.items() if kind not in told]
    rows += [json.dumps({"course": BESIDES, "line": line}, ensure_ascii=False) for line in others]
    path = FOLDER / f"{version}.jsonl"
    path.write_text("".join(f"{row}\n" for row in rows), "utf-8")
    print(f"{len(rows)} lines in {path}", file=sys.stderr)


if __name__ == "__main__":
    anyio.run(_main)
