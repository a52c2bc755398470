"""What the files of a thread hold: in their order, with what was taken back left out, and what was torn as well."""

import json
from pathlib import Path
from typing import Any

import pytest

from codex_bridge.marks import Mark
from codex_bridge.wire.requests import Thread
from codex_bridge.written import Message, kept, last_message

NAME = "rollout-2031-05-06T07-08-09-thr_1"


def line(number: int, kind: str, payload: dict[str, Any]) -> str:
    return json.dumps({"timestamp": "2031", "ordinal": number, "type": kind, "payload": payload}, separators=(",", ":"))


def said(number: int, turn: str, text: str = "heron") -> str:
    about = {"turn_id": turn, "content_item_kinds": ["user.text"]}
    return line(number, "response_item", {"content": text, "internal_chat_message_metadata_passthrough": about})


def quoted(number: int, turn: str, name: str, *, old: bool = True) -> str:
    """A quotation of the chat, as 0.163 writes it down and as 0.171 does."""
    about = {"internal_chat_message_metadata_passthrough": {"turn_id": turn}}
    if old:
        content = [{"type": "input_text", "text": f"<external_gateway_quoted_history_{name}>x</external>"}]
        return line(number, "response_item", {"type": "message", "role": "user", "content": content, **about})
    item = {"type": "function_call_output", "name": f"gateway_quoted_history_{name}", "namespace": "agent"}
    return line(number, "response_item", {**item, "output": "x", **about})


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


async def test_a_turn_is_kept_whose_message_the_file_holds(tmp_path: Path) -> None:
    lines = [
        quoted(1, "a", "1_1_01"),
        said(2, "a"),
        quoted(3, "b", "2_1_01"),
        told(4, "c", "k:1 heard=0"),
        said(5, "d"),
    ]
    assert await kept(written(tmp_path, lines), ["a", "b", "c", "d", "e"]) == {"a", "d"}


@pytest.mark.parametrize("old", [True, False])
async def test_what_was_quoted_after_the_last_message_is_known_if_it_is_there_whole(tmp_path: Path, old: bool) -> None:
    first = [quoted(1, "a", "3_1_01", old=old), said(2, "a"), told(3, "a", "k:1 heard=3")]
    whole = [quoted(4, "b", "12_2_01", old=old), quoted(5, "b", "12_2_02", old=old)]
    torn = [quoted(6, "c", "15_3_01", old=old), quoted(7, "c", "15_3_03", old=old)]
    seen = [await last_message(written(tmp_path, [*first, *more])) for more in ([], whole, torn, [*whole, *torn])]
    assert seen == [Message("a", Mark("k:1", 3), number) for number in (0, 12, 0, 12)]
    alone = await last_message(written(tmp_path, whole))
    assert alone == Message("", None, 12)


async def test_no_text_passes_for_a_quotation(tmp_path: Path) -> None:
    text = '"text":"<external_gateway_quoted_history_99_1_01>" "name":"gateway_quoted_history_99_1_01"'
    lines = [said(1, "a"), told(2, "a", "k:1 heard=0"), said(3, "b", text), line(4, "event_msg", {"name": text})]
    assert await last_message(written(tmp_path, lines)) == Message("a", Mark("k:1", 0))


async def test_what_was_taken_back_is_not_in_the_thread_any_more(tmp_path: Path) -> None:
    written(tmp_path, [said(1, "a"), told(2, "a", "k:1 heard=0"), said(3, "b"), told(4, "b", "k:2 heard=1")])
    written(tmp_path, [quoted(3, "c", "9_1_01"), said(4, "c"), told(5, "c", "k:3 heard=1")], f"{NAME}_01")
    thread = written(tmp_path, [line(3, "session_meta", {})], f"{NAME}_02")
    assert await last_message(thread) == Message("a", Mark("k:1", 0))
    assert await kept(thread, "abc") == {"a"}


async def test_a_line_that_was_not_finished_says_nothing(tmp_path: Path) -> None:
    thread = written(tmp_path, [told(1, "a", "k:1 heard=0")])
    for torn in (said(2, "b"), told(2, "b", "k:2 heard=1")):
        path = Path(thread.path)
        path.write_text(f"{told(1, 'a', 'k:1 heard=0')}\n{torn}", "utf-8")
        assert await last_message(thread) == Message("a", Mark("k:1", 0))
        assert await kept(thread, ["b"]) == frozenset()


@pytest.mark.parametrize("lines", [[], ['{"type":"UserMessage"'], ['{"type":"UserMessage","payload":{}}']])
async def test_files_in_a_form_that_we_do_not_know_show_no_message(tmp_path: Path, lines: list[str]) -> None:
    assert await last_message(written(tmp_path, lines)) is None


async def test_a_thread_that_is_not_kept_shows_no_message() -> None:
    assert await last_message(Thread(id="thr_1")) is None
    assert await kept(Thread(id="thr_1"), ["a"]) == frozenset()
