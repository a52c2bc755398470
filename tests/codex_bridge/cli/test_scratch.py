"""A run's folder is gone after it, and nothing else in the folder around it is touched."""

import os
from pathlib import Path

import pytest

from codex_bridge.cli.scratch import LEFT_BEHIND, PREFIX, scratch
from codex_bridge.home import StateFolderError


def old(path: Path) -> Path:
    path.mkdir(parents=True)
    (path / "file").write_text("kept", "utf-8")
    os.utime(path, (0, 0))
    return path


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_a_run_has_a_folder_that_only_its_owner_may_enter_and_that_is_gone_afterwards(tmp_path: Path) -> None:
    parent = tmp_path / "state" / "demo"
    with scratch(parent) as folder:
        (folder / "workspace").mkdir()
        assert (folder.parent, folder.name.startswith(PREFIX)) == (parent, True)
        assert [mode(each) for each in (folder, parent, parent.parent)] == [0o700] * 3
    assert list(parent.iterdir()) == []


def test_what_a_killed_run_left_behind_is_removed_and_a_run_of_now_is_not(tmp_path: Path) -> None:
    left = old(tmp_path / f"{PREFIX}left")
    with scratch(tmp_path) as running, scratch(tmp_path) as folder:
        assert sorted(tmp_path.iterdir()) == sorted([running, folder])
    assert not left.exists()


def test_folders_files_and_links_of_somebody_else_stay_however_old_they_are(tmp_path: Path) -> None:
    elsewhere = old(tmp_path / "elsewhere" / "photographs")
    parent = tmp_path / "demo"
    thesis = old(parent / "thesis")
    link = parent / f"{PREFIX}link"
    link.symlink_to(elsewhere)
    file = parent / f"{PREFIX}file"
    file.write_text("kept", "utf-8")
    os.utime(file, (0, 0))
    os.utime(elsewhere, (0, 0))
    parent.chmod(0o755)
    with scratch(parent):
        pass
    assert sorted(parent.iterdir()) == sorted([thesis, link, file])
    assert [(each / "file").read_text("utf-8") for each in (thesis, elsewhere)] == ["kept", "kept"]
    assert mode(parent) == 0o755
    assert LEFT_BEHIND > 60


def test_a_place_where_no_folder_can_be_made_is_named_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "demo").write_text("a file", "utf-8")
    said = r"cannot be used \(.+\); name another with CODEX_BRIDGE_STATE_DIR\.$"
    with pytest.raises(StateFolderError, match=said), scratch(tmp_path / "demo"):
        raise NotImplementedError
