"""An ask has one answer: of an owner, in its chat, in time, or no."""

import logging
import sqlite3
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Never

import anyio
import anyio.abc
import anyio.lowlevel
import pytest

from harness.agent import Agent
from harness.approvals.approvals import GOES_DOWN, HOW_TO_ENABLE, NO_CHAT, NOBODY, NOT_HERE, TOO_MANY
from harness.approvals.hearing import (
    LOST,
    NO_LEAVE,
    NO_QUESTION,
    NOT_ALWAYS,
    NOT_OWNER,
    ONLY_DECLINED,
    STORE_FAILS,
)
from harness.approvals.open_asks import MOST_OPEN
from harness.approvals.policy import NEVER_ASKED
from harness.approvals.said import EDITED, UNKNOWN, USAGE
from harness.asks import (
    Answer,
    ApprovalAsked,
    ApprovalKind,
    Ask,
    Asker,
    Choice,
    Question,
    QuestionAsked,
    Verdict,
)
from harness.delivery.outbox import Abilities, NotSentError, Outgoing
from harness.desk.desk import Receipt
from harness.errors import THE_LOG, StoreError
from harness.gather import Gatherer
from harness.habits import Habits
from harness.inbound import InboundMessage, Quoted, Relation
from harness.plain import plain_settings
from harness.settings.approvals import ApprovalSettings, Asking
from harness.store.database import Database
from harness.testing.outbox import RecordingOutbox
from tests.support.desk import LIMIT, House, PlayedHarness, house, message, until

OWNERS = ApprovalSettings(owners=("7",))
COMMAND = ApprovalAsked("1", "i9", ApprovalKind.COMMAND, "rm -r build", "to begin anew", "/w", script="rm -r build")
COLOUR = QuestionAsked("1", "i9", (Question("q1", "Which colour?", "", (Choice("red"), Choice("blue")), False),))
KEY = "agent:main:telegram:direct:7"


def ask(
    what: ApprovalAsked | QuestionAsked = COMMAND, identity: str = "turn 1 item 9", *, outlives: bool = False
) -> Ask:
    return Ask(
        identity=identity,
        session_key=KEY,
        message_key="telegram:7:1",
        thread="thread",
        what=what,
        outlives=outlives,
    )


@dataclass
class Randomness:
    """The same handles on each run, and no two alike."""

    seed: str = "first"
    count: int = 0

    def __call__(self, size: int) -> bytes:
        self.count += 1
        return sha256(f"{self.seed}{self.count}".encode()).digest()[:size]


@dataclass
class Wall:
    """What Unix time is."""

    at: float = 1_000_000.0

    def __call__(self) -> float:
        return self.at


@dataclass
class Asked:
    """An ask whose answer somebody waits for."""

    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    answer: Answer | None = None
    over: bool = False

    async def run(self, asker: Asker, what: Ask) -> None:
        with self.scope:
            self.answer = await asker.ask(what)
        self.over = True

    async def get(self) -> Answer:
        await until(lambda: self.over)
        assert self.answer is not None
        return self.answer


@dataclass
class Room:
    """A desk that asks."""

    house: House
    group: anyio.abc.TaskGroup
    number: int = 100

    async def asker(self, said: InboundMessage | None = None) -> Asker:
        """What the turn that answers a message asks with."""
        before = len(self.house.turns)
        await self.house.desk.receive(said or message(1, "clear up"))
        asker = (await self.house.begun(before + 1)).request.asker
        assert asker is not None
        return asker

    def ask(self, asker: Asker, what: Ask | None = None) -> Asked:
        asked = Asked()
        self.group.start_soon(asked.run, asker, what or ask())
        return asked

    async def card(self, number: int = 1) -> Outgoing:
        """The card that was sent as this message."""
        await until(lambda: len(self.house.outbox.messages) >= number)
        return list(self.house.outbox.messages.values())[number - 1]

    async def say(self, words: str, **changes: Any) -> Receipt:
        self.number += 1
        return await self.house.desk.receive(replace(message(self.number), **({"text": words} | changes)))

    async def press(self, data: str) -> Receipt:
        return await self.say("", pressed=data)

    async def rest(self) -> None:
        with anyio.fail_after(LIMIT):
            await anyio.wait_all_tasks_blocked()

    @property
    def texts(self) -> list[str]:
        return self.house.outbox.texts()


