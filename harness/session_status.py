"""`session_status`: what an agent learns by it of the time, of its conversation and of the model.

It also sets the model of the conversation, for its owner alone. Its name, description and schema are the same on every
turn.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Final

from harness.clock import format_when, time_lines
from harness.json_value import Json
from harness.lean_values import dataclass
from harness.session_facts import Allowance, SessionFacts, TellsSessions
from harness.session_models import SessionModels
from harness.settings.agent import AgentSettings
from harness.toolbox import ToolTurn
from harness.tools import Tool, ToolResult, strange_argument
from harness.turns import Trigger

NAME: Final = "session_status"
DEFAULT: Final = "default"
"""Stands for the agent's own model."""
LONGEST_MODEL: Final = 200
DESCRIPTION: Final = (
    "Tells the time now, the model of this conversation and why it is that one, how full the conversation is, what it "
    "used, and the limits of the account with their resets. With model, an id or an alias, it sets the model of this "
    "conversation from the next turn on, which only the owner may ask for; model=default goes back to the configured "
    "one."
)
SCHEMA: Final[Mapping[str, Json]] = {
    "type": "object",
    "properties": {
        "model": {"type": "string", "description": "Leave it out to change nothing."},
    },
    "additionalProperties": False,
}
NOT_ALLOWED: Final = "Only the owner changes the model, in a message in a chat of their own. Nothing was changed."


@dataclass(frozen=True, slots=True)
class Picked:
    """What a name of a model came to."""

    model: str = ""
    """The backend's own id."""
    problem: str = ""
    """One sentence when it is no model that can be used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusSource:
    """What the tool tells from, and changes."""

    backend: TellsSessions
    models: SessionModels
    pick: Callable[[str], Picked]
    """What a name that the configuration could hold comes to, such as "openai/gpt-5.5"."""
    model: str | None = None
    """The agent's own model, as the backend names it; None for the backend's choice."""
    why: str = ""
    """Where that comes from, as the end of a sentence such as "it is configured"; empty for the backend's choice."""
    now: Callable[[], datetime] = lambda: datetime.now(UTC)


class StatusTool:
    """`session_status` of one agent.

    Args:
        source: What it tells from.
        settings: The agent's.
    """

    def __init__(self, source: StatusSource, settings: AgentSettings) -> None:
        self._source = source
        self._settings = settings

    def for_turn(self, turn: ToolTurn) -> Tool:
        """The tool of one turn."""

        async def call(arguments: Mapping[str, Json]) -> ToolResult:
            if strange := strange_argument(NAME, SCHEMA, arguments):
                return ToolResult(False, strange)
            wanted = arguments.get("model")
            if wanted is None or wanted == "":
                return ToolResult(True, await self._card(turn))
            if not isinstance(wanted, str) or len(wanted) > LONGEST_MODEL or not wanted.isprintable():
                return ToolResult(False, "model must be the id or the alias of a model, or default.")
            return self._set(wanted.strip(), turn)

        return Tool(NAME, DESCRIPTION, SCHEMA, call)

    def _set(self, wanted: str, turn: ToolTurn) -> ToolResult:
        source, key = self._source, turn.session_key
        if not turn.owned or turn.trigger is not Trigger.CHAT:
            return ToolResult(False, NOT_ALLOWED)
        if wanted.lower() == DEFAULT:
            source.models.choose(key, None)
            own = source.model or "the backend's own choice"
            return ToolResult(True, f"From the next turn on this conversation uses {own} again.")
        picked = source.pick(self._alias(wanted))
        problem = picked.problem or source.backend.cannot_run(picked.model)
        if problem:
            known = ", ".join(self._settings.models.aliases)
            aliases = f" Aliases are: {known}." if known else ""
            return ToolResult(False, f"{problem}{aliases} Nothing was changed.")
        source.models.choose(key, picked.model)
        return ToolResult(True, f"From the next turn on this conversation uses {picked.model}.")

    def _alias(self, wanted: str) -> str:
        """The model that an alias stands for, in any letter case; another name as it is."""
        aliases = self._settings.models.aliases
        by_case = {alias.lower(): model for alias, model in aliases.items()}
        return aliases.get(wanted) or by_case.get(wanted.lower(), wanted)

    async def _card(self, turn: ToolTurn) -> str:
        source, time = self._source, self._settings.time
        now = source.now()
        facts = await source.backend.session_facts(turn.session_key, turn.key)
        lines = [
            time_lines(now, time.zone, clock=time.clock),
            self._model(facts, turn.session_key),
            f"Runs on: {facts.backend}",
            f"Conversation: {facts.conversation or 'not known'}" if turn.owned else "",
            _context(facts),
            _usage(facts),
            *(_allowances(facts, now, time.zone.key) if turn.owned else ()),
        ]
        return "\n".join(line for line in lines if line)

    def _model(self, facts: SessionFacts, session_key: str) -> str:
        source = self._source
        chosen = source.models.of(session_key)
        effort = f", effort {facts.effort}" if facts.effort else ""
        wanted = chosen or source.model
        runs = facts.model or wanted or "not known"
        if wanted and facts.model and wanted != facts.model:
            return f"Model: {runs}{effort}; from the next turn on {wanted}"
        why = "it was chosen for this conversation" if chosen else source.why or "it is the backend's own choice"
        return f"Model: {runs}{effort}, because {why}"


def _context(facts: SessionFacts) -> str:
    used, window = facts.context_used, facts.context_window
    if used is None:
        return "Context: not counted yet" + (f", of {window:,} tokens" if window else "")
    if not window:
        return f"Context: {used:,} tokens"
    return f"Context: {used:,} of {window:,} tokens ({used * 100 // window} %)"


def _usage(facts: SessionFacts) -> str:
    usage = facts.usage
    if usage is None:
        return ""
    return f"Tokens of all turns: {usage.input:,} in, {usage.cached:,} of them cached; {usage.output:,} out"


def _allowances(facts: SessionFacts, now: datetime, zone: str) -> list[str]:
    if not facts.allowances:
        return ["Limits of the account: not known"]
    return [f"Limit of {each.name}: {_allowance(each, now, zone)}" for each in facts.allowances]


def _allowance(each: Allowance, now: datetime, zone: str) -> str:
    used = f"{each.used:.0f} % used"
    if each.resets_at is None:
        return used
    return f"{used}, resets {format_when(each.resets_at, now.timestamp(), zone)}"
