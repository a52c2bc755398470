"""Which prompt layer travels in which app-server field.

Pure: a composition in, the text of each field out. Nothing else may put prompt text into a request.
"""

from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from enum import Enum
from functools import cache, lru_cache
from hashlib import sha256
from types import MappingProxyType
from typing import Final

from codex_bridge.entries import (
    ABOUT,
    GROUP,
    HISTORY_KEY,
    MESSAGE_KEY,
    NAMED_KEY,
    ONCE_KEY,
    QUOTED_KEY,
    TURN_KEY,
    chunks,
    entries,
)
from codex_bridge.frames import breaks_out, one_line, unframed
from codex_bridge.wording import (
    ADDED_INTRO,
    AGENTS_CHANGED,
    AGENTS_GONE,
    AGENTS_INTRO,
    CONTEXT_INTRO,
    CRON_TITLE,
    CUTS_TITLE,
    DEFAULT_MODE,
    DEVELOPER_CHANGED,
    EXTRA_INTRO,
    GROUP_NAMES,
    GROUP_TITLE,
    HEARTBEAT_TITLE,
    MEMORY_TITLE,
    OTHERS_WORDS,
    PASSED_ON,
    PERSONA_INTRO,
    RUNTIME,
    SEVERAL_OTHERS,
    SKILLS_TITLE,
    SUBAGENTS,
    TOOL_MANIFEST,
    TOOLS_INTRO,
)
from harness.habits import Habits
from harness.layers import Composition, Layer, LayerName, LeftOut, Lifetime, Picture, Trust
from harness.lean_values import dataclass

HABITS: Final = Habits(
    reads_agents_file=True,
    points_to_heartbeat_file=True,
    replaces_memory_file=True,
    keeps_what_it_was_told=True,
    hears_of_chats_by_layer=True,
    marks_missing_files=False,
)
"""What Codex does by itself: it reads AGENTS.md, also after a compaction, has a shell to read HEARTBEAT.md with, and
says no text twice."""


class Lane(Enum):
    """A field of the protocol, by the place it has there."""

    NATIVE = "Codex reads it from the working directory"
    THREAD_DEVELOPER = "thread/start · developerInstructions"
    TURN_DEVELOPER = "turn/start · collaborationMode.settings.developer_instructions"
    TURN_ADDED = "turn/start · additionalContext"
    TURN_NAMED = "turn/start · additionalContext, untrusted"
    TURN_QUOTED = "turn/start · additionalContext, untrusted, once"
    TURN_MESSAGE = "turn/start · additionalContext, untrusted, in place of input"
    TURN_ONCE = "turn/start · additionalContext, once"
    TURN_BLOCK = "turn/start · input, block of the gateway"
    TURN_CONTEXT = "turn/start · input, context block"
    TURN_INPUT = "turn/start · input"


LANE_OF: Final[Mapping[LayerName, Lane]] = MappingProxyType(
    {
        LayerName.RUNTIME: Lane.THREAD_DEVELOPER,
        LayerName.TOOL_MANIFEST: Lane.THREAD_DEVELOPER,
        LayerName.SUBAGENTS: Lane.THREAD_DEVELOPER,
        LayerName.AGENTS: Lane.NATIVE,
        LayerName.TOOLS: Lane.THREAD_DEVELOPER,
        LayerName.EXTRA: Lane.THREAD_DEVELOPER,
        LayerName.HEARTBEAT_GUIDANCE: Lane.TURN_DEVELOPER,
        LayerName.CRON_GUIDANCE: Lane.TURN_DEVELOPER,
        LayerName.GROUP: Lane.TURN_ADDED,
        LayerName.CHAT_NAMES: Lane.TURN_NAMED,
        LayerName.SOUL: Lane.TURN_DEVELOPER,
        LayerName.IDENTITY: Lane.TURN_DEVELOPER,
        LayerName.USER: Lane.TURN_DEVELOPER,
        LayerName.CUTS: Lane.TURN_DEVELOPER,
        LayerName.MEMORY_NOTE: Lane.TURN_DEVELOPER,
        LayerName.SKILLS: Lane.TURN_DEVELOPER,
        LayerName.HEARTBEAT_POINTER: Lane.TURN_DEVELOPER,
        LayerName.BOOTSTRAP: Lane.TURN_CONTEXT,
        LayerName.MEMORY: Lane.TURN_CONTEXT,
        LayerName.LAST_TURN: Lane.TURN_ADDED,
        LayerName.REFRESH: Lane.TURN_ONCE,
        LayerName.LEFT_OUT: Lane.TURN_QUOTED,
        LayerName.HISTORY: Lane.TURN_QUOTED,
        LayerName.SENDER: Lane.TURN_NAMED,
        LayerName.QUOTES: Lane.TURN_QUOTED,
        LayerName.USER_TEXT: Lane.TURN_INPUT,
    }
)
"""The routing policy. A layer that is missing here cannot be sent. A message that the owner did not write has a lane of
its own: what stands in the input counts as the owner's word.

Subagents inherit developerInstructions and not the collaboration text (protocol reference, 3.6), so what only
the main voice should hear goes with each turn. What differs from chat to chat does not stand in the mode's text, which
is said again as a whole when anything of it changes; and no word of people outside stands in a developer's.
"""

