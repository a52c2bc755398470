"""A run gets its workspace's files in order, and hears why it does not get the others."""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.layers import LayerName
from harness.settings import HeartbeatSettings
from harness.workspace.bootstrap import HOOK_REMOVED, MOST_WORKSPACES, Bootstrap, BootstrapFiles, BootstrapRequest
from harness.workspace.entries import LeftOutFile, NoticeCode
from harness.workspace.filters import HEARTBEAT_OFF, NO_FILE
from harness.workspace.hooks import BootstrapEvent, BootstrapHooks, Hook, HookFile
from harness.workspace.memory_files import MemoryKind
from harness.workspace.names import LOAD_ORDER, ContextMode, RunKind
from harness.workspace.reader import GuardedReader
from harness.workspace.reads import Content, Missing, ReadResult, Refusal, Refused

CONTENTS = {name: f"{name} says hello." for name in LOAD_ORDER}


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = (tmp_path / "ws").resolve()
    folder.mkdir()
    for name, text in CONTENTS.items():
        (folder / name).write_text(text)
    return folder


async def resolve(workspace: Path, *hooks: Hook, **options: object) -> BootstrapFiles:
    registry = BootstrapHooks()
    for number, hook in enumerate(hooks):
        registry.register(hook, name=f"hook {number}")
    bootstrap = Bootstrap(GuardedReader(), hooks=registry, home="/home/ada")
    return await bootstrap.resolve(BootstrapRequest(str(workspace), "main", **options))  # type: ignore[arg-type]


def texts(files: BootstrapFiles) -> dict[str, str]:
    return {file.name: file.text for file in files.files}


def names(files: BootstrapFiles) -> list[str]:
    return [file.name for file in files.files]


async def test_all_eight_files_are_loaded_in_order(workspace: Path) -> None:
    """S48, S57."""
    resolved = await resolve(workspace)
    assert [(file.name, file.path, file.text, file.memory) for file in resolved.files] == [
        (name, f"{workspace}/{name}", CONTENTS[name], MemoryKind.ROOT if name == "MEMORY.md" else None)
        for name in LOAD_ORDER
    ]
    assert (resolved.left_out, resolved.notices, resolved.setup_complete) == ((), (), False)


async def test_missing_files_have_entries_save_for_the_memory(tmp_path: Path) -> None:
    """S61."""
    resolved = await resolve(tmp_path)
    assert names(resolved) == ["AGENTS.md", "SOUL.md", "TOOLS.md", "IDENTITY.md", "USER.md", "HEARTBEAT.md"]
    assert all(file.missing for file in resolved.files)
    assert resolved.left_out == (LeftOutFile("BOOTSTRAP.md", f"{tmp_path}/BOOTSTRAP.md", NO_FILE),)


async def test_a_memory_in_other_letters_and_daily_notes_are_no_prompt_files(tmp_path: Path) -> None:
    """S59."""
    (tmp_path / "memory.md").write_text("old")
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "2026-07-01.md").write_text("note")
    resolved = await resolve(tmp_path)
    assert not any(file.text for file in resolved.files)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"session_key": "agent:main:subagent:7f"}, "AGENTS.md TOOLS.md"),
        ({"session_id": "agent:main:subagent:7f"}, "AGENTS.md TOOLS.md"),
        ({"session_key": "agent:main:cron:daily"}, "AGENTS.md SOUL.md TOOLS.md IDENTITY.md USER.md"),
        ({"run": RunKind.HEARTBEAT, "context": ContextMode.LIGHTWEIGHT}, "HEARTBEAT.md"),
        ({"run": RunKind.CRON, "context": ContextMode.LIGHTWEIGHT}, ""),
    ],
)
async def test_every_kind_of_run_gets_its_files(workspace: Path, options: dict[str, object], expected: str) -> None:
    """Rule 11. S65."""
    resolved = await resolve(workspace, **options)
    assert names(resolved) == expected.split()
    assert {out.name for out in resolved.left_out} == set(LOAD_ORDER) - set(expected.split())


async def test_heartbeat_md_is_left_out_when_heartbeats_are_off(workspace: Path) -> None:
    """S58."""
    gate = HeartbeatSettings(enabled=False)
    resolved = await resolve(workspace, heartbeat=gate)
    assert LeftOutFile("HEARTBEAT.md", f"{workspace}/HEARTBEAT.md", HEARTBEAT_OFF) in resolved.left_out
    assert "HEARTBEAT.md" not in names(resolved)


