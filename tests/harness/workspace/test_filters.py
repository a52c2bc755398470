"""Sessions, light runs and heartbeat settings decide which files a run gets."""

import pytest

from harness.settings import HeartbeatSettings
from harness.workspace.entries import LeftOutFile, WorkspaceFile
from harness.workspace.filters import (
    BOOTSTRAP_DONE,
    COMMITMENTS_ONLY,
    HEARTBEAT_OFF,
    LIGHT_HEARTBEAT,
    LIGHT_RUN,
    Rule,
    completed_rule,
    context_mode_rule,
    heartbeat_rule,
    session_rule,
    sift,
)
from harness.workspace.names import LOAD_ORDER, ContextMode, RunKind, SessionKind, base_name, session_kind
from harness.workspace.reads import Content, Missing

FILES = tuple(WorkspaceFile(name, f"/home/ada/ws/{name}", Missing()) for name in LOAD_ORDER)


def kept(rule: Rule) -> list[str]:
    return [file.name.removesuffix(".md") for file in sift(FILES, (rule,)).files]


@pytest.mark.parametrize(
    ("key", "kind"),
    [
        (None, SessionKind.ORDINARY),
        ("", SessionKind.ORDINARY),
        ("agent:main:telegram:direct:7", SessionKind.ORDINARY),
        ("agent:main:subagent:7f", SessionKind.SUBAGENT),
        ("subagent:7f", SessionKind.SUBAGENT),
        ("AGENT:main:Cron:daily", SessionKind.CRON),
        ("cron:daily", SessionKind.CRON),
        ("agent:cron:main", SessionKind.ORDINARY),
        ("cron", SessionKind.ORDINARY),
    ],
)
def test_the_session_key_tells_the_kind_of_session(key: str | None, kind: SessionKind) -> None:
    assert session_kind(key) is kind


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        (SessionKind.ORDINARY, "AGENTS SOUL TOOLS IDENTITY USER HEARTBEAT BOOTSTRAP MEMORY"),
        (SessionKind.SUBAGENT, "AGENTS TOOLS"),
        (SessionKind.CRON, "AGENTS SOUL TOOLS IDENTITY USER"),
    ],
)
def test_a_session_gets_the_files_of_its_kind_in_load_order(kind: SessionKind, names: str) -> None:
    """S48, S65."""
    assert kept(session_rule(kind)) == names.split()


@pytest.mark.parametrize(
    ("mode", "run", "names"),
    [
        (ContextMode.FULL, RunKind.HEARTBEAT, [name.removesuffix(".md") for name in LOAD_ORDER]),
        (ContextMode.LIGHTWEIGHT, RunKind.HEARTBEAT, ["HEARTBEAT"]),
        (ContextMode.LIGHTWEIGHT, RunKind.CRON, []),
        (ContextMode.LIGHTWEIGHT, RunKind.DEFAULT, []),
        (ContextMode.LIGHTWEIGHT, RunKind.COMMITMENT_ONLY, []),
    ],
)
def test_a_light_run_gets_next_to_nothing(mode: ContextMode, run: RunKind, names: list[str]) -> None:
    assert kept(context_mode_rule(mode, run)) == names


def test_what_a_light_run_lacks_is_accounted_for() -> None:
    heartbeat = sift(FILES, (context_mode_rule(ContextMode.LIGHTWEIGHT, RunKind.HEARTBEAT),))
    cron = sift(FILES, (context_mode_rule(ContextMode.LIGHTWEIGHT, RunKind.CRON),))
    assert {out.reason for out in heartbeat.left_out} == {LIGHT_HEARTBEAT}
    assert {out.reason for out in cron.left_out} == {LIGHT_RUN}


ON = HeartbeatSettings()
NO_SECTION = HeartbeatSettings(include_system_prompt_section=False)
OTHER_AGENT = HeartbeatSettings(default_agent=False, enabled=False, every=None)


@pytest.mark.parametrize(
    ("run", "gate", "reason"),
    [
        (RunKind.DEFAULT, None, None),
        (RunKind.DEFAULT, ON, None),
        (RunKind.DEFAULT, NO_SECTION, HEARTBEAT_OFF),
        (RunKind.DEFAULT, HeartbeatSettings(enabled=False), HEARTBEAT_OFF),
        (RunKind.DEFAULT, HeartbeatSettings(every=None), HEARTBEAT_OFF),
        (RunKind.CRON, HeartbeatSettings(every=None), HEARTBEAT_OFF),
        (RunKind.DEFAULT, OTHER_AGENT, None),
        (RunKind.HEARTBEAT, NO_SECTION, None),
        (RunKind.COMMITMENT_ONLY, None, COMMITMENTS_ONLY),
        (RunKind.COMMITMENT_ONLY, ON, COMMITMENTS_ONLY),
    ],
)
def test_heartbeat_md_goes_with_the_heartbeat_guidance(
    run: RunKind, gate: HeartbeatSettings | None, reason: str | None
) -> None:
    """S58."""
    out = sift(FILES, (heartbeat_rule(run, gate),)).left_out
    assert [(file.name, file.reason) for file in out] == ([] if reason is None else [("HEARTBEAT.md", reason)])


def test_the_first_run_file_is_known_by_its_place() -> None:
    root = "/home/ada/ws/BOOTSTRAP.md"
    nested = WorkspaceFile("BOOTSTRAP.md", "/home/ada/ws/packages/x/BOOTSTRAP.md", Missing())
    link = WorkspaceFile("SOUL.md", "/home/ada/ws/SOUL.md", Content("Hello.", root, None))
    sifted = sift((nested, link), (completed_rule(frozenset({root}), completed=True),))
    assert (sifted.files, sifted.left_out) == (
        (nested,),
        (LeftOutFile("SOUL.md", "/home/ada/ws/SOUL.md", BOOTSTRAP_DONE),),
    )
    assert sift((link,), (completed_rule(frozenset({root}), completed=False),)).files == (link,)


@pytest.mark.parametrize("path", ["SOUL.md", "/a/SOUL.md", "a\\b\\SOUL.md", "/a/SOUL.md/"])
def test_the_base_name_does_not_depend_on_the_slashes(path: str) -> None:
    assert base_name(path) == "SOUL.md"
