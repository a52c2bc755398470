from datetime import UTC, datetime

from harness.compose import compose_chat
from harness.inbound import Chat, ChatKind, InboundMessage, Sender
from harness.layers import Composition, Layer, LayerName, LeftOut, Lifetime, Trust
from harness.workspace.reads import Content, Missing, ReadResult, Refusal, Refused

MESSAGE = InboundMessage(
    channel="telegram",
    chat=Chat(ChatKind.DIRECT, "7"),
    sender=Sender("7", "Orrin"),
    message_id="9",
    text="hi",
    sent_at=datetime(2031, 5, 6, tzinfo=UTC),
)


def content(text: str) -> ReadResult:
    return Content(text, "/workspace/file", None)


def file_layer(name: LayerName, lifetime: Lifetime, text: str) -> Layer:
    return Layer(name, name.value, lifetime, Trust.WORKSPACE, text)


def test_files_come_in_reading_order_and_the_words_of_the_person_last() -> None:
    """S51, S52."""
    files = {
        LayerName.USER: content("metric\n"),
        LayerName.TOOLS: content("\na printer\n"),
        LayerName.SOUL: content("dry"),
        LayerName.IDENTITY: content("Pell"),
        LayerName.AGENTS: content("short"),
    }
    assert compose_chat(files, MESSAGE) == Composition(
        layers=(
            file_layer(LayerName.AGENTS, Lifetime.THREAD, "short"),
            file_layer(LayerName.TOOLS, Lifetime.THREAD, "a printer"),
            file_layer(LayerName.SOUL, Lifetime.TURN, "dry"),
            file_layer(LayerName.IDENTITY, Lifetime.TURN, "Pell"),
            file_layer(LayerName.USER, Lifetime.TURN, "metric"),
            Layer(LayerName.USER_TEXT, "telegram:7:9", Lifetime.INPUT, Trust.OWNER, "hi"),
        ),
        left_out=(LeftOut(LayerName.HEARTBEAT, "workspace/HEARTBEAT.md", "this is not a heartbeat"),),
    )


def test_what_is_left_out_says_why() -> None:
    files = {
        LayerName.AGENTS: Missing(),
        LayerName.TOOLS: Refused(Refusal.TOO_LARGE),
        LayerName.SOUL: content(" \n\t\n"),
        LayerName.IDENTITY: content("Pell"),
    }
    composition = compose_chat(files, MESSAGE)
    assert [layer.name for layer in composition.layers] == [LayerName.IDENTITY, LayerName.USER_TEXT]
    assert {each.name: each.reason for each in composition.left_out} == {
        LayerName.AGENTS: "the file does not exist",
        LayerName.TOOLS: "it is over 2 MiB; shorten it",
        LayerName.SOUL: "the file is empty",
        LayerName.USER: "the file does not exist",
        LayerName.HEARTBEAT: "this is not a heartbeat",
    }