@asynccontextmanager
async def room(
    folder: Path,
    settings: ApprovalSettings = OWNERS,
    *,
    outbox: RecordingOutbox | None = None,
    now: Callable[[], float] = Wall(),  # noqa: B008 - never moved
    seed: str = "first",
) -> AsyncGenerator[Room]:
    async with (
        house(folder, asks=settings, outbox=outbox, random_bytes=Randomness(seed), now=now) as at,
        anyio.create_task_group() as group,
    ):
        yield Room(at, group)
        group.cancel_scope.cancel()


def data(card: Outgoing) -> dict[str, str]:
    return {each.label: each.data for row in card.buttons for each in row}


def handle(card: Outgoing) -> str:
    return data(card)["Decline"].split(":")[1]


SHOWN = (
    "May I run this command?\n```\nrm -r build\n```\nFolder: `/w`\n"
    "Why, in the agent's own words, which nobody checked: `to begin anew`\n"
)


# an answer


async def test_a_command_is_asked_for_with_all_it_takes_and_runs_when_an_owner_allows_it(tmp_path: Path) -> None:
    async with room(tmp_path) as at:
        asked = at.ask(await at.asker())
        card = await at.card()
        name = handle(card)
        assert card == Outgoing(
            key=card.key,
            channel="telegram",
            chat="7",
            text=f"{SHOWN}Within 10 minutes: a button, or /approve {name}, /approve {name} always, or /deny {name}.",
            reply_to="1",
            buttons=card.buttons,
        )
        assert name not in card.key
        assert data(card) == {
            "Allow once": f"ask:{name}:once",
            "Allow from now on": f"ask:{name}:always",
            "Decline": f"ask:{name}:no",
        }
        assert await at.press(f"ask:{name}:once") is Receipt.OBEYED
        assert await asked.get() == Answer(Verdict.ALLOW)
        await at.rest()
        assert at.texts == [f"{SHOWN}Allowed once by `Orrin`."]
        assert [each.buttons for each in at.house.outbox.messages.values()] == [()]
        assert len(at.house.turns) == 1


@pytest.mark.parametrize(
    ("words", "verdict", "told"),
    [
        ("/approve {}", Verdict.ALLOW, "Allowed once"),
        ("/Approve@the_bot {} once", Verdict.ALLOW, "Allowed once"),
        ("/approve {} always", Verdict.ALLOW_ALWAYS, "Allowed for this conversation"),
        ("/deny {}", Verdict.DECLINE, "Declined"),
        ("  /deny {} stop\n", Verdict.CANCEL, "Declined and stopped"),
    ],
)
async def test_a_command_of_an_owner_answers_while_the_turn_runs(
    tmp_path: Path, words: str, verdict: Verdict, told: str
) -> None:
    async with room(tmp_path) as at:
        asked = at.ask(await at.asker())
        assert await at.say(words.format(handle(await at.card()))) is Receipt.OBEYED
        assert await asked.get() == Answer(verdict)
        await at.rest()
        assert at.texts == [f"{SHOWN}{told} by `Orrin`."]
        assert at.house.turns[0].steered == []


async def test_of_two_presses_one_counts_and_the_other_is_told(tmp_path: Path) -> None:
    async with room(tmp_path) as at:
        asked = at.ask(await at.asker())
        name = handle(await at.card())
        async with anyio.create_task_group() as group:
            group.start_soon(at.press, f"ask:{name}:no")
            group.start_soon(at.press, f"ask:{name}:once")
        assert await asked.get() == Answer(Verdict.DECLINE)
        await until(lambda: len(at.texts) == 2)
        await at.press(f"ask:{name}:always")
        await until(lambda: len(at.texts) == 3)
        over = "This is over already. Declined by `Orrin`."
        assert at.texts == [f"{SHOWN}Declined by `Orrin`.", over, over]


async def test_where_a_card_cannot_be_changed_the_answer_is_confirmed(tmp_path: Path) -> None:
    async with room(tmp_path, outbox=RecordingOutbox(Abilities(keys=True))) as at:
        asked = at.ask(await at.asker())
        card = await at.card()
        await at.press(data(card)["Decline"])
        assert await asked.get() == Answer(Verdict.DECLINE)
        await until(lambda: len(at.texts) == 2)
        assert at.texts == [card.text, "Declined by `Orrin`."]


