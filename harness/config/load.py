"""Where the configuration file is, and what it says now."""

from dataclasses import replace
from pathlib import Path

from harness.config.errors import UnreadableConfigError
from harness.config.findings import StaleFile
from harness.config.read import NO_SECTIONS, Config, Sections, read_config
from harness.config.surroundings import Surroundings

FILE_NAME = "openclaw.json"
LARGEST_FILE = 4 * 1024 * 1024
"""In bytes; our choice. A larger file is no configuration."""
UTF_16_MARKS = (b"\xff\xfe", b"\xfe\xff")


def config_file(surroundings: Surroundings, explicit: Path | None = None) -> Path:
    """Return the file to read: `explicit`, else `OPENCLAW_CONFIG_PATH`, else `openclaw.json` in the state directory.

    The file need not exist.
    """
    return explicit or surroundings.config_override or surroundings.state_dir / FILE_NAME


def load_config(
    surroundings: Surroundings, *, explicit: Path | None = None, sections: Sections = NO_SECTIONS
) -> Config:
    """Read the configuration file; without a file every default counts.

    Args:
        surroundings: Facts about the machine, see `machine.this_machine`.
        explicit: A file that somebody named; unlike the usual ones it must exist.
        sections: Further models, see `read.read_config`.

    Raises:
        UnreadableConfigError: The file cannot be read, or is no JSON5 object.
    """
    path = config_file(surroundings, explicit)
    text = _content(path, must_exist=explicit is not None)
    if text is None:
        return read_config("", surroundings, sections=sections)
    try:
        return read_config(text, surroundings, sections=sections, path=path)
    except UnreadableConfigError as error:
        raise error.at(path) from error


def _content(path: Path, *, must_exist: bool) -> str | None:
    try:
        with path.open("rb") as file:
            raw = file.read(LARGEST_FILE + 1)
    except FileNotFoundError as error:
        if must_exist:
            raise UnreadableConfigError("there is no such file; check the path", path=path) from error
        return None
    except OSError as error:
        raise UnreadableConfigError(f"it cannot be read ({error.strerror or error})", path=path) from error
    if len(raw) > LARGEST_FILE:
        raise UnreadableConfigError(
            f"it is larger than {LARGEST_FILE:,} bytes, so it is no configuration file", path=path
        )
    if raw.startswith(UTF_16_MARKS):
        raise UnreadableConfigError("it is in UTF-16; save it as UTF-8", path=path)
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        column = error.start - raw.rfind(b"\n", 0, error.start)
        raise UnreadableConfigError("it is not UTF-8; save it as UTF-8", path=path, line=line, column=column) from error


Stamp = tuple[int, ...] | None


def _stamp(path: Path) -> Stamp:
    try:
        facts = path.stat()
    except OSError:
        return None
    return facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns


class ConfigSource:
    """The configuration as the file has it now; the file is read again only when it changed.

    `current` returns the very same value as long as nothing changed, so that what depends on it can be kept.
    """

    __slots__ = ("_config", "_explicit", "_last_good", "_path", "_sections", "_stamp", "_surroundings")

    def __init__(
        self, surroundings: Surroundings, *, explicit: Path | None = None, sections: Sections = NO_SECTIONS
    ) -> None:
        self._surroundings = surroundings
        self._explicit = explicit
        self._sections = sections
        self._path = config_file(surroundings, explicit)
        self._stamp: Stamp = None
        self._config: Config | None = None
        self._last_good: Config | None = None

    def current(self) -> Config:
        """Return the configuration.

        A file that breaks or goes away while the gateway runs leaves the last good configuration in force, with one
        more finding that says so.

        Raises:
            UnreadableConfigError: The file cannot be read, and never could.
        """
        stamp = _stamp(self._path)
        if self._config is not None and stamp == self._stamp:
            return self._config
        try:
            if stamp is None and self._last_good is not None and self._last_good.path is not None:
                # An editor that replaces the file leaves a gap in which every default would count.
                raise UnreadableConfigError("the file is gone; write it again, or restart without it", path=self._path)
            self._config = load_config(self._surroundings, explicit=self._explicit, sections=self._sections)
        except UnreadableConfigError as error:
            if self._last_good is None:
                raise
            stale = StaleFile(str(self._path), str(error))
            self._config = replace(self._last_good, findings=(*self._last_good.findings, stale))
        else:
            self._last_good = self._config
        self._stamp = stamp
        return self._config
