"""How a client is measured: the same turns, in the same order, between the same two looks at the clocks.

Runs inside the client's process: `python -m benchmarks.clients.NAME` reads a `Job` from stdin and writes a
`Sample`. Imported by every client, so it imports next to nothing that asyncio does not.
"""

import asyncio
import json
import re
import resource
import sys
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from benchmarks.job import PIECE, SHORT_PIECES, Job, Sample, ask


class Chat(Protocol):
    """An open conversation."""

    async def say(self, text: str) -> str:
        """Run one turn to its end and return the answer, put together from its deltas."""
        ...


Opener = Callable[[Job], AbstractAsyncContextManager[Chat]]


def main(opened: Opener) -> None:
    """Do the job on stdin."""
    json.dump(asyncio.run(measure(opened, json.load(sys.stdin))), sys.stdout)


async def measure(opened: Opener, job: Job) -> Sample:
    """Open a conversation, run the turns of `job` and say what they took."""
    began = time.perf_counter()
    async with opened(job) as chat:
        await _turns(chat, 1, SHORT_PIECES)
        first_turn = time.perf_counter() - began
        short = long = (0.0, 0.0)
        if job["turns"]:
            await _turns(chat, job["warmups"], SHORT_PIECES)
            short = await _turns(chat, job["turns"], SHORT_PIECES)
            long = await _turns(chat, 1, job["deltas"])
    return {
        "first_turn": first_turn,
        "turn_wall": short[0] / max(1, job["turns"]),
        "turn_cpu": short[1] / max(1, job["turns"]),
        "deltas_wall": long[0],
        "deltas_cpu": long[1],
        "peak_memory": peak_memory(),
    }


async def _turns(chat: Chat, count: int, pieces: int) -> tuple[float, float]:
    """Run turns; return seconds of wall and of CPU."""
    question, expected = ask(pieces), PIECE * pieces
    wall, cpu = time.perf_counter(), _cpu()
    for _ in range(count):
        heard = await chat.say(question)
        if heard != expected:
            raise RuntimeError(f"an answer of {len(expected)} characters came as {heard[:60]!r} ({len(heard)})")
    return time.perf_counter() - wall, _cpu() - cpu


def _cpu() -> float:
    """CPU seconds of this process, all its threads and no child."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def peak_memory() -> int:
    """The most bytes that this process held at once.

    On Linux `ru_maxrss` starts at what the parent held when it forked, so the kernel's own high-water mark of
    this program is read there.
    """
    try:
        with open("/proc/self/status") as status:  # noqa: PTH123 - pathlib would be an import of ours
            found = re.search(r"VmHWM:\s*(\d+) kB", status.read())
    except OSError:
        found = None
    if found:
        return int(found[1]) * 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