APART: Final = frozenset(
    {
        LayerName.RUNTIME,
        LayerName.TOOL_MANIFEST,
        LayerName.SUBAGENTS,
        LayerName.HEARTBEAT_GUIDANCE,
        LayerName.CRON_GUIDANCE,
        LayerName.HEARTBEAT_POINTER,
        LayerName.USER_TEXT,
    }
)
"""What a turn in a thread of its own carries: why it runs and the words, and nothing of the workspace (issue 5)."""
NOT_APART: Final = "a turn in a thread of its own carries no more than why it runs"
UNHEARD: Final = "the model ignores turn-scoped instructions, and a scheduled message goes without additional context"

MOST_RULES: Final = 20_000
"""UTF-16 units of an AGENTS.md that Codex does not read itself: of the copy, and of an edited one that a turn tells."""
_TITLE_OF: Final[Mapping[LayerName, str]] = MappingProxyType(
    {
        LayerName.HEARTBEAT_GUIDANCE: HEARTBEAT_TITLE,
        LayerName.CRON_GUIDANCE: CRON_TITLE,
        LayerName.GROUP: GROUP_TITLE,
        LayerName.CUTS: CUTS_TITLE,
        LayerName.MEMORY_NOTE: MEMORY_TITLE,
        LayerName.SKILLS: SKILLS_TITLE,
    }
)
_FIRST: Final = frozenset({LayerName.HEARTBEAT_GUIDANCE, LayerName.CRON_GUIDANCE})
"""What stands at the head of the turn's text, in place of the restated mode (spec 2)."""
_ADDED_AS: Final[Mapping[LayerName, str]] = MappingProxyType(
    {
        LayerName.HEARTBEAT_GUIDANCE: "20_heartbeat",
        LayerName.CRON_GUIDANCE: "20_schedule",
        LayerName.LAST_TURN: "22_last_turn",
        LayerName.GROUP: GROUP,
        LayerName.SOUL: "31_soul",
        LayerName.IDENTITY: "32_identity",
        LayerName.USER: "33_user",
        LayerName.CUTS: "35_cut_files",
        LayerName.MEMORY_NOTE: "40_memory",
        LayerName.SKILLS: "50_skills",
        LayerName.HEARTBEAT_POINTER: "60_heartbeat_file",
    }
)
"""The names of a layer's entries, in the order in which they are to be read."""
_QUOTED: Final = frozenset({Lane.TURN_QUOTED, Lane.TURN_MESSAGE})
_OURS: Final = frozenset({LayerName.RUNTIME, LayerName.TOOL_MANIFEST, LayerName.SUBAGENTS})
_PERSONA: Final = frozenset({LayerName.SOUL, LayerName.IDENTITY, LayerName.USER})


@dataclass(frozen=True, slots=True)
class Standing:
    """What the bridge tells every conversation of an agent, whatever its workspace says."""

    tools: tuple[str, ...] = ()
    """Names of the registered tools, sorted: the same ones as long as the thread lives."""
    subagents: bool = True
    """Whether the model may start any."""


STANDING: Final = Standing()


