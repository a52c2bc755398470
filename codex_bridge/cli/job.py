"""`codex-bridge job`: run a scheduled prompt as a gateway's clock would, and print what its chat would be told."""

import json
import sys
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime
from functools import partial
from typing import Annotated, Final

import anyio
import typer

from codex_bridge.cli.options import CHANNEL, like
from codex_bridge.cli.played import played, root_of
from codex_bridge.cli.printed import Printed, messages_of, reactions_data, sent_data
from codex_bridge.cli.saying import said
from codex_bridge.cli.setup import (
    AgentOption,
    CodexOption,
    ConfigOption,
    HomeOption,
    JsonOption,
    Running,
    WorkspaceOption,
    accept,
    configured,
    running,
)
from codex_bridge.cli.stopping import drained_by_sigterm
from codex_bridge.cli.turn import echo
from harness.delivery.parcel import deliverable
from harness.masking import mask
from harness.replies.gate import Say
from harness.scheduled import Job, JobResult, JobStatus, run_job
from harness.workspace.folder import check_folder

RULES: Final = (like("--name", CHANNEL, "name of a job, which has letters, digits, - and _ only"),)


def command(
    prompt: Annotated[str, typer.Option("--prompt", help="What is to be done.")],
    name: Annotated[str, typer.Option("--name", help="The job; its runs share a conversation.")] = "once",
    light: Annotated[
        bool, typer.Option("--light", help="The prompt alone, without the workspace and the runs before.")
    ] = False,
    workspace: WorkspaceOption = None,
    config: ConfigOption = None,
    agent: AgentOption = None,
    loopback: Annotated[
        bool, typer.Option("--loopback", help="Let a local stand-in play the model; needs no account.")
    ] = False,
    model: Annotated[str | None, typer.Option("--model", help="The model, instead of Codex's default.")] = None,
    codex: CodexOption = None,
    codex_home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Run a scheduled prompt, and print what its chat would be told."""
    found = configured(config, agent, workspace)
    accept(found)
    check_folder(found.settings.workspace)
    job = Job(prompt=prompt, session_key=f"agent:{found.settings.id}:cron:{name}", light=light)
    printed = Printed(quiet=as_json)
    how = partial(running, found.settings, codex=codex, codex_home=codex_home, codex_config=found.codex, outbox=printed)
    done = anyio.run(_run, job, how, printed, loopback, model)
    if as_json:
        print(json.dumps(as_data(done, printed), ensure_ascii=False, indent=2))
    elif done.status is not JobStatus.TOLD:
        silent = done.status is JobStatus.SILENT
        print("[The agent chose to say nothing.]" if silent else f"codex-bridge: {said(done.error)}", file=sys.stderr)
    raise typer.Exit(1 if done.status is JobStatus.FAILED else 0)


def as_data(done: JobResult, printed: Printed) -> dict[str, object]:
    """What `--json` prints: what came of it, and what chats were told, by tools of the run too."""
    result = done.result
    return {
        "status": done.status.value,
        "text": done.text,
        "outbox": list(map(sent_data, printed.outbox)),
        **reactions_data(printed),
        "error": said(done.error),
        "detail": mask(result.detail) if result else "",
        "thread": result.conversation if result else "",
        "turn": result.turn if result else "",
    }


async def _run(
    job: Job,
    how: Callable[..., AbstractAsyncContextManager[Running]],
    printed: Printed,
    loopback: bool,
    model: str | None,
) -> JobResult:
    root = root_of(loopback=loopback)
    async with played(how, echo if loopback else None, model=model, root=root) as live:

        async def read(say: Say) -> None:
            """Whoever runs this reads it; no chat is told."""
            for each in messages_of(deliverable(say, live.files, printed.aside), channel="", chat=""):
                await printed.send(each)

        async with drained_by_sigterm(live.harness):
            return await run_job(live.agent, job, key=f"job:{datetime.now(UTC).isoformat()}", deliver=read)
