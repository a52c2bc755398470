"""All files together fit the prompt, and what does not fit is named with its numbers."""

import gc
from pathlib import Path
from weakref import ref

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.settings import HeartbeatSettings
from harness.settings.files import FileLimits
from harness.units import utf16_units
from harness.workspace.analysis import Injected, analyse
from harness.workspace.bootstrap import Bootstrap, BootstrapRequest
from harness.workspace.budget import EMPTY, NO_PATH, ContextFile, ContextFiles, Fit, build_context
from harness.workspace.entries import LeftOutFile, Notice, NoticeCode, WorkspaceFile
from harness.workspace.reader import GuardedReader
from harness.workspace.reads import Content, Missing, Refusal, Refused
from harness.workspace.truncate import truncate

STEADY = settings(derandomize=True, deadline=None)

T10 = FileLimits(12_000, 60_000)


def file(name: str, text: str | None) -> WorkspaceFile:
    path = f"/ws/{name}"
    return WorkspaceFile(name, path, Missing() if text is None else Content(text, path, None))


def fits(context: ContextFiles) -> list[tuple[str, Fit, int]]:
    return [(entry.name, entry.fit, entry.units) for entry in context.files]


def test_files_within_the_limits_are_whole() -> None:
    """T10 f: five files of 11,000 are 55,000 of 60,000."""
    files = [file(name, "x" * 11_000) for name in ("SOUL.md", "TOOLS.md", "IDENTITY.md", "USER.md", "MEMORY.md")]
    context = build_context(files, T10)
    assert fits(context) == [(entry.name, Fit.WHOLE, 11_000) for entry in files]
    assert (context.units, context.left_out, context.notices) == (55_000, (), ())


def test_the_last_file_gets_what_is_left() -> None:
    """T10 g."""
    names = ("AGENTS.md", "SOUL.md", "TOOLS.md", "IDENTITY.md", "USER.md", "MEMORY.md")
    context = build_context([file(name, "x" * 11_000) for name in names], T10)
    assert fits(context)[:5] == [(name, Fit.WHOLE, 11_000) for name in names[:5]]
    name, fit, units = fits(context)[5]
    assert (name, fit, units) == ("MEMORY.md", Fit.TRUNCATED, 4999)
    assert "[...truncated, read MEMORY.md for full content...]" in context.files[5].text
    assert [notice.code for notice in context.notices] == [NoticeCode.TRUNCATED]


@pytest.mark.parametrize(("first", "omitted"), [(9_937, True), (9_936, False)], ids=["63 left", "64 left"])
def test_a_rest_below_64_is_not_used_and_what_follows_is_listed(first: int, omitted: bool) -> None:
    """Rule 9. T10 g."""
    files = [file("AGENTS.md", "x" * first), file("SOUL.md", "y" * 500), file("USER.md", "z"), file("TOOLS.md", None)]
    context = build_context(files, FileLimits(20_000, 10_000))
    assert [entry.name for entry in context.files] == (["AGENTS.md"] if omitted else ["AGENTS.md", "SOUL.md"])
    reason = f"the total limit of 10000 units is used up ({63 if omitted else 1} left)"
    assert context.left_out == tuple(
        LeftOutFile(entry.name, entry.path, reason) for entry in (files[1:] if omitted else files[2:])
    )
    assert NoticeCode.OMITTED in {notice.code for notice in context.notices}


def test_the_loop_stops_at_a_rest_of_fifty() -> None:
    """The measured row of prompt-builder 7.8."""
    sizes = {"AGENTS.md": 20_000, "SOUL.md": 20_000, "TOOLS.md": 19_950, "USER.md": 100}
    context = build_context([file(name, "x" * size) for name, size in sizes.items()], FileLimits())
    assert [entry.name for entry in context.files] == ["AGENTS.md", "SOUL.md", "TOOLS.md"]
    assert [out.name for out in context.left_out] == ["USER.md"]


def test_a_missing_file_has_a_marker_that_counts() -> None:
    """Rule 9. S61."""
    context = build_context([file("SOUL.md", None), file("USER.md", "u")], FileLimits(20_000, 1000))
    assert context.files[0] == ContextFile(
        file("SOUL.md", None), "[MISSING] Expected at: /ws/SOUL.md", Fit.MISSING, 0, 34
    )
    assert context.units == 35


def test_a_missing_marker_is_clamped_to_the_rest() -> None:
    """S61; the measured row of prompt-builder 7.8."""
    assert build_context([file("SOUL.md", None)], FileLimits(20_000, 20)).files[0].text == "[MISSING] Expected …"


def test_a_refused_file_has_a_marker_with_the_reason() -> None:
    refused = WorkspaceFile("SOUL.md", "/ws/SOUL.md", Refused(Refusal.TOO_LARGE))
    assert build_context([refused], FileLimits()).files[0].text == (
        "[MISSING] Expected at: /ws/SOUL.md (not read: it is over 2 MiB)"
    )


def test_an_empty_file_takes_no_place_and_gives_no_warning() -> None:
    """Rule 9."""
    context = build_context([file("SOUL.md", " \n\n"), file("USER.md", "u")], FileLimits())
    assert [entry.name for entry in context.files] == ["USER.md"]
    assert (context.left_out, context.notices) == ((LeftOutFile("SOUL.md", "/ws/SOUL.md", EMPTY),), ())