async def test_a_workspace_that_is_set_up_has_no_first_run_file(workspace: Path) -> None:
    """Rule 10. S48."""
    (workspace / "openclaw-workspace-state.json").write_text('{"setupCompletedAt": "2026-07-01T09:00:00Z"}')

    def bring_back(event: BootstrapEvent) -> None:
        for path in ("BOOTSTRAP.md", f"{workspace}/./BOOTSTRAP.md", "packages/x/BOOTSTRAP.md"):
            event.files.append(HookFile("BOOTSTRAP.md", path, "Start over."))
        event.files.append(HookFile("SOUL.md", "BOOTSTRAP.md", "Start over under another name."))

    resolved = await resolve(workspace, bring_back)
    assert resolved.setup_complete
    firsts = [file.path for file in resolved.files if "Start over" in file.text or file.name == "BOOTSTRAP.md"]
    assert firsts == [f"{workspace}/packages/x/BOOTSTRAP.md"]


async def test_an_unreadable_state_counts_as_not_set_up_and_is_reported(workspace: Path) -> None:
    (workspace / "openclaw-workspace-state.json").write_text("{oops")
    resolved = await resolve(workspace)
    assert "BOOTSTRAP.md" in names(resolved)
    [notice] = resolved.notices
    assert (notice.code, notice.source) == (NoticeCode.STATE, f"{workspace}/openclaw-workspace-state.json")
    assert "not valid JSON" in notice.text


async def test_a_refused_file_is_reported_with_its_reason(workspace: Path, tmp_path: Path) -> None:
    (tmp_path / "outside.md").write_text("secret")
    (workspace / "SOUL.md").unlink()
    (workspace / "SOUL.md").symlink_to(tmp_path / "outside.md")
    resolved = await resolve(workspace)
    assert resolved.files[1].read == Refused(Refusal.OUTSIDE)
    assert [notice.text for notice in resolved.notices] == [
        f"{workspace}/SOUL.md was not read: it leads outside the workspace; "
        "copy the file into the workspace instead of linking to it."
    ]


async def test_bytes_that_are_no_text_are_reported_and_the_run_goes_on(workspace: Path) -> None:
    """T10 h."""
    (workspace / "SOUL.md").write_bytes(b"SOUL \xff\xfe rules")
    resolved = await resolve(workspace)
    assert texts(resolved)["SOUL.md"] == "SOUL \ufffd\ufffd rules"
    assert [notice.text for notice in resolved.notices] == [
        f"{workspace}/SOUL.md: 2 places that are not UTF-8 were replaced by U+FFFD; save the file as UTF-8."
    ]


async def test_a_file_linked_under_two_names_appears_once_under_its_own(workspace: Path) -> None:
    (workspace / "SOUL.md").unlink()
    (workspace / "SOUL.md").symlink_to("USER.md")
    resolved = await resolve(workspace)
    assert names(resolved) == [name for name in LOAD_ORDER if name != "SOUL.md"]
    assert resolved.left_out == (LeftOutFile("SOUL.md", f"{workspace}/SOUL.md", "it is the same file as USER.md"),)
    assert [notice.code for notice in resolved.notices] == [NoticeCode.DUPLICATE]


@pytest.mark.parametrize("target", ["MEMORY.md", "memory/2026-07-01.md", "old/Memory.md"])
async def test_a_link_to_memory_is_memory(workspace: Path, target: str) -> None:
    (workspace / target).parent.mkdir(exist_ok=True)
    (workspace / "real").write_text("The boat is blue.")
    (workspace / "real").replace(workspace / target)
    (workspace / "SOUL.md").unlink()
    (workspace / "SOUL.md").symlink_to(target)
    resolved = await resolve(workspace)
    holding = [file for file in resolved.files if file.text == "The boat is blue."]
    assert [(file.memory is not None, file.layer) for file in holding] == [(True, LayerName.MEMORY)]


