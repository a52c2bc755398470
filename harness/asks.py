"""What a turn asks somebody: leave to do something, or an answer to a question.

Pure. An ask is told when it is made (`ApprovalAsked`, `QuestionAsked`) and when it is settled (`AskSettled`), once
each, also when nobody could be reached. Who may answer is reached through the `Asker` of the turn's request.
"""

from collections.abc import Mapping
from dataclasses import field
from enum import Enum
from typing import Protocol

from harness.lean_values import dataclass


class ApprovalKind(Enum):
    """What leave is asked for."""

    COMMAND = "command"
    FILES = "files"
    """To change files; the changes are in `FilesChanging` of the same item, where that is told."""
    PERMISSIONS = "permissions"
    """To do more than the turn may, from now on."""
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class ApprovalAsked:
    """The turn wants to do something and waits for leave."""

    ask: str
    """The id of the ask; a backend has no second one like it while it runs."""
    item: str
    """What waits for it, such as a command that was told as started; empty when it is nothing that is told."""
    kind: ApprovalKind
    text: str = ""
    """What is to be done, whole, one thing a line: the command, the files, or the permissions. A person is shown this,
    and where it is empty cannot allow it."""
    reason: str = ""
    """Why, in the agent's words."""
    cwd: str = ""
    """Where a command is to run."""
    agent: str = ""
    """The backend's id of the subagent that asks; empty when it is the turn itself."""
    script: str = ""
    """What a shell is to run, without the call of the shell around it, when that is all that is asked for; rules are
    matched on it. Empty when something else is asked for besides, or nobody can say: then no rule matches."""
    always: bool = True
    """Whether it may be allowed for the rest of the conversation."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One answer that a question offers."""

    label: str
    description: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """One question of several that are asked together."""

    id: str
    text: str
    header: str = ""
    choices: tuple[Choice, ...] = ()
    """What can be chosen; empty for a question that is answered in words."""
    in_words: bool = True
    """Whether an answer may be other words than a choice."""
    secret: bool = False
    """Whether the answer should not be shown."""


@dataclass(frozen=True, slots=True)
class QuestionAsked:
    """The agent, or a tool of it, wants to know something."""

    ask: str
    item: str
    questions: tuple[Question, ...]
    text: str = ""
    """What is said before the questions, or in place of them."""
    asker: str = ""
    """The name of the tool server that asks; empty when it is the agent."""
    address: str = ""
    """Where a person is asked to go; empty when the answer is given here."""
    agent: str = ""
    """The backend's id of the subagent that asks; empty when it is the turn itself."""


class Settlement(Enum):
    """What became of an ask."""

    ALLOWED = "allowed"
    ANSWERED = "answered"
    DECLINED = "declined"
    WITHDRAWN = "withdrawn"
    """Nobody needs the answer any more."""


@dataclass(frozen=True, slots=True)
class AskSettled:
    """An ask is over."""

    ask: str
    how: Settlement
    why: str = ""
    """One sentence for a person, where there is something to say."""


class Verdict(Enum):
    """What a person, or a rule, says to an ask."""

    ALLOW = "allow"
    """This once; of a question: it is answered."""
    ALLOW_ALWAYS = "allow always"
    """This, and the same in this conversation from now on."""
    DECLINE = "decline"
    """No, and the turn goes on."""
    CANCEL = "cancel"
    """No, and the turn ends."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What an ask is answered with."""

    verdict: Verdict
    words: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]], repr=False)
    """Of a question that is answered: what was chosen or written, by the id of the question. May hold secrets."""
    why: str = ""
    """One sentence for a person where nobody decided it, such as that nobody answered in time; empty otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """What is asked, and where it belongs."""

    identity: str
    """The same when a backend that outlived the gateway asks it again, and of no other ask."""
    session_key: str
    """The conversation."""
    message_key: str
    """What caused the turn, see `TurnRequest.message_key`."""
    thread: str
    """The backend's name for the conversation."""
    what: ApprovalAsked | QuestionAsked
    outlives: bool = False
    """The backend goes on waiting when the gateway's process ends, and asks again when there is a new one."""


class Asker(Protocol):
    """The way to the people who may answer. Several asks may be open at once, also of one conversation."""

    async def ask(self, ask: Ask) -> Answer:
        """Ask, and wait for the answer: of a person, of a rule, or of the time that is over.

        Never raises for what goes wrong on the way: that is a no, and why. When the call is cancelled the ask stays
        open, for a backend that asks it again; `withdraw` closes it.
        """
        ...

    async def withdraw(self, identity: str, why: str) -> None:
        """Nobody needs the answer any more, as one sentence says; no error when it was answered or never asked."""
        ...


class KeepsAsks(Asker, Protocol):
    """An asker that knows what an earlier process of the gateway asked."""

    async def withdraw_all(self, thread: str, why: str) -> None:
        """Nobody needs any answer of a conversation of a backend any more, as one sentence says."""
        ...
