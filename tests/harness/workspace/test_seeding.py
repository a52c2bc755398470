"""A new workspace is filled once; a used one is left as it is; a vanished one is not silently made anew."""

import json
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from harness.workspace.attestation import WorkspaceVanishedError, attest, attested_at, marker_path
from harness.workspace.reader import GuardedReader
from harness.workspace.seeding import Seeded, SeedOptions, ensure_workspace, git_init
from harness.workspace.setup_state import (
    Evidence,
    SetupState,
    SetupStateError,
    format_state,
    next_state,
    parse_state,
)
from harness.workspace.setup_status import read_setup
from harness.workspace.starter_files import PROFILE, STARTERS, starter_text, without_front_matter

NOW = datetime(2026, 7, 1, 9, tzinfo=UTC)
STAMP = NOW.isoformat()
STATE = "openclaw-workspace-state.json"


class Home:
    """A gateway's state folder and one workspace."""

    def __init__(self, folder: Path) -> None:
        self.workspace = folder / "ws"
        self.state_dir = folder / "state"
        self.repositories: list[str] = []

    async def ensure(self, *, at: datetime = NOW, options: SeedOptions | None = None) -> Seeded:
        async def init(workspace: str) -> str | None:
            self.repositories.append(workspace)
            (Path(workspace) / ".git").mkdir()
            return None

        return await ensure_workspace(
            str(self.workspace),
            state_dir=str(self.state_dir),
            now=at,
            reader=GuardedReader(),
            options=options,
            init_repository=init,
        )

    def names(self) -> set[str]:
        return {path.name for path in self.workspace.iterdir() if path.is_file()}

    def state(self) -> dict[str, object]:
        value: dict[str, object] = json.loads((self.workspace / STATE).read_text())
        return value


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


async def test_a_new_workspace_gets_all_files_a_state_and_a_repository(home: Home) -> None:
    """S48."""
    seeded = await home.ensure()
    assert set(seeded.created) == set(STARTERS) == home.names() - {STATE}
    assert seeded.state == SetupState(STAMP, "")
    assert home.state() == {"version": 1, "bootstrapSeededAt": STAMP}
    assert home.repositories == [str(home.workspace)]
    assert (home.workspace / "SOUL.md").read_text() == starter_text("SOUL.md")


async def test_a_second_look_changes_nothing(home: Home) -> None:
    await home.ensure()
    before = (home.workspace / STATE).stat().st_mtime_ns
    seeded = await home.ensure(at=NOW + timedelta(minutes=5))
    assert seeded == Seeded((), (), SetupState(STAMP, ""), ())
    assert (home.workspace / STATE).stat().st_mtime_ns == before
    assert len(home.repositories) == 1


async def test_deleting_the_first_run_file_completes_the_setup(home: Home) -> None:
    await home.ensure()
    (home.workspace / "BOOTSTRAP.md").unlink()
    later = NOW + timedelta(hours=1)
    assert (await home.ensure(at=later)).state == SetupState(STAMP, later.isoformat())
    again = await home.ensure(at=later + timedelta(hours=1))
    assert (again.created, again.state) == ((), SetupState(STAMP, later.isoformat()))


@pytest.mark.parametrize("name", PROFILE)
async def test_a_configured_profile_completes_the_setup_and_removes_our_first_run_file(home: Home, name: str) -> None:
    await home.ensure()
    (home.workspace / name).write_text("I am Pell.")
    seeded = await home.ensure(at=NOW + timedelta(hours=1))
    assert (seeded.removed, bool(seeded.state.completed_at)) == (("BOOTSTRAP.md",), True)
    assert "BOOTSTRAP.md" not in home.names()


async def test_a_first_run_file_that_somebody_changed_is_not_removed(home: Home) -> None:
    await home.ensure()
    (home.workspace / "BOOTSTRAP.md").write_text("My own ritual.")
    (home.workspace / "USER.md").write_text("Ada")
    seeded = await home.ensure(at=NOW + timedelta(hours=1))
    assert (seeded.removed, bool(seeded.state.completed_at)) == ((), True)
    assert (home.workspace / "BOOTSTRAP.md").read_text() == "My own ritual."


