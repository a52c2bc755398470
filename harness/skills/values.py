"""What a skill is, and what can be said about one.

Pure values. Where skills are found, which of them an agent may use and how they are shown is decided elsewhere.
"""

from dataclasses import field
from enum import StrEnum

from harness.lean_values import dataclass
from harness.settings.skills import SkillSource

SKILL_FILE = "SKILL.md"
"""The file that makes a folder a skill; the letter case counts."""


@dataclass(frozen=True, slots=True)
class SkillGates:
    """What a skill asks of the machine before it is offered; an empty tuple asks nothing."""

    always: bool = False
    """Passes every gate except `os`."""
    os: tuple[str, ...] = ()
    """Platform names: darwin, linux, win32."""
    bins: tuple[str, ...] = ()
    any_bins: tuple[str, ...] = ()
    env: tuple[str, ...] = ()
    config: tuple[str, ...] = ()
    """Dotted paths into the configuration."""


@dataclass(frozen=True, slots=True)
class InstallStep:
    """One way to install what a skill needs; fields that its kind does not use are empty."""

    kind: str
    """brew, node, go, uv or download."""
    id: str = ""
    label: str = ""
    bins: tuple[str, ...] = ()
    os: tuple[str, ...] = ()
    formula: str = ""
    package: str = ""
    module: str = ""
    url: str = ""
    archive: str = ""
    extract: bool = False
    strip_components: int = 0
    target_dir: str = ""


@dataclass(frozen=True, slots=True)
class SkillCommand:
    """A skill that, used as a command, calls a tool at once instead of asking the model."""

    tool: str
    arg_mode: str = "raw"


@dataclass(frozen=True, slots=True)
class Skill:
    """One SKILL.md that was found, read and understood."""

    name: str
    """The flat name of the frontmatter, however deep the folder lies."""
    description: str
    source: SkillSource
    file: str
    """Absolute path of the SKILL.md."""
    directory: str
    """The folder of `file`, where relative paths of the skill start."""
    version: str
    """`sha256:` and the first 16 hexadecimal digits of the file's hash (prompt-builder 8.7)."""
    gates: SkillGates = field(default_factory=SkillGates)
    key: str = ""
    """The name under which `skills.entries` knows the skill."""
    primary_env: str = ""
    """The environment variable that `skills.entries.<key>.apiKey` fills."""
    homepage: str = ""
    emoji: str = ""
    install: tuple[InstallStep, ...] = ()
    user_invocable: bool = True
    model_invocable: bool = True
    """False for `disable-model-invocation`: a person may call the skill, the model is not told of it."""
    command: SkillCommand | None = None
    plugin: str = ""
    """The id of the plugin that brings the skill; empty for other skills."""
    unclear: bool = False
    """What it asks of the machine could not be read, so `gates` may lack some of it."""
    problems: tuple[str, ...] = ()
    """What was wrong in the file without making it useless, one sentence each."""


class Why(StrEnum):
    """The rule that decided about a skill."""

    ELIGIBLE = "eligible"
    ALWAYS = "always"
    HIDDEN = "hidden"
    NO_ROOM = "no-room"
    NOT_ALLOWED = "not-allowed"
    DISABLED = "disabled"
    BUNDLED_NOT_ALLOWED = "bundled-not-allowed"
    OS = "os"
    BINS = "bins"
    ANY_BINS = "any-bins"
    ENV = "env"
    CONFIG = "config"
    ARCHIVED = "archived"
    SHADOWED = "shadowed"
    PLUGIN_OFF = "plugin-off"
    TOO_MANY = "too-many"
    UNSAFE = "unsafe"
    MEMORY = "memory"
    UNREADABLE = "unreadable"
    TOO_LARGE = "too-large"
    INCOMPLETE = "incomplete"


class Standing(StrEnum):
    """Whether the model is told of a skill."""

    IN = "in"
    COMMAND_ONLY = "command-only"
    """Usable by a person's command, and not shown to the model."""
    OUT = "out"


@dataclass(frozen=True, slots=True)
class Refused:
    """A folder that offers a skill which cannot be used, whoever asks."""

    name: str
    """The skill's name, or the folder's where the file was not read."""
    file: str
    source: SkillSource
    why: Why
    reason: str
    """A clause for a person that names the fix."""
    plugin: str = ""


@dataclass(frozen=True, slots=True)
class SkillVerdict:
    """In or out, and why: one line of `skills list`."""

    name: str
    file: str
    source: SkillSource
    standing: Standing
    why: Why
    reason: str
    """A clause for a person, such as "needs the command jq on PATH"."""
    plugin: str = ""
    skill: Skill | None = None
    """The skill; None where its file could not be used."""


@dataclass(frozen=True, slots=True)
class SkillProblem:
    """Something a person should know about a skill file or a folder of skills."""

    path: str
    text: str
    """One sentence that names the path and the fix."""
