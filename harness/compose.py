"""Which layers a turn carries, in reading order, and why the others stay out.

Pure: what was gathered for the turn in, a `Composition` out. Backends differ in a few habits, see `Habits`; which
field of their protocol a layer travels in is their own business.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Final

from harness.habits import Habits
from harness.layers import Composition, Layer, LayerName, LeftOut, Lifetime, Trust
from harness.lean_values import dataclass
from harness.turns import Trigger
from harness.workspace.budget import ContextFile, ContextFiles, Fit
from harness.workspace.entries import LeftOutFile, WorkspaceFile
from harness.workspace.filters import NO_FILE
from harness.workspace.names import AGENTS, HEARTBEAT, LAYER_OF, MEMORY
from harness.workspace.reads import Missing, Refused

ORDER: Final = (
    LayerName.AGENTS,
    LayerName.TOOLS,
    LayerName.EXTRA,
    LayerName.HEARTBEAT_GUIDANCE,
    LayerName.CRON_GUIDANCE,
    LayerName.GROUP,
    LayerName.CHAT_NAMES,
    LayerName.SOUL,
    LayerName.IDENTITY,
    LayerName.USER,
    LayerName.HEARTBEAT,
    LayerName.CUTS,
    LayerName.MEMORY_NOTE,
    LayerName.SKILLS,
    LayerName.HEARTBEAT_POINTER,
    LayerName.BOOTSTRAP,
    LayerName.MEMORY,
    LayerName.LAST_TURN,
    LayerName.REFRESH,
    LayerName.SENDER,
    LayerName.LEFT_OUT,
    LayerName.QUOTES,
    LayerName.USER_TEXT,
)
"""Reading order: what holds for the thread, for the turn (persona as SOUL, IDENTITY, USER: harness reference 1.3;
guidance first and the heartbeat pointer last: spec 2), and the input."""

LIFETIMES: Final[Mapping[LayerName, Lifetime]] = MappingProxyType(
    {
        LayerName.AGENTS: Lifetime.THREAD,
        LayerName.TOOLS: Lifetime.THREAD,
        LayerName.EXTRA: Lifetime.THREAD,
        LayerName.SOUL: Lifetime.TURN,
        LayerName.IDENTITY: Lifetime.TURN,
        LayerName.USER: Lifetime.TURN,
        LayerName.HEARTBEAT: Lifetime.TURN,
        LayerName.BOOTSTRAP: Lifetime.INPUT,
        LayerName.MEMORY: Lifetime.INPUT,
    }
)
"""How long each file stays in force. Subagents inherit only what holds for the thread."""

CRON_GUIDANCE: Final = (
    "A schedule of the gateway started this turn; nobody is waiting at the other end. Do what the scheduled message "
    "asks, then answer with the result alone: it is delivered as it stands."
)
NOT_A_HEARTBEAT: Final = "this is not a heartbeat"
ONLY_POINTED_TO: Final = "a heartbeat gets its path, never its content"
NOTHING_TO_DO: Final = "the file asks for nothing"
EMPTY: Final = "the file is empty"
LIGHT: Final = "a light run keeps the scheduled message as it is"


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """Everything that was gathered for one turn."""

    trigger: Trigger
    files: ContextFiles
    """The files of the workspace, fitted into the budget."""
    agents_file: WorkspaceFile | None = None
    """AGENTS.md when the backend reads it by itself; it is not among `files` then."""
    left_out: tuple[LeftOutFile, ...] = ()
    """Files that the rules of the run took out before."""
    memory_note: str = ""
    memory_note_reason: str = ""
    """Why there is no note."""
    memory_reason: str = ""
    """Why MEMORY.md is not copied; empty when it is among `files`."""
    group: str = ""
    """How to behave in the group that a message came from."""
    names: str = ""
    """What people outside call that group, quoted as data."""
    cuts: Layer | None = None
    """What is said of files that are shown in part."""
    skills: Layer | LeftOut | None = None
    heartbeat_guidance: str = ""
    heartbeat_pointer: str | None = None
    """The line that names HEARTBEAT.md; None when there is nothing to point to."""
    light: bool = False


def compose(material: Material, habits: Habits) -> Composition:
    """Put one turn together, all but the words that come last; what it does not carry is listed with the reason."""
    found: list[Layer | LeftOut] = [
        *_agents(material),
        *file_layers(material.files, habits),
        *(_left_out(file, material) for file in material.left_out),
        *((_gateway(LayerName.GROUP, material.group),) if material.group else ()),
        *((outsiders(LayerName.CHAT_NAMES, material.names),) if material.names else ()),
        *((material.cuts,) if material.cuts else ()),
        *_memory(material),
        *_skills(material),
        *_guidance(material, habits),
    ]
    layers = sorted((each for each in found if isinstance(each, Layer)), key=_rank)
    left_out = sorted((each for each in found if isinstance(each, LeftOut)), key=_rank)
    return Composition(tuple(layers), tuple(left_out))


@lru_cache(maxsize=64)
def file_layers(files: ContextFiles, habits: Habits) -> tuple[Layer | LeftOut, ...]:
    """The layers of the fitted files. Remembered: most turns have the same files as the one before."""
    found: list[Layer | LeftOut] = [_file(file, habits) for file in files.files]
    found.extend(LeftOut(_name_of(file.name), file.path, file.reason) for file in files.left_out)
    return tuple(found)


def _file(file: ContextFile, habits: Habits) -> Layer | LeftOut:
    name = _layer_name(file.file)
    if file.fit is Fit.MISSING and not habits.marks_missing_files:
        return LeftOut(name, file.path, _why_missing(file.file))
    lifetime = LIFETIMES[name]
    return Layer(name, file.path, lifetime, Trust.WORKSPACE, file.text, file.raw_units if file.text else -1)


def _layer_name(file: WorkspaceFile) -> LayerName:
    """The layer of a file; one that is not the workspace's own file of that name is a further file."""
    name = file.layer
    if name is None or (file.name == AGENTS and file.from_hook):
        # A backend that reads AGENTS.md by itself reads the one on disk, not what a hook made of it.
        return LayerName.EXTRA
    return name


