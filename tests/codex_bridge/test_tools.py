"""The agent's tools: how they are registered, and what a call of the model comes to."""

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import anyio
import pytest

from codex_bridge.bridge import HOOKED
from codex_bridge.tool_calls import seconds_for, serve
from codex_bridge.tools import Registrar, registered
from codex_bridge.wire.requests import ToolNamespace
from codex_bridge.wire.server_requests import ToolCall, ToolText
from harness.json_value import Json
from harness.tool_hooks import Changed, Refused, ToolHook, ToolUse, Verdict, missing_hook
from harness.tools import Sent, Tool, ToolPicture, ToolResult
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


async def served(name: str, arguments: object, run: Tool, *hooks: ToolHook) -> tuple[bool, list[str]]:
    result = await serve(call(name, arguments), [run], done=forget, units=5_000, ceiling=5_000, hooks=hooks)
    return result.success, [
        item.text if isinstance(item, ToolText) else item.image_url for item in result.content_items
    ]


async def answer(name: str, arguments: object, run: Tool, *hooks: ToolHook) -> tuple[bool, str]:
    success, (text,) = await served(name, arguments, run, *hooks)
    return success, text


async def test_a_tool_can_end_the_turn_and_is_answered_all_the_same() -> None:
    async def over(_: Mapping[str, Json]) -> ToolResult:
        return ToolResult(False, "It is over.", ends_turn=True)

    told: list[ToolResult] = []
    run = replace(tool("over"), call=over)
    result = await serve(call("over", {}), [run], done=told.append, units=99, ceiling=99)
    assert result.content_items == [ToolText(text="It is over.")]
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
    slow = "ok did not answer within 0.01 s and was stopped; what it did by then stands."
    assert await answer("ok", {}, replace(ok, call=endless, seconds=0.01)) == (False, slow)


async def test_a_tool_that_does_not_stop_holds_up_nobody_and_its_late_result_counts_for_nothing() -> None:
    told: list[ToolResult] = []
    let_go, over = anyio.Event(), anyio.Event()

    async def stubborn(_: Mapping[str, Json]) -> ToolResult:
        try:
            await anyio.sleep_forever()
        except anyio.get_cancelled_exc_class():
            await let_go.wait()
        over.set()
        return ToolResult(True, "Late.", media=("/w/late.png",))

    run = replace(tool("ok"), call=stubborn, seconds=0.01)
    with anyio.fail_after(5):
        result = await serve(call("ok", {}), [run], done=told.append, units=99, ceiling=99)
        let_go.set()
        await over.wait()
    assert (result.success, told) == (False, [])


@pytest.mark.parametrize(
    ("own", "arguments", "seconds"),
    [
        (None, {}, 90),
        (None, {"timeoutSeconds": 100}, 130),
        (None, {"timeoutMs": 250_000}, 280),
        (None, {"timeoutSeconds": 5}, 90),
        (None, {"timeoutSeconds": -5}, 90),
        (None, {"timeoutSeconds": 3_000}, 600),
        (None, {"other": 300}, 90),
        (20, {}, 20),
        (20, {"timeoutSeconds": 5}, 35),
        (900, {}, 600),
    ],
)
def test_a_call_has_the_time_that_the_tool_or_the_model_says_and_some_more(
    own: float | None, arguments: dict[str, Json], seconds: float
) -> None:
    """H2."""
    number: Json = {"type": "number"}
    schema: dict[str, Json] = {"type": "object", "properties": {"timeoutSeconds": number, "timeoutMs": number}}
    assert seconds_for(replace(tool("ok", schema=schema), seconds=own), arguments) == seconds
    assert seconds_for(replace(tool("ok"), seconds=own), arguments) == min(own or 90, 600)


