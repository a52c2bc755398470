"""The Codex part of the gateway's configuration, `plugins.entries.codex.config`, and what it means for a thread.

Pure but for the environment, which is an argument.
"""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Annotated, ClassVar, Final, Literal

from pydantic import Field

from codex_bridge.capabilities import Stated, UntrustedForm
from codex_bridge.catalogue import CatalogueMode, MultiAgent
from codex_bridge.compatibility import InstructionChange
from codex_bridge.deadlines import Limits
from codex_bridge.params import ThreadSettings
from codex_bridge.rpc import MESSAGE_LIMIT
from codex_bridge.search_choice import search_config
from codex_bridge.unserved_keys import UNSERVED
from codex_bridge.wire.requests import ApprovalPolicy, ApprovalsReviewer, SandboxMode
from harness.config.section import Clamped, Opaque, Section, Texts, Whole
from harness.projection import LONGEST
from harness.settings.agent import AgentSettings
from harness.store.transcript import TranscriptLimits
from harness.written_paths import expanded

PATH: Final = "plugins.entries.codex.config"
"""Where the subtree stands in openclaw.json (harness reference, section 14)."""
ENVIRONMENT: Final = "OPENCLAW_CODEX_APP_SERVER_"
"""Prefix of the variables that override single keys."""
LEAST_MESSAGE: Final = 1024 * 1024
"""Least ceiling of one message, in bytes; our choice. With less, an ordinary item could end the connection."""

Mode = Literal["yolo", "guardian"]


class Discovery(Section):
    """`discovery`: whether models are asked for."""

    enabled: bool = True
    timeout_ms: Whole = 2_500


class Plugins(Section):
    """`codexPlugins`: Codex's own plugins."""

    enabled: bool = False
    allow_destructive_actions: bool = Field(default=True, alias="allow_destructive_actions")
    allow_all_plugins: bool = Field(default=False, alias="allow_all_plugins")
    plugins: Opaque = Field(default_factory=dict)


class ComputerUse(Section):
    """`computerUse`."""

    enabled: bool = False
    auto_install: bool = False
    marketplace_discovery_timeout_ms: Whole = 60_000
    plugin_name: str = "computer-use"
    mcp_server_name: str = "computer-use"
    live_test_timeout_ms: Whole = 60_000
    tool_call_timeout_ms: Whole = 60_000


class CyberFailover(Section):
    """`appServer.cyberFailover`."""

    mode: str = "auto"
    model: str = "gpt-daybreak-blue-latest"
    cooloff_ms: Whole = 600_000


class Experimental(Section):
    """`appServer.experimental`."""

    sandbox_exec_server: bool = False


class Capabilities(Section):
    """`appServer.capabilities`: ours; what is known better than the catalogue and the version say."""

    mode_text: dict[str, bool] = Field(default_factory=dict[str, bool])
    """By the model's id: whether it sees turn-scoped text."""
    remembers_context: bool | None = None
    """Whether the server says the additional context again after a compaction."""
    additional_context: bool | None = None
    """Whether the server takes additional context at all."""
    untrusted: UntrustedForm | None = None
    """How the model sees untrusted additional context."""
    child_tools: bool | None = None
    """Whether a subagent that starts without a copy of the conversation has the thread's tools."""
    multi_agent: dict[str, MultiAgent] = Field(default_factory=dict[str, MultiAgent])
    """By the model's id: which kind of subagents it has."""

    def stated(self) -> Stated:
        """The same for the bridge."""
        return Stated(
            mode_text=self.mode_text,
            remembers_context=self.remembers_context,
            takes_context=self.additional_context,
            untrusted_form=self.untrusted,
            child_tools=self.child_tools,
            multi_agent=self.multi_agent,
        )


class Deadlines(Section):
    """`appServer.deadlines`, ours: limits for which the gateway has no keys, see `codex_bridge.deadlines`."""

    answer_ms: Annotated[Whole, Field(ge=100)] = 10_000
    """From an answer to the end of its turn."""
    reconnecting_ms: Annotated[Whole, Field(ge=100)] = 180_000
    """While Codex does nothing but try to reach the provider."""
    probe_ms: Annotated[Whole, Field(ge=100)] = 5_000
    """To wait for what Codex says when it is asked whether a turn goes on."""


