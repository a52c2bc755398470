"""The heartbeats of a running agent: waits for the next one, looks whether it runs, runs it, and says what came of it.

Every rule is elsewhere; this module is the order in which they are asked. It knows no clock of its own.
"""

import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final, Generic, assert_never

import anyio
import anyio.to_thread

from harness.agent import Agent, Beat
from harness.clock import time_lines
from harness.endings import ending
from harness.errors import THE_LOG, HarnessError, StoreError
from harness.heartbeat.events import (
    Alert,
    Began,
    Deferred,
    Ended,
    Failed,
    GaveWay,
    HeartbeatEvent,
    Noticed,
    Scheduled,
    Settled,
    Skipped,
)
from harness.heartbeat.outcome import DeliveryFacts, Status, TextAnswer, settle
from harness.heartbeat.poll import TasksPoll
from harness.heartbeat.quiet import HARMLESS_TOOLS
from harness.heartbeat.response import HeartbeatAnswer
from harness.heartbeat.run import HeartbeatRun, plan_run
from harness.heartbeat.schedule import Defer, RunNow, admit, next_due, phase_offset
from harness.heartbeat.skips import TRANSIENT, SkipReason, Wake
from harness.heartbeat.state import HeartbeatState
from harness.heartbeat.state_file import load_state, save_state
from harness.heartbeat.survey import INTENT_OF, Busy, Events, Survey, busy_of, survey, urgency, visibility_at
from harness.heartbeat.target import Place, Target
from harness.replies.gate import Way, ended_well, sent_there
from harness.settings.agent import AgentSettings
from harness.store.transcript import Occasion, Spoken
from harness.tools import Sent
from harness.turns import EndedBy, Notice, Reasoning, ToolFinished, TurnRequest, TurnResult, TurnT
from harness.workspace.names import HEARTBEAT
from harness.workspace.reader import GuardedReader
from harness.workspace.reads import Content, Refused

SOON: Final = timedelta(seconds=10)
"""When a wake is tried again that came at a bad moment."""
NO_EVENTS: Final = Events()
LONGEST_REST: Final = timedelta(minutes=1)
"""After so long the clock is looked at again: it may have been set, or the machine may have slept."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Gateway:
    """What a gateway does for the heartbeats of an agent."""

    place: Callable[[], Place]
    """Says where they happen now."""
    deliver: Callable[[Alert], Awaitable[None]]
    """Sends an alert to its chat; an exception means that it was not sent. `harness.delivery.unasked` sees to it over
    a crash, under `Alert.key`."""
    tell: Callable[[HeartbeatEvent], None]
    """Hears of everything."""
    unfinished: Callable[[], Iterable[TurnRequest]]
    """Says which turns run or wait on the agent's backend."""
    mirror: Callable[[str, Spoken], Awaitable[None]] | None = None
    """Keeps in a chat's transcript what was said there."""


