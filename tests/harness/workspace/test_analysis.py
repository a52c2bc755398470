"""What was cut, why, and what is near its limit: counted, remembered, and said in plain words."""

import logging

import pytest

from harness.settings.files import FileLimits, WarningMode
from harness.workspace.analysis import BudgetAnalysis, Cause, FileStats, Injected, analyse
from harness.workspace.budget import build_context
from harness.workspace.entries import Notice, NoticeCode, WorkspaceFile
from harness.workspace.reads import Content, Missing
from harness.workspace.warn_once import MOST_REMEMBERED, WarnOnce
from harness.workspace.warning_history import MOST_SEEN, decide_warning
from harness.workspace.warning_text import advice, prompt_notice, user_prompt_with_warning, warning_lines


def file(name: str, size: int | None, folder: str = "/ws") -> WorkspaceFile:
    path = f"{folder}/{name}"
    return WorkspaceFile(name, path, Missing() if size is None else Content("x" * size, path, None))


def analysed(*files: WorkspaceFile, limits: FileLimits | None = None) -> BudgetAnalysis:
    limits = limits or FileLimits(100, 1000)
    context = build_context(files, limits)
    return analyse(files, [Injected(entry.path, entry.units) for entry in context.files], limits)


def test_files_are_measured_and_the_limits_that_cut_them_named() -> None:
    """S62."""
    analysis = analysed(file("SOUL.md", 84), file("USER.md", 85), file("TOOLS.md", 400), file("IDENTITY.md", None))
    assert analysis.files == (
        FileStats("SOUL.md", "/ws/SOUL.md", False, 84, 84, False, ()),
        FileStats("USER.md", "/ws/USER.md", False, 85, 85, True, ()),
        FileStats("TOOLS.md", "/ws/TOOLS.md", False, 400, 99, True, (Cause.PER_FILE,)),
        FileStats("IDENTITY.md", "/ws/IDENTITY.md", True, 0, 0, False, ()),
    )
    assert (analysis.raw_units, analysis.injected_units, analysis.total_near_limit) == (569, 268, False)
    assert [stats.name for stats in analysis.truncated] == ["TOOLS.md"]


def test_a_file_without_room_is_cut_by_the_total() -> None:
    analysis = analysed(file("SOUL.md", 99), file("USER.md", 90), limits=FileLimits(100, 160))
    assert [(stats.name, stats.injected_units, stats.causes) for stats in analysis.truncated] == [
        ("USER.md", 0, (Cause.TOTAL,))
    ]
    assert not analysis.total_near_limit


def test_the_total_is_near_its_limit_from_85_percent_on() -> None:
    assert [
        analysed(file("SOUL.md", size), limits=FileLimits(20_000, 1000)).total_near_limit for size in (849, 850)
    ] == [
        False,
        True,
    ]


@pytest.mark.parametrize(("ratio", "near"), [(0.5, True), (0.0, False), (1.0, False), (-1.0, False)])
def test_a_near_limit_share_counts_only_between_nought_and_one(ratio: float, near: bool) -> None:
    analysis = analyse(
        [file("SOUL.md", 60)], [Injected("/ws/SOUL.md", 60)], FileLimits(100, 1000), near_limit_ratio=ratio
    )
    assert analysis.files[0].near_limit is near


def test_injected_sizes_are_matched_by_path_then_name_then_last_part() -> None:
    files = [file("SOUL.md", 10), file("USER.md", 10), file("TOOLS.md", 10), file("TOOLS.md", 10, "/ws/packages/x")]
    injected = [Injected("/ws/SOUL.md", 1), Injected("USER.md", 2), Injected("/sandbox/TOOLS.md", 3)]
    analysis = analyse(files, injected, FileLimits())
    assert [stats.injected_units for stats in analysis.files] == [1, 2, 3, 3]


def test_a_file_in_the_prompt_does_not_speak_for_its_namesake() -> None:
    files = [file("AGENTS.md", 10), file("AGENTS.md", 20, "/ws/packages/x")]
    analysis = analyse(files, [Injected("/ws/AGENTS.md", 10)], FileLimits())
    assert [stats.injected_units for stats in analysis.files] == [10, 0]


