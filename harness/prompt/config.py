"""What the configuration says about an agent's prompt: the second of three layers (S03).

The renderer knows nothing of it, and the adapters reach the renderer only through `configured`, so that a preview and a
live run cannot differ in it.
"""

import secrets
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

from harness.prompt.facts import AgentFacts, TurnFacts
from harness.prompt.render import SystemPrompt, build_agent_system_prompt
from harness.prompt.speech import speech_hint
from harness.settings.agent import AgentSettings, DelegationMode, OwnerSettings
from harness.settings.memory import CitationsMode


@cache
def process_secret() -> str:
    """A key for hashes of owners' ids that holds as long as the process does."""
    return secrets.token_hex(32)


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptConfig:
    """What is configured about one agent's prompt."""

    owner: OwnerSettings
    speech: str
    """The body of the Voice section; empty for none."""
    aliases: tuple[tuple[str, str], ...]
    citations: CitationsMode
    delegation: DelegationMode
    workspace_only: bool


def resolve_agent_system_prompt_config(
    settings: AgentSettings, *, make_secret: Callable[[], str] = process_secret
) -> PromptConfig:
    """Settle what the configuration says about an agent's prompt.

    Args:
        settings: The agent's settings.
        make_secret: Gives a key for hashed owner ids when none is configured.
    """
    owner = settings.owner
    if owner.display == "hash" and not owner.secret:
        owner = replace(owner, secret=make_secret())
    return PromptConfig(
        owner=owner,
        speech=speech_hint(settings.speech),
        aliases=tuple(sorted(settings.models.aliases.items())),
        citations=settings.memory.citations,
        delegation=settings.subagents.delegation_mode,
        workspace_only=settings.tools.workspace_only,
    )


def configured(agent: AgentFacts, turn: TurnFacts, config: PromptConfig | None) -> SystemPrompt:
    """Render a prompt; where there is a configuration, what it says stands over what the facts say.

    Args:
        agent: What holds for the agent.
        turn: What holds for the turn.
        config: The configuration; None for facts that are complete by themselves.
    """
    if config is not None:
        agent = replace(
            agent, aliases=config.aliases, delegation=config.delegation, workspace_only=config.workspace_only
        )
        turn = replace(turn, owner=config.owner, speech=config.speech)
    return build_agent_system_prompt(agent, turn)
