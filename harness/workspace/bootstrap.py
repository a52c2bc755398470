"""Which workspace files a run carries, in order, and why the others are left out.

Loads the files through the guard, applies the rules of `harness.workspace.filters`, lets hooks change the list, and
applies those rules again that a hook must not undo. Who may see the memory is decided elsewhere: such files are
marked. How much of each file fits is decided by `harness.workspace.budget`.
"""

import os
from collections import OrderedDict
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import field
from typing import Final, TypeAlias

from harness.lean_values import dataclass
from harness.settings.heartbeat import HeartbeatSettings
from harness.workspace.entries import LeftOutFile, Notice, NoticeCode, WorkspaceFile
from harness.workspace.filters import (
    Rule,
    Sifted,
    completed_rule,
    context_mode_rule,
    heartbeat_rule,
    session_rule,
    sift,
)
from harness.workspace.hooks import UNKNOWN_SESSION, BootstrapEvent, BootstrapHooks, hook_files
from harness.workspace.memory_files import MemoryKind, MemoryPlaces, memory_places
from harness.workspace.names import BOOTSTRAP, LOAD_ORDER, MEMORY, ContextMode, RunKind, base_name, session_kind
from harness.workspace.reader import GuardedReader, Look, are_unchanged
from harness.workspace.reads import Content, Missing, Refused, not_utf8_notice
from harness.workspace.setup_status import Setup, read_setup

MOST_WORKSPACES = 64
"""Workspaces whose loaded files are kept as they are (prompt-builder 7.3)."""

HOOK_REMOVED = "a hook removed it"


@dataclass(frozen=True, slots=True)
class BootstrapRequest:
    """The run that wants its workspace files."""

    workspace: str
    """The folder of the agent that the run belongs to; an absolute path."""
    agent_id: str
    session_key: str | None = None
    session_id: str | None = None
    run: RunKind = RunKind.DEFAULT
    context: ContextMode = ContextMode.FULL
    heartbeat: HeartbeatSettings | None = None
    """The agent's heartbeat settings; None when there is no configuration."""
    config: Mapping[str, object] = field(default_factory=dict[str, object], compare=False)
    """What hooks see as the configuration: the whole of it."""


@dataclass(frozen=True, slots=True)
class BootstrapFiles:
    """The files of a run."""

    files: tuple[WorkspaceFile, ...]
    left_out: tuple[LeftOutFile, ...]
    notices: tuple[Notice, ...]
    setup_complete: bool


@dataclass(frozen=True, slots=True)
class _Rules:
    """The rules of a run, and what they make of the files before any hook."""

    first: Sifted
    done: Rule
    heartbeat: Rule
    notices: tuple[Notice, ...]
    completed: bool

    @classmethod
    def of(cls, request: BootstrapRequest, loaded: tuple[WorkspaceFile, ...], setup: Setup) -> "_Rules":
        completed = setup.completed or _has_no_bootstrap(loaded)
        done = completed_rule(_bootstrap_paths(request.workspace, completed=completed), completed=completed)
        mode = context_mode_rule(request.context, request.run)
        session = session_rule(session_kind(request.session_key or request.session_id))
        heartbeat = heartbeat_rule(request.run, request.heartbeat)
        return cls(sift(loaded, (session, done, mode)), done, heartbeat, setup.notices, completed)

    def finish(self, files: tuple[WorkspaceFile, ...], from_hooks: tuple[Notice, ...]) -> BootstrapFiles:
        """Apply those rules again that a hook must not undo."""
        first, last = self.first, sift(files, (self.done, self.heartbeat))
        single = _without_duplicates(last.files)
        paths, left = {file.path for file in single.files}, {file.path for file in files}
        removed = tuple(
            LeftOutFile(file.name, file.path, HOOK_REMOVED) for file in first.files if file.path not in left
        )
        left_out = tuple(out for out in first.left_out + removed + last.left_out if out.path not in paths)
        duplicates = tuple(map(_duplicate_notice, single.left_out))
        notices = (*self.notices, *from_hooks, *duplicates, *_reading_notices(single.files))
        return BootstrapFiles(single.files, left_out + single.left_out, notices, self.completed)


