"""A gateway as a process of its own, which a test can kill: a desk and its approvals on a real Codex.

    python -m tests.support.asking_gateway JSON

The argument says what to run on. Each line on stdin is a message of the owner, as JSON; each on stdout is what the
chat shows. The message "settled" waits until nothing is left to do, and says so.
"""

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread

from codex_bridge.binary import find_codex
from codex_bridge.bridge import CodexSettings, codex_harness
from codex_bridge.home import own_home, private_dir
from codex_bridge.lanes import HABITS
from codex_bridge.params import ThreadSettings
from codex_bridge.process import Launch, Source
from codex_bridge.providers import Provider
from codex_bridge.sources import Remote
from codex_bridge.turn import CodexTurn
from harness.agent import Agent
from harness.approvals.approvals import open_approvals
from harness.delivery.courier import Courier
from harness.delivery.outbox import Outgoing
from harness.desk.desk import open_desk
from harness.gather import Gatherer
from harness.plain import plain_settings
from harness.settings.approvals import ApprovalSettings
from harness.store.bindings import bindings_at
from harness.store.deliveries import Deliveries
from harness.testing.outbox import RecordingOutbox
from tests.support.real import MODEL, message


def _source(how: dict[str, Any], state: Path) -> Source:
    if "address" in how:
        return Remote(how["address"])
    codex = find_codex(Path(how["codex"]))
    return Launch(codex, own_home(state, "main"), Provider(**how["provider"]), catalogue="untouched")


def _show(call: str, outgoing: Outgoing) -> None:
    buttons = [[button.label, button.data] for row in outgoing.buttons for button in row]
    sys.stdout.write(json.dumps({"call": call, "text": outgoing.text, "buttons": buttons}) + "\n")
    sys.stdout.flush()


async def main(how: dict[str, Any]) -> None:
    """Run until stdin ends."""
    state, workspace = private_dir(Path(how["state"])), Path(how["workspace"])
    outbox = RecordingOutbox(after=_show)
    if how["after"]:  # what the channel has from before
        for number in range(int(how["after"])):
            outbox.messages[str(number + 1)] = Outgoing(key=f"before {number}", channel="telegram", chat="7", text="")
    threads = ThreadSettings(sandbox="workspace-write", approval_policy="untrusted")
    asks = ApprovalSettings(owners=("7",), seconds=float(how["seconds"]))
    source = _source(how, state)
    async with (
        bindings_at(state / "bridge.sqlite") as bindings,
        open_approvals(bindings.database, outbox, asks) as approvals,
        codex_harness(CodexSettings(source, threads=threads, drain=0.0, asker=approvals), bindings) as harness,
    ):
        deliveries = Deliveries(bindings.database)
        courier = Courier(deliveries, outbox)
        agent = Agent[CodexTurn](harness, Gatherer(plain_settings(workspace), HABITS), model=MODEL)
        async with open_desk(agent, deliveries, courier, approvals=approvals) as desk:
            await desk.recover(harness)
            _show("ready", Outgoing(key="", channel="", chat="", text=""))
            while line := await anyio.to_thread.run_sync(sys.stdin.readline, abandon_on_cancel=True):
                said: dict[str, str] = json.loads(line)
                if said["text"] == "settled":
                    await desk.settled()
                    _show("settled", Outgoing(key="", channel="", chat="", text=""))
                    continue
                told = message(said["text"], number=said["number"])
                await desk.receive(replace(told, pressed=said.get("pressed", "")))


if __name__ == "__main__":
    anyio.run(main, json.loads(sys.argv[1]))
