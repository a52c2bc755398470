"""What an ask looks like in its chat: before the answer, and after it.

Pure. What is decided on is shown whole, or how much of it is not, and then it can only be declined. Whatever is not our
own word stands in a block or between signs that it cannot leave.
"""

import re
from collections.abc import Collection, Sequence
from typing import Final

from harness.approvals.display import Shown, block, cut, exact, inline, is_mixed, plain
from harness.asks import ApprovalAsked, ApprovalKind, Question, QuestionAsked, Verdict
from harness.delivery.outbox import Button
from harness.lean_values import dataclass
from harness.units import utf16_units

PREFIX: Final = "ask"
"""What the data of our buttons begins with."""
LONGEST: Final = 4_096
"""UTF-16 units of a card at most, also on a channel that takes more; Telegram takes that many."""
_FRAME: Final = 1_100
"""Kept free for our own words, the reason, the folder and what becomes of it."""
MOST_BUTTONS: Final = 8
"""Choices that have buttons; others are answered in words."""
_LABEL: Final = 40
"""UTF-16 units of a button's label."""

_LONGEST_FOLDER: Final = 200
_LONGEST_REASON: Final = 200
"""UTF-16 units as well."""

_GAP: Final = re.compile(r"\s{40,}")
"""Blanks that may push a part of what is shown out of sight."""

_HEADS: Final = {
    ApprovalKind.COMMAND: "May I run this command?",
    ApprovalKind.FILES: "May I change these files?",
    ApprovalKind.PERMISSIONS: "May I have these permissions from now on?",
    ApprovalKind.OTHER: "May I do this?",
}
_DONE: Final = {
    Verdict.ALLOW: "Allowed once",
    Verdict.ALLOW_ALWAYS: "Allowed for this conversation",
    Verdict.DECLINE: "Declined",
    Verdict.CANCEL: "Declined and stopped",
}


@dataclass(frozen=True, slots=True)
class Body:
    """What of an ask stays in its card when it is over."""

    text: str
    offers: frozenset[Verdict]
    """What may be said to it."""
    is_question: bool = False


@dataclass(frozen=True, slots=True)
class Card:
    """A message that asks."""

    text: str
    buttons: tuple[tuple[Button, ...], ...]


def body_of(what: ApprovalAsked | QuestionAsked, limit: int, secrets: Collection[str] = ()) -> Body:
    """Render what is asked.

    Args:
        what: What is asked.
        limit: UTF-16 units of its card at most.
        secrets: Values that stand in no chat.
    """
    room = max(0, limit - _FRAME)
    return _question(what, room, secrets) if isinstance(what, QuestionAsked) else _approval(what, room, secrets)


def _approval(what: ApprovalAsked, room: int, secrets: Collection[str]) -> Body:
    shown = cut(exact(what.text, secrets=secrets), room)
    whole = bool(shown.text.strip()) and not shown.missing
    lines = [_HEADS[what.kind]]
    if what.agent:
        lines.append("A helper of mine asks for it.")
    lines.append(block(shown.text) if shown.text.strip() else "It is not said what.")
    if what.cwd:
        folder = cut(exact(what.cwd, lines=False, secrets=secrets), _LONGEST_FOLDER)
        lines.append(f"Folder: {inline(folder.text)}")
        whole = whole and not folder.missing
        shown = Shown(shown.text, shown.written_out + folder.written_out, shown.missing + folder.missing)
    lines += _remarks(shown, whole=whole)
    if _GAP.search(shown.text):
        lines.append("There are long gaps in it: read it to its end.")
    if is_mixed(shown.text):
        lines.append("Some of its letters may look like others.")
    if reason := plain(what.reason, _LONGEST_REASON, secrets=secrets).text:
        lines.append(f"Why, in the agent's own words, which nobody checked: {inline(reason)}")
    offers = {Verdict.DECLINE, Verdict.CANCEL} if whole else {Verdict.DECLINE}
    if whole:
        offers |= {Verdict.ALLOW, Verdict.ALLOW_ALWAYS} if what.always else {Verdict.ALLOW}
    return Body("\n".join(lines), frozenset(offers))


def _remarks(shown: Shown, *, whole: bool) -> list[str]:
    lines: list[str] = []
    if shown.written_out:
        count = "One character is" if shown.written_out == 1 else f"{shown.written_out} characters are"
        lines.append(rf"{count} written out, as \x1b or \u202e for instance.")
    if shown.missing:
        lines.append("One character not shown." if shown.missing == 1 else f"{shown.missing} characters not shown.")
    if not whole:
        lines.append("What is not shown whole can only be declined.")
    return lines