def _name_of(file_name: str) -> LayerName:
    return LAYER_OF.get(file_name, LayerName.EXTRA)


def _why_missing(file: WorkspaceFile) -> str:
    return file.read.reason if isinstance(file.read, Refused) else NO_FILE


def _agents(material: Material) -> Iterable[Layer | LeftOut]:
    file = material.agents_file
    if file is None:
        return ()
    if isinstance(file.read, Missing | Refused):
        return (LeftOut(LayerName.AGENTS, file.path, _why_missing(file)),)
    text = file.text.strip()
    if not text:
        return (LeftOut(LayerName.AGENTS, file.path, EMPTY),)
    return (Layer(LayerName.AGENTS, file.path, Lifetime.THREAD, Trust.WORKSPACE, text),)


def _left_out(file: LeftOutFile, material: Material) -> LeftOut:
    if file.name == HEARTBEAT and material.trigger is not Trigger.HEARTBEAT:
        return LeftOut(LayerName.HEARTBEAT, file.path, NOT_A_HEARTBEAT)
    return LeftOut(_name_of(file.name), file.path, file.reason)


def _memory(material: Material) -> Iterable[Layer | LeftOut]:
    if material.memory_note:
        yield Layer(
            LayerName.MEMORY_NOTE, LayerName.MEMORY_NOTE.value, Lifetime.TURN, Trust.OPERATOR, material.memory_note
        )
    elif material.memory_note_reason:
        yield LeftOut(LayerName.MEMORY_NOTE, LayerName.MEMORY_NOTE.value, material.memory_note_reason)
    told = any(file.name == MEMORY for file in material.left_out)
    if material.memory_reason and not told:
        yield LeftOut(LayerName.MEMORY, LayerName.MEMORY.value, material.memory_reason)


def _skills(material: Material) -> Iterable[Layer | LeftOut]:
    if material.light:
        return (LeftOut(LayerName.SKILLS, LayerName.SKILLS.value, LIGHT),)
    return () if material.skills is None else (material.skills,)


def _guidance(material: Material, habits: Habits) -> Iterable[Layer | LeftOut]:
    match material.trigger:
        case Trigger.CHAT:
            return
        case Trigger.CRON:
            yield _gateway(LayerName.CRON_GUIDANCE, CRON_GUIDANCE)
        case Trigger.HEARTBEAT:
            if material.heartbeat_guidance:
                yield _gateway(LayerName.HEARTBEAT_GUIDANCE, material.heartbeat_guidance)
            if material.heartbeat_pointer is not None:
                yield _gateway(LayerName.HEARTBEAT_POINTER, material.heartbeat_pointer)
            elif habits.points_to_heartbeat_file:
                yield LeftOut(LayerName.HEARTBEAT_POINTER, LayerName.HEARTBEAT_POINTER.value, NOTHING_TO_DO)


def _gateway(name: LayerName, text: str) -> Layer:
    return Layer(name, name.value, Lifetime.TURN, Trust.OPERATOR, text)


def outsiders(name: LayerName, text: str) -> Layer:
    """A layer of the turn that quotes what people outside chose."""
    return Layer(name, name.value, Lifetime.TURN, Trust.OUTSIDER, text)


def _rank(each: Layer | LeftOut) -> int:
    return ORDER.index(each.name)
