"""The harness keeps conversations of different homes apart, and gets over a server that forgets a thread or hangs."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from codex_bridge.bridge import CodexHarness, CodexSettings, codex_harness
from codex_bridge.client import Client
from codex_bridge.errors import AdoptionError
from codex_bridge.home import Home
from codex_bridge.turn import CodexTurn
from harness.layers import Composition, Layer, LayerName, Lifetime, Trust
from harness.store.bindings import Bindings, bindings_at
from harness.turns import Notice, Outcome, TurnRequest, TurnResult
from tests.support.serving import LIMIT, executable
from tests.support.turns import harness_on_fake, launch, words


@asynccontextmanager
async def harness_with(
    home: Home, folder: Path, store: Bindings, script: str = "codex"
) -> AsyncGenerator[CodexHarness]:
    """A harness on the fake Codex that uses another home, as a later process of a gateway would."""
    settings = CodexSettings(replace(launch(folder, script), home=home))
    with anyio.fail_after(LIMIT):
        async with codex_harness(settings, store, now=lambda: 0.0) as harness:
            yield harness


async def methods(turn: CodexTurn) -> list[str]:
    """What the turn asked Codex for, once it was answered."""
    assert (await turn.result()).outcome is Outcome.ANSWERED
    return [sent.method for sent in turn.sent]


async def test_a_conversation_goes_on_in_the_home_in_which_it_began_and_in_no_other(tmp_path: Path) -> None:
    """A thread lies in its home, so another home's Codex does not know it."""
    own, users, other = (tmp_path / name for name in ("codex-home", "users", "other"))
    homes = [Home(own, owned=True), Home(users, owned=False), Home(other, owned=False)]
    asked: list[list[list[str]]] = []
    async with bindings_at(tmp_path / "bindings.sqlite") as store:
        for _ in range(2):
            asked.append([])
            for home in homes:
                home.path.mkdir(exist_ok=True)
                async with harness_with(home, tmp_path, store) as harness:
                    asked[-1].append(await methods(harness.start(words("echo"))))
        kept = [await store.get(name, "a") for name in ("codex", f"codex@{users}", f"codex@{other}")]
    assert asked == [[["thread/start", "turn/start"]] * 3, [["thread/resume", "turn/start"]] * 3]
    assert [binding.conversation if binding else None for binding in kept] == ["thr_1"] * 3


async def test_a_thread_that_the_server_unloaded_without_a_word_is_loaded_again_for_the_turn(tmp_path: Path) -> None:
    async with harness_on_fake(tmp_path) as harness:
        before = await harness.start(words("unload")).result()
        turn = harness.start(words("echo again"))
        after = await turn.result()
    assert [sent.method for sent in turn.sent] == ["turn/start", "thread/resume", "turn/start"]
    assert (before.outcome, after.outcome, after.text) == (Outcome.ANSWERED, Outcome.ANSWERED, "again")
    assert before.conversation == after.conversation == "thr_1"


async def test_a_server_that_hangs_at_the_start_of_a_thread_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise every turn that follows would wait for it in vain as well."""
    monkeypatch.setattr("codex_bridge.hosts.PING_DEADLINE", 0.1)
    first, whole, once = executable(tmp_path, "hanging"), executable(tmp_path, "codex"), tmp_path / "once"
    program = tmp_path / "codex"
    program.write_text(f"#!/bin/sh\nif [ -e '{once}' ]; then exec '{whole}'; fi\ntouch '{once}'\nexec '{first}'\n")
    program.chmod(0o755)
    async with harness_on_fake(tmp_path, binary=program) as harness:
        hung = (await harness.ready()).pid
        with monkeypatch.context() as hasty:
            hasty.setattr(Client, "deadline", 0.3)
            lost = await harness.start(words("echo")).result()
        after = await harness.start(words("echo")).result()
        server = harness.server
    assert lost.outcome is Outcome.FAILED
    assert (after.outcome, after.text) == (Outcome.ANSWERED, "pong")
    assert server is not None
    assert server.pid != hung


@pytest.mark.parametrize(
    ("script", "said", "error"),
    [
        ("codex", "expired", "The login has expired; sign in again with `{login}`."),
        (
            "codex",
            "refuse Your access token could not be refreshed.",
            "The login has expired or is not accepted; sign in again with `{login}`.",
        ),
        (
            "signed_out",
            "echo",
            "Codex could not be started: it exited with status 1. "
            "The login has expired or is not accepted; sign in again with `{login}`.",
        ),
    ],
    ids=["turn", "request", "start"],
)
async def test_a_login_that_is_over_is_renewed_by_the_command_that_is_named(
    tmp_path: Path, script: str, said: str, error: str
) -> None:
    home = Home(tmp_path / "users", owned=False)
    home.path.mkdir()
    async with (
        bindings_at(tmp_path / "bindings.sqlite") as store,
        harness_with(home, tmp_path, store, script) as harness,
    ):
        result = await harness.start(words(said)).result()
    login = f"codex-bridge login --codex-home {tmp_path / 'users'}"
    assert (result.outcome, result.error) == (Outcome.FAILED, error.replace("{login}", login))


async def test_a_thread_that_cannot_be_adopted_for_want_of_a_login_names_the_command(tmp_path: Path) -> None:
    home = Home(tmp_path / "users", owned=False)
    home.path.mkdir()
    async with bindings_at(tmp_path / "bindings.sqlite") as store, harness_with(home, tmp_path, store) as harness:
        with pytest.raises(AdoptionError) as caught:
            await harness.adopt("a", "thr_9")
    assert str(caught.value) == (
        "The thread thr_9 cannot be adopted: The login has expired or is not accepted; sign in again with "
        f"`codex-bridge login --codex-home {home.path}`."
    )


async def test_a_server_that_is_newer_than_all_that_is_known_is_told_of_once_with_its_first_turn(
    tmp_path: Path,
) -> None:
    home, notices = launch(tmp_path, "newer").home, list[list[str]]()
    async with (
        bindings_at(tmp_path / "bindings.sqlite") as store,
        harness_with(home, tmp_path, store, "newer") as harness,
    ):
        for said in ("echo", "echo again"):
            events = [event async for event in harness.start(words(said)).events()]
            notices.append([event.text for event in events if isinstance(event, Notice)])
        server = harness.server
        assert server is not None
    assert server.version.warning.startswith("Codex 0.999.0 is newer than")
    assert notices == [[server.version.warning], []]


async def test_a_turn_that_the_server_refuses_to_take_back_is_not_said_again(tmp_path: Path) -> None:
    memory = Layer(LayerName.MEMORY, "MEMORY.md", Lifetime.THREAD, Trust.OWNER, "The boat is blue.")

    def with_memory(text: str) -> TurnRequest:
        request = words(text)
        return replace(request, composition=Composition((memory, *request.composition.layers), ()))

    def may_vanish(_result: TurnResult, _removed: int, _returning: int) -> bool:
        return True

    async with harness_on_fake(tmp_path) as harness:
        asked = [harness.start(replace(with_memory("echo a"), may_vanish=may_vanish))]
        await asked[0].result()
        asked.append(harness.start(with_memory("echo b")))
        await asked[1].result()
    inputs = [turn.sent[-1].to_wire()["input"] for turn in asked]
    assert [len(texts) if isinstance(texts, list) else texts for texts in inputs] == [2, 1]
    assert not asked[0].vanished
