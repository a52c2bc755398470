"""What stands in each request: lanes and settings in, typed parameters out.

Pure. Every request of a turn is built here, so that no field can be forgotten in one of them.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeVar

from codex_bridge.compatibility import InstructionChange
from codex_bridge.entries import NAMED_KEY
from codex_bridge.entries import of_chat as chat_names
from codex_bridge.lanes import JoinPlan, LanePlan
from codex_bridge.marks import Mark
from codex_bridge.wire.requests import (
    ApprovalPolicy,
    ApprovalsReviewer,
    CollaborationMode,
    CollaborationSettings,
    ContextEntry,
    ContextKind,
    DynamicTool,
    SandboxKind,
    SandboxMode,
    SandboxPolicy,
    TextInput,
    ThreadOpened,
    ThreadResumeParams,
    ThreadStartParams,
    TurnStartParams,
    TurnSteerParams,
)
from codex_bridge.wording import BLOCK_INTRO, OVER
from harness.layers import Layer, LayerName
from harness.lean_values import dataclass
from harness.masking import MASK
from harness.plan_tool import NAME as PLAN
from harness.projection import LONGEST
from harness.tools import name_of
from harness.turns import TurnRequest
from harness.units import utf16_units

if TYPE_CHECKING:
    from codex_bridge.wire.besides import ThreadForkParams

Opening = TypeVar("Opening", ThreadStartParams, ThreadResumeParams)
Tiered = TypeVar("Tiered", ThreadStartParams, ThreadResumeParams, TurnStartParams)
SERVICE_NAME: Final = "openclaw-codex-bridge"
DOC_BYTES: Final = 32_768
"""Codex's own limit for AGENTS.md, over which it cuts without a word (protocol reference, section 13)."""

OPENING_SANDBOX: Final[SandboxMode] = "read-only"
"""The sandbox that every thread is opened with; the real one goes with each turn.

A thread that is opened with more makes Codex note the working directory as trusted in its home. From then on it obeys
`.codex/config.toml` in the workspace, which can name programs that Codex starts outside of any sandbox and without
asking, and which a model could write (measured, `docs/measured.md`).
"""
_KIND_OF: Final[Mapping[SandboxMode, SandboxKind]] = MappingProxyType(
    {"read-only": "readOnly", "workspace-write": "workspaceWrite", "danger-full-access": "dangerFullAccess"}
)


@dataclass(frozen=True, slots=True)
class ThreadSettings:
    """What holds for every thread of an agent."""

    sandbox: SandboxMode = "workspace-write"
    """What the commands of its turns may do."""
    approval_policy: ApprovalPolicy = "on-request"
    subagents: bool = True
    """Whether the model may start agents of Codex's own."""
    direct_tools: bool = False
    """The model sees every tool at once, and looks for none."""
    without_tools: tuple[str, ...] = ()
    """Names of tools that are not registered."""
    on_change: InstructionChange = "tell"
    """What an edit of rules or instructions means for a conversation."""
    projection: int = LONGEST
    """UTF-16 units of what was said before that a fresh thread is told at most; 0 for nothing."""
    reviewer: ApprovalsReviewer = "user"
    """Who decides on what the policy asks about."""
    search: Mapping[str, object] = field(default_factory=dict[str, object])
    """Settings of Codex for searching the web."""
    service_tier: str | None = None
    """How fast the provider is to answer: the name of a tier; empty: its standard; None: whatever the thread has."""
    reserve_tokens: int = 0
    """Tokens of the model's window that a conversation must leave free, or Codex summarises it; 0: as Codex likes,
    which is a tenth of the window, and never less (measured)."""
    reads_rules: bool = True
    """Codex may read AGENTS.md from the working directory by itself; otherwise the rules travel as a copy. A server
    that somebody else runs may see another disk."""
    workdir: str | None = None
    """The workspace as the server's machine names it; None where it has the same path."""
    loads_standard_tier: bool = False
    """A thread that is loaded again has the standard tier unless `service_tier` says otherwise: 0.171 keeps with the
    thread what it once had."""


def workdir_of(request: TurnRequest, settings: ThreadSettings) -> str:
    """The folder in which a thread's commands start."""
    return settings.workdir or str(request.workspace)


def is_apart(request: TurnRequest) -> bool:
    """Whether a turn needs a thread of its own.

    A light one does, too: a thread keeps the rules and instructions that it began with, whatever a turn asks for.
    """
    return request.isolated or request.light