def test_the_signature_depends_on_limits_and_cuts_alone() -> None:
    cut, other = file("SOUL.md", 400), file("USER.md", 500)
    same = {analysed(cut, other).signature, analysed(other, cut, file("TOOLS.md", 9)).signature}
    assert len(same) == 1
    assert analysed(cut).signature not in same
    assert analysed(cut, limits=FileLimits(101, 1000)).signature != analysed(cut).signature
    assert analysed(file("SOUL.md", 9)).signature == ""


def shown(mode: WarningMode, *analyses: BudgetAnalysis) -> list[bool]:
    seen: tuple[str, ...] = ()
    told: list[bool] = []
    for analysis in analyses:
        report = decide_warning(analysis, mode, seen)
        seen = report.seen
        told.append(report.shown)
    return told


@pytest.mark.parametrize(
    ("mode", "told"),
    [
        (WarningMode.OFF, [False, False, False, False]),
        (WarningMode.ONCE, [True, True, False, False]),
        (WarningMode.ALWAYS, [True, True, True, False]),
    ],
)
def test_a_warning_is_given_as_often_as_its_mode_says(mode: WarningMode, told: list[bool]) -> None:
    """Rule 12. S64: A, B, A again, then nothing cut."""
    first, second, none = analysed(file("SOUL.md", 400)), analysed(file("SOUL.md", 401)), analysed(file("SOUL.md", 9))
    assert shown(mode, first, second, first, none) == told


def test_the_newest_32_warnings_are_remembered() -> None:
    """Rule 12."""
    seen: tuple[str, ...] = ()
    analyses = [analysed(file("SOUL.md", 400 + number)) for number in range(MOST_SEEN + 1)]
    for analysis in analyses:
        seen = decide_warning(analysis, WarningMode.ONCE, seen).seen
    assert seen == tuple(analysis.signature for analysis in analyses[1:])
    assert decide_warning(analyses[0], WarningMode.ONCE, seen).shown


def test_a_warning_names_three_files_and_counts_the_rest() -> None:
    """S62, S63."""
    files = [file(name, 400) for name in ("AGENTS.md", "SOUL.md", "USER.md", "TOOLS.md")]
    assert warning_lines(analysed(*files, file("IDENTITY.md", 9))) == (
        "AGENTS.md: 400 raw -> 99 injected (~75% removed; max/file).",
        "SOUL.md: 400 raw -> 99 injected (~75% removed; max/file).",
        "USER.md: 400 raw -> 99 injected (~75% removed; max/file).",
        "+1 more truncated file(s).",
        "AGENTS.md was cut: rules may stand in the part you do not see, so read the file before you act.",
        "To show more, the operator can raise agents.list[].bootstrapMaxChars, or agents.defaults.bootstrapMaxChars.",
    )


def test_namesakes_are_told_apart_by_their_paths() -> None:
    lines = warning_lines(analysed(file("SOUL.md", 400), file("SOUL.md", 500, "/ws/packages/x")))
    assert [line.partition(":")[0] for line in lines[:2]] == ["/ws/SOUL.md", "/ws/packages/x/SOUL.md"]


def test_a_cli_prompt_ends_with_the_warning() -> None:
    analysis = analysed(file("SOUL.md", 400))
    prompt = user_prompt_with_warning("Hello", analysis, heartbeat_prompt="Look after things.")
    assert prompt.startswith("Hello\n\n[Bootstrap truncation warning]\nSome workspace files were cut")
    assert prompt.splitlines()[5] == "- SOUL.md: 400 raw -> 99 injected (~75% removed; max/file)."
    assert user_prompt_with_warning("Look after things.", analysis, heartbeat_prompt="Look after things.") == (
        "Look after things."
    )
    assert user_prompt_with_warning("Hello", analysed(file("SOUL.md", 9))) == "Hello"