def _question(what: QuestionAsked, room: int, secrets: Collection[str]) -> Body:
    who = f"The tool server {inline(plain(what.asker, _LABEL).text)} asks:" if what.asker else "I have a question:"
    if what.agent:
        who = f"A helper of mine has a question.\n{who}" if what.asker else "A helper of mine has a question:"
    lines = [who]
    said = [plain(what.text, room, secrets=secrets)] if what.text else []
    lines += [inline(each.text) for each in said]
    if what.address:
        address = exact(what.address, lines=False)
        said.append(address)
        lines.append(f"It wants you to go to {inline(address.text)}")
    alone = len(what.questions) == 1
    for number, each in enumerate(what.questions, 1):
        rows, own = _one(each, "" if alone else f"{number}. ", room)
        lines += rows
        said += own
    if any(each.secret for each in what.questions):
        lines.append("The answer is secret, and would stand in this chat: delete your message afterwards.")
    missing = sum(each.missing for each in said)
    text = "\n".join(lines)
    if utf16_units(text) > room:
        shorter = cut(Shown(text), room)
        missing += shorter.missing
        text = shorter.text + ("`" if shorter.text.count("`") % 2 else "")
    remarks = _remarks(Shown("", 0, missing), whole=not missing)
    offers = {Verdict.DECLINE} if missing else {Verdict.ALLOW, Verdict.DECLINE}
    return Body("\n".join([text, *remarks]), frozenset(offers), is_question=True)


def _one(question: Question, number: str, room: int) -> tuple[list[str], list[Shown]]:
    words = plain(question.text or question.header or question.id, room)
    header = plain(question.header, _LABEL).text
    named = f"{inline(header)} " if header and question.text and question.header != question.text else ""
    lines, own = [f"{number}{named}{inline(words.text)}"], [words]
    for place, choice in enumerate(question.choices, 1):
        label, more = plain(choice.label, room), plain(choice.description, room)
        own += [label, more]
        lines.append(f"   {place}) {inline(label.text)}" + (f" {inline(more.text)}" if more.text else ""))
    if question.choices and question.in_words:
        lines.append("   or other words")
    return lines, own


def asking(body: Body, handle: str, questions: Sequence[Question], seconds: float) -> Card:
    """The card that waits for an answer.

    Args:
        body: What is asked.
        handle: What an answer names it by.
        questions: Those that are asked, for a card that asks any.
        seconds: How long an answer is waited for.
    """
    within = f"Within {span(seconds)}"
    no = Button("Decline", f"{PREFIX}:{handle}:no")
    if Verdict.ALLOW not in body.offers:
        return Card(f"{body.text}\n{within}: the button, or /deny {handle}.", ((no,),))
    if not body.is_question:
        always = Verdict.ALLOW_ALWAYS in body.offers
        row = [Button("Allow once", f"{PREFIX}:{handle}:once")]
        row += [Button("Allow from now on", f"{PREFIX}:{handle}:always")] if always else []
        more = f", /approve {handle} always" if always else ""
        how = f"a button, or /approve {handle}{more}, or /deny {handle}."
        return Card(f"{body.text}\n{within}: {how}", (tuple(row), (no,)))
    if not questions:
        yes = Button("Yes", f"{PREFIX}:{handle}:once")
        return Card(f"{body.text}\n{within}: a button, or /approve {handle}, or /deny {handle}.", ((yes, no),))
    first, *more_questions = questions
    rows = tuple[tuple[Button, ...], ...]()
    how = "answer this message"
    if not more_questions and 0 < len(first.choices) <= MOST_BUTTONS:
        how = "press a button, or answer this message"
        rows = tuple(
            (Button(plain(choice.label, _LABEL).text or str(place), f"{PREFIX}:{handle}:{place}"),)
            for place, choice in enumerate(first.choices, 1)
        )
    if more_questions:
        how += " with one line for each, such as 1: yes"
    elif first.choices:
        how += " with a number" + (" or words" if first.in_words else "")
    return Card(
        f"{body.text}\n{within}: {how}, or say /answer {handle} and the answer, or /deny {handle}.", (*rows, (no,))
    )


def decided(verdict: Verdict, by: str, *, is_question: bool) -> str:
    """What became of an ask that was answered; `by` is the name of whoever did, as that person chose it."""
    done = "Answered" if is_question and verdict is Verdict.ALLOW else _DONE[verdict]
    name = inline(plain(by, _LABEL).text)
    return f"{done} by {name}." if name else f"{done}."


def ended(body_text: str, sentence: str) -> str:
    """The card of an ask that is over."""
    return f"{body_text}\n{sentence}"


def span(seconds: float) -> str:
    """A time in words."""
    if seconds < 120:
        return f"{max(1, round(seconds))} seconds"
    return f"{round(seconds / 60)} minutes"
