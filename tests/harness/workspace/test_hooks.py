"""Hooks run in order on copies; one that fails is reported and changes nothing."""

import anyio
import pytest

from harness.workspace.entries import NoticeCode
from harness.workspace.hooks import BootstrapEvent, BootstrapHooks, HookFile


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
