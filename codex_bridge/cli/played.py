"""An agent on the configured model, or with a local stand-in that plays it: what `--loopback` means, once for all."""

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path

from codex_bridge.cli.setup import LOOPBACK_MODEL, Running
from codex_bridge.home import state_dir
from codex_bridge.loopback.model import loopback_model
from codex_bridge.loopback.script import Script


def root_of(*, loopback: bool) -> Path:
    """The folder below which everything is kept.

    A stand-in's threads are kept apart, or a real model would continue a conversation with it.
    """
    return state_dir() / "loopback" if loopback else state_dir()


@asynccontextmanager
async def played(
    how: Callable[..., AbstractAsyncContextManager[Running]], script: Script | None, *, model: str | None, root: Path
) -> AsyncGenerator[Running]:
    """Run an agent for as long as the block lasts.

    Args:
        how: `setup.running` with all that it takes but the provider, the model and the root.
        script: What the stand-in says; None for no stand-in.
        model: The model that is asked for.
        root: See `root_of`.
    """
    async with AsyncExitStack() as stack:
        provider = None
        if script is not None:
            provider = (await stack.enter_async_context(loopback_model(script))).provider
            model = model or LOOPBACK_MODEL
        yield await stack.enter_async_context(how(provider=provider, model=model, root=root))
