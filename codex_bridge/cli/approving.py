"""Who answers at a terminal what a turn asks: the person in front of it, everybody's yes, or nobody.

Rules of the configuration come first, as in a chat. Questions are never answered by a rule or by a general yes.
"""

import os
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from enum import Enum
from typing import Final

import anyio

from harness.approvals.answers import understood
from harness.approvals.cards import body_of
from harness.approvals.policy import ruled
from harness.asks import Answer, ApprovalAsked, Ask, QuestionAsked, Verdict
from harness.settings.approvals import ApprovalSettings, Asking

UNITS: Final = 20_000
"""UTF-16 units of an ask that are shown; what is longer can only be declined."""
NOBODY: Final = "Nobody is asked here, so the answer was no; --approve ask lets the terminal answer."
NO_MORE: Final = "The input ended before an answer, so the answer was no."
NO_WORDS: Final = "A question needs a person, so nobody answered it; --approve ask lets the terminal answer."
NOT_WHOLE: Final = "It could not be shown whole, so the answer was no."

_KEYS: Final = {
    "y": Verdict.ALLOW,
    "yes": Verdict.ALLOW,
    "a": Verdict.ALLOW_ALWAYS,
    "always": Verdict.ALLOW_ALWAYS,
    "n": Verdict.DECLINE,
    "no": Verdict.DECLINE,
    "c": Verdict.CANCEL,
    "cancel": Verdict.CANCEL,
}
_WORDS: Final = {
    Verdict.ALLOW: "y once",
    Verdict.ALLOW_ALWAYS: "a from now on",
    Verdict.DECLINE: "n no",
    Verdict.CANCEL: "c no, and stop",
}


class Approve(Enum):
    """What becomes of what a turn asks."""

    ASK = "ask"
    """The terminal is asked."""
    NEVER = "never"
    """Nobody is: what no rule allows is declined."""
    ALL = "all"
    """Whatever leave is asked for is given, once each time."""


def at_terminal(*, reads_stdin: bool, as_json: bool) -> Approve:
    """What holds where nobody says: a person is asked when there is one."""
    attended = sys.stdin.isatty() and sys.stderr.isatty() and not reads_stdin and not as_json
    return Approve.ASK if attended else Approve.NEVER


def who_may_answer(settings: ApprovalSettings) -> str:
    """Who decides in chats on what is asked, as a sentence."""
    if not settings.owners:
        return "nobody may answer what it asks, so that is declined; commands.ownerAllowFrom names who may."
    rules = "" if settings.asking is not Asking.NEVER else "; tools.exec.ask is off, so only rules allow commands"
    return f"what it asks may be answered by {', '.join(settings.owners)}, within {settings.seconds:g} s{rules}."


class Lines:
    """The lines of stdin. No thread waits for them, as that one would keep the process from its end.

    Args:
        file: The descriptor.
    """

    def __init__(self, file: int = 0) -> None:
        self._file = file
        self._rest = b""

    async def __call__(self) -> str:
        """The next line; empty at the end. What is not waited for any more is there for whoever reads next."""
        while b"\n" not in self._rest:
            with suppress(PermissionError):  # a file, which is always readable
                await anyio.wait_readable(self._file)
            piece = os.read(self._file, 4096)
            if not piece:
                last, self._rest = self._rest, b""
                return last.decode("utf-8", "replace")
            self._rest += piece
        line, _, self._rest = self._rest.partition(b"\n")
        return line.decode("utf-8", "replace") + "\n"


class TerminalAsker:
    """Answers what is asked, see `harness.asks.Asker`. One ask is shown at a time.

    Args:
        approve: Who answers.
        settings: The rules of the configuration.
        aside: Says a sentence beside the answer.
        read: Reads a line, empty at the end; stdin by default.
        before: Called before something is shown, to end a line that is not whole.
    """

    def __init__(
        self,
        approve: Approve,
        settings: ApprovalSettings,
        aside: Callable[[str], None],
        read: Callable[[], Awaitable[str]] | None = None,
        before: Callable[[], None] = lambda: None,
    ) -> None:
        self._approve = approve
        self._settings = settings
        self._aside = aside
        self._read = read or Lines()
        self._before = before
        self._turn = anyio.Lock()
        self._open: dict[str, anyio.CancelScope] = {}

    async def ask(self, ask: Ask) -> Answer:
        """See `Asker`."""
        what = ask.what
        answer = ruled(what, self._settings)
        if answer is None and self._approve is Approve.NEVER:
            answer = Answer(Verdict.DECLINE, why=NOBODY)
        elif answer is None and self._approve is Approve.ALL:
            if isinstance(what, QuestionAsked):
                answer = Answer(Verdict.DECLINE, why=NO_WORDS)
            elif not what.text:
                answer = Answer(Verdict.DECLINE, why=NOT_WHOLE)
            else:
                answer = Answer(Verdict.ALLOW, why=f"Allowed as --approve all says: {what.text.splitlines()[0]}")
        if answer is not None:
            self._aside(answer.why)
            return answer
        with anyio.CancelScope() as scope:
            self._open[ask.identity] = scope
            try:
                async with self._turn:
                    return await self._asked(what)
            finally:
                del self._open[ask.identity]
        return Answer(Verdict.DECLINE)  # withdrawn

    async def withdraw(self, identity: str, why: str) -> None:
        """See `Asker`."""
        scope = self._open.get(identity)
        if scope is not None:
            scope.cancel()
            self._aside(f"No longer needed: {why}")

    async def _asked(self, what: ApprovalAsked | QuestionAsked) -> Answer:
        body = body_of(what, UNITS)
        self._before()
        _print(body.text)
        questions = what.questions if isinstance(what, QuestionAsked) else ()
        while True:
            _print(_prompt(body.offers, in_words=bool(questions)))
            line = await self._read()
            if not line:
                self._aside(NO_MORE)
                return Answer(Verdict.DECLINE, why=NO_MORE)
            said = line.strip()
            if questions and Verdict.ALLOW in body.offers and said not in ("/deny", "/cancel"):
                found = understood(questions, said.replace(";", "\n") if len(questions) > 1 else said)
                if not found.problem:
                    return Answer(Verdict.ALLOW, found.words)
                _print(found.problem)
                continue
            verdict = _KEYS.get(said.lstrip("/").casefold().replace("deny", "no"))
            if verdict in (Verdict.DECLINE, Verdict.CANCEL) or (verdict is not None and verdict in body.offers):
                return Answer(verdict)


def _prompt(offers: frozenset[Verdict], *, in_words: bool) -> str:
    if in_words and Verdict.ALLOW in offers:
        return "Your answer, with ; between several, or /deny, or /cancel:"
    can = {*offers, Verdict.DECLINE, Verdict.CANCEL}
    return f"[{', '.join(words for verdict, words in _WORDS.items() if verdict in can)}]"


def _print(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
