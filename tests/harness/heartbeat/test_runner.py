"""The runner on a real workspace, with a backend that answers as the test says and a clock that nobody waits for."""

from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import anyio
import pytest

from harness.agent import Agent
from harness.errors import StoreError
from harness.gather import Gatherer
from harness.habits import Habits
from harness.heartbeat import (
    ActiveHours,
    Alert,
    Began,
    ChannelVisibility,
    Deferred,
    Ended,
    Events,
    Failed,
    Gateway,
    GaveWay,
    HeartbeatEvent,
    HeartbeatRunner,
    HeartbeatSettings,
    Noticed,
    Place,
    Scheduled,
    Skipped,
    SkipReason,
    Status,
    Target,
    Verdict,
    Visibility,
    Wake,
    load_state,
)
from harness.heartbeat.outcome import ALL_QUIET
from harness.heartbeat.runner import REWRITTEN, SOON
from harness.heartbeat.wording import KEEP_INSIDE, TELL_OWNER
from harness.inbound import ChatKind
from harness.json_value import Json
from harness.layers import Composition, LayerName
from harness.plain import plain_settings
from harness.replies.gate import Say
from harness.store.transcript import Occasion, Spoken
from harness.toolbox import OwnChat, Toolbox, ToolTurn
from harness.tools import Tool
from harness.turns import EndedBy, Notice, Outcome, Reasoning, ToolFinished, Trigger, TurnEvent, TurnRequest, TurnResult
from tests.support.untouched import Untouched

NOON = datetime(2026, 3, 2, 12, 0, 0, tzinfo=UTC)
EVERY = timedelta(minutes=30)
CODEX = Habits(reads_agents_file=True, points_to_heartbeat_file=True)
CHAT = Target(channel="telegram", chat="7", direct=True)
KEY = "agent:main:telegram:direct:7"
OK = TurnResult(Outcome.ANSWERED, "HEARTBEAT_OK", conversation="c1", turn="t1")
QUIET = Verdict(Status.QUIET, acknowledged=True)
TASKS = "tasks:\n- name: vents\n  interval: 2h\n  prompt: Look at the vents.\n\nStay short."


def alert(text: str) -> TurnResult:
    return replace(OK, text=text)


@dataclass
class Played(Untouched):
    """A turn that is over, or lasts until somebody ends it."""

    request: TurnRequest
    ended: TurnResult
    seen: tuple[TurnEvent, ...] = ()
    answer: dict[str, Json] | None = None
    """What the agent answers with its tool."""

    async def events(self) -> AsyncIterator[TurnEvent]:
        if self.answer is not None:
            await self.request.tools[0].call(self.answer)
        for event in self.seen:
            yield event

    async def result(self) -> TurnResult:
        return self.ended


@dataclass(frozen=True)
class Acted:
    """A turn that does something before it ends."""

    ended: TurnResult
    seen: tuple[TurnEvent, ...] = ()
    answer: dict[str, Json] | None = None


Act = TurnResult | Exception | Acted


class OneTool:
    """A toolbox with the reply tool alone."""

    names = frozenset({"heartbeat_respond"})

    def for_turn(self, turn: ToolTurn) -> tuple[Tool, ...]:
        return (turn.responder.tool,)


class Backend:
    """Ends each turn as the script says; when it is over, with a quiet heartbeat."""

    def __init__(self, *acts: Act) -> None:
        self.acts = list(acts)
        self.requests: list[TurnRequest] = []
        self.on_start: Callable[[], None] = lambda: None

    def start(self, request: TurnRequest) -> Played:
        self.requests.append(request)
        self.on_start()
        act = self.acts.pop(0) if self.acts else OK
        if isinstance(act, Exception):
            raise act
        if isinstance(act, TurnResult):
            return Played(request, act)
        return Played(request, act.ended, act.seen, act.answer)

    @property
    def polls(self) -> list[str]:
        words = [request.composition.get(LayerName.USER_TEXT) for request in self.requests]
        return [layer.text for layer in words if layer]


class Clock:
    """Goes on only while somebody sleeps."""

    def __init__(self, at: datetime = NOON, *, until: datetime = NOON) -> None:
        self.at = at
        self.until = until
        self.over = anyio.Event()
        self.planned: list[tuple[datetime, Callable[[], None]]] = []

    def now(self) -> datetime:
        return self.at

    async def sleep(self, seconds: float) -> None:
        left = timedelta(seconds=seconds)
        while self.planned and self.planned[0][0] <= self.at + left:
            moment, act = self.planned.pop(0)
            left -= moment - self.at
            self.at = moment
            act()
            for _ in range(5):  # whoever was woken goes first, and may end this sleep
                await anyio.lowlevel.checkpoint()
        if self.at + left > self.until:
            self.over.set()
            await anyio.sleep_forever()
        self.at += left
        await anyio.lowlevel.checkpoint()


