"""Leave and questions on the real binary: what is asked, what an answer makes of it, and what a stop makes of both."""

import json
import sys
from pathlib import Path

import anyio
import pytest

from codex_bridge.binary import CodexBinary
from codex_bridge.loopback.recorder import RecordedRequest
from codex_bridge.loopback.script import Action, CallTool, Reply, in_turn, say
from codex_bridge.params import ThreadSettings
from codex_bridge.rpc import Json, JsonObject
from codex_bridge.turn import CodexTurn
from harness.asks import (
    Answer,
    ApprovalAsked,
    ApprovalKind,
    AskSettled,
    Choice,
    Question,
    QuestionAsked,
    Settlement,
    Verdict,
)
from harness.turns import EndedBy, Outcome
from tests.support import asking_mcp
from tests.support.asking import FakeAsker
from tests.support.real import Stage, count, events_of, message, stage

ASKS = ThreadSettings(sandbox="workspace-write", approval_policy="untrusted")
ESCALATES = ThreadSettings(sandbox="read-only", approval_policy="untrusted")
COMMAND = "echo line >> made.txt"
PATCH = "*** Begin Patch\n*** Add File: patched.txt\n+hello\n*** End Patch"


def run(command: str = COMMAND, *, call: str = "call_1") -> Reply:
    return Reply((CallTool("exec_command", {"cmd": command}, call_id=call),))


async def begin(play: Stage, asker: FakeAsker, text: str = "go", *, chat: str = "7", number: str = "1") -> CodexTurn:
    return await play.agent.receive(message(text, chat=chat, number=number), asker=asker)


def lines(workspace: Path, name: str = "made.txt") -> int:
    path = workspace / name
    return len(path.read_text("utf-8").splitlines()) if path.exists() else 0


def output_of(play: Stage) -> str:
    """What the model was told of its last call."""
    return next(part.text for part in reversed(play.model.requests[-1].parts()) if part.kind == "function_call_output")


@pytest.mark.parametrize(
    ("verdict", "how", "made", "outcome"),
    [
        (Verdict.ALLOW, Settlement.ALLOWED, 1, Outcome.ANSWERED),
        (Verdict.DECLINE, Settlement.DECLINED, 0, Outcome.ANSWERED),
        (Verdict.CANCEL, Settlement.DECLINED, 0, Outcome.INTERRUPTED),
    ],
)
async def test_a_command_runs_if_it_is_allowed_and_only_a_cancel_ends_the_turn(
    codex: CodexBinary, state: Path, workspace: Path, verdict: Verdict, how: Settlement, made: int, outcome: Outcome
) -> None:
    asker = FakeAsker(Answer(verdict))
    async with stage(codex, state, workspace, in_turn([run(), say("Well.")]), settings=ASKS) as play:
        turn = await begin(play, asker)
        events = await events_of(turn)
        result = await turn.result()
    asked, settled = (event for event in events if isinstance(event, ApprovalAsked | AskSettled))
    assert isinstance(asked, ApprovalAsked)
    assert (asked.kind, asked.script, asked.cwd, asked.always) == (
        ApprovalKind.COMMAND, COMMAND, str(workspace), True
    )  # fmt: skip
    assert asker.asked[0].what == asked
    assert (settled, lines(workspace), result.outcome) == (AskSettled(asked.ask, how), made, outcome)


