"""`codex-bridge turn`: one payload in, the answer out."""

import json
import re
import sys
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from datetime import timedelta
from functools import partial
from typing import Annotated, Final, Never

import anyio
import typer

from codex_bridge.cli.approving import Approve, TerminalAsker, at_terminal
from codex_bridge.cli.composing import now
from codex_bridge.cli.last_prompt import LastPrompts, prompt_of
from codex_bridge.cli.options import OptionError, apart, goes_with, like
from codex_bridge.cli.played import played, root_of
from codex_bridge.cli.printed import Printed, file_lines, messages_of, reactions_data, sent_data
from codex_bridge.cli.saying import ended_well, said
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
from codex_bridge.home import agent_dir
from codex_bridge.loopback.recorder import RecordedRequest
from codex_bridge.loopback.script import Action, CallTool, Reply, say
from codex_bridge.tools import DIRECT
from codex_bridge.turn import CodexTurn
from harness.agent import Agent
from harness.channels import from_payload
from harness.delivery.parcel import deliverable
from harness.durations import parse_duration
from harness.inbound import InboundMessage
from harness.json_files import read_object
from harness.masking import mask
from harness.replies.gate import Say, Silent, Way, decide, sentence
from harness.replies.media import MediaRules
from harness.replies.mode import Delivery
from harness.replies.preview import Preview
from harness.replies.silence import showable
from harness.tools import NAMESPACE
from harness.turns import Commentary, Finished, Notice, Outcome, RunningTurn, TextDelta, TextRetracted, TurnResult

_CALL: Final = re.compile(r"call (?P<tool>\w{1,64}) (?P<arguments>\{.*\})", re.DOTALL)
RULES: Final = (
    apart("--approve", "--then", why="several messages have nobody at the terminal"),
    goes_with("--after", "--then", "one message alone waits for none"),
    like("--after", r"\d+(\.\d+)?(ms|s|m)", "length of time such as 100ms or 2s"),
)


def command(
    payload: Annotated[
        str, typer.Option("--payload", help="A file with one Telegram update or Discord event, or - for stdin.")
    ],
    workspace: WorkspaceOption = None,
    loopback: Annotated[
        bool, typer.Option("--loopback", help="Let a local stand-in play the model; needs no account.")
    ] = False,
    model: Annotated[
        str | None, typer.Option("--model", help="The model, instead of the configured one or Codex's default.")
    ] = None,
    agent: AgentOption = None,
    config: ConfigOption = None,
    codex: CodexOption = None,
    codex_home: HomeOption = None,
    as_json: JsonOption = False,
    then: Annotated[
        list[str] | None,
        typer.Option("--then", help="A file with an update that comes next, as at a gateway: it may join the turn."),
    ] = None,
    after: Annotated[str, typer.Option("--after", help="How long after the one before it, such as 100ms.")] = "1s",
    channel: Annotated[
        str, typer.Option("--channel", help="Where the payload comes from, telegram or discord; else it tells itself.")
    ] = "",
    approve: Annotated[
        Approve | None,
        typer.Option(
            "--approve",
            help="Who answers what the turn asks: ask the terminal, never (a no), or all (a yes to each request for"
            " leave). By itself the terminal, where there is one.",
        ),
    ] = None,
) -> None:
    """Run one turn for a message that came in, and print the answer."""
    reads_stdin = payload == "-"
    if approve is Approve.ASK and reads_stdin:
        raise OptionError("--approve ask reads answers from stdin, where the payload comes from; name a file for it.")
    message, *later = (from_payload(read_object(file, "payload"), channel=channel) for file in (payload, *(then or ())))
    found = configured(config, agent, workspace)
    accept(found)
    how = partial(
        running,
        found.settings,
        codex=codex,
        codex_home=codex_home,
        codex_config=found.codex,
        # A folder that somebody names is taken as it is, and a mistyped one is not made.
        prepare=workspace is None,
    )
    if later:
        pause = parse_duration(after) or timedelta()
        _several([message, *later], pause.total_seconds(), how, loopback=loopback, model=model, as_json=as_json)
    paper = _Paper()
    printed = Printed(quiet=as_json, before=paper.end)
    paper_of_turn = None if as_json else paper
    approve = approve or at_terminal(reads_stdin=reads_stdin, as_json=as_json)
    asker = TerminalAsker(approve, found.settings.approvals, printed.aside, before=paper.end)
    run = partial(_run, asker=asker)
    result, way, files = anyio.run(run, message, partial(how, outbox=printed), loopback, model, paper_of_turn)
    if as_json:
        print(json.dumps(as_data(message, result, printed, way, files), ensure_ascii=False, indent=2))
    elif not ended_well(result, way):
        print(f"codex-bridge: {said(sentence(result))}", file=sys.stderr)
    raise typer.Exit(0 if ended_well(result, way) else 1)


SILENT: Final = "[The agent chose to say nothing.]"


def as_data(
    message: InboundMessage,
    result: TurnResult,
    printed: Printed,
    way: Way = Way(),  # noqa: B008 - frozen
    files: MediaRules = MediaRules(),  # noqa: B008 - frozen
) -> dict[str, object]:
    """What `--json` prints: the outbox, what tools sent before the answer, and how the turn ended."""
    left_out: list[str] = []
    reply = deliverable(decide(result, way=way), files, left_out.append)
    sent = messages_of(reply, channel=message.channel, chat=message.chat.id, reply_to=message.message_id)
    return {
        "outbox": list(map(sent_data, (*printed.outbox, *sent))),
        **reactions_data(printed),
        **({"leftOut": left_out} if left_out else {}),
        "result": _result_data(result),
    }


