"""What any agent gateway and any agent backend agree on. Knows no Codex."""

from typing import TYPE_CHECKING

from harness.lazy import lazily

if TYPE_CHECKING:
    from harness.agent import Agent
    from harness.errors import HarnessError, PayloadError, StoreError, UnsupportedPayloadError, WorkspaceError
    from harness.inbound import Chat, ChatKind, InboundMessage, Sender
    from harness.layers import Composition, Layer, LayerName, LeftOut, Lifetime, Trust
    from harness.store.bindings import Bindings, bindings_at
    from harness.store.bound import Binding
    from harness.turns import (
        EndedBy,
        Finished,
        Harness,
        Outcome,
        RunningTurn,
        Trigger,
        TurnEvent,
        TurnRequest,
        TurnResult,
    )

__all__ = [
    "Agent",
    "Binding",
    "Bindings",
    "Chat",
    "ChatKind",
    "Composition",
    "EndedBy",
    "Finished",
    "Harness",
    "HarnessError",
    "InboundMessage",
    "Layer",
    "LayerName",
    "LeftOut",
    "Lifetime",
    "Outcome",
    "PayloadError",
    "RunningTurn",
    "Sender",
    "StoreError",
    "Trigger",
    "Trust",
    "TurnEvent",
    "TurnRequest",
    "TurnResult",
    "UnsupportedPayloadError",
    "WorkspaceError",
    "bindings_at",
]

__getattr__ = lazily(
    __name__,
    {
        "Agent": "harness.agent",
        "Binding": "harness.store.bound",
        "Bindings": "harness.store.bindings",
        "Chat": "harness.inbound",
        "ChatKind": "harness.inbound",
        "Composition": "harness.layers",
        "EndedBy": "harness.turns",
        "Finished": "harness.turns",
        "Harness": "harness.turns",
        "HarnessError": "harness.errors",
        "InboundMessage": "harness.inbound",
        "Layer": "harness.layers",
        "LayerName": "harness.layers",
        "LeftOut": "harness.layers",
        "Lifetime": "harness.layers",
        "Outcome": "harness.turns",
        "PayloadError": "harness.errors",
        "RunningTurn": "harness.turns",
        "Sender": "harness.inbound",
        "StoreError": "harness.errors",
        "Trigger": "harness.turns",
        "Trust": "harness.layers",
        "TurnEvent": "harness.turns",
        "TurnRequest": "harness.turns",
        "TurnResult": "harness.turns",
        "UnsupportedPayloadError": "harness.errors",
        "WorkspaceError": "harness.errors",
        "bindings_at": "harness.store.bindings",
    },
)