def test_a_cut_is_told_with_its_numbers() -> None:
    """T10 e, S62, S63."""
    context = build_context([file("SOUL.md", "x" * 12_001)], T10)
    assert [notice.text for notice in context.notices] == [
        "SOUL.md was cut for the prompt: raw=12001 kept=11894 limit=12000 (bootstrapMaxChars), in UTF-16 units."
        " The file itself is whole: /ws/SOUL.md."
    ]


@pytest.mark.parametrize("size", [8_000, 13_000], ids=["within its own limit", "over both limits"])
def test_a_file_that_the_total_cut_is_told_with_the_total(size: int) -> None:
    """A larger bootstrapMaxChars would show no more of it."""
    files = [file("SOUL.md", "x" * 12_000), file("USER.md", "y" * size)]
    (notice,) = build_context(files, FileLimits(12_000, 15_000)).notices
    assert f"USER.md was cut for the prompt: raw={size} " in notice.text
    assert " limit=15000 (bootstrapTotalMaxChars)" in notice.text


def test_the_same_files_give_the_very_same_context() -> None:
    files = [file("SOUL.md", "x" * 30_000), file("USER.md", None)]
    assert build_context(files, T10) is build_context([*files], FileLimits(12_000, 60_000))


async def test_the_raw_size_is_the_size_of_the_file_every_time(tmp_path: Path) -> None:
    """T10 i: two agents, one folder, ten turns."""
    (tmp_path / "SOUL.md").write_text("好" * 13_000, encoding="utf-8")
    bootstrap = Bootstrap(GuardedReader())
    off = HeartbeatSettings(enabled=False)
    seen: set[tuple[str, int]] = set()
    for agent in ["main", "second"] * 5:
        resolved = await bootstrap.resolve(BootstrapRequest(str(tmp_path), agent, heartbeat=off))
        context = build_context(resolved.files, T10)
        seen |= {(entry.name, entry.raw_units) for entry in context.files if entry.fit is not Fit.MISSING}
    assert seen == {("SOUL.md", 13_000)}


@STEADY
@given(
    texts=st.lists(st.none() | st.text(max_size=400), max_size=8),
    per_file=st.integers(1, 300),
    total=st.integers(1, 900),
)
def test_no_prompt_is_over_its_limits_and_every_file_is_accounted_for(
    texts: list[str | None], per_file: int, total: int
) -> None:
    files = [file(f"F{number}.md", text) for number, text in enumerate(texts)]
    context = build_context(files, FileLimits(per_file, total))
    assert context.units == sum(utf16_units(entry.text) for entry in context.files) <= total
    assert all(entry.units <= per_file for entry in context.files if entry.fit is not Fit.MISSING)
    accounted = [entry.name for entry in context.files] + [out.name for out in context.left_out]
    assert sorted(accounted) == [entry.name for entry in files]


def test_a_limit_below_one_is_one() -> None:
    assert FileLimits(0, -5) == FileLimits(1, 1)


def test_a_file_without_room_is_told_and_an_empty_one_among_them_is_not() -> None:
    files = [file("AGENTS.md", "x" * 990), file("SOUL.md", " \n"), file("USER.md", "u")]
    context = build_context(files, FileLimits(20_000, 1000))
    used_up = "the total limit of 1000 units is used up (10 left)"
    assert context.left_out == (
        LeftOutFile("SOUL.md", "/ws/SOUL.md", EMPTY),
        LeftOutFile("USER.md", "/ws/USER.md", used_up),
    )
    assert context.notices == (Notice(NoticeCode.OMITTED, "/ws/USER.md", f"USER.md was left out: {used_up}."),)


def test_a_file_without_a_path_is_told() -> None:
    context = build_context([WorkspaceFile("SOUL.md", " ", Content("s", " ", None))], FileLimits())
    assert context.left_out == (LeftOutFile("SOUL.md", " ", NO_PATH),)
    assert context.notices == (Notice(NoticeCode.OMITTED, " ", f"SOUL.md was left out: {NO_PATH}."),)


class Text(str):
    """A text that can tell when nobody holds it any more."""

    __slots__ = ("__weakref__",)


def test_texts_that_no_prompt_needs_any_more_are_not_held() -> None:
    def seen(number: int) -> "ref[Text]":
        text = Text(f"{number} " + "x" * 200)
        files = [WorkspaceFile("SOUL.md", "/ws/SOUL.md", Content(text, "/ws/SOUL.md", None))]
        context = build_context(files, FileLimits(100, 1000))
        analyse(files, [Injected(entry.path, entry.units) for entry in context.files], FileLimits(100, 1000))
        return ref(text)

    held = [seen(number) for number in range(40)]
    gc.collect()
    assert [text() is not None for text in held] == [False] * 24 + [True] * 16


def test_every_limit_has_its_own_cut_however_many_there_are() -> None:
    files = [file("SOUL.md", "x" * 500)]
    cuts = [build_context(files, FileLimits(limit, 10_000)).files[0].truncation for limit in (*range(100, 120), 100)]
    assert [cut.units for cut in cuts if cut is not None] == [
        utf16_units(truncate("x" * 500, name="SOUL.md", limit=limit).text) for limit in (*range(100, 120), 100)
    ]
