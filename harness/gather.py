"""What a turn's composition is made from: reads the workspace, lists the skills, routes the memory.

One `Gatherer` serves one agent over all its turns. What did not change is neither read nor built again.
"""

from collections.abc import Callable, Mapping
from dataclasses import field, fields, replace
from datetime import UTC, datetime
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Final

import anyio
from anyio.abc import TaskStatus

from harness.compose import ONLY_POINTED_TO, Material, compose, outsiders
from harness.conversations import NOTHING, Held
from harness.habits import Habits
from harness.heartbeat.convention import Ack
from harness.inbound import Sender
from harness.layers import Composition, Layer, LayerName, Lifetime, Trust
from harness.lean_values import dataclass
from harness.memory.access import STANDINGS, Audience, Standing
from harness.memory.routing import MemoryFacts, MemoryRoute, route_memory
from harness.replies.mode import Delivery, possible_delivery
from harness.settings.agent import AgentSettings
from harness.settings.files import ContextInjection, FileLimits, WarningMode
from harness.settings.memory import ResetAction
from harness.settings.skills import SkillPlaces, SkillSettings
from harness.skills.catalogue import ListingOptions, SkillCatalogue
from harness.skills.layer import skills_layer
from harness.skills.library import SkillLibrary
from harness.skills.listing import listing_options
from harness.skills.wording import Loading, Shell
from harness.turns import Trigger
from harness.workspace.bootstrap import Bootstrap, BootstrapFiles, BootstrapRequest
from harness.workspace.budget import ContextFiles, build_context, comes_and_goes
from harness.workspace.entries import LeftOutFile, Notice, NoticeCode, WorkspaceFile
from harness.workspace.filters import NO_FILE
from harness.workspace.first_run import (
    FirstRunFacts,
    FirstRunMode,
    bootstrap_text,
    first_run_mode,
    for_mode,
    is_pending,
)
from harness.workspace.hooks import BootstrapHooks
from harness.workspace.injection import reason_to_skip
from harness.workspace.memory_files import MemoryKind
from harness.workspace.names import AGENTS, HEARTBEAT, ContextMode, RunKind, session_kind
from harness.workspace.reader import GuardedReader
from harness.workspace.reads import Content, Refused
from harness.workspace.warn_once import WarnOnce

if TYPE_CHECKING:
    from harness.prompt.facts import ChatFacts
    from harness.skills.environment import SkillEnvironment
    from harness.workspace.seeding import Seeded
    from harness.workspace.warning_history import TruncationReport

RUN_OF: Final = {
    Trigger.CHAT: RunKind.DEFAULT,
    Trigger.HEARTBEAT: RunKind.HEARTBEAT,
    Trigger.CRON: RunKind.CRON,
}
NO_WORDS: Final = Layer(LayerName.USER_TEXT, "", Lifetime.INPUT, Trust.OPERATOR, "")
"""Stands for the words where turns are compared without them."""
MOST_KINDS: Final = 32
"""Compositions that are remembered: one for each chat, trigger and tool list."""
NO_SKILLS: Final = SkillCatalogue()
CHECK_COMMAND: Final = "codex-bridge skills list"
"""What a note in a shortened list tells a person to run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """What is known of a turn before the workspace is looked at."""

    trigger: Trigger
    audience: Audience
    words: Layer
    session_key: str | None = None
    tools: frozenset[str] = frozenset()
    """Names of the tools that the turn offers."""
    light: bool = False
    """The run asked for light context."""
    commitments_only: bool = False
    """A heartbeat that is about promises alone, and not about HEARTBEAT.md."""
    ack: Ack = Ack.TOKEN
    """How a heartbeat says that nothing needs attention."""
    reset: ResetAction | None = None
    """The message is a bare /new or /reset: the gateway's own prompt, with recent daily notes, takes its place."""
    held: Held = NOTHING
    """What the conversation holds already."""
    chat: "ChatFacts | None" = None
    """The chat that a message came from; None for a turn that no chat caused."""
    senders: tuple[Sender, ...] = ()
    """Who wrote in it: of several messages, who wrote each of them."""
    left_out: Layer | None = None
    """What is said of messages before it that were not kept."""
    quotes: Layer | None = None
    """Words of others that the message brings along."""
    more: tuple[Layer, ...] = ()
    """What was said after it before the turn could begin, with what each message brings along before its words."""

    @property
    def run(self) -> RunKind:
        """What started the run, as the files are chosen by it."""
        return RunKind.COMMITMENT_ONLY if self.commitments_only else RUN_OF[self.trigger]


