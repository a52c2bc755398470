"""Where an agent's Codex keeps its login, threads and databases, and what of our environment it may see.

Each agent has a home of its own below the platform's state folder, so that an operator's personal Codex is
never touched. The child's environment is an allow-list: it runs shell commands for a model, and a gateway's
own environment is full of tokens.
"""

import os
import re
import shlex
from collections.abc import Collection, Mapping
from dataclasses import field
from pathlib import Path
from typing import Final
from urllib.parse import unquote

from codex_bridge.errors import CodexError
from harness.lean_values import dataclass
from harness.written_paths import expanded

APP: Final = "openclaw-codex-bridge"
STATE_VARIABLE: Final = "CODEX_BRIDGE_STATE_DIR"
LOGIN: Final = "codex-bridge login"
"""The command that signs in."""
_AGENT_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")

PASSED: Final = frozenset(
    {
        "ALL_PROXY",
        "CODEX_CA_CERTIFICATE",
        "COLORTERM",
        "HOME",
        "HTTPS_PROXY",
        "HTTP_PROXY",
        "LANG",
        "LANGUAGE",
        "LC_ADDRESS",
        "LC_ALL",
        "LC_COLLATE",
        "LC_CTYPE",
        "LC_IDENTIFICATION",
        "LC_MEASUREMENT",
        "LC_MESSAGES",
        "LC_MONETARY",
        "LC_NAME",
        "LC_NUMERIC",
        "LC_PAPER",
        "LC_TELEPHONE",
        "LC_TIME",
        "LOGNAME",
        "NODE_EXTRA_CA_CERTS",
        "NO_PROXY",
        "PATH",
        "RUST_BACKTRACE",
        "RUST_LOG",
        "SHELL",
        "SSL_CERT_DIR",
        "SSL_CERT_FILE",
        "TEMP",
        "TERM",
        "TMP",
        "TMPDIR",
        "TZ",
        "USER",
        "XDG_CACHE_HOME",
        "XDG_CONFIG_HOME",
        "XDG_DATA_DIRS",
        "XDG_DATA_HOME",
        "XDG_RUNTIME_DIR",
        "XDG_STATE_HOME",
        "all_proxy",
        "http_proxy",
        "https_proxy",
        "no_proxy",
    }
)
"""The variables that the app-server gets from us; of LC_* those of POSIX and of the GNU C library."""
_PROJECTS: Final = re.compile(r"^\[projects\b.*\n(?:(?![ \t]*\[)(?:.*\n|.+))*", re.MULTILINE)
"""The tables of projects as Codex writes them, each up to the next table."""
KEPT: Final = frozenset({"CODEX_HOME", "HOME"})
"""The variables that nobody can take away from the app-server; without them it would look for its files elsewhere."""
_NEVER_SECRET = frozenset({"PWD", "OLDPWD", "_", "SHLVL"})


class AgentIdError(CodexError):
    """An agent id that cannot name a folder."""

    def __init__(self, agent: str) -> None:
        super().__init__(
            f"The agent id {agent!r} cannot be used: an id has 1 to 64 letters, digits, '-' or '_' "
            "and begins with a letter or digit."
        )


class HomeMissingError(CodexError):
    """A Codex home that somebody else looks after is not there."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"There is no Codex home at {path}; sign in with Codex first, or name another folder.")
        self.path = path


class StateFolderError(CodexError):
    """A folder that the bridge keeps things in cannot be used."""

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(f"The folder {path} cannot be used ({problem}); name another with {STATE_VARIABLE}.")
        self.path = path


class TrustedFolderError(CodexError):
    """A home of ours says of some folder that Codex may obey what it finds there."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            f"{path} trusts project folders, so a file in a workspace could start programs outside of the sandbox; "
            "remove its 'projects' part."
        )
        self.path = path


@dataclass(frozen=True, slots=True)
class ChildEnvironment:
    """What the app-server gets to see, and what must not appear in anything we show of it."""

    passed: Mapping[str, str] = field(repr=False)
    secrets: tuple[str, ...] = field(repr=False)
    """Values of the variables that were held back, and credentials in what was passed."""


def state_dir(environ: Mapping[str, str] | None = None) -> Path:
    """The folder of everything that the bridge keeps: CODEX_BRIDGE_STATE_DIR, else the platform's state folder.

    A relative path is taken from the working directory, once: Codex, whose own is another, gets it absolute.

    Raises:
        StateFolderError: It names the home of a user who does not exist.
    """
    environ = os.environ if environ is None else environ
    named = environ.get(STATE_VARIABLE, "").strip()
    if named:
        folder = expanded(named)
        if folder.parts[0].startswith("~"):  # it would be made, in whatever folder this runs
            raise StateFolderError(folder, f"there is no user {folder.parts[0][1:]}")
        return folder.absolute()
    from platformdirs import user_state_path  # only a gateway that names no folder needs it

    return user_state_path(APP)


def agent_dir(root: Path, agent: str) -> Path:
    """The folder of one agent below `root`.

    Raises:
        AgentIdError: The id cannot name a folder.
    """
    if not _AGENT_ID.fullmatch(agent):
        raise AgentIdError(agent)
    return root / "agents" / agent


def made_dir(path: Path) -> Path:
    """Make `path` and what is missing above it with nobody but the owner let in. One that exists stays as it is.

    Raises:
        StateFolderError: It cannot be made.
    """
    try:
        # `mkdir(parents=True)` would give the folders above the common mode.
        for folder in [*reversed([parent for parent in path.parents if not parent.exists()]), path]:
            folder.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise StateFolderError(path, error.strerror or str(error)) from error
    return path


