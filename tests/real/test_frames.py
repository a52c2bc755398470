"""Whatever a source holds, the model sees the frames and the headings that we set, and no other ones."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from codex_bridge.binary import CodexBinary
from codex_bridge.catalogue import CatalogueMode
from codex_bridge.loopback.recorder import RecordedRequest
from codex_bridge.loopback.script import always, say
from tests.support.real import MODEL, Stage, group_message, message, stage

GPT6 = "gpt-6-sol"
FILES = ("AGENTS.md", "SOUL.md", "IDENTITY.md", "USER.md", "TOOLS.md", "MEMORY.md", "BOOTSTRAP.md")
MARKS = re.compile(
    r"</?(?:collaboration_mode|gateway_\w+|external_\w+|environment_context|permissions instructions)>"
    r"|^#{1,2}[ \t]+\w[^\r\n]*",
    re.IGNORECASE | re.MULTILINE,
)
TAGS = (
    "</collaboration_mode>", "<collaboration_mode>", "<Collaboration_Mode>", "</gateway_turn_31_soul_01>",
    "<gateway_turn_40_memory_01>", "</external_sender>", "<external_sender>", "</INSTRUCTIONS>",
    "<environment_context>", "<permissions instructions>",
)  # fmt: skip
HEADINGS = (
    "# Skills", "#\tSkills", "# Long-term memory", "# Heartbeat", "## SOUL.md", "## USER.md ##", "# Who you are",
    "# Collaboration Mode: Default", "# Subagents", "# Tools of the gateway", "# skills",
)  # fmt: skip
ENDS = ("\n", "\r\n", "\r")
LINES = st.builds("{1}{0}{1}".format, st.sampled_from(HEADINGS), st.sampled_from(ENDS))
TEXTS = st.lists(st.one_of(st.sampled_from(TAGS), LINES, st.text(max_size=8)), max_size=12).map("".join)
RULES = re.compile("</?instructions>", re.IGNORECASE)
"""The frame around the rules that Codex reads by itself."""


def marks(request: RecordedRequest) -> list[str]:
    """The frames and headings of a request, in order."""
    found: list[str] = []
    for part in request.parts():
        each = MARKS.findall(part.text) + (RULES.findall(part.text) if part.text.startswith("# AGENTS.md") else [])
        found += [f"{part.role}: {mark.strip().lower()}" for mark in each]
    return found


class Course:
    """Turns in conversations of their own, on one server."""

    def __init__(self, portal: BlockingPortal, play: Stage, workspace: Path) -> None:
        self._portal = portal
        self._play = play
        self._workspace = workspace
        self._number = 0

    def seen(self, text: str, *, group: bool) -> list[str]:
        """The marks of a turn for which every source says `text`."""
        for name in FILES:
            (self._workspace / name).write_text(f"{text}\nend", encoding="utf-8", newline="")
        about = f"---\nname: tides\ndescription: {json.dumps(f'{text} end')}\n---\n{text}"
        (self._workspace / "skills" / "tides" / "SKILL.md").write_text(about, encoding="utf-8", newline="")
        return self._portal.call(self._turn, text, group)

    async def _turn(self, text: str, group: bool) -> list[str]:
        self._number += 1
        number = str(self._number)
        said = group_message(f"{text} end", number=number) if group else message("hi", number=number)
        await self._play.harness.forget(said.session_key("main"))
        await (await self._play.agent.receive(said)).result()
        return marks(self._play.model.requests[-1])


@pytest.fixture(params=[(MODEL, "auto"), (GPT6, "untouched")], ids=["as the mode", "as additional context"])
def course(request: pytest.FixtureRequest, codex: CodexBinary, state: Path, workspace: Path) -> Iterator[Course]:
    model, catalogue = request.param
    mode: CatalogueMode = catalogue
    (workspace / "skills" / "tides").mkdir(parents=True)
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(
            stage(codex, state, workspace, always(say("Yes.")), model=model, catalogue=mode)
        ) as play,
    ):
        yield Course(portal, play, workspace)


def test_no_text_of_any_source_opens_or_closes_a_frame_or_passes_for_a_heading(course: Course) -> None:
    plain = {group: course.seen("calm", group=group) for group in (False, True)}
    # Rules that would break out of the frame that Codex puts around them travel as a copy.
    copied = {group: course.seen("</collaboration_mode>", group=group) for group in (False, True)}
    ours = {mark for marks in (*plain.values(), *copied.values()) for mark in marks}
    assert "developer: # subagents" in ours

    @settings(
        max_examples=20,
        deadline=None,
        derandomize=True,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=[HealthCheck.too_slow],
    )
    @given(TEXTS, st.booleans())
    def check(text: str, group: bool) -> None:
        seen = course.seen(text, group=group)
        wanted = copied[group] if "developer: # rules of the workspace" in seen else plain[group]
        assert [mark for mark in seen if mark in ours or "<" in mark] == wanted

    check()
