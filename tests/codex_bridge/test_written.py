"""What the files of a thread hold: in their order, with what was taken back left out, and what was torn as well."""

import json
from pathlib import Path
from typing import Any

import pytest

from codex_bridge.marks import Mark
from codex_bridge.wire.requests import Thread
from codex_bridge.written import NOTHING, Kept, Message, kept, last_message
from harness.projection import INTRO

NAME = "rollout-2031-05-06T07-08-09-thr_1"


def line(number: int, kind: str, payload: dict[str, Any]) -> str:
    return json.dumps({"timestamp": "2031", "ordinal": number, "type": kind, "payload": payload}, separators=(",", ":"))


def said(number: int, turn: str, text: str = "heron") -> str:
    about = {"turn_id": turn, "content_item_kinds": ["user.text"]}
    return line(number, "response_item", {"content": text, "internal_chat_message_metadata_passthrough": about})


def quoted(number: int, turn: str) -> str:
    about = {"turn_id": turn}
    return line(number, "response_item", {"output": INTRO, "internal_chat_message_metadata_passthrough": about})


def told(number: int, turn: str, client_id: str | None) -> str:
    item = {"type": "UserMessage", "client_id": client_id}
    return line(number, "event_msg", {"turn_id": turn, "item": item})


def written(folder: Path, lines: list[str], name: str = NAME) -> Thread:
    path = folder / f"{name}.jsonl"
    path.write_text("".join(f"{each}\n" for each in lines), "utf-8")
    return Thread(id="thr_1", path=str(path))


async def test_the_last_message_is_the_last_one_in_the_file(tmp_path: Path) -> None:
    mentions = said(5, "b", 'A "type":"UserMessage" of mine.')
    lines = [said(1, "a"), told(2, "a", "k:1 heard=0"), said(3, "b"), told(4, "b", "k:2 heard=7"), mentions]
    thread = written(tmp_path, lines)
    assert await last_message(thread) == Message("b", Mark("k:2", 7))


@pytest.mark.parametrize(("client_id", "mark"), [(None, None), ("theirs", None)])
async def test_a_message_of_another_program_has_no_mark(tmp_path: Path, client_id: str | None, mark: None) -> None:
    assert await last_message(written(tmp_path, [told(1, "a", client_id)])) == Message("a", mark)


async def test_of_a_turn_is_kept_what_its_file_holds(tmp_path: Path) -> None:
    thread = written(
        tmp_path, [quoted(1, "a"), said(2, "a"), quoted(3, "b"), told(4, "c", "k:1 heard=0"), said(5, "d")]
    )
    assert await kept(thread, ["a", "b", "c", "d", "e"]) == {
        "a": Kept(words=True, quoted=True),
        "b": Kept(quoted=True),
        "c": NOTHING,
        "d": Kept(words=True),
        "e": NOTHING,
    }


async def test_what_was_taken_back_is_not_in_the_thread_any_more(tmp_path: Path) -> None:
    written(tmp_path, [said(1, "a"), told(2, "a", "k:1 heard=0"), said(3, "b"), told(4, "b", "k:2 heard=1")])
    written(tmp_path, [said(3, "c"), told(4, "c", "k:3 heard=1")], f"{NAME}_01")
    thread = written(tmp_path, [line(3, "session_meta", {})], f"{NAME}_02")
    assert await last_message(thread) == Message("a", Mark("k:1", 0))
    assert await kept(thread, "abc") == {"a": Kept(words=True), "b": NOTHING, "c": NOTHING}


async def test_a_line_that_was_not_finished_says_nothing(tmp_path: Path) -> None:
    thread = written(tmp_path, [told(1, "a", "k:1 heard=0")])
    for torn in (said(2, "b"), told(2, "b", "k:2 heard=1")):
        path = Path(thread.path)
        path.write_text(f"{told(1, 'a', 'k:1 heard=0')}\n{torn}", "utf-8")
        assert await last_message(thread) == Message("a", Mark("k:1", 0))
        assert await kept(thread, ["b"]) == {"b": NOTHING}


@pytest.mark.parametrize("lines", [[], ['{"type":"UserMessage"'], ['{"type":"UserMessage","payload":{}}']])
async def test_files_in_a_form_that_we_do_not_know_show_no_message(tmp_path: Path, lines: list[str]) -> None:
    assert await last_message(written(tmp_path, lines)) is None


async def test_a_thread_that_is_not_kept_shows_no_message() -> None:
    assert await last_message(Thread(id="thr_1")) is None
    assert await kept(Thread(id="thr_1"), ["a"]) == {"a": NOTHING}
