"""The last step before a model is asked: the assembled prompt and the person's words, after every hook.

What goes to the model, and nothing else, comes from here; a preview shows `Assembled`, which is the same without hooks.
"""

from dataclasses import dataclass
from typing import Final

from harness.gather import Gathered
from harness.layers import LayerName
from harness.prompt.adapters import Adapter, Assembled, LiveFacts, analysis_of, assemble
from harness.prompt.hooks import HookContext, PromptHooks
from harness.prompt.registry import Extensions
from harness.settings.agent import AgentSettings
from harness.turns import Trigger
from harness.workspace.warning_text import user_prompt_with_warning

_SAID: Final = (LayerName.LEFT_OUT, LayerName.QUOTES, LayerName.USER_TEXT)
"""What stands in the message itself where a backend has no other place for it, in the composition's order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """What a model gets."""

    system_prompt: str
    """With its boundary marker; empty when the model is asked directly."""
    words: str
    assembled: Assembled
    problems: tuple[str, ...]
    """One sentence for each extension or hook that failed."""


async def prepare(
    adapter: Adapter,
    settings: AgentSettings,
    gathered: Gathered,
    live: LiveFacts,
    *,
    extensions: Extensions | None = None,
    hooks: PromptHooks | None = None,
) -> Prepared:
    """Make the prompt of a turn, and let the hooks change it.

    Args:
        adapter: Where it is for. A CLI agent is told of cut files in the words, since its prompt may be set only once.
        settings: What is configured for the agent.
        gathered: The workspace as it is now, and the words.
        live: What the gateway knows of the turn.
        extensions: What installed packages add.
        hooks: The hooks of the gateway.
    """
    made = assemble(adapter, settings, gathered, live, extensions=extensions)
    words = "\n\n".join(each.text for each in gathered.composition.layers if each.name in _SAID and each.text)
    if adapter is Adapter.CLI and made.truncation.shown:
        poll = words if live.trigger is Trigger.HEARTBEAT else None
        words = user_prompt_with_warning(words, analysis_of(gathered), heartbeat_prompt=poll)
    context = HookContext(
        prompt="" if live.raw else made.prompt.text,
        words=words,
        agent=settings.id,
        session=live.session_key,
        model=live.runtime.model,
        trigger=live.trigger.value,
    )
    if hooks is None:
        return Prepared(system_prompt=context.prompt, words=words, assembled=made, problems=made.problems)
    after = await hooks.run(context)
    return Prepared(
        system_prompt=after.prompt, words=after.words, assembled=made, problems=(*made.problems, *after.problems)
    )