WANTS: dict[str, Json] = {
    "type": "object",
    "properties": {
        "id": {"type": "string"},
        "at": {"type": "array", "items": [{"type": "number"}, {"type": "number"}]},
        "sub": {"type": "object", "properties": {"kind": {"const": "a"}}},
        "many": {"type": "array", "items": {"type": "integer", "minimum": 1}},
    },
    "required": ["id"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("arguments", "wrong"),
    [
        ({"id": 47}, """'id' of its arguments is wrong: 47 is not of type "string"."""),
        ({}, """its arguments are wrong: "id" is a required property."""),
        (
            {"id": "a", "x": 1},
            "its arguments are wrong: Additional properties are not allowed ('x' was unexpected).",
        ),
        ({"id": "a", "at": [1, "b"]}, """'at[1]' of its arguments is wrong: "b" is not of type "number"."""),
        ({"id": "a", "sub": {"kind": "b"}}, """'sub.kind' of its arguments is wrong: "a" was expected."""),
        (
            {"id": 1, "many": [0]},
            """'id' of its arguments is wrong: 1 is not of type "string" (and 1 more).""",
        ),
        (
            {"id": "a", "many": [0] * 100_000},
            "'many[0]' of its arguments is wrong: 0 is less than the minimum of 1 (and at least 19 more).",
        ),
    ],
)
async def test_a_tool_is_not_called_with_other_arguments_than_its_own_schema_allows(
    arguments: dict[str, Json], wrong: str
) -> None:
    """H11; a list of items, which Codex is not told of, is checked too."""

    async def not_called(_: Mapping[str, Json]) -> ToolResult:
        raise NotImplementedError

    run = replace(tool("ok", schema=WANTS), call=not_called)
    assert await answer("ok", arguments, run) == (False, f"ok was not called, as {wrong}")


async def test_a_tool_whose_arguments_cannot_be_checked_is_not_called() -> None:
    broken: dict[str, Json] = {"type": "object", "properties": {"a": {"pattern": "("}}}
    told = "ok cannot be called: its arguments cannot be checked (ValidationError)."
    assert await answer("ok", {}, tool("ok", schema=broken)) == (False, told)


async def test_a_call_goes_to_the_tool_of_its_group() -> None:
    async def chats(_: Mapping[str, Json]) -> ToolResult:
        return ToolResult(True, "chat")

    tools = [tool("look"), replace(tool("look"), namespace="chat", call=chats)]
    said: list[str] = []
    for group in (None, "chat", "openclaw"):
        wanted = call("look", {}).model_copy(update={"namespace": group})
        result = await serve(wanted, tools, done=forget, units=99, ceiling=99)
        said += [item.text for item in result.content_items if isinstance(item, ToolText)]
    assert said == ["got {}", "chat", "got {}"]


PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + b"\0" * 17 + b"\0\0\0\0IEND\xaeB`\x82"


async def test_pictures_reach_the_model_where_they_are_some_and_a_word_in_place_of_others() -> None:
    """H6."""
    given = (PNG, b"not a picture", PNG[:30], b"\xff\xd8\xff" + b"\0" * 5_000_000 + b"\xff\xd9")
    pictures = tuple(ToolPicture("image/jpeg", data) for data in given)

    async def draws(_: Mapping[str, Json]) -> ToolResult:
        return ToolResult(True, "Drawn.", pictures=pictures)

    none = "it is no whole PNG, JPEG, GIF or WebP picture"
    assert await served("ok", {}, replace(tool("ok"), call=draws)) == (
        True,
        [
            "Drawn.",
            f"data:image/png;base64,{base64.b64encode(PNG).decode()}",
            f"[picture 2 of 4 is not shown: {none}]",
            f"[picture 3 of 4 is not shown: {none}]",
            "[picture 4 of 4 is not shown: it has 5,000,005 bytes, and at most 5,000,000 are shown]",
        ],
    )


@dataclass
class Rule:
    """A hook that does what a test says."""

    verdict: Verdict | Exception = None
    result: ToolResult | Exception | None = None
    name: str = "rule"
    required: bool = True
    covers: frozenset[str] = frozenset({"tools"})

    async def before(self, use: ToolUse) -> Verdict:
        if isinstance(self.verdict, Exception):
            raise self.verdict
        return self.verdict

    async def after(self, use: ToolUse, result: ToolResult) -> ToolResult:
        if isinstance(self.result, Exception):
            raise self.result
        return self.result or replace(result, text=f"{result.text} by {use.arguments['id']}")


@pytest.mark.parametrize(
    ("rule", "success", "text"),
    [
        (Rule(), True, "got {'id': 'a'} by a"),
        (Rule(Refused("Not on Sundays.")), False, "Not on Sundays."),
        (Rule(Changed({"id": "b"})), True, "got {'id': 'b'} by b"),
        (
            Rule(Changed({"id": 4})),
            False,
            "A rule of the gateway changed this call, and then ok was not called, as 'id' of its arguments is wrong: "
            """4 is not of type "string".""",
        ),
        (Rule(OSError("x")), False, "ok was not called: a rule of the gateway could not be applied."),
        (Rule(result=OSError("x")), True, "got {'id': 'a'}"),
        (Rule(result=ToolResult(False, "Hidden.")), False, "Hidden."),
    ],
)
async def test_a_hook_may_refuse_change_and_answer_and_one_that_breaks_keeps_the_call_from_being_made(
    rule: Rule, success: bool, text: str
) -> None:
    assert await answer("ok", {"id": "a"}, tool("ok", schema=WANTS), rule) == (success, text)


async def test_what_a_tool_sent_is_told_whatever_a_hook_makes_of_the_result() -> None:
    sent = (Sent(channel="telegram", chat="7", text="Hi."),)

    async def sends(_: Mapping[str, Json]) -> ToolResult:
        return ToolResult(True, "Sent.", sent=sent)

    told: list[ToolResult] = []
    run, rule = replace(tool("ok"), call=sends), Rule(result=ToolResult(True, "Hidden."))
    await serve(call("ok", {}), [run], done=told.append, units=99, ceiling=99, hooks=(rule,))
    assert told == [ToolResult(True, "Hidden.", sent=sent)]


def test_a_required_hook_that_cannot_see_what_it_has_to_is_missed() -> None:
    """H12."""
    both = frozenset({"tools", "commands"})
    rules = (Rule(), Rule(name="lax", covers=both, required=False), Rule(name="guard", covers=both))
    assert missing_hook(rules[:2], HOOKED) == ""
    assert missing_hook(rules, HOOKED) == (
        "The hook guard is required and cannot see commands here, so the turn was not run."
    )


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
    result = await serve(call("ok", {}), [run], done=forget, units=units, ceiling=ceiling)
    (item,) = result.content_items
    assert isinstance(item, ToolText)
    shown, _, told = item.text.rpartition("\n")
    assert (result.success, told) == (True, "[cut: the whole has 60,000 UTF-16 units; ask for less at a time]")
    assert shown == piece * len(shown)
    assert most - 2 < utf16_units(item.text) <= most
    assert len(item.text.encode()) <= ceiling
