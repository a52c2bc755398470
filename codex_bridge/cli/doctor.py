"""`codex-bridge doctor`: what is wrong with the configuration and the workspace, one sentence each."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import anyio
import typer
from rich.text import Text

from codex_bridge.binary import find_codex
from codex_bridge.capabilities import TOOL_RESULT_BYTES
from codex_bridge.cli.approving import who_may_answer
from codex_bridge.cli.composing import Look, on_codex
from codex_bridge.cli.setup import AgentOption, ConfigOption, Configured, JsonOption, WorkspaceOption, configured
from codex_bridge.cli.tables import console
from codex_bridge.client import ignore_all, refuse_all
from codex_bridge.config import PATH, binary_path, variable_problems
from codex_bridge.endpoint import EndpointError, endpoint_of, without_effect
from codex_bridge.errors import BinaryNotFoundError, CodexError
from codex_bridge.home import KEPT
from codex_bridge.lanes import HABITS
from codex_bridge.process import app_server
from codex_bridge.sources import ListenerKind, Remote
from codex_bridge.wire.requests import ACCOUNT_READ, AccountReadParams
from harness.config import describe, this_machine
from harness.errors import WorkspaceError
from harness.gather import Gatherer
from harness.heartbeat.tasks import parse_tasks
from harness.report import PromptReport
from harness.settings.agent import AgentSettings
from harness.skills.values import Why
from harness.workspace.folder import check_folder
from harness.workspace.names import HEARTBEAT
from harness.workspace.reader import GuardedReader
from harness.workspace.reads import Content


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at."""

    part: str
    sound: bool
    text: str
    """One sentence: what is there, or what is wrong and how to mend it."""


def command(
    workspace: WorkspaceOption = None,
    config: ConfigOption = None,
    agent: AgentOption = None,
    as_json: JsonOption = False,
) -> None:
    """Look the configuration and the workspace over and say what is wrong. Exits with 1 when something is."""
    found = configured(config, agent, workspace)
    checks = examine(found)
    if as_json:
        print(json.dumps([{"part": each.part, "ok": each.sound, "text": each.text} for each in checks], indent=2))
    else:
        out = console()
        for each in checks:
            mark = Text("ok  ", style="green") if each.sound else Text("!   ", style="bold yellow")
            out.print(Text.assemble(mark, (f"{each.part}: ", "dim"), each.text), soft_wrap=True)
    raise typer.Exit(0 if all(each.sound for each in checks) else 1)


BROKEN: Final = frozenset({Why.UNSAFE, Why.MEMORY, Why.UNREADABLE, Why.TOO_LARGE, Why.INCOMPLETE})
"""Why a skill is left out that somebody meant to be there; a missing command or a setting is no mistake."""


def examine(found: Configured) -> list[Check]:
    """Look at everything."""
    checks = [*_config(found), *_codex(found)]
    settings = found.settings
    try:
        check_folder(settings.workspace)
    except WorkspaceError as error:
        return [*checks, Check("workspace", sound=False, text=f"{error} `codex-bridge setup` makes it.")]
    report = anyio.run(on_codex, Look(settings=settings, threads=found.threads)).report
    gatherer = Gatherer(settings, HABITS)
    survey = gatherer.library.survey(settings.skills.rules, gatherer.options)
    return [
        *checks,
        Check("workspace", sound=True, text=f"{settings.workspace}, {report.units:,} units in the next turn."),
        *_files(report),
        *(Check("tools", sound=False, text=text) for text in report.tools_left_out),
        _memory(settings),
        *_excerpts(settings),
        *_heartbeat(settings),
        Check("skills", sound=True, text=f"{survey.catalogue.count} listed, {len(survey.verdicts)} found."),
        *(Check("skills", sound=False, text=problem.text) for problem in survey.problems),
        *(
            Check("skills", sound=False, text=f"{verdict.name} is left out: {verdict.reason} ({verdict.file}).")
            for verdict in survey.verdicts
            if verdict.why in BROKEN
        ),
    ]


def _config(found: Configured) -> list[Check]:
    config = found.config
    findings = [Check("config", sound=False, text=describe(finding)) for finding in config.findings]
    if config.path is not None:
        return [Check("config", sound=True, text=f"{config.path}."), *findings]
    named = this_machine().config_override
    if named is not None:
        return [Check("config", sound=False, text=f"There is no {named}, which the environment names as the file.")]
    return [Check("config", sound=True, text="no file, so every default holds."), *findings]


