"""Heartbeats and scheduled runs on the real binary: in the chat's conversation, and beside it."""

import json
import re
from collections.abc import Iterator
from contextlib import AsyncExitStack, ExitStack
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import anyio
import pytest

from codex_bridge.binary import CodexBinary
from codex_bridge.bridge import HEARTBEAT_GRACE
from codex_bridge.catalogue import CatalogueMode
from codex_bridge.client import Client
from codex_bridge.errors import CallTimeoutError
from codex_bridge.lanes import NOT_APART, UNHEARD
from codex_bridge.loopback.recorder import RecordedRequest
from codex_bridge.loopback.script import Action, CallTool, Reply, Say, Usage, Wait, always, in_turn, say
from codex_bridge.params import ThreadSettings
from codex_bridge.turn import CodexTurn
from codex_bridge.wire.base import Method, Received, Sent
from codex_bridge.wire.requests import THREAD_REVERT, ThreadResumeParams, ThreadStartParams, TurnStartParams
from codex_bridge.wording import OVER
from harness.heartbeat import (
    Alert,
    Ended,
    Gateway,
    HeartbeatEvent,
    HeartbeatRunner,
    HeartbeatSettings,
    Place,
    Target,
    target_of,
)
from harness.json_value import Json
from harness.layers import LayerName
from harness.memory.index import MemoryIndex
from harness.plain import plain_settings
from harness.standard_tools import StandardTools
from harness.toolbox import Toolbox
from harness.turns import CommandAction, EndedBy, Outcome, TurnResult
from tests.support.real import beat_of, count, message, places, stage

PERSONAL = ("AGENTS_M11", "TOOLS_M55", "SOUL_M22", "IDENT_M33", "USER_M44", "SKILL_M88", "MEM_M77", "HEART_M66")
PROMPT = "Water the ferns.\n\n- 2 l each,  no more \n"
NEWS: Json = {"outcome": "needs_attention", "notify": True, "summary": "It is hot.", "notificationText": "38 degrees!"}
NOTHING: Json = {"outcome": "no_change", "notify": False, "summary": "All is well."}


@pytest.fixture
def standard(workspace: Path, tmp_path: Path) -> Iterator[Toolbox]:
    path = workspace / "skills" / "weather" / "SKILL.md"
    path.parent.mkdir(parents=True)
    path.write_text("---\nname: weather\ndescription: SKILL_M88 forecast\n---\nLook.", "utf-8")
    with ExitStack() as stack:
        yield StandardTools(plain_settings(workspace), stack.enter_context(MemoryIndex(tmp_path)))


def started(turn: CodexTurn) -> ThreadStartParams:
    params = turn.sent[0].params
    assert isinstance(params, ThreadStartParams)
    return params


def asked(turn: CodexTurn) -> TurnStartParams:
    params = turn.sent[-1].params
    assert isinstance(params, TurnStartParams)
    return params


def of_turn(requests: list[RecordedRequest], text: str) -> RecordedRequest:
    return next(request for request in requests if request.parts()[-1].text == text)


@pytest.mark.parametrize(("light", "isolated"), [(True, False), (False, True), (True, True)])
async def test_a_light_or_isolated_heartbeat_runs_beside_the_chat_and_hears_of_nothing_but_its_file(
    codex: CodexBinary, state: Path, workspace: Path, standard: Toolbox, light: bool, isolated: bool
) -> None:
    """Issue 5, 6; F12: nothing of the chat is replayed, and nothing of the heartbeat is left in it."""

    def script(request: RecordedRequest) -> Action:
        last = request.parts()[-1]
        return Reply((CallTool("heartbeat_respond", NOTHING),)) if last.text == "Heartbeat check." else say("Yes.")

    async with stage(codex, state, workspace, script, toolbox=standard) as play:
        first = await play.begin("zebra one", number="1")
        await first.result()
        key = first.request.session_key
        bound = await play.bindings.get("codex", key)
        beat = await play.agent.heartbeat(beat_of("Heartbeat check.", first, light=light, isolated=isolated), key="b:1")
        ended = await beat.turn.result()
        second = await play.begin("two", number="2")
        await second.result()
        kept = await play.bindings.get("codex", key)
        others = [await play.bindings.get("codex", name) for name in (beat.turn.key, f"{key}:heartbeat")]
    assert first.thread is not None
    assert beat.turn.thread is not None
    assert beat.responder is not None
    assert beat.responder.answer is not None
    assert bound is not None
    assert kept is not None
    assert (ended.outcome, bound.conversation) == (Outcome.ANSWERED, kept.conversation)
    assert others == [None, None]
    assert ended.conversation == beat.turn.thread.thread.id != first.thread.thread.id
    start = started(beat.turn)
    assert start.ephemeral is True
    assert start.config is not None
    assert start.config["project_doc_max_bytes"] == 0
    assert started(first).ephemeral is None
    assert start.dynamic_tools == started(first).dynamic_tools
    mode = asked(beat.turn).collaboration_mode
    assert mode is not None
    text = mode.settings.developer_instructions or ""
    assert text.startswith("# Heartbeat\n")
    assert text.endswith(f"\n- {workspace}/HEARTBEAT.md")
    assert asked(beat.turn).additional_context is None
    request = of_turn(play.model.requests, "Heartbeat check.")
    assert [count(request, marker) for marker in (*PERSONAL, "zebra")] == [0] * (len(PERSONAL) + 1)
    assert places(request, f"{workspace}/HEARTBEAT.md") == ["mode"]
    assert [sent.method for sent in second.sent] == ["turn/start"]
    assert count(of_turn(play.model.requests, "two"), "Heartbeat check.") == 0
    reasons = {each.name: each.reason for each in beat.turn.lanes.left_out}
    assert light or reasons[LayerName.SOUL] == NOT_APART


