"""`message` against an outbox in memory: what reaches the chats, and what the model hears."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from harness.delivery.outbox import Abilities, Button, Media, NotSentError, Outgoing, Reaction
from harness.heartbeat.response import HeartbeatResponder
from harness.inbound import ChatKind
from harness.json_value import Json
from harness.memory.access import Open
from harness.message_tool.reach import Destination, Reach
from harness.message_tool.sending import Hands
from harness.message_tool.tool import ALREADY, IN_DOUBT, NOTHING_SENT, MessageTool, Messaging
from harness.plain import plain_settings
from harness.settings.agent import AgentSettings, ChannelSettings
from harness.testing.outbox import RecordingOutbox
from harness.toolbox import OwnChat, ToolTurn
from harness.tools import Sent, ToolResult
from harness.turns import Trigger

OWN = OwnChat(channel="telegram", chat="42", topic="3", message="9")
TURN = ToolTurn(access=Open(), responder=HeartbeatResponder(active=False), key="telegram:42:9", owned=True, chat=OWN)


@dataclass
class Stage:
    """A tool on one turn, and the chats."""

    workspace: Path
    turn: ToolTurn = TURN
    outbox: RecordingOutbox = field(default_factory=RecordingOutbox)
    open: frozenset[str] = frozenset()
    """Other chats that the gateway opens."""
    channels: dict[str, ChannelSettings] = field(default_factory=dict[str, ChannelSettings])
    mirrored: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    slept: list[float] = field(default_factory=list[float])
    tool: MessageTool = field(init=False)

    def __post_init__(self) -> None:
        reach = Reach(channels=("telegram", "discord"), may_write=lambda where: where.name in self.open)
        gateway = Messaging(
            outbox=self.outbox,
            reach=reach,
            mirror=self._mirror,
        )
        settings: AgentSettings = replace(plain_settings(self.workspace), channels=self.channels)
        self.tool = MessageTool(gateway, settings, hands=Hands(self.outbox, sleep=self._sleep))
        self.of_turn = self.tool.for_turn(self.turn)

    async def __call__(self, action: str, **arguments: Json) -> ToolResult:
        with anyio.fail_after(5):
            return await self.of_turn.call({"action": action, **arguments})

    def stands(self) -> list[Outgoing]:
        return [replace(each, key="") for each in self.outbox.messages.values()]

    async def _mirror(self, where: Destination, text: str) -> None:
        self.mirrored.append((where.name, text))

    async def _sleep(self, seconds: float) -> None:
        self.slept.append(seconds)


@pytest.fixture
def on(tmp_path: Path) -> Callable[..., Stage]:
    for name in ("boat.ogg", "boat.png", "SOUL.md"):
        (tmp_path / name).write_text(name, encoding="utf-8")

    def made(**how: Any) -> Stage:
        return Stage(tmp_path, **how)

    return made


def test_the_tool_reads_the_same_on_every_turn(on: Callable[..., Stage]) -> None:
    here, there = on().of_turn, on(turn=replace(TURN, chat=None, trigger=Trigger.CRON)).of_turn
    assert (here.name, here.description, here.input_schema) == (there.name, there.description, there.input_schema)


async def test_what_is_sent_without_a_target_goes_to_the_chat_of_the_turn(on: Callable[..., Stage]) -> None:
    stage = on()
    path = str(stage.workspace / "boat.ogg")

    result = await stage(
        "send", message=" Hear this. ", media=["boat.ogg"], asVoice=True, buttons=[[{"text": "More", "data": "m"}]]
    )

    assert stage.stands() == [
        Outgoing(
            key="",
            channel="telegram",
            chat="42",
            topic="3",
            text="Hear this.",
            media=(Media(source=path, voice=True),),
            buttons=((Button("More", "m"),),),
        )
    ]
    sent = Sent(channel="telegram", chat="42", topic="3", text="Hear this.", media=(path,))
    assert result == ToolResult(True, "Sent to telegram 42 as message 1.", sent=(sent,))


@pytest.mark.parametrize("target", [{}, {"target": "42"}])
@pytest.mark.parametrize("action", ["send", "react"])
async def test_another_topic_of_the_own_chat_is_another_chat(
    on: Callable[..., Stage], action: str, target: dict[str, Json]
) -> None:
    """On Discord a topic may be any channel at all, so that a group could have the agent speak anywhere."""
    what: dict[str, Json] = {"message": "Hello."} if action == "send" else {"emoji": "👀", "messageId": "7"}
    stage = on()

    result = await stage(action, threadId="4", **what, **target)

    refusal = "telegram 42 topic 4 is not a chat that you may write to from here."
    assert (result.success, result.text[: len(refusal)]) == (False, refusal)
    assert (stage.stands(), stage.outbox.reactions) == ([], [])
    opened = on(open=frozenset({"telegram 42 topic 4"}))
    assert (await opened("send", message="Hello.", threadId="4")).sent == (
        Sent(channel="telegram", chat="42", topic="4", text="Hello."),
    )


async def test_a_reply_answers_the_message_of_the_turn_unless_another_one_is_named(on: Callable[..., Stage]) -> None:
    stage = on()
    await stage("reply", message="One.")
    await stage("reply", message="Two.", messageId="5")
    await stage("send", message="Three.", replyTo="6")
    await stage("send", message="Four.")
    assert [each.reply_to for each in stage.stands()] == ["9", "5", "6", ""]


@pytest.mark.parametrize(("final", "trigger"), [(True, Trigger.CHAT), (False, Trigger.CHAT), (True, Trigger.HEARTBEAT)])
async def test_a_send_ends_the_turn_only_when_it_is_marked_final(
    on: Callable[..., Stage], final: bool, trigger: Trigger
) -> None:
    """G8; a heartbeat ends in its own way."""
    stage = on(turn=replace(TURN, trigger=trigger))
    result = await stage("send", message="I will check.", final=final)
    ends = final and trigger is Trigger.CHAT
    assert (result.success, result.ends_turn, [each.final for each in result.sent]) == (True, ends, [ends])


@pytest.mark.parametrize(
    "token", ["HEARTBEAT_OK", "NO_REPLY", " no_reply ", '{"action":"NO_REPLY"}', "Well.\n\nNO_REPLY"]
)
async def test_a_send_that_says_that_there_is_nothing_to_say_is_none(on: Callable[..., Stage], token: str) -> None:
    """F6, T05 row 14."""
    stage = on()
    result = await stage("send", message=token, buttons=[[{"text": "More"}]], final=True)
    assert (result, stage.stands()) == (ToolResult(True, NOTHING_SENT), [])


async def test_no_text_of_a_send_shows_a_token(on: Callable[..., Stage]) -> None:
    """F6."""
    stage = on()
    await stage("send", message="It is hot. HEARTBEAT_OK", buttons=[[{"text": "NO_REPLY"}, {"text": "Cool it"}]])
    await stage("send", message="NO_REPLY", media=["boat.png"])
    await stage("edit", message="Still hot. NO_REPLY", messageId="1")
    await stage("react", emoji="HEARTBEAT_OK")
    assert [(each.text, each.buttons, len(each.media)) for each in stage.stands()] == [
        ("Still hot.", (), 0), ("", (), 1)
    ]  # fmt: skip
    assert stage.outbox.seen[0] == ("1", "It is hot.")
    assert stage.outbox.reactions == []


async def test_directives_in_a_text_are_done_and_not_shown(on: Callable[..., Stage]) -> None:
    """An agent that is used to its answers writes them here too."""
    stage = on()
    text = "<think>They want to hear it.</think>[[audio_as_voice]] [[reply_to: 5]]Hear this.\nMEDIA: boat.ogg"
    await stage("send", message=text)
    assert [(each.text, each.reply_to, each.media) for each in stage.stands()] == [
        ("Hear this.", "5", (Media(source=str(stage.workspace / "boat.ogg"), voice=True),))
    ]


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("SOUL.md", "it is a file of the prompt"),
        ("../other.png", "it cannot be read (No such file or directory)"),
        ("/etc/hostname", "it leads outside the workspace; the agent has to copy the file there first"),
    ],
)
async def test_a_file_that_may_not_leave_keeps_the_message_back(
    on: Callable[..., Stage], source: str, why: str
) -> None:
    stage = on()
    told = f"{source!r} was not sent: {why}. Nothing else was sent either."
    assert await stage("send", message="Look.", media=["boat.png", source]) == ToolResult(False, told)
    assert stage.stands() == []


LONG = f"{'a' * 60}\n\n{'b' * 60}\n\n{'c' * 60}"


async def test_a_long_text_goes_out_in_pieces_of_the_channels_size(on: Callable[..., Stage]) -> None:
    stage = on(outbox=RecordingOutbox(Abilities(keys=True, edits=True, limit=64)))
    result = await stage("reply", message=LONG, media=["boat.png"], buttons=[[{"text": "More"}]], final=True)
    again = await stage("reply", message=LONG, media=["boat.png"], buttons=[[{"text": "More"}]])
    assert [(each.text[:1], each.reply_to, len(each.media), len(each.buttons)) for each in stage.stands()] == [
        ("a", "9", 1, 0), ("b", "", 0, 0), ("c", "", 0, 1)
    ]  # fmt: skip
    picture = str(stage.workspace / "boat.png")
    sent = Sent(channel="telegram", chat="42", topic="3", text=LONG, media=(picture,), final=True)
    assert result == ToolResult(True, "Sent to telegram 42 as message 1, 2, 3.", ends_turn=True, sent=(sent,))
    assert again.text == f"{ALREADY} It is message 1, 2, 3."
    long = await stage("edit", messageId="1", message=LONG)
    assert long == ToolResult(False, "The text is too long for one message on telegram; send another one.")


async def test_of_a_long_text_that_arrived_in_part_the_rest_is_sent_by_the_next_call(on: Callable[..., Stage]) -> None:
    full = failing(None, NotSentError("the chat is full", for_good=True))
    stage = on(outbox=RecordingOutbox(Abilities(keys=True, limit=64), before=full))
    first, second = await stage("send", message=LONG), await stage("send", message=LONG)
    arrived = Sent(channel="telegram", chat="42", topic="3", text="a" * 60)
    told = "Only 1 of 3 messages arrived. It was not sent: telegram says the chat is full."
    assert first == ToolResult(False, told, sent=(arrived,))
    assert (second.success, [text[:1] for text in stage.outbox.texts()]) == (True, ["a", "b", "c"])


async def test_an_address_is_passed_on_and_never_fetched(on: Callable[..., Stage]) -> None:
    stage = on()
    await stage("send", media=["https://files.example/a.png"])
    assert [each.media for each in stage.stands()] == [(Media(source="https://files.example/a.png"),)]


REFUSED = "is not a chat that you may write to from here. Tell the owner, and do not look for another way."


@pytest.mark.parametrize(
    ("turn", "target", "told"),
    [
        (TURN, {"channel": "discord", "target": "7"}, ""),
        (TURN, {"target": "43"}, f"telegram 43 {REFUSED}"),
        (replace(TURN, owned=False), {"channel": "discord", "target": "7"}, f"discord 7 {REFUSED}"),
        (replace(TURN, chat=None), {"channel": "discord", "target": "7"}, ""),
        (replace(TURN, chat=None), {"target": "7"}, "Name the channel of '7' as well."),
        (replace(TURN, chat=None), {}, "This turn has no chat of its own: name channel and target."),
        (TURN, {"channel": "pigeon", "target": "7"}, "There is no channel 'pigeon'; there are discord, telegram."),
        (replace(TURN, owned=False), {"channel": "telegram", "target": "42"}, ""),
    ],
)
async def test_another_chat_is_written_to_only_for_the_owner_and_where_the_gateway_opens_it(
    on: Callable[..., Stage], turn: ToolTurn, target: dict[str, Json], told: str
) -> None:
    stage = on(turn=turn, open=frozenset({"discord 7"}))
    result = await stage("send", message="Hi.", **target)
    assert (result.success, "" if result.success else result.text) == (not told, told)
    assert len(stage.stands()) == (not told)


async def test_another_chat_knows_what_it_was_told_and_does_not_end_the_turn(on: Callable[..., Stage]) -> None:
    stage = on(open=frozenset({"discord 7"}))
    result = await stage("send", message="Hi.", channel="discord", target="7", final=True)
    await stage("send", message="Ho.")
    assert (result.ends_turn, result.sent[0].final, stage.mirrored) == (False, False, [("discord 7", "Hi.")])


async def test_a_call_has_two_minutes_for_a_channel_that_wants_to_be_asked_again(on: Callable[..., Stage]) -> None:
    assert on().of_turn.seconds == 120


async def test_the_same_is_sent_once_on_a_turn(on: Callable[..., Stage]) -> None:
    stage = on()
    first, second = await stage("send", message="Hi."), await stage("send", message="Hi.", final=True)
    other = await stage.tool.for_turn(replace(TURN, key="telegram:42:10")).call({"action": "send", "message": "Hi."})
    assert [first.text, second.text, other.text] == [
        "Sent to telegram 42 as message 1.", f"{ALREADY} It is message 1.", "Sent to telegram 42 as message 2."
    ]  # fmt: skip
    assert (second.ends_turn, len(stage.stands())) == (True, 2)


def failing(*errors: Exception | None) -> Callable[[str, Outgoing], None]:
    """What the channel does with each call, one after the other; then all is well."""
    left = list(errors)

    def do(call: str, outgoing: Outgoing) -> None:
        if left and (error := left.pop(0)) is not None:
            raise error

    return do


async def test_a_channel_that_did_not_take_it_is_asked_again(on: Callable[..., Stage]) -> None:
    busy = failing(NotSentError("too many requests", retry_after=3.0), NotSentError("busy"))
    stage = on(outbox=RecordingOutbox(before=busy))
    assert (await stage("send", message="Hi.")).success
    assert (stage.slept, stage.outbox.texts()) == ([3.0, 4.0], ["Hi."])


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (NotSentError("the bot was blocked.", for_good=True), "It was not sent: telegram says the bot was blocked."),
        (NotSentError("too many requests", retry_after=300.0),
         "It was not sent: telegram says too many requests; the channel wants to be asked again in 300 s."),
    ],
)  # fmt: skip
async def test_a_send_that_is_refused_is_a_failed_call_and_no_receipt(
    on: Callable[..., Stage], error: Exception, told: str
) -> None:
    stage = on(outbox=RecordingOutbox(before=failing(error)))
    assert await stage("send", message="Hi.", final=True) == ToolResult(False, told)
    assert stage.slept == []


@pytest.mark.parametrize("keys", [True, False])
async def test_what_may_have_arrived_is_sent_again_only_where_the_channel_can_tell(
    on: Callable[..., Stage], keys: bool
) -> None:
    outbox = RecordingOutbox(Abilities(keys=keys), after=failing(OSError("the line broke")))
    stage = on(outbox=outbox)
    results = [await stage("send", message="Hi."), await stage("send", message="Hi.")]
    if keys:
        assert [each.text for each in results] == [
            "Sent to telegram 42 as message 1.", f"{ALREADY} It is message 1."
        ]  # fmt: skip
    else:
        assert results == [ToolResult(False, IN_DOUBT)] * 2
    assert outbox.texts() == ["Hi."]


async def test_a_channel_that_does_not_answer_is_not_waited_for_for_ever(on: Callable[..., Stage]) -> None:
    class Silent(RecordingOutbox):
        async def send(self, outgoing: Outgoing) -> str:
            await anyio.sleep_forever()
            raise AssertionError

    outbox = Silent(Abilities())
    stage = on(outbox=outbox)
    tool = MessageTool(Messaging(outbox=outbox), plain_settings(stage.workspace), hands=Hands(outbox, deadline=0.01))
    with anyio.fail_after(5):
        result = await tool.for_turn(TURN).call({"action": "send", "message": "Hi."})
    assert result == ToolResult(False, IN_DOUBT)


async def test_reactions_are_put_under_messages_and_taken_away(on: Callable[..., Stage]) -> None:
    stage = on()
    first = await stage("react", emoji="🌿")
    await stage("react", emoji="👀", messageId="7")
    last = await stage("react", emoji="🌿", remove=True)
    assert stage.outbox.reactions == [Reaction(channel="telegram", chat="42", topic="3", message="7", emoji="👀")]
    assert [first, last] == [
        ToolResult(True, "🌿 was put under message 9 in telegram 42."),
        ToolResult(True, "🌿 was taken off message 9 in telegram 42."),
    ]


@pytest.mark.parametrize(
    ("how", "arguments", "told"),
    [
        ({"outbox": RecordingOutbox(Abilities())}, {"action": "react", "emoji": "🌿"},
         "There are no reactions on telegram; answer in words, if at all."),
        ({"channels": {"telegram": ChannelSettings(reactions="ack")}}, {"action": "react", "emoji": "🌿"},
         "Reactions are switched off on telegram."),
        ({"turn": replace(TURN, chat=replace(OWN, message=""))}, {"action": "react", "emoji": "🌿"},
         "react needs messageId: this turn answers no message there."),
        ({"turn": replace(TURN, chat=replace(OWN, message=""))}, {"action": "reply", "message": "Hi."},
         "reply needs messageId: this turn answers no message there."),
        ({"channels": {"telegram": ChannelSettings(buttons="group")}},
         {"action": "send", "message": "Yes?", "buttons": [[{"text": "Yes"}]]},
         "Buttons are not shown in telegram 42; ask in words."),
        ({}, {"action": "edit", "messageId": "1", "message": "Hi."},
         "Message '1' in telegram 42 is none that you sent with this tool."),
        ({}, {"action": "delete", "messageId": "1"},
         "Message '1' in telegram 42 is none that you sent with this tool."),
        ({"outbox": RecordingOutbox(before=failing(OSError("the line broke"), OSError("again"), OSError("again")))},
         {"action": "react", "emoji": "🌿"}, "It is not known whether it was put there."),
    ],
)  # fmt: skip
async def test_what_cannot_be_done_is_said_with_the_reason(
    on: Callable[..., Stage], how: dict[str, object], arguments: dict[str, Json], told: str
) -> None:
    stage = on(**how)
    assert await stage.of_turn.call(arguments) == ToolResult(False, told)
    assert stage.stands() == []


async def test_buttons_are_shown_where_the_configuration_shows_them_in_groups(on: Callable[..., Stage]) -> None:
    group = replace(TURN, owned=False, chat=replace(OWN, kind=ChatKind.GROUP))
    stage = on(turn=group, channels={"telegram": ChannelSettings(buttons="group")})
    assert (await stage("send", message="Yes?", buttons=[[{"text": "Yes"}]])).success


async def test_the_agent_changes_and_takes_back_what_it_sent_itself(on: Callable[..., Stage]) -> None:
    stage = on()
    await stage("send", message="One", media=["boat.png"])
    await stage("send", message="Two")
    changed = await stage("edit", messageId="1", message="One, rightly")
    gone = await stage("delete", messageId="2")
    assert [each.text for each in stage.stands()] == ["One, rightly"]
    picture = str(stage.workspace / "boat.png")
    sent = Sent(channel="telegram", chat="42", topic="3", text="One, rightly", media=(picture,))
    assert changed == ToolResult(True, "Message 1 in telegram 42 was changed.", sent=(sent,))
    assert gone == ToolResult(True, "Message 2 in telegram 42 was taken back.")
    assert not (await stage("edit", messageId="2", message="Two")).success


async def test_a_channel_that_cannot_change_or_take_back_says_so(on: Callable[..., Stage]) -> None:
    stage = on(outbox=RecordingOutbox(Abilities(keys=True)))
    await stage("send", message="One")
    assert [
        await stage("edit", messageId="1", message="Two"),
        await stage("delete", messageId="1"),
    ] == [
        ToolResult(False, "On telegram a message stays as it was sent; send another one."),
        ToolResult(False, "On telegram nothing that was sent is taken back."),
    ]


async def test_several_calls_at_once_keep_their_order(on: Callable[..., Stage]) -> None:
    class Slow(RecordingOutbox):
        async def send(self, outgoing: Outgoing) -> str:
            for _ in range(3 if outgoing.text == "One" else 0):
                await anyio.lowlevel.checkpoint()
            return await super().send(outgoing)

    stage = on(outbox=Slow())

    async def send(text: str) -> None:
        await stage("send", message=text)

    async with anyio.create_task_group() as group:
        for text in ("One", "Two", "Three"):
            group.start_soon(send, text)
    assert stage.outbox.texts() == ["One", "Two", "Three"]
