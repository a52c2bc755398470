"""The system prompt of an agent that does not run on Codex: facts in, text out.

Pure (S02). The two tables are the whole order: which section comes when, in which modes, on which side of the cache
boundary. The stable side is rendered from `AgentFacts` alone and remembered; see docs/decisions/0004 for what stands
below the boundary here and above it in the reference.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from typing import Final

from harness.prompt.boundary import TOKEN, disarmed
from harness.prompt.facts import AgentFacts, Mode, TurnFacts
from harness.prompt.hygiene import whole
from harness.prompt.sections import place, work
from harness.prompt.sections import turn as of_turn
from harness.prompt.sections.joining import lines
from harness.prompt.sound import sound
from harness.units import utf16_units

_FULL: Final = frozenset({Mode.FULL})
_BOTH: Final = frozenset({Mode.FULL, Mode.MINIMAL})
_ALL: Final = frozenset(Mode)

STABLE: Final[tuple[tuple[str, frozenset[Mode], Callable[[AgentFacts], str]], ...]] = (
    ("identity", _ALL, work.identity),
    ("tooling", _BOTH, work.tooling),
    ("orchestration", _BOTH, work.orchestration),
    ("delegation", _FULL, work.delegation),
    ("interaction_style", _BOTH, work.interaction_style),
    ("tool_call_style", _BOTH, work.tool_call_style),
    ("execution_bias", _BOTH, work.execution_bias),
    ("stable_prefix", _BOTH, work.stable_prefix),
    ("safety", _BOTH, work.safety),
    ("control", _BOTH, work.control),
    ("skills", _BOTH, work.skills),
    ("skill_workshop", _BOTH, work.skill_workshop),
    ("self_update", _FULL, work.self_update),
    ("aliases", _FULL, work.aliases),
    ("workspace", _BOTH, place.workspace),
    ("documentation", _FULL, place.documentation),
    ("sandbox", _BOTH, place.sandbox),
    ("time_zone", _BOTH, place.time_zone),
    ("notice", _BOTH, place.notice),
    ("injected", _BOTH, place.injected),
    ("reasoning_format", _BOTH, place.reasoning_format),
    ("project_context", _BOTH, place.project_context),
)
"""Above the boundary, in order: name, modes, text (prompt-builder 2.A)."""

DYNAMIC: Final[tuple[tuple[str, frozenset[Mode], Callable[[AgentFacts, TurnFacts], str]], ...]] = (
    ("dynamic_context", _BOTH, of_turn.dynamic_context),
    ("bootstrap_pending", _BOTH, of_turn.bootstrap_pending),
    ("memory", _FULL, of_turn.memory),
    ("output_directives", _FULL, of_turn.output_directives),
    ("silent_replies", _FULL, of_turn.silent_replies),
    ("approvals", _BOTH, of_turn.approvals),
    ("acp_threads", _BOTH, of_turn.acp_threads),
    ("elevated", _BOTH, of_turn.elevated),
    ("owners", _FULL, of_turn.owners),
    ("embed", _FULL, of_turn.embed),
    ("messaging", _FULL, of_turn.messaging),
    ("voice", _FULL, of_turn.voice),
    ("chat", _BOTH, of_turn.chat),
    ("reactions", _BOTH, of_turn.reactions),
    ("dynamic_suffix", _BOTH, of_turn.dynamic_suffix),
    ("heartbeats", _FULL, of_turn.heartbeats),
    ("schedule", _BOTH, of_turn.schedule),
    ("runtime", _BOTH, of_turn.runtime),
)
"""Below the boundary, in order (prompt-builder 2.B)."""
REMEMBERED: Final = 64
"""Stable parts that are kept (prompt-builder 1.3)."""


def digest_of(text: str) -> str:
    """The SHA-256 of a text, in hexadecimal digits."""
    return sha256(text.encode("utf-8", "replace")).hexdigest()


@dataclass(frozen=True, slots=True)
class Rendered:
    """One section as it stands in the prompt."""

    name: str
    stable: bool
    """It stands above the boundary."""
    text: str

    @property
    def units(self) -> int:
        """Its size in UTF-16 units."""
        return utf16_units(self.text)

    @property
    def digest(self) -> str:
        """The SHA-256 of its text, in hexadecimal digits."""
        return digest_of(self.text)


@dataclass(frozen=True, slots=True)
class SystemPrompt:
    """A rendered prompt."""

    text: str
    """With the boundary marker, unless only the identity is given."""
    sections: tuple[Rendered, ...] = field(repr=False)
    """Those that are there, in order."""

    @property
    def units(self) -> int:
        """Its size in UTF-16 units."""
        return utf16_units(self.text)

    @property
    def digest(self) -> str:
        """The SHA-256 of its text, in hexadecimal digits."""
        return digest_of(self.text)


def build_agent_system_prompt(agent: AgentFacts, turn: TurnFacts) -> SystemPrompt:
    """Render the prompt of a run.

    Raises nothing, whatever the facts are, and gives the same text for the same facts. Values that are not of the
    declared kind are put right first, see `harness.prompt.sound`.
    """
    turn, (agent, stable, above) = sound(turn), _stable(_hashable(agent))
    if agent.mode is Mode.NONE:
        model = _known_model(turn)
        return SystemPrompt(lines(stable, *(each.text for each in model)), (*above, *model))
    below = tuple(_rendered(((n, m, f(agent, turn)) for n, m, f in DYNAMIC if agent.mode in m), stable=False))
    # The marker is one more piece among the joined ones, and so the one place with a blank line before and after.
    return SystemPrompt("\n".join([stable, TOKEN, *(each.text for each in below)]), above + below)


def _hashable(agent: AgentFacts) -> AgentFacts:
    try:
        hash(agent)
    except Exception:  # a value may be anybody's object, and its hash may raise whatever it likes
        return sound(agent)
    return agent


@lru_cache(maxsize=REMEMBERED)
def _stable(agent: AgentFacts) -> tuple[AgentFacts, str, tuple[Rendered, ...]]:
    """The facts put right, the part above the boundary, and its sections."""
    agent = sound(agent)
    above = tuple(_rendered(((n, m, f(agent)) for n, m, f in STABLE if agent.mode in m), stable=True))
    return agent, "\n".join([each.text for each in above]), above


def _rendered(found: Iterable[tuple[str, frozenset[Mode], str]], *, stable: bool) -> Iterable[Rendered]:
    # Nobody's text may hold the marker: a prompt has just one place where it is divided.
    # Nor half a character, which no request could carry.
    return (Rendered(name, stable, whole(disarmed(text))) for name, _, text in found if text)


def _known_model(facts: TurnFacts) -> tuple[Rendered, ...]:
    text = of_turn.identity_line(facts.runtime.model)
    return (Rendered("model", False, whole(disarmed(text))),) if text else ()
