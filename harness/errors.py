"""What the gateway side can complain of.

HarnessError
├── PayloadError             an inbound payload is not what its channel sends
├── UnsupportedPayloadError  it is, but of a kind that no turn can be made of
├── WorkspaceError           the workspace folder cannot be used
└── StoreError               the store cannot be read or written
"""

from typing import Final

THE_LOG: Final = "the log has the details"
"""How a sentence for a person ends whose cause only the log tells; a command line puts its own way to it there."""


class HarnessError(Exception):
    """Root of the tree. Each message is one sentence for a person."""


class PayloadError(HarnessError):
    """An inbound payload is broken."""


class UnsupportedPayloadError(HarnessError):
    """An inbound payload is sound, but nothing that an agent can answer."""


class WorkspaceError(HarnessError):
    """The workspace folder is missing or unreadable."""


class StoreError(HarnessError):
    """The store is damaged, or its folder cannot be written."""