@lru_cache(maxsize=64)
def standing_layers(standing: Standing) -> tuple[Layer, ...]:
    """The layers that the bridge itself adds, subagents included."""
    texts = {LayerName.RUNTIME: RUNTIME}
    if standing.tools:
        names = ", ".join(f"`{name}`" for name in standing.tools)
        texts[LayerName.TOOL_MANIFEST] = TOOL_MANIFEST.format(names=names)
    if standing.subagents:
        texts[LayerName.SUBAGENTS] = SUBAGENTS
    return tuple(Layer(name, "codex_bridge", Lifetime.THREAD, Trust.OPERATOR, text) for name, text in texts.items())


@dataclass(frozen=True, slots=True)
class Placed:
    """A layer and the lane it travels in."""

    layer: Layer
    lane: Lane


@dataclass(frozen=True, slots=True)
class LanePlan:
    """What each field of the requests will hold."""

    thread_developer: str
    """For thread/start and thread/resume; the same bytes as long as the workspace and the bridge are."""
    turn_developer: str | None
    """For each turn/start; None makes Codex use its own text of the mode."""
    turn_added: Mapping[str, str]
    """What else we say as entries of the additional context by their keys: of a group, and for a model that does not
    see the mode's text all that would stand there.

    Each layer has entries of its own, so that one that comes or goes has no other said again.
    """
    turn_named: Mapping[str, str]
    """Entries of what people outside call the chat and themselves, by their keys; data, to the server as to us."""
    turn_once: Mapping[str, str]
    """What is said with this turn alone, as entries of the additional context by their keys."""
    turn_quoted: Mapping[str, str]
    """Entries of words that are not the owner's, by their keys; to the server they are less than a person's.

    They go with one turn, and are history from then on.
    """
    turn_context: str
    """Files to quote before the person's words, once per conversation and state; empty when there are none."""
    turn_words: tuple[str, ...]
    """What was said; of several messages, each by itself."""
    rules: str | None
    """AGENTS.md, whoever reads it; None when there is none."""
    developer_without_rules: str
    """`thread_developer` without the copy of AGENTS.md that stands in it when `copied`."""
    copied: bool
    """Whether Codex must not read the rules itself, since it would take another file for them."""
    placed: tuple[Placed, ...]
    left_out: tuple[LeftOut, ...]
    takes_context: bool = True
    """Whether the server takes additional context."""
    edits: Mapping[str, str] = field(default_factory=dict[str, str])
    """Entries of texts that were edited since the thread was loaded, told with this turn or before."""
    pictures: tuple[Picture, ...] = ()
    """What the model sees with the words."""

    @property
    def mapped(self) -> Mapping[str, str]:
        """The entries that the server has in its map, and forgets when a request leaves them out."""
        return {**self.standing, **self.edits}

    @property
    def turn_input(self) -> str:
        """What was said, as one text."""
        return "\n\n".join(self.turn_words)

    @property
    def standing(self) -> Mapping[str, str]:
        """The entries of the additional context that hold until their keys say something else."""
        return {**self.turn_added, **self.turn_named}

    def holding(self, chat: Mapping[str, str]) -> "LanePlan":
        """The same with these entries of its chat, for a turn that says nothing of the chat: what they say holds on."""
        added = {key: text for key, text in chat.items() if not key.startswith(f"{NAMED_KEY}_")}
        named = {key: text for key, text in chat.items() if key not in added}
        return replace(self, turn_added={**added, **self.turn_added}, turn_named={**named, **self.turn_named})

    @property
    def agents_text(self) -> str | None:
        """AGENTS.md as Codex should find it; None when it should find none."""
        return None if self.copied else self.rules


@cache
def lanes_of(*, copied: bool = False, hears_mode: bool = True, apart: bool = False) -> Mapping[LayerName, Lane]:
    """The routing policy for a workspace whose rules Codex may read itself or not, and for what the model honours.

    A layer without a row does not travel: of a turn in a thread of its own, `apart`, all but those of `APART`.

    Codex reads `AGENTS.override.md` in place of AGENTS.md. No guard of ours has judged that file, and it may be a link
    to the memory, so Codex reads neither then, and AGENTS.md travels as a copy. The same holds when AGENTS.md is not
    the file any more that was judged, see `codex_bridge.rules`, or holds a tag of a frame.
    """
    lanes = dict(LANE_OF)
    if copied:
        lanes[LayerName.AGENTS] = Lane.THREAD_DEVELOPER
    if not hears_mode:
        lanes.update({name: Lane.TURN_ADDED for name, lane in LANE_OF.items() if lane is Lane.TURN_DEVELOPER})
    if apart:
        heard = APART if hears_mode else APART - {LayerName.CRON_GUIDANCE}
        lanes = {name: lane for name, lane in lanes.items() if name in heard}
    return MappingProxyType(lanes)


