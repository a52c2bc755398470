"""What the configuration says about replies and texts that depend on where and on which model an agent speaks.

Pure.
"""

from typing import Literal

from harness.config.agent_keys import SilentReply
from harness.config.channel_keys import Surface
from harness.config.root import OpenClawConfig
from harness.settings.agent import GPT5_PROVIDERS, Permission, Personality

Conversation = Literal["direct", "group", "internal"]

PERSONALITIES: dict[str, Personality] = {"off": "off", "friendly": "friendly", "on": "friendly"}
ELSEWHERE = "elsewhere"
"""Stands for any provider that is none of OpenAI's."""
SECOND_SOURCE = "openai"
"""The plugin whose `personality` counts when the overlay has none (prompt-builder 5.2)."""


def silent_reply(values: OpenClawConfig, *, surface: str, conversation: Conversation) -> Permission:
    """Say whether an agent may answer with nothing (prompt-builder 11.1).

    Never in a direct chat; else by `surfaces.<surface>.silentReply`, then `agents.defaults.silentReply`, then yes.
    """
    if conversation == "direct":
        return "disallow"
    local = values.surfaces.get(surface, Surface()).silent_reply or SilentReply()
    shared = values.agents.defaults.silent_reply
    if conversation == "group":
        return local.group or shared.group or "allow"
    return local.internal or shared.internal or "allow"


def gpt5_personality(values: OpenClawConfig, provider: str | None = None) -> Personality:
    """Return the tone of the GPT-5 overlay: the overlay's own key, else the OpenAI plugin's, else `friendly`.

    The plugin's key counts only without a provider, or with one of OpenAI's (prompt-builder 5.2).
    """
    own = values.agents.defaults.prompt_overlays.gpt5.personality
    if own is not None:
        return PERSONALITIES[own]
    plugin = values.plugins.entries.get(SECOND_SOURCE)
    second = plugin.config.get("personality") if plugin else None
    if isinstance(second, str) and (provider is None or provider in GPT5_PROVIDERS):
        return PERSONALITIES.get(second.strip().lower(), "friendly")
    return "friendly"