def thread_start(
    request: TurnRequest,
    lanes: LanePlan,
    settings: ThreadSettings,
    *,
    tools: Sequence[DynamicTool] = (),
    ephemeral: bool = False,
    window: int | None = None,
) -> ThreadStartParams:
    """Parameters of thread/start. The tools stay with the thread; no later request can change them.

    Codex writes nothing of an ephemeral thread down, and it can never be resumed. `window` is that of the model, in
    tokens, where it is known.
    """
    params = ThreadStartParams(
        model=request.model,
        cwd=workdir_of(request, settings),
        approval_policy=settings.approval_policy,
        approvals_reviewer=settings.reviewer,
        sandbox=OPENING_SANDBOX,
        config=thread_config(lanes, settings)
        | compaction_setting(settings, window)
        | plan_setting(request, settings)
        | shell_variables(request.environment),
        developer_instructions=lanes.thread_developer,
        personality="none",
        service_name=SERVICE_NAME,
    )
    if tools:
        params = params.model_copy(update={"dynamic_tools": list(tools)})
    params = _with_tier(params, settings.service_tier)
    return params.model_copy(update={"ephemeral": True}) if ephemeral or is_apart(request) else params


def thread_resume(
    thread_id: str, request: TurnRequest, lanes: LanePlan, settings: ThreadSettings, *, window: int | None = None
) -> ThreadResumeParams:
    """Parameters of thread/resume.

    The developer instructions go with every resume: Codex keeps them for the session only, and without them they
    are gone at the next compaction and for every new subagent (protocol reference, 3.2).
    """
    tier = "" if settings.service_tier is None and settings.loads_standard_tier else settings.service_tier
    params = ThreadResumeParams(
        thread_id=thread_id,
        model=request.model,
        cwd=workdir_of(request, settings),
        approval_policy=settings.approval_policy,
        approvals_reviewer=settings.reviewer,
        sandbox=OPENING_SANDBOX,
        config=thread_config(lanes, settings)
        | compaction_setting(settings, window)
        | plan_setting(request, settings)
        | shell_variables(request.environment),
        developer_instructions=lanes.thread_developer,
        personality="none",
    )
    return _with_tier(params, tier)


def thread_fork(thread_id: str, request: TurnRequest, lanes: LanePlan, settings: ThreadSettings) -> "ThreadForkParams":
    """Parameters of thread/fork: what is opened with goes along as on a resume, and the tools are the thread's own.

    The mode begins anew in a fork: its first turn says the texts of the turn again, which the history holds already.
    """
    from codex_bridge.wire.besides import ThreadForkParams  # no turn forks

    return ThreadForkParams(
        thread_id=thread_id,
        model=request.model,
        cwd=workdir_of(request, settings),
        approval_policy=settings.approval_policy,
        sandbox=OPENING_SANDBOX,
        config=thread_config(lanes, settings) | plan_setting(request, settings) | shell_variables(request.environment),
        developer_instructions=lanes.thread_developer,
    )


def turn_start(
    request: TurnRequest,
    lanes: LanePlan,
    thread: ThreadOpened,
    settings: ThreadSettings,
    *,
    with_context: bool = False,
    ended: frozenset[str] = frozenset(),
    context_round: int = 0,
    heard: int = 0,
) -> TurnStartParams:
    """Parameters of turn/start.

    The mode's model and effort are always filled in: an empty model is sent to the provider as it is, and a missing
    effort resets the thread's (protocol reference, 3.4).

    Args:
        request: The turn.
        lanes: Its texts.
        thread: The thread as it was opened.
        settings: What its commands may do.
        with_context: Quote the files of the context block before the words.
        ended: Keys of entries of the turn before that hold no longer, as they were said.
        context_round: See `in_round`.
        heard: The number of the last row of the chat's transcript that the thread knows when it has this turn.
    """
    once = {**lanes.edits, **lanes.turn_once}
    added = {
        **{in_round(key, context_round): text for key, text in lanes.standing.items()},
        **dict.fromkeys(sorted(ended), OVER),
        **{in_round(key, context_round): text for key, text in once.items()},
    }
    context = _entries(added)
    context |= {key: ContextEntry(kind="untrusted", value=text) for key, text in lanes.turn_quoted.items()}
    words = lanes.turn_words or ("",)
    texts = [lanes.turn_context, *words] if with_context else [*words]
    if context and not lanes.takes_context:
        texts, context = [_block(context), *texts], {}
    params = TurnStartParams(
        thread_id=thread.thread.id,
        input=[TextInput(text=text) for text in texts],
        client_user_message_id=str(mark_of(request.message_key, request.composition.layers, heard)),
        approvals_reviewer=settings.reviewer,
        sandbox_policy=_sandbox_policy(settings.sandbox),
        collaboration_mode=CollaborationMode(
            mode="default",
            settings=CollaborationSettings(
                model=request.model or thread.model,
                reasoning_effort=request.effort or thread.reasoning_effort,
                developer_instructions=lanes.turn_developer,
            ),
        ),
        personality="none",
    )
    params = _with_tier(params, settings.service_tier)
    return params.model_copy(update={"additional_context": context}) if context else params


