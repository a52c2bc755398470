"""Which layers a chat turn carries, in reading order, and why the others stay out.

Pure: what was read of the workspace and the message in, a `Composition` out.
"""

from collections.abc import Mapping
from typing import Final

from harness.inbound import InboundMessage
from harness.layers import Composition, Layer, LayerName, LeftOut, Lifetime, Trust
from harness.workspace.reads import Content, Missing, ReadResult, Refused

ORDER: Final = (LayerName.AGENTS, LayerName.TOOLS, LayerName.SOUL, LayerName.IDENTITY, LayerName.USER)
"""The workspace files of a chat turn. Persona order is SOUL, IDENTITY, USER (harness reference, 1.3)."""

LIFETIMES: Final[Mapping[LayerName, Lifetime]] = {
    LayerName.AGENTS: Lifetime.THREAD,
    LayerName.TOOLS: Lifetime.THREAD,
    LayerName.SOUL: Lifetime.TURN,
    LayerName.IDENTITY: Lifetime.TURN,
    LayerName.USER: Lifetime.TURN,
}
"""How long each file stays in force; subagents inherit only what holds for the thread."""


def compose_chat(files: Mapping[LayerName, ReadResult], message: InboundMessage) -> Composition:
    """Put together the turn that answers `message`.

    A file that is missing, refused or blank is left out with its reason; the person's words come last.
    """
    layers: list[Layer] = []
    left_out: list[LeftOut] = []
    for name in ORDER:
        match files.get(name, Missing()):
            case Content(text) if text.strip():
                layers.append(Layer(name, name.value, LIFETIMES[name], Trust.WORKSPACE, text.strip()))
            case Content():
                left_out.append(LeftOut(name, name.value, "the file is empty"))
            case Missing():
                left_out.append(LeftOut(name, name.value, "the file does not exist"))
            case Refused() as refused:
                left_out.append(LeftOut(name, name.value, refused.reason))
    left_out.append(LeftOut(LayerName.HEARTBEAT, LayerName.HEARTBEAT.value, "this is not a heartbeat"))
    layers.append(Layer(LayerName.USER_TEXT, message.key, Lifetime.INPUT, Trust.OWNER, message.text))
    return Composition(tuple(layers), tuple(left_out))
