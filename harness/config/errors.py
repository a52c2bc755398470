"""What can go wrong with a configuration file as a whole.

- `ConfigError`
    - `UnreadableConfigError`: the file is there, but cannot be read as JSON5.

A single bad key is never an exception: it is a finding (see `findings`).
"""

from pathlib import Path

from harness.errors import HarnessError


class ConfigError(HarnessError):
    """The configuration as a whole cannot be used."""


class UnreadableConfigError(ConfigError):
    """A configuration file that cannot be read; the message is one sentence for a person."""

    def __init__(
        self, reason: str, *, path: Path | None = None, line: int | None = None, column: int | None = None
    ) -> None:
        place = f", line {line}, column {column}" if line is not None else ""
        super().__init__(f"{path or 'The configuration'}{place}: {reason}.")
        self.reason = reason
        """A clause without the place, such as `unexpected "," here`."""
        self.path = path
        self.line = line
        """1-based, or None when the fault has no place in the text."""
        self.column = column
        """1-based, in characters."""

    def at(self, path: Path) -> "UnreadableConfigError":
        """Return the same error with the file named."""
        return UnreadableConfigError(self.reason, path=path, line=self.line, column=self.column)
