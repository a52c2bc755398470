"""Which values are valid alone, but do nothing or mean something else beside the others.

Pure.
"""

from collections.abc import Iterator
from itertools import count
from typing import Literal

from harness.config.agent_keys import AgentEntry, SilentReply
from harness.config.findings import ConfigFinding, NoEffect, WrongValue
from harness.config.heartbeat_keys import Heartbeat
from harness.config.places import Place, show_value, write_place
from harness.config.replies import PERSONALITIES, SECOND_SOURCE
from harness.config.root import OpenClawConfig
from harness.config.roster import MAIN, agent_id_of
from harness.config.shape import Shape, in_words
from harness.config.surroundings import Surroundings
from harness.config.timezones import ENVELOPE_WORDS, HOURS_WORDS, is_zone_name

ZONE_WORDS = 'an IANA time zone such as "Europe/Paris"'
DEFAULTS: Place = ("agents", "defaults")


def review(
    values: OpenClawConfig, surroundings: Surroundings, left_out: frozenset[Place] = frozenset()
) -> list[ConfigFinding]:
    """Name what the keys say against each other.

    Args:
        values: The configuration.
        surroundings: Knows the time zones.
        left_out: Places of the file that `values` lacks; agents after them are counted as in the file.
    """
    listed = _listed(values, left_out)
    heartbeats = list(_heartbeats(values, listed))
    return [
        *_agents(listed),
        *_time_zones(values, heartbeats, surroundings),
        *_hours(heartbeats),
        *_silent_replies(values),
        *_personality(values),
    ]


def _listed(values: OpenClawConfig, left_out: frozenset[Place]) -> list[tuple[int, AgentEntry]]:
    in_file = (index for index in count() if ("agents", "list", index) not in left_out)
    return list(zip(in_file, values.agents.list, strict=False))


def _agents(listed: list[tuple[int, AgentEntry]]) -> Iterator[ConfigFinding]:
    seen: dict[str, int] = {}
    marked: int | None = None
    for index, entry in listed:
        place, agent = f"agents.list[{index}]", agent_id_of(entry.id)
        if not (entry.id or "").strip():
            yield WrongValue(f"{place}.id", "missing", "the agent's id", f'the entry counts as "{MAIN}"')
        if agent in seen:
            yield NoEffect(place, f'agents.list[{seen[agent]}] is the agent "{agent}" already')
        elif entry.default and marked is not None:
            yield NoEffect(f"{place}.default", f"agents.list[{marked}] is the default already")
        if entry.default and marked is None:
            marked = index
        seen.setdefault(agent, index)


def _heartbeats(values: OpenClawConfig, listed: list[tuple[int, AgentEntry]]) -> Iterator[tuple[Place, Heartbeat]]:
    if values.agents.defaults.heartbeat is not None:
        yield (*DEFAULTS, "heartbeat"), values.agents.defaults.heartbeat
    for index, entry in listed:
        if entry.heartbeat is not None:
            yield ("agents", "list", index, "heartbeat"), entry.heartbeat


def _time_zones(
    values: OpenClawConfig, heartbeats: list[tuple[Place, Heartbeat]], surroundings: Surroundings
) -> Iterator[WrongValue]:
    defaults = values.agents.defaults
    named: list[tuple[Place, str | None, frozenset[str], str]] = [
        ((*DEFAULTS, "userTimezone"), defaults.user_timezone, frozenset(), "the machine's time zone is used"),
        (
            (*DEFAULTS, "envelopeTimezone"),
            defaults.envelope_timezone,
            ENVELOPE_WORDS,
            "UTC is used",
        ),
    ]
    for place, heartbeat in heartbeats:
        zone = heartbeat.active_hours.timezone if heartbeat.active_hours else None
        named.append(((*place, "activeHours", "timezone"), zone, HOURS_WORDS, "the user's time zone is used"))
    for place, zone, words, in_force in named:
        plain = (zone or "").strip()
        if plain and not is_zone_name(plain, words, surroundings.is_timezone):
            allowed = ", or ".join([*(f'"{word}"' for word in sorted(words)), ZONE_WORDS])
            yield WrongValue(write_place(place), show_value(zone, place), allowed, in_force)


def _hours(heartbeats: list[tuple[Place, Heartbeat]]) -> Iterator[NoEffect]:
    for place, heartbeat in heartbeats:
        hours, whole = heartbeat.active_hours, write_place((*place, "activeHours"))
        if hours is None:
            continue
        if hours.minutes is None:
            yield NoEffect(whole, "it needs a start (before 24:00) and an end, so heartbeats run at any hour")
        elif hours.minutes[0] == hours.minutes[1]:
            yield NoEffect(whole, "start and end are the same, so no heartbeat ever runs")


def _silent_replies(values: OpenClawConfig) -> Iterator[NoEffect]:
    blocks: list[tuple[Place, SilentReply | None]] = [((*DEFAULTS, "silentReply"), values.agents.defaults.silent_reply)]
    blocks += [(("surfaces", name, "silentReply"), surface.silent_reply) for name, surface in values.surfaces.items()]
    for place, block in blocks:
        if block is not None and block.direct == "allow":
            yield NoEffect(write_place((*place, "direct")), "an agent always answers in a direct chat")


def _personality(values: OpenClawConfig) -> Iterator[WrongValue]:
    """The second source of the GPT-5 overlay's tone stands in a subtree that no model of ours checks."""
    plugin = values.plugins.entries.get(SECOND_SOURCE)
    found = plugin.config.get("personality") if plugin else None
    if found is None or (isinstance(found, str) and found.strip().lower() in PERSONALITIES):
        return
    place: Place = ("plugins", "entries", SECOND_SOURCE, "config", "personality")
    allowed = in_words(Shape(Literal["friendly", "on", "off"]))
    yield WrongValue(write_place(place), show_value(found, place), allowed, '"friendly" is used')
