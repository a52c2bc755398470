"""A command is at work on its thread until Codex says that it is whole, in whichever turn."""

from codex_bridge.commands import Commands
from codex_bridge.rpc import Notified
from codex_bridge.wire.notifications import ItemCompleted, ItemStarted, Wire, read


def told(when: str, item: str, *, thread: str = "t", turn: str = "u", kind: str = "commandExecution") -> Wire:
    return read(
        Notified(
            f"item/{when}", {"threadId": thread, "turnId": turn, "item": {"type": kind, "id": item, "command": "ls"}}
        )
    )


def seen(commands: Commands, when: str, item: str, **how: str) -> bool:
    wire = told(when, item, **how)
    assert isinstance(wire, ItemStarted | ItemCompleted)
    commands.see(wire)
    return commands.any_on("t")


def test_a_thread_is_at_work_until_each_of_its_commands_is_over() -> None:
    commands = Commands()
    assert not seen(commands, "started", "x", kind="mcpToolCall")
    assert not seen(commands, "started", "a", thread="another")
    assert not seen(commands, "completed", "never began")
    assert seen(commands, "started", "a")
    assert seen(commands, "started", "b")
    assert seen(commands, "completed", "a")
    assert not seen(commands, "completed", "b", turn="a later one")


def test_a_command_that_is_not_understood_is_at_work_as_well() -> None:
    wire = read(
        Notified("item/started", {"threadId": "t", "turnId": "u", "item": {"type": "commandExecution", "id": "a"}})
    )
    assert isinstance(wire, ItemStarted)
    commands = Commands()
    commands.see(wire)
    assert commands.any_on("t")


def test_the_end_of_a_thread_or_of_the_server_ends_its_commands() -> None:
    commands = Commands()
    assert seen(commands, "started", "a")
    commands.end("t")
    assert not commands.any_on("t")
    assert seen(commands, "started", "a")
    commands.lose()
    assert not commands.any_on("t")
