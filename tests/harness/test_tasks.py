import anyio
import pytest

from harness.tasks import beside


async def test_background_tasks_end_with_the_block() -> None:
    ended: list[str] = []

    async def forever() -> None:
        try:
            await anyio.sleep_forever()
        finally:
            ended.append("background")

    with anyio.fail_after(5):
        async with beside() as group:
            group.start_soon(forever)
            await anyio.wait_all_tasks_blocked()
            ended.append("block")
    assert ended == ["block", "background"]


async def test_an_error_of_the_block_comes_out_as_itself() -> None:
    with pytest.raises(KeyError, match="plain"):
        async with beside() as group:
            group.start_soon(anyio.sleep_forever)
            raise KeyError("plain")


async def test_an_error_of_a_background_task_is_not_lost() -> None:
    async def broken() -> None:
        raise ValueError("background")

    with pytest.raises(ExceptionGroup) as failure:
        async with beside() as group:
            group.start_soon(broken)
            await anyio.sleep_forever()
    assert failure.group_contains(ValueError, match="background")
