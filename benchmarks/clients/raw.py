"""The floor: a minimal asyncio client. A pipe, a line, a dict, a queue, and not one feature."""

import asyncio
import json
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from itertools import count
from typing import Any

from benchmarks.clients.measured import main
from benchmarks.job import MODEL, Job

LIMIT = 64 * 1024 * 1024


class RawClient:
    """A connection to an app-server."""

    def __init__(self, process: Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._input, self._output = process.stdin, process.stdout
        self._numbers = count(1)
        self._answers: dict[int, asyncio.Future[Any]] = {}
        self._thread_id = ""
        self._turn: asyncio.Queue[dict[str, Any]] = asyncio.Queue()

    async def read(self) -> None:
        """Sort what comes."""
        while line := await self._output.readline():
            message = json.loads(line)
            if "method" not in message:
                self._answers.pop(message["id"]).set_result(message["result"])
            elif message["params"].get("threadId") == self._thread_id:
                self._turn.put_nowait(message)

    async def call(self, method: str, params: dict[str, Any]) -> Any:  # noqa: ANN401 - JSON
        """Ask and wait."""
        number = next(self._numbers)
        answer = self._answers[number] = asyncio.get_running_loop().create_future()
        self._input.write(json.dumps({"id": number, "method": method, "params": params}).encode() + b"\n")
        await self._input.drain()
        return await answer

    async def open(self, workspace: str) -> None:
        """Shake hands and start a thread."""
        hello = {"clientInfo": {"name": "raw", "version": "0"}, "capabilities": {"experimentalApi": True}}
        await self.call("initialize", hello)
        settings = {"model": MODEL, "cwd": workspace, "sandbox": "workspace-write", "approvalPolicy": "on-request"}
        self._thread_id = (await self.call("thread/start", settings))["thread"]["id"]

    async def say(self, text: str) -> str:
        """Run one turn."""
        self._turn, pieces = asyncio.Queue(), list[str]()
        await self.call("turn/start", {"threadId": self._thread_id, "input": [{"type": "text", "text": text}]})
        while (event := await self._turn.get())["method"] != "turn/completed":
            if event["method"] == "item/agentMessage/delta":
                pieces.append(event["params"]["delta"])
        return "".join(pieces)


@asynccontextmanager
async def opened(job: Job) -> AsyncGenerator[RawClient]:
    process = await asyncio.create_subprocess_exec(
        *job["command"], stdin=PIPE, stdout=PIPE, stderr=DEVNULL, env=job["env"], limit=LIMIT
    )
    client = RawClient(process)
    reading = asyncio.create_task(client.read())
    await client.open(job["workspace"])
    yield client
    assert process.stdin is not None
    process.stdin.close()
    await process.wait()
    await reading


if __name__ == "__main__":
    main(opened)
