"""A Codex that refuses a conversation for the tools that it is to have, as a later one may."""

from dataclasses import replace
from pathlib import Path

import pytest

from codex_bridge.bridge import CodexHarness
from codex_bridge.tool_refusals import named, without
from codex_bridge.tools import registered
from codex_bridge.turn import CodexTurn
from codex_bridge.wire.requests import ThreadStartParams
from harness.store.bindings import bindings_at
from harness.tools import Tool
from harness.turns import Failure, Outcome
from tests.support.odd_tools import groups, tool
from tests.support.real import notices_of
from tests.support.turns import harness_on_fake, words

GROUPED = replace(tool("look"), namespace="chat", owner="a plugin")
SOUND = (tool("message"), tool("alpha"), GROUPED)


def told(what: str, are: str, word: str) -> list[str]:
    return [f"Codex refuses {what}, so {are} left out until it is started anew. It says: {word}"]


async def begun(
    harness: CodexHarness, *tools: Tool, text: str = "echo Yes.", chat: str = "a", model: str = ""
) -> CodexTurn:
    turn = harness.start(replace(words(text, chat=chat), tools=tools, model=model or None))
    await turn.result()
    return turn


def offered(turn: CodexTurn) -> list[dict[str, list[str]]]:
    """The tools of each thread that the turn asked for."""
    starts = [sent.params for sent in turn.sent if isinstance(sent.params, ThreadStartParams)]
    return [groups(start.dynamic_tools or []) for start in starts]


WHOLE = {"": ["message"], "chat": ["look"], "openclaw": ["alpha", "gadget"]}
LESS = {"": ["message"], "chat": ["look"], "openclaw": ["alpha"]}
NONE: dict[str, list[str]] = {"": []}


@pytest.mark.parametrize(
    ("word", "what", "are", "tries"),
    [
        ("tool `gadget` is too new", "the tool 'gadget' of sky", "it is", [WHOLE, LESS]),
        ("no gadget here", "the tool 'gadget' of sky", "it is", [WHOLE, LESS]),
        (
            "bad namespace 'openclaw'",
            "the tools 'alpha' of the gateway, 'gadget' of sky",
            "they are",
            [WHOLE, {"": ["message"], "chat": ["look"]}],
        ),
        ("dynamicTools is no field", "all 4 tools of this agent", "they are", [WHOLE, NONE]),
        (
            "tool `message` is too new",
            "all 4 tools of this agent",
            "they are",
            [WHOLE, {"": [], "chat": ["look"], "openclaw": ["alpha", "gadget"]}, NONE],
        ),
    ],
)
async def test_a_turn_runs_without_what_codex_refuses_of_its_tools_and_says_so_once(
    tmp_path: Path, word: str, what: str, are: str, tries: list[dict[str, list[str]]]
) -> None:
    gadget = replace(tool("gadget", f"refused: {word}\u202e"), owner="sky")
    async with harness_on_fake(tmp_path) as harness:
        turn = await begun(harness, *SOUND, gadget)
        again = await begun(harness, *SOUND, gadget, text="echo Again.")
        other = await begun(harness, *SOUND, gadget, chat="b")
        results = [await each.result() for each in (turn, again, other)]
        notices = [await notices_of(each) for each in (turn, again, other)]
    assert [result.text for result in results] == ["Yes.", "Again.", "Yes."]
    assert [offered(each) for each in (turn, again, other)] == [tries, [], [tries[-1]]]
    assert notices == [told(what, are, word), [], []]
    names = {name for group in tries[-1].values() for name in group}
    assert set(turn.tools.names) == set(again.tools.names) == names


async def test_a_conversation_keeps_its_thread_over_a_restart_though_some_of_its_tools_were_refused(
    tmp_path: Path,
) -> None:
    gadget = tool("gadget", "refused: tool `gadget` is too new")
    async with bindings_at(tmp_path / "store.sqlite") as store:
        threads: list[str] = []
        for text in ("echo One.", "echo Two."):
            async with harness_on_fake(tmp_path, store) as harness:
                turn = await begun(harness, *SOUND, gadget, text=text)
                threads.append((await turn.result()).conversation)
    assert threads[0] == threads[1]


async def test_a_conversation_that_is_refused_for_something_else_fails_with_that(tmp_path: Path) -> None:
    async with harness_on_fake(tmp_path) as harness:
        turn = await begun(harness, *SOUND, model="no-such-model")
        result, after = await turn.result(), await begun(harness, *SOUND)
    assert (result.outcome, result.failure, "there is no such model" in result.detail) == (
        Outcome.FAILED,
        Failure.REQUEST,
        True,
    )
    assert offered(after) == [{"": ["message"], "chat": ["look"], "openclaw": ["alpha"]}]


def test_a_tool_that_is_named_with_its_group_is_no_other_of_that_name() -> None:
    tools = registered((*SOUND, tool("look")))
    gone = named(tools, "tool `look` of namespace `chat`")
    assert (gone, groups(without(tools, gone).specs)) == (
        {("chat", "look")},
        {"": ["message"], "openclaw": ["alpha", "look"]},
    )
    assert named(tools, "tool look-out") == {
        ("", "message"),
        ("chat", "look"),
        ("openclaw", "alpha"),
        ("openclaw", "look"),
    }
    assert without(tools, gone).fingerprint == tools.fingerprint
