"""Who has heartbeats, how they run, and what a channel shows of them."""

from datetime import timedelta
from pathlib import Path

import pytest

from harness.config import Surroundings, read_config, resolve_agent
from harness.settings import ActiveHours, HeartbeatSettings, Visibility


@pytest.mark.parametrize(
    ("agents", "enabled"),
    [
        ("list: [{id: 'a'}, {id: 'b'}]", ["a"]),
        ("list: [{id: 'a'}, {id: 'b', default: true}]", ["b"]),
        ("defaults: {heartbeat: {}}, list: [{id: 'a'}, {id: 'b'}]", ["a", "b"]),
        ("defaults: {heartbeat: {}}, list: [{id: 'a'}, {id: 'b', heartbeat: {}}]", ["b"]),
        ("list: [{id: 'a', heartbeat: null}, {id: 'b', heartbeat: {every: '0m'}}]", ["b"]),
    ],
    ids=["default agent", "marked agent", "shared block", "own block", "null is no block"],
)
def test_agents_with_a_block_of_their_own_are_the_only_ones_with_heartbeats(
    machine: Surroundings, agents: str, enabled: list[str]
) -> None:
    config = read_config(f"{{agents: {{{agents}}}}}", machine)

    assert [agent for agent in "ab" if resolve_agent(config, agent, machine).heartbeat.enabled] == enabled


def test_an_agents_block_is_laid_over_the_shared_one_key_by_key(machine: Surroundings) -> None:
    text = """{agents: {
      defaults: {heartbeat: {
        every: "2h", prompt: " Look. ", ackMaxChars: "12.7", target: "last", lightContext: true, includeReasoning: true,
        isolatedSession: true, skipWhenBusy: true, suppressToolErrorWarnings: true, directPolicy: "block",
        activeHours: {start: "08:00", end: "22:00"}, timeoutSeconds: 45,
      }},
      list: [{id: "ana", heartbeat: {every: 15, prompt: null, isolatedSession: false, to: "42", accountId: "b"}}],
    }}"""

    assert resolve_agent(read_config(text, machine), "ana", machine).heartbeat == HeartbeatSettings(
        enabled=True,
        every=timedelta(minutes=15),
        prompt=None,
        ack_max_chars=12,
        target="last",
        to="42",
        account_id="b",
        active_hours=ActiveHours(8 * 60, 22 * 60, "Europe/Rome"),
        light_context=True,
        isolated_session=False,
        skip_when_busy=True,
        include_reasoning=True,
        suppress_tool_error_warnings=True,
        timeout_seconds=45,
        direct_allowed=False,
    )


@pytest.mark.parametrize(
    ("written", "oauth", "seconds"),
    [
        (None, False, 1_800),
        (None, True, 3_600),
        ("'10m'", True, 600),
        ("'0m'", False, 0),
        ("0", False, 0),
        ("''", False, 0),
        ("'often'", False, 0),
        ("'-5m'", False, 0),
        ("true", False, 0),
        ("[]", False, 0),
    ],
)
def test_a_wrong_or_zero_interval_switches_heartbeats_off(
    machine: Surroundings, written: str | None, oauth: bool, seconds: float
) -> None:
    block = f"{{every: {written}}}" if written else "{}"
    config = read_config(f"{{agents: {{defaults: {{heartbeat: {block}}}}}}}", machine)

    found = resolve_agent(config, "main", machine, anthropic_oauth=oauth).heartbeat

    assert (found.every, found.runs) == (timedelta(seconds=seconds) or None, seconds > 0)


@pytest.mark.parametrize(
    ("written", "most"),
    [
        ("0", 0),
        ("-3", 0),
        ("'40'", 40),
        ("'NaN'", 300),
        ("'Infinity'", 300),
        ("'few'", 300),
        ("true", 300),
        ("null", 300),
    ],
)
def test_the_acknowledgements_limit_is_300_unless_a_number_is_written(
    machine: Surroundings, written: str, most: int
) -> None:
    config = read_config(f"{{agents: {{defaults: {{heartbeat: {{ackMaxChars: {written}}}}}}}}}", machine)

    assert resolve_agent(config, "main", machine).heartbeat.ack_max_chars == most


@pytest.mark.parametrize(
    ("defaults", "seconds"),
    [
        ("heartbeat: {}", 600),
        ("heartbeat: {every: '5m'}", 300),
        ("heartbeat: {every: '0m'}", 600),
        ("timeoutSeconds: 90", 90),
        ("timeoutSeconds: 90, heartbeat: {timeoutSeconds: 45}", 45),
    ],
)
def test_a_heartbeat_ends_with_its_own_limit_then_the_agents_then_its_interval(
    machine: Surroundings, defaults: str, seconds: float
) -> None:
    config = read_config(f"{{agents: {{defaults: {{{defaults}}}}}}}", machine)

    assert resolve_agent(config, "main", machine).heartbeat.timeout_seconds == seconds


