"""How an agent's workspace is made ready: missing files written from templates, and its first run recorded.

Touches the disk. Only absent files are written, and nothing that a person wrote is changed or removed.
"""

import os
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import anyio

from harness.settings.files import SeedOptions
from harness.workspace.attestation import attest, refuse_if_vanished
from harness.workspace.entries import Notice, NoticeCode
from harness.workspace.names import BOOTSTRAP, LOAD_ORDER, MEMORY, MEMORY_FOLDER
from harness.workspace.reader import GuardedReader
from harness.workspace.reads import Content, Missing, ReadResult
from harness.workspace.setup_state import STATE_FILE, Evidence, SetupState, format_state, next_state
from harness.workspace.setup_status import read_setup
from harness.workspace.starter_files import OPTIONAL, PROFILE, REQUIRED, STARTERS, starter_text

_GIT_SECONDS = 10.0

GitInit = Callable[[str], Awaitable[str | None]]
"""Makes a folder a git repository; returns what went wrong, or None."""


@dataclass(frozen=True, slots=True)
class Seeded:
    """What was done to a workspace."""

    created: tuple[str, ...]
    """Names of the files written."""
    removed: tuple[str, ...]
    """BOOTSTRAP.md, when the profile was configured and the file was still our template."""
    state: SetupState
    notices: tuple[Notice, ...]


async def git_init(workspace: str) -> str | None:
    """Make `workspace` a git repository with the git on PATH."""
    try:
        with anyio.fail_after(_GIT_SECONDS):
            done = await anyio.run_process(["git", "init", "--quiet", workspace], check=False)
    except TimeoutError:
        return f"git init took longer than {_GIT_SECONDS:g} s"
    except OSError as error:
        return f"git could not be started ({error.strerror})"
    return None if done.returncode == 0 else done.stderr.decode("utf-8", "replace").strip() or "git init failed"


async def ensure_workspace(
    workspace: str,
    *,
    state_dir: str,
    now: datetime,
    reader: GuardedReader,
    options: SeedOptions | None = None,
    init_repository: GitInit = git_init,
) -> Seeded:
    """Make a workspace ready for its agent.

    Args:
        workspace: Absolute path of the folder; made when absent.
        state_dir: Where the gateway remembers workspaces in use.
        now: The time, with its zone.
        reader: Reads what is there.
        options: What the configuration says.
        init_repository: Called for a brand-new workspace only.

    Raises:
        WorkspaceVanishedError: The workspace is empty but was in use within the last day.
        OSError: The folder or a file in it could not be written.
    """
    options = options or SeedOptions()
    if options.skip_bootstrap:
        _make_folder(workspace)
        return Seeded((), (), SetupState(), ())
    before = {name: await reader.read(workspace, name) for name in LOAD_ORDER}
    setup = await read_setup(reader, workspace)
    evidence = _evidence(workspace, before)
    brand_new = _is_new(before, evidence) and not setup.file
    if brand_new:
        refuse_if_vanished(state_dir, workspace, now=now)
    state, wants_bootstrap = next_state(setup.state, evidence, now=now.isoformat())
    # With an unusable state nobody can tell whether the ritual was done; doing it again would be worse than not.
    usable = not setup.notices
    _make_folder(workspace)
    names = _wanted(options, complete=bool(state.completed_at), bootstrap=wants_bootstrap and usable)
    created = tuple(name for name in names if _write_new(workspace, name))
    removed = (BOOTSTRAP,) if state.completed_at and usable and _remove_untouched(workspace, before[BOOTSTRAP]) else ()
    if usable and state != setup.state:
        _write_state(workspace, state)
    attest(state_dir, workspace, now=now)
    notices = setup.notices
    if brand_new and (problem := await init_repository(workspace)) is not None:
        text = f"{workspace} has no git repository: {problem}. Run git init there if you want a history of its files."
        notices += (Notice(NoticeCode.IO, workspace, text),)
    return Seeded(created, removed, state, notices)


def _wanted(options: SeedOptions, *, complete: bool, bootstrap: bool) -> list[str]:
    optional = () if complete else [name for name in OPTIONAL if name not in options.skip_optional]
    return [*REQUIRED, *optional, *([BOOTSTRAP] if bootstrap else [])]


def _evidence(workspace: str, before: dict[str, ReadResult]) -> Evidence:
    """Look for signs of use, before anything is written."""
    root = Path(workspace)
    used = (
        (root / MEMORY_FOLDER).is_dir()
        or not isinstance(before[MEMORY], Missing)
        or (root / ".git").exists()
        or next(root.glob("skills/*/SKILL.md"), None) is not None
    )
    changed = any(not _is_starter(name, before[name]) for name in PROFILE)
    return Evidence(not isinstance(before[BOOTSTRAP], Missing), changed, used)


def _is_new(before: dict[str, ReadResult], evidence: Evidence) -> bool:
    return not evidence.other_use and all(isinstance(before[name], Missing) for name in STARTERS)


def _is_starter(name: str, read: ReadResult) -> bool:
    """Whether a file is absent or still as we wrote it; one that may not be read is somebody's doing."""
    if isinstance(read, Content):
        return read.text.strip() == starter_text(name).strip()
    return isinstance(read, Missing)


def _make_folder(workspace: str) -> None:
    Path(workspace).mkdir(parents=True, exist_ok=True)


def _write_new(workspace: str, name: str) -> bool:
    """Write a file that is not there; a link that leads nowhere is there, too."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        descriptor = os.open(f"{workspace}/{name}", flags, 0o666)
    except FileExistsError:
        return False
    with os.fdopen(descriptor, "wb") as file:
        file.write(starter_text(name).encode())
    return True


def _remove_untouched(workspace: str, read: ReadResult) -> bool:
    if isinstance(read, Missing) or not _is_starter(BOOTSTRAP, read):
        return False
    Path(workspace, BOOTSTRAP).unlink(missing_ok=True)
    return True


def _write_state(workspace: str, state: SetupState) -> None:
    """Replace the state file in one step, so that a crash leaves the old one or the new one."""
    fresh = Path(workspace, f".{STATE_FILE}.new")
    with suppress(FileNotFoundError):
        fresh.unlink()
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
    with os.fdopen(descriptor, "wb") as file:
        file.write(format_state(state))
    fresh.replace(Path(workspace, STATE_FILE))