class AppServer(Section):
    """`appServer`: which server, and what it may do."""

    transport: Literal["stdio", "websocket", "unix"] = "stdio"
    command: str | None = None
    args: Texts = ("app-server", "--listen", "stdio://")
    url: str | None = None
    auth_token: str | Opaque | None = Field(default=None, repr=False)
    headers: Opaque = Field(default_factory=dict, repr=False)
    clear_env: Texts = ()
    remote_workspace_root: str | None = None
    code_mode_only: bool = False
    subagents: bool = True
    """Ours: whether the model may start agents of Codex's own."""
    request_timeout_ms: Annotated[Whole, Field(ge=100)] = 60_000
    compaction_timeout_ms: Annotated[Whole, Field(ge=1_000)] = 300_000
    """Ours: how long a summary that somebody asked for may take; messages of the chat wait for it."""
    drain_timeout_ms: Annotated[Whole, Field(ge=0)] = 10_000
    """Ours: how long running turns have when the gateway shuts down."""
    thread_idle_timeout_ms: Annotated[Whole, Field(ge=0)] = 1_800_000
    """Ours: how long a chat may be silent before its thread is unloaded, until its next message; 0 for ever."""
    max_loaded_threads: Annotated[Whole, Field(ge=1)] = 100
    """Ours: how many threads stay loaded, however short they are silent."""
    turn_completion_idle_timeout_ms: Annotated[Whole, Field(ge=100)] = 60_000
    post_tool_raw_assistant_completion_idle_timeout_ms: Annotated[Whole, Field(ge=100)] = 300_000
    deadlines: Deadlines = Field(default_factory=Deadlines)
    mode: Mode | None = None
    approval_policy: ApprovalPolicy | None = None
    sandbox: SandboxMode | None = None
    approvals_reviewer: ApprovalsReviewer | None = None
    service_tier: Literal["priority", "flex", "fast"] | None = None
    network_proxy: Opaque = Field(default_factory=dict)
    default_workspace_dir: str | None = None
    experimental: Experimental = Field(default_factory=Experimental)
    home_scope: Literal["agent", "user"] = "agent"
    loop_detection_pre_tool_use_relay: bool = True
    cyber_failover: CyberFailover = Field(default_factory=CyberFailover)
    model_catalog: CatalogueMode = "auto"
    capabilities: Capabilities = Field(default_factory=Capabilities)
    max_message_bytes: Annotated[Whole, Field(ge=LEAST_MESSAGE)] = MESSAGE_LIMIT
    """Ours, not the gateway's."""
    on_instruction_change: InstructionChange = "tell"
    """Ours: whether a conversation is told of edited instructions, or goes on in a fresh thread."""

    @property
    def limits(self) -> Limits:
        """How long a turn may be silent."""
        ours = self.deadlines
        return Limits(
            silence=self.turn_completion_idle_timeout_ms / 1000,
            after_tool=self.post_tool_raw_assistant_completion_idle_timeout_ms / 1000,
            answer=ours.answer_ms / 1000,
            reconnecting=ours.reconnecting_ms / 1000,
            probe=ours.probe_ms / 1000,
        )


class Continuity(Section):
    """`continuity`, ours: what is kept of each chat, so that a fresh thread can go on where another one ended."""

    max_exchanges: Annotated[Whole, Field(ge=0)] = TranscriptLimits().exchanges
    """Of a chat; 0 keeps nothing."""
    max_text_chars: Annotated[Whole, Field(ge=100)] = TranscriptLimits().text
    """UTF-16 units of each message and answer that is kept."""
    projection_chars: Annotated[Whole, Field(ge=0, le=LONGEST), Clamped()] = LONGEST
    """UTF-16 units that a fresh thread is told at most; 0 for nothing."""

    @property
    def limits(self) -> TranscriptLimits:
        """What the store keeps."""
        return TranscriptLimits(self.max_exchanges, self.max_text_chars)


class SessionCatalog(Section):
    """`sessionCatalog`."""

    enabled: bool = True


class Supervision(Section):
    """`supervision`."""

    enabled: bool = False
    allow_raw_transcripts: bool = False
    allow_write_controls: bool = False


