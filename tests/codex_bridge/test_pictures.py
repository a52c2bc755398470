"""What a request holds of the pictures of a message, and what is kept of it."""

import os
from base64 import b64encode
from pathlib import Path

import pytest

from codex_bridge.pictures import LEFT_OUT, OTHERS, REFUSED, with_pictures, without_pictures
from codex_bridge.wire.requests import ImageInput, TextInput, TurnStartParams, UserInput
from harness.layers import Picture
from tests.harness.test_pictures import GIF, JPEG, PNG

WORDS = TextInput(text="Look.")


def asked() -> TurnStartParams:
    return TurnStartParams(thread_id="t", input=[WORDS])


def picture(path: Path, data: bytes | None, kind: str, *, own: bool = True) -> Picture:
    if data is not None:
        path.write_bytes(data)
    return Picture(str(path), kind, own=own)


def image(data: bytes, kind: str) -> ImageInput:
    return ImageInput(url=f"data:{kind};base64,{b64encode(data).decode()}")


async def test_pictures_stand_behind_the_words_those_of_others_last_and_their_bytes_are_not_kept(
    tmp_path: Path,
) -> None:
    others = picture(tmp_path / "a", PNG, "image/png", own=False)
    own = picture(tmp_path / "b", JPEG, "image/jpeg")
    more = picture(tmp_path / "c", GIF, "image/gif", own=False)
    sent, kept = await with_pictures(asked(), (others, own, more))
    assert list(sent.input) == [
        WORDS,
        image(JPEG, "image/jpeg"),
        TextInput(text=OTHERS),
        image(PNG, "image/png"),
        image(GIF, "image/gif"),
    ]
    assert list(kept.input) == [
        WORDS,
        ImageInput(url=f"data:image/jpeg;base64,[{len(JPEG)} bytes]"),
        TextInput(text=OTHERS),
        ImageInput(url=f"data:image/png;base64,[{len(PNG)} bytes]"),
        ImageInput(url=f"data:image/gif;base64,[{len(GIF)} bytes]"),
    ]


@pytest.mark.parametrize(
    "data",
    [None, b"", PNG[:-1], JPEG, PNG + bytes(100)],
    ids=["vanished", "emptied", "cut short", "another kind", "grown"],
)
async def test_a_file_that_is_not_what_it_was_is_told_of_and_the_others_are_shown(
    tmp_path: Path, data: bytes | None
) -> None:
    changed = picture(tmp_path / "a", data, "image/png")
    sent, kept = await with_pictures(asked(), (changed, picture(tmp_path / "b", GIF, "image/gif")))
    assert list(sent.input) == [WORDS, TextInput(text=LEFT_OUT), image(GIF, "image/gif")]
    assert kept.input[1] == TextInput(text=LEFT_OUT)


async def test_a_pipe_that_was_put_in_the_place_of_a_picture_holds_up_no_turn(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a")
    sent, _ = await with_pictures(asked(), (Picture(str(tmp_path / "a"), "image/png", own=True),))
    assert list(sent.input) == [WORDS, TextInput(text=LEFT_OUT)]


@pytest.mark.parametrize(
    ("room", "shown"),
    [
        (len(PNG) + len(GIF), [True, True, False]),
        (len(PNG) + len(GIF) - 1, [True, False, False]),
        (len(PNG) - 1, [False, True, False]),
        (0, [False, False, False]),
    ],
)
async def test_pictures_have_a_limit_together_and_one_that_does_not_fit_keeps_no_smaller_one_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, room: int, shown: list[bool]
) -> None:
    monkeypatch.setattr("codex_bridge.pictures.MOST_TOGETHER", room)
    pictures = (
        picture(tmp_path / "a", PNG, "image/png"),
        picture(tmp_path / "b", GIF, "image/gif"),
        picture(tmp_path / "c", PNG, "image/png"),
    )
    sent, _ = await with_pictures(asked(), pictures)
    assert [isinstance(each, ImageInput) for each in sent.input[1:]] == shown


def test_a_sentence_stands_in_the_place_of_pictures_that_were_refused() -> None:
    wanted: list[UserInput] = [WORDS, TextInput(text=REFUSED)]
    assert list(without_pictures(asked()).input) == wanted
