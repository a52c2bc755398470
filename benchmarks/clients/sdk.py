"""OpenAI's own Python SDK, its asynchronous side, streaming."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from openai_codex import AsyncCodex, AsyncThread, CodexConfig, Sandbox
from openai_codex.generated.v2_all import AgentMessageDeltaNotification

from benchmarks.clients.measured import main
from benchmarks.job import MODEL, Job


class SdkChat:
    """A thread of the SDK."""

    def __init__(self, thread: AsyncThread) -> None:
        self._thread = thread

    async def say(self, text: str) -> str:
        """Run one turn and put its deltas together."""
        turn = await self._thread.turn(text)
        pieces = [
            event.payload.delta
            async for event in turn.stream()
            if isinstance(event.payload, AgentMessageDeltaNotification)
        ]
        return "".join(pieces)


@asynccontextmanager
async def opened(job: Job) -> AsyncGenerator[SdkChat]:
    config = CodexConfig(launch_args_override=tuple(job["command"]), env=job["env"])
    async with AsyncCodex(config) as codex:
        yield SdkChat(await codex.thread_start(model=MODEL, cwd=job["workspace"], sandbox=Sandbox.workspace_write))


if __name__ == "__main__":
    main(opened)
