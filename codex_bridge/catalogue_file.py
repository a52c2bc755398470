"""Gets the catalogue of models from a binary, and keeps a patched copy of it beside an agent's home.

The binary is asked at the first start, after it was exchanged or the home was signed in, and once a day where it is,
since the vendor may have new models then. What goes wrong costs the patch and never the start. A binary that does not
reach the vendor tells its own models without a word of that (measured), so what an account was told before holds on.
"""

import logging
import os
from collections.abc import Callable, Collection, Iterable
from hashlib import sha256
from io import FileIO
from pathlib import Path
from subprocess import DEVNULL
from typing import TYPE_CHECKING, Final

import anyio
import anyio.to_thread
import orjson

from codex_bridge.binary import CodexBinary
from codex_bridge.catalogue import UNKNOWN, Catalogue, CatalogueMode, ModelFacts
from codex_bridge.home import Home, child_environment
from harness.lean_values import dataclass

if TYPE_CHECKING:
    from codex_bridge.catalogue_text import Text

FILE: Final = "model-catalog.json"
"""The patched catalogue, in the folder that holds the home: outside of the workspace, and closed to others."""
STAMP: Final = "model-catalog.facts.json"
"""What it was made from, and the little of it that we act on: the whole is a megabyte of the models' own texts."""
PATCHED_COPY: Final = "the patched copy"
ASK_SECONDS: Final = 5.0
"""How long the binary may take to tell its models; without the network it needs 0.1 s."""
FRESH_SECONDS: Final = 24 * 3600.0
"""How long the answer holds for a home that is signed in."""
_ACCOUNTS: Final = "models_cache.json"
"""What the vendor last told the home's account, as Codex keeps it in the home."""

logger = logging.getLogger("codex_bridge")


@dataclass(frozen=True, slots=True)
class CatalogueInForce:
    """The catalogue that a server will have."""

    catalogue: Catalogue
    file: Path | None = None
    """To be named to the server by `model_catalog_json`; None leaves it to its own."""


async def catalogue_for(
    binary: CodexBinary, home: Home, mode: CatalogueMode, now: Callable[[], float], cleared: Collection[str] = ()
) -> CatalogueInForce:
    """Settle the catalogue of a server that is about to start.

    Args:
        binary: The server's program.
        home: Its home. One that is not ours is never patched under "auto".
        mode: What is configured.
        now: The time in Unix seconds.
        cleared: Names of variables that the binary is not to see.
    """
    wanted = mode == "patched" or (mode == "auto" and home.owned)
    folder = home.path.parent
    if not wanted:
        return CatalogueInForce(await _unpatched(binary, home, cleared))
    from codex_bridge.catalogue_text import UnreadableCatalogueError  # most starts need the facts alone

    kept = None
    try:
        signed_in = home.signed_in
        stamp = _stamp(binary, signed_in)
        kept = await anyio.to_thread.run_sync(_kept, folder, stamp)
        if kept is not None and (not signed_in or is_fresh(kept.catalogue.told_at, now())):
            return kept
        text = await _ask(binary, home, cleared, bundled=not signed_in)
        if kept is None or _is_of_account(text, home):
            # Not in a worker thread: it takes 7 ms once for each exchange of the binary, and half a megabyte that a
            # thread has used is never used again by the others.
            return _keep(folder, stamp, text, now())
        why = "the vendor cannot be reached"
    except (OSError, UnreadableCatalogueError) as error:
        why = str(error)
    if kept is not None:
        logger.warning("the vendor's models could not be asked for, so those of before hold: %s", why)
        return kept
    logger.warning(
        "the model catalogue stays untouched, so GPT-6 models may get their turn-scoped text another way: %s", why
    )
    return CatalogueInForce(UNKNOWN)


def is_fresh(told_at: float, now: float) -> bool:
    """Whether what the vendor told at a time holds now; a clock that was set back ends that too."""
    return 0 <= now - told_at < FRESH_SECONDS


def _is_of_account(text: "Text", home: Home) -> bool:
    """Whether the models that the binary told are those of the home's account, or nobody can know."""
    from codex_bridge.catalogue_text import UnreadableCatalogueError, read

    cached = home.path / _ACCOUNTS
    if not cached.is_file():
        return True  # an account that the vendor has no list for, an API key for instance
    told = read(text, "").models
    try:
        return dict(told) == dict(read(cached.read_bytes(), "").models)
    except UnreadableCatalogueError:
        return False  # an answer would have taken its place