@pytest.mark.parametrize("sign", ["SOUL.md", "USER.md", "MEMORY.md", "memory/", ".git/", "skills/weather/SKILL.md"])
async def test_a_workspace_in_use_gets_no_first_run_file(home: Home, sign: str) -> None:
    path = home.workspace / sign
    if sign.endswith("/"):
        path.mkdir(parents=True)
    else:
        path.parent.mkdir(parents=True)
        path.write_text("mine")
    seeded = await home.ensure()
    assert seeded.state == SetupState("", STAMP)
    assert set(seeded.created) == {"AGENTS.md", "TOOLS.md"} - {sign}
    assert home.repositories == []
    if not sign.endswith("/"):
        assert path.read_text() == "mine"


async def test_optional_files_can_be_left_out(home: Home) -> None:
    seeded = await home.ensure(options=SeedOptions(skip_optional=frozenset({"SOUL.md", "HEARTBEAT.md", "AGENTS.md"})))
    assert set(seeded.created) == {"AGENTS.md", "TOOLS.md", "IDENTITY.md", "USER.md", "BOOTSTRAP.md"}


async def test_seeding_can_be_switched_off(home: Home) -> None:
    assert await home.ensure(options=SeedOptions(skip_bootstrap=True)) == Seeded((), (), SetupState(), ())
    assert (home.names(), home.repositories) == (set(), [])


async def test_a_link_that_leads_nowhere_is_not_written_through(home: Home, tmp_path: Path) -> None:
    home.workspace.mkdir()
    (home.workspace / "AGENTS.md").symlink_to(tmp_path / "elsewhere")
    seeded = await home.ensure()
    assert "AGENTS.md" not in seeded.created
    assert not (tmp_path / "elsewhere").exists()


async def test_a_vanished_workspace_is_not_filled_anew(home: Home) -> None:
    await home.ensure()
    home.workspace.rename(home.workspace.with_name("moved"))
    later = NOW + timedelta(hours=23)
    with pytest.raises(WorkspaceVanishedError, match="Mount or restore the folder") as caught:
        await home.ensure(at=later)
    marker = marker_path(str(home.state_dir), str(home.workspace))
    assert (caught.value.workspace, caught.value.attested_at, caught.value.marker) == (
        str(home.workspace),
        NOW,
        str(marker),
    )
    assert not home.workspace.exists()
    marker.unlink()
    assert "BOOTSTRAP.md" in (await home.ensure(at=later)).created


async def test_a_workspace_not_seen_for_a_day_may_be_made_anew(home: Home) -> None:
    await home.ensure()
    home.workspace.rename(home.workspace.with_name("moved"))
    assert "BOOTSTRAP.md" in (await home.ensure(at=NOW + timedelta(hours=24))).created


def test_a_marker_is_private_bounded_and_not_rewritten_at_once(home: Home) -> None:
    folder, workspace = str(home.state_dir), str(home.workspace)
    attest(folder, workspace, now=NOW)
    marker = marker_path(folder, workspace)
    assert (stat.S_IMODE(marker.stat().st_mode), stat.S_IMODE(marker.parent.stat().st_mode)) == (0o600, 0o700)
    attest(folder, workspace, now=NOW + timedelta(minutes=59))
    assert attested_at(folder, workspace) == NOW
    attest(folder, workspace, now=NOW + timedelta(minutes=60))
    assert attested_at(folder, workspace) == NOW + timedelta(minutes=60)
    for unusable in (b"x" * 3000, b"[]", b'{"attestedAt": "soon"}', b'{"attestedAt": "2026-07-01T09:00:00"}'):
        marker.write_bytes(unusable)
        assert attested_at(folder, workspace) is None


async def test_an_unusable_state_is_reported_kept_and_starts_no_new_ritual(home: Home) -> None:
    home.workspace.mkdir()
    (home.workspace / STATE).write_text("{oops")
    seeded = await home.ensure()
    assert "BOOTSTRAP.md" not in seeded.created
    assert (home.workspace / STATE).read_text() == "{oops"
    assert "repair or delete the file" in seeded.notices[0].text


async def test_a_missing_git_is_a_notice_and_no_failure(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(home.state_dir))
    seeded = await ensure_workspace(
        str(home.workspace), state_dir=str(home.state_dir), now=NOW, reader=GuardedReader(), init_repository=git_init
    )
    assert [notice.text for notice in seeded.notices] == [
        f"{home.workspace} has no git repository: git could not be started (No such file or directory). "
        "Run git init there if you want a history of its files."
    ]


