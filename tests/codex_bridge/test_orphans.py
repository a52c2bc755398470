"""A server that outlived its gateway is ended, and nothing else is."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from codex_bridge import orphans
from codex_bridge.orphans import end_orphans, forget, note
from codex_bridge.processes import began
from tests.support.serving import LIMIT

STUBBORN = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); signal.pause()"
WILLING = "import signal; print(flush=True); signal.pause()"


@pytest.fixture
def server(request: pytest.FixtureRequest) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(
        [sys.executable, "-S", "-c", request.param], stdout=subprocess.PIPE, start_new_session=True
    )
    with process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process
        process.kill()


def noted(folder: Path, pid: int, **change: object) -> Path:
    """A note of a gateway that is dead, with some of it changed."""
    (folder / "one.sock").touch()
    path = folder / "one.json"
    note(path, pid, [folder / "one.sock"])
    said = json.loads(path.read_bytes()) | {"gateway": [os.getpid(), "long ago"]} | change
    path.write_text(json.dumps(said), "utf-8")
    return path


async def ended(folder: Path) -> list[int]:
    with anyio.fail_after(LIMIT):
        return await end_orphans(folder)


@pytest.mark.parametrize("server", [WILLING, STUBBORN], indirect=True)
async def test_a_server_whose_gateway_is_dead_is_ended_however_stubborn(
    tmp_path: Path, server: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(orphans, "DRAIN", 0.05)
    monkeypatch.setattr(orphans, "GRACE", 0.05)
    noted(tmp_path, server.pid)
    assert await ended(tmp_path) == [server.pid]
    assert server.wait(LIMIT) in (-signal.SIGTERM, -signal.SIGKILL)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("server", [WILLING], indirect=True)
async def test_a_server_whose_gateway_lives_is_left_alone(tmp_path: Path, server: subprocess.Popen[bytes]) -> None:
    path = noted(tmp_path, server.pid, gateway=[os.getpid(), began(os.getpid())])
    assert await ended(tmp_path) == []
    assert (server.poll(), path.exists()) == (None, True)


@pytest.mark.parametrize("server", [WILLING], indirect=True)
async def test_a_process_that_only_has_the_same_id_is_left_alone(
    tmp_path: Path, server: subprocess.Popen[bytes]
) -> None:
    noted(tmp_path, server.pid, began="another time")
    assert await ended(tmp_path) == []
    assert server.poll() is None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"pid": "7", "began": "", "gateway": [], "files": []}'])
async def test_a_note_that_cannot_be_read_ends_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / "one.json").write_text(text, "utf-8")
    assert await ended(tmp_path) == []


def test_a_note_is_for_our_eyes_alone_and_goes_with_its_files(tmp_path: Path) -> None:
    path = tmp_path / "one.json"
    (tmp_path / "one.token").touch()
    note(path, os.getpid(), [tmp_path / "one.token"])
    assert path.stat().st_mode & 0o777 == 0o600
    forget(path, [tmp_path / "one.token", tmp_path / "gone"])
    assert list(tmp_path.iterdir()) == []


def test_nobody_is_known_by_an_id_that_nobody_has() -> None:
    assert (began(2**22 + 1), began(os.getpid()) != "") == ("", True)
