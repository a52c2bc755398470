"""The catalogue of models: what it says, what is taken out of it, and how it is kept beside a home."""

import json
import logging
import stat
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from codex_bridge.binary import CodexBinary
from codex_bridge.capabilities import ServerCapabilities, Stated
from codex_bridge.catalogue import UNKNOWN, Catalogue, ModelFacts
from codex_bridge.catalogue_file import FILE, STAMP, CatalogueInForce, catalogue_for
from codex_bridge.catalogue_text import UnreadableCatalogueError, patched, read
from codex_bridge.catalogue_watch import CatalogueWatch
from codex_bridge.home import Home
from codex_bridge.process import Launch

CATALOGUE: dict[str, Any] = {
    "models": [
        {
            "slug": "gpt-6-sol", "multi_agent_version": "v2", "context_window": 272_000, "base_instructions": "Be.",
            "model_messages": {
                "collaboration_modes": {"default": "vendor's own", "plan": "vendor's plan"}, "approvals": {},
            },
        },
        {"slug": "gpt-6-luna", "model_messages": {"collaboration_modes": {"default": "vendor's own", "plan": None}}},
        {"slug": "gpt-5.5", "multi_agent_version": None, "model_messages": {"collaboration_modes": None}},
        {"slug": "old", "multi_agent_version": "v1", "model_messages": None},
    ],
    "etag": "x",
}  # fmt: skip
TEXT = json.dumps(CATALOGUE).encode()
DAY = 24 * 3600.0


def test_an_entry_says_whether_our_text_counts_and_which_subagents_there_are() -> None:
    found = read(TEXT, "a test")
    assert list(found.models.values()) == [
        ModelFacts("gpt-6-sol", honours_mode_text=False, multi_agent="v2", context_window=272_000),
        ModelFacts("gpt-6-luna", honours_mode_text=False, multi_agent=None, context_window=None),
        ModelFacts("gpt-5.5", honours_mode_text=True, multi_agent=None, context_window=None),
        ModelFacts("old", honours_mode_text=True, multi_agent="v1", context_window=None),
    ]
    assert [found.honours_mode_text(model) for model in ("gpt-6-sol", "gpt-5.5", "nobody")] == [False, True, True]
    assert not found.patched


def whole(text: bytes) -> tuple[bytes, list[ModelFacts]]:
    facts: list[ModelFacts] = []
    return b"".join(patched(text, facts)), facts


def test_what_is_not_changed_stays_as_it_was_byte_for_byte() -> None:
    untouched = r""" {"note" : "models", "models" :[ {"slug": "a] \\\" [{", "n": 1.0, "deep": [{"models": [{}]}]} ,
        {"slug":"b","model_messages":{"collaboration_modes":null}}], "more": {"models": [{"slug": "no"}]}}"""
    text, facts = whole(untouched.encode())
    assert text.decode() == untouched.replace("{", '{"patched_by_openclaw_codex_bridge":true,', 1)
    assert [each.slug for each in facts] == ['a] \\" [{', "b"]


def test_only_the_models_own_text_of_the_default_mode_is_taken_out() -> None:
    text, facts = whole(TEXT)
    after = json.loads(text)
    expected = json.loads(TEXT)
    expected["models"][0]["model_messages"]["collaboration_modes"]["default"] = None
    expected["models"][1]["model_messages"]["collaboration_modes"] = None
    assert after.pop("patched_by_openclaw_codex_bridge") is True
    assert after == expected
    again = read(text, "a test")
    assert again.patched
    assert list(again.models.values()) == facts
    assert all(again.honours_mode_text(model) for model in again.models)
    assert whole(text) == (text, facts)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (b"{", "it is not JSON"),
        (b"[]", "it lists no models"),
        (b'{"models": []}', "it lists no models"),
        (b'{"models": [{}]}', "a model in it has no name"),
        (b'{"models": [{"slug": "a"}, 0]}', "a model in it has no name"),
        (b'{"models": [{"slug": "a"}, [1]]}', "a model in it has no name"),
        (b'{"models": [{"slug": "a"} {"slug": "b"}]}', "it is not JSON"),
        (b'{"models": [{"slug": a}]}', "it is not JSON"),
        (b'{"models": [{"slug": "a"}], "more": ]}', "it is not JSON"),
        (b'{"models": "{}"}', "it lists no models"),
    ],
)
def test_what_is_no_catalogue_is_said_to_be_none(text: bytes, problem: str) -> None:
    with pytest.raises(UnreadableCatalogueError, match=problem):
        whole(text)


