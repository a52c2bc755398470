"""What is said to the gateway is told from what is said to the agent."""

import pytest

from harness.desk.commands import (
    MOST_QUIET,
    MOST_WAITING,
    NO_WORDS,
    QueueCommand,
    compact_command,
    is_stop,
    queue_command,
    told,
)
from harness.settings.queue import DropPolicy, QueueMode, QueueRules


@pytest.mark.parametrize("text", ["/stop", " /STOP\n", "/stop@pell_bot"])
@pytest.mark.parametrize("direct", [True, False])
def test_the_command_stops_in_every_chat(text: str, direct: bool) -> None:
    assert is_stop(text, direct=direct)


@pytest.mark.parametrize("text", ["stop", "Stop!!", "please stop.", "STOPP", "стоп", "停止。", "esc", "Arrête !"])
def test_bare_words_stop_in_a_direct_chat_alone(text: str) -> None:
    assert is_stop(text, direct=True)
    assert not is_stop(text, direct=False)


@pytest.mark.parametrize("text", ["", "!", "/stop it", "/stopp", "stop the press", "how do I exit vim?", "x /stop"])
def test_words_that_say_more_are_for_the_agent(text: str) -> None:
    assert not is_stop(text, direct=True)


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("/queue", QueueCommand()),
        ("/queue collect", QueueCommand(mode=QueueMode.COLLECT)),
        ("/QUEUE@pell_bot Followup", QueueCommand(mode=QueueMode.FOLLOWUP)),
        ("/queue debounce:2s", QueueCommand(quiet=2.0)),
        ("/queue debounce:250", QueueCommand(quiet=0.25)),
        ("/queue debounce:0ms", QueueCommand(quiet=0.0)),
        ("/queue debounce:1.5m", QueueCommand(quiet=90.0)),
        (
            "/queue steer debounce:500ms cap:20 drop:new",
            QueueCommand(mode=QueueMode.STEER, quiet=0.5, cap=20, drop=DropPolicy.NEW),
        ),
        ("/queue default", QueueCommand(clears=True)),
        ("/queue reset", QueueCommand(clears=True)),
    ],
)
def test_how_messages_are_queued_is_said_in_the_words_of_the_configuration(text: str, command: QueueCommand) -> None:
    assert queue_command(text) == command


@pytest.mark.parametrize(
    "word",
    [
        "collct",
        "steer followup",
        "default steer",
        "debounce:soon",
        "debounce:-1s",
        f"debounce:{MOST_QUIET + 1:g}s",
        "cap:0",
        f"cap:{MOST_WAITING + 1}",
        "cap:٣",
        "drop:some",
        "speed:fast",
        "x" * 500,
    ],
)
def test_a_word_that_means_nothing_is_quoted_and_changes_nothing(word: str) -> None:
    command = queue_command(f"/queue {word}")
    assert command is not None
    assert command.problem.startswith("I do not understand")
    assert len(command.problem) < 400
    assert command == QueueCommand(problem=command.problem)


@pytest.mark.parametrize("text", ["queue", "/queued", "a /queue", ""])
def test_anything_else_is_for_the_agent(text: str) -> None:
    assert queue_command(text) is None


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("/compact", ""),
        (" /Compact@pell_bot\n", ""),
        ("/compact but keep the boats", NO_WORDS),
        ("/compacted", None),
        ("please /compact", None),
        ("compact", None),
    ],
)
def test_a_summary_is_asked_for_by_one_word(text: str, problem: str | None) -> None:
    assert compact_command(text) == problem


def test_what_was_said_before_holds_where_the_later_command_says_nothing() -> None:
    rules = QueueRules(mode=QueueMode.STEER, quiet=1.0, cap=5, drop=DropPolicy.OLD)
    both = QueueCommand(quiet=0.0, drop=DropPolicy.NEW).then(QueueCommand(mode=QueueMode.COLLECT, drop=DropPolicy.OLD))
    assert both.over(rules) == QueueRules(mode=QueueMode.COLLECT, quiet=0.0, cap=5, drop=DropPolicy.OLD)
    assert QueueCommand().over(rules) == rules


def test_what_holds_is_told_in_one_sentence() -> None:
    assert told(QueueRules()) == (
        "Messages that come while I am at work: steer, after 0.5 s without another one; at most 20 wait "
        "(drop: summarize)."
    )
