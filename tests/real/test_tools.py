"""The agent's tools on the real binary, and conversations that keep them."""

import base64
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import cast

import anyio
import pytest

from codex_bridge.binary import CodexBinary
from codex_bridge.catalogue import CatalogueMode
from codex_bridge.loopback.recorder import RecordedRequest
from codex_bridge.loopback.script import Action, CallTool, Reply, always, in_turn, say
from codex_bridge.rpc import JsonObject
from codex_bridge.turn import CodexTurn
from codex_bridge.wire.requests import ThreadStartParams
from harness.json_value import Json
from harness.memory.index import MemoryIndex
from harness.plain import plain_settings
from harness.settings.agent import ToolSettings
from harness.settings.excerpts import ExcerptLimits
from harness.standard_tools import StandardTools
from harness.tool_hooks import ToolUse, Verdict
from harness.toolbox import Toolbox, ToolTurn, Without
from harness.tools import Sent, Tool, ToolPicture, ToolResult
from harness.turns import Failure, Outcome, PlanChanged, PlanStep, ToolFinished, ToolStarted
from harness.units import utf16_units
from tests.support.real import (
    Stage,
    beat_of,
    count,
    events_of,
    group_message,
    message,
    notices_of,
    places,
    quoted,
    stage,
)


@pytest.fixture
def standard(workspace: Path, tmp_path: Path) -> Iterator[Toolbox]:
    with ExitStack() as stack:
        index = stack.enter_context(MemoryIndex(tmp_path))
        yield StandardTools(plain_settings(workspace), index)


def outputs(request: RecordedRequest) -> list[str]:
    return [part.text for part in request.parts() if part.kind == "function_call_output"]


def skill(workspace: Path, folder: str, name: str, marker: str) -> None:
    path = workspace / folder / name / "SKILL.md"
    path.parent.mkdir(parents=True)
    path.write_text(f"---\nname: {name}\ndescription: {marker} lookup\n---\nLook.", encoding="utf-8")


async def test_with_memory_tools_the_memory_is_pointed_to_and_never_quoted(
    codex: CodexBinary, state: Path, workspace: Path, standard: Toolbox
) -> None:
    """T01."""
    skill(workspace, "skills", "weather", "SKILL_M88")
    skill(workspace, ".agents/skills", "tides", "SKILL_M89")
    async with stage(codex, state, workspace, always(say("Yes.")), toolbox=standard) as play:
        turn = await play.begin("hi Pell")
        await turn.result()
    (request,) = play.model.requests
    markers = ("AGENTS_M11", "TOOLS_M55", "SOUL_M22", "IDENT_M33", "USER_M44", "SKILL_M88", "SKILL_M89", "hi Pell")
    assert [places(request, marker) for marker in markers] == [
        ["user"], ["developer"], ["mode"], ["mode"], ["mode"], ["mode"], ["mode"], ["user"]
    ]  # fmt: skip
    assert [count(request, marker) for marker in ("MEM_M77", "HEART_M66", f"{workspace}/MEMORY.md")] == [0, 0, 1]
    names = {tool["name"] for tool in request.body["tools"] if isinstance(tool, dict) and "name" in tool}  # type: ignore[union-attr]
    assert {"memory_search", "memory_get", "heartbeat_respond"} <= names
    assert turn.sent[0].to_wire()["personality"] == "none"


