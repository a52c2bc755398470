"""How code of the gateway's operator may change the prompt files of a run: `agent:bootstrap` hooks.

Hooks run one after the other. Each works on a copy of the file list: a hook that fails, takes too long, or leaves
something other than a list of files is reported, and the list goes on as it was before. Nothing a hook does outlasts
the run.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import field, replace
from types import NoneType
from typing import cast

from harness.foreign import ForeignCall, StillRunningError, TookTooLongError
from harness.lean_values import dataclass
from harness.workspace.entries import Notice, NoticeCode, WorkspaceFile
from harness.workspace.reads import Content

HOOK_SECONDS = 10.0
"""How long a hook may hold up a run."""

UNKNOWN_SESSION = "unknown"
"""The session key of an event when there is neither a key nor an id (prompt-builder 7.5)."""

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class HookFile:
    """A prompt file as hooks see it; freely changed, added and removed."""

    name: str
    path: str | None
    """Absolute, or relative to the workspace, or beginning with `~`. An entry without one is dropped."""
    content: str | None = None
    """The text to inject; None with `missing` false has the file read from `path`."""
    missing: bool = False
    source: WorkspaceFile | None = None
    """The loaded file that this entry stands for; hooks leave it alone."""


@dataclass(slots=True)
class BootstrapEvent:
    """What an `agent:bootstrap` hook gets. It may change `files` in place or put another list there."""

    workspace_dir: str
    files: list[HookFile]
    config: Mapping[str, object]
    session_key: str
    session_id: str | None
    agent_id: str
    type: str = "agent"
    action: str = "bootstrap"
    messages: list[str] = field(default_factory=list[str])
    """Not delivered anywhere for this event."""
    notices: list[Notice] = field(default_factory=list[Notice])
    """What the operator should be told."""


Hook = Callable[[BootstrapEvent], Awaitable[object] | object]
"""A plain or an async function; what it returns is ignored. A plain one runs in a thread of its own."""


@dataclass(frozen=True, slots=True)
class _Registered:
    name: str
    call: ForeignCall[BootstrapEvent]


class BootstrapHooks:
    """The registered hooks, in the order in which they run.

    Args:
        enabled: `hooks.internal.enabled`; false keeps every hook from running.
        seconds: How long one hook may take.
        shared: Hooks of all agents of a gateway, which run before these, also those that are registered later.
    """

    def __init__(
        self, *, enabled: bool = True, seconds: float = HOOK_SECONDS, shared: "BootstrapHooks | None" = None
    ) -> None:
        self._enabled = enabled
        self._shared = shared
        self._seconds = seconds
        self._of_event: dict[str, list[_Registered]] = {"agent": [], "agent:bootstrap": []}

    def register(self, hook: Hook, *, name: str, event: str = "agent:bootstrap") -> None:
        """Add a hook. Hooks for `agent` run before those for `agent:bootstrap`, each group as registered.

        Args:
            hook: The function to call.
            name: What reports call it.
            event: `agent` or `agent:bootstrap`.

        Raises:
            ValueError: `event` is some other event.
        """
        if event not in self._of_event:
            raise ValueError(f"hook {name!r}: event {event!r} is not one of 'agent', 'agent:bootstrap'")
        self._of_event[event].append(_Registered(name, ForeignCall(hook)))

    @property
    def any(self) -> bool:
        """Whether a hook would run."""
        return self._enabled and (any(self._of_event.values()) or (self._shared is not None and self._shared.any))

    async def run(self, event: BootstrapEvent) -> BootstrapEvent:
        """Run the hooks and return the event with the files and notices that they left.

        Whatever a hook does, the fields of these have the types that they are declared with.
        """
        if not self._enabled:
            return event
        if self._shared is not None:
            event = await self._shared.run(event)
        for registered in (hook for hooks in self._of_event.values() for hook in hooks):
            event = await self._run_one(registered, event)
        return event

    async def _run_one(self, registered: _Registered, event: BootstrapEvent) -> BootstrapEvent:
        mine = replace(event, files=[replace(file) for file in event.files], notices=list(event.notices))
        try:
            await registered.call(mine, seconds=self._seconds)
            if problem := _problem(mine):
                return _failed(event, registered.name, problem)
            return replace(event, files=[_plain(file) for file in mine.files], notices=list(mine.notices))
        except TookTooLongError:
            return _failed(event, registered.name, f"took longer than {self._seconds:g} s")
        except StillRunningError:
            return _failed(event, registered.name, "is still busy with an earlier turn and was not asked")
        except asyncio.CancelledError:
            if _run_is_cancelled():
                raise
            return _failed(event, registered.name, "waited for something that was cancelled")
        except Exception as error:  # A hook is foreign code: whatever it raises must not cost the person the turn.
            _log.warning("hook %s failed on agent:bootstrap", registered.name, exc_info=True)
            return _failed(event, registered.name, f"failed with {_described(error)}")


def hook_files(files: Sequence[WorkspaceFile]) -> list[HookFile]:
    """Make the copies that hooks work on."""
    return [
        HookFile(
            name=file.name,
            path=file.path,
            content=file.text if isinstance(file.read, Content) else None,
            missing=not isinstance(file.read, Content),
            source=file,
        )
        for file in files
    ]


_FIELDS: tuple[tuple[str, tuple[type, ...]], ...] = (
    ("name", (str, NoneType)),
    ("path", (str, NoneType)),
    ("content", (str, NoneType)),
    ("source", (WorkspaceFile, NoneType)),
)
"""What the fields of an entry may hold; a name of None is as good as none, and anything says yes or no."""


def _problem(event: BootstrapEvent) -> str:
    """Say what a hook left where something else belongs; empty when all is as it should be."""
    for what, kind, left in (
        ("files", HookFile, cast("object", event.files)),
        ("notices", Notice, cast("object", event.notices)),
    ):
        if not isinstance(left, list):
            return f"left a {_type(left)} where the list of {what} was"
        for entry in cast("list[object]", left):
            if not isinstance(entry, kind):
                return f"left a {_type(entry)} among the {what}, where only a {kind.__name__} may stand"
    for file in event.files:
        for name, kinds in _FIELDS:
            if not isinstance(value := cast("object", getattr(file, name)), kinds):
                return f"left a file whose {name} is a {_type(value)}"
    return ""


def _plain(file: HookFile) -> HookFile:
    """Copy an entry, so that nothing the hook still holds can change it."""
    return HookFile(file.name or "", file.path, file.content, bool(file.missing), file.source)


def _type(value: object) -> str:
    return type(value).__name__


def _described(error: Exception) -> str:
    try:
        text = str(error)
    except Exception:  # The error is the hook's own code as well.
        text = ""
    return f"{_type(error)}: {text}" if text else _type(error)


def _run_is_cancelled() -> bool:
    """Whether the run itself is being ended, and not only something that it waited for."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _failed(event: BootstrapEvent, name: str, what: str) -> BootstrapEvent:
    text = f"Hook {name} {what}; its changes to the prompt files were ignored. Repair or disable the hook."
    return replace(event, notices=[*event.notices, Notice(NoticeCode.HOOK_FAILED, name, text)])