async def test_an_open_ask_holds_up_no_other_chat_and_no_second_ask(tmp_path: Path) -> None:
    settings = replace(OWNERS, owners=("7", "8"))
    async with room(tmp_path, settings) as at:
        asker = await at.asker()
        asked = [at.ask(asker), at.ask(asker, ask(identity="another"))]
        await at.card(2)
        await at.house.desk.receive(message(5, "hello", chat="8", sender="8"))
        (await at.house.begun(2)).end("hello yourself")
        await until(lambda: "hello yourself" in at.texts)
        first, second = [handle(await at.card(number)) for number in (1, 2)]
        await at.press(f"ask:{second}:no")
        await at.press(f"ask:{first}:once")
        assert [(await each.get()).verdict for each in asked] == [Verdict.ALLOW, Verdict.DECLINE]


# who may not answer


async def test_nobody_but_an_owner_answers_and_who_tries_is_told_once_and_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with room(tmp_path) as at:
        asked = at.ask(await at.asker(message(1, "clear up", chat="40", group=True)))
        card = await at.card()
        for number in range(2):
            other = message(20 + number, "", chat="40", sender="9", group=True)
            await at.house.desk.receive(replace(other, text="", pressed=data(card)["Allow once"]))
        other = message(30, f"/approve {handle(card)}", chat="40", sender="9", group=True)
        assert await at.house.desk.receive(other) is Receipt.OBEYED
        await until(lambda: len(at.texts) == 2)
        await at.rest()
        assert at.texts == [card.text, NOT_OWNER]
        assert [each.getMessage() for each in caplog.records if each.levelno == logging.WARNING] == [
            "in telegram 40, 9 tried to answer what only an owner may"
        ] * 3
        owner = replace(message(31, "", chat="40", group=True), pressed=data(card)["Allow once"])
        await at.house.desk.receive(owner)
        assert await asked.get() == Answer(Verdict.ALLOW)
        assert len(at.house.turns) == 1


@pytest.mark.parametrize(
    ("changes", "receipt", "told"),
    [
        ({"text": "", "quoted": "PASSED_ON"}, Receipt.TAKEN_IN, []),
        ({"text": "what is this?", "quoted": "ANSWERED"}, Receipt.TAKEN_IN, []),
        ({"edited": True}, Receipt.OBEYED, [EDITED]),
        ({"text": "please say /approve {}"}, Receipt.TAKEN_IN, []),
        ({"text": "/approved {}"}, Receipt.TAKEN_IN, []),
        ({"text": "/approve {} and more"}, Receipt.OBEYED, [USAGE]),
        ({"text": "/approve"}, Receipt.OBEYED, [USAGE]),
        ({"text": "/answer {} yes"}, Receipt.OBEYED, [NO_QUESTION]),
    ],
)
async def test_words_that_are_no_command_of_their_sender_answer_nothing(
    tmp_path: Path, changes: dict[str, object], receipt: Receipt, told: list[str]
) -> None:
    async with room(tmp_path) as at:
        asked = at.ask(await at.asker())
        card = await at.card()
        command = f"/approve {handle(card)}"
        fields = dict(changes)
        text = str(fields.pop("text", "/approve {}")).format(handle(card))
        if quoted := fields.pop("quoted", None):
            fields["quoted"] = (Quoted(Relation[str(quoted)], command, "Mallow"),)
        assert await at.say(text, **fields) is receipt
        await at.rest()
        assert at.texts == [card.text, *told]
        assert asked.answer is None


async def test_a_handle_is_of_no_use_in_another_chat(tmp_path: Path) -> None:
    async with room(tmp_path) as at:
        asked = at.ask(await at.asker())
        name = handle(await at.card())
        await at.house.desk.receive(message(1, f"/approve {name}", chat="8"))
        await at.say(f"/approve {name}", topic="3")
        await until(lambda: len(at.texts) == 3)
        assert at.texts[1:] == [UNKNOWN, UNKNOWN]
        assert asked.answer is None


async def test_what_the_agent_says_answers_nothing(tmp_path: Path) -> None:
    async with room(tmp_path) as at:
        asked = at.ask(await at.asker())
        name = handle(await at.card())
        at.house.turns[0].say(f"/approve {name}")
        at.house.turns[0].end(f"/approve {name}")
        await until(lambda: len(at.texts) == 2)
        assert asked.answer is None


async def test_where_nobody_may_answer_the_chat_hears_once_how_to_change_it(tmp_path: Path) -> None:
    async with room(tmp_path, ApprovalSettings(owners=("discord:7",))) as at:
        asker = await at.asker()
        asked = [at.ask(asker, ask(identity=str(number))) for number in range(3)]
        assert [await each.get() for each in asked] == [Answer(Verdict.DECLINE, why=NOBODY)] * 3
        await at.rest()
        assert at.texts == [HOW_TO_ENABLE.format(who='"telegram:7"')]


