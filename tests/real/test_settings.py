"""Keys of openclaw.json that change what the model sees, on the real binary."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from codex_bridge.binary import CodexBinary
from codex_bridge.cli.setup import running
from codex_bridge.config import CodexConfig
from codex_bridge.lanes import HABITS
from codex_bridge.loopback.model import loopback_model
from codex_bridge.loopback.script import CallTool, Reply, Say, Usage, always, in_turn, say
from codex_bridge.params import ThreadSettings
from harness.gather import Gatherer
from harness.plain import plain_settings
from harness.settings.agent import AgentSettings, ModelSettings, SearchSettings, ToolSettings
from harness.settings.files import ContextInjection, FileLimits, FileSettings, WarningMode
from harness.settings.skills import SkillEntry
from harness.workspace.starter_files import starter_text
from tests.support.real import LIMIT, count, group_message, message, places, stage

NOTICE = "Some workspace files did not fit into this prompt"
COMPACTS = Reply((Say("Long."),), usage=Usage(input=900_000, output=1))
"""The model says that its window is full, so that Codex compacts before the next turn."""


async def test_a_continuation_is_sent_nothing_that_the_conversation_holds(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    """`contextInjection: continuation-skip` is how Codex gets its files under any setting, and takes none away."""
    files = FileSettings(injection=ContextInjection.CONTINUATION_SKIP)
    agent = replace(plain_settings(workspace), files=files)
    async with stage(codex, state, workspace, always(say("Yes.")), agent=agent) as play:
        for number in ("1", "2", "3"):
            await play.ask("hi", number=number)
    assert [
        [count(request, marker) for marker in ("AGENTS_M11", "SOUL_M22", "TOOLS_M55", "MEM_M77")]
        for request in play.model.requests
    ] == [[1, 1, 1, 1]] * 3


@pytest.mark.parametrize(
    ("mode", "place"), [(WarningMode.OFF, []), (WarningMode.ONCE, ["developer"]), (WarningMode.ALWAYS, ["mode"])]
)
async def test_the_model_is_told_that_a_file_is_shown_in_part(
    codex: CodexBinary, state: Path, workspace: Path, mode: WarningMode, place: list[str]
) -> None:
    """S64; in the text that holds for the turn, or once for the conversation. Either way the history has it once."""
    (workspace / "SOUL.md").write_text("You are Pell. " * 40, encoding="utf-8")
    agent = replace(plain_settings(workspace), files=FileSettings(limits=FileLimits(300, 2_000), warning=mode))
    async with stage(codex, state, workspace, always(say("Yes.")), agent=agent) as play:
        for number in ("1", "2", "3"):
            await play.ask("hi", number=number)
    assert [places(request, NOTICE) for request in play.model.requests] == [place] * 3


async def test_after_a_compaction_the_model_has_the_rules_once_and_is_told_what_to_do_again(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    """`compaction.postCompactionSections`: Codex gives the whole AGENTS.md again by itself, so we only name them."""
    rules = "AGENTS_M11\n\n## Red Lines\n\nRED_M21 Never sell the boat.\n"
    (workspace / "AGENTS.md").write_text(rules, encoding="utf-8")
    agent = replace(plain_settings(workspace), post_compaction_sections=("Red Lines",))
    script = in_turn([say("Hi."), COMPACTS, say("In short."), say("On."), say("Again."), say("More.")])
    async with stage(codex, state, workspace, script, agent=agent) as play:
        for number, text in enumerate(("hi", "word " * 30_000, "on", "again", "more")):
            await play.ask(text, number=str(number))
    told = "The conversation was just compacted."
    assert [(count(request, "RED_M21"), places(request, told)) for request in play.model.requests] == [
        (1, []),
        (1, []),
        (1, []),  # asks for the summary
        (1, []),  # the rest of the turn that began with the compaction
        (1, ["developer"]),
        (1, ["developer"]),
    ]
    assert play.model.requests[4].parts()[-1].text == "again"


async def test_a_new_agent_begins_with_its_first_run(codex: CodexBinary, state: Path, tmp_path: Path) -> None:
    """`Gatherer.prepare` at the start of an agent; the ritual ends when its file is deleted."""
    agent, ritual = plain_settings(tmp_path / "new"), starter_text("BOOTSTRAP.md").splitlines()[0]
    await Gatherer(agent, HABITS).prepare(state)
    async with stage(codex, state, agent.workspace, always(say("Hello.")), agent=agent) as play:
        await play.ask("hi", number="1")
        (agent.workspace / "BOOTSTRAP.md").unlink()
        await play.ask("/new", number="2")
    await Gatherer(agent, HABITS).prepare(state)
    assert [count(request, ritual) for request in play.model.requests] == [1, 0]
    assert not (agent.workspace / "BOOTSTRAP.md").exists()


YOLO = ThreadSettings(sandbox="danger-full-access", approval_policy="never")
KEY = "canary-of-a-key"
LOOK = Reply((CallTool("exec_command", {"cmd": 'test "$WX_API_KEY" = canary-of-a-"key" && echo IT_IS_"THERE"'}),))
"""A command that tells whether the key is there without telling the key."""


def with_key(workspace: Path) -> AgentSettings:
    settings = plain_settings(workspace)
    rules = replace(settings.skills.rules, entries={"wx": SkillEntry(api_key=KEY, env={"WX_UNITS": "metric"})})
    return replace(settings, skills=replace(settings.skills, rules=rules))


def add_skill(workspace: Path) -> None:
    path = workspace / "skills" / "wx" / "SKILL.md"
    path.parent.mkdir(parents=True)
    meta = '{"openclaw": {"primaryEnv": "WX_API_KEY"}}'
    path.write_text(f"---\nname: wx\ndescription: forecasts\nmetadata: {meta}\n---\n", encoding="utf-8")


async def test_a_skills_key_reaches_the_commands_of_the_model_and_nothing_that_is_kept(
    codex: CodexBinary, state: Path, workspace: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """`skills.entries.*.apiKey`: not on a command line, not in what we keep of a request, not in Codex's own files."""
    add_skill(workspace)
    script = in_turn([LOOK, say("Done.")])
    async with stage(codex, state, workspace, script, agent=with_key(workspace), settings=YOLO) as play:
        turn = await play.begin("look")
        await turn.result()
    assert "IT_IS_THERE" in play.model.requests[1].parts()[-1].text
    sent = [request.to_wire() for request in turn.sent]
    assert sent[0]["config"] == {**sent[0]["config"], "shell_environment_policy.set.WX_API_KEY": "***"}  # type: ignore[dict-item]
    kept = [path.read_bytes() for path in state.rglob("*") if path.is_file() and not path.is_symlink()]
    assert KEY not in f"{sent}{caplog.text}"
    assert [content for content in kept if KEY.encode() in content and b"ELF" not in content[:4]] == []