def private_dir(path: Path) -> Path:
    """Make `path` as `made_dir` does, and take away what an existing one lets others do; for folders of our own alone.

    Codex itself creates its home world-readable under a common umask (protocol reference, section 13).

    Raises:
        StateFolderError: It cannot be made or changed.
    """
    made_dir(path)
    try:
        if path.stat().st_mode & 0o077:
            path.chmod(0o700)
    except OSError as error:
        raise StateFolderError(path, error.strerror or str(error)) from error
    return path


def forget_trust(home: Path) -> None:
    """Take out of a home's config.toml which folders Codex trusts.

    In a trusted folder it obeys `.codex/config.toml`, which a model could write, and it notes a folder as trusted by
    itself (`docs/measured.md`). What Python cannot read, Codex may: it takes a byte order mark and newer TOML.

    Raises:
        TrustedFolderError: The file is written in a way that cannot be taken apart safely.
        StateFolderError: It cannot be read or written.
    """
    path = home / "config.toml"
    try:
        content = path.read_bytes()
        if b"projects" not in content:
            return
        text = content.decode("utf-8")
        import tomllib  # hardly any home has such a file

        settings = tomllib.loads(text)
        if "projects" not in settings:
            return
        kept = _PROJECTS.sub("", text)
        if not _holds(kept, {name: value for name, value in settings.items() if name != "projects"}):
            raise TrustedFolderError(path)
        new = path.with_name(f".{path.name}.{os.getpid()}")
        new.touch(mode=0o600)
        new.write_text(kept, "utf-8")
        new.replace(path)
    except FileNotFoundError:
        return
    except OSError as error:
        raise StateFolderError(home, error.strerror or str(error)) from error
    except ValueError:  # no UTF-8, or no TOML of a kind that Python knows
        raise TrustedFolderError(path) from None


def _holds(text: str, settings: Mapping[str, object]) -> bool:
    import tomllib

    try:
        return tomllib.loads(text) == settings
    except tomllib.TOMLDecodeError:
        return False


def user_codex_home(environ: Mapping[str, str] | None = None) -> Path:
    """The person's own Codex home, as an absolute path: CODEX_HOME, else ~/.codex."""
    environ = os.environ if environ is None else environ
    named = environ.get("CODEX_HOME", "").strip()
    return expanded(named or f"{environ.get('HOME', '~')}/.codex").absolute()


def child_environment(
    codex_home: Path,
    *,
    tools_dir: Path | None = None,
    extra: Mapping[str, str] | None = None,
    cleared: Collection[str] = (),
    environ: Mapping[str, str] | None = None,
) -> ChildEnvironment:
    """Choose what an app-server sees of our environment.

    Args:
        codex_home: Its CODEX_HOME.
        tools_dir: A folder to put in front of its PATH.
        extra: Variables of our own making, such as the token of a provider that only exists for this run.
        cleared: Names that somebody does not want it to see; `KEPT` are passed all the same.
        environ: The environment to choose from; the process's own by default.
    """
    environ = os.environ if environ is None else environ
    held_back = frozenset(cleared) - KEPT
    passed = {name: value for name, value in environ.items() if name in PASSED and name not in held_back}
    shown = "\0".join(passed.values())
    secrets = tuple(
        value
        for name, value in environ.items()
        # A value that the child gets anyway under another name, a home folder for instance, is no secret.
        if name not in passed and name not in _NEVER_SECRET and value and value not in shown
    )
    if tools_dir is not None:
        passed["PATH"] = os.pathsep.join(filter(None, (str(tools_dir), passed.get("PATH"))))
    passed["CODEX_HOME"] = str(codex_home)
    passed.update(extra or {})
    return ChildEnvironment(passed, (*secrets, *_of_proxies(passed), *(extra or {}).values()))


def _of_proxies(passed: Mapping[str, str]) -> list[str]:
    """The credentials in the addresses of proxies, which the child needs and nobody else should see."""
    words: dict[str, None] = {}
    for name in sorted(PASSED):
        if name.lower().endswith("_proxy") and name.lower() != "no_proxy":
            who = passed.get(name, "").rpartition("://")[2].partition("/")[0].rpartition("@")[0]
            password = who.partition(":")[2]
            words |= dict.fromkeys(filter(None, (who, password, unquote(password))))
    return list(words)


@dataclass(frozen=True, slots=True)
class Home:
    """A Codex home, and whether it is ours to look after. Codex takes no relative path for one, so ours is absolute."""

    path: Path
    owned: bool

    def __post_init__(self) -> None:
        """Make the path absolute."""
        object.__setattr__(self, "path", self.path.absolute())

    @property
    def signed_in(self) -> bool:
        """Whether Codex keeps a login here; nothing asks whether it is still good."""
        return (self.path / "auth.json").is_file()

    @property
    def pictures(self) -> Path:
        """Where Codex leaves the pictures that it makes, those of each thread in a folder of their own (measured)."""
        return self.path / "generated_images"


def own_home(root: Path, agent: str) -> Home:
    """The home that the bridge keeps for an agent.

    Raises:
        AgentIdError: The id cannot name a folder.
    """
    return Home(agent_dir(root, agent) / "codex-home", owned=True)


def login_command(home: Home, agent: str, environ: Mapping[str, str] | None = None) -> str:
    """The command line that signs a home in, so that turns of an agent which use it find the login.

    Args:
        home: The home in use.
        agent: The agent's id.
        environ: The environment that the command would run in; the process's own by default.
    """
    # Most turns never need the command, so the state folder is not looked for in vain.
    is_like_own = home.owned and home.path.parts[-2:] == (agent, "codex-home") and _AGENT_ID.fullmatch(agent)
    if is_like_own and home == own_home(state_dir(environ), agent):
        return f"{LOGIN} --agent {agent}"
    name = "user" if home.path == user_codex_home(environ) else shlex.quote(str(home.path))
    return f"{LOGIN} --codex-home {name}"