def plan(
    composition: Composition,
    standing: Standing = STANDING,
    *,
    copied: bool = False,
    hears_mode: bool = True,
    takes_context: bool = True,
    apart: bool = False,
) -> LanePlan:
    """Route every layer of a turn.

    Args:
        composition: The layers.
        standing: What the bridge adds to them.
        copied: Whether the rules travel as a copy, see `lanes_of`.
        hears_mode: Whether the model sees our text of the Default mode.
        takes_context: Whether the server takes additional context; where it does not, `params.turn_start` puts the
            same entries into the input.
        apart: Whether the turn has a thread of its own, see `lanes_of`.

    Raises:
        KeyError: A layer has no row in `LANE_OF`.
    """
    layers, own = composition.layers, len(composition.layers)
    while own and _is_of_one_turn(layers[own - 1]):
        own -= 1
    fixed = _routed(_Fixed(layers[:own], composition.left_out), standing, copied, hears_mode, apart)
    lanes = lanes_of(hears_mode=hears_mode, apart=apart)
    last, unheard = _placed(layers[own:], lanes, apart=apart)
    placed = (*fixed.placed, *last)
    return replace(
        fixed,
        turn_added={**fixed.turn_added, **_turn_added(_in(last, Lane.TURN_ADDED))},
        turn_named={**fixed.turn_named, **_turn_named(_in(last, Lane.TURN_NAMED))},
        turn_once=_turn_once(_in(placed, Lane.TURN_ONCE)),
        turn_quoted=_turn_quoted(last),
        turn_words=_turn_words(last),
        pictures=_pictures(last),
        placed=placed if takes_context else tuple(map(_in_block, placed)),
        takes_context=takes_context,
        left_out=(*fixed.left_out, *unheard),
    )


@dataclass(frozen=True, slots=True)
class JoinPlan:
    """What a request holds that says something into a running turn, framed like that with which a turn begins."""

    words: tuple[str, ...]
    """See `LanePlan.turn_words`."""
    named: Mapping[str, str]
    """See `LanePlan.turn_named`."""
    quoted: Mapping[str, str]
    """See `LanePlan.turn_quoted`."""
    pictures: tuple[Picture, ...] = ()
    """See `LanePlan.pictures`."""


def plan_join(layers: Iterable[Layer]) -> JoinPlan:
    """Route what joins a turn.

    Raises:
        KeyError: A layer has no row in `LANE_OF`.
    """
    placed, _ = _placed(layers, LANE_OF, apart=False)
    named = _turn_named(_in(placed, Lane.TURN_NAMED))
    return JoinPlan(_turn_words(placed), named, _turn_quoted(placed), _pictures(placed))


_OF_ONE_TURN: Final = frozenset(
    {
        LayerName.LAST_TURN,
        LayerName.SENDER,
        LayerName.LEFT_OUT,
        LayerName.HISTORY,
        LayerName.QUOTES,
        LayerName.USER_TEXT,
    }
)


def _is_of_one_turn(layer: Layer) -> bool:
    return layer.lifetime is Lifetime.ONCE or layer.name in _OF_ONE_TURN


class _Fixed:
    """What stays from turn to turn, told by identity: its texts may be long, and most turns have the very same ones.

    Holds them, so that nothing else can come to have their identity.
    """

    __slots__ = ("_ids", "layers", "left_out")

    def __init__(self, layers: tuple[Layer, ...], left_out: tuple[LeftOut, ...]) -> None:
        self.layers, self.left_out = layers, left_out
        self._ids = (*map(id, layers), id(left_out))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Fixed) and self._ids == other._ids

    def __hash__(self) -> int:
        return hash(self._ids)


