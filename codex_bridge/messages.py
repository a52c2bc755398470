"""What an agent says in one turn, as far as it has come: which of it is the answer, and what a reader has to hear anew.

Pure.
"""

from collections.abc import Iterable
from dataclasses import field

from codex_bridge.wire.items import AgentMessageItem
from harness.lean_values import dataclass
from harness.turns import Commentary, TextDelta, TextRetracted, TurnEvent


@dataclass(slots=True)
class Message:
    """An assistant message as far as it is known."""

    streamed: bytearray = field(default_factory=bytearray)
    """What came in pieces, as UTF-8: a list of them, or a StringIO, would hold ten times as much."""
    commentary: bool = False
    whole: str | None = None
    """The text once it is whole; pieces that come later say nothing new."""

    @property
    def text(self) -> str:
        """What is known of it."""
        return self.streamed.decode("utf-8", "surrogatepass") if self.whole is None else self.whole

    def begin(self, item: AgentMessageItem) -> list[TurnEvent]:
        """The message begins, and its phase may be known. Gives what a reader of earlier pieces has to hear."""
        told, self.commentary = self.text, item.phase == "commentary"
        return [TextRetracted(item.id), Commentary(item.id, told)] if told and self.commentary else []

    def complete(self, item: AgentMessageItem) -> list[TurnEvent]:
        """The message is whole. Gives what a reader of its pieces lacks, or has to take back, to have the same text."""
        told, was_commentary = self.text, self.commentary
        self.whole, self.commentary = item.text, item.phase == "commentary"
        self.streamed.clear()  # the same once more
        events: list[TurnEvent] = []
        if told and not was_commentary and (self.commentary or not item.text.startswith(told)):
            events.append(TextRetracted(item.id))
            told = ""
        if was_commentary and not self.commentary:
            told = ""  # that cannot be taken back, and is no part of the answer
        if item.text.startswith(told) and (rest := item.text[len(told) :]):
            events.append(Commentary(item.id, rest) if self.commentary else TextDelta(item.id, rest))
        return events


def answer_of(messages: Iterable[Message]) -> str:
    """The last text of the messages, oldest first, that is no commentary and not blank; empty when there is none."""
    texts = [message.text for message in messages if not message.commentary]
    return next((text for text in reversed(texts) if text.strip()), "")


def retract(messages: dict[str, Message]) -> list[TurnEvent]:
    """Forget messages that were streamed in part: a retried stream brings new ones under new ids (measured)."""
    broken = [(item, message) for item, message in messages.items() if message.whole is None]
    for item, _ in broken:
        del messages[item]
    return [TextRetracted(item) for item, message in broken if message.streamed]
