"""Words that join a turn while it runs: whether Codex has them, and whether the model was asked after that.

Pure. The answer to turn/steer proves nothing: words that Codex took in while a command ran are gone when the turn is
interrupted before the next request to the model. The item with their id proves that they are in the conversation. On
0.163 such an item may even be the last of its turn, when they came in just as it ended: nobody has read them then
(measured on both versions, `docs/measured.md`).
"""

from codex_bridge.wire.items import AgentMessageItem, UserMessageItem
from codex_bridge.wire.notifications import ItemCompleted, ItemStarted, TokenUsageUpdated, TurnFailing, Wire


class Joining:
    """What joined one turn."""

    def __init__(self) -> None:
        self._expected: dict[str, str] = {}
        """The messages by the ids that their words were sent with, as long as Codex has not shown them."""
        self.unread = False
        """Whether words came in and the model has done nothing since."""

    def expect(self, client_id: str, key: str) -> None:
        """These words are about to be sent."""
        self._expected[client_id] = key

    def give_up(self, client_id: str) -> None:
        """They were refused."""
        self._expected.pop(client_id, None)

    def see(self, wire: Wire) -> str | None:
        """Take in what is new of the turn; gives the message whose words are in the conversation by it."""
        match wire:
            case (
                ItemStarted(item=UserMessageItem(client_id=sent)) | ItemCompleted(item=UserMessageItem(client_id=sent))
            ):
                key = self._expected.pop(sent or "", None)
                self.unread = self.unread or key is not None
                return key
            case ItemStarted() | ItemCompleted(item=AgentMessageItem()) | TokenUsageUpdated() | TurnFailing():
                self.unread = False
            case _:
                pass
        return None