async def test_a_chat_without_an_owner_is_not_asked(tmp_path: Path) -> None:
    async with room(tmp_path) as at:
        asker = await at.asker(message(1, "clear up", chat="8", sender="8"))
        assert await at.ask(asker).get() == Answer(Verdict.DECLINE, why=NOT_HERE)
        assert at.texts == []


# rules


async def test_a_rule_allows_what_it_matches_and_nobody_is_asked(tmp_path: Path) -> None:
    settings = replace(OWNERS, allowed=(("rm", "-r"),), owners=())
    async with room(tmp_path, settings) as at:
        answer = await at.ask(await at.asker()).get()
        assert (answer.verdict, answer.why) == (Verdict.ALLOW, "A rule of tools.exec.allow allows it.")
        assert at.texts == []


async def test_who_is_never_to_be_asked_is_not_and_still_answers_questions(tmp_path: Path) -> None:
    async with room(tmp_path, replace(OWNERS, asking=Asking.NEVER)) as at:
        asker = await at.asker()
        assert await at.ask(asker).get() == Answer(Verdict.DECLINE, why=NEVER_ASKED)
        at.ask(asker, ask(COLOUR))
        assert "Which colour?" in (await at.card()).text


# what cannot be shown, or not in time


async def test_what_is_not_shown_whole_can_only_be_declined(tmp_path: Path) -> None:
    async with room(tmp_path) as at:
        asked = at.ask(await at.asker(), ask(replace(COMMAND, text="echo " + "x" * 5_000)))
        card = await at.card()
        assert "\n2009 characters not shown.\nWhat is not shown whole can only be declined.\n" in card.text
        assert list(data(card)) == ["Decline"]
        for words in ("approve {}", "approve {} always"):
            await at.say(f"/{words.format(handle(card))}")
        await at.press(f"ask:{handle(card)}:once")
        await until(lambda: len(at.texts) == 4)
        assert at.texts[1:] == [ONLY_DECLINED] * 3
        await at.say(f"/deny {handle(card)}")
        assert await asked.get() == Answer(Verdict.DECLINE)


async def test_what_is_allowed_once_only_is_not_allowed_from_now_on(tmp_path: Path) -> None:
    async with room(tmp_path) as at:
        at.ask(await at.asker(), ask(replace(COMMAND, always=False)))
        card = await at.card()
        assert list(data(card)) == ["Allow once", "Decline"]
        assert "always" not in card.text
        await at.say(f"/approve {handle(card)} always")
        await until(lambda: len(at.texts) == 2)
        assert at.texts[1] == NOT_ALWAYS


async def test_nobody_answers_and_it_is_declined_and_a_late_answer_is_told(tmp_path: Path) -> None:
    async with room(tmp_path) as at:
        asked = at.ask(await at.asker())
        card = await at.card()
        at.house.clock.advance(599)
        await at.rest()
        assert asked.answer is None
        at.house.clock.advance(1)
        why = "Nobody answered within 10 minutes, so it was declined."
        assert await asked.get() == Answer(Verdict.DECLINE, why=why)
        await at.press(f"ask:{handle(card)}:once")
        await until(lambda: len(at.texts) == 2)
        assert at.texts == [SHOWN + why, f"This has expired. {why}"]


async def test_an_ask_that_nobody_needs_any_more_is_withdrawn_once(tmp_path: Path) -> None:
    async with room(tmp_path) as at:
        asker = await at.asker()
        asked = at.ask(asker)
        await at.card()
        for _ in range(2):
            await asker.withdraw(ask().identity, "the turn was stopped.")
        await asker.withdraw("never asked", "the turn was stopped.")
        assert await asked.get() == Answer(Verdict.DECLINE, why="the turn was stopped.")
        await at.rest()
        assert at.texts == [f"{SHOWN}No longer needed: the turn was stopped."]


async def test_a_card_is_no_longer_than_its_channel_takes(tmp_path: Path) -> None:
    outbox = RecordingOutbox(Abilities(keys=True, edits=True, limit=2_000))
    async with room(tmp_path, outbox=outbox) as at:
        at.ask(await at.asker(), ask(replace(COMMAND, text="x" * 2_500)))
        card = await at.card()
        assert 1_000 < len(card.text) <= 2_000
        assert list(data(card)) == ["Decline"]


