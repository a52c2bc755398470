"""Which Codex binary to run.

Looked up in this order: the path given, the environment variable CODEX_BIN, the wheel of the `codex` extra,
PATH. What npm puts on PATH is a Node launcher; the vendor binary beside it is taken instead, because killing a
launcher leaves the server behind (peers, section 3.1).
"""

import importlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from codex_bridge.errors import BinaryNotFoundError
from harness.lean_values import dataclass
from harness.written_paths import expanded

VARIABLE: Final = "CODEX_BIN"


@dataclass(frozen=True, slots=True)
class CodexBinary:
    """A binary that exists and may be executed."""

    path: Path
    source: str
    """Where it was found, for a person: "the wheel openai-codex-cli-bin", for instance."""

    @property
    def tools_dir(self) -> Path | None:
        """The folder with the helper programs that ship beside the binary, to be put on its PATH."""
        folder = self.path.parent.parent / "codex-path"
        return folder if folder.is_dir() else None


def find_codex(explicit: Path | None = None, *, environ: Mapping[str, str] | None = None) -> CodexBinary:
    """Find the binary to run.

    Args:
        explicit: A path that the caller or the configuration names; nothing else is tried then.
        environ: The environment to look in; the process's own by default.

    Raises:
        BinaryNotFoundError: There is none; the error lists everything that was tried.
    """
    environ = os.environ if environ is None else environ
    tried: list[str] = []
    if explicit is not None:
        return _named(explicit, "the path given", tried)
    if named := environ.get(VARIABLE, "").strip():
        return _named(expanded(named), f"the environment variable {VARIABLE}", tried)
    tried.append(f"the environment variable {VARIABLE} (not set)")
    if wheel := _from_wheel(tried):
        return CodexBinary(wheel, "the wheel openai-codex-cli-bin")
    import shutil  # last resort, and it brings three compressors with it

    on_path = shutil.which("codex", path=environ.get("PATH", os.defpath))
    if on_path is None:
        tried.append("PATH (no program called codex on it)")
        raise BinaryNotFoundError(tried)
    return _named(Path(on_path), "PATH", tried)


def _named(path: Path, source: str, tried: list[str]) -> CodexBinary:
    problem = _why_not(path)
    if problem is None and _is_launcher(path):
        vendor = vendor_binary(path)
        if vendor is not None:
            return CodexBinary(vendor, f"{source} (the vendor binary behind its npm launcher)")
        problem = "is an npm launcher whose vendor binary is missing"
    if problem is None:
        return CodexBinary(path.absolute(), source)
    tried.append(f"{source} ({path} {problem})")
    raise BinaryNotFoundError(tried)


def _why_not(path: Path) -> str | None:
    if not path.is_file():
        return "is no file"
    if not os.access(path, os.X_OK):
        return "is not executable"
    return None


def _is_launcher(path: Path) -> bool:
    with path.open("rb") as file:
        first = file.readline(256)
    return first.startswith(b"#!") and b"node" in first


def vendor_binary(launcher: Path) -> Path | None:
    """Find the native binary that the npm launcher at `launcher` would run, or None."""
    package = launcher.resolve().parent.parent
    for folder in (package, package / "node_modules" / "@openai", package.parent):
        # Newer packages keep it in `bin`, older ones in `codex`.
        for pattern in ("vendor/*/bin/codex", "vendor/*/codex/codex"):
            nested = pattern if folder is package else f"codex-*/{pattern}"
            found = sorted(path for path in folder.glob(nested) if os.access(path, os.X_OK))
            if found:
                return found[0]
    return None


def _from_wheel(tried: list[str]) -> Path | None:
    try:
        wheel = importlib.import_module("codex_cli_bin")  # an extra, absent in a plain installation
    except ImportError:
        tried.append("the wheel openai-codex-cli-bin (not installed)")
        return None
    try:
        path = Path(str(wheel.bundled_codex_path()))
    except FileNotFoundError as error:
        tried.append(f"the wheel openai-codex-cli-bin ({error})")
        return None
    problem = _why_not(path)
    if problem is not None:
        tried.append(f"the wheel openai-codex-cli-bin ({path} {problem})")
        return None
    return path
