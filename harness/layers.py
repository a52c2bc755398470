"""What a piece of prompt is: a layer with a name, a source, a lifetime and a trust.

Pure values. Which field of which protocol a layer travels in is the business of the agent backend, which
decides by the layer's name and never by its text.
"""

from dataclasses import field
from enum import Enum, StrEnum

from harness.lean_values import dataclass
from harness.units import utf16_units


class LayerName(StrEnum):
    """Every layer that a turn can carry. The value is what reports and snapshots show."""

    AGENTS = "workspace/AGENTS.md"
    SOUL = "workspace/SOUL.md"
    IDENTITY = "workspace/IDENTITY.md"
    USER = "workspace/USER.md"
    TOOLS = "workspace/TOOLS.md"
    HEARTBEAT = "workspace/HEARTBEAT.md"
    MEMORY = "workspace/MEMORY.md"
    BOOTSTRAP = "workspace/BOOTSTRAP.md"
    EXTRA = "workspace/extra"
    """A further file that a hook or the configuration adds."""
    RUNTIME = "gateway/runtime"
    TOOL_MANIFEST = "gateway/tool-manifest"
    """The names of the gateway's tools, where a list of tools does not show all of them."""
    SUBAGENTS = "gateway/subagents"
    """How to work with subagents, and as one."""
    MEMORY_NOTE = "gateway/memory-note"
    SKILLS = "gateway/skills"
    HEARTBEAT_GUIDANCE = "gateway/heartbeat-guidance"
    HEARTBEAT_POINTER = "gateway/heartbeat-pointer"
    CRON_GUIDANCE = "gateway/cron-guidance"
    CUTS = "gateway/cut-files"
    """That some files are shown in part."""
    LAST_TURN = "gateway/last-turn"
    """How the turn before was really ended, where the backend itself says something else."""
    REFRESH = "gateway/after-compaction"
    """What holds still, for a conversation that was just compacted."""
    GROUP = "gateway/group"
    """How to behave in the group that a message came from; of another chat that answers do not go out by themselves."""
    CHAT_NAMES = "chat/names"
    """What people outside call that group, and themselves in it."""
    SENDER = "chat/sender"
    """Who wrote the message, by the names that this person chose."""
    LEFT_OUT = "chat/left-out"
    """Messages of the chat that came while the agent was busy, and that were too many to be kept."""
    HISTORY = "chat/history"
    """What was said in the chat before, quoted to a conversation that does not know it."""
    QUOTES = "message/quotes"
    """Words of others that the message brings along: what it answers or passes on, what was said before it."""
    USER_TEXT = "message/text"


class Lifetime(Enum):
    """How long a layer stays in force."""

    THREAD = "thread"
    """As long as the conversation, subagents included."""
    TURN = "turn"
    """For the turn that carries it; subagents do not inherit it."""
    ONCE = "once"
    """Said with one turn, and from then on history."""
    INPUT = "input"
    """Part of what the person said, and from then on history."""


class Trust(Enum):
    """Whose words a layer holds."""

    OPERATOR = "operator"
    """Our code, or the operator's configuration."""
    WORKSPACE = "workspace"
    """The owner's files."""
    OWNER = "owner"
    """The owner, speaking in a chat."""
    OUTSIDER = "outsider"
    """Anybody else: names, titles, quotes, captions, history."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture that the model sees with some words."""

    path: str
    """Where it is, from the root of this machine."""
    media_type: str
    """Such as "image/png", by its bytes."""
    own: bool
    """Whether the owner sent it as a picture of their own."""


@dataclass(frozen=True, slots=True)
class Layer:
    """One piece of prompt text on its way to a model."""

    name: LayerName
    source: str
    """Where the text comes from: a file's path, or the part of the gateway that wrote it."""
    lifetime: Lifetime
    trust: Trust
    text: str
    raw_units: int = -1
    """Size of the source in UTF-16 units before any cut; -1, the default, means that nothing was cut."""
    pictures: tuple[Picture, ...] = ()
    """What the model sees with it; only of a message's words."""
    units: int = field(init=False)
    """Size of `text` in UTF-16 units."""

    def __post_init__(self) -> None:
        units = utf16_units(self.text)
        object.__setattr__(self, "units", units)
        if self.raw_units < 0:
            object.__setattr__(self, "raw_units", units)


def words_of(text: str, source: str, trust: Trust) -> Layer:
    """The layer of what a turn is about: somebody's message, or what a schedule asks."""
    return Layer(LayerName.USER_TEXT, source, Lifetime.INPUT, trust, text)


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A layer that this turn does not carry, and why."""

    name: LayerName
    source: str
    reason: str
    """A clause for a person, such as "the file does not exist"."""


@dataclass(frozen=True, slots=True)
class Composition:
    """The layers of one turn in reading order, and what was left out."""

    layers: tuple[Layer, ...]
    left_out: tuple[LeftOut, ...]

    def get(self, name: LayerName) -> Layer | None:
        """Return the layer of that name, or None when the turn does not carry it."""
        return next((layer for layer in self.layers if layer.name is name), None)