def _block(context: Mapping[str, ContextEntry]) -> str:
    """The additional context as a part of the input, framed as the server would; it says all that holds each time."""
    names = {key: key if entry.kind == "application" else f"external_{key}" for key, entry in context.items()}
    parts = [f"<{names[key]}>\n{context[key].value}\n</{names[key]}>" for key in sorted(context)]
    return "\n\n".join([BLOCK_INTRO, *parts])


def mark_of(key: str, layers: Iterable[Layer], heard: int) -> Mark:
    """What is kept with some words, by which they are recognised: the ids of all messages that they come from.

    Args:
        key: That of the first.
        layers: The words.
        heard: See `turn_start`.
    """
    said = [layer.source for layer in layers if layer.name is LayerName.USER_TEXT]
    return Mark(key, heard, tuple(said[1:]))


def turn_steer(
    mark: Mark,
    joins: JoinPlan,
    lanes: LanePlan,
    *,
    thread_id: str,
    turn_id: str,
    context_round: int,
) -> TurnSteerParams:
    """Parameters of turn/steer.

    The entries that hold go along: what they leave out the server takes for forgotten, and the next turn would say all
    of it anew (measured). Those that it knows it does not say again.

    Args:
        mark: What is kept with the words.
        joins: What is said.
        lanes: The texts of the turn.
        thread_id: The thread.
        turn_id: Its running turn.
        context_round: See `in_round`.
    """
    standing = {**lanes.mapped, **joins.named} if lanes.takes_context else joins.named
    context = _entries({in_round(key, context_round): text for key, text in standing.items()})
    context |= {key: ContextEntry(kind="untrusted", value=text) for key, text in joins.quoted.items()}
    texts = [*joins.words]
    if context and not lanes.takes_context:
        texts, context = [_block(context), *texts], {}
    params = TurnSteerParams(
        thread_id=thread_id,
        input=[TextInput(text=text) for text in texts],
        expected_turn_id=turn_id,
        client_user_message_id=str(mark),
    )
    return params.model_copy(update={"additional_context": context}) if context else params


def without_words(begun: TurnStartParams, lanes: LanePlan, *, context_round: int) -> TurnStartParams:
    """Parameters of turn/start for one more turn like `begun` that brings nothing new, and answers what was said last.

    Args:
        begun: What the turn before began with.
        lanes: Its texts.
        context_round: See `in_round`.
    """
    standing = lanes.mapped if lanes.takes_context else dict[str, str]()
    given: dict[str, Any] = {name: getattr(begun, name) for name in begun.model_fields_set - _OF_THE_WORDS}
    given["input"] = []
    if context := _entries({in_round(key, context_round): text for key, text in standing.items()}):
        given["additional_context"] = context
    return TurnStartParams(**given)


_OF_THE_WORDS: Final = frozenset({"input", "client_user_message_id", "additional_context"})


def _entries(texts: Mapping[str, str]) -> dict[str, ContextEntry]:
    return {key: ContextEntry(kind=_kind_of(key), value=text) for key, text in texts.items()}


def _with_tier(params: Tiered, tier: str | None) -> Tiered:
    """The same with the service tier, null for the standard one, if there is a word about it."""
    return params if tier is None else params.model_copy(update={"service_tier": tier or None})


def _kind_of(key: str) -> ContextKind:
    """Whose words stand under a key; what ends the words of people outside has no more weight than they had."""
    return "untrusted" if key.startswith(f"{NAMED_KEY}_") else "application"


def in_round(key: str, context_round: int) -> str:
    """The key of an entry once the server has forgotten the additional context so often.

    It says an entry again only under another key or with another text (protocol reference, 3.7).
    """
    return f"{key}_r{context_round}" if context_round else key


def of_round(said: str, context_round: int) -> str:
    """Those of some names that were said in a round; a compaction leaves none of an earlier one."""
    return " ".join(name for name in said.split() if in_round(_key_of(name), context_round) == name)


def now_said(
    said: str, added: Iterable[str], context_round: int, *, of_chat: bool = True
) -> tuple[str, frozenset[str]]:
    """What a conversation has heard under names once a turn with these keys has begun, and the names that it ends.

    A name of an earlier round ends with its key: the text of today stands under another name, which ends only itself.

    Args:
        said: What it has heard before.
        added: The keys of the turn.
        context_round: See `in_round`.
        of_chat: The turn says all that holds of its chat; another one ends nothing of that.
    """
    keys = frozenset(added)
    now = {in_round(key, context_round) for key in keys}
    before = set(said.split()) - now
    ended = frozenset(name for name in before if _key_of(name) not in keys)
    if not of_chat:
        ended -= chat_names(ended)
    return " ".join(sorted(now | (before - ended))), ended


