"""`codex-bridge status`: an agent at a glance, from what is on this machine now; asks no model and starts no server."""

import json
import os
import re
import subprocess
import time
from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import anyio
from rich.text import Text

from codex_bridge.binary import CodexBinary, find_codex
from codex_bridge.cli.approving import who_may_answer
from codex_bridge.cli.composing import Look, embedded, now, on_codex
from codex_bridge.cli.last_prompt import LastPrompt, LastPrompts
from codex_bridge.cli.setup import (
    STORE,
    AgentOption,
    CodexOption,
    ConfigOption,
    Configured,
    HomeOption,
    JsonOption,
    WorkspaceOption,
    configured,
    home_named,
)
from codex_bridge.cli.tables import console, table
from codex_bridge.cli.undelivered import Undelivered, undelivered_in
from codex_bridge.cli.undelivered import as_data as undelivered_data
from codex_bridge.config import binary_path
from codex_bridge.endpoint import EndpointError, endpoint_of
from codex_bridge.errors import BinaryNotFoundError, ServerTooOldError
from codex_bridge.home import Home, agent_dir, child_environment, login_command, state_dir
from codex_bridge.sources import Remote
from codex_bridge.versions import version_of
from harness.errors import StoreError, WorkspaceError
from harness.prompt.account import PromptAccount
from harness.report import Fitting, PromptReport, tokens
from harness.settings.agent import ModelSettings
from harness.store.bindings import listed
from harness.store.bound import Listed
from harness.workspace.folder import check_folder

MOST_SHOWN: Final = 10
"""Conversations that a person is shown; --json has all."""
PATIENCE: Final = 10.0
"""Seconds for a binary to say its version; it takes a tenth of one."""
_VERSION: Final = re.compile(r"\d+\.\d+\.\d+\S*")


@dataclass(frozen=True, slots=True)
class Status:
    """What is known of an agent."""

    found: Configured
    binary: CodexBinary | None
    version: str
    """Of the binary; empty when it did not say."""
    home: Home | None
    """None where somebody else runs the server."""
    server: str
    """The address of a server that somebody else runs; empty where Codex is started here."""
    conversations: tuple[Listed, ...]
    undelivered: tuple[Undelivered, ...]
    """Messages without an answer yet."""
    last: LastPrompt | None
    next: PromptReport | None
    """What the owner's next message would carry; None without a workspace."""
    system_prompt: PromptAccount | None
    """Of the prompt that a harness other than Codex would send with it; None where the agent's model runs on Codex."""
    problems: tuple[str, ...]
    """One sentence for each thing that could not be looked at or is not as it should be."""


