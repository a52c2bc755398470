"""`codex-bridge threads`: which thread belongs to which chat, and how a person changes that.

While a gateway runs, its store is its own: then only `list` works.
"""

import json
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated

import anyio
import typer

from codex_bridge.cli.options import ruled
from codex_bridge.cli.played import played, root_of
from codex_bridge.cli.saying import said
from codex_bridge.cli.setup import (
    STORE,
    AgentOption,
    CodexOption,
    ConfigOption,
    Configured,
    HomeOption,
    JsonOption,
    Running,
    WorkspaceOption,
    accept,
    configured,
    launch_of,
    running,
)
from codex_bridge.cli.tables import console, table
from codex_bridge.client import ignore_all, refuse_all
from codex_bridge.home import agent_dir, private_dir, state_dir
from codex_bridge.hosts import Life
from codex_bridge.loopback.recorder import RecordedRequest
from codex_bridge.loopback.script import Action, say
from codex_bridge.params import ThreadSettings
from codex_bridge.process import Launch, app_server, login_of
from codex_bridge.servers import Connection
from codex_bridge.threads import Threads, backend_of
from harness.compaction import Summary, compaction_of
from harness.errors import HarnessError
from harness.masking import mask
from harness.store.bindings import bindings_at, listed
from harness.store.bound import Listed
from harness.turns import TurnResult

ChatArgument = Annotated[
    str, typer.Argument(metavar="CHAT", help="The chat as `threads list` names it, agent:main:telegram:direct:7 say.")
]

app = typer.Typer(help="Which thread of Codex belongs to which chat.", no_args_is_help=True)


class UnknownChatError(HarnessError):
    """A chat that has no thread."""


@app.callback()
def group() -> None:
    """Which thread of Codex belongs to which chat."""


@app.command("list", cls=ruled())
def listing(config: ConfigOption = None, agent: AgentOption = None, as_json: JsonOption = False) -> None:
    """List the chats of an agent and their threads, the last used first; works while a gateway runs."""
    found = listed(_store(configured(config, agent, None)))
    if as_json:
        print(json.dumps([_as_data(each) for each in found], ensure_ascii=False, indent=2))
        return
    rows = [
        (
            each.binding.session_key,
            each.binding.conversation,
            each.binding.basis.model or "-",
            each.binding.basis.cwd or "-",
            _time(each) or "-",
            str(each.exchanges),
        )
        for each in found
    ]
    console().print(table("Threads", ("chat", "thread", "model", "folder", "last used", "exchanges"), rows))


@app.command("adopt", cls=ruled())
def adopt(
    thread: Annotated[str, typer.Argument(metavar="THREAD", help="The thread's id.")],
    chat: ChatArgument,
    config: ConfigOption = None,
    agent: AgentOption = None,
    codex: CodexOption = None,
    codex_home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Let a chat go on in a thread of the Codex home that somebody else began; the chat's own one is let go."""
    anyio.run(_adopt, configured(config, agent, None), thread, chat, codex, codex_home)
    _say(as_json, {"chat": chat, "thread": thread}, f"{chat} goes on in thread {thread}.")


@app.command("compact", cls=ruled())
def compact(
    chat: ChatArgument,
    workspace: WorkspaceOption = None,
    loopback: Annotated[
        bool, typer.Option("--loopback", help="Let a local stand-in play the model, for a chat that it talked in.")
    ] = False,
    model: Annotated[
        str | None, typer.Option("--model", help="The model, instead of the configured one or Codex's default.")
    ] = None,
    config: ConfigOption = None,
    agent: AgentOption = None,
    codex: CodexOption = None,
    codex_home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Put a summary in place of what a chat's thread holds, and wait for it; Ctrl-C stops it."""
    found = configured(config, agent, workspace)
    accept(found)
    how = partial(running, found.settings, codex=codex, codex_home=codex_home, codex_config=found.codex)
    result = anyio.run(_compact, how, loopback, model, chat)
    done = compaction_of(result)
    data: dict[str, object] = {
        "chat": chat,
        "thread": result.conversation or None,
        "summary": done.summary.value,
        "tokens": done.tokens,
        "sentence": said(done.sentence),
        "detail": mask(result.detail),
        "usage": {"input": result.usage.input, "cached": result.usage.cached, "output": result.usage.output},
    }
    _say(as_json, data, said(done.sentence))
    raise typer.Exit(0 if done.summary in (Summary.DONE, Summary.NOTHING) else 1)


@app.command("forget", cls=ruled())
def forget(
    chat: ChatArgument, config: ConfigOption = None, agent: AgentOption = None, as_json: JsonOption = False
) -> None:
    """Let a chat begin anew, as /new does: its threads are let go, and what is kept of its words is deleted."""
    path = _store(configured(config, agent, None))
    threads = [each.binding.conversation for each in listed(path) if each.binding.session_key == chat]
    if not threads:
        raise UnknownChatError(f"No thread belongs to {chat}; `codex-bridge threads list` names those that have one.")
    anyio.run(_forget, path, chat)
    _say(as_json, {"chat": chat, "threads": threads}, f"{chat} begins anew with its next message.")


async def _adopt(found: Configured, thread: str, chat: str, codex: Path | None, codex_home: str | None) -> None:
    root, agent = state_dir(), found.settings.id
    source = launch_of(found.codex, agent, root, codex=codex, codex_home=codex_home)
    if isinstance(source, Launch):
        source = replace(source, catalogue="untouched")
    private_dir(agent_dir(root, agent))
    async with (
        bindings_at(_store(found), found.codex.continuity.limits) as bindings,
        app_server(source, on_notification=ignore_all, on_request=refuse_all) as server,
    ):
        threads = Threads(bindings, backend_of(source), ThreadSettings(), login=login_of(source, agent))
        await threads.adopt(Connection(Life(server)), chat, thread)


async def _compact(
    how: Callable[..., AbstractAsyncContextManager[Running]], loopback: bool, model: str | None, chat: str
) -> TurnResult:
    root = root_of(loopback=loopback)
    async with played(how, _summary if loopback else None, model=model, root=root) as live:
        return await (await live.agent.compact(chat)).result()


def _summary(request: RecordedRequest) -> Action:
    """What the stand-in makes of a conversation."""
    return say(f"The loopback model summarised {len(request.parts())} parts.")


async def _forget(path: Path, chat: str) -> None:
    async with bindings_at(path) as bindings:
        await bindings.clear(chat)


def _store(found: Configured) -> Path:
    return agent_dir(state_dir(), found.settings.id) / STORE


def _say(as_json: bool, data: dict[str, object], sentence: str) -> None:
    print(json.dumps(data, ensure_ascii=False) if as_json else sentence)


def _as_data(each: Listed) -> dict[str, object]:
    binding = each.binding
    return {
        "chat": binding.session_key,
        "backend": binding.backend,
        "thread": binding.conversation,
        "model": binding.basis.model or None,
        "provider": binding.basis.provider or None,
        "folder": binding.basis.cwd or None,
        "lastUsed": _time(each),
        "exchanges": each.exchanges,
    }


def _time(each: Listed) -> str | None:
    return datetime.fromtimestamp(each.used_at, UTC).isoformat(timespec="seconds") if each.used_at else None
