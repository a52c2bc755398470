"""What a heartbeat would find: whether it runs, what it asks, or why it does not.

Pure: what was read and what is going on come in as arguments.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime

from harness.heartbeat.heartbeat_file import is_effectively_empty
from harness.heartbeat.hours import within_active_hours
from harness.heartbeat.poll import CommitmentsPoll, CronPoll, ExecPoll, Pending, Poll, choose_poll
from harness.heartbeat.run import run_key
from harness.heartbeat.schedule import Intent
from harness.heartbeat.skips import RunFacts, SkipReason, Wake, skip_before_run
from harness.heartbeat.state import HeartbeatState
from harness.heartbeat.target import Place, Target
from harness.heartbeat.tasks import HeartbeatTask, TaskBlock, due_tasks, parse_tasks
from harness.settings.agent import AgentSettings
from harness.settings.heartbeat import Visibility
from harness.turns import Trigger, TurnRequest

INTENT_OF = {
    Wake.MANUAL: Intent.MANUAL,
    Wake.WAKE: Intent.IMMEDIATE,
    Wake.EXEC: Intent.EVENT,
    Wake.CRON: Intent.EVENT,
    Wake.INTERVAL: Intent.SCHEDULED,
}
"""How urgent each wake is, the most urgent first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Events:
    """What is to be looked at besides the file."""

    commitments: tuple[str, ...] = ()
    """Promises whose time has come."""
    exec_results: tuple[str, ...] = ()
    """What commands came to that were left running."""
    reminders: tuple[str, ...] = ()

    def __add__(self, other: "Events") -> "Events":
        return Events(
            commitments=self.commitments + other.commitments,
            exec_results=self.exec_results + other.exec_results,
            reminders=self.reminders + other.reminders,
        )

    def without(self, poll: Poll) -> "Events":
        """Return what is left to be looked at after a heartbeat that asked about `poll`."""
        match poll:
            case CommitmentsPoll(asked):
                return replace(self, commitments=self.commitments[len(asked) :])
            case ExecPoll(asked):
                return replace(self, exec_results=self.exec_results[len(asked) :])
            case CronPoll(asked):
                return replace(self, reminders=self.reminders[len(asked) :])
            case _:
                return self

    @property
    def wakes(self) -> frozenset[Wake]:
        """The wakes that they are."""
        kinds = {Wake.EXEC: self.exec_results, Wake.CRON: self.reminders, Wake.WAKE: self.commitments}
        return frozenset(wake for wake, found in kinds.items() if found)


@dataclass(frozen=True, slots=True, kw_only=True)
class Busy:
    """What the agent is doing."""

    conversation: bool = False
    """The conversation of its heartbeats."""
    cron: bool = False
    others: bool = False
    person: bool = False
    """A person's message runs or waits in that conversation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """What a heartbeat would find."""

    skip: SkipReason | None
    """Why it would not run; None when it would."""
    poll: Poll
    """What it would ask."""
    block: TaskBlock = field(default_factory=lambda: TaskBlock((), "", ()))
    due_tasks: tuple[HeartbeatTask, ...] = ()


def urgency(wakes: Iterable[Wake]) -> Wake:
    """Return the most urgent of some wakes."""
    order = list(INTENT_OF)
    return min(wakes, key=order.index)


def busy_of(unfinished: Iterable[TurnRequest], settings: AgentSettings, place: Place) -> Busy:
    """Say what an agent is doing, from the turns that run or wait on its backend."""
    key = run_key(settings.heartbeat, place)
    own = [request for request in unfinished if request.agent == settings.id]
    mine = [request for request in own if request.session_key == key]
    return Busy(
        conversation=bool(mine),
        cron=any(request.trigger is Trigger.CRON for request in own),
        others=len(mine) < len(own),
        person=any(request.trigger is Trigger.CHAT for request in mine),
    )


def visibility_at(settings: AgentSettings, target: Target | None) -> Visibility:
    """Return what of a heartbeat is shown in a chat; without one, what is shown in any."""
    if target is None:
        return settings.visibility.shared
    return settings.visibility.of(target.channel, target.account)


def survey(
    settings: AgentSettings,
    *,
    text: str | None,
    state: HeartbeatState,
    place: Place,
    now: datetime,
    wake: Wake = Wake.INTERVAL,
    events: Events = Events(),
    busy: Busy = Busy(),
) -> Survey:
    """Look at a heartbeat before it runs.

    Args:
        settings: The agent's.
        text: HEARTBEAT.md; None when there is none.
        state: What is remembered of earlier heartbeats.
        place: Where it would happen.
        now: The time.
        wake: What would wake the agent.
        events: What is to be looked at besides the file.
        busy: What the agent is doing.
    """
    heartbeat = settings.heartbeat
    block = parse_tasks(text or "")
    due = due_tasks(block.tasks, last_run=state.last_runs(), now=now)
    skip = skip_before_run(
        RunFacts(
            wake=wake,
            enabled=heartbeat.runs,
            within_hours=within_active_hours(heartbeat.active_hours, now=now),
            requests_in_flight=busy.conversation,
            cron_in_progress=busy.cron,
            other_lanes_busy=busy.others,
            skip_when_busy=heartbeat.skip_when_busy,
            file_empty=is_effectively_empty(text),
            tasks_listed=bool(block.tasks),
            tasks_due=bool(due),
            commitments_due=bool(events.commitments),
            visibility=visibility_at(settings, place.target),
        )
    )
    poll = choose_poll(
        Pending(
            prompt=heartbeat.prompt,
            commitments=events.commitments,
            tasks=due,
            context=block.context,
            exec_results=events.exec_results,
            reminders=events.reminders,
            deliver=place.target is not None,
        )
    )
    return Survey(skip=skip, poll=poll, block=block, due_tasks=due)