@lru_cache(maxsize=16)
def _routed(fixed: _Fixed, standing: Standing, copied: bool, hears_mode: bool, apart: bool) -> LanePlan:
    """Route what stays from turn to turn."""
    layers = (*standing_layers(standing), *fixed.layers)
    agents = None if apart else next((layer for layer in layers if layer.name is LayerName.AGENTS), None)
    copied = copied or (agents is not None and breaks_out(agents.text))
    placed, unheard = _placed(layers, lanes_of(copied=copied, hears_mode=hears_mode, apart=apart), apart=apart)
    context = _in(placed, Lane.TURN_CONTEXT)
    developer = _in(placed, Lane.THREAD_DEVELOPER)
    without_rules = _thread_developer([layer for layer in developer if layer is not agents])
    return LanePlan(
        thread_developer=_thread_developer(developer) if agents in developer else without_rules,
        turn_developer=_turn_developer(_in(placed, Lane.TURN_DEVELOPER)),
        turn_added=_turn_added(_in(placed, Lane.TURN_ADDED)),
        turn_named=_turn_named(_in(placed, Lane.TURN_NAMED)),
        turn_once={},
        turn_quoted={},
        turn_context=_joined([CONTEXT_INTRO, *map(_file, context)]) if context else "",
        turn_words=(),
        rules=agents.text if agents else None,
        developer_without_rules=without_rules,
        copied=copied and not apart,
        placed=placed,
        left_out=(*fixed.left_out, *unheard),
    )


def _placed(
    layers: Iterable[Layer], lanes: Mapping[LayerName, Lane], *, apart: bool
) -> tuple[tuple[Placed, ...], tuple[LeftOut, ...]]:
    heard = [layer for layer in layers if layer.name in lanes] if apart else layers
    placed = tuple(Placed(layer, _lane_of(layer, lanes)) for layer in heard)
    return placed, tuple(_not_apart(layer) for layer in layers if layer.name not in lanes) if apart else ()


CONTEXT: Final = frozenset({Lane.TURN_ADDED, Lane.TURN_NAMED, Lane.TURN_QUOTED, Lane.TURN_MESSAGE, Lane.TURN_ONCE})
"""The lanes of the additional context."""


def _in_block(placed: Placed) -> Placed:
    return replace(placed, lane=Lane.TURN_BLOCK) if placed.lane in CONTEXT else placed


def _lane_of(layer: Layer, lanes: Mapping[LayerName, Lane]) -> Lane:
    if layer.lifetime is Lifetime.ONCE:
        return Lane.TURN_ONCE
    if layer.name is LayerName.USER_TEXT and layer.trust is Trust.OUTSIDER:
        return Lane.TURN_MESSAGE
    return lanes[layer.name]


def _not_apart(layer: Layer) -> LeftOut:
    return LeftOut(layer.name, layer.source, UNHEARD if layer.name in APART else NOT_APART)


def _thread_developer(layers: list[Layer]) -> str:
    agents = [_bounded(layer) for layer in layers if layer.name is LayerName.AGENTS]
    tools = [layer for layer in layers if layer.name is LayerName.TOOLS]
    extra = [layer for layer in layers if layer.name is LayerName.EXTRA]
    ours = [layer.text for layer in layers if layer.name in _OURS]
    return _joined([*ours, *_under(AGENTS_INTRO, agents), *_under(TOOLS_INTRO, tools), *_under(EXTRA_INTRO, extra)])


def _turn_developer(layers: list[Layer]) -> str | None:
    if not layers:
        return None
    restated = [] if any(layer.name in _FIRST for layer in layers) else [DEFAULT_MODE]
    return _joined([*restated, *_turn_sections(layers)])


def _turn_added(layers: list[Layer]) -> dict[str, str]:
    """Without the restated mode: the model has the vendor's own text of it. The server sorts entries by their keys."""
    if not layers:
        return {}
    texts = {ABOUT: ADDED_INTRO}
    if any(layer.name in _PERSONA for layer in layers):
        texts["30_persona"] = PERSONA_INTRO
    for layer in layers:
        text = _file(layer) if layer.name in _PERSONA else _titled(layer)
        # A further SOUL.md, from another folder, stands beside the first.
        key = _ADDED_AS[layer.name]
        texts[key] = f"{texts[key]}\n\n{text}" if key in texts else text
    return entries(TURN_KEY, texts)


def _turn_named(layers: list[Layer]) -> dict[str, str]:
    return entries(NAMED_KEY, {_last_of(layer): unframed(layer.text) for layer in layers})


def _turn_once(layers: list[Layer]) -> dict[str, str]:
    return entries(ONCE_KEY, {_last_of(layer): _titled(layer) for layer in layers})


def _last_of(layer: Layer) -> str:
    return layer.name.value.rpartition("/")[2].replace("-", "_")


