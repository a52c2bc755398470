"""The system prompt of an agent that does not run on Codex.

Three layers: the renderer (`build_agent_system_prompt`), what the configuration says
(`resolve_agent_system_prompt_config`), and the adapters that gather live facts (`assemble`). `EmbeddedRuns` leads
through all three, from a message to the prompt.
"""

from typing import TYPE_CHECKING

from harness.lazy import lazily

if TYPE_CHECKING:
    from harness.prompt.account import PromptAccount, account_of
    from harness.prompt.adapters import Adapter, Assembled, LiveFacts, assemble
    from harness.prompt.boundary import MARKER, Halves, ensure, insert_after, split, strip
    from harness.prompt.config import PromptConfig, configured, resolve_agent_system_prompt_config
    from harness.prompt.contributions import Contribution, contribution, merged
    from harness.prompt.facts import AgentFacts, ChatFacts, Mode, SubagentFacts, Surface, ToolFacts, TurnFacts
    from harness.prompt.gpt5 import gpt5_contribution
    from harness.prompt.hooks import HookContext, HookResult, PromptHooks
    from harness.prompt.live import Cause, EmbeddedRuns, of_message
    from harness.prompt.machine import find_docs, machine_facts
    from harness.prompt.prepare import Prepared, prepare
    from harness.prompt.registry import Extensions, installed
    from harness.prompt.render import SystemPrompt, build_agent_system_prompt

_MODULES = {
    "MARKER": "boundary",
    "Adapter": "adapters",
    "AgentFacts": "facts",
    "Assembled": "adapters",
    "Cause": "live",
    "ChatFacts": "facts",
    "Contribution": "contributions",
    "EmbeddedRuns": "live",
    "Extensions": "registry",
    "Halves": "boundary",
    "HookContext": "hooks",
    "HookResult": "hooks",
    "LiveFacts": "adapters",
    "Mode": "facts",
    "PromptAccount": "account",
    "Prepared": "prepare",
    "PromptConfig": "config",
    "PromptHooks": "hooks",
    "SubagentFacts": "facts",
    "Surface": "facts",
    "SystemPrompt": "render",
    "ToolFacts": "facts",
    "TurnFacts": "facts",
    "account_of": "account",
    "assemble": "adapters",
    "build_agent_system_prompt": "render",
    "configured": "config",
    "contribution": "contributions",
    "ensure": "boundary",
    "find_docs": "machine",
    "gpt5_contribution": "gpt5",
    "insert_after": "boundary",
    "installed": "registry",
    "machine_facts": "machine",
    "merged": "contributions",
    "of_message": "live",
    "prepare": "prepare",
    "resolve_agent_system_prompt_config": "config",
    "split": "boundary",
    "strip": "boundary",
}

__all__ = [
    "MARKER",
    "Adapter",
    "AgentFacts",
    "Assembled",
    "Cause",
    "ChatFacts",
    "Contribution",
    "EmbeddedRuns",
    "Extensions",
    "Halves",
    "HookContext",
    "HookResult",
    "LiveFacts",
    "Mode",
    "Prepared",
    "PromptAccount",
    "PromptConfig",
    "PromptHooks",
    "SubagentFacts",
    "Surface",
    "SystemPrompt",
    "ToolFacts",
    "TurnFacts",
    "account_of",
    "assemble",
    "build_agent_system_prompt",
    "configured",
    "contribution",
    "ensure",
    "find_docs",
    "gpt5_contribution",
    "insert_after",
    "installed",
    "machine_facts",
    "merged",
    "of_message",
    "prepare",
    "resolve_agent_system_prompt_config",
    "split",
    "strip",
]

__getattr__ = lazily(__name__, {name: f"harness.prompt.{module}" for name, module in _MODULES.items()})