def _codex(found: Configured) -> list[Check]:
    threads = found.threads
    checks = [
        Check(
            "codex",
            sound=True,
            text=f"sandbox {threads.sandbox}, approvals {threads.approval_policy}, decided by {threads.reviewer}.",
        ),
        Check("codex", sound=True, text=who_may_answer(found.settings.approvals)),
        *_stated(found),
        *(Check("codex", sound=False, text=problem) for problem in variable_problems(os.environ)),
        *(Check("codex", sound=False, text=problem) for problem in without_effect(found.codex.app_server)),
        *(
            Check(
                "codex",
                sound=False,
                text=f"{PATH}.appServer.clearEnv names {name}, which is passed all the same: "
                "Codex finds its files by it.",
            )
            for name in sorted(KEPT.intersection(found.codex.app_server.clear_env))
        ),
    ]
    try:
        endpoint = endpoint_of(found.codex.app_server, os.environ)
    except EndpointError as error:
        return [*checks, Check("codex", sound=False, text=str(error))]
    if isinstance(endpoint, Remote):
        return [*checks, anyio.run(_answer, endpoint)]
    checks.append(
        Check("codex", sound=True, text=f"started here for each agent, and talked to over {_WAYS[endpoint]}.")
    )
    try:
        binary = find_codex(binary_path(found.codex, os.environ))
    except BinaryNotFoundError as error:
        return [*checks, Check("codex", sound=False, text=str(error))]
    return [*checks, Check("codex", sound=True, text=f"{binary.path} from {binary.source}.")]


_WAYS: Final[Mapping[ListenerKind | None, str]] = {
    None: "its stdin and stdout",
    "unix": "a unix socket that only this user can open",
    "websocket": "a WebSocket of this machine, with a token that is made for each start",
}


async def _answer(remote: Remote) -> Check:
    """Whether a server that somebody else runs lets us in, and who is signed in there."""
    try:
        async with app_server(remote, on_notification=ignore_all, on_request=refuse_all) as server:
            found = await server.client.call(ACCOUNT_READ, AccountReadParams())
    except CodexError as error:
        return Check("codex", sound=False, text=str(error))
    who = "somebody is signed in" if found.account else "it needs no account"
    text = f"the server at {remote.name} answers, which somebody else starts: Codex {server.version.text}, {{who}}."
    if found.account is None and found.requires_openai_auth:
        return Check("codex", sound=False, text=text.format(who="nobody is signed in there"))
    return Check("codex", sound=True, text=text.format(who=who))


def _stated(found: Configured) -> list[Check]:
    """What the operator says that the server honours, which counts before version and catalogue."""
    stated = found.codex.app_server.capabilities.model_dump(by_alias=True, exclude_defaults=True)
    if not stated:
        return []
    told = json.dumps(stated, sort_keys=True)
    text = f"{PATH}.appServer.capabilities says {told}; `codex-bridge lanes verify` shows what really holds."
    return [Check("codex", sound=True, text=text)]


def _memory(settings: AgentSettings) -> Check:
    who = "the owner's direct chats and for groups" if settings.memory.groups else "the owner's direct chats alone"
    return Check(
        "memory",
        sound=True,
        text=f"the memory tools answer for {who}; whoever the channel lets into a direct chat counts as the owner, "
        "unless the gateway names the owners' ids; Codex's shell can read any workspace file, whoever is listening.",
    )


def _excerpts(settings: AgentSettings) -> list[Check]:
    asked = settings.excerpts.tool_result_max_chars
    if asked is None or asked <= TOOL_RESULT_BYTES:
        return []
    text = (
        f"contextLimits.toolResultMaxChars is {asked:,}, and on Codex more than {TOOL_RESULT_BYTES:,} has no effect: "
        "it lets its model read so many bytes of a tool's result."
    )
    return [Check("codex", sound=False, text=text)]


def _heartbeat(settings: AgentSettings) -> list[Check]:
    read = anyio.run(GuardedReader().read, str(settings.workspace), HEARTBEAT)
    problems = parse_tasks(read.text).problems if isinstance(read, Content) else ()
    return [Check("heartbeat", sound=False, text=f"{problem}.") for problem in problems]


def _files(report: PromptReport) -> list[Check]:
    found = [Check("workspace", sound=False, text=notice) for notice in report.notices]
    refused = [
        Check("workspace", sound=False, text=f"{line.source}: {line.reason}.")
        for line in report.left_out
        if Path(line.source).is_symlink() and line.reason not in {notice.text for notice in found}
    ]
    return [*found, *(each for each in refused if not any(each.text.split(":")[0] in other.text for other in found))]
