"""The whole of ours: a Telegram update in, the workspace read, the prompt composed and routed, events out."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

from benchmarks.clients.measured import main
from benchmarks.job import MODEL, Job
from codex_bridge.binary import find_codex
from codex_bridge.bridge import CodexSettings, codex_harness
from codex_bridge.home import Home
from codex_bridge.lanes import HABITS
from codex_bridge.process import Launch
from codex_bridge.providers import Provider
from codex_bridge.turn import CodexTurn
from harness.agent import Agent
from harness.channels.telegram import from_update
from harness.gather import Gatherer
from harness.plain import plain_settings
from harness.store.bindings import bindings_at
from harness.turns import TextDelta


class OurChat:
    """One chat with one agent."""

    def __init__(self, agent: Agent[CodexTurn], update: dict[str, object]) -> None:
        self._agent = agent
        self._update = update
        self._number = 0

    async def say(self, text: str) -> str:
        """Send the sample update with another text and put the streamed text of the answer together."""
        self._number += 1
        message = cast("dict[str, object]", self._update["message"])
        update = self._update | {"message": message | {"message_id": self._number, "text": text}}
        turn = await self._agent.receive(from_update(update))
        pieces = [event.text async for event in turn.events() if isinstance(event, TextDelta)]
        return "".join(pieces)


@asynccontextmanager
async def opened(job: Job) -> AsyncGenerator[OurChat]:
    home = Home(Path(job["home"]), owned=True)
    launch = Launch(find_codex(Path(job["command"][0])), home, Provider(**job["provider"]))
    async with (
        bindings_at(home.path.parent / "bindings.sqlite") as bindings,
        codex_harness(CodexSettings(launch), bindings) as harness,
    ):
        gatherer = Gatherer(plain_settings(Path(job["workspace"])), HABITS)
        yield OurChat(Agent(harness, gatherer, model=MODEL), job["update"])


if __name__ == "__main__":
    main(opened)
