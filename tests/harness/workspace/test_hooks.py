"""Hooks run in order on copies; one that fails is reported and changes nothing."""

import asyncio
import threading
from pathlib import Path
from typing import cast

import anyio
import pytest

from harness.workspace.entries import Notice, NoticeCode
from harness.workspace.hooks import BootstrapEvent, BootstrapHooks, Hook, HookFile


def event(*names: str) -> BootstrapEvent:
    files = [HookFile(name, f"/ws/{name}", name) for name in names]
    return BootstrapEvent("/ws", files, {}, session_key="agent:main:main", session_id=None, agent_id="main")


async def test_hooks_for_all_agent_events_run_first_each_group_in_order() -> None:
    hooks = BootstrapHooks()
    ran: list[str] = []

    async def waiting(_: BootstrapEvent) -> None:
        await anyio.lowlevel.checkpoint()
        ran.append("c")

    hooks.register(lambda _: ran.append("a"), name="a")
    hooks.register(lambda _: ran.append("b"), name="b", event="agent")
    hooks.register(waiting, name="c")
    hooks.register(lambda _: ran.append("d"), name="d", event="agent")
    await hooks.run(event())
    assert ran == ["b", "d", "a", "c"]


async def test_a_failing_hook_is_reported_and_its_changes_are_undone() -> None:
    def half_done(event: BootstrapEvent) -> None:
        event.files.clear()
        raise KeyError("voice")

    hooks = BootstrapHooks()
    hooks.register(half_done, name="voices")
    hooks.register(lambda event: event.files.append(HookFile("B.md", "B.md", "b")), name="b")
    before = event("A.md")
    after = await hooks.run(before)
    assert [file.name for file in after.files] == ["A.md", "B.md"]
    assert [(notice.code, notice.source, notice.text) for notice in after.notices] == [
        (
            NoticeCode.HOOK_FAILED,
            "voices",
            "Hook voices failed with KeyError: 'voice'; its changes to the prompt files were ignored. "
            "Repair or disable the hook.",
        )
    ]
    assert [file.name for file in before.files] == ["A.md"]


async def test_a_hook_that_leaves_no_list_changes_nothing() -> None:
    def spoil(event: BootstrapEvent) -> None:
        event.files = None  # type: ignore[assignment]

    hooks = BootstrapHooks()
    hooks.register(spoil, name="spoil")
    after = await hooks.run(event("A.md"))
    assert [file.name for file in after.files] == ["A.md"]
    assert "left a NoneType where the list of files was" in after.notices[0].text


async def test_a_hook_that_takes_too_long_is_given_up() -> None:
    hooks = BootstrapHooks(seconds=0.001)
    hooks.register(lambda _: anyio.sleep_forever(), name="slow")
    after = await hooks.run(event("A.md"))
    assert [notice.text.partition(";")[0] for notice in after.notices] == ["Hook slow took longer than 0.001 s"]


async def test_a_plain_hook_that_never_returns_costs_one_wait_and_no_turn() -> None:
    """Nobody can stop a function, so it is left in its thread and not called again before it comes back."""
    hooks, release, entered = BootstrapHooks(seconds=0.05), threading.Event(), threading.Event()

    def endless(event: BootstrapEvent) -> None:
        entered.set()
        release.wait()
        event.files.clear()

    hooks.register(endless, name="endless")
    try:
        first, second = await hooks.run(event("A.md")), await hooks.run(event("A.md"))
    finally:
        release.set()
    assert entered.is_set()
    assert [file.name for file in (*first.files, *second.files)] == ["A.md", "A.md"]
    assert [notice.text.partition(";")[0] for notice in (*first.notices, *second.notices)] == [
        "Hook endless took longer than 0.05 s",
        "Hook endless is still busy with an earlier turn and was not asked",
    ]


async def test_two_turns_may_ask_one_plain_hook_at_the_same_time() -> None:
    both = threading.Barrier(2, timeout=5)
    hooks = BootstrapHooks()
    hooks.register(lambda _: both.wait(), name="meets")
    left: list[BootstrapEvent] = []

    async def run() -> None:
        left.append(await hooks.run(event("A.md")))

    async with anyio.create_task_group() as group:
        group.start_soon(run)
        group.start_soon(run)
    assert [after.notices for after in left] == [[], []]


async def test_a_hook_that_wants_to_end_the_process_ends_itself() -> None:
    def leave(_: BootstrapEvent) -> None:
        raise SystemExit(3)

    hooks = BootstrapHooks()
    hooks.register(leave, name="leaves")
    after = await hooks.run(event("A.md"))
    assert [notice.text.partition(";")[0] for notice in after.notices] == [
        "Hook leaves failed with EndedError: raised SystemExit"
    ]