async def test_without_memory_tools_the_memory_is_quoted_once_before_the_words(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    """T01 b: in the input, and within the limit of a file."""
    (workspace / "MEMORY.md").write_text("MEM_M77 The boat is blue.\n" + "It floats. " * 4_000, encoding="utf-8")
    async with stage(codex, state, workspace, always(say("Yes."))) as play:
        turn = await play.begin("hi Pell")
        await turn.result()
        await play.ask("and now", number="2")
    first, second = play.model.requests
    assert [count(request, "MEM_M77") for request in (first, second)] == [1, 1]
    (quoted,) = (part for part in first.parts() if "MEM_M77" in part.text)
    context, words = (part["text"] for part in turn.sent[-1].to_wire()["input"])  # type: ignore[index, union-attr, call-overload]
    assert (quoted.text, words) == (context, "hi Pell")
    assert 19_000 < utf16_units(quoted.text) < 21_500


async def test_one_memory_tool_is_enough_for_a_pointer(
    codex: CodexBinary, state: Path, workspace: Path, standard: Toolbox
) -> None:
    """T01 c."""
    without = Without(standard, ["memory_search"])
    async with stage(codex, state, workspace, always(say("Yes.")), toolbox=without) as play:
        await play.ask("hi Pell")
    (request,) = play.model.requests
    assert [count(request, marker) for marker in ("MEM_M77", f"{workspace}/MEMORY.md")] == [0, 1]
    assert places(request, f"{workspace}/MEMORY.md") == ["mode"]


async def test_the_owner_looks_things_up_and_a_group_does_not(
    codex: CodexBinary, state: Path, workspace: Path, standard: Toolbox
) -> None:
    search = Reply((CallTool("memory_search", {"query": "boat"}),))
    script = in_turn([search, say("Blue."), search, say("I may not say.")])
    async with stage(codex, state, workspace, script, toolbox=standard) as play:
        events = await events_of(await play.begin("which colour is the boat?"))
        await (await play.agent.receive(group_message("which colour is the boat?"))).result()
    owner, group = outputs(play.model.requests[1]), outputs(play.model.requests[3])
    assert "MEM_M77 The boat is blue." in owner[0]
    assert "MEM_M77" not in "".join(group)
    assert "this is a group" in group[-1]  # on 0.171 the names of a group come as an output too
    assert [event for event in events if isinstance(event, ToolStarted | ToolFinished)] == [
        ToolStarted("call_1", "memory_search"),
        ToolFinished("call_1", "memory_search", True),
    ]


async def test_ten_small_turns_do_not_grow_the_thread(
    codex: CodexBinary, state: Path, workspace: Path, standard: Toolbox
) -> None:
    """T02: nothing but the user's words is added to the input of a turn, and the mode's text stays as it is."""
    (workspace / "SOUL.md").write_text(f"SOUL_M22 {'Dry but kind. ' * 290}"[:4000], encoding="utf-8")
    for number in range(20):
        skill(workspace, "skills", f"skill-{number}", f"SKILL_M88 {'x' * 280}")
    asked = [f"ping {number}" for number in range(1, 11)]
    requests: list[tuple[str, JsonObject]] = []
    recorded: list[RecordedRequest] = []
    for texts in (asked[:5], asked[5:]):  # a restart in the middle
        async with stage(codex, state, workspace, always(say("pong")), toolbox=standard) as play:
            for text in texts:
                turn = await play.begin(text, number=text)
                await turn.result()
                requests += [(sent.method, sent.to_wire()) for sent in turn.sent]
        recorded += play.model.requests
    methods = [method for method, _ in requests]
    assert methods == ["thread/start", *["turn/start"] * 5, "thread/resume", *["turn/start"] * 5]
    opened = [params["developerInstructions"] for method, params in requests if method != "turn/start"]
    turns = [params for method, params in requests if method == "turn/start"]
    assert opened[0] == opened[1]
    assert [params["input"] for params in turns] == [[{"type": "text", "text": text}] for text in asked]
    assert all(params["collaborationMode"] == turns[0]["collaborationMode"] for params in turns)
    assert [request.parts()[-1].text for request in recorded] == asked
    for before, after in pairwise(recorded):
        assert after.input[: len(before.input)] == before.input
        assert [part.text for part in after.parts()[len(before.parts()) :]] == ["pong", after.parts()[-1].text]
    last = recorded[-1]
    assert [count(last, marker) for marker in ("SOUL_M22", "SKILL_M88", "TOOLS_M55", "AGENTS_M11")] == [1, 20, 1, 1]


async def test_a_heartbeat_stays_on_its_turn_and_on_the_same_thread(
    codex: CodexBinary, state: Path, workspace: Path, standard: Toolbox
) -> None:
    """T03."""
    quiet: Json = {"outcome": "no_change", "notify": False, "summary": "All is well."}
    script = in_turn([say("A."), Reply((CallTool("heartbeat_respond", quiet),)), say("Done."), say("B.")])
    async with stage(codex, state, workspace, script, toolbox=standard) as play:
        first = await play.begin("a", number="1")
        await first.result()
        beat = await play.agent.heartbeat(beat_of("Heartbeat check.", first), key="beat:1")
        await beat.turn.result()
        last = await play.begin("b", number="2")
        await last.result()
    assert beat.responder is not None
    assert beat.responder.answer is not None
    assert beat.responder.answer.summary == "All is well."
    turns = (first, beat.turn, last)
    assert {turn.buffer.result.conversation for turn in turns if turn.buffer.result} == {first.ledger.thread_id}  # type: ignore[union-attr]
    assert [[sent.method for sent in turn.sent] for turn in turns] == [
        ["thread/start", "turn/start"], ["turn/start"], ["turn/start"]
    ]  # fmt: skip
    texts = [turn.lanes.turn_developer or "" for turn in turns]
    assert ["heartbeat_respond" in text for text in texts] == [False, True, False]
    assert [text.count(f"{workspace}/HEARTBEAT.md") for text in texts] == [0, 1, 0]
    assert not any(token in text for text in texts for token in ("HEARTBEAT_OK", "NO_REPLY", "HEART_M66"))
    assert len({tuple(tool.name for tool in turn.request.tools) for turn in turns}) == 1


async def test_a_chat_with_nothing_to_say_leaves_the_mode_to_codex_before_and_after_a_heartbeat(
    codex: CodexBinary, state: Path, tmp_path: Path
) -> None:
    """T03: null and never an empty text; without the tool the heartbeat is answered by a token, and names no tool."""
    bare = tmp_path / "bare"
    bare.mkdir()
    script = in_turn([say("A."), say("38 degrees!"), say("B.")])
    async with stage(codex, state, bare, script) as play:
        first = await play.begin("a", number="1")
        await first.result()
        beat = await play.agent.heartbeat(beat_of("Check.", first), key="b:1")
        await beat.turn.result()
        last = await play.begin("b", number="2")
        await last.result()
    modes = [turn.sent[-1].to_wire()["collaborationMode"] for turn in (first, beat.turn, last)]
    texts = [mode["settings"]["developer_instructions"] for mode in modes]  # type: ignore[index, call-overload]
    assert (texts[0], texts[2]) == (None, None)
    assert isinstance(texts[1], str)
    assert "heartbeat_respond" not in texts[1]
    assert [sent.method for turn in (first, beat.turn, last) for sent in turn.sent] == [
        "thread/start",
        *["turn/start"] * 3,
    ]
    # The heartbeat stays, as it had something to tell: Codex's own text of the mode takes its guidance's place.
    said = [part.text for part in play.model.requests[-1].parts() if part.text.startswith("<collaboration_mode>")]
    assert "# Heartbeat" in said[-2]
    assert "# Heartbeat" not in said[-1]
    assert said[-1] != "<collaboration_mode></collaboration_mode>"


NOTHING: Json = {"outcome": "no_change", "notify": False, "summary": "All is well."}
NEWS: Json = {"outcome": "needs_attention", "notify": True, "summary": "It is hot.", "notificationText": "38 degrees!"}
LOOK = CallTool("exec_command", {"cmd": "cat HEARTBEAT.md"}, call_id="look")
WRITE = CallTool("exec_command", {"cmd": "touch written"}, call_id="write")


@pytest.mark.parametrize(
    ("steps", "answer", "vanishes"),
    [
        ((LOOK,), NOTHING, True),
        ((), NOTHING, True),
        ((LOOK,), NEWS, False),
        ((WRITE,), NOTHING, False),
        ((CallTool("memory_search", {"query": "boat"}, call_id="ask"),), NOTHING, True),
        ((CallTool("spawn_agent", {"message": "look"}, namespace="multi_agent_v1", call_id="s"),), NOTHING, False),
    ],
    ids=["looks", "does nothing", "has news", "writes", "asks the memory", "starts a subagent"],
)
async def test_a_quiet_heartbeat_leaves_no_trace_and_any_other_stays(
    codex: CodexBinary, state: Path, workspace: Path, standard: Toolbox, steps: tuple[CallTool, ...], answer: Json,
    vanishes: bool,
) -> None:  # fmt: skip
    """Spec 2: history, the state of the mode and the cached beginning are as before."""
    beats = iter([*(Reply((step,)) for step in steps), Reply((CallTool("heartbeat_respond", answer),)), say("Done.")])

    def script(request: RecordedRequest) -> Action:
        if request.headers.get("x-openai-subagent"):
            return say("Counted.")
        last = request.parts()[-1]
        return say("Yes.") if last.text in ("one", "two", "three") else next(beats, say("Done."))

    async with stage(codex, state, workspace, script, toolbox=standard) as play:
        first = await play.begin("one", number="1")
        await first.result()
        beat = await play.agent.heartbeat(beat_of("Heartbeat check.", first), key="beat:1")
        ended = await beat.turn.result()
        for number, text in (("2", "two"), ("3", "three")):
            await play.ask(text, number=number)
    main = [each for each in play.model.requests if not each.headers.get("x-openai-subagent")]
    one, *_, two, three = main
    assert ended.outcome is Outcome.ANSWERED
    assert len(ended.evidence.commands) == sum(step.name == "exec_command" for step in steps)
    assert ended.evidence.messages == 1
    assert ("Heartbeat check." in [part.text for part in two.parts()]) is not vanishes
    assert two.input[: len(one.input)] == one.input
    assert three.input[: len(two.input)] == two.input
    assert count(two, "SOUL_M22") == count(three, "SOUL_M22") == (1 if vanishes else 3)
    assert (workspace / "written").exists() is (WRITE in steps)


LONG_PERSONA = "SOUL_M22 " + "You say what you mean, once. " * 200
LONG_TASKS = "HEART_M66 " + "Look at every one of the ferns. " * 250


@pytest.mark.parametrize(
    ("catalogue", "persona", "tasks", "vanishes"),
    [
        ("auto", LONG_PERSONA, "HEART_M66", True),
        ("untouched", LONG_PERSONA, "HEART_M66", False),
        ("untouched", LONG_PERSONA, LONG_TASKS, True),
    ],
)
async def test_a_quiet_heartbeat_of_a_gpt6_model_is_taken_back_only_when_that_costs_less(
    codex: CodexBinary, state: Path, workspace: Path, standard: Toolbox, catalogue: CatalogueMode, persona: str,
    tasks: str, vanishes: bool,
) -> None:  # fmt: skip
    """Where the persona travels as additional context, a revert has the server say all of it again."""
    (workspace / "SOUL.md").write_text(persona, "utf-8")
    (workspace / "HEARTBEAT.md").write_text(tasks, "utf-8")
    answer = Reply((CallTool("heartbeat_respond", NOTHING),))
    script = in_turn([say("A."), Reply((LOOK,)), answer, say("Done."), say("B.")])
    async with stage(codex, state, workspace, script, toolbox=standard, model="gpt-6-sol", catalogue=catalogue) as play:
        first = await play.begin("one", number="1")
        await first.result()
        beat = await play.agent.heartbeat(beat_of("Heartbeat check.", first), key="beat:1")
        await beat.turn.result()
        await play.ask("two", number="2")
    last = play.model.requests[-1]
    added = catalogue == "untouched"
    assert (beat.turn.vanished, count(last, "Heartbeat check.") == 0) == (vanishes, vanishes)
    assert count(last, "SOUL_M22") == (2 if added and vanishes else 1)
    assert count(last, "What was said under this name holds no longer.") == (2 if added and not vanishes else 0)


class Shop:
    """Three tools of a gateway, as a test changes them."""

    def __init__(self) -> None:
        self.tools: list[Tool] = [tool("message", "text"), tool("cron", "when"), tool("heartbeat_respond", "notify")]
        self.closed: set[str] = set()

    @property
    def names(self) -> frozenset[str]:
        return frozenset(each.name for each in self.tools)

    def for_turn(self, turn: ToolTurn) -> tuple[Tool, ...]:
        del turn
        return tuple(replace(each, call=_refuse) if each.name in self.closed else each for each in self.tools)


async def _refuse(_: Mapping[str, Json]) -> ToolResult:
    return ToolResult(success=False, text="This tool is not available on this turn.")


async def _done(_: Mapping[str, Json]) -> ToolResult:
    return ToolResult(success=True, text="Done.")


def tool(name: str, field: str, description: str = "For Telegram.", *, required: bool = False) -> Tool:
    schema: dict[str, Json] = {"type": "object", "properties": {field: {"type": "string"}}}
    return Tool(name, description, {**schema, "required": [field]} if required else schema, _done)


async def test_a_conversation_keeps_its_thread_while_its_tools_are_the_same(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    """T04."""
    shop = Shop()
    use = Reply((CallTool("message", {"text": "hi"}),))

    def script(request: RecordedRequest) -> Action:
        return use if request.parts()[-1].text == "use it" else say("Yes.")

    turns: dict[str, CodexTurn] = {}

    async def turn(play: Stage, change: str, text: str = "hi") -> str:
        turns[change] = await play.begin(text, number=change)
        return (await turns[change].result()).conversation

    threads: list[str] = []
    async with stage(codex, state, workspace, script, toolbox=shop) as play:
        threads.append(await turn(play, "base"))
        shop.tools.reverse()
        threads.append(await turn(play, "order"))
        shop.tools = [replace(each, input_schema=_reversed(each.input_schema)) for each in shop.tools]
        threads.append(await turn(play, "keys"))
        shop.tools = [replace(each, description="For the admin console.") for each in shop.tools]
        threads.append(await turn(play, "description"))
        base, shop.tools = shop.tools, []
        bare = await turn(play, "none", "maintenance")
        shop.tools = base
        threads.append(await turn(play, "again"))
        shop.closed = {"message"}
        threads.append(await turn(play, "closed", "use it"))
        shop.closed = set()
        threads.append(await turn(play, "open", "use it"))
    ends = [request.parts()[-1] for request in play.model.requests]
    refused, served = (part.text for part in ends if part.kind == "function_call_output" and part.text[:1] in "TD")
    assert (refused, served) == ("This tool is not available on this turn.", "Done.")
    async with stage(codex, state, workspace, script, toolbox=shop) as later:
        threads.append(await turn(later, "restarted"))
        shop.tools = [tool("cron", "when", required=True), *(each for each in base if each.name != "cron")]
        rotated = await turn(later, "required")
        after = await turn(later, "required since")
    assert len({*threads, bare, rotated}) == 3
    assert (len(set(threads)), rotated) == (1, after)
    starts = {
        change: params.ephemeral
        for change, each in turns.items()
        for params in (sent.params for sent in each.sent)
        if isinstance(params, ThreadStartParams)
    }
    assert starts == {"base": None, "none": True, "required": None}
    told = {change: "".join(quoted(each)) for change, each in turns.items() if quoted(each)}
    assert {change: text.count("They wrote:") for change, text in told.items()} == {
        "none": 4,
        "again": 1,
        "required": 9,
    }
    assert "> maintenance" in told["again"]
    assert [await notices_of(turns[change]) for change in ("none", "required", "required since")] == [
        ["This turn has no tools, so it runs in a thread of its own; the conversation keeps its own."],
        ["The agent's tools have changed, so this conversation goes on in a new thread."],
        [],
    ]


def _reversed(schema: Mapping[str, Json]) -> dict[str, Json]:
    return {name: _reversed(value) if isinstance(value, dict) else value for name, value in [*schema.items()][::-1]}


async def test_a_tool_that_never_answers_ends_with_its_turn(codex: CodexBinary, state: Path, workspace: Path) -> None:
    shop = Shop()
    called, gone = anyio.Event(), anyio.Event()

    async def endless(_: Mapping[str, Json]) -> ToolResult:
        called.set()
        try:
            await anyio.sleep_forever()
        finally:
            gone.set()
        raise NotImplementedError

    shop.tools[0] = replace(shop.tools[0], call=endless)
    script = in_turn([Reply((CallTool("message", {}),)), say("Fine.")])
    async with stage(codex, state, workspace, script, toolbox=shop) as play:
        turn = await play.begin("first", number="1")
        await called.wait()
        await turn.interrupt()
        await gone.wait()
        after = await play.ask("second", number="2")
    assert (await turn.result()).outcome is Outcome.INTERRUPTED
    assert after.text == "Fine."


async def test_what_tools_send_and_make_is_told_with_the_turn(codex: CodexBinary, state: Path, workspace: Path) -> None:
    shop, sent = Shop(), Sent(channel="telegram", chat="7", text="On my way.")

    async def sends(_: Mapping[str, Json]) -> ToolResult:
        return ToolResult(True, "Sent.", sent=(sent,))

    async def draws(_: Mapping[str, Json]) -> ToolResult:
        return ToolResult(True, "Drawn.", media=("/w/boat.png",))

    message, _, respond = shop.tools
    shop.tools = [replace(message, call=sends), replace(respond, call=draws)]
    both = Reply((CallTool("message", {}, call_id="a"), CallTool("heartbeat_respond", {}, call_id="b")))
    async with stage(codex, state, workspace, in_turn([both, say("Here.")]), toolbox=shop) as play:
        result = await play.ask("go")
    assert (result.text, result.evidence.sent, result.media) == ("Here.", (sent,), ("/w/boat.png",))
    assert sorted(outputs(play.model.requests[1])) == ["Drawn.", "Sent."]


async def test_a_subagent_cannot_use_the_tools_of_the_main_conversation(
    codex: CodexBinary, state: Path, workspace: Path, standard: Toolbox
) -> None:
    answered = anyio.Event()

    def script(request: RecordedRequest) -> Action:
        if request.headers.get("x-openai-subagent"):
            if outputs(request):
                answered.set()
                return say("No luck.")
            return Reply((CallTool("memory_get", {"path": "MEMORY.md"}),))
        if outputs(request):
            return say("Done.")
        return Reply((CallTool("spawn_agent", {"message": "read the memory"}, namespace="multi_agent_v1"),))

    async with stage(codex, state, workspace, script, toolbox=standard) as play:
        await (await play.agent.receive(message("go"))).result()
        await answered.wait()
        child = [each for each in play.model.requests if each.headers.get("x-openai-subagent")][-1]
    assert "MEM_M77" not in "".join(part.text for part in child.parts())


@pytest.mark.parametrize("chosen", [True, False])
async def test_an_agent_that_keeps_plans_gets_codexs_own_tool_for_it_and_not_a_second_one(
    codex: CodexBinary, state: Path, workspace: Path, tmp_path: Path, chosen: bool
) -> None:
    """S12, D14."""
    settings = replace(plain_settings(workspace), tools=ToolSettings(plan_tool=chosen))
    steps: Json = [{"step": "Look", "status": "completed"}, {"step": "Mend", "status": "in_progress"}]
    plan = Reply((CallTool("update_plan", {"plan": steps}),))
    script = in_turn([plan, say("Done.")] if chosen else [say("Done.")])
    with MemoryIndex(tmp_path) as index:
        toolbox = StandardTools(settings, index)
        assert ("update_plan" in toolbox.names) is chosen
        async with stage(codex, state, workspace, script, toolbox=toolbox) as play:
            events = await events_of(await play.begin("mend the boat"))
    names = [tool.get("name") for tool in cast("list[dict[str, str]]", play.model.requests[0].body["tools"])]
    assert names.count("update_plan") == chosen
    changed = PlanChanged((PlanStep("Look", "completed"), PlanStep("Mend", "inProgress")))
    assert [event for event in events if isinstance(event, PlanChanged)] == [changed] * chosen


@dataclass(frozen=True)
class Logbook:
    """One tool that has a lot to say."""

    text: str
    names = frozenset({"message"})

    def for_turn(self, turn: ToolTurn) -> tuple[Tool, ...]:
        async def call(arguments: Mapping[str, Json]) -> ToolResult:
            return ToolResult(success=True, text=self.text)

        return (Tool("message", "Reads the log.", {"type": "object"}, call),)


@pytest.mark.parametrize(
    ("piece", "configured", "model", "units"),
    [
        ("x", None, "gpt-5.5", 48_000),
        ("x", None, "no-such-model", 12_000),
        ("🧭", None, "gpt-5.5", 24_000),
        ("🧭", 900, "gpt-5.5", 900),
    ],
)
async def test_a_tools_result_is_cut_once_to_what_the_configuration_the_context_and_codex_allow(
    codex: CodexBinary, state: Path, workspace: Path, piece: str, configured: int | None, model: str, units: int
) -> None:
    """Nothing of it is cut by Codex, which would take the word of our cut for a part of the text."""
    settings = replace(plain_settings(workspace), excerpts=ExcerptLimits(tool_result_max_chars=configured))
    script = in_turn([Reply((CallTool("message", {}),)), say("Read.")])
    whole = piece * (60_000 // utf16_units(piece))
    async with stage(codex, state, workspace, script, toolbox=Logbook(whole), agent=settings, model=model) as play:
        await play.ask("What does the log say?")
    (output,) = outputs(play.model.requests[1])
    told = "\n[cut: the whole has 60,000 UTF-16 units; ask for less at a time]"
    assert output == piece * ((units - len(told)) // utf16_units(piece)) + told


PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


async def test_arguments_of_the_wrong_type_are_refused_and_a_broken_picture_becomes_a_word(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    """H11 and H6; a thread with a picture that no provider reads would fail for ever."""
    shop, calls = Shop(), list[Mapping[str, Json]]()

    async def draws(arguments: Mapping[str, Json]) -> ToolResult:
        calls.append(arguments)
        return ToolResult(True, "Drawn.", pictures=(ToolPicture("image/png", PNG), ToolPicture("image/png", b"broken")))

    shop.tools[0] = replace(shop.tools[0], call=draws)
    wrong = Reply((CallTool("message", {"text": 47}, call_id="a"),))
    right = Reply((CallTool("message", {"text": "47"}, call_id="b"),))
    script = in_turn([wrong, right, say("Here."), say("Still here.")])
    async with stage(codex, state, workspace, script, toolbox=shop) as play:
        results = [await play.ask("draw", number="1"), await play.ask("again", number="2")]
    assert [result.text for result in results] == ["Here.", "Still here."]
    assert calls == [{"text": "47"}]
    items = cast("list[dict[str, Json]]", play.model.requests[-1].input)
    refused, drawn = (item["output"] for item in items if item.get("type") == "function_call_output")
    assert refused == """message was not called, as 'text' of its arguments is wrong: 47 is not of type "string"."""
    assert [(part["type"], part.get("text")) for part in cast("list[dict[str, str]]", drawn)] == [
        ("input_text", "Drawn."),
        ("input_image", None),
        ("input_text", "[picture 2 of 2 is not shown: it is no whole PNG, JPEG, GIF or WebP picture]"),
    ]


@dataclass(frozen=True)
class Guard:
    """A hook that has to see Codex's own commands too."""

    name: str = "guard"
    required: bool = True
    covers: frozenset[str] = frozenset({"tools", "commands"})

    async def before(self, use: ToolUse) -> Verdict:
        raise NotImplementedError

    async def after(self, use: ToolUse, result: ToolResult) -> ToolResult:
        raise NotImplementedError


async def test_a_turn_with_a_required_hook_that_codex_would_pass_by_is_not_run(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    """H12."""
    async with stage(codex, state, workspace, always(say("Yes."))) as play:
        turn = await replace(play.agent, hooks=(Guard(),)).receive(message("hi"))
        result = await turn.result()
    told = "The hook guard is required and cannot see commands here, so the turn was not run."
    assert (result.outcome, result.failure, result.error) == (Outcome.FAILED, Failure.POLICY, told)
    assert play.model.requests == []


async def test_an_open_call_is_answered_before_the_server_goes(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    """H4: Codex has the end of the call written down, and the next turn does not miss it."""
    shop, called = Shop(), anyio.Event()

    async def endless(_: Mapping[str, Json]) -> ToolResult:
        called.set()
        await anyio.sleep_forever()
        raise NotImplementedError

    shop.tools[0] = replace(shop.tools[0], call=endless)
    script = in_turn([Reply((CallTool("message", {"text": "a"}, call_id="open"),)), say("Fine.")])
    async with stage(codex, state, workspace, script, toolbox=shop) as play:
        turn = await play.begin("first", number="1")
        await called.wait()
    assert (await turn.result()).failure is Failure.SHUTDOWN
    async with stage(codex, state, workspace, always(say("Fine.")), toolbox=shop) as later:
        await later.ask("second", number="2")
    items = cast("list[dict[str, Json]]", later.model.requests[0].input)
    kinds = [item["type"] for item in items if item.get("call_id") == "open"]
    assert kinds == ["function_call", "function_call_output"]
