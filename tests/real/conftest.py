"""Every test below runs the installed Codex binary; CODEX_BRIDGE_TEST_CODEX names another one."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from codex_bridge.binary import CodexBinary
from tests.support.chosen import chosen

HERE = Path(__file__).parent
BUILD = HERE.parent.parent / "build"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.real_codex)


@pytest.fixture(scope="session")
def codex() -> CodexBinary:
    return chosen()


@pytest.fixture
def state() -> Iterator[Path]:
    """A folder for homes and stores; not in the system's temporary folder, which Codex complains about."""
    BUILD.mkdir(exist_ok=True)
    folder = tempfile.mkdtemp(prefix="state-", dir=BUILD)
    yield Path(folder)
    shutil.rmtree(folder)


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A workspace whose files each hold one marker."""
    folder = tmp_path / "workspace"
    folder.mkdir()
    for name, text in FILES.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


FILES = {
    "AGENTS.md": "AGENTS_M11 Keep answers short.",
    "SOUL.md": "SOUL_M22 You are Pell, dry but kind.",
    "IDENTITY.md": "IDENT_M33 Name: Pell",
    "USER.md": "USER_M44 The owner prefers metric units.",
    "TOOLS.md": "TOOLS_M55 The printer is called Inkwell.",
    "HEARTBEAT.md": "HEART_M66 - look at the greenhouse sensor",
    "MEMORY.md": "MEM_M77 The boat is blue.",
}
