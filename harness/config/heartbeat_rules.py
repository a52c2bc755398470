"""Which agents have heartbeats, how each one runs, and what a channel shows of it.

Pure. Rules of prompt-builder 10.1, 10.2, 10.7 and 10.8.
"""

from datetime import timedelta

from harness.config.channel_keys import Channel
from harness.config.heartbeat_keys import ActiveHours as ActiveHoursKeys
from harness.config.heartbeat_keys import Heartbeat
from harness.config.levels import filled
from harness.config.root import OpenClawConfig
from harness.config.roster import agent_id_of, default_agent_id, entry_of
from harness.config.section import Unusable
from harness.config.timezones import IsTimezone, hours_timezone
from harness.durations import parse_duration
from harness.settings.heartbeat import (
    ActiveHours,
    ChannelVisibility,
    HeartbeatSettings,
    Visibility,
    ack_limit,
)
from harness.settings.times import TimeSettings

BUILT_IN = HeartbeatSettings()
EVERY_WITH_OAUTH = timedelta(hours=1)
"""The interval when the provider is Anthropic by OAuth or setup token and none is written."""
LONGEST_TURN = BUILT_IN.timeout_seconds
"""The longest that a heartbeat without a configured limit may run."""

CHANNEL_DEFAULTS = "defaults"
"""The key under `channels` that is no channel."""
WEB_CHAT = "webchat"
"""A channel without settings of its own: only `channels.defaults` counts for it."""


def has_heartbeat(values: OpenClawConfig, agent_id: str) -> bool:
    """Say whether an agent is among those that have heartbeats.

    Agents with a block of their own shut out all others; without any such block, a block in the defaults covers
    every agent, and no block at all covers the default agent alone.
    """
    wanted = agent_id_of(agent_id)
    if any(entry.heartbeat is not None for entry in values.agents.list):
        entry = entry_of(values, agent_id)
        return entry is not None and entry.heartbeat is not None
    return values.agents.defaults.heartbeat is not None or wanted == default_agent_id(values)


def merged_block(values: OpenClawConfig, agent_id: str) -> Heartbeat:
    """Lay the agent's heartbeat block over the shared one, key by key; an explicit null clears a shared key."""
    shared = values.agents.defaults.heartbeat or Heartbeat()
    entry = entry_of(values, agent_id)
    if entry is None or entry.heartbeat is None:
        return shared
    own = entry.heartbeat
    return shared.model_copy(update={name: getattr(own, name) for name in own.model_fields_set})


def heartbeat_of(
    values: OpenClawConfig, agent_id: str, *, time: TimeSettings, is_timezone: IsTimezone, anthropic_oauth: bool
) -> HeartbeatSettings:
    """Return how the heartbeat of an agent runs; the arguments are those of `resolve.resolve_agent`."""
    block = merged_block(values, agent_id)
    every = _every(block, anthropic_oauth=anthropic_oauth)
    by_interval = min(LONGEST_TURN, every.total_seconds()) if every else LONGEST_TURN
    return HeartbeatSettings(
        default_agent=agent_id_of(agent_id) == default_agent_id(values),
        enabled=has_heartbeat(values, agent_id),
        every=every,
        prompt=(block.prompt or "").strip() or None,
        ack_max_chars=ack_limit(None if isinstance(block.ack_max_chars, Unusable) else block.ack_max_chars),
        target=(block.target or "").strip() or BUILT_IN.target,
        to=block.to,
        account_id=block.account_id,
        active_hours=_active_hours(block.active_hours, time, is_timezone),
        light_context=bool(block.light_context),
        isolated_session=bool(block.isolated_session),
        skip_when_busy=bool(block.skip_when_busy),
        include_reasoning=bool(block.include_reasoning),
        include_system_prompt_section=block.include_system_prompt_section is not False,
        suppress_tool_error_warnings=bool(block.suppress_tool_error_warnings),
        timeout_seconds=block.timeout_seconds or values.agents.defaults.timeout_seconds or by_interval,
        direct_allowed=block.direct_policy != "block",
    )


def visibility_of(values: OpenClawConfig) -> ChannelVisibility:
    """Return what each channel shows: the account's keys, then the channel's, then `channels.defaults`."""
    shared = values.channels.get(CHANNEL_DEFAULTS, Channel()).heartbeat
    own = {name: channel for name, channel in values.channels.items() if name not in (CHANNEL_DEFAULTS, WEB_CHAT)}
    return ChannelVisibility(
        shared=filled(Visibility(), shared),
        channels={name: filled(Visibility(), channel.heartbeat, shared) for name, channel in own.items()},
        accounts={
            (name, id_): filled(Visibility(), account.heartbeat, channel.heartbeat, shared)
            for name, channel in own.items()
            for id_, account in channel.accounts.items()
        },
    )


def _every(block: Heartbeat, *, anthropic_oauth: bool) -> timedelta | None:
    if block.every is None:
        return EVERY_WITH_OAUTH if anthropic_oauth else BUILT_IN.every
    # Wrong values and zero both switch heartbeats off.
    return None if isinstance(block.every, Unusable) else parse_duration(block.every) or None


def _active_hours(hours: ActiveHoursKeys | None, time: TimeSettings, is_timezone: IsTimezone) -> ActiveHours | None:
    """Return the hours, or None (always) when one end is missing or wrong."""
    ends = None if hours is None else hours.minutes
    if hours is None or ends is None:
        return None
    zone = hours_timezone(hours.timezone, user=time.timezone, host=time.host_timezone, is_timezone=is_timezone)
    return ActiveHours(*ends, zone)