async def test_a_card_that_its_channel_does_not_take_is_a_no(tmp_path: Path) -> None:
    def full(call: str, outgoing: Outgoing) -> Never:
        raise NotSentError("the channel is full")

    async with room(tmp_path, outbox=RecordingOutbox(before=full)) as at:
        answer = await at.ask(await at.asker()).get()
        assert answer == Answer(
            Verdict.DECLINE, why="The request could not be shown in its chat, so the answer was no."
        )


async def test_a_card_that_may_have_been_sent_is_not_sent_twice(tmp_path: Path) -> None:
    def lost(call: str, outgoing: Outgoing) -> None:
        if call == "send":
            raise TimeoutError

    async with room(tmp_path, outbox=RecordingOutbox(Abilities(edits=True), after=lost)) as at:
        asked = at.ask(await at.asker())
        await at.press(data(await at.card())["Allow once"])
        assert await asked.get() == Answer(Verdict.ALLOW)
        await at.rest()
        assert len(at.texts) == 1


# questions


async def test_a_question_is_answered_by_a_button(tmp_path: Path) -> None:
    async with room(tmp_path) as at:
        asked = at.ask(await at.asker(), ask(COLOUR))
        card = await at.card()
        name = handle(card)
        assert data(card) == {"red": f"ask:{name}:1", "blue": f"ask:{name}:2", "Decline": f"ask:{name}:no"}
        await at.press(f"ask:{name}:2")
        assert await asked.get() == Answer(Verdict.ALLOW, {"q1": ("blue",)})
        await at.rest()
        assert at.texts == ["I have a question:\n`Which colour?`\n   1) `red`\n   2) `blue`\nAnswered by `Orrin`."]


async def test_only_an_owners_answer_to_the_card_is_one_and_what_merely_follows_is_the_agents(tmp_path: Path) -> None:
    async with room(tmp_path) as at:
        asked = at.ask(await at.asker(), ask(COLOUR))
        card = await at.card()
        sent_as = next(iter(at.house.outbox.messages))
        assert await at.say("blue") is Receipt.TAKEN_IN
        assert await at.say("blue", reply_to="another") is Receipt.TAKEN_IN
        assert await at.say("blue", reply_to=sent_as, edited=True) is Receipt.TAKEN_IN
        assert await at.say("green", reply_to=sent_as) is Receipt.OBEYED
        await until(lambda: len(at.texts) == 2)
        assert at.texts == [card.text, "Please give a number from 1 to 2."]
        assert await at.say("BLUE", reply_to=sent_as) is Receipt.OBEYED
        assert await asked.get() == Answer(Verdict.ALLOW, {"q1": ("blue",)})
        assert await at.say("red", reply_to=sent_as) is Receipt.TAKEN_IN


async def test_a_question_takes_no_leave_and_can_be_declined(tmp_path: Path) -> None:
    async with room(tmp_path) as at:
        asked = at.ask(await at.asker(), ask(COLOUR))
        name = handle(await at.card())
        await at.say(f"/approve {name}")
        await until(lambda: len(at.texts) == 2)
        assert at.texts[1] == NO_LEAVE
        await at.say(f"/deny {name}")
        assert await asked.get() == Answer(Verdict.DECLINE)


