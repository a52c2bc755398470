"""One agent: a workspace, a backend, and a message in between."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Generic

from harness.compose import ORDER, compose_chat
from harness.errors import WorkspaceError
from harness.inbound import InboundMessage
from harness.turns import Harness, Trigger, TurnRequest, TurnT
from harness.workspace.reader import GuardedReader

_FILE_OF: Final = {name: name.value.removeprefix("workspace/") for name in ORDER}


@dataclass(frozen=True)
class Agent(Generic[TurnT]):
    """An agent that lives in a workspace and answers messages.

    The reader may be shared by all agents of a gateway; unchanged files are read once.
    """

    harness: Harness[TurnT]
    workspace: Path
    id: str = "main"
    model: str | None = None
    effort: str | None = None
    reader: GuardedReader = field(default_factory=GuardedReader)

    async def receive(self, message: InboundMessage) -> TurnT:
        """Begin the turn that answers `message`.

        Raises:
            WorkspaceError: The workspace folder is not there. A missing file in it is no error.
        """
        root = str(self.workspace)
        if not self.workspace.is_dir():
            raise WorkspaceError(f"The workspace {root} is no folder; create it or name another.")
        files = {name: await self.reader.read(root, _FILE_OF[name]) for name in ORDER}
        return self.harness.start(
            TurnRequest(
                agent=self.id,
                session_key=message.session_key(self.id),
                trigger=Trigger.CHAT,
                composition=compose_chat(files, message),
                workspace=self.workspace,
                message_key=message.key,
                model=self.model,
                effort=self.effort,
            )
        )
