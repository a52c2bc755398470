from dataclasses import replace
from typing import Any

import pytest

from harness.heartbeat import (
    Ack,
    BasePoll,
    CommitmentsPoll,
    HeartbeatRun,
    HeartbeatSettings,
    Place,
    Target,
    heartbeat_pointer,
    isolated_key,
    plan_run,
    pointer_for,
    render_poll,
)

SETTINGS = HeartbeatSettings()
PLACE = Place(session_key="agent:main:main")


def test_an_ordinary_heartbeat_runs_in_its_session_with_all_context() -> None:
    run = plan_run(SETTINGS, BasePoll(), place=PLACE, ack=Ack.TOOL, time_lines="Current time: noon")
    assert run == HeartbeatRun(
        session_key="agent:main:main",
        poll=render_poll(BasePoll(), ack=Ack.TOOL, time_lines="Current time: noon"),
        seconds=600.0,
    )


def test_a_light_isolated_heartbeat_runs_apart_with_its_own_file_alone() -> None:
    settings = HeartbeatSettings(light_context=True, isolated_session=True)
    run = plan_run(settings, CommitmentsPoll(("Send the list",)), place=PLACE, ack=Ack.TOKEN)
    assert (run.session_key, run.light, run.isolated, run.commitments_only) == (
        "agent:main:main:heartbeat", True, True, True
    )  # fmt: skip


@pytest.mark.parametrize(
    ("target", "isolated", "key", "shared"),
    [
        (Target(channel="telegram", chat="7", direct=True), False, "agent:main:main", False),
        (Target(channel="telegram", chat="-7"), False, "agent:main:main:shared:telegram:-7", True),
        (
            Target(channel="telegram", chat="-7", account="home", direct=False),
            False,
            "agent:main:main:shared:telegram:home:-7",
            True,
        ),
        (
            Target(channel="telegram", chat="-7", direct=False),
            True,
            "agent:main:main:shared:telegram:-7:heartbeat",
            True,
        ),
    ],
    ids=["direct", "unknown", "group of an account", "isolated"],
)
def test_one_that_others_hear_runs_in_a_conversation_of_its_own(
    target: Target, isolated: bool, key: str, shared: bool
) -> None:
    settings = HeartbeatSettings(isolated_session=isolated)
    run = plan_run(settings, BasePoll(), place=replace(PLACE, target=target), ack=Ack.TOOL)
    assert (run.session_key, run.shared) == (key, shared)


def test_the_key_of_the_isolated_session_does_not_grow() -> None:
    assert isolated_key(isolated_key("agent:main:main")) == "agent:main:main:heartbeat"


@pytest.mark.parametrize(
    ("change", "on"),
    [
        ({}, True),
        ({"default_agent": False}, False),
        ({"enabled": False}, False),
        ({"every": None}, False),
        ({"include_system_prompt_section": False}, False),
    ],
)
def test_prompts_speak_of_heartbeats_for_the_default_agent_while_they_are_on(change: dict[str, Any], on: bool) -> None:
    """S25, S58."""
    assert replace(SETTINGS, **change).guidance is on


@pytest.mark.parametrize(
    ("text", "pointed"), [("- look at the sensor", True), ("# Heartbeat\n- \n", False), (None, False)]
)
def test_only_a_file_that_asks_for_something_is_pointed_to(text: str | None, pointed: bool) -> None:
    """S53."""
    path = "/home/pell/garden/HEARTBEAT.md"
    assert pointer_for(path, text) == (heartbeat_pointer(path) if pointed else None)
