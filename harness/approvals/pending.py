"""An ask that waits in a chat, and how it is kept as text."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

import anyio

from harness.approvals.cards import Body
from harness.asks import Answer, Choice, Question, Verdict
from harness.lean_values import dataclass
from harness.store.asked import Parked
from harness.timing import Timer


@dataclass(frozen=True, slots=True)
class Shape:
    """What it takes to show an ask again, and to read an answer to it."""

    body: Body
    questions: tuple[Question, ...] = ()

    def packed(self) -> str:
        """As text. Of a question stays what an answer is read by."""
        body = self.body
        questions = [
            [each.id, each.text, each.header, [choice.label for choice in each.choices], each.in_words, each.secret]
            for each in self.questions
        ]
        offers = sorted(each.value for each in body.offers)
        return json.dumps({"text": body.text, "offers": offers, "question": body.is_question, "questions": questions})


OVER = Shape(Body("", frozenset()))
"""Of an ask that nobody is shown any more."""


def shape_of(text: str) -> Shape | None:
    """The shape again; None for a text that holds none."""
    try:
        kept: Mapping[str, Any] = json.loads(text)
        body = Body(str(kept["text"]), frozenset(map(Verdict, kept["offers"])), is_question=bool(kept["question"]))
        return Shape(body, tuple(_question(*each) for each in kept["questions"]))
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def _question(name: str, text: str, header: str, labels: list[str], in_words: bool, secret: bool) -> Question:
    return Question(name, text, header, tuple(map(Choice, labels)), in_words, secret)


def packed_answer(answer: Answer) -> str:
    """An answer as text."""
    return json.dumps([answer.verdict.value, {key: list(each) for key, each in answer.words.items()}, answer.why])


def answer_of(text: str) -> Answer | None:
    """The answer again; None for a text that holds none."""
    try:
        verdict, words, why = json.loads(text)
        read = cast("Mapping[str, list[str]]", words)
        return Answer(Verdict(verdict), {key: tuple(each) for key, each in read.items()}, str(why))
    except (ValueError, AttributeError, TypeError, RecursionError):
        return None


class Pending:
    """An ask, from before its card is sent until nobody asks for the answer any more."""

    def __init__(self, parked: Parked, shape: Shape) -> None:
        self.parked = parked
        self.shape = shape
        self.answer: Answer | None = None
        """The first one counts."""
        self.told = ""
        """What became of it."""
        self.timer: Timer | None = None
        self.done = anyio.Event()
        """Set once the answer is kept."""
        self.posted = anyio.Event()
        """Set once the channel has the card, or surely does not."""

    @property
    def is_secret(self) -> bool:
        """Whether the answer must not be kept."""
        return any(each.secret for each in self.shape.questions)

    def stands(self, sent_as: str) -> None:
        """The channel has the card."""
        self.parked = replace(self.parked, sent_as=sent_as)
