"""Turns of `CodexHarness` on the fake Codex, run as a child process."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio

from codex_bridge.binary import CodexBinary
from codex_bridge.bridge import CodexHarness, CodexSettings, codex_harness
from codex_bridge.home import Home
from codex_bridge.process import Launch
from harness.layers import Composition, Layer, LayerName, Lifetime, Trust
from harness.store.bindings import bindings_at
from harness.turns import RunningTurn, TextDelta, Trigger, TurnRequest
from tests.support.serving import LIMIT, executable


def launch(folder: Path, script: str) -> Launch:
    """How to start a fake server that plays `script`, with a home in `folder`."""
    return Launch(CodexBinary(executable(folder, script), "the test"), Home(folder / "codex-home", owned=True))


@asynccontextmanager
async def harness_on_fake(folder: Path) -> AsyncGenerator[CodexHarness]:
    """A harness whose Codex is the fake; everything inside is over within `LIMIT`."""
    with anyio.fail_after(LIMIT):
        async with (
            bindings_at(folder / "bindings.sqlite") as bindings,
            codex_harness(CodexSettings(launch(folder, "codex")), bindings, now=lambda: 0.0) as harness,
        ):
            yield harness


def words(text: str, *, chat: str = "a") -> TurnRequest:
    """A turn whose course `text` chooses, see `fake_codex.COURSES`."""
    layer = Layer(LayerName.USER_TEXT, "message", Lifetime.INPUT, Trust.OWNER, text)
    return TurnRequest(
        agent="main",
        session_key=chat,
        trigger=Trigger.CHAT,
        composition=Composition((layer,), ()),
        workspace=Path("/workspace"),
        message_key=f"{chat}:{text}",
    )


async def first_delta(turn: RunningTurn) -> str:
    """Wait until the turn streams."""
    async for event in turn.events():
        if isinstance(event, TextDelta):
            return event.text
    raise AssertionError("the turn ended without a word")
