"""What models of the GPT-5 family get beside the prompt: a contract on how to work, and a friendlier manner.

Pure (S09 to S11, prompt-builder 5.2). Native Codex threads do not get it.
"""

import re
from typing import Final

from harness.prompt.contributions import Contribution
from harness.prompt.sections.headings import Heading
from harness.settings.agent import Personality

_FAMILY: Final = re.compile(r"(?:^|[/:])gpt-5(?=[.-]|$)")

CONTRACT: Final = """\
<persona_latch>
Keep the character that your files give you, in every turn and through long work. It gives way to correctness, safety \
and a required format.
</persona_latch>
<execution_policy>
Do at once what is clear and can be undone. Ask before what cannot be undone, reaches outside, destroys, or touches \
something private.
When you are blocked, ask one short question. The newest instruction of the user wins over an older one.
Never show the syntax of internal tool calls.
</execution_policy>
<tool_discipline>
Prefer what a tool shows to what you remember. Find out first what a step needs.
Run independent look-ups side by side. After an empty result try another query before you conclude anything.
Verify with the smallest check that proves the point.
</tool_discipline>
<output_contract>
Give the parts that were asked for, in the order and format that was asked for, and nothing else. Be brief and complete.
</output_contract>
<completion_contract>
The work is incomplete until every item is done, or named as blocked with the reason. Check before you finish; if \
nothing can check it, say so and why.
</completion_contract>"""
"""The stable prefix; there whatever the personality is."""

FRIENDLY: Final = f"""\
{Heading.INTERACTION_STYLE.value}
Be a warm, attentive colleague. Show feeling where it fits, and never claim a body or a life of your own.
Disagree kindly and with reasons. Where there is a choice, give two or three options and say which you would take.
In chat write as people do: short, natural, an emoji now and then."""

HEARTBEATS: Final = f"""\
{Heading.HEARTBEAT_STYLE.value}
Find out what is going on, then do something useful about it. No rote loops, no status that was told before. Write to \
the person only when there is real news."""


def is_gpt5(model: str) -> bool:
    """Whether a model id is of the family: gpt-5, gpt-5.5, openai/gpt-5-mini, but not gpt-50 or gpt-5o."""
    return _FAMILY.search(model.strip().lower()) is not None


def gpt5_contribution(
    model: str, *, personality: Personality = "friendly", heartbeat: bool = False, enabled: bool = True
) -> Contribution | None:
    """Return the overlay for a model, or None when it is not of the family or the overlay is off.

    Args:
        model: The model's id, with or without its provider.
        personality: "off" takes the friendlier manner away, and nothing else.
        heartbeat: The run is a heartbeat. What is said about these goes below the cache boundary, so that a heartbeat
            and a chat share the part above.
        enabled: False for no overlay at all.
    """
    if not enabled or not is_gpt5(model):
        return None
    friendly = personality != "off"
    return Contribution(
        stable_prefix=CONTRACT,
        interaction_style=FRIENDLY if friendly else "",
        dynamic_suffix=HEARTBEATS if friendly and heartbeat else "",
    )
