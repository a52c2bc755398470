"""Jobs on a real workspace, with a backend that answers as the test says."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from harness.agent import Agent
from harness.errors import StoreError
from harness.gather import Gatherer
from harness.habits import Habits
from harness.plain import plain_settings
from harness.replies.gate import Say, Way
from harness.scheduled import Job, JobResult, JobStatus, run_job
from harness.store.transcript import Occasion, Spoken
from harness.tools import Sent
from harness.turns import Evidence, Outcome, TurnEvent, TurnRequest, TurnResult
from tests.support.untouched import Untouched

OK = TurnResult(Outcome.ANSWERED, "Three boats.", conversation="c1", turn="t1")
TOLD = Evidence(sent=(Sent(channel="telegram", chat="7", text="Three boats."),))
FINAL = Evidence(sent=(Sent(channel="telegram", chat="7", text="Three boats.", final=True),))
SAID = Say(("Three boats.",))
JOB = Job(prompt="Count the boats.", session_key="agent:main:cron:boats", chat="agent:main:telegram:direct:7")
MIRRORED = (JOB.chat, Spoken(answered="Three boats.", occasion=Occasion.SCHEDULED))


class Ended(Untouched):
    """A turn that is over."""

    def __init__(self, result: TurnResult) -> None:
        self._result = result

    def events(self) -> AsyncIterator[TurnEvent]:
        raise NotImplementedError

    async def result(self) -> TurnResult:
        return self._result


class Chat:
    """An agent whose turns end with `result`, and the chat that is told."""

    def __init__(self, workspace: Path, result: TurnResult, *, sends: bool = True, keeps: bool = True) -> None:
        self.result = result
        self.sends, self.keeps = sends, keeps
        self.requests: list[TurnRequest] = []
        self.sent: list[str] = []
        self.mirrored: list[tuple[str, Spoken]] = []
        self.agent = Agent(self, Gatherer(plain_settings(workspace), Habits()))

    def start(self, request: TurnRequest) -> Ended:
        self.requests.append(request)
        return Ended(self.result)

    async def deliver(self, say: Say) -> None:
        if not self.sends:
            raise OSError("no network")
        self.sent += say.texts

    async def mirror(self, session_key: str, spoken: Spoken) -> None:
        if not self.keeps:
            raise StoreError("full")
        self.mirrored.append((session_key, spoken))

    async def run(self, job: Job = JOB) -> JobResult:
        return await run_job(self.agent, job, key="k", deliver=self.deliver, mirror=self.mirror)


@pytest.mark.parametrize("light", [False, True])
async def test_what_a_job_came_to_is_told_and_its_chat_knows_it(tmp_path: Path, light: bool) -> None:
    chat = Chat(tmp_path, OK)
    assert await chat.run(replace(JOB, light=light)) == JobResult(JobStatus.TOLD, "Three boats.", result=OK, say=SAID)
    assert (chat.sent, chat.mirrored) == (["Three boats."], [MIRRORED])
    assert (chat.requests[0].session_key, chat.requests[0].light) == (JOB.session_key, light)


async def test_a_run_in_the_chats_own_conversation_is_not_kept_twice_but_for_a_light_one(tmp_path: Path) -> None:
    chat = Chat(tmp_path, OK)
    await chat.run(replace(JOB, session_key=JOB.chat))
    assert chat.mirrored == []
    await chat.run(replace(JOB, session_key=JOB.chat, light=True))
    assert chat.mirrored == [MIRRORED]
    await chat.run(replace(JOB, chat=""))
    assert len(chat.mirrored) == 1


@pytest.mark.parametrize("text", ["NO_REPLY", "  no_reply\n", "HEARTBEAT_OK", "Nothing new.\n\nNO_REPLY"])
async def test_a_job_may_stay_silent(tmp_path: Path, text: str) -> None:
    """T05, row 3; F5."""
    chat = Chat(tmp_path, replace(OK, text=text))
    assert (await chat.run()).status is JobStatus.SILENT
    assert (chat.sent, chat.mirrored) == ([], [])


@pytest.mark.parametrize(
    ("result", "error"),
    [
        (
            replace(OK, outcome=Outcome.EMPTY, text=""),
            "No response was produced: the scheduled run ended without an answer.",
        ),
        (replace(OK, outcome=Outcome.FAILED, error="No model."), "No model."),
        (replace(OK, outcome=Outcome.INTERRUPTED), "The scheduled run was stopped."),
        (replace(OK, outcome=Outcome.LOST), "The backend stopped in the middle of the scheduled run."),
    ],
)
async def test_a_job_that_fails_says_why_and_tells_its_chat_nothing(
    tmp_path: Path, result: TurnResult, error: str
) -> None:
    """T08 e: an empty run is no success. A12."""
    chat = Chat(tmp_path, result)
    assert await chat.run() == JobResult(JobStatus.FAILED, error=error, result=result)
    assert (chat.sent, chat.mirrored) == ([], [])


async def test_an_answer_that_cannot_be_sent_fails_the_job_and_is_not_lost(tmp_path: Path) -> None:
    """O3."""
    chat = Chat(tmp_path, OK, sends=False)
    assert await chat.run() == JobResult(
        JobStatus.FAILED, "Three boats.", "The answer could not be delivered: no network", OK, SAID
    )
    assert chat.mirrored == []


async def test_a_transcript_that_cannot_be_kept_costs_no_answer(tmp_path: Path) -> None:
    chat = Chat(tmp_path, OK, keeps=False)
    assert (await chat.run()).status is JobStatus.TOLD


async def test_a_workspace_that_is_not_there_is_named(tmp_path: Path) -> None:
    done = await Chat(tmp_path / "nowhere", OK).run()
    assert done.status is JobStatus.FAILED
    assert done.error.startswith("The workspace ")


@pytest.mark.parametrize(
    ("result", "status", "sent"),
    [
        (replace(OK, evidence=TOLD), JobStatus.TOLD, []),
        (replace(OK, text="Four boats.", evidence=TOLD), JobStatus.TOLD, ["Four boats."]),
        (replace(OK, outcome=Outcome.EMPTY, text="", evidence=TOLD), JobStatus.TOLD, []),
        (replace(OK, outcome=Outcome.INTERRUPTED, text="", evidence=FINAL), JobStatus.TOLD, []),
    ],
)
async def test_what_a_tool_of_the_job_told_the_chat_is_not_told_again(
    tmp_path: Path, result: TurnResult, status: JobStatus, sent: list[str]
) -> None:
    """G2."""
    chat = Chat(tmp_path, result)
    done = await run_job(chat.agent, JOB, key="k", deliver=chat.deliver, way=Way(channel="telegram", chat="7"))
    assert (done.status, chat.sent) == (status, sent)