_Hooked: TypeAlias = tuple[tuple[WorkspaceFile, ...], tuple[Notice, ...]]
"""What hooks left of the files, and what is to be told of them."""


@dataclass(frozen=True, slots=True)
class _Resolved:
    """The last files of a kind of run, and what they were chosen from."""

    request: BootstrapRequest
    loaded: tuple[WorkspaceFile, ...]
    setup: Setup
    rules: _Rules
    hooked: _Hooked
    files: BootstrapFiles

    def holds(self, request: BootstrapRequest, loaded: tuple[WorkspaceFile, ...], setup: Setup) -> bool:
        """Whether the same would be chosen now."""
        return self.loaded is loaded and self.setup == setup and self.request == request


@dataclass(frozen=True, slots=True)
class _Loaded:
    """The last files of a workspace."""

    files: tuple[WorkspaceFile, ...] = ()
    looks: tuple[Look, ...] | None = None
    """What vouches for all of them; None when only reading them anew does."""


_NOTHING_LOADED: Final = _Loaded()


class Bootstrap:
    """Resolves the workspace files of runs; one object serves all agents of a gateway.

    Args:
        reader: Reads and remembers the files.
        hooks: The operator's `agent:bootstrap` hooks.
        home: What `~` in a hook's path stands for.
    """

    def __init__(self, reader: GuardedReader, *, hooks: BootstrapHooks | None = None, home: str = "/") -> None:
        self._reader = reader
        self._hooks = hooks or BootstrapHooks()
        self._home = home
        self._loaded: OrderedDict[str, _Loaded] = OrderedDict()
        self._names: OrderedDict[str, tuple[int, frozenset[str]]] = OrderedDict()
        self._resolved: OrderedDict[tuple[object, ...], _Resolved] = OrderedDict()

    async def load(self, workspace: str) -> tuple[WorkspaceFile, ...]:
        """Load all prompt files of a workspace, missing ones included, save for a missing MEMORY.md.

        While nothing changes, the very same tuple is returned.
        """
        last = self._loaded.get(workspace, _NOTHING_LOADED)
        if last.looks is not None and are_unchanged(last.looks) and self._is_named(workspace, last.files):
            self._loaded.move_to_end(workspace)
            return last.files
        previous = last.files
        known = {file.name: file for file in previous}
        files: list[WorkspaceFile] = []
        looks: list[Look | None] = []
        places: MemoryPlaces | None = None
        for name in LOAD_ORDER:
            path = f"{workspace}/{name}"
            read = await self._reader.read(workspace, path)
            by_link = isinstance(read, Content) and read.real_path != path
            looks.append(None if by_link else self._reader.look(workspace, path, read))
            if name == MEMORY and (isinstance(read, Missing) or not self._has_exact_name(workspace, name)):
                if not isinstance(read, Missing):
                    looks.append(None)
                continue
            kind = MemoryKind.ROOT if name == MEMORY else None
            if kind is None and isinstance(read, Content) and read.real_path != path:
                # Asked anew each time: the links of the memory may change without this file.
                places = places or memory_places(workspace)
                kind = places.kind(read.real_path)
            file = known.get(name)
            if file is None or file.read is not read or file.memory is not kind:
                file = WorkspaceFile(name, path, read, kind)
            files.append(file)
        loaded = tuple(files)
        if len(loaded) == len(previous) and all(new is old for new, old in zip(loaded, previous, strict=True)):
            loaded = previous
        vouched = tuple(look for look in looks if look is not None)
        self._loaded[workspace] = _Loaded(loaded, vouched if len(vouched) == len(looks) else None)
        self._loaded.move_to_end(workspace)
        if len(self._loaded) > MOST_WORKSPACES:
            self._loaded.popitem(last=False)
        return loaded

    async def resolve(self, request: BootstrapRequest) -> BootstrapFiles:
        """Return the files that the run carries, in order; the very same value while nothing changes.

        Hooks run each time, and force no more than what they change.
        """
        loaded = await self.load(request.workspace)
        setup = await read_setup(self._reader, request.workspace)
        key = (request.workspace, request.session_key, request.session_id, request.run, request.context)
        before = self._resolved.get(key)
        if before is not None and not before.holds(request, loaded, setup):
            before = None
        if before is not None and not self._hooks.any:
            return before.files
        rules = before.rules if before is not None else _Rules.of(request, loaded, setup)
        hooked: _Hooked = rules.first.files, ()
        if self._hooks.any:
            hooked = await self._hooked(request, loaded, rules.first.files)
        if before is not None and before.hooked == hooked:
            return before.files
        files = rules.finish(*hooked)
        self._resolved[key] = _Resolved(request, loaded, setup, rules, hooked, files)
        self._resolved.move_to_end(key)
        if len(self._resolved) > MOST_WORKSPACES:
            self._resolved.popitem(last=False)
        return files

    async def _hooked(
        self, request: BootstrapRequest, loaded: tuple[WorkspaceFile, ...], files: tuple[WorkspaceFile, ...]
    ) -> _Hooked:
        from harness.workspace.hook_results import settle  # few agents have a hook

        event = BootstrapEvent(
            workspace_dir=request.workspace,
            files=hook_files(files),
            config=deepcopy(dict(request.config)),
            session_key=request.session_key or request.session_id or UNKNOWN_SESSION,
            session_id=request.session_id,
            agent_id=request.agent_id,
        )
        event = await self._hooks.run(event)
        hooked = await settle(event.files, before=loaded, root=request.workspace, home=self._home, reader=self._reader)
        return hooked.files, (*event.notices, *hooked.notices)

    def _is_named(self, workspace: str, files: tuple[WorkspaceFile, ...]) -> bool:
        """Whether the memory has its name still, if it is there: it may get another one without being another file."""
        return files[-1].name != MEMORY or self._has_exact_name(workspace, MEMORY)

    def _has_exact_name(self, workspace: str, name: str) -> bool:
        """Whether the folder holds that name in that case; elsewhere `memory.md` would answer to MEMORY.md too."""
        try:
            changed_ns = os.stat(workspace).st_mtime_ns  # noqa: PTH116 - on every turn, and a Path costs more than that
            known = self._names.get(workspace)
            if known is None or known[0] != changed_ns:
                known = changed_ns, frozenset(os.listdir(workspace))  # noqa: PTH208 - names alone are wanted
                self._names[workspace] = known
                if len(self._names) > MOST_WORKSPACES:
                    self._names.popitem(last=False)
        except OSError:
            return False
        return name in known[1]