async def test_unchanged_files_are_the_very_same_value_for_all_agents_of_a_folder(workspace: Path) -> None:
    """T10 i."""
    bootstrap = Bootstrap(GuardedReader(now_ns=lambda: 4 * 10**18))
    first = await bootstrap.load(str(workspace))
    for agent in ["main", "second"] * 5:
        resolved = await bootstrap.resolve(BootstrapRequest(str(workspace), agent))
        assert resolved.files == first
    assert await bootstrap.load(str(workspace)) is first
    (workspace / "SOUL.md").write_text("Be brief.")
    second = await bootstrap.load(str(workspace))
    assert [new is old for new, old in zip(second, first, strict=True)] == [name != "SOUL.md" for name in LOAD_ORDER]


async def test_a_hook_may_replace_change_add_and_remove_files(workspace: Path) -> None:
    """S66."""

    async def other_voice(event: BootstrapEvent) -> None:
        event.files = [file for file in event.files if file.name != "USER.md"]
        event.files[1].content = "Speak like a pirate."
        event.files.append(HookFile("NOTES.md", "~/notes.md", "From home."))

    resolved = await resolve(workspace, other_voice)
    assert texts(resolved) == {
        **{name: text for name, text in CONTENTS.items() if name != "USER.md"},
        "SOUL.md": "Speak like a pirate.",
        "NOTES.md": "From home.",
    }
    assert resolved.files[-1].path == "/home/ada/notes.md"
    assert [file.name for file in resolved.files if file.from_hook] == ["SOUL.md", "NOTES.md"]
    assert resolved.left_out == (LeftOutFile("USER.md", f"{workspace}/USER.md", HOOK_REMOVED),)


async def test_what_a_hook_does_is_gone_on_the_next_run(workspace: Path) -> None:
    """Rule 10: hooks get a copy."""

    def push(event: BootstrapEvent) -> None:
        event.files.append(HookFile("NOTES.md", "notes.md", "One more."))

    registry = BootstrapHooks()
    registry.register(push, name="push")
    bootstrap = Bootstrap(GuardedReader(), hooks=registry)
    for _ in range(3):
        resolved = await bootstrap.resolve(BootstrapRequest(str(workspace), "main"))
        assert names(resolved).count("NOTES.md") == 1


async def test_a_light_run_carries_what_hooks_add(workspace: Path) -> None:
    """Rule 11: the hook still runs."""

    def push(event: BootstrapEvent) -> None:
        event.files.append(HookFile("SOUL.md", "SOUL.md"))

    resolved = await resolve(workspace, push, run=RunKind.CRON, context=ContextMode.LIGHTWEIGHT)
    assert texts(resolved) == {"SOUL.md": CONTENTS["SOUL.md"]}
    assert "SOUL.md" not in {out.name for out in resolved.left_out}


async def test_useless_hook_entries_are_dropped_and_duplicates_keep_the_first(workspace: Path) -> None:
    """Rule 10."""

    def careless(event: BootstrapEvent) -> None:
        event.files += [
            HookFile("A.md", None, "no path"),
            HookFile("B.md", "  ", "blank path"),
            HookFile("SOUL.md", " ./SOUL.md ", "a second soul"),
            HookFile("", "packages/x/TOOLS.md", "no name \ud800"),
        ]

    resolved = await resolve(workspace, careless)
    assert texts(resolved)["SOUL.md"] == CONTENTS["SOUL.md"]
    assert (resolved.files[-1].name, resolved.files[-1].text) == ("TOOLS.md", "no name \ufffd")
    assert [notice.text.partition(";")[0] for notice in resolved.notices] == [
        "A hook on agent:bootstrap left the entry 'A.md' that has no path",
        "A hook on agent:bootstrap left the entry 'B.md' that has no path",
        f"{workspace}/SOUL.md is not repeated in the prompt: it is the same file as SOUL.md.",
    ]


async def test_a_hook_cannot_name_a_file_outside_the_workspace_to_have_it_read(workspace: Path) -> None:
    def peek(event: BootstrapEvent) -> None:
        event.files = [HookFile("SOUL.md", "/etc/hostname")]

    resolved = await resolve(workspace, peek)
    assert [file.read for file in resolved.files] == [Refused(Refusal.OUTSIDE)]


