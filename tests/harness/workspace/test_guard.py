"""A workspace file is read only when it is an ordinary file of the workspace, and stays one while it is read."""

import errno
import os
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.workspace.guard import Candidate, TransientReadError, inspect, load
from harness.workspace.reads import MAX_FILE_BYTES, Content, Missing, ReadResult, Refusal, Refused


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    return folder.resolve()


def read(root: Path, path: str) -> ReadResult:
    found = inspect(str(root), path)
    return load(str(root), found) if isinstance(found, Candidate) else found


def text_of(result: ReadResult) -> tuple[str, str, int]:
    assert isinstance(result, Content), result
    return result.text, result.real_path, result.invalid


def test_a_file_of_the_workspace_is_read(root: Path) -> None:
    (root / "notes").mkdir()
    (root / "notes" / "SOUL.md").write_text("Be kind.")
    assert text_of(read(root, "notes/SOUL.md")) == ("Be kind.", f"{root}/notes/SOUL.md", 0)


def test_a_link_within_the_workspace_is_followed(root: Path) -> None:
    (root / "voice.md").write_text("Be kind.")
    (root / "SOUL.md").symlink_to("voice.md")
    assert text_of(read(root, "SOUL.md")) == ("Be kind.", f"{root}/voice.md", 0)


def test_a_workspace_that_is_a_link_is_read(root: Path, tmp_path: Path) -> None:
    (root / "SOUL.md").write_text("Be kind.")
    link = tmp_path / "link"
    link.symlink_to(root)
    assert text_of(read(root, f"{link}/SOUL.md")) == ("Be kind.", f"{root}/SOUL.md", 0)


@pytest.mark.parametrize("path", ["SOUL.md", "no/SOUL.md", "file/SOUL.md", "dangling"])
def test_nothing_there_is_missing(root: Path, path: str) -> None:
    (root / "file").write_text("")
    (root / "dangling").symlink_to("nowhere")
    assert read(root, path) == Missing()


@pytest.mark.parametrize("path", ["link.md", "folder/secret.md", "../secret.md", "{outside}"])
def test_whatever_leads_out_of_the_workspace_is_refused(root: Path, tmp_path: Path, path: str) -> None:
    outside = tmp_path / "secret.md"
    outside.write_text("secret")
    (root / "link.md").symlink_to(outside)
    (root / "folder").symlink_to(tmp_path)
    assert read(root, path.format(outside=outside)) == Refused(Refusal.OUTSIDE)


def test_a_neighbour_whose_name_begins_alike_is_outside(root: Path) -> None:
    neighbour = root.with_name("workspace-old")
    neighbour.mkdir()
    (neighbour / "SOUL.md").write_text("old")
    assert read(root, "../workspace-old/SOUL.md") == Refused(Refusal.OUTSIDE)


def test_a_hard_link_is_refused(root: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("secret")
    (root / "SOUL.md").hardlink_to(tmp_path / "secret.md")
    assert read(root, "SOUL.md") == Refused(Refusal.HARD_LINK)


def test_a_folder_and_a_pipe_are_refused_without_waiting(root: Path) -> None:
    (root / "SOUL.md").mkdir()
    os.mkfifo(root / "USER.md")
    assert [read(root, name) for name in ("SOUL.md", "USER.md")] == [Refused(Refusal.NOT_REGULAR)] * 2


def test_a_device_is_refused_even_when_the_workspace_is_the_whole_disk() -> None:
    assert inspect("/", "/proc/self/environ") == Refused(Refusal.NOT_REGULAR)


def test_a_file_of_two_mebibytes_is_read_and_a_larger_one_refused(root: Path) -> None:
    (root / "SOUL.md").write_bytes(b"x" * MAX_FILE_BYTES)
    (root / "USER.md").write_bytes(b"x" * (MAX_FILE_BYTES + 1))
    assert len(text_of(read(root, "SOUL.md"))[0]) == MAX_FILE_BYTES
    assert read(root, "USER.md") == Refused(Refusal.TOO_LARGE)


def test_links_in_a_circle_and_impossible_names_are_refused(root: Path) -> None:
    (root / "a").symlink_to("b")
    (root / "b").symlink_to("a")
    assert read(root, "a") == Refused(Refusal.LINK_LOOP)
    assert read(root, "SOUL\0.md") == Refused(Refusal.BAD_PATH)
    assert read(root, "x" * 300) == Refused(Refusal.UNREADABLE, "File name too long")


def test_bytes_that_are_not_utf_8_are_replaced_and_counted(root: Path) -> None:
    """T10 h."""
    (root / "SOUL.md").write_bytes(b"SOUL \xff\xfe rules \xef\xbf\xbd")
    assert text_of(read(root, "SOUL.md"))[::2] == ("SOUL \ufffd\ufffd rules \ufffd", 2)


def test_a_byte_order_mark_is_dropped_and_line_ends_are_kept(root: Path) -> None:
    (root / "SOUL.md").write_bytes(b"\xef\xbb\xbfBe kind.\r\nBe brief.\r\n")
    assert text_of(read(root, "SOUL.md"))[0] == "Be kind.\r\nBe brief.\r\n"


def test_a_file_replaced_between_looking_and_opening_is_a_race(root: Path) -> None:
    (root / "SOUL.md").write_text("first")
    found = inspect(str(root), "SOUL.md")
    assert isinstance(found, Candidate)
    (root / "new").write_text("other")
    (root / "new").replace(root / "SOUL.md")
    assert load(str(root), found) == Refused(Refusal.RACE)


@pytest.mark.parametrize("victim", ["SOUL.md", "notes/SOUL.md"])
def test_a_link_put_in_place_while_opening_leads_nowhere(root: Path, tmp_path: Path, victim: str) -> None:
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "SOUL.md").write_text("secret")
    (root / "notes").mkdir()
    (root / victim).write_text("mine")
    found = inspect(str(root), victim)

    def swap_then_open(path: str, flags: int, *, dir_fd: int | None = None) -> int:
        if path == victim.partition("/")[0]:
            (root / path).rename(root / "aside")
            (root / path).symlink_to(secret if path == "notes" else secret / "SOUL.md")
        return os.open(path, flags, dir_fd=dir_fd)

    assert isinstance(found, Candidate)
    assert load(str(root), found, open_file=swap_then_open) == Refused(Refusal.RACE)


