"""`codex-bridge heartbeat`: when an agent's next heartbeat is due, whether it would run, and what it says.

Nobody is told anything here: what a gateway would send is printed.
"""

import json
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Annotated, Final

import anyio
import typer

from codex_bridge.cli.beats import Chats, Teller, account_of
from codex_bridge.cli.options import Rule, Written, apart
from codex_bridge.cli.played import played, root_of
from codex_bridge.cli.printed import Printed
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
from codex_bridge.cli.stopping import drained_by_sigterm, until_stopped
from codex_bridge.cli.tables import console, table
from codex_bridge.home import agent_dir, state_dir
from codex_bridge.lanes import HABITS
from codex_bridge.loopback.recorder import RecordedRequest
from codex_bridge.loopback.script import Action, CallTool, Reply, say
from harness.clock import format_user_time
from harness.errors import StoreError
from harness.heartbeat.convention import Ack
from harness.heartbeat.events import (
    Failed,
    HeartbeatEvent,
    Settled,
)
from harness.heartbeat.run import plan_run
from harness.heartbeat.runner import Gateway, HeartbeatRunner
from harness.heartbeat.schedule import next_due, phase_offset
from harness.heartbeat.skips import WHY, SkipReason, Wake
from harness.heartbeat.state import HeartbeatState
from harness.heartbeat.state_file import load_state
from harness.heartbeat.survey import Survey, survey
from harness.heartbeat.target import Place, target_of
from harness.heartbeat.wording import RESPONSE_TOOL
from harness.inbound import ChatKind, chat_key
from harness.json_value import Json
from harness.settings.agent import AgentSettings
from harness.workspace.folder import check_folder
from harness.workspace.names import HEARTBEAT
from harness.workspace.reader import GuardedReader
from harness.workspace.reads import Content, Refused

STATE_FILE: Final = "heartbeat.json"
"""What an agent's heartbeats are remembered in, beside its store."""


def runs_something(*options: str) -> Rule:
    """Options that mean something only where a heartbeat runs."""

    def rule(written: Written) -> str | None:
        idle = next((option for option in options if option in written.given), None)
        if idle is None or {"--once", "--watch"} & written.given.keys():
            return None
        return f"{idle} is for --once and --watch: a plan asks no model."

    return rule


RULES: Final = (
    apart("--once", "--watch", why="One runs a single heartbeat now and the other all of them when they are due"),
    runs_something("--model", "--codex", "--codex-home"),
)


