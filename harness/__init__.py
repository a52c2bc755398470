"""What any agent gateway and any agent backend agree on. Knows no Codex."""

from typing import TYPE_CHECKING

from harness.lazy import lazily

if TYPE_CHECKING:
    from harness.agent import Agent
    from harness.errors import HarnessError, PayloadError, StoreError, UnsupportedPayloadError, WorkspaceError
    from harness.inbound import Chat, ChatKind, InboundMessage, Sender
    from harness.layers import Composition, Layer, LayerName, LeftOut, Lifetime, Trust
    from harness.store.bindings import Binding, Bindings, bindings_at
    from harness.turns import Finished, Harness, Outcome, RunningTurn, Trigger, TurnEvent, TurnRequest, TurnResult

__all__ = [
    "Agent",
    "Binding",
    "Bindings",
    "Chat",
    "ChatKind",
    "Composition",
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
        "Agent": "agent",
        "Binding": "store.bindings",
        "Bindings": "store.bindings",
        "Chat": "inbound",
        "ChatKind": "inbound",
        "Composition": "layers",
        "Finished": "turns",
        "Harness": "turns",
        "HarnessError": "errors",
        "InboundMessage": "inbound",
        "Layer": "layers",
        "LayerName": "layers",
        "LeftOut": "layers",
        "Lifetime": "layers",
        "Outcome": "turns",
        "PayloadError": "errors",
        "RunningTurn": "turns",
        "Sender": "inbound",
        "StoreError": "errors",
        "Trigger": "turns",
        "Trust": "layers",
        "TurnEvent": "turns",
        "TurnRequest": "turns",
        "TurnResult": "turns",
        "UnsupportedPayloadError": "errors",
        "WorkspaceError": "errors",
        "bindings_at": "store.bindings",
    },
)
