"""A picture is one by both its ends, whether it is bytes or a file."""

from pathlib import Path

import pytest

from harness.pictures import NOT_WHOLE, PictureFile, picture_begun, picture_file, picture_problem, picture_type

PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + bytes(20) + b"IEND\xaeB`\x82"
JPEG = b"\xff\xd8\xff\xe0rest\xff\xd9"
GIF = b"GIF89arest\x3b"
WEBP = b"RIFF\x10\x00\x00\x00WEBPVP8 " + bytes(8)
WHOLE = {"image/png": PNG, "image/jpeg": JPEG, "image/gif": GIF, "image/webp": WEBP}


@pytest.mark.parametrize(("kind", "data"), WHOLE.items())
def test_a_whole_picture_is_known_and_a_cut_or_another_one_is_not(kind: str, data: bytes, tmp_path: Path) -> None:
    file = tmp_path / "picture"
    for content, found in ((data, kind), (data[:-1], ""), (b"x" + data, ""), (data[:4], "")):
        file.write_bytes(content)
        assert picture_type(content) == found
        assert picture_problem(content) == ("" if found else NOT_WHOLE)
        assert picture_file(str(file), 100) == PictureFile(found, "" if found else NOT_WHOLE)


@pytest.mark.parametrize(("kind", "data"), [*WHOLE.items(), ("", b"x" + PNG), ("", b"")])
def test_which_picture_begins_is_told_by_its_first_bytes(kind: str, data: bytes) -> None:
    assert picture_begun(data[:12]) == kind


def test_what_a_program_writes_behind_a_jpeg_picture_does_no_harm(tmp_path: Path) -> None:
    file = tmp_path / "picture"
    file.write_bytes(JPEG + bytes(60_000))
    assert picture_file(str(file), 100_000) == PictureFile("image/jpeg")
    file.write_bytes(JPEG + bytes(70_000))
    assert picture_file(str(file), 100_000) == PictureFile(problem=NOT_WHOLE)


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("none", "it cannot be read (No such file or directory)"),
        ("", "it is no regular file"),
        ("\0", "it cannot be read (its path is none)"),
        ("large", "it has 1,000 bytes, and at most 999 are shown"),
    ],
)
def test_what_cannot_be_shown_is_told_with_the_reason(tmp_path: Path, name: str, problem: str) -> None:
    (tmp_path / "large").write_bytes(bytes(1000))
    assert picture_file(f"{tmp_path}/{name}", 999) == PictureFile(problem=problem)
