"""What the commands share: their options, and how to get from them to a running agent."""

import os
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Final

import typer

from codex_bridge.binary import find_codex
from codex_bridge.bridge import CodexHarness, CodexSettings, codex_harness
from codex_bridge.cli.printed import Printed
from codex_bridge.config import PATH, CodexConfig, binary_path, thread_settings, variable_problems
from codex_bridge.deadlines import TURN_SECONDS
from codex_bridge.endpoint import endpoint_of, without_effect
from codex_bridge.home import Home, HomeMissingError, agent_dir, own_home, private_dir, state_dir, user_codex_home
from codex_bridge.idle import Rest
from codex_bridge.lanes import HABITS
from codex_bridge.model_choice import model_choice
from codex_bridge.params import ThreadSettings
from codex_bridge.process import NOTES, Launch, Source
from codex_bridge.providers import Provider
from codex_bridge.sources import Listener, Remote
from codex_bridge.turn import CodexTurn
from harness.agent import Agent
from harness.config import Config, NotServed, describe, load_config, resolve_agent, this_machine
from harness.config.roster import agent_id_of, agent_ids, default_agent_id
from harness.conversations import Conversations
from harness.delivery.outbox import Outbox
from harness.errors import HarnessError
from harness.gather import Gatherer
from harness.habits import Habits
from harness.memory.index import MemoryIndex
from harness.message_tool.tool import Messaging
from harness.plain import in_workspace
from harness.replies.media import MediaRules
from harness.session_models import SessionModels
from harness.session_status import Picked, StatusSource
from harness.settings.agent import AgentSettings, ModelSettings
from harness.standard_tools import StandardTools
from harness.store.bindings import bindings_at
from harness.store.held_file import HeldFile
from harness.store.model_file import ModelFile
from harness.toolbox import Without
from harness.turn_limit import TurnLimit
from harness.written_paths import expanded

LOOPBACK_MODEL: Final = "gpt-5.5"
"""The model that the stand-in plays: the one the prompt snapshots are pinned to."""

STORE: Final = "bridge.sqlite"
"""The file, in an agent's folder, of its conversations."""
LISTENERS: Final = "listeners"
"""The folder, in an agent's folder, of what its listening servers need."""

