"""Measure what composing a turn costs: `python -m benchmarks.compose`, part of `make bench`.

A workspace with 8 files at the per-file limit and 200 skills, composed for the owner's chat on Codex: for the first
time, with nothing changed (without the skills' watcher, with it, and with it and a hook), and after one file changed.
CPU of this process in milliseconds, median of many; bars in the last column, and the exit status is 1 when one is
missed.
"""

import logging
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import anyio

from benchmarks.bars import missing, settled, verdict
from codex_bridge.lanes import HABITS, plan
from harness.gather import Gatherer, Situation
from harness.layers import Layer, LayerName, Lifetime, Trust
from harness.memory.access import Audience
from harness.plain import plain_settings
from harness.turns import Trigger
from harness.workspace.hooks import BootstrapEvent, BootstrapHooks
from harness.workspace.names import LOAD_ORDER

SKILLS = 200
FILE_UNITS = 20_000
BARS = {
    "cold": 60.0,
    "unchanged": 0.5,
    "unchanged, watched": 0.5,
    "unchanged, with a hook": 0.5,
    "one file changed": 5.0,
}
WORDS = Layer(LayerName.USER_TEXT, "bench", Lifetime.INPUT, Trust.OWNER, "hi")
SITUATION = Situation(trigger=Trigger.CHAT, audience=Audience.OWNER, words=WORDS)


def fill(workspace: Path) -> None:
    """Write the workspace."""
    for name in LOAD_ORDER:
        (workspace / name).write_text(f"{name} " + "word " * (FILE_UNITS // 5 - 4), encoding="utf-8")
    for number in range(SKILLS):
        path = workspace / "skills" / f"skill-{number:03}" / "SKILL.md"
        path.parent.mkdir(parents=True)
        path.write_text(
            f"---\nname: skill-{number:03}\ndescription: {'does a thing ' * 5}\n---\nBody.", encoding="utf-8"
        )


async def look(event: BootstrapEvent) -> None:
    """A hook that changes nothing this time."""
    assert len(event.files) == len(LOAD_ORDER)


async def composed(gatherer: Gatherer) -> float:
    """Compose one turn, lanes included; CPU in milliseconds."""
    start = time.process_time()
    plan((await gatherer.gather(SITUATION)).composition)
    return (time.process_time() - start) * 1e3


async def measure(workspace: Path) -> dict[str, float]:
    """Measure every case."""
    fill(workspace)
    cold = [await composed(Gatherer(plain_settings(workspace), HABITS)) for _ in range(7)]
    gatherer = Gatherer(plain_settings(workspace), HABITS)
    await composed(gatherer)
    await anyio.sleep(0.2)  # files written a moment ago are read once more, see FileIdentity
    await composed(gatherer)
    unchanged = [await composed(gatherer) for _ in range(200)]
    changed: list[float] = []
    for number in range(25):
        (workspace / "SOUL.md").write_text(f"{number} " + "word " * 3_990, encoding="utf-8")
        changed.append(await composed(gatherer))
    watched: list[float] = []
    hooked: list[float] = []
    async with anyio.create_task_group() as group:
        await group.start(gatherer.watch)
        await anyio.sleep(0.2)
        await composed(gatherer)
        watched.extend([await composed(gatherer) for _ in range(200)])
        hooks = BootstrapHooks()
        hooks.register(look, name="look")
        gatherer = Gatherer(plain_settings(workspace), HABITS, hooks=hooks)
        await group.start(gatherer.watch)
        await composed(gatherer)
        await anyio.sleep(0.2)
        await composed(gatherer)
        hooked.extend([await composed(gatherer) for _ in range(200)])
        group.cancel_scope.cancel()
    return {
        "cold": median(cold),
        "unchanged": median(unchanged),
        "unchanged, watched": median(watched),
        "unchanged, with a hook": median(hooked),
        "one file changed": median(changed),
    }


def measured() -> dict[str, float]:
    """Measure every case on a workspace of its own."""
    logging.disable(logging.WARNING)  # the workspace is over the total limit on purpose; each gatherer says so
    with tempfile.TemporaryDirectory() as folder:
        return anyio.run(measure, Path(folder))


def main() -> int:
    """Print the table; gives the exit status."""
    found = settled(measured, BARS)
    print(f"composing a turn, {SKILLS} skills and {len(LOAD_ORDER)} files of {FILE_UNITS:,} units, CPU in ms")
    for name, milliseconds in found.items():
        print(f"{name:<22} {milliseconds:>8.3f}   {verdict(milliseconds, BARS.get(name))}".rstrip())
    return 1 if missing(found, BARS) else 0


if __name__ == "__main__":
    sys.exit(main())