async def _unpatched(binary: CodexBinary, home: Home, cleared: Collection[str]) -> Catalogue:
    """The catalogue that a server has by itself: the account's newest, else the one in the binary."""
    from codex_bridge.catalogue_text import UnreadableCatalogueError, read

    try:
        cached = home.path / _ACCOUNTS
        if cached.is_file():
            return read(await anyio.Path(cached).read_bytes(), "the account's models")
        return read(await _ask(binary, home, cleared, bundled=True), "the binary's own models")
    except (OSError, UnreadableCatalogueError) as error:
        logger.warning("the models of %s cannot be read: %s", binary.path, error)
        return UNKNOWN


def _stamp(binary: CodexBinary, signed_in: bool) -> str:
    """What changes when the binary is exchanged, or when the home gets an account or loses it."""
    found = os.stat(binary.path)  # noqa: PTH116 - follows links, as a start does
    identity = f"{os.path.realpath(binary.path)}:{found.st_size}:{found.st_mtime_ns}:{signed_in}"
    return sha256(identity.encode("utf-8", "surrogateescape")).hexdigest()


def _kept(folder: Path, stamp: str) -> CatalogueInForce | None:
    """The patched catalogue of an earlier start, if it was made from what this one would be made from."""
    file = folder / FILE
    try:
        kept = orjson.loads((folder / STAMP).read_bytes())
        if kept["from"] != stamp or not file.is_file():
            return None
        models = {row[0]: ModelFacts(*row) for row in kept["models"]}
        digest, told_at = str(kept["digest"]), float(kept["toldAt"])
    except (OSError, ValueError, KeyError, TypeError, IndexError):
        return None
    return CatalogueInForce(Catalogue(models, PATCHED_COPY, patched=True, digest=digest, told_at=told_at), file)


def _keep(folder: Path, stamp: str, text: "Text", now: float) -> CatalogueInForce:
    from codex_bridge.catalogue_text import patched

    file = folder / FILE
    models: list[ModelFacts] = []
    digest = _write(file, patched(text, models))
    rows = [[each.slug, each.honours_mode_text, each.multi_agent, each.context_window] for each in models]
    told = {"from": stamp, "toldAt": now, "digest": digest, "models": rows}
    _write(folder / STAMP, [orjson.dumps(told)])
    by_name = {each.slug: each for each in models}
    return CatalogueInForce(Catalogue(by_name, PATCHED_COPY, patched=True, digest=digest, told_at=now), file)


def _write(path: Path, pieces: Iterable[bytes | memoryview]) -> str:
    """Replace a file at once, readable by its owner alone; gives a digest of it."""
    digest = sha256()
    new = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            for piece in pieces:
                digest.update(piece)
                file.write(piece)
        new.replace(path)
    except BaseException:
        new.unlink(missing_ok=True)
        raise
    return digest.hexdigest()


async def _ask(binary: CodexBinary, home: Home, cleared: Collection[str], *, bundled: bool) -> "Text":
    """Have the binary print its models; what an account has is asked for first, where there is one.

    Raises:
        OSError: It cannot be run, or does not answer.
    """
    from mmap import ACCESS_READ, mmap

    environment = child_environment(home.path, tools_dir=binary.tools_dir, cleared=cleared)
    for flags in [["--bundled"]] if bundled else [[], ["--bundled"]]:
        command = [str(binary.path), "debug", "models", *flags]
        # Through a file that is looked into where it lies: as Python's own bytes the answer would add a megabyte to
        # the most memory that a gateway ever holds.
        with _nameless_file(home.path) as told, anyio.move_on_after(ASK_SECONDS):
            done = await anyio.run_process(
                command, stdin=DEVNULL, stdout=told, stderr=DEVNULL, env=dict(environment.passed), check=False
            )
            if done.returncode == 0 and os.fstat(told.fileno()).st_size:
                text = mmap(told.fileno(), 0, access=ACCESS_READ)
                if text.find(b"{") >= 0:
                    return text
    raise OSError(f"{binary.path} debug models tells nothing")


def _nameless_file(folder: Path) -> FileIO:
    """A new file that nobody else can open and that is gone when it is closed.

    Not the standard library's, which brings those for archives along: 0.5 MB in a process that needs none of them.
    """
    path = folder / f".told.{os.getpid()}"
    file = FileIO(os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600), "r+")
    path.unlink()
    return file
