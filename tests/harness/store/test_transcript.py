"""What was said in a chat is kept, bounded, and known to be heard or not by each conversation."""

from dataclasses import replace
from pathlib import Path

import anyio

from harness.store.bindings import Bindings, bindings_at
from harness.store.bound import Binding, Holds
from harness.store.database import CHECKPOINT_EVERY
from harness.store.transcript import Occasion, Spoken, TranscriptLimits

CHAT = "agent:main:telegram:direct:7"


def bound(heard: int = 0, conversation: str = "thread") -> Binding:
    return Binding("codex", CHAT, conversation, Holds(heard=heard))


def words(number: int, conversation: str = "thread") -> Spoken:
    return Spoken(said=f"q{number}", answered=f"a{number}", conversation=conversation, turn=f"t{number}", at=number)


async def unheard(store: Bindings, conversation: str, heard: int) -> list[str]:
    return [each.answered for each in await store.unheard(CHAT, conversation, heard)]


async def test_what_a_conversation_said_itself_is_news_to_every_other_one(tmp_path: Path) -> None:
    async with bindings_at(tmp_path / "s") as store:
        heard = await store.record(bound(), words(1))
        heard = await store.record(bound(heard), words(2))
        assert (heard, store.last(CHAT)) == (2, 2)
        assert await unheard(store, "thread", 0) == []
        assert await store.unheard(CHAT, "another", 0) == [words(2), words(1)]
        assert await unheard(store, "another", 1) == ["a2"]
    async with bindings_at(tmp_path / "s") as store:
        assert await store.get("codex", CHAT) == bound(2)
        assert store.last(CHAT) == 2


async def test_what_was_said_elsewhere_meanwhile_stays_news(tmp_path: Path) -> None:
    async with bindings_at(tmp_path / "s") as store:
        heard = await store.record(bound(), words(1))
        await store.mirror(CHAT, Spoken(answered="The vents are stuck.", occasion=Occasion.HEARTBEAT))
        heard = await store.record(bound(heard), words(2))
        assert (heard, store.last(CHAT)) == (1, 3)
        assert await unheard(store, "thread", heard) == ["The vents are stuck."]
        heard = await store.record(bound(3), words(3))
        assert heard == store.last(CHAT) == 4


async def test_only_the_last_exchanges_are_kept(tmp_path: Path) -> None:
    async with bindings_at(tmp_path / "s", TranscriptLimits(exchanges=3)) as store:
        heard = 0
        for number in range(1, 8):
            heard = await store.record(bound(heard), words(number))
        assert heard == 7
        assert await unheard(store, "another", 0) == ["a7", "a6", "a5"]


async def test_a_text_is_cut_to_its_limit_between_whole_characters(tmp_path: Path) -> None:
    async with bindings_at(tmp_path / "s", TranscriptLimits(text=5)) as store:
        await store.record(bound(), replace(words(1), said="12345", answered="1234👩‍🚒6"))
        (kept,) = await store.unheard(CHAT, "another", 0)
    assert (kept.said, kept.answered) == ("12345", "1234 […]")


async def test_half_a_character_is_kept_as_a_mark(tmp_path: Path) -> None:
    async with bindings_at(tmp_path / "s") as store:
        await store.record(bound(), replace(words(1), said="a\ud83d", answered="b\x00"))
        (kept,) = await store.unheard(CHAT, "another", 0)
    assert (kept.said, kept.answered) == ("a?", "b\x00")


async def test_nothing_is_kept_where_nothing_should_be(tmp_path: Path) -> None:
    async with bindings_at(tmp_path / "s", TranscriptLimits(exchanges=0)) as store:
        assert await store.record(bound(), words(1)) == 0
        assert await unheard(store, "another", 0) == []
        assert await store.get("codex", CHAT) == bound()


async def test_a_cleared_chat_leaves_no_word_in_any_file_and_no_binding_on_any_backend(tmp_path: Path) -> None:
    async with bindings_at(tmp_path / "s") as store:
        await store.put(Binding("codex@elsewhere", CHAT, "thread"))
        await store.record(bound(), replace(words(1), said="heron", answered="osprey"))
        await store.record(Binding("codex", "another", "thread"), replace(words(2), answered="kestrel"))
        await store.clear(CHAT)
        bytes_left = b"".join(each.read_bytes() for each in tmp_path.iterdir() if each.name != "s.lock")
        found = [await store.get(backend, CHAT) for backend in ("codex", "codex@elsewhere")]
        assert await unheard(store, "", 0) == found[0:0]
        assert store.last(CHAT) == 0
    assert found == [None, None]
    assert (b"heron" in bytes_left, b"osprey" in bytes_left, b"kestrel" in bytes_left) == (False, False, True)


async def test_a_forgotten_binding_leaves_what_was_said(tmp_path: Path) -> None:
    async with bindings_at(tmp_path / "s") as store:
        await store.record(bound(), words(1))
        await store.forget("codex", CHAT)
        assert await store.get("codex", CHAT) is None
        assert await unheard(store, "", 0) == ["a1"]


async def test_words_whose_keeper_is_cancelled_are_numbered_like_any_others(tmp_path: Path) -> None:
    """The log is moved into the database after a write, and whoever waits for that may be cancelled."""
    async with bindings_at(tmp_path / "s", TranscriptLimits(exchanges=3)) as store:
        heard = 0
        for number in range(1, CHECKPOINT_EVERY):
            heard = await store.record(bound(heard), words(number))
        with anyio.CancelScope() as scope:
            scope.cancel()
            await store.record(bound(heard), words(CHECKPOINT_EVERY))
        heard = await store.record(bound(CHECKPOINT_EVERY), words(CHECKPOINT_EVERY + 1))
        assert scope.cancelled_caught
        assert heard == store.last(CHAT) == CHECKPOINT_EVERY + 1
        newest = [f"a{number}" for number in range(CHECKPOINT_EVERY + 1, CHECKPOINT_EVERY - 2, -1)]
        assert await unheard(store, "another", 0) == newest
