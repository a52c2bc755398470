"""Scheduled jobs of a running agent: runs one, tells its chat what it came to, and says how it ended."""

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import Enum

from harness.agent import Agent
from harness.errors import HarnessError, StoreError
from harness.replies.gate import Say, Silent, Way, decide, ended_well, sentence
from harness.store.transcript import Occasion, Spoken
from harness.turns import RunningTurn, Trigger, TurnResult

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What is to be done now."""

    prompt: str
    session_key: str
    """The job's own conversation."""
    light: bool = False
    """The prompt alone, in a conversation that nothing remembers."""
    chat: str = ""
    """Session key of the chat that is told; empty for none."""


class JobStatus(Enum):
    """How a job ended."""

    TOLD = "told"
    SILENT = "silent"
    """The agent chose to say nothing."""
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class JobResult:
    """What a job came to."""

    status: JobStatus
    text: str = ""
    """What the chat was told, or would have been."""
    error: str = ""
    """One sentence for a person."""
    result: TurnResult | None = None
    """The turn; None when it could not begin."""
    say: Say | None = None
    """What the chat was told, or would have been, with its files; None for nothing, also where a tool has told it."""


async def run_job(
    agent: Agent[RunningTurn],
    job: Job,
    *,
    key: str,
    deliver: Callable[[Say], Awaitable[None]],
    mirror: Callable[[str, Spoken], Awaitable[None]] | None = None,
    way: Way = Way(),  # noqa: B008 - frozen
) -> JobResult:
    """Run a job to its end; whatever goes wrong is told by the result.

    Args:
        agent: The agent.
        job: What is to be done.
        key: An id that no other run has.
        deliver: Tells the chat; an exception means that it was not told. `harness.delivery.unasked` has one that loses
            nothing in a crash, and lets only those files out that may.
        mirror: Keeps in a chat's transcript what was said there.
        way: The chat that is told, so that what tools sent there is not told again.
    """
    try:
        turn = await agent.scheduled(job.prompt, session_key=job.session_key, key=key, light=job.light)
    except HarnessError as error:  # the workspace is not there, say
        return JobResult(JobStatus.FAILED, error=str(error))
    result = await turn.result()
    reply = decide(result, Trigger.CRON, way=way)
    if not ended_well(result) or (isinstance(reply, Say) and reply.notice):
        return JobResult(JobStatus.FAILED, error=sentence(result, Trigger.CRON), result=result)
    if isinstance(reply, Silent):
        return JobResult(JobStatus.TOLD if reply.said else JobStatus.SILENT, result=result)
    text = "\n\n".join(reply.texts)
    try:
        await deliver(reply)
    except Exception as error:  # a channel may fail in any way
        logger.warning("what %s came to was not sent", job.session_key, exc_info=True)
        return JobResult(JobStatus.FAILED, text, f"The answer could not be delivered: {error}", result, reply)
    # A run in the chat's own conversation has been kept by its backend.
    if text and mirror is not None and job.chat and (job.light or job.chat != job.session_key):
        try:
            await mirror(job.chat, Spoken(answered=text, occasion=Occasion.SCHEDULED))
        except StoreError as error:
            logger.warning("%s will not know what %s told it: %s", job.chat, job.session_key, error)
    return JobResult(JobStatus.TOLD, text, result=result, say=reply)