@pytest.mark.parametrize(
    ("hours", "zone"),
    [
        ("{start: '08:00', end: '24:00'}", "Asia/Tokyo"),
        ("{start: '08:00', end: '22:00', timezone: 'user'}", "Asia/Tokyo"),
        ("{start: '08:00', end: '22:00', timezone: 'local'}", "Europe/Rome"),
        ("{start: '08:00', end: '22:00', timezone: 'UTC'}", "UTC"),
        ("{start: '08:00', end: '22:00', timezone: 'Mars'}", "Asia/Tokyo"),
        ("{start: '08:00', end: '22:00', timezone: ''}", "Asia/Tokyo"),
        ("{start: '08:00', end: '22:00', timezone: ' User'}", "Asia/Tokyo"),
        ("{start: '08:00', end: '22:00', timezone: 'LOCAL'}", "Europe/Rome"),
        ("{start: '08:00', end: '22:00', timezone: '../etc'}", "Asia/Tokyo"),
        ("{start: '24:00', end: '22:00'}", None),
        ("{start: '8:00', end: '22:00'}", None),
        ("{start: '08:00', end: '25:00'}", None),
        ("{end: '22:00'}", None),
    ],
)
def test_active_hours_name_their_time_zone_and_count_for_nothing_when_an_end_is_wrong(
    machine: Surroundings, hours: str, zone: str | None
) -> None:
    text = f"{{agents: {{defaults: {{userTimezone: 'Asia/Tokyo', heartbeat: {{activeHours: {hours}}}}}}}}}"

    found = resolve_agent(read_config(text, machine), "main", machine).heartbeat.active_hours

    assert (found.timezone if found else None) == zone


def test_equal_ends_are_kept_and_named(machine: Surroundings) -> None:
    text = "{agents: {list: [{id: 'a'}, {id: 'b', heartbeat: {activeHours: {start: '08:00', end: '08:00'}}}]}}"

    config = read_config(text, machine)

    assert [(finding.place, getattr(finding, "reason", "")) for finding in config.findings] == [
        ("agents.list[1].heartbeat.activeHours", "start and end are the same, so no heartbeat ever runs")
    ]


@pytest.mark.parametrize(
    ("block", "agent", "guidance"),
    [
        ("{}", "ana", True),
        ("{}", "ben", False),
        ("{includeSystemPromptSection: false}", "ana", False),
        ("{every: '0m'}", "ana", False),
        ("{every: 'often'}", "ana", False),
    ],
)
def test_the_prompt_speaks_of_heartbeats_to_the_default_agent_only_and_only_when_on(
    machine: Surroundings, block: str, agent: str, guidance: bool
) -> None:
    """S25, S58: off for the default agent, or `includeSystemPromptSection` false, and the guidance is gone."""
    text = f"{{agents: {{defaults: {{heartbeat: {block}}}, list: [{{id: 'ana'}}, {{id: 'ben'}}]}}}}"

    assert resolve_agent(read_config(text, machine), agent, machine).heartbeat.guidance is guidance


CHANNELS = """{channels: {
  defaults: {heartbeat: {showOk: true, useIndicator: false}},
  telegram: {heartbeat: {showAlerts: false}, accounts: {work: {heartbeat: {useIndicator: true, showOk: false}}}},
  webchat: {heartbeat: {showOk: false}},
}}"""


@pytest.mark.parametrize(
    ("channel", "account", "shown"),
    [
        ("telegram", "work", Visibility(show_ok=False, show_alerts=False, use_indicator=True)),
        ("telegram", "other", Visibility(show_ok=True, show_alerts=False, use_indicator=False)),
        ("telegram", None, Visibility(show_ok=True, show_alerts=False, use_indicator=False)),
        ("discord", None, Visibility(show_ok=True, show_alerts=True, use_indicator=False)),
        ("webchat", None, Visibility(show_ok=True, show_alerts=True, use_indicator=False)),
    ],
)
def test_an_account_shows_what_it_says_itself_then_its_channel_then_the_shared_keys(
    machine: Surroundings, channel: str, account: str | None, shown: Visibility
) -> None:
    assert resolve_agent(read_config(CHANNELS, machine), "main", machine).visibility.of(channel, account) == shown


def test_a_channel_without_keys_shows_alerts_and_the_indicator() -> None:
    machine = Surroundings(home=Path("/home/ana"))
    shown = resolve_agent(read_config("", machine), "main", machine).visibility.of("telegram")

    assert shown == Visibility(show_ok=False, show_alerts=True, use_indicator=True)
    assert not shown.nothing_shown
    assert Visibility(show_alerts=False, use_indicator=False).nothing_shown
