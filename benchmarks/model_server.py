"""The stand-in model as a process of its own, so that its CPU is nobody else's.

Writes its provider block as one line of JSON, answers as many deltas as the last message asks for, or with the word
"soak" as `soak_model` says, and ends when its stdin does.
"""

import dataclasses
import json
import sys

import anyio
import anyio.to_thread

from benchmarks import soak_model
from benchmarks.job import PIECE, SHORT_PIECES, asked_pieces
from codex_bridge.loopback.model import loopback_model
from codex_bridge.loopback.recorder import RecordedRequest
from codex_bridge.loopback.script import Reply, say


def answer(request: RecordedRequest) -> Reply:
    """Answer the last thing that was said."""
    said = next((part.text for part in reversed(request.parts()) if part.role == "user"), "")
    pieces = asked_pieces(said) if said else SHORT_PIECES
    return say(PIECE * pieces, pieces=pieces)


async def serve() -> None:
    """Serve until stdin ends."""
    async with loopback_model(soak_model.answer if "soak" in sys.argv else answer) as model:
        print(json.dumps(dataclasses.asdict(model.provider)), flush=True)
        await anyio.to_thread.run_sync(sys.stdin.read)


if __name__ == "__main__":
    anyio.run(serve)