def test_the_notice_in_the_system_prompt_has_three_lines_without_names_or_numbers() -> None:
    notice = prompt_notice()
    assert len(notice.splitlines()) == 3
    assert not any(character.isdigit() for character in notice)
    assert ".md" not in notice


def test_the_keeper_of_the_workspace_is_told_what_to_do() -> None:
    """T10 e, S62, S63."""
    analysis = analysed(
        file("MEMORY.md", 36_697), file("USER.md", 17_000), file("SOUL.md", 14_001), limits=FileLimits(20_000, 60_000)
    )
    assert advice(analysis) == (
        "MEMORY.md (/ws/MEMORY.md) is 36,697 units long and 19,999 reach the prompt (max/file 20,000)."
        " Nothing is lost on disk. Shorten it, move history to memory/*.md, or raise"
        " agents.defaults.bootstrapMaxChars.",
        "USER.md (/ws/USER.md) is 17,000 of at most 20,000 units long; shorten it before it is cut,"
        " or raise agents.defaults.bootstrapMaxChars.",
        "All files together put 51,000 of at most 60,000 units into the prompt; shorten some or raise"
        " agents.defaults.bootstrapTotalMaxChars.",
    )


def test_the_log_hears_of_a_cut_once_per_session(caplog: pytest.LogCaptureFixture) -> None:
    """T10 e: one WARN with raw=12001 and limit=12000."""
    once = WarnOnce()
    for session in ("a", "a", "b"):
        notices = build_context([file("SOUL.md", 12_001)], FileLimits(12_000, 60_000)).notices
        with caplog.at_level(logging.WARNING):
            once.warn(notices, workspace="/ws", session_key=session)
    assert [record.getMessage().rpartition("(")[2] for record in caplog.records] == ["sessionKey=a)", "sessionKey=b)"]
    assert "raw=12001 kept=11894 limit=12000" in caplog.records[0].getMessage()


def test_the_log_forgets_the_oldest_warning(caplog: pytest.LogCaptureFixture) -> None:
    once = WarnOnce()
    notices = [Notice(NoticeCode.IO, "x", f"notice {number}") for number in range(MOST_REMEMBERED + 1)]
    once.warn(notices, workspace="/ws", session_key="a")
    caplog.clear()
    once.warn([notices[-1], notices[0]], workspace="/ws", session_key="a")
    assert [record.getMessage() for record in caplog.records] == ["notice 0 (sessionKey=a)"]


def test_a_size_just_below_85_percent_is_not_near_the_limit() -> None:
    """85 % of 101 is 85.85, and of 1001 is 850.85."""
    assert [analysed(file("SOUL.md", size), limits=FileLimits(101, 1000)).files[0].near_limit for size in (85, 86)] == [
        False,
        True,
    ]
    limits = FileLimits(20_000, 1001)
    assert [analysed(file("SOUL.md", size), limits=limits).total_near_limit for size in (850, 851)] == [False, True]


@pytest.mark.parametrize(
    ("injected", "causes"),
    [
        (59, [(Cause.PER_FILE,), (Cause.PER_FILE,)]),
        (60, [(Cause.PER_FILE, Cause.TOTAL), (Cause.PER_FILE, Cause.TOTAL)]),
    ],
)
def test_a_total_that_is_reached_is_a_cause_of_every_cut(injected: int, causes: list[tuple[Cause, ...]]) -> None:
    analysis = analyse(
        [file("SOUL.md", 120), file("USER.md", 120)],
        [Injected("/ws/SOUL.md", 100), Injected("/ws/USER.md", injected)],
        FileLimits(100, 160),
    )
    assert [stats.causes for stats in analysis.files] == causes


def test_a_warning_that_is_switched_off_does_not_count_as_given() -> None:
    """Rule 12."""
    analysis = analysed(file("SOUL.md", 400))
    off = decide_warning(analysis, WarningMode.OFF, ("before",))
    assert (off.shown, off.seen) == (False, ("before",))
    assert decide_warning(analysis, WarningMode.ONCE, off.seen).shown
