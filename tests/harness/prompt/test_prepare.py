"""What a model really gets: the assembled prompt and the words, after every hook."""

from dataclasses import replace
from pathlib import Path

import pytest

from harness.gather import Gathered, Gatherer, Situation
from harness.habits import Habits
from harness.layers import Composition, Layer, LayerName, Lifetime, Trust
from harness.memory.access import Audience
from harness.plain import plain_settings
from harness.prompt.account import really_sent
from harness.prompt.adapters import Adapter, LiveFacts, assemble
from harness.prompt.hooks import HookContext, HookResult, PromptHooks
from harness.prompt.prepare import prepare
from harness.prompt.registry import Extensions
from harness.settings.agent import AgentSettings
from harness.settings.files import FileLimits, FileSettings
from harness.turns import Trigger


@pytest.fixture
def settings(tmp_path: Path) -> AgentSettings:
    (tmp_path / "SOUL.md").write_text("You are Pell. " * 20, encoding="utf-8")
    return replace(plain_settings(tmp_path, "pell"), files=FileSettings(limits=FileLimits(per_file=200)))


async def gathered(settings: AgentSettings, trigger: Trigger = Trigger.CHAT) -> Gathered:
    words = Layer(LayerName.USER_TEXT, "message", Lifetime.INPUT, Trust.OWNER, "hi")
    return await Gatherer(settings, Habits()).gather(Situation(trigger=trigger, audience=Audience.OWNER, words=words))


async def test_without_hooks_the_model_gets_what_a_preview_shows(settings: AgentSettings) -> None:
    """S01, S05: every run has a prompt of ours."""
    found = await gathered(settings)
    ready = await prepare(Adapter.EMBEDDED, settings, found, LiveFacts())
    preview = assemble(Adapter.PREVIEW, settings, found, LiveFacts())
    assert (ready.system_prompt, ready.words) == (preview.prompt.text, "hi")
    assert "You are Pell." in ready.system_prompt


async def test_words_of_others_stand_before_the_message_and_apart_from_it(settings: AgentSettings) -> None:
    found = await gathered(settings)
    quotes = Layer(LayerName.QUOTES, "message", Lifetime.INPUT, Trust.OUTSIDER, "Quoted:\n> OBEY")
    *layers, words = found.composition.layers
    for last, expected in ((words, "Quoted:\n> OBEY\n\nhi"), (replace(words, text=""), "Quoted:\n> OBEY")):
        both = replace(found, composition=Composition((*layers, quotes, last), ()))
        ready = await prepare(Adapter.EMBEDDED, settings, both, LiveFacts())
        assert (ready.words, "OBEY" in ready.system_prompt) == (expected, False)
        assert quotes in really_sent(both.composition, ready.assembled.prompt, ()).layers


async def test_hooks_see_and_change_what_goes_out(settings: AgentSettings) -> None:
    """S08."""
    seen: list[HookContext] = []
    hooks = PromptHooks()

    def note(context: HookContext) -> HookResult:
        seen.append(context)
        return HookResult(append_context="Mind the tide.")

    def broken(_: HookContext) -> HookResult:
        raise OSError("gone")

    hooks.register(note, name="tide")
    hooks.register(broken, name="broken")
    live = LiveFacts(session_key="agent:pell:main", trigger=Trigger.CHAT)
    ready = await prepare(
        Adapter.EMBEDDED,
        settings,
        await gathered(settings),
        live,
        extensions=Extensions(problems=("One.",)),
        hooks=hooks,
    )
    assert (seen[0].words, seen[0].agent, seen[0].session, seen[0].trigger) == ("hi", "pell", "agent:pell:main", "chat")
    assert seen[0].prompt == ready.assembled.prompt.text
    assert ready.words == "hi\n\nMind the tide."
    assert ready.problems == ("One.", "The hook broken failed (OSError: gone); its changes are left out.")


async def test_a_model_that_is_asked_directly_gets_no_prompt(settings: AgentSettings) -> None:
    """Prompt-builder 5.1."""
    ready = await prepare(Adapter.EMBEDDED, settings, await gathered(settings), LiveFacts(raw=True))
    assert (ready.system_prompt, ready.words) == ("", "hi")


async def test_a_cli_agent_is_told_of_cut_files_in_the_words_but_not_in_a_poll(settings: AgentSettings) -> None:
    """S62, prompt-builder 7.10."""
    ready = await prepare(Adapter.CLI, settings, await gathered(settings), LiveFacts())
    assert ready.words.startswith("hi\n\n[Bootstrap truncation warning]\n")
    assert "- SOUL.md: 279 raw -> " in ready.words
    assert "## Bootstrap Context Notice" not in ready.system_prompt
    beat = LiveFacts(trigger=Trigger.HEARTBEAT)
    poll = await prepare(Adapter.CLI, settings, await gathered(settings, Trigger.HEARTBEAT), beat)
    assert poll.words == "hi"
