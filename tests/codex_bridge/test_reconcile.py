"""What became of a message, by what a server that is started later has written down of its thread."""

from typing import Any

import pytest

from codex_bridge.client import connected
from codex_bridge.errors import RpcError
from codex_bridge.reconcile import ABSENT, PAGE, Fate, trace
from codex_bridge.rpc import Json, JsonObject, Requested
from tests.support.fake_server import Failure, Reaction, Result, by_method
from tests.support.serving import serving

FIRST: JsonObject = {"type": "userMessage", "id": "m1", "clientId": "telegram:7:1 heard=4"}
INTO: JsonObject = {"type": "userMessage", "id": "m2", "clientId": "telegram:7:2 heard=4"}


def answer(text: str, phase: str | None = None) -> JsonObject:
    return {"type": "agentMessage", "id": "a", "text": text, "phase": phase}


def turn(status: str, *items: JsonObject, turn_id: str = "u1", error: Json = None) -> Any:
    return {"id": turn_id, "status": status, "items": [*items], "error": error}


async def found(turns: list[Any] | Failure, items: Reaction = (), **how: Any) -> tuple[Fate, str, str]:
    """What is found of the first message, as (fate, turn, text)."""
    listed = (turns,) if isinstance(turns, Failure) else (Result({"data": turns}),)
    script = by_method({"thread/turns/list": listed, "thread/items/list": items})
    async with serving(script) as (wire, _), connected(wire) as client:
        seen = await trace(client, "t", how.pop("key", "telegram:7:1"), **how)
    return seen.fate, seen.turn.id if seen.turn is not None else "", seen.text


NO_ITEMS: Reaction = (Result({"data": []}),)


async def test_a_turn_that_came_to_its_end_has_its_answer() -> None:
    assert await found([turn("completed", FIRST, answer("Yes."))]) == (Fate.ENDED, "u1", "Yes.")
    assert await found([turn("completed", FIRST)]) == (Fate.ENDED, "u1", "")
    assert await found([turn("failed", FIRST)]) == (Fate.ENDED, "u1", "")


async def test_a_turn_that_was_cut_off_after_its_final_answer_came_to_its_end() -> None:
    cut = turn("interrupted", FIRST, answer("Yes.", "final_answer"))
    script = by_method({"thread/turns/list": (Result({"data": [cut]}),)})
    async with serving(script) as (wire, _), connected(wire) as client:
        seen = await trace(client, "t", "telegram:7:1")
    assert (seen.fate, seen.turn and seen.turn.status, seen.text) == (Fate.ENDED, "completed", "Yes.")


async def test_a_turn_that_was_cut_off_before_is_unfinished_with_what_was_whole() -> None:
    last = (Result({"data": [{"turnId": "u1", "item": answer("Let me look.")}]}),)
    assert await found([turn("interrupted", FIRST)], last) == (Fate.UNFINISHED, "u1", "Let me look.")
    command = (Result({"data": [{"turnId": "u1", "item": {"type": "commandExecution", "id": "c"}}]}),)
    assert await found([turn("interrupted", FIRST)], command) == (Fate.UNFINISHED, "u1", "")


async def test_a_turn_that_goes_on_elsewhere_runs() -> None:
    assert await found([turn("inProgress", FIRST)]) == (Fate.RUNNING, "u1", "")


async def test_a_turn_is_known_by_its_id_although_its_message_was_not_written_down() -> None:
    assert await found([turn("interrupted")], NO_ITEMS, turn_id="u1") == (Fate.UNFINISHED, "u1", "")
    assert await found([turn("interrupted")], NO_ITEMS) == (Fate.ABSENT, "", "")


async def test_a_message_that_was_said_into_a_turn_is_found_behind_the_first_page() -> None:
    pages: dict[Json, JsonObject] = {
        None: {"data": [{"turnId": "u1", "item": answer("Yes.")}], "nextCursor": "next"},
        "next": {"data": [{"turnId": "u1", "item": INTO}], "nextCursor": None},
    }
    asked: list[JsonObject] = []

    def items(request: Requested) -> tuple[Result]:
        asked.append(dict(request.params))
        return (Result(pages[request.params.get("cursor")]),)

    ended = [turn("completed", FIRST, answer("Yes."))]
    assert await found(ended, items, key="telegram:7:2") == (Fate.ENDED, "u1", "Yes.")
    wanted: JsonObject = {"threadId": "t", "turnId": "u1", "limit": PAGE, "sortDirection": "desc"}
    assert asked == [{**wanted, "cursor": None}, {**wanted, "cursor": "next"}]


async def test_an_older_turn_is_found_among_as_many_as_are_asked_for() -> None:
    later = turn("completed", {**INTO}, answer("Later."), turn_id="u2")
    assert await found([later, turn("completed", FIRST, answer("Yes."))], among=2) == (Fate.ENDED, "u1", "Yes.")


@pytest.mark.parametrize(
    "refusal",
    [
        Failure(-32600, "no rollout found for thread id t"),
        Failure(-32603, "failed to read session metadata"),
        Failure(-32601, "list_turns is not supported yet"),
    ],
)
async def test_a_thread_of_which_nothing_was_written_down_never_had_it(refusal: Failure) -> None:
    assert await found(refusal) == (ABSENT.fate, "", "")


async def test_a_server_that_does_not_tell_is_an_error_and_not_an_absence() -> None:
    with pytest.raises(RpcError, match="database is locked"):
        await found(Failure(-32603, "database is locked"))