def saved_by_revert(lanes: LanePlan, said: str, context_round: int, answered: int) -> tuple[int, int]:
    """How many UTF-16 units leave a conversation with a turn for good, and how many are said in it once more for that.

    The server forgets the whole additional context with a turn that is taken back (protocol reference, section 11). So
    what had been said under the same names before comes again. What only this turn said goes, and with it the words
    that would have to end it.

    Args:
        lanes: The texts of the turn.
        said: Names under which the conversation was told before what holds.
        context_round: See `in_round`.
        answered: Units of what the turn itself wrote and read.
    """
    known = set(said.split())
    removed, returning = answered + utf16_units(lanes.turn_input), 0
    for key, text in lanes.standing.items():
        if in_round(key, context_round) in known:
            returning += utf16_units(text)
        else:
            removed += utf16_units(text) + len(OVER)
    return removed, returning


def _key_of(name: str) -> str:
    key, mark, context_round = name.rpartition("_r")
    return key if mark and context_round.isdigit() else name


@cache
def _sandbox_policy(mode: SandboxMode) -> SandboxPolicy:
    return SandboxPolicy(type=_KIND_OF[mode])


def doc_room(lanes: LanePlan) -> int:
    """Bytes of AGENTS.md that Codex may read; 0 for none.

    Room for the whole file as it is on disk, blank ends included, and for it to grow before the next resume.
    """
    agents = lanes.agents_text
    return 0 if agents is None else max(DOC_BYTES, 2 * len(agents.encode("utf-8", "replace")))


def thread_config(lanes: LanePlan, settings: ThreadSettings) -> dict[str, object]:
    """The settings of Codex that every thread is opened with."""
    # The one switch that works on every model (protocol reference, 3.6).
    off: dict[str, object] = {} if settings.subagents else {"agents.enabled": False}
    return (
        off
        | dict(settings.search)
        | {
            # Room for the whole file as it is on disk, blank ends included, and for it to grow before the next resume.
            # Zero when none should be read: one that the guard refused must not come in by this door.
            "project_doc_max_bytes": doc_room(lanes),
            # Codex would also read the AGENTS.md files of every folder up to a repository's root (measured).
            "project_root_markers": list[str](),
            # The gateway lists the agent's skills itself; Codex's own block would list them twice.
            "skills.include_instructions": False,
        }
    )


LEAST_TOKENS: Final = 8_000
"""Tokens that a conversation may hold at least, whatever is to stay free (harness reference, 7.3)."""


def compaction_setting(settings: ThreadSettings, window: int | None) -> dict[str, object]:
    """The setting by which Codex summarises a conversation before its window is so full; none where none is asked for.

    It is obeyed on start and on resume, and what is more than nine tenths of the window counts as those (measured).
    """
    if not settings.reserve_tokens or window is None:
        return {}
    least = min(LEAST_TOKENS, window // 2)
    return {"model_auto_compact_token_limit": max(window - settings.reserve_tokens, least)}


OWN_PLAN: Final[Mapping[str, object]] = MappingProxyType({"tools.update_plan.enabled": True})


def plan_setting(request: TurnRequest, settings: ThreadSettings) -> dict[str, object]:
    """The setting that offers Codex's own `update_plan` to an agent that has such a tool; off otherwise (measured).

    Ours is never registered beside it, see `codex_bridge.tools.NATIVE`.
    """
    left_out = {name.strip().lower() for name in settings.without_tools}
    planned = PLAN not in left_out and any(name_of(tool) == PLAN for tool in request.tools)
    return dict(OWN_PLAN) if planned else {}


_SHELL_VARIABLE: Final = "shell_environment_policy.set."


def shell_variables(environment: Mapping[str, str]) -> dict[str, object]:
    """The settings that give the commands of a thread some variables.

    Not the environment of the server, which would obey some of them itself, an `OPENAI_BASE_URL` for instance. Codex
    writes none of these settings down (measured, `docs/measured.md`).
    """
    return {f"{_SHELL_VARIABLE}{name}": value for name, value in environment.items()}


def without_variables(params: Opening) -> Opening:
    """The same parameters, fit to be kept and shown: without the values of variables, which may be keys."""
    config = params.config or {}
    kept = {name: MASK if name.startswith(_SHELL_VARIABLE) else value for name, value in config.items()}
    return params if kept == config else params.model_copy(update={"config": kept})