def command(
    workspace: WorkspaceOption = None,
    config: ConfigOption = None,
    agent: AgentOption = None,
    codex: CodexOption = None,
    codex_home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show an agent at a glance: workspace, binary, home, login, conversations, and how large its prompts are."""
    status = look(configured(config, agent, workspace), codex, codex_home)
    if as_json:
        print(json.dumps(as_data(status), ensure_ascii=False, indent=2))
    else:
        _show(status)


def look(found: Configured, codex: Path | None, codex_home: str | None) -> Status:
    """Look at everything.

    Raises:
        HomeMissingError: The home that was named is not there.
    """
    settings, root, problems = found.settings, state_dir(), list[str]()
    folder = agent_dir(root, settings.id)
    home, binary, server, version = None, None, "", ""
    try:
        endpoint = endpoint_of(found.codex.app_server, os.environ)
        if isinstance(endpoint, Remote) and codex is None and codex_home is None:
            server = endpoint.address
        else:
            home = home_named(codex_home, found.codex, settings.id, root)
            binary = find_codex(codex or binary_path(found.codex, os.environ))
            version = _version(binary, home, found.codex.app_server.clear_env)
    except (EndpointError, BinaryNotFoundError) as error:
        problems.append(str(error))
    conversations: list[Listed] = []
    undelivered: list[Undelivered] = []
    try:
        conversations = listed(folder / STORE)
        undelivered = undelivered_in(folder / STORE, time.time())
    except StoreError as error:
        problems.append(str(error))
    upcoming, system_prompt = None, None
    next_look = Look(settings=settings, threads=found.threads, at=now())
    try:
        check_folder(settings.workspace)
        upcoming = anyio.run(on_codex, next_look).report
        problems += upcoming.tools_left_out
        if runs_elsewhere(settings.models):
            system_prompt = anyio.run(embedded, next_look).account
    except WorkspaceError as error:
        problems.append(str(error))
    problems += _of_version(version)
    return Status(
        found=found,
        binary=binary,
        version=version,
        home=home,
        server=server,
        conversations=tuple(conversations),
        undelivered=tuple(undelivered),
        last=LastPrompts(folder).read(),
        next=upcoming,
        system_prompt=system_prompt,
        problems=tuple(problems),
    )


def as_data(status: Status) -> dict[str, Any]:
    """The status as JSON data."""
    found, settings = status.found, status.found.settings
    return {
        "agent": {"id": settings.id, "name": settings.name, "default": settings.is_default},
        "config": {
            "path": str(found.config.path) if found.config.path else None, "findings": len(found.config.findings)
        },
        "workspace": str(settings.workspace),
        "harness": "codex",
        "model": settings.models.primary,
        "sandbox": found.threads.sandbox,
        "approvals": found.threads.approval_policy,
        "mayAnswer": list(settings.approvals.owners),
        "codex": None if status.binary is None else {
            "path": str(status.binary.path), "source": status.binary.source, "version": status.version or None
        },
        "server": status.server or None,
        "home": None if status.home is None else {
            "path": str(status.home.path), "own": status.home.owned, "signedIn": status.home.signed_in
        },
        "conversations": [
            {"backend": each.binding.backend, "sessionKey": each.binding.session_key,
             "thread": each.binding.conversation, "usedAt": _time(each.used_at), "exchanges": each.exchanges}
            for each in status.conversations
        ],
        "undelivered": [undelivered_data(each) for each in status.undelivered],
        "lastPrompt": status.last.as_data() if status.last else None,
        "nextPrompt": None if status.next is None else {
            "source": status.next.about.source.value, "units": status.next.units, "tokens": tokens(status.next.units),
            "toolSchemaUnits": status.next.inventory.schema_units, "skills": len(status.next.inventory.skills),
            "files": [
                {"name": line.name, "state": line.fitting.value, "raw": line.raw, "kept": line.kept}
                for line in status.next.files
            ],
            "notices": list(status.next.notices),
        },
        "systemPrompt": None if status.system_prompt is None else {
            "units": status.system_prompt.units, "tokens": tokens(status.system_prompt.units),
            "hash": status.system_prompt.digest,
            "stable": {"units": status.system_prompt.stable_units, "hash": status.system_prompt.stable_digest},
        },
        "problems": list(status.problems),
    }  # fmt: skip


def _show(status: Status) -> None:
    out, found, settings = console(), status.found, status.found.settings
    name = f", {settings.name}" if settings.name else ""
    binary = status.binary
    count = len(found.config.findings)
    wrong = f", {count} problem(s): see codex-bridge doctor" if count else ""
    rows = [
        ("agent", f"{settings.id}{name}{' (the default)' if settings.is_default else ''}"),
        ("workspace", str(settings.workspace)),
        ("config", f"{found.config.path or 'no file'}{wrong}"),
        ("harness", f"codex, model {settings.models.primary or 'as Codex chooses'}"),
        ("may", f"sandbox {found.threads.sandbox}, approvals {found.threads.approval_policy}"),
        ("asks", who_may_answer(settings.approvals)),
        ("codex", f"{status.version or 'of unknown version'}, {binary.path} from {binary.source}" if binary else
                  f"the server at {status.server}" if status.server else "-"),
        ("home", _home(status.home, settings.id)),
        ("last prompt", _last(status.last)),
        ("next prompt", _next(status.next)),
        ("files", _files(status.next)),
        *([("system prompt", _system_prompt(status.system_prompt))] if status.system_prompt else []),
    ]  # fmt: skip
    out.print(table("Status", ("what", "how it is"), rows))
    out.print()
    lines: list[tuple[str, ...]] = [
        (each.binding.session_key, f"{each.exchanges:,}", _time(each.used_at) or "-", each.binding.conversation)
        for each in status.conversations[:MOST_SHOWN]
    ]
    if lines:
        out.print(table("Conversations", ("chat", "exchanges", "last used", "thread"), lines))
    else:
        out.print("No conversations yet.")
    if len(status.conversations) > MOST_SHOWN:
        out.print(f"and {len(status.conversations) - MOST_SHOWN} more; --json has all.")
    if status.undelivered:
        out.print()
        waiting = [
            (", ".join(each.key for each in one.delivery.inbound), one.delivery.state.value, one.plan)
            for one in status.undelivered[:MOST_SHOWN]
        ]
        out.print(table("Without an answer", ("message", "state", "what comes of it"), waiting))
    if len(status.undelivered) > MOST_SHOWN:
        out.print(f"and {len(status.undelivered) - MOST_SHOWN} more; --json has all.")
    for problem in status.problems:
        out.print(Text(f"! {problem}", style="yellow"), soft_wrap=True)


def _home(home: Home | None, agent: str) -> str:
    if home is None:
        return "-"
    login = "signed in" if home.signed_in else f"not signed in: run {login_command(home, agent)}"
    return f"{home.path}, {login}"


def _last(last: LastPrompt | None) -> str:
    if last is None:
        return "none was sent from this command line"
    return f"{_sized(last.units)} for {last.session_key}, {last.at}"


def runs_elsewhere(models: ModelSettings) -> bool:
    """Whether the configuration has the agent's model run on another harness than Codex."""
    return models.harness_ids.get(models.primary or "", "auto").strip().lower() not in ("auto", "codex")


def _system_prompt(account: PromptAccount) -> str:
    return f"{_sized(account.units)} off Codex, stable {account.stable_units:,}, sha256 {account.stable_digest[:16]}"


def _next(report: PromptReport | None) -> str:
    if report is None:
        return "-"
    beside = f", tool schemas {report.inventory.schema_units:,}, {len(report.inventory.skills)} skills"
    cut = f"; {len(report.notices)} notice(s): see codex-bridge context" if report.notices else ""
    return f"{_sized(report.units)} without the words{beside}{cut}"


def _files(report: PromptReport | None) -> str:
    """How many files of the workspace the next prompt carries, and what of those that it does not carry whole."""
    if report is None:
        return "-"
    short = [
        f"{line.name.rpartition('/')[2]} {line.fitting.value}, {line.raw:,} -> {line.kept:,}"
        for line in report.files
        if line.fitting is not Fitting.OK
    ]
    return "; ".join([f"{len(report.files)} in it, {sum(line.kept for line in report.files):,} units", *short])


def _sized(units: int) -> str:
    return f"{units:,} units (~{tokens(units):,} tokens)"


def _time(seconds: float) -> str | None:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds") if seconds else None


def _of_version(version: str) -> list[str]:
    try:
        warning = version_of(f"codex/{version}").warning if version else ""
    except ServerTooOldError as error:
        warning = str(error)
    return [warning] if warning else []


def _version(binary: CodexBinary, home: Home, cleared: Collection[str]) -> str:
    try:
        told = subprocess.run(
            [binary.path, "--version"],
            env=dict(child_environment(home.path, cleared=cleared).passed),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PATIENCE,
            check=False,
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return ""
    version = _VERSION.search(told.decode("utf-8", "replace"))
    return version.group() if version else ""