def _has_no_bootstrap(files: tuple[WorkspaceFile, ...]) -> bool:
    return any(file.name == BOOTSTRAP and file.missing for file in files)


def _bootstrap_paths(workspace: str, *, completed: bool) -> frozenset[str]:
    path = f"{workspace}/{BOOTSTRAP}"
    return frozenset((path, os.path.realpath(path))) if completed else frozenset()


def _without_duplicates(files: tuple[WorkspaceFile, ...]) -> Sifted:
    """Keep one entry per real file: the first, but rather the file under its own name than a link to it."""
    owners = {file.real_path: file.name for file in files if file.name == base_name(file.real_path)}
    kept: dict[str, WorkspaceFile] = {}
    left_out: list[LeftOutFile] = []
    for file in files:
        other = kept[file.real_path].name if file.real_path in kept else owners.get(file.real_path, file.name)
        if file.real_path in kept or other != file.name:
            left_out.append(LeftOutFile(file.name, file.path, f"it is the same file as {other}"))
        else:
            kept[file.real_path] = file
    return Sifted(tuple(kept.values()), tuple(left_out))


def _duplicate_notice(out: LeftOutFile) -> Notice:
    return Notice(NoticeCode.DUPLICATE, out.path, f"{out.path} is not repeated in the prompt: {out.reason}.")


def _reading_notices(files: tuple[WorkspaceFile, ...]) -> tuple[Notice, ...]:
    notices: list[Notice] = []
    for file in files:
        match file.read:
            case Refused() as refused:
                text = f"{file.path} was not read: {refused.reason}."
                notices.append(Notice(NoticeCode.REFUSED, file.path, text))
            case Content(invalid=invalid) if invalid:
                notices.append(Notice(NoticeCode.NOT_UTF8, file.path, not_utf8_notice(file.path, invalid)))
            case _:
                pass
    return tuple(notices)
