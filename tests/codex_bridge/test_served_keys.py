"""A key of the configuration is read by somebody, or said to do nothing: none can be forgotten."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from inspect import get_annotations
from pathlib import Path
from typing import Final, cast, get_args, get_type_hints

import pytest

import harness
from codex_bridge.config import CodexConfig
from harness.config.root import OpenClawConfig
from harness.config.section import Section
from harness.config.shape import ANY_KEY, Shape, known_places, shape_of
from harness.config.unserved import ANY
from harness.settings.agent import AgentSettings

ROOT: Final = Path(str(harness.__file__)).parent.parent
ROOTS: Final[tuple[type[Section], ...]] = (OpenClawConfig, CodexConfig)

RULES: Final = "harness/config/"
READ: Final = {
    # Where keys are read whose names say too little: other sections use the same word, or nobody names the attribute.
    "agents.*.skills": (f"{RULES}skill_rules.py", "else values.agents.defaults.skills"),
    "agents.*.heartbeat.timeoutSeconds": (f"{RULES}heartbeat_rules.py", "=block.timeout_seconds or"),
    "agents.*.heartbeat.activeHours.timezone": (f"{RULES}heartbeat_rules.py", "hours_timezone(hours.timezone"),
    "agents.*.model.primary": (f"{RULES}model_rules.py", "own.primary or shared.primary"),
    "agents.*.startupContext.enabled": ("harness/memory/daily.py", "settings.enabled"),
    "agents.*.timeoutSeconds": (f"{RULES}resolve.py", "turn_timeout_seconds=defaults.timeout_seconds"),
    "agents.*.id": (f"{RULES}roster.py", "entry.id"),
    "agents.*.skillsLimits.maxSkillsPromptChars": (f"{RULES}skill_rules.py", "entry.skills_limits"),
    "browser.enabled": ("harness/skills/eligibility.py", '"browser.enabled"'),
    "browser.evaluateEnabled": ("harness/skills/eligibility.py", '"browser.evaluateEnabled"'),
    "hooks.internal.enabled": (f"{RULES}workspace_rules.py", "hooks.enabled"),
    "hooks.internal.entries.*.enabled": (f"{RULES}workspace_rules.py", "extra.enabled"),
    "hooks.internal.entries.*.paths": (f"{RULES}workspace_rules.py", "extra.paths"),
    "messages.visibleReplies": (f"{RULES}resolve.py", "visible=written.visible_replies"),
    "messages.groupChat.visibleReplies": (f"{RULES}resolve.py", "written.group_chat.visible_replies"),
    "messages.queue.mode": (f"{RULES}resolve.py", "mode=written.mode or"),
    "plugins.load.paths": (f"{RULES}skill_rules.py", "values.plugins.load.paths"),
    "plugins.enabled": (f"{RULES}skill_rules.py", "on=written.enabled"),
    "plugins.allow": (f"{RULES}skill_rules.py", "only=name_filter(written.allow)"),
    "plugins.entries.*.enabled": (f"{RULES}skill_rules.py", "plugin.enabled"),
    "plugins.entries.*.config": (f"{RULES}replies.py", "plugin.config"),
    "tools.exec.allow": (f"{RULES}resolve.py", "for each in written.allow"),
    "skills.entries.*.enabled": (f"{RULES}skill_rules.py", "skill.enabled"),
    "skills.entries.*.config": (f"{RULES}skill_rules.py", "config=config.effective"),
    "skills.limits.maxSkillsPromptChars": (f"{RULES}skill_rules.py", "values.skills.limits"),
    "tools.web.search.enabled": (f"{RULES}resolve.py", "enabled=written.enabled is not False"),
    "tools.web.search.openaiCodex.enabled": (f"{RULES}resolve.py", "codex.enabled is not False"),
    "tools.web.search.openaiCodex.mode": (f"{RULES}resolve.py", "mode=codex.mode"),
    **dict.fromkeys(
        (f"tools.web.search.openaiCodex.userLocation.{part}" for part in ("country", "region", "city", "timezone")),
        (f"{RULES}resolve.py", "include=set(SearchPlace.model_fields)"),
    ),
    "tools.allow": (f"{RULES}resolve.py", "in tools.allow"),
    "appServer.subagents": ("codex_bridge/config.py", "server.subagents"),
    "appServer.mode": ("codex_bridge/config.py", "server.mode"),
    "appServer.sandbox": ("codex_bridge/config.py", "server.sandbox"),
    "appServer.approvalsReviewer": ("codex_bridge/config.py", "server.approvals_reviewer"),
    "appServer.serviceTier": ("codex_bridge/config.py", "server.service_tier"),
}
"""By path; module, and what stands in it. Levels of agents count as one."""

IDLE: Final = {
    "ModelSettings.fallbacks": "agents.defaults.model.fallbacks",
    "TimeSettings.host_timezone": "agents.defaults.envelopeTimezone",
    "TimeSettings.envelope_timezone": "agents.defaults.envelopeTimezone",
    "TimeSettings.envelope_timestamp": "agents.defaults.envelopeTimestamp",
    "TimeSettings.envelope_elapsed": "agents.defaults.envelopeElapsed",
}
"""Settings that nobody uses yet, and the key that says so."""


@dataclass(frozen=True)
class Leaf:
    """A key that holds a value of its own, with the names of the attributes that lead to it."""

    place: str
    names: tuple[str, ...]
    owner: str


def leaves(shape: Shape, place: tuple[str, ...] = (), names: tuple[str, ...] = (), owner: str = "") -> Iterator[Leaf]:
    inner: list[Leaf] = []
    for choice in shape.choices:
        if choice.model is not None:
            for name, field in choice.model.model_fields.items():
                held = shape_of(field.annotation, tuple(field.metadata))
                # A model's own copy of an inherited field is the same one.
                home = next(each for each in choice.model.__mro__ if name in get_annotations(each))
                inner += leaves(held, (*place, field.alias or name), (*names, name), home.__name__)
        for member in (choice.item, choice.entry):
            if member is not None and any(each.model is not None for each in member.choices):
                inner += leaves(member, (*place, ANY), names, owner)
    yield from inner or [Leaf(".".join(place), names, owner)]


@cache
def attributes(without: str = "nothing") -> frozenset[str]:
    """Every name that the packages read of some object."""
    names: set[str] = set()
    for package in ("harness", "codex_bridge"):
        for file in sorted((ROOT / package).rglob("*.py")):
            if not str(file.relative_to(ROOT)).startswith(without):
                tree = ast.parse(file.read_text("utf-8"))
                names |= {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    return frozenset(names)


def prefixes(place: str) -> set[str]:
    parts = place.split(".")
    return {".".join(parts[:count]) for count in range(1, len(parts) + 1)}


def merged(place: str) -> str:
    return place.replace("agents.defaults.", "agents.*.").replace("agents.list.*.", "agents.*.")


@pytest.mark.parametrize("root", ROOTS)
def test_every_key_is_read_or_said_to_do_nothing(root: type[Section]) -> None:
    owners: dict[str, set[str]] = defaultdict(set)
    for each in ROOTS:
        for leaf in leaves(Shape(each)):
            owners[leaf.names[-1]].add(leaf.owner)
    forgotten = [
        leaf.place
        for leaf in leaves(Shape(root))
        if not prefixes(leaf.place) & set(root.unserved)
        and merged(leaf.place) not in READ
        and not (set(leaf.names) <= attributes() and len(owners[leaf.names[-1]]) == 1)
    ]
    assert forgotten == []


def test_what_is_said_to_be_read_is_read_there() -> None:
    wrong = [place for place, (module, text) in READ.items() if text not in (ROOT / module).read_text("utf-8")]
    known = {merged(leaf.place) for root in ROOTS for leaf in leaves(Shape(root))}
    assert (wrong, sorted(set(READ) - known)) == ([], [])


@pytest.mark.parametrize("root", ROOTS)
def test_what_is_said_to_do_nothing_is_a_key(root: type[Section]) -> None:
    known = {
        ".".join(ANY if part in (0, ANY_KEY) else str(part) for part in place) for place in known_places(Shape(root))
    }
    assert sorted(set(root.unserved) - known) == []


def settings(kind: object, seen: set[type]) -> Iterator[str]:
    """Yield each field of the settings values, as `Class.field`."""
    for each in (kind, *get_args(kind)):
        if each is not kind:
            yield from settings(each, seen)
        elif isinstance(each, type) and is_dataclass(each) and each not in seen:
            seen.add(each)
            hints = cast("dict[str, object]", get_type_hints(each))
            for field in fields(each):
                yield f"{each.__name__}.{field.name}"
                yield from settings(hints[field.name], seen)


def test_every_setting_of_an_agent_is_used_or_its_key_said_to_do_nothing() -> None:
    """Reading a key into a setting serves nobody."""
    used = attributes(RULES)
    unused = [name for name in settings(AgentSettings, set()) if name.partition(".")[2] not in used]
    assert sorted(set(unused) - set(IDLE)) == []
    assert sorted(set(IDLE.values()) - set(OpenClawConfig.unserved)) == []


def test_a_new_key_would_be_noticed() -> None:
    class Grown(Section):
        """The same with one key more."""

        frobnication_depth: int = 0

    leaf = next(leaves(Shape(Grown)))
    assert (leaf.place, set(leaf.names) <= attributes()) == ("frobnicationDepth", False)


def test_the_models_are_walked_to_the_end() -> None:
    found = {leaf.place for root in ROOTS for leaf in leaves(Shape(root))}
    deep = {"agents.list.*.heartbeat.activeHours.start", "channels.*.accounts.*.heartbeat.showOk"}
    assert deep | {"appServer.networkProxy"} <= found