_OF_ONE_TURN: Final = frozenset({"words", "held", "senders", "left_out", "quotes", "more"})
_REST: Final = attrgetter(*(each.name for each in fields(Situation) if each.name not in _OF_ONE_TURN))
"""All of a situation but the messages, who wrote them, and the conversation.

A turn that is like one before makes no new `Situation`.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    """A turn's composition, and all that it was made from."""

    composition: Composition
    files: ContextFiles
    agents_file: WorkspaceFile | None
    catalogue: SkillCatalogue
    memory: MemoryRoute
    first_run: FirstRunMode
    notices: tuple[Notice, ...]
    limits: FileLimits
    carries_files: bool
    """A conversation that hears the turn need not be told the files again, by `contextInjection`."""
    cuts_told: tuple[str, ...]
    """Signatures of the cut files that a conversation that hears the turn was told of; only where once is enough."""
    truncation: "TruncationReport | None"
    """What was cut and whether the model is told; None when everything fitted."""
    environment: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """Variables that the agent's skills bring to its commands."""


@dataclass(frozen=True, slots=True)
class _Known:
    """What was composed for one kind of turn, and what it was made from."""

    found: BootstrapFiles
    catalogue: SkillCatalogue
    first_run: FirstRunMode
    gathered: Gathered
    """Without the words."""