async def test_the_git_on_path_makes_the_repository(home: Home) -> None:
    home.workspace.mkdir()
    assert await git_init(str(home.workspace)) is None
    assert (home.workspace / ".git").is_dir()


async def test_the_older_state_file_is_read(home: Home) -> None:
    (home.workspace / ".openclaw").mkdir(parents=True)
    (home.workspace / ".openclaw" / "workspace-state.json").write_text('{"onboardingCompletedAt": "2026-01-01"}')
    setup = await read_setup(GuardedReader(), str(home.workspace))
    assert (setup.completed, setup.state.completed_at, setup.file) == (
        True,
        "2026-01-01",
        ".openclaw/workspace-state.json",
    )


def test_a_state_keeps_the_fields_of_others() -> None:
    text = '{"version": 1, "bootstrapSeededAt": " a ", "onboardingCompletedAt": "b", "theme": "dark"}'
    state = parse_state(text)
    assert (state, dict(state.other)) == (SetupState("a", "b"), {"theme": "dark"})
    assert json.loads(format_state(state)) == {
        "version": 1,
        "bootstrapSeededAt": "a",
        "setupCompletedAt": "b",
        "theme": "dark",
    }


@pytest.mark.parametrize(
    ("text", "why"),
    [("{", "not valid JSON"), ("[]", "not a JSON object"), ('{"setupCompletedAt": 5}', "setupCompletedAt is 5")],
)
def test_a_broken_state_says_what_is_wrong(text: str, why: str) -> None:
    with pytest.raises(SetupStateError, match=why):
        parse_state(text)


@pytest.mark.parametrize(
    ("state", "evidence", "after", "seeds"),
    [
        (SetupState(), Evidence(False, False, False), SetupState("now", ""), True),
        (SetupState(), Evidence(False, True, False), SetupState("", "now"), False),
        (SetupState(), Evidence(False, False, True), SetupState("", "now"), False),
        (SetupState(), Evidence(True, False, False), SetupState("now", ""), False),
        (SetupState("then", ""), Evidence(True, False, True), SetupState("then", ""), False),
        (SetupState("then", ""), Evidence(True, True, False), SetupState("then", "now"), False),
        (SetupState("then", ""), Evidence(False, False, True), SetupState("then", "now"), False),
        (SetupState("then", "done"), Evidence(True, True, True), SetupState("then", "done"), False),
    ],
)
def test_the_state_follows_from_what_is_found(
    state: SetupState, evidence: Evidence, after: SetupState, seeds: bool
) -> None:
    assert next_state(state, evidence, now="now") == (after, seeds)


@pytest.mark.parametrize("name", STARTERS)
def test_every_template_is_packaged_and_begins_after_its_front_matter(name: str) -> None:
    assert starter_text(name).startswith("<!--" if name == "HEARTBEAT.md" else "# ")


def test_the_heartbeat_template_holds_comments_only() -> None:
    assert all(line.startswith("<!--") and line.endswith("-->") for line in starter_text("HEARTBEAT.md").splitlines())


def test_front_matter_that_is_not_closed_is_text() -> None:
    assert without_front_matter("---\na: b\n---\n\nText\n") == "Text\n"
    assert without_front_matter("---\nText\n") == "---\nText\n"
    with pytest.raises(ValueError, match=r"no template for MEMORY\.md"):
        starter_text("MEMORY.md")


def test_a_marker_over_its_size_is_not_read(home: Home) -> None:
    folder, workspace = str(home.state_dir), str(home.workspace)
    attest(folder, workspace, now=NOW)
    marker = marker_path(folder, workspace)
    text = marker.read_bytes()
    marker.write_bytes(text.ljust(2048))
    assert attested_at(folder, workspace) == NOW
    marker.write_bytes(text.ljust(2049))
    assert attested_at(folder, workspace) is None


async def test_a_marker_from_before_the_clock_was_set_back_is_renewed_and_still_guards(home: Home) -> None:
    folder, workspace = str(home.state_dir), str(home.workspace)
    attest(folder, workspace, now=NOW + timedelta(days=365))
    with pytest.raises(WorkspaceVanishedError):
        await home.ensure()
    attest(folder, workspace, now=NOW)
    assert attested_at(folder, workspace) == NOW