@pytest.mark.parametrize("catalogue", ["auto", "untouched"])
async def test_a_light_scheduled_run_is_its_prompt_and_its_guidance_alone(
    codex: CodexBinary, state: Path, workspace: Path, standard: Toolbox, catalogue: CatalogueMode
) -> None:
    """S74, D8: where the model does not hear the guidance it stays out, and nothing takes its place."""
    heard = catalogue == "auto"
    async with stage(
        codex, state, workspace, always(say("Done.")), toolbox=standard, model="gpt-6-sol", catalogue=catalogue
    ) as play:
        turn = await play.agent.scheduled(PROMPT, session_key="agent:main:cron:ferns", key="c:1", light=True)
        await turn.result()
        bound = [await play.bindings.get("codex", name) for name in (turn.key, turn.request.session_key)]
    (request,) = play.model.requests
    assert bound == [None, None]
    assert (started(turn).ephemeral, started(turn).config) == (
        True,
        {"project_doc_max_bytes": 0, "project_root_markers": [], "skills.include_instructions": False},
    )
    assert [each.to_wire() for each in asked(turn).input] == [{"type": "text", "text": PROMPT}]
    assert asked(turn).additional_context is None
    assert request.parts()[-1].text == PROMPT
    assert [count(request, marker) for marker in PERSONAL] == [0] * len(PERSONAL)
    assert places(request, "# Scheduled turn") == (["mode"] if heard else [])
    reasons = {each.name: each.reason for each in turn.lanes.left_out}
    assert reasons.get(LayerName.CRON_GUIDANCE) == (None if heard else UNHEARD)


async def test_heartbeats_and_scheduled_runs_leave_the_text_and_the_tools_of_the_thread_as_they_are(
    codex: CodexBinary, state: Path, workspace: Path, standard: Toolbox
) -> None:
    """Issue 5, 6, T03, T04: in one process, and as the first turn of the next one."""
    key = message("x").session_key("main")
    turns: list[CodexTurn] = []
    requests: list[RecordedRequest] = []
    for process in ("1", "2"):
        async with stage(codex, state, workspace, always(say("HEARTBEAT_OK")), toolbox=standard) as play:
            turns.append((await play.agent.heartbeat(beat_of("Check.", turns[0]), key="b")).turn if turns else
                         await play.begin("one", number="1"))  # fmt: skip
            await turns[-1].result()
            for begun in (
                await play.agent.scheduled("Count.", session_key=key, key=f"c{process}"),
                (await play.agent.heartbeat(beat_of("Check again.", turns[0]), key=f"b{process}")).turn,
                await play.begin("more", number=process),
            ):
                await begun.result()
                turns.append(begun)
            requests += play.model.requests
    opening = [sent.params for turn in turns for sent in turn.sent if sent.method != "turn/start"]
    developer = [
        each.developer_instructions for each in opening if isinstance(each, ThreadStartParams | ThreadResumeParams)
    ]
    assert [type(each) for each in opening] == [ThreadStartParams, ThreadResumeParams]
    assert developer[0] == developer[1]
    assert "TOOLS_M55" in (developer[0] or "")
    assert len({asked(turn).thread_id for turn in turns}) == 1
    assert all(before.body["tools"] == after.body["tools"] for before, after in pairwise(requests))