@pytest.mark.parametrize(
    ("model", "hears"), [("gpt-6-sol", False), ("openai/gpt-6.2-sol", False), ("gpt-60", True), ("gpt-5.5", True)]
)
def test_without_a_catalogue_the_known_rule_decides(model: str, hears: bool) -> None:
    assert ServerCapabilities(catalogue=UNKNOWN).honours_mode_text(model) is hears


def test_what_the_operator_states_counts_more_than_catalogue_and_version() -> None:
    stated = Stated({"gpt-6-sol": True, "house": False}, remembers_context=True)
    told = ServerCapabilities((0, 163, 0), stated=stated)
    models = ("gpt-6-sol", "gpt-6-luna", "house", "gpt-5.5")
    assert [told.honours_mode_text(model) for model in models] == [True, False, False, True]
    assert told.remembers_context
    assert not ServerCapabilities((0, 171, 0), stated=Stated(remembers_context=False)).remembers_context


def test_only_a_version_that_is_known_to_remembers_the_additional_context() -> None:
    versions = ((0, 163, 0), (0, 170, 9), (0, 171, 0), (1, 0, 0))
    assert [ServerCapabilities(version).remembers_context for version in versions] == [False, False, True, True]


def test_what_else_a_server_honours_goes_by_its_version_and_the_models_entry() -> None:
    catalogue = read(TEXT, "a test")
    old, new = ServerCapabilities((0, 163, 0), catalogue), ServerCapabilities((0, 171, 0), catalogue)
    assert [(can.untrusted_form, can.takes_context, can.child_tools) for can in (old, new)] == [
        ("message", True, False),
        ("toolOutput", True, False),
    ]
    models = ("gpt-6-sol", "gpt-5.5", "old", "nobody")
    assert [new.multi_agent(model) for model in models] == ["v2", "v1", "v1", "v1"]
    stated = Stated(takes_context=False, untrusted_form="message", child_tools=True, multi_agent={"gpt-5.5": "v2"})
    assert ServerCapabilities((0, 171, 0), catalogue, stated).told_of("gpt-5.5") == {
        "modeText": True,
        "additionalContext": False,
        "untrusted": "message",
        "remembersContext": True,
        "childTools": True,
        "multiAgent": "v2",
    }


class Place:
    """An agent's folder, and a binary that prints what it is told to and counts how often it is asked."""

    def __init__(self, folder: Path) -> None:
        self.home = Home(folder / "agent" / "codex-home", owned=True)
        self.home.path.mkdir(parents=True)
        self.answer = folder / "answer.json"
        self.asked = folder / "asked"
        program = folder / "codex"
        program.write_text(f'#!/bin/sh\necho "$*" >> {self.asked}\nexec cat {self.answer}\n', "utf-8")
        program.chmod(0o755)
        self.binary = CodexBinary(program, "the test")
        self.answer.write_bytes(TEXT)
        self.now = 0.0

    async def settled(self, mode: Any = "auto", home: Home | None = None) -> CatalogueInForce:
        return await catalogue_for(self.binary, home or self.home, mode, lambda: self.now)

    @property
    def questions(self) -> list[str]:
        return self.asked.read_text("utf-8").splitlines() if self.asked.exists() else []


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


async def test_a_home_of_ours_gets_a_patched_copy_beside_it_that_nobody_else_can_read(place: Place) -> None:
    found = await place.settled()
    file = place.home.path.parent / FILE
    assert found.file == file
    assert found.catalogue.patched
    assert file.read_bytes() == whole(TEXT)[0]
    assert {stat.S_IMODE(each.stat().st_mode) for each in (file, file.with_name(STAMP))} == {0o600}
    assert sorted(path.name for path in file.parent.iterdir()) == ["codex-home", STAMP, FILE]
    assert place.questions == ["debug models --bundled"]