DISGUISES: dict[str, Callable[[HookFile], HookFile]] = {
    "renamed": lambda file: HookFile("SOUL.md", file.path, file.content),
    "moved": lambda file: HookFile("SOUL.md", "voice.md", file.content),
    "quoted": lambda file: HookFile("SOUL.md", "voice.md", f"# Voice\n\n  {file.content}\n"),
    "linked": lambda file: HookFile("SOUL.md", "link.md"),
    "linked with text": lambda file: HookFile("SOUL.md", "link.md", "something of it"),
    "moved and shortened": lambda file: HookFile("SOUL.md", "voice.md", "something of it", source=file.source),
    "nested": lambda file: HookFile("SOUL.md", "packages/x/MEMORY.md", "another"),
    "other letters": lambda file: HookFile("memory.md", "voice.md", "another"),
}


@pytest.mark.parametrize("disguise", DISGUISES)
async def test_a_hook_gives_memory_no_side_door(workspace: Path, disguise: str) -> None:
    (workspace / "link.md").symlink_to("MEMORY.md")

    def change(event: BootstrapEvent) -> None:
        memory = next(file for file in event.files if file.name == "MEMORY.md")
        event.files = [DISGUISES[disguise](memory)]

    resolved = await resolve(workspace, change)
    assert [file.memory is not None for file in resolved.files] == [True]


async def test_what_a_hook_copies_from_a_note_is_as_private_as_the_note(workspace: Path) -> None:
    (workspace / "memory").mkdir()
    (workspace / "memory" / "2026-03-02.md").write_text("Tamsin sold the blue boat to her cousin.")

    def copy(event: BootstrapEvent) -> None:
        event.files = [
            HookFile("USER.md", "USER.md", "Lately: Tamsin sold the blue boat to her cousin.\n"),
            HookFile("TOOLS.md", "TOOLS.md", "A hammer, and nothing that any note says."),
        ]

    resolved = await resolve(workspace, copy)
    assert {file.name: file.memory for file in resolved.files} == {"USER.md": MemoryKind.NAMED, "TOOLS.md": None}


async def test_the_notes_are_not_read_for_files_that_no_hook_changed(workspace: Path) -> None:
    (workspace / "memory").mkdir()
    note = workspace / "memory" / "2026-03-02.md"
    note.write_text("It rained.")
    (workspace / "more.md").write_text("A further file that the hook only names.")
    read: list[str] = []

    class Noting(GuardedReader):
        async def read(self, root: str, path: str) -> ReadResult:
            read.append(path)
            return await super().read(root, path)

    hooks = BootstrapHooks()
    hooks.register(lambda event: event.files.append(HookFile("MORE.md", "more.md")), name="further file")
    bootstrap = Bootstrap(Noting(), hooks=hooks)
    await bootstrap.resolve(BootstrapRequest(str(workspace), "main"))
    assert str(workspace / "more.md") in read
    assert str(note) not in read


async def test_memory_kept_from_a_cron_session_is_known_even_when_a_hook_reads_it_itself(workspace: Path) -> None:
    def smuggle(event: BootstrapEvent) -> None:
        event.files.append(HookFile("NOTES.md", "notes.md", Path(event.workspace_dir, "MEMORY.md").read_text()))

    resolved = await resolve(workspace, smuggle, session_key="agent:main:cron:daily")
    assert [(file.name, file.memory) for file in resolved.files][-1] == ("NOTES.md", MemoryKind.NAMED)


async def test_a_file_that_a_hook_calls_missing_is_missing(workspace: Path) -> None:
    def hide(event: BootstrapEvent) -> None:
        event.files = [HookFile("SOUL.md", "SOUL.md", missing=True)]

    resolved = await resolve(workspace, hide)
    assert [file.read for file in resolved.files] == [Missing()]


async def test_an_untouched_file_keeps_its_identity_through_hooks(workspace: Path) -> None:
    seen: list[int] = []

    def look(event: BootstrapEvent) -> None:
        seen.append(len(event.files))

    resolved = await resolve(workspace, look)
    assert seen == [8]
    reads = [file.read for file in resolved.files]
    assert all(isinstance(read, Content) and read.identity is not None for read in reads)


def _odd_entry(event: BootstrapEvent) -> None:
    event.files.append("AGENTS.md")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def _no_notices(event: BootstrapEvent) -> None:
    event.notices = None  # type: ignore[assignment]  # pyright: ignore[reportAttributeAccessIssue]


def _bytes_for_text(event: BootstrapEvent) -> None:
    event.files.append(HookFile("SOUL.md", "S.md", b"x"))  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def _unspeakable(event: BootstrapEvent) -> None:
    class UnspeakableError(Exception):
        def __str__(self) -> str:
            raise RuntimeError("not even that")

    raise UnspeakableError


