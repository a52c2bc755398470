"""Which further files the operator wants in the prompt: the bundled hook `bootstrap-extra-files`.

Paths or globs relative to the workspace, of recognised names only (prompt-builder 7.5). What is not accepted is
reported.
"""

from collections.abc import Sequence
from pathlib import PurePosixPath

from harness.settings.files import EXTRA_FILES_HOOK
from harness.workspace.entries import Notice, NoticeCode
from harness.workspace.globs import Globber, TooWideError, is_glob
from harness.workspace.hooks import BootstrapEvent, HookFile
from harness.workspace.names import FILES_OF_SESSION, LOAD_ORDER, SessionKind, base_name, session_kind
from harness.workspace.reader import GuardedReader
from harness.workspace.reads import Content, Missing, Refusal, Refused


class ExtraFiles:
    """The hook: appends the files that the configuration names, then applies the session filter again.

    Args:
        wanted: Paths and globs, see `FileSettings.extra_files`.
        reader: Reads the files.
        globber: Finds what a glob matches.
    """

    def __init__(self, wanted: Sequence[str], *, reader: GuardedReader, globber: Globber | None = None) -> None:
        self._wanted = tuple(wanted)
        self._reader = reader
        self._globber = globber or Globber()

    async def __call__(self, event: BootstrapEvent) -> None:
        """Add the files to the event, and to its notices what was not accepted."""
        if not self._wanted:
            return
        for wanted in self._wanted:
            for path in self._resolve(event, wanted):
                await self._add(event, path)
        kind = session_kind(event.session_key)
        if kind is not SessionKind.ORDINARY:
            event.files[:] = [file for file in event.files if file.name in FILES_OF_SESSION[kind]]

    def _resolve(self, event: BootstrapEvent, wanted: str) -> list[str]:
        if not is_glob(wanted):
            return [wanted]
        if wanted.startswith(("/", "~")) or ".." in PurePosixPath(wanted).parts:
            self._note(event, NoticeCode.SECURITY, wanted, "leads out of the workspace; write it relative to it")
            return []
        try:
            found = self._globber.find(event.workspace_dir, wanted)
        except TooWideError as error:
            self._note(event, NoticeCode.IO, wanted, f"was not searched: {error}; make it narrower")
            return []
        if not found:
            self._note(event, NoticeCode.MISSING, wanted, "matches no file; correct it or remove it")
        return found

    async def _add(self, event: BootstrapEvent, path: str) -> None:
        name = base_name(path)
        if name not in LOAD_ORDER:
            names = ", ".join(LOAD_ORDER)
            why = f"is not a prompt file; only files named {names} are accepted"
            self._note(event, NoticeCode.INVALID_BOOTSTRAP_FILENAME, path, why)
            return
        match await self._reader.read(event.workspace_dir, path):
            case Content():
                event.files.append(HookFile(name, str(PurePosixPath(event.workspace_dir, path))))
            case Missing():
                self._note(event, NoticeCode.MISSING, path, "does not exist; correct the path or remove it")
            case Refused(refusal) as refused:
                code = NoticeCode.IO if refusal is Refusal.UNREADABLE else NoticeCode.SECURITY
                self._note(event, code, path, f"was not read: {refused.reason}")

    def _note(self, event: BootstrapEvent, code: NoticeCode, source: str, what: str) -> None:
        event.notices.append(Notice(code, source, f"{EXTRA_FILES_HOOK}: {source} {what}."))
