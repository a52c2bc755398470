"""The agent's tools: how they are registered, and what a call of the model comes to."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import anyio
import pytest

from codex_bridge.tool_calls import serve
from codex_bridge.tools import Registrar, registered
from codex_bridge.wire.requests import ToolNamespace
from codex_bridge.wire.server_requests import ToolCall
from harness.json_value import Json
from harness.tools import Tool, ToolResult
from harness.units import utf16_units
from tests.support.odd_tools import KEPT, LEFT_OUT, OFFERED, SCHEMA, groups, tool

BASE = (tool("message"), tool("cron", "For Telegram."), tool("heartbeat_respond"))


def test_some_tools_are_shown_at_once_and_the_others_are_found() -> None:
    found = registered((tool("zeta"), tool("memory_get"), tool("alpha"), tool("exec"), tool("READ")))
    wire = [spec.to_wire() for spec in found.specs]
    assert wire == [
        {"type": "function", "name": "memory_get", "description": "Does a thing.", "inputSchema": SCHEMA},
        {
            "type": "namespace",
            "name": "openclaw",
            "description": "Tools of the gateway that this agent runs in.",
            "tools": [
                {"type": "function", "name": name, "description": "Does a thing.", "inputSchema": SCHEMA,
                 "deferLoading": True}
                for name in ("alpha", "zeta")
            ],
        },
    ]  # fmt: skip
    assert (found.problems, found.kept) == ((), 3)


def test_all_can_be_shown_and_some_left_out() -> None:
    found = registered((tool("alpha"), tool("cron")), direct=True, exclude=(" CRON ",))
    assert [spec.name for spec in found.specs] == ["alpha"]
    assert not any(isinstance(spec, ToolNamespace) for spec in found.specs)


def test_tools_that_are_the_same_turn_after_turn_are_worked_out_once_and_others_anew() -> None:
    async def answers_otherwise(_: Mapping[str, Json]) -> ToolResult:
        return ToolResult(True, "another turn's answer")

    registrar = Registrar(exclude=("beta",))
    first = registrar.registered((tool("alpha"), tool("beta")))
    again = registrar.registered((replace(tool("alpha"), call=answers_otherwise), tool("beta")))
    assert first == registered((tool("alpha"), tool("beta")), exclude=("beta",))
    assert again is first
    bare: dict[str, Json] = {"type": "object"}  # each differs from the one before it in one thing
    others = (
        (tool("a"),),
        (tool("a", schema=bare),),
        (tool("a", "Does more.", bare),),
        (tool("b", "Does more.", bare),),
    )
    assert [registrar.registered(each) for each in others] == [registered(each) for each in others]


def test_bad_tools_are_left_out_each_with_its_owner_and_a_reason_and_cost_no_other() -> None:
    """T11."""
    found = registered(OFFERED)
    assert groups(found.specs) == KEPT
    assert list(found.problems) == LEFT_OUT
    kept = [each for each in OFFERED if each.name in {"message", "web_search", "grid", "look", "read_all"}]
    assert found.fingerprint == registered([*kept, tool("notes")]).fingerprint
    grid = next(each for spec in found.specs for each in getattr(spec, "tools", [spec]) if each.name == "grid")
    assert grid.input_schema["properties"]["p"]["items"] == {"type": "number"}


def test_what_is_wrong_with_tools_is_told_once_and_what_is_wrong_besides_when_it_comes() -> None:
    registrar = Registrar()
    told: list[tuple[str, ...]] = []
    bad, worse = (*BASE, tool("a b")), (*BASE, tool("a b"), tool("c d"))
    for offered in (bad, bad, OFFERED, OFFERED, bad, (), bad, worse):
        registrar.registered(offered)
        told.append(registrar.untold())
    problems = [registered(each).problems for each in (bad, OFFERED, worse)]
    assert told == [problems[0], (), problems[1], (), (), (), (), problems[2]]


def test_tools_that_none_can_be_registered_of_leave_nothing() -> None:
    """T11: no key for tools then, and a fingerprint as of none."""
    found, registrar = registered((tool("a b"),)), Registrar()
    registrar.registered((tool("a b"),))
    assert registrar.untold() == found.problems != ()
    assert (found.specs, found.names, found.fingerprint, found.kept) == ((), (), "", 0)


def test_a_tool_with_a_name_of_codexs_own_stands_in_a_group_also_when_all_are_shown() -> None:
    found = registered((tool("exec_command"), tool("view_image"), tool("alpha")), direct=True)
    assert groups(found.specs) == {"": ["alpha"], "openclaw": ["exec_command", "view_image"]}
    inner = next(spec for spec in found.specs if isinstance(spec, ToolNamespace)).tools
    assert [each.defer_loading for each in inner] == [None, None]


def test_a_name_may_stand_in_several_groups() -> None:
    found = registered((tool("look"), replace(tool("look"), namespace="chat"), tool("message")))
    assert groups(found.specs) == {"": ["message"], "chat": ["look"], "openclaw": ["look"]}
    assert (found.names, found.kept) == (("look", "message"), 3)
    assert found.fingerprint != registered((tool("look"), tool("message"))).fingerprint


def test_the_fingerprint_knows_names_and_schemas_alone() -> None:
    """T04, rows 1 to 4 and 7."""

    def fingerprint(tools: Sequence[Tool]) -> str:
        return registered(tools).fingerprint

    same = fingerprint(BASE)
    turned: dict[str, Json] = {"properties": SCHEMA["properties"], "type": "object"}
    assert fingerprint(tuple(reversed(BASE))) == same
    assert fingerprint(tuple(replace(each, input_schema=turned) for each in BASE)) == same
    assert fingerprint((BASE[0], tool("cron", "For the admin console."), BASE[2])) == same
    described: dict[str, Json] = {"type": "object", "properties": {"text": {"type": "string", "description": "Other."}}}
    assert fingerprint((tool("message", schema=described), *BASE[1:])) == same
    needs: dict[str, Json] = {**SCHEMA, "required": ["text"]}
    assert fingerprint((BASE[0], tool("cron", schema=needs), BASE[2])) != same
    assert fingerprint(()) == ""


def call(name: str, arguments: object) -> ToolCall:
    return ToolCall.model_validate(
        {"threadId": "t", "turnId": "u", "callId": "c", "tool": name, "arguments": arguments}
    )


def forget(_: ToolResult) -> None:
    """What a tool came to is nothing to this test."""


async def answer(name: str, arguments: object, run: Tool, *, seconds: float = 5) -> tuple[bool, str]:
    result = await serve(
        call(name, arguments), {run.name: run}, done=forget, units=5_000, ceiling=5_000, seconds=seconds
    )
    (item,) = result.content_items
    return result.success, item.text


async def test_a_tool_can_end_the_turn_and_is_answered_all_the_same() -> None:
    async def over(_: Mapping[str, Json]) -> ToolResult:
        return ToolResult(False, "It is over.", ends_turn=True)

    told: list[ToolResult] = []
    run = replace(tool("over"), call=over)
    result = await serve(call("over", {}), {"over": run}, done=told.append, units=99, ceiling=99)
    assert [item.text for item in result.content_items] == ["It is over."]
    assert told == [ToolResult(False, "It is over.", ends_turn=True)]


async def test_a_call_is_answered_whatever_the_tool_does() -> None:
    async def broken(_: Mapping[str, Json]) -> ToolResult:
        raise OSError("secret path")

    async def endless(_: Mapping[str, Json]) -> ToolResult:
        await anyio.sleep_forever()
        raise NotImplementedError

    ok = tool("ok")
    assert await answer("ok", {"text": "a"}, ok) == (True, "got {'text': 'a'}")
    assert await answer("other", {}, ok) == (False, "There is no tool called other on this turn.")
    assert await answer("ok", [1], ok) == (False, "The arguments of ok must be an object.")
    failed = "ok failed; the gateway's log has the details."
    assert await answer("ok", {}, replace(ok, call=broken)) == (False, failed)
    slow = "ok did not answer within 0.01 s and was stopped."
    assert await answer("ok", {}, replace(ok, call=endless), seconds=0.01) == (False, slow)


@pytest.mark.parametrize(
    ("piece", "units", "ceiling", "most"),
    [
        ("x", 80, 48_000, 80),
        ("x", 1_000_000, 48_000, 48_000),
        ("🧭", 80, 48_000, 80),
        ("🧭", 1_000_000, 48_000, 24_000),
        ("é", 48_000, 48_000, 24_000),
    ],
)
async def test_a_long_answer_is_cut_once_between_characters_and_says_its_whole_length(
    piece: str, units: int, ceiling: int, most: int
) -> None:
    whole = piece * (60_000 // utf16_units(piece))

    async def long(_: Mapping[str, Json]) -> ToolResult:
        return ToolResult(success=True, text=whole)

    run = replace(tool("ok"), call=long)
    result = await serve(call("ok", {}), {"ok": run}, done=forget, units=units, ceiling=ceiling)
    (item,) = result.content_items
    shown, _, told = item.text.rpartition("\n")
    assert (result.success, told) == (True, "[cut: the whole has 60,000 UTF-16 units; ask for less at a time]")
    assert shown == piece * len(shown)
    assert most - 2 < utf16_units(item.text) <= most
    assert len(item.text.encode()) <= ceiling
