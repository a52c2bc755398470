"""What is at work on the app-server of an agent right now.

Turns, their subagents and the commands that outlast them, for everybody who has to know.
"""

from codex_bridge.children import Children
from codex_bridge.commands import Commands
from codex_bridge.ledger import State, TurnLedger
from codex_bridge.telling import Tell
from codex_bridge.turn import CodexTurn
from codex_bridge.wire.notifications import ThreadTokenUsage
from harness.turns import FileChange


class AtWork:
    """The turns that run, by their thread, and what works for them.

    Args:
        tell: Says what the error means that a subagent fails with.
    """

    def __init__(self, tell: Tell) -> None:
        self.turns: dict[str, CodexTurn] = {}
        """By the thread that they run on."""
        self.counted: dict[str, ThreadTokenUsage] = {}
        """The last count of tokens of each thread: a server repeats it under the id of the next turn."""
        self.children: Children[CodexTurn] = Children(self.turn_of, tell, self.counted)
        self.commands = Commands()

    @property
    def any(self) -> bool:
        """Whether anything is, commands that outlasted their turns among it: a server's end would end them."""
        return bool(self.turns) or self.children.any or self.commands.any

    @property
    def latest(self) -> CodexTurn | None:
        """The turn that was begun last of those that run."""
        return next(reversed(self.turns.values()), None)

    def turn_of(self, turn_id: str) -> CodexTurn | None:
        """The running turn that has this id on the server, also while the answer that says so is on its way."""
        turns = self.turns.values()
        return next((turn for turn in turns if turn.ledger is not None and turn.ledger.may_be(turn_id)), None)

    def recount(self, thread_id: str, counted: ThreadTokenUsage | None) -> None:
        """A thread went back to where this was its last count."""
        if counted is None:
            self.counted.pop(thread_id, None)
        else:
            self.counted[thread_id] = counted

    def asker(self, thread_id: str, turn_id: str) -> tuple[CodexTurn, str] | None:
        """The turn that a request of the server concerns, and the subagent that makes it, if it is one's.

        Args:
            thread_id: The thread of the request.
            turn_id: Its turn; empty for a request that names none.
        """
        turn = self.turns.get(thread_id)
        if turn is None:
            parent = self.children.parent_at(thread_id)
            return None if parent is None else (parent, thread_id)
        known = turn.ledger.turn_id if turn.ledger is not None else ""
        return (turn, "") if not turn_id or known in ("", turn_id) else None

    def changes_of(self, thread_id: str, item_id: str) -> tuple[FileChange, ...]:
        """The changes of files that wait to be made on a thread, by their item."""
        turn = self.turns.get(thread_id)
        ledger = turn.ledger if turn is not None else self.children.ledger_at(thread_id)
        return ledger.changes_of(item_id) if ledger is not None else ()

    def outlasts(self, turn: CodexTurn, thread_id: str) -> bool:
        """Whether something of a conversation goes on after its turns: a revert ends its commands (measured)."""
        return self.commands.any_on(thread_id) or self.children.work_for(lambda parent: parent.key == turn.key)

    def any_on(self, thread_id: str) -> bool:
        """Whether a turn, a subagent or a command is at work on a thread."""
        return (
            thread_id in self.turns or self.commands.any_on(thread_id) or self.children.parent_at(thread_id) is not None
        )

    def owns(self, thread_id: str) -> bool:
        """Whether a turn of ours, or a subagent of one, is at work on a thread."""
        return thread_id in self.turns or self.children.parent_at(thread_id) is not None

    def lose(self) -> tuple[list[CodexTurn], list[tuple[CodexTurn, TurnLedger]]]:
        """The server is gone; gives the turns that are lost with it, and the subagents, by the turn of each.

        Of a turn that Codex has not confirmed, whoever began it finds out whether it runs.
        """
        self.counted.clear()
        children = self.children.lose()
        self.commands.lose()
        turns = [turn for turn in self.turns.values() if turn.ledger is None or turn.ledger.state is not State.OPENING]
        return turns, children
