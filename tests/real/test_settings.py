"""Keys of openclaw.json that change what the model sees, on the real binary."""

from dataclasses import replace
from pathlib import Path

import pytest

from codex_bridge.binary import CodexBinary
from codex_bridge.loopback.script import Reply, Say, Usage, always, in_turn, say
from harness.plain import plain_settings
from harness.settings.files import ContextInjection, FileLimits, FileSettings, WarningMode
from tests.support.real import count, places, stage

NOTICE = "Some workspace files in this prompt did not fit"
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
