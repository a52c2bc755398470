"""`codex-bridge demo`: the main job on real input, without an account.

A real Telegram update runs one turn on the real Codex binary; a loopback stand-in plays the model and records
what it was sent. What is shown as seen by the model comes from that record.
"""

import json
import shutil
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path

import anyio
import typer

from codex_bridge.cli import show
from codex_bridge.cli.scratch import scratch
from codex_bridge.cli.setup import LOOPBACK_MODEL, CodexOption, JsonOption, running
from codex_bridge.home import state_dir
from codex_bridge.lanes import LanePlan
from codex_bridge.loopback.model import loopback_model
from codex_bridge.loopback.recorder import RecordedRequest
from codex_bridge.loopback.script import in_turn, say
from codex_bridge.process import Launch
from codex_bridge.seen import Sighting, sightings
from codex_bridge.turn import SentRequest
from harness.channels import telegram
from harness.inbound import InboundMessage
from harness.json_files import read_object
from harness.plain import plain_settings
from harness.turns import Finished, Outcome, TextDelta, TurnResult

ANSWER = (
    "It is. Salt has two more days to bite by Saturday, and a dry cloth now costs you half an hour; "
    "after the weekend it will cost you two."
)
"""What the stand-in says: scripted, as there is no model."""


@dataclass(frozen=True)
class Demonstration:
    """One turn, from the update to what the model saw."""

    codex: str
    """Version of the binary that ran."""
    binary: str
    message: InboundMessage
    sent: tuple[SentRequest, ...]
    lanes: LanePlan
    received: RecordedRequest
    sightings: tuple[Sighting, ...]
    pieces: tuple[str, ...]
    """The reply as it was streamed."""
    result: TurnResult

    @property
    def as_promised(self) -> bool:
        """Whether the model saw every layer once and in its place, and the reply came back whole."""
        return (
            all(not each.verdict for each in self.sightings)
            and self.result.outcome is Outcome.ANSWERED
            and "".join(self.pieces) == self.result.text == ANSWER
        )


def command(codex: CodexOption = None, as_json: JsonOption = False) -> None:
    """Run one real Telegram message through one real Codex turn and show who saw what. Needs no account."""
    demonstration = anyio.run(demonstrate, codex)
    if as_json:
        print(json.dumps(show.as_data(demonstration), ensure_ascii=False, indent=2))
    else:
        show.demonstration(demonstration)
    raise typer.Exit(0 if demonstration.as_promised else 1)


async def demonstrate(codex: Path | None) -> Demonstration:
    """Run the sample update on the sample workspace.

    Raises:
        CodexError: Codex cannot be used.
    """
    with scratch(state_dir() / "demo") as folder, as_file(files("harness.testing") / "sample") as sample:
        # A copy, since Codex would also read an AGENTS.md above a workspace that lies in a repository.
        workspace = folder / "workspace"
        shutil.copytree(sample / "workspace", workspace)
        message = telegram.from_update(read_object(sample / "update.json", "payload"))
        return await _run(message, workspace, folder / "state", codex)


async def _run(message: InboundMessage, workspace: Path, root: Path, codex: Path | None) -> Demonstration:
    answer = say(ANSWER, pieces=12, pause=0.02)
    async with (
        loopback_model(in_turn([answer])) as model,
        running(
            plain_settings(workspace), codex=codex, provider=model.provider, model=LOOPBACK_MODEL, root=root
        ) as live,
    ):
        turn = await live.agent.receive(message)
        pieces: list[str] = []
        async for event in turn.events():
            match event:
                case TextDelta(text=text):
                    pieces.append(text)
                case Finished(result=result):
                    break
                case _:
                    pass
        else:
            raise AssertionError("a turn always ends with Finished")
        server = live.harness.server
        received = model.requests[-1] if model.requests else RecordedRequest(0, "", {}, {})
        return Demonstration(
            codex=server.version.text if server else "unknown",
            binary=live.launch.binary.source if isinstance(live.launch, Launch) else live.launch.name,
            message=message,
            sent=tuple(turn.sent),
            lanes=turn.lanes,
            received=received,
            sightings=tuple(sightings(turn.lanes.placed, received)),
            pieces=tuple(pieces),
            result=result,
        )