class CodexConfig(Section):
    """Everything that the gateway's configuration says about Codex."""

    unserved: ClassVar = UNSERVED
    codex_dynamic_tools_loading: Literal["searchable", "direct"] = "searchable"
    codex_dynamic_tools_exclude: Texts = ()
    discovery: Discovery = Field(default_factory=Discovery)
    codex_plugins: Plugins = Field(default_factory=Plugins)
    computer_use: ComputerUse = Field(default_factory=ComputerUse)
    app_server: AppServer = Field(default_factory=AppServer)
    continuity: Continuity = Field(default_factory=Continuity)
    session_catalog: SessionCatalog = Field(default_factory=SessionCatalog)
    supervision: Supervision = Field(default_factory=Supervision)


_PRESETS: Final[Mapping[Mode | None, ThreadSettings]] = {
    # Safe unless somebody chose otherwise: the original's own default is yolo (spec 5).
    None: ThreadSettings(),
    "yolo": ThreadSettings(sandbox="danger-full-access", approval_policy="never"),
    "guardian": ThreadSettings(sandbox="workspace-write", approval_policy="on-request"),
}
_SANDBOXES: Final[Mapping[str, SandboxMode]] = {
    "read-only": "read-only",
    "workspace-write": "workspace-write",
    "danger-full-access": "danger-full-access",
}
_POLICIES: Final[Mapping[str, ApprovalPolicy]] = {
    "untrusted": "untrusted",
    "on-request": "on-request",
    "never": "never",
}
_MODES: Final[Mapping[str, Mode]] = {"yolo": "yolo", "guardian": "guardian"}


FAST: Final = "priority"
"""The service tier of fast mode."""
_TIERS: Final[Mapping[str, str]] = {"fast": FAST}
"""Older names of service tiers (harness reference, section 14)."""


def thread_settings(
    config: CodexConfig, environ: Mapping[str, str], agent: AgentSettings | None = None
) -> ThreadSettings:
    """What threads may do: the preset, single keys over it, variables over both. A wrong variable counts as none.

    Args:
        config: The Codex part of the configuration.
        environ: The environment.
        agent: The agent. Its `fastModeDefault` counts before the service tier (harness reference, section 11).
    """
    fast = None if agent is None else agent.models.fast_mode
    server = config.app_server
    tier = _TIERS.get(server.service_tier or "", server.service_tier)
    preset = _PRESETS[_MODES.get(environ.get(f"{ENVIRONMENT}MODE", "")) or server.mode]
    return ThreadSettings(
        sandbox=_SANDBOXES.get(environ.get(f"{ENVIRONMENT}SANDBOX", "")) or server.sandbox or preset.sandbox,
        subagents=server.subagents,
        reads_rules=not server.url,
        direct_tools=config.codex_dynamic_tools_loading == "direct",
        without_tools=config.codex_dynamic_tools_exclude,
        on_change=server.on_instruction_change,
        projection=config.continuity.projection_chars,
        approval_policy=_POLICIES.get(environ.get(f"{ENVIRONMENT}APPROVAL_POLICY", ""))
        or server.approval_policy
        or preset.approval_policy,
        reviewer=server.approvals_reviewer or "user",
        search={} if agent is None else search_config(agent.tools.search),
        reserve_tokens=0 if agent is None else agent.reserve_tokens,
        service_tier=tier if fast is None else FAST if fast else "",
    )


def variable_problems(environ: Mapping[str, str]) -> list[str]:
    """Name, in a sentence each, the variables of ours that do nothing: unknown ones, and wrong values."""
    choices: Mapping[str, Collection[str]] = {"MODE": _MODES, "SANDBOX": _SANDBOXES, "APPROVAL_POLICY": _POLICIES}
    problems: list[str] = []
    for variable in sorted(name for name in environ if name.startswith(ENVIRONMENT)):
        name, value = variable.removeprefix(ENVIRONMENT), environ[variable]
        if name not in ("BIN", *choices):
            problems.append(f"{variable} is set and nothing reads it, so unset it.")
        elif value and name in choices and value not in choices[name]:
            problems.append(f"{variable} must be one of {', '.join(choices[name])}; it counts as not set.")
    return problems


def binary_path(config: CodexConfig, environ: Mapping[str, str]) -> Path | None:
    """The binary that the configuration or its variable names, or None."""
    named = environ.get(f"{ENVIRONMENT}BIN", "").strip() or (config.app_server.command or "").strip()
    return expanded(named) if named else None
