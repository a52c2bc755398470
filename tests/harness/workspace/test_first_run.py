"""Only a person's own conversation goes through the first-run ritual."""

from dataclasses import replace

import pytest

from harness.workspace.entries import LeftOutFile, WorkspaceFile
from harness.workspace.filters import BOOTSTRAP_ELSEWHERE
from harness.workspace.first_run import (
    FirstRunFacts,
    FirstRunMode,
    bootstrap_text,
    first_run_mode,
    for_mode,
    has_access,
    is_pending,
    workspace_notes,
)
from harness.workspace.names import RunKind, SessionKind
from harness.workspace.reads import Content

CHAT = FirstRunFacts(
    pending=True,
    run=RunKind.DEFAULT,
    session=SessionKind.ORDINARY,
    primary=True,
    trigger="user",
    file_access=True,
    own_workspace=True,
)
FILES = tuple(
    WorkspaceFile(name, f"/ws/{name}", Content(name, f"/ws/{name}", None)) for name in ("SOUL.md", "BOOTSTRAP.md")
)


@pytest.mark.parametrize(
    ("facts", "mode"),
    [
        (CHAT, FirstRunMode.FULL),
        (replace(CHAT, trigger="manual"), FirstRunMode.FULL),
        (replace(CHAT, file_access=False), FirstRunMode.LIMITED),
        (replace(CHAT, own_workspace=False), FirstRunMode.LIMITED),
        (replace(CHAT, pending=False), FirstRunMode.NONE),
        (replace(CHAT, run=RunKind.HEARTBEAT), FirstRunMode.NONE),
        (replace(CHAT, run=RunKind.CRON), FirstRunMode.NONE),
        (replace(CHAT, run=RunKind.COMMITMENT_ONLY), FirstRunMode.NONE),
        (replace(CHAT, session=SessionKind.SUBAGENT), FirstRunMode.NONE),
        (replace(CHAT, session=SessionKind.CRON), FirstRunMode.NONE),
        (replace(CHAT, primary=False), FirstRunMode.NONE),
        (replace(CHAT, trigger="webhook"), FirstRunMode.NONE),
    ],
)
def test_the_mode_follows_from_who_is_there(facts: FirstRunFacts, mode: FirstRunMode) -> None:
    """S48."""
    assert first_run_mode(facts) is mode


@pytest.mark.parametrize(
    ("complete", "text", "pending"), [(False, "", True), (True, "", False), (True, "Hello.", True), (True, " ", False)]
)
def test_a_loaded_text_makes_the_ritual_pending(complete: bool, text: str, pending: bool) -> None:
    assert is_pending(setup_complete=complete, bootstrap_text=text) is pending


@pytest.mark.parametrize(
    ("can_read", "embedded", "text", "access"),
    [(True, False, "", True), (False, True, "Hello.", True), (False, False, "Hello.", False), (False, True, "", False)],
)
def test_an_embedded_run_knows_the_ritual_by_its_text(can_read: bool, embedded: bool, text: str, access: bool) -> None:
    assert has_access(can_read_files=can_read, embedded=embedded, bootstrap_text=text) is access


def test_the_file_is_carried_in_the_full_mode_only() -> None:
    """S48."""
    assert bootstrap_text(FILES) == "BOOTSTRAP.md"
    assert bootstrap_text(FILES[:1]) == ""
    assert for_mode(FILES, FirstRunMode.FULL).files == FILES
    limited = for_mode(FILES, FirstRunMode.LIMITED)
    assert (limited.files, limited.left_out) == (
        FILES[:1],
        (LeftOutFile("BOOTSTRAP.md", "/ws/BOOTSTRAP.md", BOOTSTRAP_ELSEWHERE),),
    )


@pytest.mark.parametrize(
    ("present", "embedded", "gateway", "count"),
    [(False, True, True, 0), (True, True, True, 1), (True, True, False, 2), (False, False, False, 0)],
)
def test_the_workspace_section_gets_a_note_for_each_fact(
    present: bool, embedded: bool, gateway: bool, count: int
) -> None:
    notes = workspace_notes(bootstrap_present=present, embedded=embedded, gateway=gateway)
    assert (len(notes), any("commit" in note for note in notes)) == (count, present)