async def test_the_answer_to_a_secret_question_is_in_no_log_no_card_and_no_store(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    secret = QuestionAsked("1", "i9", (Question("q1", "The key?", secret=True),))
    async with room(tmp_path) as at:
        asked = at.ask(await at.asker(), ask(secret, outlives=True))
        card = await at.card()
        assert "The answer is secret, and would stand in this chat: delete your message afterwards." in card.text
        await at.say(f"/answer {handle(card)} hunter-two")
        assert await asked.get() == Answer(Verdict.ALLOW, {"q1": ("hunter-two",)})
        await at.rest()
        assert not any("hunter-two" in each for each in [*at.texts, *(repr(each) for each in caplog.records)])
    assert b"hunter-two" not in b"".join(each.read_bytes() for each in tmp_path.glob("store.sqlite*"))


# over restarts


async def test_what_a_backend_asked_that_is_gone_is_lost_with_the_restart_and_that_is_told_once(
    tmp_path: Path,
) -> None:
    outbox = RecordingOutbox()
    async with room(tmp_path, outbox=outbox) as at:
        asked = at.ask(await at.asker())
        name = handle(await at.card())
        await at.rest()
    assert asked.answer is None
    async with room(tmp_path, outbox=outbox, seed="second") as at:
        await until(lambda: at.texts[0] == f"{SHOWN}Expired with the restart.")
        for _ in range(2):
            await at.press(f"ask:{name}:once")
        await at.say(f"/approve {name}")
        await until(lambda: len(at.texts) > 1)
        await at.rest()
        assert at.texts[1:] == [LOST]
        again = at.ask(await at.asker(message(3)), ask())
        await at.rest()
        assert again.answer is None  # nothing was carried over


async def test_what_a_backend_asked_that_outlived_us_goes_on_with_its_card_and_handle(tmp_path: Path) -> None:
    outbox = RecordingOutbox()
    async with room(tmp_path, outbox=outbox) as at:
        at.ask(await at.asker(), ask(outlives=True))
        name = handle(await at.card())
        await at.rest()
    async with room(tmp_path, outbox=outbox, seed="second") as at:
        asked = at.ask(at.house.approvals, ask(outlives=True))
        await at.rest()
        assert len(at.texts) == 1
        await at.press(f"ask:{name}:once")
        assert await asked.get() == Answer(Verdict.ALLOW)
        await at.rest()
        assert at.texts == [f"{SHOWN}Allowed once by `Orrin`."]


async def test_an_answer_before_it_is_asked_again_waits_for_that_over_a_further_restart(tmp_path: Path) -> None:
    outbox = RecordingOutbox()
    async with room(tmp_path, outbox=outbox) as at:
        at.ask(await at.asker(), ask(outlives=True))
        name = handle(await at.card())
        await at.rest()
    async with room(tmp_path, outbox=outbox, seed="second") as at:
        await at.press(f"ask:{name}:always")
        await at.rest()
    async with room(tmp_path, outbox=outbox, seed="third") as at:
        assert await at.ask(at.house.approvals, ask(outlives=True)).get() == Answer(Verdict.ALLOW_ALWAYS)
        await at.press(f"ask:{name}:no")
        await until(lambda: len(at.texts) == 2)
        assert at.texts == [
            f"{SHOWN}Allowed for this conversation by `Orrin`.",
            "This is over already. Allowed for this conversation by `Orrin`.",
        ]
        await at.house.approvals.withdraw(ask().identity, "it ran.")
    async with room(tmp_path, outbox=outbox, seed="fourth") as at:  # the grant was used up
        at.ask(at.house.approvals, ask(outlives=True))
        await at.card(3)
        assert len(at.texts) == 3


async def test_changes_of_files_that_were_shown_are_allowed_over_a_restart_after_which_nobody_knows_them(
    tmp_path: Path,
) -> None:
    outbox, changes = RecordingOutbox(), ApprovalAsked("1", "i9", ApprovalKind.FILES, "add /w/a.txt\n    hello")
    async with room(tmp_path, outbox=outbox) as at:
        at.ask(await at.asker(), ask(changes, outlives=True))
        name = handle(await at.card())
        await at.rest()
    async with room(tmp_path, outbox=outbox, seed="second") as at:
        asked = at.ask(at.house.approvals, ask(replace(changes, text=""), outlives=True))
        await at.press(f"ask:{name}:once")
        assert await asked.get() == Answer(Verdict.ALLOW)
    async with room(tmp_path, seed="third") as at:  # and of what nobody was shown
        at.ask(await at.asker(message(2)), ask(replace(changes, text=""), "turn 1 item 10"))
        assert list(data(await at.card())) == ["Decline"]


async def test_no_tool_server_floods_a_chat_with_requests(tmp_path: Path) -> None:
    async with room(tmp_path) as at:
        asker = await at.asker()
        for number in range(MOST_OPEN):
            at.ask(asker, ask(identity=f"turn 1 item {number}"))
        await at.card(MOST_OPEN)
        assert await at.ask(asker, ask(identity="one more")).get() == Answer(Verdict.DECLINE, why=TOO_MANY)
        await at.press(data(await at.card())["Decline"])
        await at.rest()
        at.ask(asker, ask(identity="another one"))
        await at.card(MOST_OPEN + 1)


async def test_a_grant_is_of_no_use_for_anything_else(tmp_path: Path) -> None:
    outbox = RecordingOutbox()
    async with room(tmp_path, outbox=outbox) as at:
        at.ask(await at.asker(), ask(outlives=True))
        await at.press(data(await at.card())["Allow once"])
        await at.rest()
    async with room(tmp_path, outbox=outbox, seed="second") as at:
        other = ask(replace(COMMAND, text="rm -r /", script="rm -r /"), outlives=True)
        asked = at.ask(await at.asker(message(2)), other)
        assert "rm -r /\n" in (await at.card(2)).text
        assert asked.answer is None


async def test_what_expires_while_the_gateway_is_down_is_declined(tmp_path: Path) -> None:
    outbox, wall = RecordingOutbox(), Wall()
    async with room(tmp_path, outbox=outbox, now=wall) as at:
        at.ask(await at.asker(), ask(outlives=True))
        await at.card()
        await at.rest()
    wall.at += 601
    async with room(tmp_path, outbox=outbox, now=wall, seed="second") as at:
        at.house.clock.advance(0)
        why = "Nobody answered, so it was declined."
        assert await at.ask(at.house.approvals, ask(outlives=True)).get() == Answer(Verdict.DECLINE, why=why)
        await at.rest()
        assert at.texts == [SHOWN + why]


async def test_a_clock_that_is_put_back_over_a_restart_keeps_no_ask_open(tmp_path: Path) -> None:
    outbox, wall = RecordingOutbox(), Wall()
    async with room(tmp_path, outbox=outbox, now=wall) as at:
        at.ask(await at.asker(), ask(outlives=True))
        await at.card()
        await at.rest()
    wall.at -= 1_000_000
    async with room(tmp_path, outbox=outbox, now=wall, seed="second") as at:
        at.house.clock.advance(601)
        why = "Nobody answered within 10 minutes, so it was declined."
        assert await at.ask(at.house.approvals, ask(outlives=True)).get() == Answer(Verdict.DECLINE, why=why)


async def test_what_was_never_asked_in_a_chat_is_declined_outside_of_one(tmp_path: Path) -> None:
    async with room(tmp_path) as at:
        assert await at.ask(at.house.approvals).get() == Answer(Verdict.DECLINE, why=NO_CHAT)


async def test_whoever_stops_waiting_leaves_the_ask_open_for_whoever_asks_again(tmp_path: Path) -> None:
    async with room(tmp_path) as at:
        asker = await at.asker()
        first = at.ask(asker, ask(outlives=True))
        card = await at.card()
        first.scope.cancel()
        await until(lambda: first.over)
        await at.press(data(card)["Allow once"])
        await at.rest()
        assert await at.ask(asker, ask(outlives=True)).get() == Answer(Verdict.ALLOW)
        assert len(at.texts) == 1


async def test_a_card_that_was_not_sent_before_the_restart_is_sent_when_it_is_asked_again(tmp_path: Path) -> None:
    class Away(RecordingOutbox):
        async def send(self, outgoing: Outgoing) -> str:
            await anyio.sleep_forever()
            raise AssertionError

    async with room(tmp_path, outbox=Away()) as at:
        async with anyio.create_task_group() as group:
            group.start_soon((await at.asker()).ask, ask(outlives=True))
            await anyio.lowlevel.checkpoint()
            group.cancel_scope.cancel()
        (parked,) = rows(tmp_path, "SELECT state, sent_as FROM asked")
    assert parked == ("open", "")
    async with room(tmp_path, seed="second") as at:
        asked = at.ask(at.house.approvals, ask(outlives=True))
        card = await at.card()
        assert card.chat == "7"
        await at.press(data(card)["Allow once"])
        assert await asked.get() == Answer(Verdict.ALLOW)


async def test_the_same_request_that_asks_for_something_else_is_a_new_ask(tmp_path: Path) -> None:
    async with room(tmp_path) as at:
        asker = await at.asker()
        first = at.ask(asker)
        name = handle(await at.card())
        second = at.ask(asker, ask(replace(COMMAND, text="rm -r /", script="rm -r /")))
        assert await first.get() == Answer(Verdict.DECLINE, why="something else is asked in its place.")
        assert "rm -r /\n" in (await at.card(2)).text
        await at.press(f"ask:{name}:once")
        await until(lambda: len(at.texts) == 3)
        over = "No longer needed: something else is asked in its place."
        assert (at.texts[0], at.texts[2]) == (SHOWN + over, UNKNOWN)
        assert second.answer is None


async def test_all_that_a_conversation_asks_is_withdrawn_at_once(tmp_path: Path) -> None:
    async with room(tmp_path) as at:
        asker = await at.asker()
        other = replace(ask(identity="3"), thread="another")
        asked = [at.ask(asker, each) for each in (ask(identity="1"), ask(identity="2"), other)]
        await at.card(3)
        await at.house.approvals.withdraw_all("thread", "it is gone.")
        gone = Answer(Verdict.DECLINE, why="it is gone.")
        assert [await each.get() for each in asked[:2]] == [gone, gone]
        assert asked[2].answer is None


async def test_once_the_gateway_goes_down_nothing_is_asked_and_nothing_more_is_said(tmp_path: Path) -> None:
    outbox, shown = RecordingOutbox(), ""
    async with anyio.create_task_group() as group:
        async with room(tmp_path, outbox=outbox) as at:
            asker = await at.asker()
            asked = Asked()
            group.start_soon(asked.run, asker, ask())
            shown = (await at.card()).text
            await at.rest()
        at.house.clock.advance(600)
        assert (await asker.ask(ask(identity="late"))).why == GOES_DOWN
        assert asked.answer is None  # what is open is known to the next start
        await asker.withdraw(ask().identity, "the turn was stopped.")
        assert await asked.get() == Answer(Verdict.DECLINE, why="the turn was stopped.")
    assert outbox.texts() == [shown]
    assert rows(tmp_path, "SELECT state FROM asked") == [("open",)]


async def test_a_store_that_fails_keeps_nobody_from_asking_and_answering(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with room(tmp_path) as at:
        asker = await at.asker()

        async def fail(*arguments: object) -> Never:
            raise StoreError("The disk is full.")

        for name in ("run", "run_small"):
            monkeypatch.setattr(Database, name, fail)
        asked = at.ask(asker)
        card = await at.card()
        await at.press(data(card)["Allow once"])
        assert await asked.get() == Answer(Verdict.ALLOW)
        await at.press(data(card)["Allow once"])
        await until(lambda: len(at.texts) == 2)
        assert at.texts[1] == STORE_FAILS
        monkeypatch.undo()


async def test_what_goes_wrong_on_the_way_is_a_no(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with room(tmp_path) as at:
        broken = replace(ask(), what=COLOUR)
        object.__setattr__(broken, "what", None)
        answer = await at.ask(await at.asker(), broken).get()
        why = f"The gateway could not ask, so the answer was no; {THE_LOG}."
        assert answer == Answer(Verdict.DECLINE, why=why)
        assert "could not be asked" in caplog.text


async def test_a_value_that_must_stand_in_no_chat_stands_in_no_card(tmp_path: Path) -> None:
    async with house(tmp_path, asks=OWNERS, secrets=("hunter-two",)) as at:
        await at.desk.receive(message(1))
        asker = (await at.begun(1)).request.asker
        assert asker is not None
        async with anyio.create_task_group() as group:
            group.start_soon(asker.ask, ask(replace(COMMAND, text="echo hunter-two", reason="hunter-two", cwd="")))
            await until(lambda: bool(at.outbox.messages))
            group.cancel_scope.cancel()
        (text,) = at.outbox.texts()
        assert "hunter-two" not in text
        assert "echo ***\n```\n10 characters not shown." in text


async def test_a_command_that_comes_twice_is_obeyed_once(tmp_path: Path) -> None:
    async with room(tmp_path) as at:
        asked = at.ask(await at.asker())
        text = f"/deny {handle(await at.card())}"
        receipts = [await at.house.desk.receive(message(2, text)) for _ in range(2)]
        assert receipts == [Receipt.OBEYED, Receipt.TWICE]
        assert await asked.get() == Answer(Verdict.DECLINE)
        await at.rest()
        assert at.texts == [f"{SHOWN}Declined by `Orrin`."]


async def test_what_nobody_started_has_nobody_to_ask(tmp_path: Path) -> None:
    (tmp_path / "workspace").mkdir()
    harness = PlayedHarness()
    agent = Agent(harness, Gatherer(plain_settings(tmp_path / "workspace", "main"), Habits()))
    await agent.scheduled("Count.", session_key="job", key="job 1")
    assert [each.request.asker for each in harness.turns] == [None]


async def test_a_group_hears_how_owners_are_named_without_anybodys_id(tmp_path: Path) -> None:
    async with room(tmp_path, ApprovalSettings()) as at:
        asker = await at.asker(message(1, "clear up", chat="40", group=True))
        assert (await at.ask(asker).get()).why == NOBODY
        await at.rest()
        assert at.texts == [HOW_TO_ENABLE.format(who="the id of an owner")]


def rows(folder: Path, statement: str) -> list[tuple[object, ...]]:
    with sqlite3.connect(folder / "store.sqlite") as connection:
        return list(connection.execute(statement))