def _result_data(result: TurnResult) -> dict[str, object]:
    return {
        "outcome": result.outcome.value,
        "error": said(result.error),
        "failure": result.failure.value if result.failure is not None else None,
        "retryAt": result.retry_at,
        "endedBy": result.ended_by.value,
        "detail": mask(result.detail),
        "thread": result.conversation,
        "turn": result.turn,
        "usage": {
            "input": result.usage.input,
            "cached": result.usage.cached,
            "output": result.usage.output,
            "reasoning": result.usage.reasoning,
        },
    }


def _several(
    messages: list[InboundMessage],
    after: float,
    how: Callable[..., AbstractAsyncContextManager[Running]],
    *,
    loopback: bool,
    model: str | None,
    as_json: bool,
) -> Never:
    """Run the turns of several messages."""
    from codex_bridge.cli.several import hold  # most turns have one

    held = anyio.run(partial(hold, messages, after, how, loopback=loopback, model=model, quiet=as_json))
    if as_json:
        data = {
            "outbox": list(map(sent_data, held.printed.outbox)),
            **reactions_data(held.printed),
            "turns": [
                {
                    "message": each.message,
                    "joined": each.joined,
                    "result": None if each.result is None else _result_data(each.result),
                }
                for each in held.turns
            ],
        }
        print(json.dumps(data, ensure_ascii=False, indent=2))
    raise typer.Exit(0 if held.answered else 1)


def echo(request: RecordedRequest) -> Action:
    """What the stand-in says to a message: that it arrived.

    A message such as `call session_status {}` lets it call that tool, and tell what the tool says.
    """
    last = request.parts()[-1]
    if last.kind == "function_call_output":
        return say(f"The tool says: {last.text}")
    said = [part.text for part in request.parts() if part.role == "user"]
    if said and (found := _CALL.fullmatch(said[-1].strip())) is not None:
        tool = found["tool"]
        return Reply((CallTool(tool, found["arguments"], None if tool in DIRECT else NAMESPACE),))
    return say(f"The loopback model received: {said[-1] if said else 'nothing'}", pieces=8)


async def _run(
    message: InboundMessage,
    how: Callable[..., AbstractAsyncContextManager[Running]],
    loopback: bool,
    model: str | None,
    paper: "_Paper | None",
    asker: TerminalAsker,
) -> tuple[TurnResult, Way, MediaRules]:
    root = root_of(loopback=loopback)
    async with played(how, echo if loopback else None, model=model, root=root) as live:
        turn = await live.agent.receive(message, asker=asker)
        try:
            async with drained_by_sigterm(live.harness):
                way = _way(message, live.agent)
                shown = turn.result() if paper is None else show(turn, paper, way, live.files)
                return await shown, way, live.files
        finally:
            if turn.thread is not None:  # it got as far as to be sent
                LastPrompts(agent_dir(root, live.agent.gatherer.settings.id)).keep(prompt_of(turn, now()))


def _way(message: InboundMessage, agent: Agent[CodexTurn]) -> Way:
    """How the answer to a message reaches its chat."""
    return Way(delivery=agent.delivery(message), channel=message.channel, chat=message.chat.id)


async def show(
    turn: RunningTurn,
    paper: "_Paper | None" = None,
    way: Way = Way(),  # noqa: B008 - frozen
    files: MediaRules = MediaRules(),  # noqa: B008 - frozen
) -> TurnResult:
    """Print a turn's answer as it comes, and give its result."""
    preview, paper = Preview(), paper or _Paper()
    async for event in turn.events():
        news = preview.see(event)
        match event:
            case TextDelta() if news and way.delivery is Delivery.AUTOMATIC:
                paper.show("\n\n".join(preview.texts))
            case TextRetracted():
                paper.end()
                print("[the stream broke off; once more]", flush=True)
            case Commentary(text=text):
                print(text, end="", file=sys.stderr, flush=True)
            case Notice(text=text):
                print(f"[{said(text)}]", file=sys.stderr, flush=True)
            case Finished(result=result):
                left_out: list[str] = []
                reply = deliverable(decide(result, way=way), files, left_out.append)
                if result.outcome is not Outcome.ANSWERED:
                    paper.show(showable(result.text))  # what went wrong is said by the caller, on stderr
                elif isinstance(reply, Say):
                    paper.show("\n\n".join(reply.texts))
                paper.end()
                for line in file_lines(reply.media) if isinstance(reply, Say) else ():
                    print(line, flush=True)
                for line in left_out:
                    print(f"[{line}]", file=sys.stderr, flush=True)
                if isinstance(reply, Silent) and reply.chosen and not result.evidence.sent:
                    print(f"[{reply.why}]" if reply.why else SILENT, file=sys.stderr, flush=True)
                return result
            case _:
                pass
    raise AssertionError("a turn always ends with Finished")


class _Paper:
    """A text that grows where nothing can be taken back."""

    def __init__(self) -> None:
        self._shown = ""

    def show(self, text: str) -> None:
        """Let it be this text: what is new of it, or all of it on a line of its own. An empty one changes nothing."""
        if not text:
            return
        if not text.startswith(self._shown):
            self.end()
        print(text[len(self._shown) :], end="", flush=True)
        self._shown = text

    def end(self) -> None:
        """Begin a line, unless nothing stands on this one."""
        if self._shown:
            print(flush=True)
        self._shown = ""
