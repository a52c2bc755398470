"""One agent: a workspace, a backend, and a message in between."""

from dataclasses import dataclass
from typing import Generic

from harness.gather import Gatherer, Situation
from harness.inbound import ChatKind, InboundMessage
from harness.layers import Layer, LayerName, Lifetime, Trust
from harness.memory.access import Audience
from harness.memory.daily import bare_reset
from harness.turns import Harness, Trigger, TurnRequest, TurnT
from harness.workspace.folder import check_folder


@dataclass(frozen=True)
class Agent(Generic[TurnT]):
    """An agent that lives in a workspace and answers messages."""

    harness: Harness[TurnT]
    gatherer: Gatherer
    """Looks at the agent's workspace; holds its settings."""
    model: str | None = None
    effort: str | None = None
    owners: frozenset[str] | None = None
    """Sender ids of the owner. None: whoever the channel lets into a direct chat is the owner."""

    async def receive(self, message: InboundMessage) -> TurnT:
        """Begin the turn that answers `message`. A bare /new or /reset begins a new conversation.

        Raises:
            WorkspaceError: The workspace folder is not there. A missing file in it is no error.
        """
        settings = self.gatherer.settings
        check_folder(settings.workspace)
        audience, reset = self.audience(message), bare_reset(message.text)
        key = message.session_key(settings.id)
        if audience is Audience.OTHER_DIRECT:
            # What was said to the owner here, the memory among it, stays in the owner's conversation.
            key = f"{key}:other"
        gathered = await self.gatherer.gather(
            Situation(
                trigger=Trigger.CHAT,
                audience=audience,
                words=_words(message, audience),
                session_key=key,
                reset=reset,
            )
        )
        return self.harness.start(
            TurnRequest(
                agent=settings.id,
                session_key=key,
                trigger=Trigger.CHAT,
                composition=gathered.composition,
                workspace=settings.workspace,
                message_key=message.key,
                model=self.model,
                effort=self.effort,
                fresh=reset is not None,
            )
        )

    def audience(self, message: InboundMessage) -> Audience:
        """Who reads along when the agent answers `message`."""
        if message.chat.kind is ChatKind.GROUP:
            return Audience.GROUP
        known = self.owners is None or message.sender.id in self.owners
        return Audience.OWNER if known else Audience.OTHER_DIRECT


def _words(message: InboundMessage, audience: Audience) -> Layer:
    trust = Trust.OWNER if audience is Audience.OWNER else Trust.OUTSIDER
    return Layer(LayerName.USER_TEXT, message.key, Lifetime.INPUT, trust, message.text)