class Gatherer:
    """Gathers for one agent.

    Args:
        settings: What the configuration says about the agent.
        habits: What the backend does by itself.
        loading: How the backend's model opens a skill's file.
        reader: Reads files and remembers them; may be shared by all agents of a gateway.
        hooks: The gateway's `agent:bootstrap` hooks; those of the settings run after them, and can switch all off.
        now: The time, with a zone.
    """

    def __init__(
        self,
        settings: AgentSettings,
        habits: Habits,
        *,
        loading: Loading | None = None,
        reader: GuardedReader | None = None,
        hooks: BootstrapHooks | None = None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.settings = settings
        self._known: dict[tuple[object, ...], _Known] = {}
        self._warnings = WarnOnce()
        self._now = now
        self.habits = habits
        self._reader = reader or GuardedReader()
        self._bootstrap = Bootstrap(self._reader, hooks=_hooks(settings, self._reader, hooks), home=str(Path.home()))
        places, self._plugin_problems = _with_plugins(settings.skills)
        self.library = SkillLibrary(places, limits=settings.skills.limits)
        files = settings.files
        # A backend that keeps what it was told gets nothing twice anyway, and would take back what is left out.
        self._skips = files.injection is ContextInjection.CONTINUATION_SKIP and not habits.keeps_what_it_was_told
        self._lends = any(entry.env or entry.api_key for entry in settings.skills.rules.entries.values())
        self._tells_once = files.warning is WarningMode.ONCE
        self._options: ListingOptions = listing_options(
            settings.skills, loading=loading or Shell(), check_command=CHECK_COMMAND
        )

    @property
    def options(self) -> ListingOptions:
        """How the list of skills is written."""
        return self._options

    async def prepare(self, state_dir: Path) -> "Seeded":
        """Make the agent's folder and write the files that are missing in it; for the start of an agent.

        What is there stays as it is, and `skipBootstrap` keeps it at that. A folder that is empty and was in use within
        the last day is left alone, since it is rather not mounted than new.

        Args:
            state_dir: The gateway's own folder, where it notes which workspaces were in use.

        Raises:
            WorkspaceError: The folder is suddenly empty.
            OSError: The folder, or a file in it, cannot be written.
        """
        from harness.workspace.seeding import ensure_workspace  # once in the life of an agent

        return await ensure_workspace(
            str(self.settings.workspace),
            state_dir=str(state_dir),
            now=self._now(),
            reader=self._reader,
            options=self.settings.files.seed,
        )

    async def watch(
        self,
        on_change: Callable[[], None] | None = None,
        *,
        task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED,
    ) -> None:
        """Notice edits of skills without a look at the disk on each turn, until cancelled.

        For a gateway that runs for long: `await group.start(gatherer.watch)`. Returns at once when the configuration
        switches it off; then, and without it, every turn looks for itself. `on_change` hears of each edit.
        """
        settings = self.settings.skills
        if settings.watch:
            from harness.skills.watching import watch_skills  # only a gateway that runs for long watches

            await watch_skills(
                self.library, debounce_ms=settings.watch_debounce_ms, on_change=on_change, task_status=task_status
            )
        else:
            task_status.started()

    async def gather(self, situation: Situation) -> Gathered:
        """Look at the workspace as it is now and compose the turn."""
        settings = self.settings
        found = await self._bootstrap.resolve(
            BootstrapRequest(
                str(settings.workspace),
                settings.id,
                session_key=situation.session_key,
                session_id=situation.held.id,
                config=settings.skills.rules.config,
                run=situation.run,
                context=ContextMode.LIGHTWEIGHT if situation.light else ContextMode.FULL,
                heartbeat=settings.heartbeat,
            )
        )
        catalogue = NO_SKILLS if situation.light else self.library.catalogue(settings.skills.rules, self._options)
        held = self._that_matters(situation.held)
        kind = (*_REST(situation), held)
        known = self._known.get(kind)
        if known is None or known.catalogue is not catalogue or (known.found is not found and known.found != found):
            known = self._composed(replace(situation, words=NO_WORDS, held=held), found, catalogue)
            self._known[kind] = known
            while len(self._known) > MOST_KINDS:
                del self._known[next(iter(self._known))]
        last = self._messages(situation, self._words(situation, known.first_run))
        if situation.held.compacted and (refresh := self._refresh(situation, found)) is not None:
            last = (refresh, *last)
        composition = known.gathered.composition
        return replace(known.gathered, composition=Composition((*composition.layers, *last), composition.left_out))

    def _that_matters(self, held: Held) -> Held:
        """What of a conversation decides about the files: few agents are set up so that anything does."""
        skips, told = self._skips and held.holds_files, held.cuts_told if self._tells_once else ()
        return Held(holds_files=skips, cuts_told=told) if skips or told else NOTHING

    def _refresh(self, situation: Situation, found: BootstrapFiles) -> Layer | None:
        """What is said after a compaction; None when nothing is, and on turns that may vanish or keep their words."""
        settings = self.settings
        if not settings.post_compaction_sections or situation.light or situation.trigger is Trigger.HEARTBEAT:
            return None
        from harness.clock import time_lines  # conversations are compacted rarely
        from harness.memory.refresh import post_compaction_text

        rules = next((file for file in found.files if file.name == AGENTS and file.memory is None), None)
        now, zone = self._now(), settings.time.zone
        text = post_compaction_text(
            rules.text if rules else "",
            settings.post_compaction_sections,
            quoted=not self.habits.reads_agents_file,
            today=now.astimezone(zone).date(),
            max_units=settings.excerpts.post_compaction_max_chars,
            time_lines=time_lines(now, zone, clock=settings.time.clock),
        )
        name = LayerName.REFRESH
        return None if text is None else Layer(name, name.value, Lifetime.ONCE, Trust.OPERATOR, text)

    def _composed(self, situation: Situation, found: BootstrapFiles, catalogue: SkillCatalogue) -> "_Known":
        """Compose all but the words."""
        settings = self.settings
        route = self._route(situation, found.files)
        first_run = _first_run(found, situation)
        skipped = reason_to_skip(
            settings.files.injection,
            run=situation.run,
            first_run=first_run,
            already_sent=situation.held.holds_files,
        )
        files, left_out, agents = self._sift(found.files, situation, route, first_run, skipped)
        # What only some turns get comes last into the total: it takes no room from what every turn gets.
        context = build_context(sorted(files, key=comes_and_goes), settings.files.limits)
        truncation = self._truncation(files, context, situation.held) if context.notices else None
        heartbeat = next((file for file in found.files if file.name == HEARTBEAT), None)
        on_heartbeat = situation.trigger is Trigger.HEARTBEAT
        material = Material(
            trigger=situation.trigger,
            files=context,
            agents_file=agents,
            left_out=(*found.left_out, *left_out),
            memory_note=self._note(route, found.files),
            memory_note_reason="" if route.note else route.note_reason,
            memory_reason="" if route.content else route.content_reason,
            group=self._group(situation),
            names=self._names(situation),
            cuts=self._cuts(truncation),
            skills=skills_layer(catalogue),
            heartbeat_guidance=_guidance(situation.ack) if on_heartbeat and self._guides(situation) else "",
            heartbeat_pointer=_pointer(heartbeat) if on_heartbeat and self.habits.points_to_heartbeat_file else None,
            light=situation.light,
        )
        environment = self._environment() if self._lends else None
        gathered = Gathered(
            composition=compose(material, self.habits),
            files=context,
            agents_file=agents,
            catalogue=catalogue,
            memory=route,
            first_run=first_run,
            notices=(*found.notices, *context.notices, *_refusals(environment), *self._plugin_problems),
            limits=settings.files.limits,
            carries_files=self._skips and skipped is None and not situation.light,
            cuts_told=truncation.seen if truncation and self._tells_once else (),
            truncation=truncation,
            environment=environment.values if environment else {},
        )
        key = situation.session_key or situation.trigger.value
        self._warnings.warn(gathered.notices, workspace=str(settings.workspace), session_key=key)
        return _Known(found, catalogue, first_run, gathered)

    def _guides(self, situation: Situation) -> bool:
        # A backend without a section of its own on heartbeats hears of one on every heartbeat (harness reference, 1.3).
        if self.habits.points_to_heartbeat_file:
            return True
        return self.settings.heartbeat.guidance and not situation.commitments_only

    def _truncation(self, files: tuple[WorkspaceFile, ...], context: ContextFiles, held: Held) -> "TruncationReport":
        from harness.workspace.analysis import Injected, analyse  # most workspaces fit
        from harness.workspace.warning_history import decide_warning

        analysis = analyse(files, [Injected(file.path, file.units) for file in context.files], context.limits)
        return decide_warning(analysis, self.settings.files.warning, held.cuts_told)

    def _environment(self) -> "SkillEnvironment":
        from harness.skills.environment import skill_environment  # few agents have a skill that brings any

        skills = self.settings.skills
        return skill_environment(self.library.eligible(skills.rules, skills.allow), skills.rules.entries)

    def _hears_of_group(self, situation: Situation) -> bool:
        """Whether layers say in which group the agent is; elsewhere its prompt has a section for that."""
        return self.habits.hears_of_chats_by_layer and situation.audience is Audience.GROUP and not situation.light

    def _hears_of_delivery(self, situation: Situation) -> bool:
        """Whether a layer says that answers do not go out by themselves."""
        if situation.chat is None or situation.light or not self.habits.hears_of_chats_by_layer:
            return False
        tools = {name.lower() for name in situation.tools}
        return possible_delivery(situation.chat.delivery, tools, situation.trigger) is Delivery.TOOL_ONLY

    def _names(self, situation: Situation) -> str:
        if situation.chat is None or not self._hears_of_group(situation):
            return ""
        from harness.prompt.chat import chat_names  # a direct chat has none

        return chat_names(situation.chat)

    def joining(self, situation: Situation) -> tuple[Layer, ...]:
        """What joins a turn that runs, in reading order: the same as what such a turn would carry of the messages."""
        return self._messages(situation, situation.words)

    def _messages(self, situation: Situation, words: Layer) -> tuple[Layer, ...]:
        """The messages of a turn, and what is said of them."""
        brought = situation.quotes if situation.reset is None else None
        before = (*self._senders(situation), situation.left_out, brought)
        return (*(layer for layer in before if layer is not None), words, *situation.more)

    def _senders(self, situation: Situation) -> tuple[Layer, ...]:
        if not situation.senders or not self._hears_of_group(situation):
            return ()
        from harness.prompt.chat import sender_names  # in a direct chat only one person writes

        return (outsiders(LayerName.SENDER, sender_names(situation.senders)),)

    def _group(self, situation: Situation) -> str:
        if situation.chat is None or not (self._hears_of_group(situation) or self._hears_of_delivery(situation)):
            return ""
        from harness.prompt.chat import chat_context  # a direct chat needs none
        from harness.prompt.facts import Surface, ToolFacts, TurnFacts
        from harness.prompt.tool_list import tools_of

        tools = ToolFacts(names=tuple(sorted(situation.tools)))
        return chat_context(TurnFacts(chat=situation.chat), tools_of(tools, Surface.CODEX, acp=False), named=False)

    def _cuts(self, truncation: "TruncationReport | None") -> Layer | None:
        """What the model is told of files that are shown in part; on each turn, or once."""
        if truncation is None or not truncation.shown:
            return None
        from harness.workspace.warning_text import prompt_notice

        name, lifetime = LayerName.CUTS, Lifetime.ONCE if self._tells_once else Lifetime.TURN
        return Layer(name, name.value, lifetime, Trust.OPERATOR, prompt_notice())

    def _route(self, situation: Situation, files: tuple[WorkspaceFile, ...]) -> MemoryRoute:
        return route_memory(
            MemoryFacts(
                audience=situation.audience,
                settings=self.settings.memory,
                tools=situation.tools,
                light=situation.light,
                replaced=self.habits.replaces_memory_file,
                file_reason=_why_no_copy(files),
            )
        )

    def _note(self, route: MemoryRoute, files: tuple[WorkspaceFile, ...]) -> str:
        if not route.note:
            return ""
        from harness.memory.note import memory_note  # only a turn with memory tools has a note

        root = next((file.path for file in files if file.memory is MemoryKind.ROOT and file.text.strip()), None)
        return memory_note(route.readers, citations=self.settings.memory.citations, path=root)

    def _words(self, situation: Situation, first_run: FirstRunMode) -> Layer:
        if situation.reset is None:
            return situation.words
        # Hardly any message is a bare /new or /reset.
        from harness.clock import time_lines
        from harness.memory.daily import startup_notes_off
        from harness.memory.daily_files import startup_context
        from harness.memory.reset import reset_prompt

        settings, now, zone = self.settings, self._now(), self.settings.time.zone
        off = startup_notes_off(
            situation.reset,
            settings.startup,
            first_run=first_run is not FirstRunMode.NONE,
            owner_alone=situation.audience is Audience.OWNER,
        )
        notes = (
            startup_context(str(settings.workspace), now=now, zone=zone, limits=settings.startup)[0]
            if off is None
            else None
        )
        text = reset_prompt(first_run, notes=notes, time_lines=time_lines(now, zone, clock=settings.time.clock))
        return Layer(LayerName.USER_TEXT, f"/{situation.reset}", Lifetime.INPUT, Trust.OPERATOR, text)

    def _sift(
        self,
        files: tuple[WorkspaceFile, ...],
        situation: Situation,
        route: MemoryRoute,
        mode: FirstRunMode,
        skipped: str | None,
    ) -> tuple[tuple[WorkspaceFile, ...], tuple[LeftOutFile, ...], WorkspaceFile | None]:
        """Take out what this turn may not or need not carry, before sizes are counted."""
        settings = self.settings
        agents = None
        if self.habits.reads_agents_file:
            # One that leads to the memory is judged as memory below, like any other: the backend must not read it.
            judged = (file for file in files if file.name == AGENTS and not file.from_hook and file.memory is None)
            agents = next(judged, None)
            files = tuple(file for file in files if file is not agents)
        pointed_to: tuple[LeftOutFile, ...] = ()
        if self.habits.points_to_heartbeat_file:
            own = [file for file in files if file.name == HEARTBEAT]
            pointed_to = tuple(LeftOutFile(file.name, file.path, _why_not_copied(file)) for file in own)
            files = tuple(file for file in files if file not in own)
        if skipped is not None:
            return (), (*pointed_to, *(LeftOutFile(file.name, file.path, skipped) for file in files)), agents
        sifted = for_mode(files, mode)
        private = STANDINGS[situation.audience, settings.memory.groups]
        kept: list[WorkspaceFile] = []
        left_out = [*pointed_to, *sifted.left_out]
        for file in sifted.files:
            if file.memory is MemoryKind.ROOT:
                if route.content:
                    kept.append(file)
            elif file.memory is not None and private[0] is not Standing.PRIVATE:
                left_out.append(LeftOutFile(file.name, file.path, private[1]))
            else:
                kept.append(file)
        return tuple(kept), tuple(left_out), agents


def _first_run(found: BootstrapFiles, situation: Situation) -> FirstRunMode:
    text = bootstrap_text(found.files)
    return first_run_mode(
        FirstRunFacts(
            pending=is_pending(setup_complete=found.setup_complete, bootstrap_text=text),
            run=situation.run,
            session=session_kind(situation.session_key),
            primary=True,
            trigger="user" if situation.trigger is Trigger.CHAT else situation.trigger.value,
            file_access=True,
            # The ritual writes who the agent and its owner are: nobody else is led through it.
            own_workspace=situation.audience is Audience.OWNER,
        )
    )


def _hooks(settings: AgentSettings, reader: GuardedReader, shared: BootstrapHooks | None) -> BootstrapHooks:
    hooks = BootstrapHooks(enabled=settings.files.hooks_enabled, shared=shared)
    if settings.files.extra_files:
        from harness.workspace.extra_files import ExtraFiles  # few agents name further files

        hooks.register(ExtraFiles(settings.files.extra_files, reader=reader), name="bootstrap-extra-files")
    return hooks


def _with_plugins(skills: SkillSettings) -> tuple[SkillPlaces, tuple[Notice, ...]]:
    """Where to look for skills: also in the plugins that are installed when the agent starts."""
    if not skills.plugin_folders:
        return skills.places, ()
    from harness.skills.plugins import installed_plugins

    found = installed_plugins(skills.plugin_folders)
    problems = tuple(Notice(NoticeCode.PLUGIN, "plugins", text) for text in found.problems)
    return skills.with_plugins(found.plugins), problems


def _refusals(environment: "SkillEnvironment | None") -> tuple[Notice, ...]:
    refused = environment.refused if environment else ()
    return tuple(Notice(NoticeCode.SKILL_VARIABLE, "skills.entries", text) for text in refused)


def _guidance(ack: Ack) -> str:
    from harness.heartbeat.wording import heartbeat_guidance  # only a heartbeat needs the words for one

    return heartbeat_guidance(ack)


def _pointer(file: WorkspaceFile | None) -> str | None:
    if file is None or not isinstance(file.read, Content):
        return None
    from harness.heartbeat.run import pointer_for  # only a heartbeat needs what plans one

    return pointer_for(file.path, file.text)


def _why_not_copied(file: WorkspaceFile) -> str:
    if isinstance(file.read, Refused):
        return file.read.reason
    return NO_FILE if file.missing else ONLY_POINTED_TO


def _why_no_copy(files: tuple[WorkspaceFile, ...]) -> str | None:
    root = next((file for file in files if file.memory is MemoryKind.ROOT), None)
    if root is None:
        return "the workspace has no MEMORY.md"
    if isinstance(root.read, Refused):
        return root.read.reason
    return None if root.text.strip() else "MEMORY.md is empty"
