"""What a chat sees of answers: the same on every channel, in its sizes, with files, and also after a restart."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import anyio
import pytest

from harness.agent import Agent
from harness.delivery.advice import DeliverLate, Nothing, advise
from harness.delivery.courier import Carried, Courier
from harness.delivery.outbox import Abilities, Media, NotSentError, Outgoing
from harness.delivery.parcel import NOT_SENT, Parcel, is_file, packed, unpacked
from harness.gather import Gatherer
from harness.habits import Habits
from harness.inbound import Chat, ChatKind, InboundMessage, Sender
from harness.plain import plain_settings
from harness.replies.media import MediaRules
from harness.replies.mode import Delivery
from harness.store.admitted import Ending, OpenDelivery, Outbound, Sending, State
from harness.store.bindings import bindings_at
from harness.store.deliveries import Deliveries
from harness.testing.outbox import RecordingOutbox
from harness.toolbox import ToolTurn
from harness.tools import Sent, Tool
from harness.turns import Evidence, Finished, Outcome, TextDelta, TurnResult
from harness.units import TextUnit
from tests.support.delivery import Clock, HurriedClock, Played, answered, inbound
from tests.support.desk import House, PlayedHarness, house

LIMIT = 5.0
NOTHING = "No response was produced: the turn ended without an answer."
PNG = b"\x89PNG\r\n\x1a\n1234"
SMALL = Abilities(keys=True, edits=True, withdraws=True, limit=64)
LONG = "The first line is about the vents.\nThe second line is about the fan that runs.\nThe third is about rain."
LONG_PARTS = [
    "The first line is about the vents.",
    "The second line is about the fan that runs.",
    "The third is about rain.",
]


def written(channel: str, kind: ChatKind) -> InboundMessage:
    chat = Chat(kind, "77", "Greenhouse" if kind is ChatKind.GROUP else "")
    at = datetime(2031, 4, 2, 9, tzinfo=UTC)
    return InboundMessage(channel, chat, Sender("5", "Rua"), "1", "How warm is it?", at)


async def seen(here: House, message: InboundMessage, result: TurnResult) -> list[tuple[str, tuple[Media, ...]]]:
    """What stands in the chat after a turn that was streamed and ended so."""
    await here.desk.receive(message)
    turn = await here.begun(1)
    for sign in result.text:
        turn.say(sign)
    turn.finish(result)
    await here.settled()
    return [(each.text, each.media) for each in here.outbox.messages.values()]


@pytest.mark.parametrize("channel", ["telegram", "discord", "webchat"])
@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        (ChatKind.DIRECT, "NO_REPLY", []),
        (ChatKind.DIRECT, "  no_reply\n", []),
        (ChatKind.GROUP, "Not addressed to me, nobody asked.\n\nNO_REPLY", []),
        (ChatKind.DIRECT, "Put NO_REPLY on its own line to mute.", ["Put NO_REPLY on its own line to mute."]),
        (ChatKind.DIRECT, "No, that is the wrong valve.", ["No, that is the wrong valve."]),
        (ChatKind.DIRECT, "NO_REPLY\nMEDIA:heat.png", [Media(source="{workspace}/heat.png")]),
        (ChatKind.DIRECT, "HEARTBEAT_OK", []),
        (ChatKind.DIRECT, "", [NOTHING]),
        (
            ChatKind.DIRECT,
            "[[reply_to_current]] 36 C.\nMEDIA:heat.png",
            ["36 C.", Media(source="{workspace}/heat.png")],
        ),
        (ChatKind.DIRECT, "<think>It is late.</think>36 C.", ["36 C."]),
        (ChatKind.DIRECT, "36 C.\nMEDIA:/etc/hostname", ["36 C."]),
        (ChatKind.DIRECT, "MEDIA:.env", [NOT_SENT]),
    ],
)
async def test_every_channel_shows_the_same_of_an_answer(
    tmp_path: Path, channel: str, kind: ChatKind, text: str, expected: list[str | Media]
) -> None:
    """T05, T06: nor was anything else to be seen on the way."""
    async with house(tmp_path) as here:
        workspace = (tmp_path / "workspace").resolve()
        (workspace / "heat.png").write_bytes(b"png")
        (workspace / ".env").write_text("KEY=1")
        outcome = Outcome.ANSWERED if text else Outcome.EMPTY
        found = await seen(here, written(channel, kind), TurnResult(outcome, text, conversation="thread", turn="turn"))
    told = [each for each in expected if isinstance(each, str)]
    sources = [each.source.format(workspace=workspace) for each in expected if isinstance(each, Media)]
    assert found == [*((each, ()) for each in told), *(("", (Media(source=each),)) for each in sources)]
    assert all(not text or any(full.startswith(text) for full in told) for _, text in here.outbox.seen)


async def test_a_message_of_a_topic_is_answered_there(tmp_path: Path) -> None:
    async with house(tmp_path) as here:
        message = replace(written("telegram", ChatKind.DIRECT), topic="12", text='He wrote "topic":"" there.')
        await seen(here, message, TurnResult(Outcome.ANSWERED, "36 C.", conversation="thread", turn="turn"))
        assert [each.topic for each in here.outbox.messages.values()] == ["12"]


@asynccontextmanager
async def ledger(folder: Path) -> AsyncGenerator[Deliveries]:
    with anyio.fail_after(LIMIT):
        async with bindings_at(folder / "bridge.sqlite") as bindings:
            yield Deliveries(bindings.database)


async def carried(
    deliveries: Deliveries,
    outbox: RecordingOutbox,
    result: TurnResult,
    *,
    told: list[str] | None = None,
    rules: MediaRules = MediaRules(),  # noqa: B008 - frozen
    delivery: Delivery = Delivery.AUTOMATIC,
) -> Carried:
    message = inbound()
    await deliveries.admit(message, running=True)
    courier = Courier(
        deliveries, outbox, media=rules, tell=(told if told is not None else []).append, sleep=HurriedClock().sleep
    )
    return await courier.carry(Played(Finished(result)), message, delivery=delivery)


async def test_a_long_answer_goes_out_in_messages_of_the_channels_size(tmp_path: Path) -> None:
    outbox = RecordingOutbox(SMALL)
    async with ledger(tmp_path) as deliveries:
        await carried(deliveries, outbox, TurnResult(Outcome.ANSWERED, LONG))
        assert await deliveries.open() == []
    assert outbox.texts() == LONG_PARTS

    outbox = RecordingOutbox(replace(SMALL, unit=TextUnit.CODE_POINTS))
    (tmp_path / "other").mkdir()
    async with ledger(tmp_path / "other") as deliveries:
        await carried(deliveries, outbox, TurnResult(Outcome.ANSWERED, "\U0001f331" * 100))
    assert [len(each) for each in outbox.texts()] == [64, 36]


async def test_an_answer_that_grows_over_a_message_while_it_is_shown_goes_on_in_the_next_one(tmp_path: Path) -> None:
    outbox, clock, first = RecordingOutbox(SMALL), Clock(), list[str]()
    async with ledger(tmp_path) as deliveries, anyio.create_task_group() as group:
        await deliveries.open()
        message, turn = inbound(), Played(TextDelta("answer", LONG[:60]))
        await deliveries.admit(message, running=True)
        courier = Courier(deliveries, outbox, now=clock.now, sleep=clock.sleep)
        group.start_soon(courier.carry, turn, message)
        await clock.advance(2.0)
        first = outbox.texts()
        turn.say(LONG[60:])
        await clock.advance(4.0)
        turn.end(LONG)
        await clock.advance(4.0)
    assert (first, outbox.texts()) == ([LONG[:60].rstrip()], LONG_PARTS)
    assert all(len(text) <= 64 for _, text in outbox.seen)


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        (("[[reply_", "to:41]] Three ", "boats."), "41"),
        (("<think>Hm.</think>[[reply_to:41]] Three ", "boats."), "41"),
        (("Three ", "boats. [[reply_to:41]]"), "1"),
    ],
    ids=["in front", "after thoughts", "too late"],
)
async def test_an_answer_that_is_shown_while_it_is_said_stands_under_the_message_that_it_begins_with(
    tmp_path: Path, pieces: tuple[str, ...], expected: str
) -> None:
    outbox, clock, replies = RecordingOutbox(SMALL), Clock(), list[str]()
    outbox.before = lambda call, outgoing: replies.append(outgoing.reply_to) if call == "send" else None
    async with ledger(tmp_path) as deliveries, anyio.create_task_group() as group:
        message, turn = inbound(), Played()
        await deliveries.admit(message, running=True)
        courier = Courier(deliveries, outbox, now=clock.now, sleep=clock.sleep)
        group.start_soon(courier.carry, turn, message)
        for piece in pieces:
            turn.say(piece)
            await clock.advance(2.0)
        turn.end("".join(pieces))
        await clock.advance(4.0)
    assert (replies, [text.strip() for text in outbox.texts()]) == ([expected], ["Three boats."])
    assert next(text for _, text in outbox.seen) == "Three"


async def test_a_file_that_the_channel_never_takes_gets_one_honest_sentence(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"png")
    (tmp_path / "b.png").write_bytes(b"another")

    def refuse(call: str, outgoing: Outgoing) -> None:
        if any(each.source.endswith("a.png") for each in outgoing.media):
            raise NotSentError("it is too big", for_good=True)

    outbox, told = RecordingOutbox(SMALL, before=refuse), list[str]()
    result = TurnResult(Outcome.ANSWERED, "Two.\nMEDIA:a.png\nMEDIA:b.png\nMEDIA:none.png", media=("b.png",))
    async with ledger(tmp_path) as deliveries:
        ending = (
            await carried(deliveries, outbox, result, told=told, rules=MediaRules(workspace=str(tmp_path)))
        ).ending
    assert (ending, sorted(outbox.texts())) == (Ending.SENT, ["", NOT_SENT, "Two."])
    assert told[0] == "'none.png' was not sent: it cannot be read (No such file or directory)."
    assert len(told) == 2


async def test_a_picture_of_the_turn_goes_out_once_whoever_else_names_it_or_a_copy_of_it(tmp_path: Path) -> None:
    made, desk = tmp_path / "home/made", tmp_path / "desk"
    made.mkdir(parents=True)
    desk.mkdir()
    for name, rest in (("boat.png", b"boat"), ("moth.png", b"moth"), ("heat.png", b"heat")):
        (made / name).write_bytes(PNG + rest)
        (desk / name).write_bytes(PNG + rest)
    sent = Evidence(sent=(Sent(channel="telegram", chat="7", media=("moth.png",)),))
    media = tuple(str(made / name) for name in ("boat.png", "moth.png", "heat.png"))
    result = TurnResult(Outcome.ANSWERED, "Two.\nMEDIA:boat.png", media=media, evidence=sent)
    outbox, told = RecordingOutbox(SMALL), list[str]()
    rules = MediaRules(workspace=str(desk), made=(str(made),), private=(str(tmp_path / "home"),))
    async with ledger(tmp_path) as deliveries:
        await carried(deliveries, outbox, result, told=told, rules=rules)
    sources = [each.source for message in outbox.messages.values() for each in message.media]
    assert (sources, told) == ([str((made / name).resolve()) for name in ("boat.png", "heat.png")], [])


async def test_what_a_tool_put_into_the_chat_is_settled_as_sent(tmp_path: Path) -> None:
    """G2."""
    sent = Evidence(sent=(Sent(channel="telegram", chat="7", text="The vents are stuck."),))
    outbox, told = RecordingOutbox(SMALL), list[str]()
    async with ledger(tmp_path) as deliveries:
        same = TurnResult(Outcome.ANSWERED, "The vents are stuck.", evidence=sent)
        assert (await carried(deliveries, outbox, same, told=told)).ending is Ending.SENT
    assert (outbox.texts(), told) == ([], [])


async def test_where_the_message_tool_alone_speaks_the_operator_hears_of_an_answer_that_was_kept_back(
    tmp_path: Path,
) -> None:
    """G1."""
    outbox, told = RecordingOutbox(SMALL), list[str]()
    async with ledger(tmp_path) as deliveries:
        result = TurnResult(Outcome.ANSWERED, "The vents are stuck.")
        found = await carried(deliveries, outbox, result, told=told, delivery=Delivery.TOOL_ONLY)
    assert (found.ending, outbox.seen) == (Ending.SILENT, [])
    assert told == [
        "An answer was not sent: in this chat the message tool alone speaks, and the turn did not use it. (telegram 7)"
    ]


async def test_files_and_directives_survive_a_restart(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"png")
    calls = list[Outgoing]()

    def refuse(call: str, outgoing: Outgoing) -> None:
        calls.append(outgoing)
        raise NotSentError("later")

    result = TurnResult(Outcome.ANSWERED, "[[reply_to:41]] Here.\nMEDIA:a.png")
    rules = MediaRules(workspace=str(tmp_path))
    async with ledger(tmp_path) as before:
        assert (await carried(before, RecordingOutbox(SMALL, before=refuse), result, rules=rules)).ending is None
    outbox = RecordingOutbox(SMALL)
    async with ledger(tmp_path) as now:
        (left,) = await now.open()
        advice = advise(left, None, now=1000.0)
        assert isinstance(advice, DeliverLate)
        await Courier(now, outbox).late(left.inbound[0], advice.texts)
        assert await now.open() == []
    assert [(each.text, each.reply_to, each.media) for each in outbox.messages.values()] == [
        ("Here.", "41", ()),
        ("", "1", (Media(source=str((tmp_path / "a.png").resolve())),)),
    ]
    assert calls[0].reply_to == "41"


async def test_what_an_earlier_process_left_running_is_cut_into_the_places_of_what_it_showed(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"png")
    shown = (Outbound("telegram:7:1", 0, "", Sending.SENT, "m1"), Outbound("telegram:7:1", 1, "", Sending.SENT, "m2"))
    delivery = OpenDelivery(state=State.RUNNING, lead="telegram:7:1", inbound=(inbound(),), ours=False, outbound=shown)
    found = TurnResult(Outcome.ANSWERED, f"{LONG[:60]}\nMEDIA:a.png", conversation="thread", turn="turn")
    async with ledger(tmp_path) as deliveries:
        courier = Courier(deliveries, RecordingOutbox(SMALL), media=MediaRules(workspace=str(tmp_path)))
        advice = advise(delivery, found, now=1000.0, plan=courier.plan)
    assert isinstance(advice, DeliverLate)
    assert [(each.place, unpacked(each.text).text, each.sent_as) for each in advice.texts] == [
        (0, LONG[:60], "m1"),
        (2, "", ""),
    ]


async def test_a_start_too_keeps_back_what_the_message_tool_alone_may_say(tmp_path: Path) -> None:
    """G1, after a restart."""
    delivery = OpenDelivery(state=State.RUNNING, lead="telegram:7:1", inbound=(inbound(),), ours=False)
    found, told = TurnResult(Outcome.ANSWERED, "The vents are stuck."), list[str]()
    async with ledger(tmp_path) as deliveries:
        courier = Courier(deliveries, RecordingOutbox(SMALL), tell=told.append)
        plan = partial(courier.plan, delivery=Delivery.TOOL_ONLY)
        advice = advise(delivery, found, now=1000.0, plan=plan)
    assert advice == Nothing("the agent chose to say nothing", Ending.SILENT)


@pytest.mark.parametrize(
    "parcel",
    [
        Parcel(text="Plain."),
        Parcel(text="\x1eodd"),
        Parcel(text="Yes.", reply_to="4"),
        Parcel(media=Media(source="/w/a.png")),
        Parcel(media=Media(source="/w/a.ogg", voice=True), text="\u0301"),
    ],
)
def test_a_message_is_kept_as_one_text(parcel: Parcel) -> None:
    assert unpacked(packed(parcel)) == parcel
    assert is_file(packed(parcel)) == (parcel.media is not None)


@pytest.mark.parametrize("kept", ["\x1e{", "\x1e[1]", "\x1e3", "\x1e" + "[" * 100_000])
def test_what_no_version_of_ours_wrote_is_a_text(kept: str) -> None:
    assert unpacked(kept) == Parcel(text=kept[1:])


async def test_answered_turns_are_told_as_before(tmp_path: Path) -> None:
    outbox = RecordingOutbox(Abilities())
    async with ledger(tmp_path) as deliveries:
        message = inbound()
        await deliveries.admit(message, running=True)
        await Courier(deliveries, outbox, sleep=HurriedClock().sleep).carry(answered("Yes."), message)
    assert [(each.text, each.reply_to) for each in outbox.messages.values()] == [("Yes.", "1")]


class Named:
    """A toolbox of which only the names are asked."""

    def __init__(self, *names: str) -> None:
        self.names = frozenset(names)

    def for_turn(self, turn: ToolTurn) -> tuple[Tool, ...]:
        raise NotImplementedError


@pytest.mark.parametrize(
    ("toolbox", "kind", "expected"),
    [
        (Named("Message"), ChatKind.DIRECT, Delivery.TOOL_ONLY),
        (Named("message"), ChatKind.GROUP, Delivery.AUTOMATIC),
        (Named("memory_get"), ChatKind.DIRECT, Delivery.AUTOMATIC),
        (None, ChatKind.DIRECT, Delivery.AUTOMATIC),
    ],
)
def test_an_agent_knows_how_the_answer_to_a_message_reaches_its_chat(
    tmp_path: Path, toolbox: Named | None, kind: ChatKind, expected: Delivery
) -> None:
    """G1: also where the tool is not to be had."""
    settings = plain_settings(tmp_path)
    settings = replace(settings, replies=replace(settings.replies, visible="message_tool", group_visible="automatic"))
    agent = Agent(PlayedHarness(), Gatherer(settings, Habits()), toolbox=toolbox)
    assert agent.delivery(written("telegram", kind)) is expected
