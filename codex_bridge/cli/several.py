"""`codex-bridge turn --then`: several messages at one desk, as a gateway gets them; what reaches the chats is printed.

Nothing of it is remembered as answered, so that the same files can be tried again.
"""

import tempfile
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

import anyio

from codex_bridge.cli.composing import now
from codex_bridge.cli.last_prompt import LastPrompts, prompt_of
from codex_bridge.cli.played import played, root_of
from codex_bridge.cli.printed import Printed
from codex_bridge.cli.saying import ended_well, said
from codex_bridge.cli.setup import Running
from codex_bridge.cli.stopping import drained_by_sigterm
from codex_bridge.home import agent_dir
from codex_bridge.loopback.recorder import RecordedRequest
from codex_bridge.loopback.script import Action, say
from codex_bridge.turn import CodexTurn
from harness.delivery.courier import Courier
from harness.desk.desk import Receipt, open_desk
from harness.inbound import InboundMessage
from harness.store.bindings import bindings_at
from harness.store.deliveries import Deliveries
from harness.turns import Joined, Notice, TurnEvent, TurnResult

PIECES: Final = 8
PAUSE: Final = 0.2
"""How the stand-in speaks, so that there is a turn that others can come into."""
CODEX_SAYS: Final = ("<", "# AGENTS.md instructions")
"""How the parts begin that no person wrote."""

_RECEIPTS: Final = {
    Receipt.TWICE: "came in before",
    Receipt.HEARD: "begins no turn; the next message that the agent hears tells of it",
    Receipt.CHANGED: "changed a message that waits",
}
"""What is printed about a message of which no answer would tell."""


@dataclass
class Course:
    """What became of a turn."""

    message: str
    """The key of the message that began it."""
    joined: list[str] = field(default_factory=list[str])
    """The keys that came into it later; of several that came together, that of the first."""
    result: TurnResult | None = None


@dataclass
class Held:
    """What came of the messages."""

    printed: Printed
    """What reached the chats."""
    turns: list[Course] = field(default_factory=list[Course])

    @property
    def answered(self) -> bool:
        """Whether every turn ended with an answer."""
        return all(each.result is not None and ended_well(each.result) for each in self.turns)


def echo_all(request: RecordedRequest) -> Action:
    """What the stand-in says, slowly: which messages arrived since it spoke last."""
    heard: list[str] = []
    for part in request.parts():
        if part.role == "assistant":
            heard.clear()
        elif part.role == "user" and not part.text.startswith(CODEX_SAYS):
            heard.append(part.text)
    return say(f"The loopback model received: {' | '.join(heard) or 'nothing'}", pieces=PIECES, pause=PAUSE)


async def hold(
    messages: Sequence[InboundMessage],
    after: float,
    how: Callable[..., AbstractAsyncContextManager[Running]],
    *,
    loopback: bool,
    model: str | None,
    quiet: bool,
) -> Held:
    """Bring messages to a desk one after the other, and wait until all of them are dealt with.

    Args:
        messages: The messages.
        after: Seconds between two of them.
        how: See `played`.
        loopback: Let a stand-in play the model.
        model: The model that is asked for.
        quiet: Print nothing meanwhile.
    """
    root, printed = root_of(loopback=loopback), Printed(quiet=quiet)
    held = Held(printed)
    how = partial(how, outbox=printed)
    async with played(how, echo_all if loopback else None, model=model, root=root) as live:
        prompts = LastPrompts(agent_dir(root, live.agent.gatherer.settings.id))

        def listen(message: InboundMessage, turn: CodexTurn) -> Callable[[TurnEvent], None]:
            course = Course(message.key)
            held.turns.append(course)

            async def end() -> None:
                course.result = await turn.result()
                if turn.thread is not None:
                    prompts.keep(prompt_of(turn, now()))

            group.start_soon(end)

            def hear(event: TurnEvent) -> None:
                match event:
                    case Joined(key=key):
                        course.joined.append(key)
                        printed.aside(f"{key} came into the turn of {message.key}")
                    case Notice(text=text):
                        printed.aside(said(text))
                    case _:
                        pass

            return hear

        with tempfile.TemporaryDirectory() as folder:
            async with bindings_at(Path(folder) / "ledger.sqlite") as store, drained_by_sigterm(live.harness):
                deliveries = Deliveries(store.database)
                limit = live.agent.gatherer.settings.heartbeat.ack_max_chars
                courier = Courier(deliveries, printed, media=live.files, ack_max_chars=limit, tell=printed.aside)
                async with (
                    anyio.create_task_group() as group,
                    open_desk(live.agent, deliveries, courier, tell=printed.aside, listen=listen) as desk,
                ):
                    for at, message in enumerate(messages):
                        if at:
                            await anyio.sleep(after)
                        told = _RECEIPTS.get(await desk.receive(message))
                        if told is not None:
                            printed.aside(f"{message.key} {told}")
                    await desk.settled()
    return held