async def test_a_skill_that_is_added_brings_its_key_into_a_conversation_that_goes_on(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    script = in_turn([LOOK, say("No."), LOOK, say("Yes.")])
    async with stage(codex, state, workspace, script, agent=with_key(workspace), settings=YOLO) as play:
        first = await play.ask("look", number="1")
        add_skill(workspace)
        second = await play.ask("look again", number="2")
    told = ["IT_IS_THERE" in play.model.requests[number].parts()[-1].text for number in (1, 3)]
    assert (first.conversation == second.conversation, told) == (True, [False, True])


async def test_a_group_is_described_to_the_main_voice_once(codex: CodexBinary, state: Path, workspace: Path) -> None:
    """`silentReply`: with the word by which an agent stays silent there."""
    async with stage(codex, state, workspace, always(say("NO_REPLY"))) as play:
        for number in ("1", "2"):
            await (await play.agent.receive(group_message("hi all", number=number))).result()
        await play.ask("hi", number="3")
    word = "your whole answer is NO_REPLY"
    assert [places(request, word) for request in play.model.requests] == [["developer"], ["developer"], []]


@asynccontextmanager
async def limited() -> AsyncGenerator[None]:
    with anyio.fail_after(LIMIT):
        yield


async def test_the_configured_model_and_depth_of_thinking_are_asked_for(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    """`agents.defaults.model` and `thinkingDefault`; what a command line names counts before them."""
    settings = replace(plain_settings(workspace), models=ModelSettings(primary="openai/gpt-5.4", thinking="high"))
    asked: list[tuple[str, object]] = []
    for named in (None, "gpt-5.5"):
        async with (
            limited(),
            loopback_model(always(say("Yes."))) as stand_in,
            running(
                settings, codex=codex.path, provider=stand_in.provider, model=named, root=state / str(named)
            ) as live,
        ):
            await (await live.agent.receive(message("hi"))).result()
            for request in stand_in.requests:
                reasoning = request.body["reasoning"]
                asked.append((request.model, reasoning["effort"] if isinstance(reasoning, dict) else None))
    assert asked == [("gpt-5.4", "high"), ("gpt-5.5", "high")]


async def test_the_configured_speed_is_asked_for_and_is_taken_back_with_its_key(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    """`appServer.serviceTier`, and `fastModeDefault` before it; over restarts, on one thread."""
    asked: list[object] = []
    threads: set[str] = set()
    async with limited(), loopback_model(always(say("Yes."))) as stand_in:
        for number, (tier, fast) in enumerate([("flex", None), (None, None), (None, True), ("fast", False)]):
            config = CodexConfig.model_validate({"appServer": {"serviceTier": tier} if tier else {}})
            settings = replace(plain_settings(workspace), models=ModelSettings(fast_mode=fast))
            async with running(
                settings, codex=codex.path, provider=stand_in.provider, model="gpt-5.5", root=state, codex_config=config
            ) as live:
                result = await (await live.agent.receive(message("hi", number=str(number)))).result()
            threads.add(result.conversation)
            asked.append(stand_in.requests[-1].body.get("service_tier"))
    assert (asked, len(threads)) == (["flex", None, "priority", None], 1)


async def test_a_variable_that_is_cleared_does_not_reach_the_commands_of_the_model(
    codex: CodexBinary, state: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`appServer.clearEnv`."""
    monkeypatch.setenv("LANGUAGE", "IT_IS_" + "THERE")
    look = Reply((CallTool("exec_command", {"cmd": "env"}),))
    seen: list[bool] = []
    for cleared in ([], ["LANGUAGE"]):
        config = CodexConfig.model_validate({"appServer": {"mode": "yolo", "clearEnv": cleared}})
        async with (
            limited(),
            loopback_model(in_turn([look, say("Done.")])) as stand_in,
            running(
                plain_settings(workspace), codex=codex.path, provider=stand_in.provider, model="gpt-5.5",
                root=state / str(len(cleared)), codex_config=config,
            ) as live,
        ):  # fmt: skip
            await (await live.agent.receive(message("look"))).result()
            seen.append("IT_IS_THERE" in stand_in.requests[1].parts()[-1].text)
    assert seen == [True, False]


async def test_the_web_is_searched_as_far_as_the_configuration_allows(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    """`tools.web.search`, over restarts, on one thread."""
    place = {"country": "IT", "city": "Bari"}
    told: list[dict[str, object] | None] = []
    threads: set[str] = set()
    async with limited(), loopback_model(always(say("Yes."))) as stand_in:
        for number, search in enumerate(
            [
                SearchSettings(mode="live", allowed_domains=("a.example",), context_size="low", location=place),
                SearchSettings(enabled=False),
                SearchSettings(mode="cached"),
            ]
        ):
            settings = replace(plain_settings(workspace), tools=ToolSettings(search=search))
            async with running(
                settings, codex=codex.path, provider=stand_in.provider, model="gpt-5.5", root=state
            ) as live:
                result = await (await live.agent.receive(message("hi", number=str(number)))).result()
            threads.add(result.conversation)
            tools = stand_in.requests[-1].body["tools"]
            assert isinstance(tools, list)
            told.append(
                next((dict(tool) for tool in tools if isinstance(tool, dict) and tool["type"] == "web_search"), None)
            )
    kinds = {"type": "web_search", "search_content_types": ["text", "image"]}
    assert told == [
        {
            **kinds,
            "external_web_access": True,
            "filters": {"allowed_domains": ["a.example"]},
            "search_context_size": "low",
            "user_location": {"type": "approximate", **place},
        },
        None,
        {**kinds, "external_web_access": False},
    ]
    assert len(threads) == 1