class HeartbeatRunner(Generic[TurnT]):
    """Runs the heartbeats of one agent.

    Args:
        agent: The agent.
        gateway: What the gateway does for it.
        state_file: Where its heartbeats are remembered; the folder must be there.
        seed: Anything that is the same at each start of this gateway; spreads the beats of many agents.
        now: The time, with a zone.
        sleep: Waits for a number of seconds.
        reader: Reads HEARTBEAT.md; may be shared.
    """

    def __init__(
        self,
        agent: Agent[TurnT],
        gateway: Gateway,
        state_file: Path,
        *,
        seed: str = "",
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
        reader: GuardedReader | None = None,
    ) -> None:
        self._agent = agent
        self._gateway = gateway
        self._state_file = state_file
        self._seed = seed
        self._now = now
        self._sleep = sleep
        self._reader = reader or GuardedReader()
        self._state: HeartbeatState | None = None
        self._due: datetime | None = None
        self._again: datetime | None = None
        self._wakes: dict[Wake, str] = {}
        self._events = Events()
        self._woken = anyio.Event()
        self._noticed: dict[str, tuple[str, ...]] = {}

    @property
    def due(self) -> datetime | None:
        """The next beat; None when there is none, or the runner does not run."""
        return self._due

    def wake(self, wake: Wake = Wake.MANUAL, why: str = "", *, events: Events = NO_EVENTS) -> None:
        """Ask for a heartbeat. Returns at once; what comes of it is told.

        Args:
            wake: Who asks.
            why: A few words for the operator.
            events: What is to be looked at. Kept until a heartbeat was about it, over skipped and failed ones, for as
                long as the process lives.
        """
        self._wakes[wake] = why
        self._events += events
        self._again = None
        self._woken.set()

    async def run(self) -> None:
        """Run the heartbeats until cancelled. No failure of a heartbeat ends it."""
        self._plan(self._now(), (await self._loaded()).check)
        while True:
            await self._rest()
            await self.attempt()

    async def attempt(self) -> Settled | None:
        """Run the heartbeat that is due or asked for, and say what came of it; None when there is none."""
        now, taken, self._wakes = self._now(), self._wakes, {}
        wakes = set(taken)
        if self._due is not None and now >= self._due:
            wakes.add(Wake.INTERVAL)
        if not wakes:
            return None
        try:
            settled = await self._settled(wakes | self._events.wakes, taken, now)
        except HarnessError as error:  # the workspace is not there, say
            settled = self._failed(str(error))
        except Exception as error:
            # The boundary of a heartbeat: whatever breaks in one must not end those that come after it.
            logger.exception("heartbeat of %s", self._settings.id)
            settled = self._failed(f"The heartbeat had an internal error; {THE_LOG}.", repr(error))
        self._tell(settled)
        match settled:
            case Deferred(until=again) | Skipped(again=datetime() as again) | GaveWay(again=again):
                self._wakes = taken | self._wakes
                self._again = again
            case Skipped() | Ended() | Failed():
                self._again = None
                check = (await self._loaded()).check if isinstance(settled, Ended) else None
                self._plan(self._now(), check)
            case _:
                assert_never(settled)
        return settled

    # when

    def _plan(self, now: datetime, check: datetime | None = None) -> None:
        """Settle the next beat: the interval's, or before it the one that the agent asked for."""
        every = self._settings.heartbeat.every if self._settings.heartbeat.runs else None
        self._due = None if every is None else next_due(now, every, phase_offset(self._seed, self._settings.id, every))
        if self._due is not None and check is not None:
            self._due = min(self._due, check)
        self._tell(Scheduled(self._settings.id, self._due))

    async def _rest(self) -> None:
        """Wait until something is due or somebody wakes the agent."""
        while True:
            woken = self._woken = anyio.Event()
            now, every = self._now(), self._settings.heartbeat.every
            if self._due is not None and every is not None and self._due - now > every:
                self._plan(now)  # the clock was set back
            if self._wakes and self._again is None:
                return
            until = self._next(now)
            if until is not None and until <= now:
                self._again = None
                return
            rest = LONGEST_REST if until is None else min(until - now, LONGEST_REST)
            async with anyio.create_task_group() as group:
                group.start_soon(self._ring, rest.total_seconds(), group.cancel_scope)
                await woken.wait()
                group.cancel_scope.cancel()

    def _next(self, now: datetime) -> datetime | None:
        """When there is something to do; None for never."""
        if self._again is None:
            return self._due
        # A beat that is past already waits along; one that is yet to come does not.
        return min(self._again, self._due) if self._due is not None and self._due > now else self._again

    async def _ring(self, seconds: float, scope: anyio.CancelScope) -> None:
        await self._sleep(seconds)
        scope.cancel()

    def _admitted(self, wakes: Iterable[Wake], now: datetime, state: HeartbeatState) -> RunNow | Defer:
        """Whether one of the wakes may run now; if none may, the first that may."""
        every = self._settings.heartbeat.every
        assert every is not None  # an agent without an interval has been skipped
        due = self._due or next_due(now, every, phase_offset(self._seed, self._settings.id, every))
        waits: list[Defer] = []
        for wake in wakes:
            answer = admit(
                INTENT_OF[wake],
                now=now,
                due=due,
                every=every,
                last_start=state.last_start,
                recent_starts=state.recent_starts,
            )
            if isinstance(answer, RunNow):
                return answer
            waits.append(answer)
        return min(waits, key=lambda wait: wait.until)

    # whether

    async def _settled(self, wakes: Iterable[Wake], told: Mapping[Wake, str], now: datetime) -> Settled:
        settings, place, state = self._settings, self._gateway.place(), await self._loaded()
        wake = urgency(wakes)
        found = survey(
            settings,
            text=await self._file(),
            state=state,
            place=place,
            now=now,
            wake=wake,
            events=self._events,
            busy=self._busy(place),
        )
        self._notice("tasks", found.block.problems)
        if found.skip is not None:
            return Skipped(settings.id, wake, found.skip, now + SOON if found.skip in TRANSIENT else None)
        wait = self._admitted(wakes, now, state)
        if isinstance(wait, Defer):
            return Deferred(settings.id, wake, wait.until, wait.why)
        return await self._run(found, place, Began(settings.id, wake, told.get(wake, ""), place.session_key, now))

    async def _file(self) -> str | None:
        """HEARTBEAT.md; None when there is none that may be read."""
        read = await self._reader.read(str(self._settings.workspace), HEARTBEAT)
        self._notice("file", (f"HEARTBEAT.md was not read: {read.reason}.",) if isinstance(read, Refused) else ())
        return read.text if isinstance(read, Content) else None

    def _busy(self, place: Place) -> Busy:
        return busy_of(self._gateway.unfinished(), self._settings, place)

    # what

    async def _run(self, found: Survey, place: Place, began: Began) -> Settled:
        settings, now = self._settings, began.at
        run = plan_run(
            settings.heartbeat,
            found.poll,
            place=place,
            ack=self._agent.ack,
            file_path=str(settings.workspace / HEARTBEAT),
            quote_context=not self._agent.gatherer.habits.points_to_heartbeat_file,
            time_lines=time_lines(now, settings.time.zone, clock=settings.time.clock),
        )
        if run.target is not None and not visibility_at(settings, run.target).show_alerts:
            run = replace(run, target=None)
        self._notice("convention", (REWRITTEN,) if run.poll.rewritten else ())
        # Before it runs: a gateway that dies in the middle must not begin it over and over.
        await self._remember((await self._loaded()).started(now))
        key = f"heartbeat:{settings.id}:{now.isoformat()}"
        beat = await self._agent.heartbeat(run, key=key)
        self._tell(replace(began, session_key=run.session_key))
        heard = await self._listen(beat)
        # An answer that was given by the tool counts, whatever became of the rest of the turn.
        answered = isinstance(heard.answer, HeartbeatAnswer)
        if heard.result.ended_by is EndedBy.GIVEN_WAY and not answered:
            return GaveWay(settings.id, self._now() + SOON)
        if not ended_well(heard.result) and not answered:
            return self._failed(ending(heard.result, "heartbeat"), heard.result.detail)
        return await self._conclude(found, run, place, heard, key)

    async def _listen(self, beat: Beat[TurnT]) -> "_Heard":
        reasoning: list[str] = []
        failures: list[str] = []
        async for event in beat.turn.events():
            match event:
                case Reasoning(text=text):
                    reasoning.append(text)
                case ToolFinished(name=name, succeeded=False) if name not in HARMLESS_TOOLS:
                    failures.append(f"The tool {name} failed.")
                case Notice(text=text):
                    self._tell(Noticed(self._settings.id, text))
                case _:
                    pass
        result = await beat.turn.result()
        given = beat.responder.answer if beat.responder is not None else None
        if self._settings.heartbeat.suppress_tool_error_warnings:
            failures.clear()
        return _Heard(result, given or TextAnswer(result.text, "".join(reasoning)), tuple(dict.fromkeys(failures)))

    async def _conclude(self, found: Survey, run: HeartbeatRun, place: Place, heard: "_Heard", key: str) -> Settled:
        """Tell the owner, and remember what was done."""
        settings, state, now = self._settings, await self._loaded(), self._now()
        heartbeat, target = settings.heartbeat, place.target
        verdict = settle(
            heard.answer,
            DeliveryFacts(
                now=now,
                has_target=target is not None and place.tells,
                # A chat of which nothing is known may be a direct one: where those are off, it is told nothing.
                direct=target is not None and target.direct is not False,
                direct_allowed=heartbeat.direct_allowed,
                visibility=visibility_at(settings, target),
                ack_max_chars=heartbeat.ack_max_chars,
                include_reasoning=heartbeat.include_reasoning,
                last_text=state.last_text,
                last_sent_at=state.last_sent_at,
                failures=heard.failures,
                sent=_sent_into(heard.result, target),
                made=heard.result.media,
            ),
        )
        say = verdict.say
        if (say.texts or say.media) and target is not None:
            try:
                await self._gateway.deliver(Alert(settings.id, place.session_key, target, say, key))
            except Exception as error:  # a channel may fail in any way
                logger.warning("the alert of %s was not sent", settings.id, exc_info=True)
                return self._failed(f"The alert could not be delivered: {error}", repr(error))
            if verdict.text and verdict.status is not Status.QUIET:
                state = state.sent(verdict.text, now)
                said = None if run.light or run.isolated or run.shared else heard.result
                await self._mirror(place.heard_in(settings.id), verdict.text, said)
        if verdict.skip is SkipReason.SENT and verdict.withheld:
            state = state.sent(verdict.withheld, now)
        if verdict.status is Status.FAILED:
            await self._remember(state)
            return self._failed(" ".join(verdict.failures))
        state = replace(state, check=self._next_check(heard.answer))
        done = [task.name for task in found.due_tasks] if isinstance(found.poll, TasksPoll) else []
        await self._remember(state.ran(done, now, listed=[task.name for task in found.block.tasks]))
        self._events = self._events.without(found.poll)
        self._wakes = dict.fromkeys(self._events.wakes, "") | self._wakes
        return Ended(settings.id, verdict, heard.result)

    def _next_check(self, answer: TextAnswer | HeartbeatAnswer) -> datetime | None:
        said = answer.next_check if isinstance(answer, HeartbeatAnswer) else ""
        if not said:
            return None
        from harness.heartbeat.next_check import next_check  # few heartbeats ask for one

        found = next_check(said, self._now(), self._settings.time.zone)
        if found is None:
            self._tell(Noticed(self._settings.id, f"When to look again was not understood: {said[:80]!r}."))
        return found

    async def _mirror(self, session_key: str, text: str, within: TurnResult | None) -> None:
        """Keep what the chat was told; `within` is the turn of its own conversation that said it, if one did."""
        if self._gateway.mirror is not None:
            spoken = Spoken(
                answered=text,
                occasion=Occasion.HEARTBEAT,
                conversation=within.conversation if within else "",
                turn=within.turn if within else "",
            )
            try:
                await self._gateway.mirror(session_key, spoken)
            except StoreError as error:
                self._tell(Noticed(self._settings.id, f"The chat will not know of this alert: {error}"))

    # small things

    @property
    def _settings(self) -> AgentSettings:
        return self._agent.gatherer.settings

    def _failed(self, error: str, detail: str = "") -> Failed:
        return Failed(self._settings.id, error, detail)

    def _tell(self, event: HeartbeatEvent) -> None:
        try:
            self._gateway.tell(event)
        except Exception:
            logger.exception("telling of %s", event)

    def _notice(self, topic: str, texts: tuple[str, ...]) -> None:
        """Tell the operator, unless the same was said of this topic last."""
        if self._noticed.get(topic, ()) != texts:
            for text in texts:
                self._tell(Noticed(self._settings.id, text))
        self._noticed[topic] = texts

    async def _loaded(self) -> HeartbeatState:
        if self._state is None:
            try:
                self._state = await anyio.to_thread.run_sync(load_state, self._state_file)
            except StoreError as error:
                self._state = HeartbeatState()
                self._tell(Noticed(self._settings.id, str(error)))
        return self._state

    async def _remember(self, state: HeartbeatState) -> None:
        self._state = state
        try:
            await anyio.to_thread.run_sync(save_state, self._state_file, state)
        except StoreError as error:
            self._notice("state", (str(error),))
        else:
            self._notice("state", ())


def _sent_into(result: TurnResult, target: Target | None) -> tuple[Sent, ...]:
    """What tools of a heartbeat put into the chat that it tells."""
    return () if target is None else tuple(sent_there(result, Way(channel=target.channel, chat=target.chat)))


@dataclass(frozen=True, slots=True)
class _Heard:
    """What a heartbeat came to."""

    result: TurnResult
    answer: TextAnswer | HeartbeatAnswer
    failures: tuple[str, ...]


REWRITTEN: Final = (
    "The heartbeat's prompt or HEARTBEAT.md names a way to end a heartbeat that this agent does not have; "
    "the model was told the other one."
)
