"""Codex app-server as an agent backend of a gateway."""

from typing import TYPE_CHECKING

from harness.lazy import lazily

if TYPE_CHECKING:
    from codex_bridge.binary import CodexBinary, find_codex
    from codex_bridge.bridge import CodexHarness, CodexSettings, CodexTurn, SentRequest, codex_harness
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
    from codex_bridge.home import Home, own_home, state_dir, user_codex_home
    from codex_bridge.params import ThreadSettings
    from codex_bridge.process import Launch
    from codex_bridge.providers import Provider

__all__ = [
    "BinaryNotFoundError",
    "CallTimeoutError",
    "CodexBinary",
    "CodexError",
    "CodexHarness",
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
    "ThreadSettings",
    "TransportError",
    "UnreadableAnswerError",
    "codex_harness",
    "find_codex",
    "own_home",
    "state_dir",
    "user_codex_home",
]

__getattr__ = lazily(
    __name__,
    {
        "BinaryNotFoundError": "errors",
        "CallTimeoutError": "errors",
        "CodexBinary": "binary",
        "CodexError": "errors",
        "CodexHarness": "bridge",
        "CodexSettings": "bridge",
        "CodexTurn": "bridge",
        "ConnectError": "errors",
        "ConnectionLostError": "errors",
        "Home": "home",
        "Launch": "process",
        "NotSignedInError": "errors",
        "OverloadedError": "errors",
        "OversizedMessageError": "errors",
        "Provider": "providers",
        "RpcError": "errors",
        "SentRequest": "bridge",
        "ServerTooOldError": "errors",
        "ThreadSettings": "params",
        "TransportError": "errors",
        "UnreadableAnswerError": "errors",
        "codex_harness": "bridge",
        "find_codex": "binary",
        "own_home": "home",
        "state_dir": "home",
        "user_codex_home": "home",
    },
)