@pytest.mark.parametrize("hook", [_odd_entry, _no_notices, _bytes_for_text, _unspeakable])
async def test_whatever_a_hook_leaves_the_turn_goes_on_without_it(
    workspace: Path, hook: Callable[[BootstrapEvent], None]
) -> None:
    """S66; a second hook still runs, on what was there before the odd one."""

    def after(event: BootstrapEvent) -> None:
        event.files.append(HookFile("TOOLS.md", "packages/x/TOOLS.md", "from the second"))

    hooks = BootstrapHooks()
    hooks.register(hook, name="odd")
    hooks.register(after, name="second")
    resolved = await Bootstrap(GuardedReader(), hooks=hooks).resolve(BootstrapRequest(str(workspace), "main"))
    assert texts(resolved)["SOUL.md"] == CONTENTS["SOUL.md"]
    assert resolved.files[-1].text == "from the second"
    assert [(notice.code, notice.source) for notice in resolved.notices] == [(NoticeCode.HOOK_FAILED, "odd")]


async def test_a_path_that_no_file_can_have_is_dropped_with_a_word(workspace: Path) -> None:
    def impossible(event: BootstrapEvent) -> None:
        event.files.append(HookFile("SOUL.md", "a\0b", "x"))

    resolved = await resolve(workspace, impossible)
    assert texts(resolved)["SOUL.md"] == CONTENTS["SOUL.md"]
    assert [(notice.code, notice.text) for notice in resolved.notices] == [
        (
            NoticeCode.HOOK_ENTRY,
            "A hook on agent:bootstrap left the entry 'SOUL.md' that has the path 'a\\x00b', which no file can have;"
            " it was dropped. Give each file a name and a path.",
        )
    ]


async def test_a_cancelled_task_of_a_hook_does_not_cancel_the_turn(workspace: Path) -> None:
    async def waits_for_a_cancelled_task(event: BootstrapEvent) -> None:
        task = asyncio.ensure_future(asyncio.sleep(60))
        task.cancel()
        await task

    hooks = BootstrapHooks()
    hooks.register(waits_for_a_cancelled_task, name="odd")
    resolved = await Bootstrap(GuardedReader(), hooks=hooks).resolve(BootstrapRequest(str(workspace), "main"))
    assert [notice.code for notice in resolved.notices] == [NoticeCode.HOOK_FAILED]


async def test_the_same_files_are_the_very_same_value_until_one_changes(workspace: Path) -> None:
    (workspace / "BOOTSTRAP.md").unlink()
    bootstrap = Bootstrap(GuardedReader(now_ns=lambda: time.time_ns() + 10**10))
    request = BootstrapRequest(str(workspace), "main")
    first, second = await bootstrap.resolve(request), await bootstrap.resolve(request)
    (workspace / "SOUL.md").write_text("another", encoding="utf-8")
    third = await bootstrap.resolve(request)
    other = await bootstrap.resolve(BootstrapRequest(str(workspace), "main", run=RunKind.HEARTBEAT))
    assert second is first
    assert texts(third)["SOUL.md"] == "another"
    assert other is not third


def _exchange(file: Path) -> None:
    copy = file.with_name("copy.md")
    copy.write_text(file.read_text())
    copy.replace(file)


CHANGES: dict[str, Callable[[Path], object]] = {
    "edited": lambda folder: (folder / "SOUL.md").write_text("Another soul."),
    "gone": lambda folder: (folder / "SOUL.md").unlink(),
    "there now": lambda folder: (folder / "TOOLS.md").write_text("New tools."),
    "exchanged": lambda folder: _exchange(folder / "USER.md"),
    "a link now": lambda folder: (folder / "TOOLS.md").symlink_to(folder / "SOUL.md"),
    "no folder any more": lambda folder: folder.rename(folder.with_name("elsewhere")),
    "memory gone": lambda folder: (folder / "MEMORY.md").unlink(),
    "memory there now": lambda folder: (folder / "MEMORY.md").write_text("New memory."),
    "memory under another name": lambda folder: (folder / "MEMORY.md").rename(folder / "memory.md"),
}


