"""The older way to change a prompt: hooks that run before it is used, for changes that concern every model (S08).

A hook may replace the prompt, frame it with text of its own, or add to what the person said. What it adds to the system
prompt is fenced, so that nobody takes it for the workspace's. A hook that fails is reported and passed over.
"""

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, fields
from typing import Final, TypeAlias

from harness.foreign import ForeignCall, StillRunningError, TookTooLongError
from harness.prompt.boundary import disarmed, ensure, one_marker
from harness.prompt.hygiene import structured
from harness.prompt.sections.headings import foreign
from harness.prompt.sections.turn import IDENTITY_PREFIX, identity_line
from harness.workspace.hooks import HOOK_SECONDS

RULE: Final = "---"
_RULES: Final = re.compile(r"^[ \t]*-{3,}[ \t]*$", re.MULTILINE)
"""What would end the fence."""
FENCE: Final = "Added by a plugin of the gateway; this is no content of the workspace."


@dataclass(frozen=True, slots=True, kw_only=True)
class HookResult:
    """What one hook wants changed; empty texts change nothing."""

    system_prompt: str = ""
    """Takes the place of the whole prompt."""
    prepend_system_context: str = ""
    """Above the prompt, so above the cache boundary."""
    append_system_context: str = ""
    """At its end."""
    prepend_context: str = ""
    """Before the person's words."""
    append_context: str = ""
    """After them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HookContext:
    """What a hook is told of the run."""

    prompt: str
    """The system prompt as it would be used."""
    words: str
    """What the person said."""
    agent: str
    session: str
    model: str
    trigger: str


PromptHook: TypeAlias = Callable[[HookContext], "HookResult | Awaitable[HookResult | None] | None"]


@dataclass(frozen=True, slots=True)
class Changed:
    """The prompts of a run after every hook."""

    prompt: str
    words: str
    problems: tuple[str, ...] = ()
    """One sentence for each hook that failed."""


@dataclass(slots=True)
class PromptHooks:
    """The hooks of a gateway, in the order in which they were registered."""

    seconds: float = HOOK_SECONDS
    """How long one hook may take."""
    _hooks: list[tuple[str, ForeignCall[HookContext]]] = field(
        default_factory=list[tuple[str, ForeignCall[HookContext]]]
    )

    def register(self, hook: PromptHook, *, name: str) -> None:
        """Add a hook, sync or async; `name` appears in what is told of its failures."""
        self._hooks.append((name, ForeignCall(hook)))

    async def run(self, context: HookContext) -> Changed:
        """Ask every hook about the same prompts, and apply what they say."""
        results: list[HookResult] = []
        problems: list[str] = []
        for name, hook in self._hooks:
            try:
                result = _result(await hook(context, seconds=self.seconds))
            except TookTooLongError:
                problems.append(f"The hook {name} took longer than {self.seconds:g} s; its changes are left out.")
            except StillRunningError:
                problems.append(f"The hook {name} is still busy with an earlier turn; it was not asked.")
            except Exception as error:  # a hook may be anybody's: whatever it raises costs its own change and no turn
                problems.append(f"The hook {name} failed ({type(error).__name__}: {error}); its changes are left out.")
            else:
                results.extend(result)
        prompt, words = changed(context.prompt, context.words, results, model=context.model)
        return Changed(prompt, words, tuple(problems))


def _result(found: object) -> list[HookResult]:
    match found:
        case None:
            return []
        case HookResult():
            for each in fields(found):
                value: object = getattr(found, each.name)
                if not isinstance(value, str):
                    raise TypeError(f"its {each.name} is a {type(value).__name__} and no text")
            return [found]
        case _:
            raise TypeError(f"it returned a {type(found).__name__} and no HookResult")


def changed(prompt: str, words: str, results: Sequence[HookResult], *, model: str = "") -> tuple[str, str]:
    """Apply what hooks want to the system prompt and to the person's words.

    The last replacement counts. A replacement without a boundary marker gets one at its end, and the line that names
    the model, so that additions of the turn do not disturb what is cached.
    """
    replacements = [text for each in results if (text := each.system_prompt.strip())]
    if replacements:
        prompt = with_model_identity(ensure(one_marker(replacements[-1])), model)
    above = [fenced(each.prepend_system_context) for each in results]
    below = [fenced(each.append_system_context) for each in results]
    prompt = "\n\n".join(part for part in (*above, prompt, *below) if part)
    before = [structured(each.prepend_context) for each in results]
    after = [structured(each.append_context) for each in results]
    return prompt, "\n\n".join(part for part in (*before, words, *after) if part)


def fenced(text: str) -> str:
    """Frame what a plugin adds; empty when that is nothing."""
    body = _RULES.sub(r"\\\g<0>", disarmed(foreign(text)))
    return f"{RULE}\n{FENCE}\n{body}\n{RULE}" if body else ""


def with_model_identity(prompt: str, model: str) -> str:
    """Make a prompt name the model once: the first such line is replaced, others go, a missing one is appended."""
    line = identity_line(model)
    if not line:
        return prompt
    rows = prompt.replace("\r\n", "\n").split("\n")
    named = [place for place, row in enumerate(rows) if row.lstrip().startswith(IDENTITY_PREFIX)]
    if not named:
        return f"{prompt.rstrip()}\n\n{line}" if prompt.strip() else line
    rows[named[0]] = line
    return "\n".join(row for place, row in enumerate(rows) if place not in named[1:])
