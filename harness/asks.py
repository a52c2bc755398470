"""What a turn asks somebody: leave to do something, or an answer to a question.

Pure. An ask is told when it is made (`ApprovalAsked`, `QuestionAsked`) and when it is settled (`AskSettled`), once
each, also when nobody could be reached.
"""

from enum import Enum

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
    """What is to be done, as far as the backend says: the command, or the folder that is to be opened."""
    reason: str = ""
    """Why, in the agent's words."""
    cwd: str = ""
    """Where a command is to run."""
    agent: str = ""
    """The backend's id of the subagent that asks; empty when it is the turn itself."""


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