class Stage:
    """A runner, and everything that came of it."""

    def __init__(
        self,
        folder: Path,
        *acts: Act,
        file: str | None = "- look at the sensor",
        habits: Habits = CODEX,
        target: Target | None = CHAT,
        name: str = "main",
        visibility: Visibility | None = None,
        toolbox: Toolbox | None = None,
        **heartbeat: Any,
    ) -> None:
        self.workspace = folder / name
        self.workspace.mkdir(exist_ok=True)
        if file is not None:
            (self.workspace / "HEARTBEAT.md").write_text(file, "utf-8")
        self.backend = Backend(*acts)
        self.clock = Clock()
        self.events: list[HeartbeatEvent] = []
        self.sent: list[Alert] = []
        self.mirrored: list[tuple[str, Spoken]] = []
        self.running: list[TurnRequest] = []
        self.refusal: Exception | None = None
        self.state = folder / f"{name}.json"
        settings = replace(
            plain_settings(self.workspace, name),
            heartbeat=HeartbeatSettings(every=EVERY, **heartbeat),
            visibility=ChannelVisibility(shared=visibility or Visibility()),
        )
        self.gateway = Gateway(
            place=lambda: Place(session_key=KEY, target=target),
            deliver=self._deliver,
            tell=self.events.append,
            unfinished=lambda: self.running,
            mirror=self._mirror,
        )
        self.agent = Agent(self.backend, Gatherer(settings, habits, now=self.clock.now), toolbox=toolbox)
        self.runner = self.restarted()

    def restarted(self) -> HeartbeatRunner[Played]:
        self.runner = HeartbeatRunner(self.agent, self.gateway, self.state, now=self.clock.now, sleep=self.clock.sleep)
        return self.runner

    async def run(self, length: timedelta) -> list[HeartbeatEvent]:
        """Let the runner run for so long; gives what it told meanwhile."""
        before = len(self.events)
        self.clock.until = self.clock.at + length
        self.clock.over = anyio.Event()
        with anyio.fail_after(10):
            async with anyio.create_task_group() as group:
                group.start_soon(self.runner.run)
                await self.clock.over.wait()
                group.cancel_scope.cancel()
        return self.events[before:]

    def at(self, after: timedelta, act: Callable[[], None]) -> None:
        self.clock.planned.append((self.clock.at + after, act))

    def tasks_run(self) -> list[str]:
        return [name for name, _ in load_state(self.state).task_runs]

    async def _deliver(self, told: Alert) -> None:
        if self.refusal is not None:
            raise self.refusal
        self.sent.append(told)

    async def _mirror(self, session_key: str, spoken: Spoken) -> None:
        if isinstance(self.refusal, StoreError):
            raise self.refusal
        self.mirrored.append((session_key, spoken))


class Noted(OneTool):
    """Remembers the turns that it was asked for."""

    def __init__(self) -> None:
        self.turns: list[ToolTurn] = []

    def for_turn(self, turn: ToolTurn) -> tuple[Tool, ...]:
        self.turns.append(turn)
        return super().for_turn(turn)


def of(kind: type[Any], events: Iterable[HeartbeatEvent]) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


def request(trigger: Trigger = Trigger.CHAT, key: str = KEY, agent: str = "main") -> TurnRequest:
    return TurnRequest(agent, key, trigger, Composition((), ()), Path("/w"), "m")