class Nothing(Sent):
    pass


class Loaded(Received):
    data: tuple[str, ...]


LOADED = Method("thread/loaded/list", Nothing, Loaded)


async def test_the_thread_of_a_single_turn_is_let_go(codex: CodexBinary, state: Path, workspace: Path) -> None:
    script = in_turn([say("One."), say("HEARTBEAT_OK")])
    async with stage(codex, state, workspace, script, overrides=[("thread_unload_delay_secs", "0")]) as play:
        first = await play.begin("one", number="1")
        chat = await first.result()
        beat = await play.agent.heartbeat(beat_of("Check.", first, light=True), key="b:1")
        ended = await beat.turn.result()
        server = play.harness.server
        assert server is not None
        while ended.conversation in (loaded := (await server.client.call(LOADED, Nothing())).data):
            await anyio.lowlevel.checkpoint()
    assert loaded == (chat.conversation,)


async def test_a_message_waits_for_a_heartbeat_and_then_takes_its_place(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    """Spec 2: it is never steered into one, and it is in the history whatever becomes of the heartbeat."""
    script = in_turn([say("One."), Reply((Wait(anyio.Event()),)), say("Here.")])
    async with stage(codex, state, workspace, script, heartbeat_grace=0.05) as play:
        first = await play.begin("one", number="1")
        await first.result()
        beat = await play.agent.heartbeat(beat_of("Check.", first), key="b:1")
        await play.model.next_request()
        await play.model.next_request()
        answer = await play.ask("two", number="2")
        ended = await beat.turn.result()
    assert (ended.outcome, ended.ended_by) == (Outcome.INTERRUPTED, EndedBy.GIVEN_WAY)
    assert (answer.outcome, answer.text) == (Outcome.ANSWERED, "Here.")
    assert answer.turn != ended.turn


@pytest.mark.parametrize("wait", [0.0, 0.01, 0.1])
async def test_a_message_right_after_the_start_of_a_quiet_heartbeat_is_in_the_history(
    codex: CodexBinary, state: Path, workspace: Path, wait: float
) -> None:
    """Issue 6: the heartbeat is taken back, and the words of the person are not."""
    assert HEARTBEAT_GRACE == 10.0

    def script(request: RecordedRequest) -> Action:
        return say("HEARTBEAT_OK" if request.parts()[-1].text == "Check." else "Yes.")

    async with stage(codex, state, workspace, script) as play:
        first = await play.begin("one", number="1")
        await first.result()
        beat = await play.agent.heartbeat(beat_of("Check.", first), key="b:1")
        while not beat.turn.sent:
            await anyio.lowlevel.checkpoint()
        with anyio.move_on_after(wait):
            await beat.turn.result()
        second = await play.begin("two", number="2")
        assert play.harness.unfinished[-1] is second.request
        await second.result()
        await play.ask("three", number="3")
    assert (await beat.turn.result()).outcome is Outcome.ANSWERED
    assert play.harness.unfinished == ()
    texts = [part.text for part in play.model.requests[-1].parts()]
    assert [texts.count(text) for text in ("one", "Check.", "two", "three")] == [1, 0, 1, 1]
    assert of_turn(play.model.requests, "two").parts()[-1].text == "two"


async def test_an_agent_that_answers_over_and_over_is_stopped(
    codex: CodexBinary, state: Path, workspace: Path, standard: Toolbox
) -> None:
    """F8."""
    script = always(Reply((CallTool("heartbeat_respond", NOTHING),)))
    async with stage(codex, state, workspace, script, toolbox=standard) as play:
        first = await play.begin("one", number="1")
        await first.interrupt()
        before = len(play.model.requests)
        beat = await play.agent.heartbeat(beat_of("Check.", first), key="b:1")
        ended = await beat.turn.result()
        asked = len(play.model.requests) - before
    assert beat.responder is not None
    assert beat.responder.answer is not None
    assert ended.outcome is Outcome.INTERRUPTED
    assert asked <= 3


async def test_a_turn_with_a_limit_of_its_own_ends_by_it(codex: CodexBinary, state: Path, workspace: Path) -> None:
    async with stage(codex, state, workspace, always(Reply((Wait(anyio.Event()),)))) as play:
        first = await play.begin("one", number="1")
        await first.interrupt()
        run = replace(beat_of("Check.", first), seconds=0.3)
        ended = await (await play.agent.heartbeat(run, key="b:1")).turn.result()
    assert (ended.outcome, ended.error) == (
        Outcome.FAILED,
        "The turn was stopped after 0.3 s (heartbeat.timeoutSeconds).",
    )


@pytest.mark.parametrize("beside", [True, False])
async def test_a_chat_knows_what_a_heartbeat_told_it_and_hears_it_once(
    codex: CodexBinary, state: Path, workspace: Path, standard: Toolbox, beside: bool
) -> None:
    """Issue 5, 6: said beside the chat, it is quoted with the next message; said in it, the history has it."""
    sent: list[Alert] = []
    told: list[HeartbeatEvent] = []

    async def send(alert: Alert) -> None:
        sent.append(alert)

    def script(request: RecordedRequest) -> Action:
        last = request.parts()[-1]
        if last.text.startswith("Heartbeat check."):
            return Reply((CallTool("heartbeat_respond", NEWS),))
        return say("Yes.")

    async with stage(codex, state, workspace, script, toolbox=standard) as play:
        first = await play.begin("one", number="1")
        await first.result()
        key = first.request.session_key
        settings = play.agent.gatherer.settings
        heartbeat = HeartbeatSettings(isolated_session=beside, light_context=beside)
        play.agent.gatherer.settings = replace(settings, heartbeat=heartbeat)
        runner = HeartbeatRunner(
            play.agent,
            Gateway(
                place=lambda: Place(session_key=key, target=Target(channel="telegram", chat="7", direct=True)),
                deliver=send,
                tell=told.append,
                unfinished=lambda: play.harness.unfinished,
                mirror=play.bindings.mirror,
            ),
            state / "heartbeat.json",
        )
        while play.harness.unfinished:  # the first turn has its answer and is being written down
            await anyio.lowlevel.checkpoint()
        runner.wake()
        ended = await runner.attempt()
        for number, text in (("2", "two"), ("3", "three")):
            await play.ask(text, number=number)
    assert isinstance(ended, Ended), told
    assert [alert.text for alert in sent] == ["38 degrees!"]
    two, three = (of_turn(play.model.requests, text) for text in ("two", "three"))
    assert [count(each, "38 degrees!") for each in (two, three)] == [1, 1]
    assert count(two, "You wrote, from a heartbeat:") == (1 if beside else 0)


async def test_what_the_owner_said_is_in_no_request_of_a_heartbeat_that_a_group_hears(
    codex: CodexBinary, state: Path, workspace: Path, standard: Toolbox
) -> None:
    """S55: the owner's conversation holds what was quoted and said there, so a group's heartbeat is not part of it."""
    sent: list[Alert] = []

    async def send(alert: Alert) -> None:
        sent.append(alert)

    def script(request: RecordedRequest) -> Action:
        last = request.parts()[-1]
        if last.text.startswith("Heartbeat check."):
            return Reply((CallTool("heartbeat_respond", NEWS),))
        return say("Yes.")

    async with stage(codex, state, workspace, script, toolbox=standard) as play:
        await play.ask("My MEM_S55 code is 4711.", number="1")
        owner = message("x").session_key("main")
        target = target_of(HeartbeatSettings(target="telegram", to="-1001234567890"), None)
        runner = HeartbeatRunner(
            play.agent,
            Gateway(
                place=lambda: Place(session_key=owner, target=target),
                deliver=send,
                tell=lambda event: None,
                unfinished=lambda: play.harness.unfinished,
                mirror=play.bindings.mirror,
            ),
            state / "heartbeat.json",
        )
        runner.wake()
        ended = await runner.attempt()
        await play.ask("two", number="2")
    assert isinstance(ended, Ended)
    assert [(alert.target.chat, alert.text) for alert in sent] == [("-1001234567890", "38 degrees!")]
    beat, two = (next(each for each in play.model.requests if starts(each, text)) for text in ("Heartbeat", "two"))
    assert [count(beat, text) for text in ("MEM_S55", "4711", "MEM_M77")] == [0, 0, 0]
    assert [count(two, text) for text in ("4711", "38 degrees!")] == [1, 0]


def starts(request: RecordedRequest, text: str) -> bool:
    return request.parts()[-1].text.startswith(text)


def always_vanish(_result: TurnResult, _removed: int, _returning: int) -> bool:
    return True


def in_force(request: RecordedRequest, name: str) -> list[str]:
    """What was last said under names that begin so; what has ended is left out."""
    said: dict[str, str] = {}
    for part in request.parts():
        tag, _, text = part.text.partition(">")
        if tag.startswith(f"<{name}"):
            said[tag] = text.rpartition("</")[0]
    return [text for text in said.values() if text != OVER]


@pytest.mark.parametrize("between", ["nothing", "restart", "revert", "compaction"])
async def test_what_a_heartbeat_was_told_is_over_with_the_next_message(
    codex: CodexBinary, state: Path, workspace: Path, between: str
) -> None:
    """Spec 2, where the texts of a turn travel as additional context: they hold until they are contradicted."""

    def script(request: RecordedRequest) -> Action:
        last = request.parts()[-1].text
        if last in ("one", "two"):
            return Reply((Say("Yes."),), Usage(input=900_000 if (last, between) == ("one", "compaction") else 100))
        return say("38 degrees!" if last.startswith("Check.") else "In short.")

    how = {"model": "gpt-6-sol", "catalogue": "untouched"}
    quiet: list[CodexTurn] = []
    async with AsyncExitStack() as stack:
        play = await stack.enter_async_context(stage(codex, state, workspace, script, **how))  # type: ignore[arg-type]
        first = await play.begin("one", number="1")
        await first.result()
        beat = await play.agent.heartbeat(beat_of("Check.", first), key="b:1")
        await beat.turn.result()
        told = of_turn(play.model.requests, "Check.")
        if between == "revert":
            again = replace(beat.turn.request, message_key="b:2", may_vanish=always_vanish, on_end=None)
            quiet.append(play.harness.start(again))
        if between == "restart":
            await stack.aclose()
            play = await stack.enter_async_context(stage(codex, state, workspace, script, **how))  # type: ignore[arg-type]
        second = await play.begin("two", number="2")
        await second.result()
    assert [turn.vanished for turn in quiet] == [True] * (between == "revert")
    assert (between == "compaction") is (await beat.turn.result()).compacted
    last = of_turn(play.model.requests, "two")
    names = ("gateway_turn_20_heartbeat", "gateway_turn_60_heartbeat_file")
    assert [len(in_force(told, name)) for name in names] == [1, 1]
    assert [in_force(last, name) for name in names] == [[], []]
    assert len(in_force(last, "gateway_turn_31_soul")) == 1


async def test_what_a_quiet_heartbeat_took_along_is_said_again_though_nobody_heard_that_it_did(
    codex: CodexBinary, state: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server takes the turn back, with the new notes that were told in it, and its answer does not come in time."""

    def script(request: RecordedRequest) -> Action:
        return say("HEARTBEAT_OK" if request.parts()[-1].text == "Check." else "Yes.")

    ask = Client.raw_call

    async def unheard(client: Client, method: str, params: Json, *, deadline: float) -> Json:
        result = await ask(client, method, params, deadline=deadline)
        if method == THREAD_REVERT.name:
            raise CallTimeoutError(method, deadline)
        return result

    monkeypatch.setattr(Client, "raw_call", unheard)
    async with stage(codex, state, workspace, script) as play:
        first = await play.begin("one", number="1")
        await first.result()
        (workspace / "TOOLS.md").write_text("TOOLS_NEW The printer is called Quill.", "utf-8")
        beat = await play.agent.heartbeat(beat_of("Check.", first), key="b:1")
        await beat.turn.result()
        await play.ask("two", number="2")
    assert not beat.turn.vanished
    assert count(of_turn(play.model.requests, "Check."), "TOOLS_NEW") == 1
    last = of_turn(play.model.requests, "two")
    assert (count(last, "Check."), count(last, "TOOLS_NEW")) == (0, 1)


TICKS = "while true; do date +%s%N > TICK; sleep .05; done"
ASKED = "read answer; echo $answer > ANSWERED"
PAID = "echo paid >> LEDGER; sleep 20"


def command(text: str, *, wait: int = 300, **how: Json) -> Reply:
    return Reply((CallTool("exec_command", {"cmd": text, "yield_time_ms": wait, **how}, call_id=f"c{len(text)}"),))


async def test_a_command_that_a_chat_left_running_goes_on_after_a_quiet_heartbeat(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    """A revert loads the session anew, and ends whatever runs in it (measured)."""
    script = in_turn([command(TICKS), say("It runs."), say("HEARTBEAT_OK"), say("Yes.")])
    async with stage(codex, state, workspace, script) as play:
        first = await play.begin("one", number="1")
        await first.result()
        beat = await play.agent.heartbeat(beat_of("Check.", first), key="b:1")
        await beat.turn.result()
        await play.ask("two", number="2")
        (workspace / "TICK").unlink()
        while not (workspace / "TICK").exists():
            await anyio.lowlevel.checkpoint()
    assert not beat.turn.vanished


async def test_a_heartbeat_that_left_a_command_running_stays(codex: CodexBinary, state: Path, workspace: Path) -> None:
    script = in_turn([say("Hi."), command(PAID, wait=500), say("HEARTBEAT_OK"), say("Yes.")])
    async with stage(codex, state, workspace, script) as play:
        first = await play.begin("one", number="1")
        await first.result()
        beat = await play.agent.heartbeat(beat_of("Check.", first), key="b:1")
        ended = await beat.turn.result()
        await play.ask("two", number="2")
    assert [(each.text, each.over) for each in ended.evidence.commands] == [(f"/bin/bash -lc '{PAID}'", False)]
    assert count(of_turn(play.model.requests, "two"), "Check.") == 1
    assert (workspace / "LEDGER").read_text("utf-8") == "paid\n"


async def test_a_heartbeat_that_typed_into_a_command_of_the_chat_stays(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    """The command is over by then, and nothing but the typing tells of it."""

    def script(request: RecordedRequest) -> Action:
        last = request.parts()[-1].text
        if last == "one":
            return command(ASKED, tty=True)
        if last == "Check.":
            session = int(re.findall(r"session ID (\d+)", json.dumps(request.input))[-1])
            typed: Json = {"session_id": session, "chars": "yes\n", "yield_time_ms": 2_000}
            return Reply((CallTool("write_stdin", typed, call_id="typed"),))
        return say("Yes." if last == "two" else "HEARTBEAT_OK")

    async with stage(
        codex, state, workspace, script, settings=ThreadSettings(sandbox="danger-full-access", approval_policy="never")
    ) as play:
        first = await play.begin("one", number="1")
        await first.result()
        beat = await play.agent.heartbeat(beat_of("Check.", first), key="b:1")
        ended = await beat.turn.result()
        await play.ask("two", number="2")
    assert (workspace / "ANSWERED").read_text("utf-8") == "yes\n"
    assert (ended.evidence.commands, ended.evidence.others) == ((), ("terminal",))
    assert count(of_turn(play.model.requests, "two"), "Check.") == 1


ACTS = (
    "find . -name X -delete",
    "cat X | tee F",
    "ls X | xargs -n1 touch",
    "cat A | sort -o F",
    "sed -n 1,5p A | sed 'w F'",
    "find . -fprint F",
    "cat A | uniq - F",
)
"""Commands that change something, and that Codex takes for reading, listing or searching."""


async def test_a_heartbeat_whose_command_acts_while_codex_says_that_it_looks_stays(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    def script(request: RecordedRequest) -> Action:
        last = request.parts()[-1].text
        if last in ("one", "two"):
            return say("Yes.")
        return command(ACTS[int(last)], wait=5_000) if last.isdecimal() else say("HEARTBEAT_OK")

    ends: list[tuple[str, bool, bool]] = []
    async with stage(codex, state, workspace, script) as play:
        first = await play.begin("one", number="1")
        await first.result()
        for number, text in enumerate(ACTS):
            for name in ("A", "X"):
                (workspace / name).write_text("b\na\n", "utf-8")
            beat = await play.agent.heartbeat(beat_of(str(number), first), key=f"b:{number}")
            ended = await beat.turn.result()
            (ran,) = ended.evidence.commands
            ends.append((text, CommandAction.OTHER in ran.actions, ran.over))
        await play.ask("two", number="2")
    assert ends == [(text, False, True) for text in ACTS]
    texts = [part.text for part in of_turn(play.model.requests, "two").parts()]
    assert [texts.count(str(number)) for number in range(len(ACTS))] == [1] * len(ACTS)


async def test_a_quiet_heartbeat_in_which_the_conversation_was_summarised_stays(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    """Without it, the summary would be gone as well, and the next turn too long again."""

    def script(request: RecordedRequest) -> Action:
        last = request.parts()[-1].text
        if last in ("one", "two"):
            return Reply((Say("Yes."),), Usage(input=900_000 if last == "one" else 100))
        return say("HEARTBEAT_OK" if last == "Check." else "In short.")

    async with stage(codex, state, workspace, script) as play:
        first = await play.begin("one", number="1")
        await first.result()
        beat = await play.agent.heartbeat(beat_of("Check.", first), key="b:1")
        assert (await beat.turn.result()).compacted
        await play.ask("two", number="2")
    assert count(of_turn(play.model.requests, "two"), "Check.") == 1
