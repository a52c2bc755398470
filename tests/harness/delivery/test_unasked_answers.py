"""What chats get to see of heartbeats and scheduled jobs, from the end of the turn to the outbox: T05, and files."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import anyio
import pytest

from harness.agent import Agent
from harness.delivery.courier import Courier
from harness.delivery.outbox import Abilities, Media
from harness.delivery.parcel import NOT_SENT
from harness.delivery.unasked import Unasked
from harness.gather import Gatherer
from harness.habits import Habits
from harness.heartbeat import (
    Alert,
    Ended,
    Gateway,
    HeartbeatResponder,
    HeartbeatRunner,
    HeartbeatSettings,
    Place,
    SkipReason,
    Status,
    Target,
    Visibility,
)
from harness.memory.access import Open
from harness.message_tool.reach import Reach
from harness.message_tool.tool import MessageTool, Messaging
from harness.plain import plain_settings
from harness.replies.gate import Way
from harness.replies.media import MediaRules
from harness.scheduled import Job, JobStatus, run_job
from harness.settings.heartbeat import ChannelVisibility
from harness.store.bindings import bindings_at
from harness.store.deliveries import Deliveries
from harness.testing.outbox import RecordingOutbox
from harness.toolbox import OwnChat, ToolTurn
from harness.tools import Sent
from harness.turns import Evidence, Outcome, TurnEvent, TurnRequest, TurnResult
from tests.support.delivery import HurriedClock
from tests.support.untouched import Untouched

CHANNELS = ("telegram", "discord", "webchat")
PNG = b"\x89PNG\r\n\x1a\n1234"
ALERT = "Greenhouse is 41 C, vents are stuck."
OK = TurnResult(Outcome.ANSWERED, ALERT, conversation="c", turn="t")


class Over(Untouched):
    """A turn that is over."""

    def __init__(self, ended: TurnResult) -> None:
        self.ended = ended

    async def events(self) -> AsyncIterator[TurnEvent]:
        return
        yield

    async def result(self) -> TurnResult:
        return self.ended


@dataclass
class Life:
    """A gateway whose agent answers as the test says."""

    folder: Path
    channel: str
    outbox: RecordingOutbox
    deliveries: Deliveries
    result: TurnResult = OK
    told: list[str] = field(default_factory=list[str])
    show_ok: bool = False

    def __post_init__(self) -> None:
        self.workspace = self.folder / "workspace"
        self.workspace.mkdir(exist_ok=True)
        (self.workspace / "HEARTBEAT.md").write_text("- look at the vents", "utf-8")
        (self.workspace / "heat.png").write_bytes(PNG)
        (self.workspace / ".env").write_text("KEY=1", "utf-8")
        rules = MediaRules(workspace=str(self.workspace))
        courier = Courier(self.deliveries, self.outbox, media=rules, tell=self.told.append, sleep=HurriedClock().sleep)
        self.unasked = Unasked(self.deliveries, courier)

    def start(self, request: TurnRequest) -> Over:
        del request
        return Over(self.result)

    @property
    def agent(self) -> Agent[Over]:
        settings = replace(
            plain_settings(self.workspace),
            heartbeat=HeartbeatSettings(ack_max_chars=30),
            visibility=ChannelVisibility(shared=Visibility(show_ok=self.show_ok)),
        )
        return Agent(self, Gatherer(settings, Habits()))

    async def beat(self) -> Ended:
        """Run a heartbeat."""
        gateway = Gateway(
            place=lambda: Place(
                session_key="agent:main:main", target=Target(channel=self.channel, chat="7", direct=True)
            ),
            deliver=self.alert,
            tell=lambda event: None,
            unfinished=lambda: (),
        )
        runner = HeartbeatRunner(self.agent, gateway, self.folder / "heartbeat.json")
        runner.wake()
        ended = await runner.attempt()
        assert isinstance(ended, Ended), ended
        return ended

    async def alert(self, told: Alert) -> None:
        where = told.target
        await self.unasked.tell(
            told.key, session_key=told.session_key, channel=where.channel, chat=where.chat, say=told.say
        )

    async def job(self) -> JobStatus:
        """Run a scheduled job."""
        job = Job(prompt="Look at the vents.", session_key="agent:main:cron:vents")
        deliver = self.unasked.to("job:1", session_key=job.session_key, channel=self.channel, chat="7")
        way = Way(channel=self.channel, chat="7")
        return (await run_job(self.agent, job, key="k", deliver=deliver, way=way)).status

    def stands(self) -> list[str | Media]:
        assert {(each.channel, each.chat) for each in self.outbox.messages.values()} <= {(self.channel, "7")}
        return [*self.outbox.texts(), *(file for each in self.outbox.messages.values() for file in each.media)]


@asynccontextmanager
async def life(folder: Path, channel: str = "telegram", *, limit: int | None = None) -> AsyncGenerator[Life]:
    with anyio.fail_after(5):
        async with bindings_at(folder / "bridge.sqlite") as bindings:
            outbox = RecordingOutbox(Abilities(keys=True, edits=True, withdraws=True, limit=limit))
            yield Life(folder, channel, outbox, Deliveries(bindings.database))


@pytest.mark.parametrize("channel", CHANNELS)
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("HEARTBEAT_OK", []),
        ("**HEARTBEAT_OK**", []),
        (f"HEARTBEAT_OK\n\n{ALERT}", [ALERT]),
        ("All fine. HEARTBEAT_OK", []),
        ("NO_REPLY", []),
        (ALERT, [ALERT]),
        (f"<think>Hm.</think>{ALERT}", [ALERT]),
        ("HEARTBEAT_OK\nMEDIA:heat.png", ["", "heat.png"]),
        (f"{ALERT}\nMEDIA:heat.png\nMEDIA:.env", [ALERT, "", "heat.png"]),
        (f"{ALERT}\nMEDIA:.env", [ALERT]),
        ("MEDIA:.env", [NOT_SENT]),
    ],
)
async def test_every_channel_shows_the_same_of_a_heartbeat(
    tmp_path: Path, channel: str, text: str, expected: list[str]
) -> None:
    """T05, rows 4 to 7, with the limit of 30 that is configured: 36 characters are told, 9 are not."""
    async with life(tmp_path, channel) as here:
        here.result = replace(OK, text=text)
        ended = await here.beat()
        found = [Path(each.source).name if isinstance(each, Media) else each for each in here.stands()]
        left = await here.deliveries.open()
    assert (found, left) == (expected, [])
    assert ended.verdict.status is (Status.ALERT if expected else Status.QUIET)
    assert here.told == ["'.env' was not sent: it is hidden, or in a hidden folder."] * (".env" in text)


@pytest.mark.parametrize("channel", CHANNELS)
@pytest.mark.parametrize(
    ("text", "status", "expected"),
    [
        ("NO_REPLY", JobStatus.SILENT, []),
        ("HEARTBEAT_OK", JobStatus.SILENT, []),
        (ALERT, JobStatus.TOLD, [ALERT]),
        ("NO_REPLY\nMEDIA:heat.png", JobStatus.TOLD, ["", "heat.png"]),
        ("MEDIA:.env", JobStatus.TOLD, [NOT_SENT]),
    ],
)
async def test_every_channel_shows_the_same_of_a_job(
    tmp_path: Path, channel: str, text: str, status: JobStatus, expected: list[str]
) -> None:
    """T05, row 3."""
    async with life(tmp_path, channel) as here:
        here.result = replace(OK, text=text)
        ended = await here.job()
        found = [Path(each.source).name if isinstance(each, Media) else each for each in here.stands()]
    assert (ended, found) == (status, expected)


@pytest.mark.parametrize("channel", CHANNELS)
async def test_no_channel_is_sent_a_token_by_a_tool(tmp_path: Path, channel: str) -> None:
    """T05, row 14."""
    outbox = RecordingOutbox()
    tool = MessageTool(Messaging(outbox=outbox, reach=Reach(channels=CHANNELS)), plain_settings(tmp_path))
    turn = ToolTurn(access=Open(), responder=HeartbeatResponder(active=False), chat=OwnChat(channel=channel, chat="7"))
    result = await tool.for_turn(turn).call({"action": "send", "message": "HEARTBEAT_OK"})
    assert (result.success, result.sent, outbox.messages) == (True, (), {})


@pytest.mark.parametrize(
    ("result", "status", "expected"),
    [
        (OK, Status.HELD, []),
        (replace(OK, text=f"{ALERT}\nMEDIA:heat.png"), Status.ALERT, ["heat.png"]),
        (replace(OK, text="The vents move again."), Status.ALERT, ["The vents move again."]),
        (replace(OK, text="HEARTBEAT_OK"), Status.QUIET, []),
        (replace(OK, outcome=Outcome.EMPTY, text=""), Status.HELD, []),
    ],
)
async def test_an_alert_that_a_tool_has_sent_is_not_sent_again(
    tmp_path: Path, result: TurnResult, status: Status, expected: list[str]
) -> None:
    """G2."""
    async with life(tmp_path) as here:
        here.show_ok = True
        here.result = replace(result, evidence=Evidence(sent=(Sent(channel="telegram", chat="7", text=ALERT),)))
        ended = await here.beat()
        found = [Path(each.source).name if isinstance(each, Media) else each for each in here.stands() if each]
    assert (ended.verdict.status, found) == (status, expected)
    assert ended.verdict.skip is (SkipReason.SENT if status is Status.HELD else None)


async def test_what_a_tool_sent_is_told_by_no_later_heartbeat_of_the_day(tmp_path: Path) -> None:
    async with life(tmp_path) as here:
        here.result = replace(OK, evidence=Evidence(sent=(Sent(channel="telegram", chat="7", text=ALERT),)))
        first = await here.beat()
        here.result = OK
        second = await here.beat()
    assert [each.verdict.skip for each in (first, second)] == [SkipReason.SENT, SkipReason.DUPLICATE]
    assert here.outbox.messages == {}


async def test_a_long_alert_goes_out_in_messages_of_the_channels_size(tmp_path: Path) -> None:
    async with life(tmp_path, limit=64) as here:
        here.result = replace(OK, text=f"{ALERT}\n\n{ALERT} Still.")
        await here.beat()
        assert here.outbox.texts() == [ALERT, f"{ALERT} Still."]
