"""How a heartbeat turn says that all is quiet: one of two ways, known before anything is said about it."""

from enum import Enum


class Ack(Enum):
    """How a heartbeat turn says that nothing needs attention."""

    TOKEN = "token"  # noqa: S105 - names a convention
    TOOL = "tool"