def command(
    workspace: WorkspaceOption = None,
    config: ConfigOption = None,
    agent: AgentOption = None,
    once: Annotated[bool, typer.Option("--once", help="Run one now, and print what would be delivered.")] = False,
    watch: Annotated[bool, typer.Option("--watch", help="Run each one when it is due, until interrupted.")] = False,
    loopback: Annotated[
        bool, typer.Option("--loopback", help="Let a local stand-in play the model; needs no account.")
    ] = False,
    model: Annotated[str | None, typer.Option("--model", help="The model, instead of Codex's default.")] = None,
    codex: CodexOption = None,
    codex_home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say when the next heartbeat is due and whether it would run. Nothing is sent to any chat."""
    found = configured(config, agent, workspace)
    settings = found.settings
    accept(found)
    check_folder(settings.workspace)
    # The stand-in's conversations are kept apart, and with them what its heartbeats did.
    root = root_of(loopback=loopback)
    if not once and not watch:
        plan = anyio.run(look, settings, root, datetime.now(UTC))
        if as_json:
            print(json.dumps(plan.as_data(), ensure_ascii=False, indent=2))
        else:
            _show(plan)
        return
    how = partial(
        running,
        settings,
        codex=codex,
        codex_home=codex_home,
        codex_config=found.codex,
    )
    chats = Chats(place_of(settings).target, Printed(quiet=as_json))
    if watch:
        anyio.run(_run, how, root, chats, Teller(settings, chats, as_json=as_json), loopback, model, True)
        return
    told: list[HeartbeatEvent] = []
    teller = Teller(settings, chats, as_json=False) if not as_json else told.append
    settled = anyio.run(_run, how, root, chats, teller, loopback, model, False)
    if as_json:
        print(json.dumps(account_of(told, chats), ensure_ascii=False, indent=2))
    raise typer.Exit(1 if isinstance(settled, Failed) else 0)


# the plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """An agent's next heartbeat, as things are now."""

    settings: AgentSettings
    now: datetime
    due: datetime | None
    """None for an agent without heartbeats."""
    found: Survey
    """What it would find when it is due, if nothing changes."""
    poll: str
    state: HeartbeatState
    place: Place
    session: str
    """The conversation that it would run in."""
    problems: tuple[str, ...]

    def as_data(self) -> dict[str, object]:
        """What `--json` prints."""
        heartbeat, skip, target = self.settings.heartbeat, self.found.skip, self.place.target
        return {
            "agent": self.settings.id,
            "every": None if heartbeat.every is None else heartbeat.every.total_seconds(),
            "next": None if self.due is None else self.due.isoformat(),
            "wouldRun": skip is None,
            "skip": skip,
            "why": WHY[skip] if skip else "",
            "poll": "" if skip else self.poll,
            "session": self.session,
            "target": None if target is None else {"channel": target.channel, "chat": target.chat},
            "light": heartbeat.light_context,
            "isolated": heartbeat.isolated_session,
            "tasks": [
                {
                    "name": task.name,
                    "every": None if task.interval is None else task.interval.total_seconds(),
                    "lastRun": last.isoformat() if (last := self.state.last_runs().get(task.name)) else None,
                    "due": task in self.found.due_tasks,
                }
                for task in self.found.block.tasks
            ],
            "problems": list(self.problems),
        }


async def look(settings: AgentSettings, root: Path, now: datetime) -> Plan:
    """Look at the next heartbeat of an agent whose state is kept below `root`."""
    heartbeat, problems = settings.heartbeat, list[str]()
    try:
        state = load_state(remembered_in(root, settings))
    except StoreError as error:
        state = HeartbeatState()
        problems.append(str(error))
    read = await GuardedReader().read(str(settings.workspace), HEARTBEAT)
    if isinstance(read, Refused):
        problems.append(f"HEARTBEAT.md was not read: {read.reason}.")
    every = heartbeat.every if heartbeat.runs else None
    due = None if every is None else next_due(now, every, phase_offset(seed(), settings.id, every))
    place = place_of(settings)
    found = survey(
        settings,
        text=read.text if isinstance(read, Content) else None,
        state=state,
        place=place,
        now=due or now,
    )
    run = plan_run(
        heartbeat,
        found.poll,
        place=place,
        ack=Ack.TOOL,
        file_path=str(settings.workspace / HEARTBEAT),
        quote_context=not HABITS.points_to_heartbeat_file,
    )
    return Plan(
        settings=settings,
        now=now,
        due=due,
        found=found,
        poll=run.poll.text,
        state=state,
        place=place,
        session=run.session_key,
        problems=(*problems, *found.block.problems),
    )


def remembered_in(root: Path, settings: AgentSettings) -> Path:
    """The file of an agent's heartbeats, when everything is kept below `root`."""
    return agent_dir(root, settings.id) / STATE_FILE


def seed() -> str:
    """What spreads the beats of the agents of this machine, the same at each start."""
    return str(state_dir())


def place_of(settings: AgentSettings) -> Place:
    """Where heartbeats that are tried out happen, with the chat that a gateway would tell; here nobody is told."""
    target = target_of(settings.heartbeat, None)
    # A group, or a chat that may be one, is not where the owner speaks with the agent.
    direct = target if target is not None and target.private else None
    main = f"agent:{settings.id}:main"
    key = main if direct is None else chat_key(settings.id, direct.channel, ChatKind.DIRECT, direct.chat)
    return Place(session_key=key, target=target, tells=False)


def _show(plan: Plan) -> None:
    out, settings = console(), plan.settings
    heartbeat = settings.heartbeat
    if plan.due is None:
        out.print(f"No heartbeat: {WHY[SkipReason.DISABLED]}.", soft_wrap=True)
    else:
        at = format_user_time(plan.due, settings.time.zone, clock=settings.time.clock)
        out.print(f"Next: {at} ({settings.time.zone.key}), in {_length(plan.due - plan.now)}.", soft_wrap=True)
        skip = plan.found.skip
        would = "It would run." if skip is None else f"It would be skipped: {WHY[skip]} ({skip})."
        out.print(would, soft_wrap=True)
    words = [f"every {_length(heartbeat.every)}" if heartbeat.every else "off"]
    words += ["light context"] if heartbeat.light_context else []
    words += ["isolated session"] if heartbeat.isolated_session else []
    target = plan.place.target
    told = f"tells {target.channel} {target.chat}" if target else "tells nobody"
    told += ", which others than the owner may read" if plan.place.shared else ""
    out.print(f"Heartbeats of {settings.id}: {', '.join([*words, told])}.", soft_wrap=True)
    if plan.found.block.tasks:
        last = plan.state.last_runs()
        rows = [
            (
                task.name,
                "never" if task.interval is None else _length(task.interval),
                format_user_time(last[task.name], settings.time.zone) if task.name in last else "never",
                "yes" if task in plan.found.due_tasks else "no",
            )
            for task in plan.found.block.tasks
        ]
        out.print()
        out.print(table("Tasks", ("task", "every", "last run", "due then"), rows))
    for problem in plan.problems:
        out.print(f"! {problem}", style="yellow", markup=False, soft_wrap=True)


def _length(time: timedelta) -> str:
    """A length of time as a person says it, rounded up to minutes."""
    minutes = -(-int(time.total_seconds()) // 60)
    hours, minutes = divmod(minutes, 60)
    return " ".join([*([f"{hours} h"] if hours else []), *([f"{minutes} min"] if minutes or not hours else [])])


# a run


def attentive(request: RecordedRequest) -> Action:
    """What the stand-in does on a heartbeat: it reports, by the tool, what it was asked."""
    last = request.parts()[-1]
    if last.kind == "function_call_output":
        return say("Done.")
    told: Json = {
        "outcome": "needs_attention",
        "notify": True,
        "summary": "The stand-in was asked.",
        "notificationText": f"The loopback model received: {last.text.splitlines()[0] if last.text else 'nothing'}",
    }
    return Reply((CallTool(RESPONSE_TOOL, told),))


async def _run(
    how: Callable[..., AbstractAsyncContextManager[Running]],
    root: Path,
    chats: Chats,
    teller: Callable[[HeartbeatEvent], None],
    loopback: bool,
    model: str | None,
    watch: bool,
) -> Settled | None:
    how = partial(how, outbox=chats.printed)
    async with played(how, attentive if loopback else None, model=model, root=root) as live:
        chats.files = live.files
        settings = live.agent.gatherer.settings
        place = place_of(settings)

        async def nobody(alert: object) -> None:
            raise AssertionError(f"no chat is told of {alert}")

        runner = HeartbeatRunner(
            live.agent,
            Gateway(
                place=lambda: place,
                deliver=nobody,
                tell=teller,
                unfinished=lambda: live.harness.unfinished,
            ),
            remembered_in(root, settings),
            seed=seed(),
        )
        if watch:
            await until_stopped(live.harness, runner.run)
            return None
        runner.wake(Wake.MANUAL, "asked on the command line")
        async with drained_by_sigterm(live.harness):
            return await runner.attempt()