async def test_what_is_allowed_for_the_conversation_is_asked_once(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    asker = FakeAsker(Answer(Verdict.ALLOW_ALWAYS))
    script = in_turn([run(), say("One."), run(call="call_2"), say("Two.")])
    async with stage(codex, state, workspace, script, settings=ASKS) as play:
        first = await (await begin(play, asker)).result()
        second = await (await begin(play, asker, number="2")).result()
    assert (first.text, second.text) == ("One.", "Two.")
    assert (len(asker.asked), lines(workspace)) == (1, 2)


@pytest.mark.parametrize(("verdict", "made"), [(Verdict.ALLOW, 1), (Verdict.DECLINE, 0)])
async def test_files_are_changed_if_the_change_that_is_shown_is_allowed(
    codex: CodexBinary, state: Path, workspace: Path, verdict: Verdict, made: int
) -> None:
    asker = FakeAsker(Answer(verdict))
    script = in_turn([run(f"apply_patch <<'EOF'\n{PATCH}\nEOF"), say("Well.")])
    async with stage(codex, state, workspace, script, settings=ESCALATES) as play:
        result = await (await begin(play, asker)).result()
    (ask,) = asker.asked
    assert isinstance(ask.what, ApprovalAsked)
    assert (ask.what.kind, ask.what.text) == (ApprovalKind.FILES, f"add {workspace / 'patched.txt'}\n    hello")
    assert (result.text, lines(workspace, "patched.txt")) == ("Well.", made)


async def test_an_answer_reaches_the_model_that_asked(codex: CodexBinary, state: Path, workspace: Path) -> None:
    options: Json = [{"label": "Red", "description": "warm"}, {"label": "Blue", "description": "cold"}]
    asks: Json = {"questions": [{"id": "q1", "header": "Colour", "question": "Which?", "options": options}]}
    script = in_turn([Reply((CallTool("request_user_input", asks),)), say("Then blue.")])
    asker = FakeAsker(Answer(Verdict.ALLOW, {"q1": ("Blue",)}))
    overrides = [("features.default_mode_request_user_input", "true")]
    async with stage(codex, state, workspace, script, overrides=overrides) as play:
        turn = await begin(play, asker)
        events = await events_of(turn)
        told = output_of(play)
    assert [event.how for event in events if isinstance(event, AskSettled)] == [Settlement.ANSWERED]
    assert isinstance(asker.asked[0].what, QuestionAsked)
    assert "Blue" in told
    assert "Red" not in told


@pytest.mark.parametrize(
    ("verdict", "scope", "how", "made"),
    [
        (Verdict.ALLOW, "turn", Settlement.ALLOWED, (1, 1)),
        (Verdict.ALLOW_ALWAYS, "session", Settlement.ALLOWED, (1, 2)),
        (Verdict.DECLINE, "turn", Settlement.DECLINED, (0, 0)),
    ],
)
async def test_permissions_are_granted_as_they_were_shown_for_as_long_as_was_said_or_not_at_all(
    codex: CodexBinary,
    state: Path,
    workspace: Path,
    verdict: Verdict,
    scope: str,
    how: Settlement,
    made: tuple[int, int],
) -> None:
    where = workspace.parent / "elsewhere"
    where.mkdir()
    permissions: JsonObject = {"file_system": {"write": [str(where)]}, "network": {"enabled": True}}
    wants = CallTool("request_permissions", {"reason": "To tidy.", "permissions": permissions})
    write = [run(f"echo line >> {where}/made.txt", call=f"call_{number}") for number in (2, 3)]
    script = in_turn([Reply((wants,)), write[0], say("One."), write[1], say("Two.")])
    asker, overrides = FakeAsker(Answer(verdict)), [("features.request_permissions_tool", "true")]
    settings = ThreadSettings(sandbox="read-only", approval_policy="on-request")
    async with stage(codex, state, workspace, script, settings=settings, overrides=overrides) as play:
        events = await events_of(await begin(play, asker))
        granted = next(part.text for part in play.model.requests[1].parts() if part.kind == "function_call_output")
        first = lines(where)
        await (await begin(play, asker, number="2")).result()
    asked, settled = (event for event in events if isinstance(event, ApprovalAsked | AskSettled))
    assert isinstance(asked, ApprovalAsked)
    assert (asked.kind, asked.text, asked.reason) == (
        ApprovalKind.PERMISSIONS, f"network access: on\nwrite {where}", "To tidy."
    )  # fmt: skip
    given = permissions if how is Settlement.ALLOWED else {"network": None, "file_system": None}
    assert (settled, json.loads(granted)) == (AskSettled(asked.ask, how), {"permissions": given, "scope": scope})
    assert (len(asker.asked), first, lines(where)) == (1, *made)


@pytest.mark.parametrize(
    ("answer", "how", "told"),
    [
        (
            Answer(Verdict.ALLOW, {"guests": ("4",), "place": ("outside",)}),
            Settlement.ANSWERED,
            {"action": "accept", "content": {"guests": 4, "place": "outside"}},
        ),
        (Answer(Verdict.DECLINE), Settlement.DECLINED, {"action": "decline"}),
    ],
)
async def test_the_form_of_a_tool_server_is_filled_in_as_somebody_said_or_declined(
    codex: CodexBinary, state: Path, workspace: Path, answer: Answer, how: Settlement, told: JsonObject
) -> None:
    overrides = [
        ("mcp_servers.tables.command", json.dumps(sys.executable)),
        ("mcp_servers.tables.args", json.dumps([asking_mcp.__file__])),
    ]
    script = in_turn([Reply((CallTool("book", {}, namespace="mcp__tables"),)), say("Well.")])
    asker = FakeAsker(answer)
    async with stage(codex, state, workspace, script, settings=ASKS, overrides=overrides) as play:
        events = await events_of(await begin(play, asker))
        output = json.loads(output_of(play)[output_of(play).index("{") :])
    asked, settled = (event for event in events if isinstance(event, QuestionAsked | AskSettled))
    guests = Question("guests", "Guests", "Guests")
    place = Question("place", "place", "", (Choice("inside"), Choice("outside")), in_words=False)
    assert asked == QuestionAsked("0", "", (guests, place), "Which table?", "tables")
    assert (settled, output, len(asker.asked)) == (AskSettled("0", how), told, 1)


async def test_an_answer_after_the_stop_is_not_sent(codex: CodexBinary, state: Path, workspace: Path) -> None:
    asker = FakeAsker()
    async with stage(codex, state, workspace, in_turn([run(), say("Well.")]), settings=ASKS) as play:
        turn = await begin(play, asker)
        ask = await asker.until_asked()
        await turn.interrupt()
        withdrawn = await asker.until_withdrawn()
        asker.answer(ask, Answer(Verdict.ALLOW))
        result, events = await turn.result(), await events_of(turn)
        after = await play.ask("more", number="2")
    assert (result.outcome, result.ended_by) == (Outcome.INTERRUPTED, EndedBy.PERSON)
    assert withdrawn == [(ask.identity, "the turn is over.")]
    assert [event.how for event in events if isinstance(event, AskSettled)] == [Settlement.WITHDRAWN]
    assert (after.text, lines(workspace)) == ("Well.", 0)


async def test_an_open_ask_holds_up_no_other_chat_and_may_be_answered_late(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    def script(request: RecordedRequest) -> Action:
        if count(request, "osprey"):
            return say("Here.")
        return say("Done.") if any(part.kind == "function_call_output" for part in request.parts()) else run()

    asker = FakeAsker()
    async with stage(codex, state, workspace, script, settings=ASKS) as play:
        waiting = await begin(play, asker, "heron")
        ask = await asker.until_asked()
        other = await play.ask("osprey", chat="8", number="2")
        before = lines(workspace)
        asker.answer(ask, Answer(Verdict.ALLOW))
        late = await waiting.result()
    assert (other.text, before, late.text, lines(workspace)) == ("Here.", 0, "Done.", 1)


async def test_what_a_subagent_asks_is_put_to_who_may_answer_its_turn(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:

    def script(request: RecordedRequest) -> Action:
        has_output = any(part.kind == "function_call_output" for part in request.parts())
        if "x-openai-subagent" in request.headers:
            return say("Counted.") if has_output else run()
        if not has_output:
            return Reply((CallTool("spawn_agent", {"message": "count"}, namespace="multi_agent_v1"),))
        return say("Done.")

    asker = FakeAsker()
    async with stage(codex, state, workspace, script, settings=ASKS) as play:
        turn = await begin(play, asker)
        ask = await asker.until_asked()
        asker.answer(ask, Answer(Verdict.ALLOW))
        result = await turn.result()
        while not lines(workspace):
            await anyio.lowlevel.checkpoint()
    assert ask.what.agent == ask.thread != result.conversation
    assert ask.session_key == turn.request.session_key