async def test_beats_come_at_their_place_in_the_interval_and_each_is_told(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    events = await stage.run(timedelta(hours=1))
    first, second = (began.at for began in of(Began, events))
    assert second - first == EVERY
    assert events == [
        Scheduled("main", first),
        Began("main", Wake.INTERVAL, "", KEY, first),
        Ended("main", QUIET, OK),
        Scheduled("main", second),
        Began("main", Wake.INTERVAL, "", KEY, second),
        Ended("main", QUIET, OK),
        Scheduled("main", second + EVERY),
    ]
    assert [(each.message_key, each.seconds) for each in stage.backend.requests] == [
        (f"heartbeat:main:{at.isoformat()}", 600.0) for at in (first, second)
    ]
    assert stage.sent == []
    again = Stage(tmp_path, name="main")
    assert of(Scheduled, await again.run(timedelta(minutes=1)))[0].at == first


async def test_the_beats_of_many_agents_are_spread_and_one_that_fails_holds_up_no_other(tmp_path: Path) -> None:
    stages = [
        Stage(tmp_path, *(RuntimeError("no"),) * 9 if name == "pell" else (), name=name) for name in ("pell", "tamsin")
    ]
    events = {stage.agent.gatherer.settings.id: await stage.run(timedelta(minutes=61)) for stage in stages}
    assert len({of(Scheduled, told)[0].at for told in events.values()}) == 2
    assert [len(of(Failed, told)) for told in events.values()] == [2, 0]
    assert [len(of(Ended, told)) for told in events.values()] == [0, 2]
    failed = of(Failed, events["pell"])[0]
    assert failed == Failed(
        "pell", "The heartbeat had an internal error; the log has the details.", "RuntimeError('no')"
    )


HIDDEN = Visibility(show_alerts=False, use_indicator=False)
NOTHING: list[TurnRequest] = []
NONE: dict[str, Any] = {}


@pytest.mark.parametrize(
    ("make", "busy", "wake", "reason"),
    [
        ({"enabled": False}, NOTHING, Wake.MANUAL, SkipReason.DISABLED),
        ({"active_hours": ActiveHours(13 * 60, 14 * 60, "UTC")}, NOTHING, Wake.WAKE, SkipReason.QUIET_HOURS),
        (NONE, [request()], Wake.MANUAL, SkipReason.REQUESTS_IN_FLIGHT),
        (NONE, [request(Trigger.CRON, "agent:main:cron:1")], Wake.MANUAL, SkipReason.CRON_IN_PROGRESS),
        ({"skip_when_busy": True}, [request(key="agent:main:x:1")], Wake.MANUAL, SkipReason.LANES_BUSY),
        ({"file": "# Nothing\n"}, NOTHING, Wake.INTERVAL, SkipReason.EMPTY_FILE),
        ({"file": TASKS.replace("2h", "soon")}, NOTHING, Wake.INTERVAL, SkipReason.NO_TASKS_DUE),
        ({"visibility": HIDDEN}, NOTHING, Wake.MANUAL, SkipReason.ALERTS_DISABLED),
    ],
)
async def test_a_wake_that_does_not_run_says_why_and_asks_no_model(
    tmp_path: Path, make: dict[str, Any], busy: list[TurnRequest], wake: Wake, reason: SkipReason
) -> None:
    stage = Stage(tmp_path, **make)
    stage.running = busy
    transient = reason in (SkipReason.REQUESTS_IN_FLIGHT, SkipReason.CRON_IN_PROGRESS, SkipReason.LANES_BUSY)
    stage.runner.wake(wake)
    assert await stage.runner.attempt() == Skipped("main", wake, reason, NOON + SOON if transient else None)
    assert stage.backend.requests == []


@pytest.mark.parametrize(
    ("busy", "make"),
    [
        (request(agent="other"), {}),
        (request(key="agent:main:x:1"), {}),
        (request(), {"isolated_session": True}),
    ],
    ids=["another agent", "another chat", "the chat of an isolated one"],
)
async def test_what_goes_on_elsewhere_holds_no_heartbeat_up(
    tmp_path: Path, busy: TurnRequest, make: dict[str, Any]
) -> None:
    stage = Stage(tmp_path, **make)
    stage.running = [busy]
    stage.runner.wake()
    assert await stage.runner.attempt() == Ended("main", QUIET, OK)


async def test_a_busy_conversation_delays_a_beat_and_does_not_cost_it(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    stage.running = [request()]
    stage.at(EVERY + timedelta(seconds=15), stage.running.clear)
    events = await stage.run(2 * EVERY - timedelta(seconds=1))
    due = of(Scheduled, events)[0].at
    free = NOON + EVERY + timedelta(seconds=15)
    skipped, began = of(Skipped, events), of(Began, events)
    assert [each.again - due for each in skipped] == [SOON * number for number in range(1, len(skipped) + 1)]
    assert free <= began[0].at < free + SOON
    assert began[0].wake is Wake.INTERVAL


async def test_tasks_run_when_they_are_due_and_count_as_run_only_when_the_heartbeat_did(tmp_path: Path) -> None:
    stage = Stage(tmp_path, replace(OK, outcome=Outcome.FAILED, error="No model."), OK, file=TASKS)
    first = await stage.run(EVERY)
    assert (of(Failed, first), stage.tasks_run()) == ([Failed("main", "No model.")], [])
    second = await stage.run(EVERY)
    assert (len(of(Ended, second)), stage.tasks_run()) == (1, ["vents"])
    stage.restarted()
    later = await stage.run(timedelta(minutes=119))
    assert [each.reason for each in of(Skipped, later)] == [SkipReason.NO_TASKS_DUE] * 3
    assert len(of(Began, later)) == 1
    assert all("- vents: Look at the vents." in poll for poll in stage.backend.polls)
    assert not any("Stay short." in poll for poll in stage.backend.polls)


async def test_a_backend_that_reads_no_files_is_given_the_rest_of_the_file(tmp_path: Path) -> None:
    stage = Stage(tmp_path, file=TASKS, habits=Habits())
    stage.runner.wake()
    await stage.runner.attempt()
    assert "Additional context from HEARTBEAT.md:\nStay short." in stage.backend.polls[0]
    assert stage.backend.polls[0].endswith(
        "Current time: Monday, March 2nd, 2026 - 12:00 (UTC)\nReference UTC: 2026-03-02 12:00 UTC"
    )


async def test_an_alert_is_sent_once_a_day_and_over_a_restart(tmp_path: Path) -> None:
    stage = Stage(tmp_path, alert("38 degrees!"), alert("38 degrees!"), alert("38 degrees!"))
    told = await stage.run(EVERY)
    key = "heartbeat:main:2026-03-02T12:12:37.562000+00:00"
    assert stage.sent == [Alert("main", KEY, CHAT, Say(("38 degrees!",)), key=key)]
    assert of(Ended, told)[0].verdict == Verdict(Status.ALERT, "38 degrees!")
    stage.restarted()
    held = of(Ended, await stage.run(EVERY))[0].verdict
    assert held == Verdict(Status.HELD, skip=SkipReason.DUPLICATE, withheld="38 degrees!")
    stage.clock.at += timedelta(days=1)
    await stage.run(EVERY)
    assert len(stage.sent) == 2


@pytest.mark.parametrize("direct", [True, False, None])
async def test_a_heartbeat_that_may_speak_in_a_group_knows_nothing_of_the_memory(
    tmp_path: Path, direct: bool | None
) -> None:
    """S55: neither a copy of MEMORY.md nor silence by the token of chats."""
    stage = Stage(tmp_path, habits=Habits(), target=replace(CHAT, direct=direct))
    (stage.workspace / "MEMORY.md").write_text("The boat is blue.", "utf-8")
    stage.runner.wake()
    await stage.runner.attempt()
    layers = stage.backend.requests[0].composition.layers
    assert any("The boat is blue." in layer.text for layer in layers) is bool(direct)
    assert not any("NO_REPLY" in layer.text for layer in layers)


@pytest.mark.parametrize(
    ("direct", "ran_in", "heard_in"),
    [
        (True, KEY, KEY),
        (False, f"{KEY}:shared:telegram:7", "agent:main:telegram:group:7"),
        (None, f"{KEY}:shared:telegram:7", KEY),
    ],
    ids=["direct", "group", "unknown"],
)
async def test_what_a_group_is_told_was_said_beside_the_owners_chat_and_is_kept_for_the_group(
    tmp_path: Path, direct: bool | None, ran_in: str, heard_in: str
) -> None:
    stage = Stage(tmp_path, alert("38 degrees!"), target=replace(CHAT, direct=direct))
    stage.running = [] if direct else [request()]  # what the owner's chat does holds a group's heartbeat up no longer
    stage.runner.wake()
    await stage.runner.attempt()
    conversation, turn = ("c1", "t1") if direct else ("", "")
    said = Spoken(answered="38 degrees!", occasion=Occasion.HEARTBEAT, conversation=conversation, turn=turn)
    assert [each.session_key for each in stage.backend.requests] == [ran_in]
    assert stage.mirrored == [(heard_in, said)]


@pytest.mark.parametrize(
    ("make", "text", "verdict"),
    [
        (
            {"direct_allowed": False},
            "38 degrees!",
            Verdict(Status.HELD, skip=SkipReason.NO_TARGET, withheld="38 degrees!"),
        ),
        (
            {"direct_allowed": False, "target": replace(CHAT, direct=None)},
            "38 degrees!",
            Verdict(Status.HELD, skip=SkipReason.NO_TARGET, withheld="38 degrees!"),
        ),
        (
            {"direct_allowed": False, "target": replace(CHAT, direct=False)},
            "38 degrees!",
            Verdict(Status.ALERT, "38 degrees!"),
        ),
        ({"ack_max_chars": 5}, "HEARTBEAT_OK All is well.", Verdict(Status.ALERT, "All is well.")),
        ({"ack_max_chars": 50}, "HEARTBEAT_OK All is well.", QUIET),
    ],
)
async def test_the_configuration_decides_what_the_owner_hears(
    tmp_path: Path, make: dict[str, Any], text: str, verdict: Verdict
) -> None:
    stage = Stage(tmp_path, alert(text), **make)
    stage.runner.wake()
    ended = await stage.runner.attempt()
    assert isinstance(ended, Ended)
    assert ended.verdict == verdict
    assert [each.text for each in stage.sent] == [verdict.text] * (verdict.status is Status.ALERT)


@pytest.mark.parametrize("included", [True, False])
async def test_what_the_agent_thinks_is_sent_only_where_it_is_wanted(tmp_path: Path, included: bool) -> None:
    stage = Stage(tmp_path, Acted(alert("38 degrees!"), (Reasoning("r", "It is hot."),)), include_reasoning=included)
    stage.runner.wake()
    await stage.runner.attempt()
    assert [each.say.texts for each in stage.sent] == [("It is hot.", "38 degrees!") if included else ("38 degrees!",)]


@pytest.mark.parametrize(("target", "advice"), [(CHAT, TELL_OWNER), (None, KEEP_INSIDE)])
async def test_an_event_is_to_be_told_only_where_somebody_can_be(
    tmp_path: Path, target: Target | None, advice: str
) -> None:
    stage = Stage(tmp_path, target=target)
    stage.runner.wake(Wake.EXEC, events=Events(exec_results=("exit 0",)))
    await stage.runner.attempt()
    assert advice in stage.backend.polls[0]


async def test_an_alert_for_nobody_is_withheld(tmp_path: Path) -> None:
    stage = Stage(tmp_path, alert("38 degrees!"), target=None)
    stage.runner.wake()
    ended = await stage.runner.attempt()
    assert isinstance(ended, Ended)
    assert ended.verdict == Verdict(Status.HELD, skip=SkipReason.NO_TARGET, withheld="38 degrees!")
    assert stage.sent == []


async def test_an_alert_that_cannot_be_sent_fails_the_heartbeat_and_is_tried_again(tmp_path: Path) -> None:
    stage = Stage(tmp_path, alert("38 degrees!"), alert("38 degrees!"), file=TASKS)
    stage.refusal = OSError("no network")
    failed = of(Failed, await stage.run(EVERY))
    assert failed == [Failed("main", "The alert could not be delivered: no network", "OSError('no network')")]
    assert stage.tasks_run() == []
    stage.refusal = None
    await stage.run(EVERY)
    assert ([each.text for each in stage.sent], stage.tasks_run()) == (["38 degrees!"], ["vents"])


@pytest.mark.parametrize(
    ("result", "failed"),
    [
        (replace(OK, outcome=Outcome.FAILED, error="No model.", detail="401"), Failed("main", "No model.", "401")),
        (replace(OK, outcome=Outcome.LOST), Failed("main", "The backend stopped in the middle of the heartbeat.")),
        (replace(OK, outcome=Outcome.INTERRUPTED), Failed("main", "The heartbeat was stopped.")),
        (replace(OK, outcome=Outcome.EMPTY, text=""), Failed("main", "The heartbeat ended without an answer.")),
    ],
)
async def test_a_heartbeat_that_fails_is_told_and_the_next_one_comes(
    tmp_path: Path, result: TurnResult, failed: Failed
) -> None:
    stage = Stage(tmp_path, result)
    events = await stage.run(2 * EVERY)
    assert of(Failed, events) == [failed]
    assert len(of(Ended, events)) == 1


async def test_a_workspace_that_is_gone_is_named_and_heartbeats_go_on_when_it_is_back(tmp_path: Path) -> None:
    stage = Stage(tmp_path, file=None)
    stage.workspace.rmdir()
    (failed,) = of(Failed, await stage.run(EVERY))
    assert failed.error == f"The workspace {stage.workspace} is no folder; create it or name another."
    stage.workspace.mkdir()
    assert len(of(Ended, await stage.run(EVERY))) == 1


FAILING = (ToolFinished("1", "message", succeeded=False), ToolFinished("2", "memory_get", succeeded=False))


async def test_a_tool_that_failed_makes_the_heartbeat_a_failed_one_unless_that_is_not_wanted(tmp_path: Path) -> None:
    """F13."""
    strict = Stage(tmp_path, Acted(OK, FAILING), file=TASKS)
    strict.runner.wake()
    assert await strict.runner.attempt() == Failed("main", "The tool message failed.")
    assert strict.tasks_run() == []
    lenient = Stage(tmp_path, Acted(OK, FAILING), file=TASKS, suppress_tool_error_warnings=True)
    lenient.runner.wake()
    assert await lenient.runner.attempt() == Ended("main", QUIET, OK)


async def test_reasoning_goes_before_the_alert_where_it_is_wanted_and_notices_are_passed_on(tmp_path: Path) -> None:
    seen = (Reasoning("r", "It is "), Notice("The model is slow."), Reasoning("r", "hot."))
    stage = Stage(tmp_path, Acted(alert("38 degrees!"), seen), include_reasoning=True)
    stage.runner.wake()
    await stage.runner.attempt()
    assert stage.sent == [
        Alert("main", KEY, CHAT, Say(("It is hot.", "38 degrees!")), "heartbeat:main:2026-03-02T12:00:00+00:00")
    ]
    assert of(Noticed, stage.events) == [Noticed("main", "The model is slow.")]


NEWS: dict[str, Json] = {"outcome": "needs_attention", "notify": True, "summary": "38 degrees!"}


@pytest.mark.parametrize("outcome", [Outcome.ANSWERED, Outcome.EMPTY, Outcome.FAILED, Outcome.INTERRUPTED])
async def test_an_answer_by_the_tool_counts_whatever_becomes_of_the_rest_of_the_turn(
    tmp_path: Path, outcome: Outcome
) -> None:
    act = Acted(replace(OK, outcome=outcome, text="Done."), answer=NEWS)
    stage = Stage(tmp_path, act, toolbox=OneTool())
    stage.backend.on_start = lambda: stage.running.append(request())
    stage.runner.wake()
    ended = await stage.runner.attempt()
    assert isinstance(ended, Ended)
    assert ended.verdict == Verdict(Status.ALERT, "38 degrees!")
    assert [each.text for each in stage.sent] == ["38 degrees!"]
    assert "heartbeat_respond" in stage.backend.polls[0]


async def test_what_a_chat_was_told_is_mirrored_and_its_own_conversation_knows_it_already(tmp_path: Path) -> None:
    """Issue 5, 6. Quiet heartbeats leave no trace there."""
    apart: list[tuple[dict[str, Any], bool]] = [
        ({}, False), ({"light_context": True}, True), ({"isolated_session": True}, True)
    ]  # fmt: skip
    for make, beside in apart:
        stage = Stage(tmp_path, alert("38 degrees!"), OK, visibility=Visibility(show_ok=True), **make)
        for _ in range(2):
            stage.runner.wake()
            await stage.runner.attempt()
        spoken = Spoken(
            answered="38 degrees!",
            occasion=Occasion.HEARTBEAT,
            conversation="" if beside else "c1",
            turn="" if beside else "t1",
        )
        assert [each.text for each in stage.sent] == ["38 degrees!", ALL_QUIET]
        assert stage.mirrored == [(KEY, spoken)]
        stage.state.unlink()


async def test_a_person_who_asks_gets_a_heartbeat_now_and_the_beat_stays(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    stage.at(timedelta(minutes=2), lambda: stage.runner.wake(Wake.MANUAL, "asked in the terminal"))
    events = await stage.run(timedelta(minutes=3))
    scheduled, began = of(Scheduled, events), of(Began, events)
    assert began == [Began("main", Wake.MANUAL, "asked in the terminal", KEY, NOON + timedelta(minutes=2))]
    assert [each.at for each in scheduled] == [stage.runner.due] * 2


async def test_what_ended_or_fell_due_is_asked_about_one_kind_at_a_time_and_kept_until_then(tmp_path: Path) -> None:
    stage = Stage(tmp_path, OK, replace(OK, outcome=Outcome.FAILED, error="No."), file="# Empty\n")
    stage.runner.wake(Wake.EXEC, "make", events=Events(exec_results=("exit 0",), reminders=("Call Ada",)))
    stage.runner.wake(Wake.WAKE, events=Events(commitments=("Send the list",)))
    first = await stage.run(timedelta(minutes=1))
    rest = await stage.run(3 * EVERY)
    asked = [next(word for word in ("Send", "exit", "Call") if word in poll) for poll in stage.backend.polls]
    assert asked == ["Send", "exit", "exit", "Call"]
    assert stage.backend.requests[0].composition.get(LayerName.HEARTBEAT_POINTER) is None
    assert of(Began, first)[0].wake is Wake.WAKE
    assert of(Deferred, first)[0] == Deferred("main", Wake.EXEC, stage_due(first), "not-due")
    assert [each.wake for each in of(Began, rest)] == [Wake.EXEC, Wake.EXEC, Wake.CRON]


def stage_due(events: list[HeartbeatEvent]) -> datetime:
    return of(Scheduled, events)[-1].at


async def test_too_many_wakes_in_a_minute_wait_and_a_person_does_not(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    told: list[object] = []
    for wake in (*(Wake.WAKE,) * 6, Wake.MANUAL):
        stage.runner.wake(wake)
        told.append(await stage.runner.attempt())
        stage.clock.at += timedelta(seconds=2)
    assert told[:5] == [Ended("main", QUIET, OK)] * 5
    assert told[5] == Deferred("main", Wake.WAKE, NOON + timedelta(seconds=60), "flood")
    assert told[6] == Ended("main", QUIET, OK)


async def test_a_heartbeat_gives_way_to_a_person_and_comes_back(tmp_path: Path) -> None:
    """Spec 2."""
    gone = replace(OK, outcome=Outcome.INTERRUPTED, ended_by=EndedBy.GIVEN_WAY)
    stage = Stage(tmp_path, gone, file=TASKS)
    stage.backend.on_start = lambda: stage.running.append(request())
    stage.at(EVERY + SOON, stage.running.clear)
    events = await stage.run(EVERY + timedelta(minutes=2))
    (gave_way,) = of(GaveWay, events)
    assert gave_way == GaveWay("main", of(Began, events)[0].at + SOON)
    assert of(Began, events)[1].wake is Wake.INTERVAL
    assert stage.tasks_run() == ["vents"]


async def test_what_is_wrong_with_the_task_list_is_told_once_for_each_change(tmp_path: Path) -> None:
    stage = Stage(tmp_path, file="tasks:\n- name: vents\n  interval: soon\n  prompt: Look.\n")
    never = "HEARTBEAT.md: task 'vents' never runs: 'soon' is no interval; write one such as 30m"
    for _ in range(2):
        stage.runner.wake()
        await stage.runner.attempt()
    assert of(Noticed, stage.events) == [Noticed("main", never)]
    (stage.workspace / "HEARTBEAT.md").write_text("tasks:\n- name: vents\n", "utf-8")
    stage.runner.wake()
    await stage.runner.attempt()
    assert [each.text for each in of(Noticed, stage.events)][1:] == [
        "HEARTBEAT.md: task 'vents' is left out: it has no interval and no prompt"
    ]


async def test_a_prompt_in_the_terms_of_the_other_convention_is_put_right_and_told(tmp_path: Path) -> None:
    stage = Stage(tmp_path, prompt="Look around, then call heartbeat_respond.")
    stage.runner.wake()
    await stage.runner.attempt()
    assert "heartbeat_respond" not in stage.backend.polls[0]
    assert of(Noticed, stage.events) == [Noticed("main", REWRITTEN)]


async def test_a_file_that_must_not_be_read_is_named(tmp_path: Path) -> None:
    stage = Stage(tmp_path, file=None)
    (tmp_path / "elsewhere.md").write_text("- steal", "utf-8")
    (stage.workspace / "HEARTBEAT.md").symlink_to(tmp_path / "elsewhere.md")
    stage.runner.wake()
    assert await stage.runner.attempt() == Ended("main", QUIET, OK)
    (noticed,) = of(Noticed, stage.events)
    assert noticed.text.startswith("HEARTBEAT.md was not read: it leads outside the workspace; ")


async def test_a_memory_that_cannot_be_used_is_told_and_holds_nothing_up(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    stage.state.write_text("{", "utf-8")
    stage.runner.wake()
    assert await stage.runner.attempt() == Ended("main", QUIET, OK)
    assert [each.text[:40] for each in of(Noticed, stage.events)] == [f"{stage.state} is not JSON"[:40]]
    assert len(load_state(stage.state).recent_starts) == 1
    stage.state.unlink()
    stage.state.mkdir()
    for _ in range(2):
        stage.runner.wake()
        assert await stage.runner.attempt() == Ended("main", QUIET, OK)
    assert [each.text for each in of(Noticed, stage.events)][1:] == [
        f"{stage.state} cannot be written: Is a directory."
    ]


async def test_a_clock_that_is_set_back_does_not_silence_the_agent(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    yesterday = NOON - timedelta(days=1)

    def set_back() -> None:
        stage.clock.at, stage.clock.until = yesterday, yesterday + EVERY

    stage.at(timedelta(minutes=1), set_back)
    (began,) = of(Began, await stage.run(EVERY))
    assert yesterday < began.at <= yesterday + EVERY


async def test_a_listener_that_breaks_does_not_stop_the_heartbeats(tmp_path: Path) -> None:
    stage = Stage(tmp_path)

    def broken(event: HeartbeatEvent) -> None:
        raise RuntimeError(str(event))

    stage.gateway = replace(stage.gateway, tell=broken)
    stage.restarted().wake()
    assert await stage.runner.attempt() == Ended("main", QUIET, OK)


async def test_a_wake_at_a_bad_moment_is_not_lost(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    stage.running = [request()]
    stage.runner.wake(Wake.MANUAL, "asked")
    stage.at(SOON / 2, stage.running.clear)
    began = of(Began, await stage.run(timedelta(minutes=1)))
    assert began == [Began("main", Wake.MANUAL, "asked", KEY, NOON + SOON)]


async def test_tasks_that_were_not_asked_about_stay_due(tmp_path: Path) -> None:
    stage = Stage(tmp_path, file=TASKS)
    stage.runner.wake(Wake.WAKE, events=Events(commitments=("Send the list",)))
    await stage.runner.attempt()
    assert stage.tasks_run() == []
    stage.runner.wake()
    await stage.runner.attempt()
    assert stage.tasks_run() == ["vents"]


@pytest.mark.parametrize(
    ("how", "chat"),
    [
        ({}, OwnChat(channel="telegram", chat="7")),
        ({"target": replace(CHAT, direct=False)}, OwnChat(channel="telegram", chat="7", kind=ChatKind.GROUP)),
        ({"target": None}, None),
        ({"direct_allowed": False}, None),
        ({"visibility": Visibility(show_alerts=False)}, None),
    ],
)
async def test_a_heartbeat_writes_by_itself_only_where_it_could_be_told(
    tmp_path: Path, how: dict[str, Any], chat: OwnChat | None
) -> None:
    toolbox = Noted()
    stage = Stage(tmp_path, toolbox=toolbox, **how)
    await stage.run(EVERY)
    shared = chat is not None and chat.kind is ChatKind.GROUP
    assert [(turn.trigger, turn.chat, turn.owned) for turn in toolbox.turns] == [
        (Trigger.HEARTBEAT, chat, not shared)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("said", "minutes", "noticed"),
    [
        ("in 10 minutes", 10, []),
        ("1m", 5, []),
        ("2h", 30, []),
        ("soon", 30, ["When to look again was not understood: 'soon'."]),
        (None, 30, []),
    ],
)
async def test_an_agent_is_woken_when_it_wants_to_look_again_if_that_is_before_its_next_beat(
    tmp_path: Path, said: str | None, minutes: int, noticed: list[str]
) -> None:
    answer: dict[str, Json] = {"outcome": "progress", "notify": False, "summary": "It dries.", "nextCheck": said}
    stage = Stage(tmp_path, Acted(OK, answer=answer), toolbox=OneTool())
    events = await stage.run(3 * EVERY)
    began = [event.at for event in of(Began, events)]
    assert began[1] - began[0] == timedelta(minutes=minutes)
    assert [event.text for event in of(Noticed, events)] == noticed
    # Then the interval's own beats go on.
    beat = began[0] + EVERY
    assert beat in began


@pytest.mark.parametrize(("away", "minutes"), [(timedelta(), 10), (timedelta(minutes=12), 12)])
async def test_a_gateway_that_is_started_again_looks_when_the_agent_wanted_to(
    tmp_path: Path, away: timedelta, minutes: int
) -> None:
    """The second row: at once, when that time went by while there was no gateway."""
    answer: dict[str, Json] = {"outcome": "progress", "notify": False, "summary": "It dries.", "nextCheck": "10m"}
    stage = Stage(tmp_path, Acted(OK, answer=answer), toolbox=OneTool())
    (first,) = [event.at for event in of(Began, await stage.run(EVERY / 2))]
    assert load_state(stage.state).check == first + timedelta(minutes=10)
    stage.clock.at = first + away
    stage.restarted()
    (second, *_) = [event.at for event in of(Began, await stage.run(EVERY))]
    assert second - first == timedelta(minutes=minutes)
