"""Codex app-server as an agent backend of a gateway."""

from typing import TYPE_CHECKING

from harness.lazy import lazily

if TYPE_CHECKING:
    from codex_bridge.binary import CodexBinary, find_codex
    from codex_bridge.bridge import CodexHarness, CodexSettings, codex_harness
    from codex_bridge.errors import (
        BinaryNotFoundError,
        CallTimeoutError,
        CodexError,
        ConnectError,
        ConnectionLostError,
        NotSignedInError,
        OverloadedError,
        OversizedMessageError,
        RpcError,
        ServerTooOldError,
        TransportError,
        UnreadableAnswerError,
    )
    from codex_bridge.home import Home, StateFolderError, own_home, state_dir, user_codex_home
    from codex_bridge.params import ThreadSettings
    from codex_bridge.pool import CodexPool, codex_pool
    from codex_bridge.process import Launch
    from codex_bridge.providers import Provider
    from codex_bridge.turn import CodexTurn, SentRequest

__all__ = [
    "BinaryNotFoundError",
    "CallTimeoutError",
    "CodexBinary",
    "CodexError",
    "CodexHarness",
    "CodexPool",
    "CodexSettings",
    "CodexTurn",
    "ConnectError",
    "ConnectionLostError",
    "Home",
    "Launch",
    "NotSignedInError",
    "OverloadedError",
    "OversizedMessageError",
    "Provider",
    "RpcError",
    "SentRequest",
    "ServerTooOldError",
    "StateFolderError",
    "ThreadSettings",
    "TransportError",
    "UnreadableAnswerError",
    "codex_harness",
    "codex_pool",
    "find_codex",
    "own_home",
    "state_dir",
    "user_codex_home",
]

__getattr__ = lazily(
    __name__,
    {
        "BinaryNotFoundError": "codex_bridge.errors",
        "CallTimeoutError": "codex_bridge.errors",
        "CodexBinary": "codex_bridge.binary",
        "CodexError": "codex_bridge.errors",
        "CodexHarness": "codex_bridge.bridge",
        "CodexPool": "codex_bridge.pool",
        "CodexSettings": "codex_bridge.bridge",
        "CodexTurn": "codex_bridge.turn",
        "ConnectError": "codex_bridge.errors",
        "ConnectionLostError": "codex_bridge.errors",
        "Home": "codex_bridge.home",
        "Launch": "codex_bridge.process",
        "NotSignedInError": "codex_bridge.errors",
        "OverloadedError": "codex_bridge.errors",
        "OversizedMessageError": "codex_bridge.errors",
        "Provider": "codex_bridge.providers",
        "RpcError": "codex_bridge.errors",
        "SentRequest": "codex_bridge.turn",
        "ServerTooOldError": "codex_bridge.errors",
        "StateFolderError": "codex_bridge.home",
        "ThreadSettings": "codex_bridge.params",
        "TransportError": "codex_bridge.errors",
        "UnreadableAnswerError": "codex_bridge.errors",
        "codex_harness": "codex_bridge.bridge",
        "codex_pool": "codex_bridge.pool",
        "find_codex": "codex_bridge.binary",
        "own_home": "codex_bridge.home",
        "state_dir": "codex_bridge.home",
        "user_codex_home": "codex_bridge.home",
    },
)
