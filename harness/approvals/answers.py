"""What words mean as the answer to questions.

Pure. As in the original (harness reference, 6.5), but that words that do not fit are told of, and not taken as none.
"""

from collections.abc import Iterator, Sequence

from harness.asks import Question
from harness.lean_values import dataclass


@dataclass(frozen=True, slots=True)
class Understood:
    """What words mean."""

    words: dict[str, tuple[str, ...]]
    """By the id of the question."""
    problem: str = ""
    """One sentence about what is missing; empty when nothing is. It repeats nothing of an answer."""


def understood(questions: Sequence[Question], text: str) -> Understood:
    """Read an answer to all the questions."""
    given = {questions[0].id: text.strip()} if len(questions) == 1 else _by_line(questions, text)
    words: dict[str, tuple[str, ...]] = {}
    for number, each in enumerate(questions, 1):
        found = _fitting(each, given.get(each.id, ""))
        if not found:
            where = "" if len(questions) == 1 else f" for question {number}, in a line of its own such as {number}: …"
            return Understood({}, f"Please give {_wanted(each)}{where}.")
        words[each.id] = (found,)
    return Understood(words)


def chosen(question: Question, place: int) -> Understood:
    """Read a pressed button: the number of a choice, from 1."""
    if 0 < place <= len(question.choices):
        return Understood({question.id: (question.choices[place - 1].label,)})
    return Understood({}, f"Please give {_wanted(question)}.")


def _wanted(question: Question) -> str:
    if not question.choices:
        return "an answer"
    numbers = f"a number from 1 to {len(question.choices)}" if len(question.choices) > 1 else "the number 1"
    return f"{numbers}, or other words" if question.in_words else numbers


def _by_line(questions: Sequence[Question], text: str) -> dict[str, str]:
    """The words for each question: by its name before them, or else line by line."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    names: dict[str, str] = {}
    for number, each in enumerate(questions, 1):
        for name in (str(number), each.id, each.header, each.text):
            names.setdefault(name.strip().casefold(), each.id)
    names.pop("", None)
    given: dict[str, str] = {}
    for line in lines:
        for name, words in _parted(line):
            if (key := names.get(name.casefold())) is not None:
                given.setdefault(key, words)
                break
    if not given and len(lines) == len(questions):
        return {each.id: line for each, line in zip(questions, lines, strict=True)}
    return given


def _parted(line: str) -> Iterator[tuple[str, str]]:
    """What may be a name, and the words after it."""
    for at, sign in enumerate(line):
        name, words = line[:at].strip(), line[at + 1 :].strip()
        is_dash = sign == "-" and line[at - 1 : at].isspace() and line[at + 1 : at + 2].isspace()
        if name and (sign in ":=" or is_dash or (sign in ".)" and name.isdecimal())):
            yield name, words


def _fitting(question: Question, words: str) -> str:
    """The answer as the question takes it; empty when it does not."""
    if not question.choices or not words:
        return words
    if words.isdecimal() and words.isascii() and 0 < int(words[:3]) <= len(question.choices) and len(words) <= 3:
        return question.choices[int(words) - 1].label
    label = next((each.label for each in question.choices if each.label.casefold() == words.casefold()), "")
    return label or (words if question.in_words else "")