async def test_hooks_that_are_switched_off_do_not_run() -> None:
    def unexpected(_: BootstrapEvent) -> None:
        raise NotImplementedError

    hooks = BootstrapHooks(enabled=False)
    hooks.register(unexpected, name="off")
    assert await hooks.run(event("A.md")) == event("A.md")
    assert not hooks.any


def test_an_unknown_event_is_named() -> None:
    with pytest.raises(ValueError, match="hook 'x': event 'agent:boot' is not one of 'agent', 'agent:bootstrap'"):
        BootstrapHooks().register(lambda _: None, name="x", event="agent:boot")


class WordlessError(Exception):
    def __str__(self) -> str:
        raise RuntimeError


def raise_wordless(_: BootstrapEvent) -> None:
    raise WordlessError


def raise_timeout(_: BootstrapEvent) -> None:
    raise TimeoutError("the archive did not answer")


async def wait_for_something_cancelled(_: BootstrapEvent) -> None:
    task = asyncio.ensure_future(anyio.sleep_forever())
    task.cancel()
    await task


def add_a_name(event: BootstrapEvent) -> None:
    cast("list[object]", event.files).append("B.md")


def add_words(event: BootstrapEvent) -> None:
    cast("list[object]", event.notices).append("hm")


def leave(field: str, value: object) -> Hook:
    """A hook that leaves `value` in a field of the event."""
    return lambda event: setattr(event, field, value)


def put(field: str, value: object) -> Hook:
    """A hook that leaves `value` in a field of its first file, whatever belongs there."""
    return lambda event: setattr(event.files[0], field, value)


@pytest.mark.parametrize(
    ("hook", "what"),
    [
        (add_a_name, "left a str among the files, where only a HookFile may stand"),
        (leave("files", ()), "left a tuple where the list of files was"),
        (leave("notices", None), "left a NoneType where the list of notices was"),
        (add_words, "left a str among the notices, where only a Notice may stand"),
        (put("name", 5), "left a file whose name is a int"),
        (put("path", Path("A.md")), f"left a file whose path is a {type(Path()).__name__}"),
        (put("content", b"x"), "left a file whose content is a bytes"),
        (put("source", "A.md"), "left a file whose source is a str"),
        (raise_wordless, "failed with WordlessError"),
        (raise_timeout, "failed with TimeoutError: the archive did not answer"),
        (wait_for_something_cancelled, "waited for something that was cancelled"),
    ],
)
async def test_a_hook_that_leaves_or_raises_nonsense_is_named_and_changes_nothing(hook: Hook, what: str) -> None:
    hooks = BootstrapHooks()
    hooks.register(hook, name="odd")
    hooks.register(lambda event: event.files.append(HookFile("B.md", "B.md", "b")), name="next")
    after = await hooks.run(event("A.md"))
    assert after.files == [HookFile("A.md", "/ws/A.md", "A.md"), HookFile("B.md", "B.md", "b")]
    assert after.notices == [
        Notice(
            NoticeCode.HOOK_FAILED,
            "odd",
            f"Hook odd {what}; its changes to the prompt files were ignored. Repair or disable the hook.",
        )
    ]


async def test_a_run_that_is_cancelled_during_a_hook_ends() -> None:
    waiting = anyio.Event()

    async def wait(_: BootstrapEvent) -> None:
        waiting.set()
        await anyio.sleep_forever()

    hooks = BootstrapHooks()
    hooks.register(wait, name="waits")
    run = asyncio.ensure_future(hooks.run(event("A.md")))
    with anyio.fail_after(5):
        await waiting.wait()
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run


async def test_a_run_whose_scope_is_cancelled_during_a_hook_ends() -> None:
    hooks = BootstrapHooks()

    async def stop(_: BootstrapEvent) -> None:
        await anyio.lowlevel.checkpoint()
        scope.cancel()

    with anyio.CancelScope() as scope:
        hooks.register(stop, name="stops the run")
        hooks.register(lambda _: anyio.sleep_forever(), name="waits")
        await hooks.run(event("A.md"))
    assert scope.cancelled_caught


async def test_what_a_hook_keeps_hold_of_changes_nothing_later() -> None:
    kept: list[HookFile] = []

    def keep(event: BootstrapEvent) -> None:
        kept.append(event.files[0])

    hooks = BootstrapHooks()
    hooks.register(keep, name="keeps")
    after = await hooks.run(event("A.md"))
    kept[0].content = "something else"
    assert [file.content for file in after.files] == ["A.md"]