@pytest.mark.parametrize("change", CHANGES)
async def test_files_that_were_looked_at_only_are_read_again_when_one_changes(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    for name in ("TOOLS.md", *(["MEMORY.md"] if change == "memory there now" else [])):
        (workspace / name).unlink()
    reader = GuardedReader(now_ns=lambda: time.time_ns() + 60 * 10**9)
    bootstrap = Bootstrap(reader)
    loaded = await bootstrap.load(str(workspace))
    with monkeypatch.context() as patched:
        patched.setattr(reader, "read", None)
        assert await bootstrap.load(str(workspace)) is loaded
    CHANGES[change](workspace)
    again = await bootstrap.load(str(workspace))
    assert again == await Bootstrap(GuardedReader()).load(str(workspace))
    assert again != loaded or change == "exchanged"


async def test_files_of_a_linked_workspace_become_memory_with_the_folder_that_they_are_in(
    workspace: Path, tmp_path: Path
) -> None:
    linked = tmp_path / "linked"
    linked.symlink_to(workspace)
    bootstrap = Bootstrap(GuardedReader(now_ns=lambda: time.time_ns() + 60 * 10**9))
    before = await bootstrap.load(str(linked))
    (workspace / "memory").symlink_to(".")
    after = await bootstrap.load(str(linked))
    assert [files[1].memory for files in (before, after)] == [None, MemoryKind.NOTE]


async def test_a_link_whose_target_moves_into_the_memory_folder_becomes_memory(workspace: Path) -> None:
    (workspace / "notes").mkdir()
    (workspace / "USER.md").rename(workspace / "notes" / "x.md")
    (workspace / "USER.md").symlink_to("notes/x.md")
    bootstrap = Bootstrap(GuardedReader(now_ns=lambda: 4 * 10**18))
    before = await bootstrap.load(str(workspace))
    (workspace / "notes").rename(workspace / "memory")
    (workspace / "USER.md").unlink()
    (workspace / "USER.md").symlink_to("memory/x.md")
    after = await bootstrap.load(str(workspace))
    assert [(file.text, file.memory) for files in (before, after) for file in files if file.name == "USER.md"] == [
        (CONTENTS["USER.md"], None),
        (CONTENTS["USER.md"], MemoryKind.NOTE),
    ]


async def test_the_files_of_64_workspaces_are_kept_and_those_of_the_oldest_let_go(tmp_path: Path) -> None:
    folders = [tmp_path / str(number) for number in range(MOST_WORKSPACES + 1)]
    for folder in folders:
        folder.mkdir()
        (folder / "MEMORY.md").write_text("The boat is blue.")
    bootstrap = Bootstrap(GuardedReader(now_ns=lambda: 4 * 10**18))
    first = [await bootstrap.load(str(folder)) for folder in folders]
    assert [
        await bootstrap.load(str(folder)) is files for folder, files in zip(folders[1:], first[1:], strict=True)
    ] == [True] * MOST_WORKSPACES
    again = await bootstrap.load(str(folders[0]))
    assert (again == first[0], again is first[0]) == (True, False)


async def test_a_hook_runs_each_time_and_forces_only_what_it_changes(workspace: Path) -> None:
    asked: list[int] = []

    async def hook(event: BootstrapEvent) -> None:
        asked.append(len(event.files))
        if len(asked) > 2:
            event.files[0].content = "Changed."

    registry = BootstrapHooks()
    registry.register(hook, name="a hook")
    bootstrap = Bootstrap(GuardedReader(now_ns=lambda: time.time_ns() + 10**9), hooks=registry)
    request = BootstrapRequest(str(workspace), "main")
    first = await bootstrap.resolve(request)
    assert await bootstrap.resolve(request) is first
    changed = await bootstrap.resolve(request)
    assert (asked, changed.files[0].text, changed.files[1:]) == ([8, 8, 8], "Changed.", first.files[1:])
    (workspace / "SOUL.md").write_text("Edited.")
    assert texts(await bootstrap.resolve(request))["SOUL.md"] == "Edited."


async def test_chats_that_take_turns_do_not_choose_their_files_anew(workspace: Path) -> None:
    bootstrap = Bootstrap(GuardedReader(now_ns=lambda: time.time_ns() + 10**9))
    one, other = (BootstrapRequest(str(workspace), "main", session_key=key) for key in ("agent:main:a", "agent:main:b"))
    first = await bootstrap.resolve(one)
    await bootstrap.resolve(other)
    assert await bootstrap.resolve(one) is first