async def test_the_binary_is_asked_again_only_when_it_was_exchanged_or_signed_in_or_a_day_has_passed_for_an_account(
    place: Place,
) -> None:
    first = await place.settled()
    place.now = 10 * 24 * 3600.0
    again = await place.settled()
    assert (again.file, dict(again.catalogue.models)) == (first.file, dict(first.catalogue.models))
    assert len(place.questions) == 1
    (place.home.path / "auth.json").write_text("{}", "utf-8")
    for hours, questions in ((0, 2), (1, 2), (23, 2), (25, 3), (24, 4)):  # the last time, the clock was set back
        place.now = hours * 3600.0
        await place.settled()
        assert len(place.questions) == questions
    assert place.questions == ["debug models --bundled", *["debug models"] * 3]
    with place.binary.path.open("a", encoding="utf-8") as program:
        program.write("# another build\n")
    await place.settled()
    assert len(place.questions) == 5


async def test_what_an_account_was_told_holds_on_while_the_vendor_cannot_be_asked(
    place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    """A binary that does not reach the vendor tells its own models, as if they were the account's (measured)."""
    (place.home.path / "auth.json").write_text("{}", "utf-8")
    cached = place.home.path / "models_cache.json"
    theirs = json.dumps({"models": [{"slug": "gpt-7-nova"}]})
    for text in (place.answer, cached):
        text.write_text(theirs, "utf-8")
    first = await place.settled()
    assert list(first.catalogue.models) == ["gpt-7-nova"]
    for answer, content in ((TEXT.decode(), theirs), (TEXT.decode(), "torn"), ("nothing of the kind", theirs)):
        place.now += 2 * DAY
        place.answer.write_text(answer, "utf-8")
        cached.write_text(content, "utf-8")
        with caplog.at_level(logging.WARNING, "codex_bridge"):
            assert await place.settled() == first
        assert "those of before hold" in caplog.text
        caplog.clear()
    place.answer.write_text(theirs, "utf-8")
    cached.write_text(theirs, "utf-8")
    again = await place.settled()
    assert (again.catalogue.digest, again.catalogue.told_at) == (first.catalogue.digest, place.now)
    assert len(place.questions) == 6  # one answer was nothing of the kind, so the binary's own were asked for as well


class Watched:
    """A watch over the catalogue that a server was started with."""

    def __init__(self, place: Place, in_force: Catalogue) -> None:
        self._place = place
        self._in_force = in_force
        self._looks: list[Callable[[], Coroutine[Any, Any, None]]] = []
        self._watch = CatalogueWatch(self._looks.append, Launch(place.binary, place.home), lambda: place.now)

    async def replaced_after(self, hours: float) -> bool:
        """Whether the server is to be replaced by the second turn that begins so many hours later."""
        self._place.now += hours * 3600
        for _ in range(2):
            self._watch.glance(self._in_force)
        while self._looks:
            await self._looks.pop()()
        found = self._watch.replaces(self._in_force)
        assert not self._watch.replaces(self._in_force)
        return found


async def test_a_server_that_runs_for_weeks_is_replaced_when_the_vendor_has_other_models(place: Place) -> None:
    (place.home.path / "auth.json").write_text("{}", "utf-8")
    in_force = (await place.settled()).catalogue
    place.now += 10 * 3600
    watched = Watched(place, in_force)
    asked = [(await watched.replaced_after(hours), len(place.questions)) for hours in (0, 13, 2, 24, 23)]
    assert asked == [(False, 1), (False, 1), (False, 2), (False, 3), (False, 3)]
    place.answer.write_text('{"models": [{"slug": "gpt-7-nova"}]}', "utf-8")
    assert [await watched.replaced_after(hours) for hours in (0, 1, 1, 24)] == [False, True, False, True]
    assert list((await place.settled()).catalogue.models) == ["gpt-7-nova"]


async def test_a_look_that_fails_replaces_nothing_and_is_not_tried_again_on_the_same_day(place: Place) -> None:
    (place.home.path / "auth.json").write_text("{}", "utf-8")
    in_force = (await place.settled()).catalogue
    place.answer.write_text("nothing of the kind", "utf-8")
    watched = Watched(place, in_force)
    asked = [(await watched.replaced_after(hours), len(place.questions)) for hours in (0, 25, 1, 22, 2)]
    # Each look asks for the account's models, and then for the binary's own.
    assert asked == [(False, 1), (False, 3), (False, 3), (False, 3), (False, 5)]


async def test_a_look_that_breaks_ends_nothing_and_is_in_the_log(
    place: Place, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    (place.home.path / "auth.json").write_text("{}", "utf-8")
    in_force = (await place.settled()).catalogue

    async def broken(*_: object) -> CatalogueInForce:
        raise RuntimeError("nobody thought of that")

    monkeypatch.setattr("codex_bridge.catalogue_watch.catalogue_for", broken)
    watched = Watched(place, in_force)
    assert [await watched.replaced_after(hours) for hours in (0, 25)] == [False, False]
    assert "nobody thought of that" in caplog.text


async def test_a_catalogue_that_could_not_be_read_at_the_start_is_there_after_a_day(place: Place) -> None:
    (place.home.path / "auth.json").write_text("{}", "utf-8")
    place.answer.write_text("nothing of the kind", "utf-8")
    in_force = (await place.settled()).catalogue
    place.answer.write_bytes(TEXT)
    watched = Watched(place, in_force)
    assert [await watched.replaced_after(hours) for hours in (0, 23, 1, 0)] == [False, False, True, False]


async def test_a_home_without_an_account_is_not_looked_at_again(place: Place) -> None:
    in_force = (await place.settled()).catalogue
    watched = Watched(place, in_force)
    assert [await watched.replaced_after(hours) for hours in (0, 25, 25)] == [False] * 3
    assert place.questions == ["debug models --bundled"]


@pytest.mark.parametrize("answer", ["nothing of the kind", '{"models": [{"slug": "a"}, {"slug": 1}]}'])
async def test_an_unreadable_catalogue_leaves_the_server_its_own_and_says_so(
    place: Place, caplog: pytest.LogCaptureFixture, answer: str
) -> None:
    place.answer.write_text(answer, "utf-8")
    with caplog.at_level(logging.WARNING, "codex_bridge"):
        assert await place.settled() == CatalogueInForce(UNKNOWN)
    assert "the model catalogue stays untouched" in caplog.text
    assert [path.name for path in place.home.path.parent.iterdir()] == ["codex-home"]


async def test_a_binary_that_does_not_answer_costs_the_patch_and_not_the_start(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("codex_bridge.catalogue_file.ASK_SECONDS", 0.2)
    place.binary.path.write_text("#!/bin/sh\nexec sleep 60\n", "utf-8")
    assert await place.settled() == CatalogueInForce(UNKNOWN)
    place.binary.path.unlink()
    assert await place.settled() == CatalogueInForce(UNKNOWN)


@pytest.mark.parametrize(("mode", "owned"), [("untouched", True), ("auto", False), ("untouched", False)])
async def test_an_untouched_home_is_only_read(place: Place, mode: str, owned: bool) -> None:
    home = Home(place.home.path, owned)
    found = await place.settled(mode, home)
    assert (found.file, found.catalogue.honours_mode_text("gpt-6-sol")) == (None, False)
    (home.path / "models_cache.json").write_text('{"models": [{"slug": "gpt-6-sol"}]}', "utf-8")
    assert (await place.settled(mode, home)).catalogue.honours_mode_text("gpt-6-sol")
    assert place.questions == ["debug models --bundled"]


async def test_somebody_elses_home_is_patched_when_that_is_asked_for(place: Place) -> None:
    found = await place.settled("patched", Home(place.home.path, owned=False))
    assert found.file == place.home.path.parent / FILE