AgentOption = Annotated[
    str | None,
    typer.Option(
        "--agent", help="The agent's id, by default that of the default agent; each has a Codex home of its own."
    ),
]
CodexOption = Annotated[
    Path | None, typer.Option("--codex", help="The Codex binary, instead of CODEX_BIN, the wheel or PATH.")
]
HomeOption = Annotated[
    str | None,
    typer.Option(
        "--codex-home",
        help="'own' for the agent's own Codex home, 'user' for yours and its login, or a folder; "
        "by default what appServer.homeScope says.",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print data for programs.")]


ConfigOption = Annotated[
    Path | None, typer.Option("--config", help="The gateway's openclaw.json, instead of the usual place.")
]
WorkspaceOption = Annotated[
    Path | None,
    typer.Option("--workspace", help="The agent's folder, with AGENTS.md and the rest; by default the configured one."),
]


@dataclass(frozen=True)
class Running:
    """An agent that can take messages."""

    agent: Agent[CodexTurn]
    harness: CodexHarness
    launch: Source
    files: MediaRules
    """Which files may be put into a chat."""


@dataclass(frozen=True)
class Configured:
    """An agent as the configuration has it, and what is wrong with the configuration."""

    config: Config
    settings: AgentSettings

    @property
    def codex(self) -> CodexConfig:
        """What the configuration says about Codex."""
        return self.config.section(PATH, CodexConfig)

    @property
    def threads(self) -> ThreadSettings:
        """What conversations may do: the configuration, and the environment over it."""
        return thread_settings(self.codex, os.environ, self.settings)


class UnknownAgentError(HarnessError):
    """An agent that the configuration does not have."""

    def __init__(self, agent: str, known: tuple[str, ...], path: Path | None) -> None:
        where = f"in {path}" if path is not None else "without a configuration file"
        super().__init__(f"There is no agent {agent!r} {where}; known are: {', '.join(known)}.")


def configured(config: Path | None, agent: str | None, workspace: Path | None) -> Configured:
    """Read the configuration and settle one agent, in another folder if one is named.

    Args:
        config: The file; None for the usual one.
        agent: Any spelling of an agent's id; None for the default agent.
        workspace: The folder instead of the configured one.

    Raises:
        UnreadableConfigError: There is a file, and it cannot be read at all.
        UnknownAgentError: The configuration has no such agent.
    """
    machine = this_machine()
    read = load_config(machine, explicit=config, sections={PATH: CodexConfig})
    known = agent_ids(read.values)
    wanted = default_agent_id(read.values) if agent is None else agent_id_of(agent)
    if wanted not in known:
        raise UnknownAgentError(agent or wanted, known, read.path)
    settings = resolve_agent(read, wanted, machine)
    if workspace is not None:
        settings = in_workspace(settings, Path(os.path.abspath(workspace)))  # noqa: PTH100 - links stay as they are
    return Configured(read, settings)


class UnkeptLimitError(HarnessError):
    """The configuration asks for limits that this version would not keep."""

    def __init__(self, wishes: Sequence[NotServed]) -> None:
        super().__init__(" ".join(describe(wish) for wish in wishes))


def accept(found: Configured) -> None:
    """Say on stderr what of the configuration does nothing, and that something is wrong with it, before a turn starts.

    Raises:
        UnkeptLimitError: It asks for a limit that would not be kept.
    """
    unserved = [finding for finding in found.config.findings if isinstance(finding, NotServed)]
    refused = [finding for finding in unserved if finding.refused]
    if refused:
        raise UnkeptLimitError(refused)
    for finding in unserved:
        print(f"[{describe(finding)}]", file=sys.stderr)
    for problem in (*without_effect(found.codex.app_server), *variable_problems(os.environ)):
        print(f"[{problem}]", file=sys.stderr)
    _hint(len(found.config.findings) - len(unserved))


def hint(found: Configured) -> None:
    """Say on stderr that something is wrong with the configuration, for commands that begin no turn."""
    _hint(len(found.config.findings))


def _hint(count: int) -> None:
    if count:
        print(f"[{count} problem(s) in the configuration; see codex-bridge doctor]", file=sys.stderr)


def home_named(name: str | None, config: CodexConfig, agent: str, root: Path) -> Home:
    """The Codex home that `--codex-home` names, or without it the configuration; the agent by its id.

    Raises:
        HomeMissingError: It is not the agent's own, and not there.
    """
    match name or config.app_server.home_scope:
        case "own" | "agent":
            return own_home(root, agent)
        case "user":
            path = user_codex_home()
        case folder:
            path = expanded(folder).absolute()
    if not path.is_dir():
        raise HomeMissingError(path)
    return Home(path, owned=False)


def habits_on(source: Source) -> Habits:
    """What Codex does where it runs: on another machine its commands do not reach what the gateway fetched."""
    elsewhere = isinstance(source, Remote) and source.workdir is not None
    return replace(HABITS, shares_files=False) if elsewhere else HABITS


def launch_of(
    config: CodexConfig,
    agent: str,
    root: Path,
    *,
    codex: Path | None,
    codex_home: str | None,
    stands_in: bool = False,
) -> Source:
    """What the turns of an agent, by its id, run on, as the configuration and the command line have it.

    Args:
        config: The Codex part of the configuration.
        agent: The agent's id.
        root: The folder of everything that the bridge keeps.
        codex: The Codex binary.
        codex_home: See `home_named`.
        stands_in: Whether a stand-in plays the model, of which only a server of ours can be told.

    Raises:
        EndpointError: The configuration names a server that cannot be used.
        BinaryNotFoundError: There is no Codex.
        HomeMissingError: See `home_named`.
    """
    server = config.app_server
    endpoint = endpoint_of(server, os.environ)
    if isinstance(endpoint, Remote):
        own = {"--codex": codex is not None, "--codex-home": codex_home is not None, "--loopback": stands_in}
        if not any(own.values()):
            return endpoint
        words = " and ".join(name for name, given in own.items() if given)
        print(f"[{words}: a Codex is started here, and {endpoint.name} is not used]", file=sys.stderr)
        endpoint = None
    return Launch(
        find_codex(codex or binary_path(config, os.environ)),
        home_named(codex_home, config, agent, root),
        catalogue=server.model_catalog,
        stated=server.capabilities.stated(),
        message_limit=server.max_message_bytes,
        call_deadline=server.request_timeout_ms / 1000,
        clear_env=server.clear_env,
        listener=Listener(endpoint, agent_dir(root, agent) / LISTENERS) if endpoint else None,
        notes=agent_dir(root, agent) / NOTES,
    )


@asynccontextmanager
async def running(
    settings: AgentSettings,
    *,
    codex: Path | None = None,
    codex_home: str | None = None,
    provider: Provider | None = None,
    model: str | None = None,
    root: Path | None = None,
    codex_config: CodexConfig | None = None,
    prepare: bool = False,
    outbox: Outbox | None = None,
) -> AsyncGenerator[Running]:
    """Run an agent for as long as the block lasts.

    Args:
        settings: The agent.
        codex: The Codex binary.
        codex_home: See `home_named`.
        provider: The model's provider; None for the one that the home is signed in to.
        model: The model; None for the configured one, else Codex's own choice.
        root: The folder of everything that the bridge keeps.
        codex_config: The Codex part of the configuration.
        prepare: Write the files that are missing in the workspace first.
        outbox: Where the message tool sends; None to print it.

    Raises:
        CodexError: Codex cannot be used; see `CodexHarness.ready`.
        StoreError: The state folder cannot be used.
        WorkspaceError: The workspace that is to be prepared is suddenly empty.
        OSError: It cannot be written.
    """
    root = state_dir() if root is None else root
    codex_config = codex_config or CodexConfig()
    stands_in = provider is not None
    launch = launch_of(codex_config, settings.id, root, codex=codex, codex_home=codex_home, stands_in=stands_in)
    if isinstance(launch, Launch):
        launch = replace(launch, provider=provider)
    threads = thread_settings(codex_config, os.environ, settings)
    deadline = TURN_SECONDS if settings.turn_timeout_seconds is None else float(settings.turn_timeout_seconds)
    chosen = CodexSettings(
        launch,
        agent=settings.id,
        threads=threads,
        turn_deadline=deadline,
        compaction_deadline=codex_config.app_server.compaction_timeout_ms / 1000,
        limits=codex_config.app_server.limits,
        drain=codex_config.app_server.drain_timeout_ms / 1000,
        rest=Rest(codex_config.app_server.thread_idle_timeout_ms / 1000, codex_config.app_server.max_loaded_threads),
    )
    folder = private_dir(agent_dir(root, settings.id))
    gatherer = Gatherer(settings, habits_on(launch))
    choice = model_choice(settings.models)
    if choice.problem and model is None:
        print(f"[{choice.problem}]", file=sys.stderr)
    if prepare:
        for notice in (await gatherer.prepare(root)).notices:
            print(f"[{notice.text}]", file=sys.stderr)
    async with (
        bindings_at(folder / STORE, codex_config.continuity.limits) as bindings,
        codex_harness(chosen, bindings, limit=TurnLimit(settings.max_concurrent)) as harness,
    ):
        with MemoryIndex(folder) as index:
            await harness.ready()
            # What the model is told of its tools, and how a heartbeat ends, must not name one that it does not have.
            told, models = HeldFile(folder), ModelFile(folder)
            chosen_models = SessionModels(models.load(), models.keep)
            status = StatusSource(
                backend=harness,
                models=chosen_models,
                pick=picked,
                model=model or choice.model,
                why=_why(choice.model, model, stands_in=stands_in),
            )
            files = media_rules(settings, root, launch)
            # Every command offers the same tools, or the threads that they share would not fit.
            messaging = Messaging(outbox=outbox or Printed(), files=files)
            tools = Without(
                StandardTools(settings, index, model=model, messaging=messaging, status=status), threads.without_tools
            )
            agent = Agent(
                harness,
                gatherer,
                model=model or choice.model,
                effort=choice.effort,
                toolbox=tools,
                conversations=Conversations(told.load(), told.keep),
                # A model that is named for this very run counts for this run.
                models=SessionModels() if model is not None and not stands_in else chosen_models,
            )
            yield Running(agent, harness, launch, files)


def media_rules(settings: AgentSettings, root: Path, launch: Source) -> MediaRules:
    """Which files may be put into a chat: those of the workspace, and the pictures that Codex makes here."""
    home = launch.home if isinstance(launch, Launch) else None
    return MediaRules(
        workspace=str(settings.workspace),
        made=(str(home.pictures),) if home else (),
        private=(str(root), *((str(home.path),) if home else ())),
    )


def picked(named: str) -> Picked:
    """What a model that somebody names in a conversation is to Codex."""
    choice = model_choice(ModelSettings(primary=named))
    if choice.model is None:
        return Picked(problem=f"{named} is no model of Codex; name one such as openai/gpt-5.5.")
    return Picked(choice.model)


def _why(configured: str | None, given: str | None, *, stands_in: bool) -> str:
    """Where the agent's model comes from, for `StatusSource.why`."""
    if given is not None:
        return "a local stand-in plays it" if stands_in else "it was named on the command line"
    return "it is configured" if configured is not None else ""
