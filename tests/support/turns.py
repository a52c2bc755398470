"""Turns of `CodexHarness` on the fake Codex, run as a child process."""

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path

import anyio

from codex_bridge.binary import CodexBinary
from codex_bridge.bridge import CodexHarness, CodexSettings, codex_harness
from codex_bridge.deadlines import Limits
from codex_bridge.home import Home
from codex_bridge.idle import Rest
from codex_bridge.process import Launch
from codex_bridge.restarts import Patience
from codex_bridge.turn import CodexTurn
from codex_bridge.wire.requests import TurnStartParams
from harness.layers import Composition, Layer, LayerName, Lifetime, Trust
from harness.store.bindings import Bindings, bindings_at
from harness.timing import Clock
from harness.turn_limit import TurnLimit
from harness.turns import RunningTurn, TextDelta, Trigger, TurnRequest
from tests.support.serving import LIMIT, executable


def launch(folder: Path, script: str) -> Launch:
    """How to start a fake server that plays `script`, with a home in `folder` that knows its models already."""
    home = Home(folder / "codex-home", owned=True)
    home.path.mkdir(mode=0o700, exist_ok=True)
    (home.path / "models_cache.json").write_text('{"models": [{"slug": "gpt-5.5"}]}', "utf-8")
    return Launch(CodexBinary(executable(folder, script), "the test"), home, catalogue="untouched")


@asynccontextmanager
async def harness_on_fake(
    folder: Path,
    store: Bindings | None = None,
    *,
    binary: Path | None = None,
    script: str = "codex",
    limits: Limits = Limits(),  # noqa: B008 - frozen
    clock: Clock | None = None,
    patience: Patience = Patience(),  # noqa: B008 - frozen
    limit: TurnLimit | None = None,
    rest: Rest = Rest(),  # noqa: B008 - frozen
    drain: float = 0.0,
) -> AsyncGenerator[CodexHarness]:
    """A harness whose Codex is the fake, or `binary`; everything inside is over within `LIMIT`."""
    start = launch(folder, script)
    if binary is not None:
        start = replace(start, binary=CodexBinary(binary, "the test"))
    with anyio.fail_after(LIMIT):
        async with AsyncExitStack() as stack:
            store = store or await stack.enter_async_context(bindings_at(folder / "bindings.sqlite"))
            settings = CodexSettings(start, limits=limits, patience=patience, rest=rest, drain=drain)
            yield await stack.enter_async_context(
                codex_harness(settings, store, now=lambda: 0.0, clock=clock, limit=limit)
            )


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


def quoting(text: str, *, chat: str = "a", memory: str = "The boat is blue.") -> TurnRequest:
    """A turn that quotes the memory before its words."""
    asked = words(text, chat=chat)
    quoted = Layer(LayerName.MEMORY, "MEMORY.md", Lifetime.INPUT, Trust.WORKSPACE, memory)
    return replace(asked, composition=Composition((quoted, *asked.composition.layers), ()))


def has_quoted(turn: CodexTurn) -> bool:
    """Whether the turn's request held the memory."""
    params = turn.sent[-1].params
    assert isinstance(params, TurnStartParams)
    return len(params.input) == 2


async def first_delta(turn: RunningTurn) -> str:
    """Wait until the turn streams."""
    async for event in turn.events():
        if isinstance(event, TextDelta):
            return event.text
    raise AssertionError("the turn ended without a word")
