"""What can travel between two JSON-RPC peers, as values.

The app-server speaks JSON-RPC 2.0 without the `jsonrpc` member (protocol reference, section 1.1).
"""

from collections.abc import Mapping
from typing import TypeAlias

from harness.lean_values import dataclass

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
JsonObject: TypeAlias = "dict[str, Json]"
RequestId: TypeAlias = int | str

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
OVERLOADED = -32001
"""The app-server's own code for a full ingress queue; the request was not run and may be sent again."""


@dataclass(frozen=True, slots=True)
class Answered:
    """The other side answered one of our requests."""

    id: RequestId
    method: str
    result: Json


@dataclass(frozen=True, slots=True)
class Refused:
    """The other side answered one of our requests with an error object."""

    id: RequestId
    method: str
    code: int
    message: str
    data: Json = None


@dataclass(frozen=True, slots=True)
class Requested:
    """The other side asks us something and waits for our answer."""

    id: RequestId
    method: str
    params: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class Notified:
    """The other side tells us something."""

    method: str
    params: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class Stray:
    """An answer to nothing that is open: to a request we gave up on, or with an id we never used."""

    id: Json
    abandoned: bool
    """True when the answer belongs to a request that was given up."""


@dataclass(frozen=True, slots=True)
class Junk:
    """A message that is not JSON-RPC. Only its size is kept: it may hold anything."""

    reason: str
    size: int
    """Length in bytes."""


Event: TypeAlias = Answered | Refused | Requested | Notified | Stray | Junk
