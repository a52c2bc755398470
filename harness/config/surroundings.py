"""Which facts about the machine a configuration is read with.

Pure: `machine` gathers them; tests write them down.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from harness.clock import Clock
from harness.home_paths import at_home


def any_zone(name: str) -> bool:
    """Take every name for a time zone; the answer where nobody can look it up."""
    return bool(name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """Facts about the machine and its environment variables."""

    home: Path
    """The person's home directory as the system knows it."""
    environment: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """May hold secrets, so it is never shown."""
    host_timezone: str = "UTC"
    """An IANA name."""
    is_timezone: Callable[[str], bool] = any_zone
    """Says whether a text is a known IANA name."""
    host_clock: Clock = "24"
    """How people here write the time of day."""
    platform: str = "linux"
    """darwin, linux or win32, as `sys.platform` says it."""

    def _variable(self, name: str) -> str | None:
        return self.environment.get(name, "").strip() or None

    @property
    def gateway_home(self) -> Path:
        """`OPENCLAW_HOME`, else the home directory; `~` in the configuration means this."""
        return self._path("OPENCLAW_HOME", self.home) or self.home

    @property
    def profile(self) -> str | None:
        """`OPENCLAW_PROFILE`, or None for the ordinary profile."""
        profile = self._variable("OPENCLAW_PROFILE")
        return profile if profile and profile.lower() != "default" else None

    @property
    def state_dir(self) -> Path:
        """`OPENCLAW_STATE_DIR`, else `.openclaw` (with a profile, `.openclaw-<profile>`) in the home directory."""
        plain = self.gateway_home / (f".openclaw-{self.profile}" if self.profile else ".openclaw")
        return self._path("OPENCLAW_STATE_DIR", self.gateway_home) or plain

    @property
    def default_workspace(self) -> Path:
        """`OPENCLAW_WORKSPACE_DIR`, else `.openclaw/workspace` with the profile's suffix (prompt-builder 14)."""
        plain = self.gateway_home / ".openclaw" / (f"workspace-{self.profile}" if self.profile else "workspace")
        return self._path("OPENCLAW_WORKSPACE_DIR", self.gateway_home) or plain

    @property
    def config_override(self) -> Path | None:
        """`OPENCLAW_CONFIG_PATH`, or None."""
        return self._path("OPENCLAW_CONFIG_PATH", self.gateway_home)

    @property
    def bundled_skills_dir(self) -> Path | None:
        """`OPENCLAW_BUNDLED_SKILLS_DIR`, or None."""
        return self._path("OPENCLAW_BUNDLED_SKILLS_DIR", self.gateway_home)

    def path(self, text: str) -> Path:
        """Turn a configured path into one without `~`; NUL characters are dropped, as no file name has them."""
        return expand(text, self.gateway_home)

    def _path(self, name: str, home: Path) -> Path | None:
        value = self._variable(name)
        return expand(value, home) if value is not None else None


def expand(text: str, home: Path) -> Path:
    """Replace a leading `~` by `home`."""
    return Path(at_home(text.replace("\0", ""), str(home)))