def _turn_quoted(placed: Iterable[Placed]) -> dict[str, str]:
    found: dict[str, str] = {}
    for each in placed:
        if each.lane not in _QUOTED or not each.layer.text:
            continue
        pieces = chunks(unframed(each.layer.text))
        key = _key_of(each)
        if each.layer.name is LayerName.HISTORY:
            key = f"{HISTORY_KEY}_{each.layer.source.rpartition(' ')[2]}_{len(pieces)}"
        found |= {f"{key}_{number:02}": piece for number, piece in enumerate(pieces, 1)}
    return found


def _key_of(placed: Placed) -> str:
    """How the entries of quoted words begin.

    Those of a message have names that no other message has: the server says a text under a name only if it is another
    than that of the turn before, and people say the same twice.
    """
    key = MESSAGE_KEY if placed.lane is Lane.TURN_MESSAGE else QUOTED_KEY
    return f"{key}_{sha256(placed.layer.source.encode('utf-8', 'replace')).hexdigest()[:8]}"


def _turn_words(placed: tuple[Placed, ...]) -> tuple[str, ...]:
    """The owner's words, each message by itself, and what stands for those of somebody else.

    The input of a turn counts as the owner's. The server sorts the entries by their names, so what is in the place of
    several messages in a row names them in their order.
    """
    said: list[str] = []
    others: list[str] = []
    brought = {each.layer.source: _key_of(each) for each in placed if each.layer.name is LayerName.QUOTES}
    for each in placed:
        if each.lane is Lane.TURN_MESSAGE and each.layer.text:
            others.append(_key_of(each))
        elif each.layer.name is LayerName.USER_TEXT:
            said += _for_others(others)
            others.clear()
            key = brought.get(each.layer.source)
            said.append(each.layer.text if each.layer.text or key is None else PASSED_ON.format(name=key))
    return (*said, *_for_others(others))


def _pictures(placed: Iterable[Placed]) -> tuple[Picture, ...]:
    return tuple(picture for each in placed if each.layer.pictures for picture in each.layer.pictures)


def _for_others(keys: list[str]) -> list[str]:
    if len(keys) > 1:
        return [SEVERAL_OTHERS.format(names=", then ".join(keys))]
    return [OTHERS_WORDS.format(name=key) for key in keys]


def _turn_sections(layers: list[Layer]) -> list[str]:
    first = [layer for layer in layers if layer.name in _FIRST]
    persona = [layer for layer in layers if layer.name in _PERSONA]
    rest = [layer for layer in layers if layer.name not in _FIRST | _PERSONA]
    return [*map(_titled, first), *_under(PERSONA_INTRO, persona), *map(_titled, rest)]


def changed_rules(text: str | None) -> str:
    """What tells a conversation of an AGENTS.md that was edited; None when the file is gone."""
    return AGENTS_GONE if text is None else f"{AGENTS_CHANGED}\n\n{unframed(_cut_rules(text))}"


def _cut_rules(text: str) -> str:
    from harness.workspace.truncate import truncate  # few rules travel as a text of ours

    return truncate(text, name="AGENTS.md", limit=MOST_RULES).text


def _bounded(rules: Layer) -> Layer:
    """The copy of AGENTS.md, as long as it may be."""
    return replace(rules, text=_cut_rules(rules.text))


def changed_developer(text: str) -> str:
    """What tells a conversation of developer instructions that were edited."""
    return f"{DEVELOPER_CHANGED}\n\n{text}"


def _in(placed: Iterable[Placed], lane: Lane) -> list[Layer]:
    return [each.layer for each in placed if each.lane is lane]


def _under(intro: str, layers: list[Layer]) -> list[str]:
    return [intro, *map(_file, layers)] if layers else []


def _file(layer: Layer) -> str:
    name = layer.source if layer.name is LayerName.EXTRA else layer.name.value.removeprefix("workspace/")
    return f"## {unframed(one_line(name))}\n\n{unframed(layer.text)}"


def _titled(layer: Layer) -> str:
    title = _TITLE_OF.get(layer.name)
    text = unframed(layer.text)
    if layer.name is LayerName.GROUP:
        text = f"{text}\n\n{GROUP_NAMES}"
    return f"{title}\n\n{text}" if title else text


def _joined(sections: list[str]) -> str:
    return "\n\n".join(sections)
