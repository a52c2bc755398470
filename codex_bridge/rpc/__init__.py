"""JSON-RPC without I/O: messages, framing, and the peer that keeps both ends honest."""

from codex_bridge.rpc.encoding import decode, encode, whole_text
from codex_bridge.rpc.framing import MESSAGE_LIMIT, LineFramer, MessageTooLargeError
from codex_bridge.rpc.messages import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    OVERLOADED,
    PARSE_ERROR,
    Answered,
    Event,
    Json,
    JsonObject,
    Junk,
    Notified,
    Refused,
    Requested,
    RequestId,
    Stray,
)
from codex_bridge.rpc.peer import LocalProtocolError, Peer

__all__ = [
    "INTERNAL_ERROR",
    "INVALID_PARAMS",
    "INVALID_REQUEST",
    "MESSAGE_LIMIT",
    "METHOD_NOT_FOUND",
    "OVERLOADED",
    "PARSE_ERROR",
    "Answered",
    "Event",
    "Json",
    "JsonObject",
    "Junk",
    "LineFramer",
    "LocalProtocolError",
    "MessageTooLargeError",
    "Notified",
    "Peer",
    "Refused",
    "RequestId",
    "Requested",
    "Stray",
    "decode",
    "encode",
    "whole_text",
]