def test_a_file_written_while_it_is_read_is_a_race(root: Path) -> None:
    (root / "SOUL.md").write_text("first")
    found = inspect(str(root), "SOUL.md")

    def open_then_write(path: str, flags: int, *, dir_fd: int | None = None) -> int:
        descriptor = os.open(path, flags, dir_fd=dir_fd)
        (root / "SOUL.md").write_text("first and more")
        return descriptor

    assert isinstance(found, Candidate)
    assert load(str(root), found, open_file=open_then_write) == Refused(Refusal.RACE)


def test_a_request_to_try_again_is_passed_on(root: Path) -> None:
    (root / "SOUL.md").write_text("first")
    found = inspect(str(root), "SOUL.md")

    def busy(*_: object, **__: object) -> int:
        raise BlockingIOError(errno.EAGAIN, "busy")

    assert isinstance(found, Candidate)
    with pytest.raises(TransientReadError, match="busy"):
        load(str(root), found, open_file=busy)


def test_every_refusal_says_what_to_do() -> None:
    told = {refusal: Refused(refusal, "Permission denied").reason for refusal in Refusal}
    assert told[Refusal.UNREADABLE] == "the system refused: Permission denied; check the path and who may read it"
    # A cause, and after a semicolon what to do about it.
    assert [refusal for refusal, text in told.items() if "; " not in text] == []


class Meddler:
    """`os.read`, and something that happens to the file after the first part is read."""

    def __init__(self, meddle: Callable[[], object]) -> None:
        self._meddle: Callable[[], object] | None = meddle
        self._read = os.read

    def read(self, descriptor: int, size: int) -> bytes:
        data = self._read(descriptor, size)
        if self._meddle is not None:
            self._meddle()
            self._meddle = None
        return data


@pytest.mark.parametrize("text", ["twice", "and more"], ids=["same size", "other size"])
def test_a_file_written_after_it_was_opened_and_checked_is_a_race(
    root: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    path = root / "SOUL.md"
    path.write_text("first")
    os.utime(path, ns=(10**18, 10**18))
    found = inspect(str(root), "SOUL.md")
    assert isinstance(found, Candidate)
    monkeypatch.setattr(os, "read", Meddler(lambda: path.write_text(text)).read)
    assert load(str(root), found) == Refused(Refusal.RACE)


def test_a_file_that_gives_less_than_its_size_is_a_race(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "SOUL.md").write_text("first")
    found = inspect(str(root), "SOUL.md")
    parts = iter([b"fir", b""])

    def short(descriptor: int, size: int) -> bytes:
        return next(parts)

    assert isinstance(found, Candidate)
    monkeypatch.setattr(os, "read", short)
    assert load(str(root), found) == Refused(Refusal.RACE)


def test_a_pipe_put_in_place_while_opening_holds_nobody_up(root: Path) -> None:
    pipe = root / "SOUL.md"
    pipe.write_text("first")
    found = inspect(str(root), "SOUL.md")
    rescued: list[bool] = []

    def rescue() -> None:
        """Open the other end, which ends the wait that this test is about."""
        rescued.append(True)
        os.close(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))

    def swap_then_open(path: str, flags: int, *, dir_fd: int | None = None) -> int:
        if path == "SOUL.md":
            pipe.unlink()
            os.mkfifo(pipe)
        return os.open(path, flags, dir_fd=dir_fd)

    timer = threading.Timer(5, rescue)
    timer.start()
    assert isinstance(found, Candidate)
    result = load(str(root), found, open_file=swap_then_open)
    timer.cancel()
    timer.join()
    assert (result, rescued) == (Refused(Refusal.RACE), [])


@pytest.mark.parametrize("victim", ["notes", "."], ids=["folder", "workspace"])
def test_a_folder_moved_out_and_linked_to_while_opening_leads_nowhere(root: Path, tmp_path: Path, victim: str) -> None:
    """The file itself is the very same one, so only the way to it tells."""
    folder = root / victim
    (root / "notes").mkdir()
    (root / "notes" / "SOUL.md").write_text("mine")
    found = inspect(str(root), "notes/SOUL.md")

    def swap_then_open(path: str, flags: int, *, dir_fd: int | None = None) -> int:
        if path == (str(root) if victim == "." else victim):
            folder.rename(tmp_path / "outside")
            folder.symlink_to(tmp_path / "outside")
        return os.open(path, flags, dir_fd=dir_fd)

    assert isinstance(found, Candidate)
    assert load(str(root), found, open_file=swap_then_open) == Refused(Refusal.RACE)


@pytest.mark.skipif(not os.access("/dev/shm", os.W_OK), reason="this machine has no RAM disk below /dev")
def test_a_workspace_on_a_ram_disk_is_read() -> None:
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        root = Path(folder).resolve()
        (root / "SOUL.md").write_text("Be kind.")
        assert text_of(read(root, "SOUL.md")) == ("Be kind.", f"{root}/SOUL.md", 0)
