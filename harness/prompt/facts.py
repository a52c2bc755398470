"""What a system prompt is rendered from.

Pure values, and the whole of the renderer's input. They come in two groups: `AgentFacts` change only with the
workspace, the tools, the skills, the model or the configuration, `TurnFacts` with who writes, where and why. The stable
part of a prompt is made of the first group alone, so no channel, sender or date can reach it.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

from harness.heartbeat.convention import Ack
from harness.inbound import ChatKind
from harness.prompt.contributions import Contribution
from harness.replies.mode import Delivery
from harness.settings.agent import DelegationMode, OwnerSettings, Permission
from harness.workspace.first_run import FirstRunMode


class Mode(StrEnum):
    """How much of the prompt a run gets (prompt-builder 4)."""

    FULL = "full"
    MINIMAL = "minimal"
    """For subagents and scheduled jobs."""
    NONE = "none"
    """Who the agent is, and nothing else."""


class Surface(StrEnum):
    """Whose tools the agent works with (prompt-builder 1)."""

    MAIN = "openclaw_main"
    CODEX = "codex_app_server"
    CLI = "cli_backend"
    ACP = "acp_backend"
    SUBAGENT = "subagent"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolFacts:
    """The tools that the model is offered."""

    names: tuple[str, ...] = ()
    """Those that it sees, in the letter case that it knows."""
    summaries: tuple[tuple[str, str], ...] = ()
    """Name and one line, for tools that have no line of ours."""
    hidden: tuple[str, ...] = ()
    """Those that it can call and does not see, because they are loaded on demand."""
    directory: str = ""
    """What is said of tools whose schemas are loaded on demand."""


@dataclass(frozen=True, slots=True)
class ContextDoc:
    """A workspace file as the prompt shows it."""

    path: str
    """What stands in its heading."""
    text: str
    """Already fitted into the budget."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DocsFacts:
    """Where the gateway's own documentation and source are; empty when only the public ones can be had."""

    docs: str = ""
    source: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxFacts:
    """The sandbox that the agent's commands run in."""

    host_workspace: str = ""
    container_workspace: str = ""
    access: Literal["none", "ro", "rw"] | None = None
    """To the agent's workspace."""
    agent_mount: str = ""
    """Where the agent's workspace is mounted."""
    browser_url: str = ""
    """The bridge of a browser inside the sandbox."""
    host_browser: bool | None = None
    """Whether the browser of the host may be used; None for no word about it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Elevation:
    """Whether commands may leave the sandbox for this sender (prompt-builder 2.D)."""

    allowed: bool
    level: Literal["on", "off", "ask", "full"] = "off"
    full_available: bool | None = None
    """None: not known, and nothing is said."""
    full_blocked: str = ""
    """Why not: "host-policy", "channel", "sandbox" or "runtime"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentFacts:
    """What holds for an agent on every turn, until the workspace, tools, skills, model or configuration change."""

    workspace: str
    mode: Mode = Mode.FULL
    surface: Surface = Surface.MAIN
    tools: ToolFacts = field(default_factory=ToolFacts)
    guidance: tuple[str, ...] = ()
    """Lines of plugins on native commands, for this surface."""
    acp: bool = False
    """Coding agents can be started over ACP."""
    delegation: DelegationMode = "suggest"
    orchestrates: bool = False
    """The agent splits work among subagents by itself."""
    skills: str = ""
    """The list alone: how skills are used is said by the prompt."""
    aliases: tuple[tuple[str, str], ...] = ()
    """Alias and model."""
    timezone: str = ""
    notes: tuple[str, ...] = ()
    """Further lines on the workspace."""
    workspace_only: bool = False
    """The file tools stay inside the workspace."""
    docs: DocsFacts = field(default_factory=DocsFacts)
    sandbox: SandboxFacts | None = None
    notice: str = ""
    """What is said when a file of `files` was cut."""
    reasoning_tags: bool = False
    """The model marks its thoughts by tags."""
    files: tuple[ContextDoc, ...] = ()
    """Files that every conversation of the agent gets."""
    contribution: Contribution = field(default_factory=Contribution)
    """Of its `dynamic_suffix` no use is made here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageFacts:
    """What is known of the message tool."""

    explicit_target: bool = False
    """Each call has to name where to."""
    channels: tuple[str, ...] = ()
    """The channels that messages can go to."""
    hints: tuple[str, ...] = ()
    """Lines of the channel's plugin."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reactions:
    """How freely the agent reacts with emoji."""

    level: Literal["minimal", "extensive"]
    channel: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """A command that runs in the background."""

    id: str
    status: str
    pid: int | None = None
    cwd: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeFacts:
    """What the runtime line tells; what is empty is left out."""

    agent: str = ""
    session: str = ""
    session_id: str = ""
    host: str = ""
    repo: str = ""
    os: str = ""
    arch: str = ""
    node: str = ""
    model: str = ""
    default_model: str = ""
    shell: str = ""
    processes: tuple[Process, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatFacts:
    """The chat that a message came from."""

    channel: str
    kind: ChatKind
    id: str = ""
    account: str = ""
    title: str = ""
    """Chosen by people outside."""
    members: tuple[str, ...] = ()
    """Names, chosen by people outside."""
    delivery: Delivery = Delivery.AUTOMATIC
    activation: Literal["always", "mention"] = "mention"
    """Whether the agent hears every message of a group, or only those that call it."""
    silence: Permission = "disallow"
    """Whether it may answer with nothing; never in a direct chat."""
    instructions: str = ""
    """The operator's own words for this group."""
    exec_state: str = ""
    """How commands run in this session, when that was changed for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SubagentFacts:
    """A subagent, and whom it works for (prompt-builder 15.6)."""

    task: str
    depth: int = 1
    """1: started by the main agent."""
    max_depth: int = 1
    """A subagent at this depth starts no others."""
    label: str = ""
    session: str = ""
    requester_session: str = ""
    requester_channel: str = ""

    @property
    def can_spawn(self) -> bool:
        """Whether it may start subagents of its own."""
        return self.depth < self.max_depth


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnFacts:
    """What holds for one turn: who writes, where and why."""

    chat: ChatFacts | None = None
    """The chat that the message came from; what it says of channel and delivery counts."""
    subagent: SubagentFacts | None = None
    """The task, when a subagent does the turn."""
    channel: str = ""
    """The channel's name on a turn without a chat; empty for none."""
    capabilities: tuple[str, ...] = ()
    """What the channel can do, such as "inlineButtons"."""
    buttons: bool | None = None
    """Whether the configuration lets this chat show buttons; None: that is not known."""
    delivery: Delivery = Delivery.AUTOMATIC
    """How an answer arrives on a turn without a chat."""
    silence: bool = True
    """False: `extra` says by itself how this turn stays silent. A chat and a heartbeat always do."""
    message: MessageFacts = field(default_factory=MessageFacts)
    owners: tuple[str, ...] = ()
    owner: OwnerSettings = field(default_factory=OwnerSettings)
    speech: str = ""
    """What is said of spoken replies."""
    extra: str = ""
    """What else is said of the conversation."""
    reactions: Reactions | None = None
    suffix: str = ""
    """What the model's provider adds."""
    heartbeat: Ack | None = None
    """This turn is a heartbeat, and how one says that all is quiet: to this the rules of delivery and silence keep."""
    heartbeat_rule: bool = True
    """Whether the prompt says so itself, or leaves that to the poll."""
    schedule: str = ""
    """What is said of a turn that a schedule started."""
    first_run: FirstRunMode = FirstRunMode.NONE
    notes: tuple[str, ...] = ()
    """Further lines on the first run."""
    memory: tuple[str, ...] = ()
    """Lines on how to look things up in the memory."""
    files: tuple[ContextDoc, ...] = ()
    """Files that not every turn of the agent gets."""
    notice: str = ""
    """What is said when a file of `files` was cut."""
    elevation: Elevation | None = None
    thinking: str = "off"
    reasoning: Literal["off", "on", "stream"] = "off"
    runtime: RuntimeFacts = field(default_factory=RuntimeFacts)
