"""What an agent may change of the gateway's configuration (S18, prompt-builder 11.8)."""

import copy
import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.gateway_guard import (
    ConfigChangeError,
    compare,
    config_hash,
    may_write,
    parse_path,
    patched,
    replaced,
    shown,
)
from harness.json_value import Json

CONFIG: dict[str, Json] = {
    "agents": {
        "defaults": {"thinkingDefault": "low", "workspace": "/w"},
        "list": [{"id": "pell", "model": "a/b", "workspace": "/p"}, {"id": "tamsin"}],
    },
    "channels": {"telegram": {"requireMention": True, "token": "t", "accounts": {"a": {"groups": {"5": {}}}}}},
    "tools": {"exec": {"ask": "always", "security": "full"}, "bash": {"timeoutSeconds": 5}},
}


def patch(change: dict[str, Json], *, replace: tuple[str, ...] = ()) -> dict[str, Json]:
    return patched(copy.deepcopy(CONFIG), change, base_hash=config_hash(CONFIG), replace=replace)


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("tools.exec.ask", "tools.exec.ask"),
        (" tools.bash.ask ", "tools.exec.ask"),
        ('tools["bash"].security', "tools.exec.security"),
        ("tools['exec']['ask']", "tools.exec.ask"),
        ("tools[bash].ask", "tools.exec.ask"),
        ("agents.list[0].model", "agents.list[].model"),
        ("agents.list[].model.primary", "agents.list[].model.primary"),
        ("tools . exec . ask", "tools.exec.ask"),
        ("tools[ 'exec' ][ ask ]", "tools.exec.ask"),
        ('agents.list[ 2 ]["a]b"]', 'agents.list[]["a]b"]'),
    ],
)
def test_a_path_has_one_spelling(text: str, path: str) -> None:
    """S18: the older name of a protected path is that path."""
    assert shown(parse_path(text)) == path


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("tools.exec.ask", False),
        ("tools.exec.security", False),
        ("tools.bash.ask", False),
        ("agents.defaults.thinkingDefault", True),
        ("agents.defaults.subagents.thinking", True),
        ("agents.defaults.subagents", False),
        ("agents.defaults.workspace", False),
        ("agents.list[].model", True),
        ("agents.list[3].model.primary", True),
        ("agents.list[].modelX", False),
        ("agents.list[]", False),
        ("agents.list", False),
        ("channels.telegram.requireMention", True),
        ("channels.a.b.c.d.e.requireMention", True),
        ("channels.a.b.c.d.e.f.requireMention", False),
        ("channels.requireMention", False),
        ("messages.groupChat.unmentionedInbound", True),
        ("messages.groupChat", False),
    ],
)
def test_only_what_is_on_the_list_can_be_written(path: str, allowed: bool) -> None:
    """S18."""
    assert may_write(parse_path(path)) is allowed


def test_a_patch_merges_and_lists_with_ids_merge_by_these() -> None:
    after = patch(
        {
            "agents": {
                "defaults": {"thinkingDefault": None, "reasoningDefault": "on"},
                "list": [{"id": "tamsin", "model": {"primary": "x/y"}}, {"id": "new", "fastModeDefault": True}],
            },
            "channels": {"telegram": {"accounts": {"a": {"groups": {"5": {"requireMention": False}}}}}},
        }
    )
    assert after["agents"] == {
        "defaults": {"reasoningDefault": "on", "workspace": "/w"},
        "list": [
            {"id": "pell", "model": "a/b", "workspace": "/p"},
            {"id": "tamsin", "model": {"primary": "x/y"}},
            {"id": "new", "fastModeDefault": True},
        ],
    }


PROTECTED: dict[str, tuple[dict[str, Json], str]] = {
    "the approval of commands": ({"tools": {"exec": {"ask": "off"}}}, "tools.exec.ask"),
    "its older name": ({"tools": {"bash": {"ask": "off"}}}, "tools.exec.ask"),
    "both at once": (
        {"tools": {"bash": {"security": "none"}, "exec": {"ask": "off"}}},
        "tools.exec.ask, tools.exec.security",
    ),
    "the whole section": ({"tools": None}, "tools"),
    "a section as another kind": ({"tools": {"exec": []}}, "tools.exec"),
    "a new agent's folder": ({"agents": {"list": [{"id": "x", "workspace": "/"}]}}, "agents.list[].workspace"),
    "a new agent in a spelling that no id has": ({"agents": {"list": [{"id": "New One"}]}}, "agents.list[]"),
    "a new agent whose id says nothing": ({"agents": {"list": [{"id": "!?"}]}}, "agents.list[]"),
    "a key that a program may take for its own": (
        {"channels": {"__proto__": {"requireMention": False}, "telegram": {"constructor": {"requireMention": True}}}},
        "channels.__proto__.requireMention, channels.telegram.constructor.requireMention",
    ),
    "a key that looks like a path": (
        {"agents.defaults.thinkingDefault": "high"},
        '["agents.defaults.thinkingDefault"]',
    ),
    "more than can be named": (
        {"hooks": {str(number): number for number in range(7)}},
        "hooks.0, hooks.1, hooks.2, hooks.3, hooks.4 and 2 more",
    ),
    "beside something allowed": (
        {"messages": {"visibleReplies": "automatic"}, "gateway": {"port": 1}},
        "gateway.port",
    ),
    "a dangerous switch in an allowed place": (
        {"agents": {"list": [{"id": "pell", "model": {"primary": "a/b", "dangerouslySkipChecks": True}}]}},
        "agents.list[].model.dangerouslySkipChecks",
    ),
    "an empty new section": ({"hooks": {}}, "hooks"),
    "an account that is called like a switch": (
        {"channels": {"telegram": {"accounts": {"requireMention": {"botToken": "x"}}}}},
        "channels.telegram.accounts.requireMention.botToken",
    ),
    "an object in place of a switch": (
        {"channels": {"telegram": {"requireMention": [{"tools": "off"}]}}},
        "channels.telegram.requireMention",
    ),
    "an object in place of a level": (
        {"agents": {"defaults": {"thinkingDefault": {"a": [1]}}}},
        "agents.defaults.thinkingDefault.a",
    ),
    "a dangerous switch in a list": (
        {"agents": {"list": [{"id": "pell", "model": {"primary": "a/b", "fallbacks": [{"allowUnsafe": True}]}}]}},
        "agents.list[].model.fallbacks, agents.list[].model.fallbacks[].allowUnsafe",
    ),
    "a key that looks like an element": ({"agents": {"more": {"[]": {"model": "x"}}}}, 'agents.more["[]"].model'),
}


@pytest.mark.parametrize("case", PROTECTED)
def test_a_protected_change_is_refused_by_its_name(case: str) -> None:
    change, names = PROTECTED[case]
    with pytest.raises(ConfigChangeError) as caught:
        patch(change)
    assert str(caught.value) == f"An agent may not change {names}; a person has to, in the configuration file."


def test_a_list_that_is_to_be_replaced_may_lose_nobody() -> None:
    change: dict[str, Json] = {"agents": {"list": [{"id": "pell", "model": "c/d", "workspace": "/p"}]}}
    assert patch(change)["agents"] != change["agents"]
    with pytest.raises(ConfigChangeError, match=r"may not change agents\.list\[\];"):
        patch(change, replace=("agents.list",))


def test_the_order_of_agents_decides_who_is_the_default_and_is_protected() -> None:
    turned = copy.deepcopy(CONFIG)
    agents = turned["agents"]
    assert isinstance(agents, dict)
    assert isinstance(agents["list"], list)
    agents["list"].reverse()
    with pytest.raises(ConfigChangeError, match=r"agents\.list\[\]"):
        replaced(CONFIG, turned, base_hash=config_hash(CONFIG))


def test_a_new_agent_may_not_come_first() -> None:
    new = copy.deepcopy(CONFIG)
    new["agents"]["list"].insert(0, {"id": "new", "model": "x/y"})  # type: ignore[index, union-attr, call-overload]
    with pytest.raises(ConfigChangeError, match=r"agents\.list\[\]"):
        replaced(CONFIG, new, base_hash=config_hash(CONFIG))
    with pytest.raises(ConfigChangeError, match=r"agents\.list"):
        patched({}, {"agents": {"list": [{"id": "new"}]}}, base_hash=config_hash({}))


def test_a_whole_configuration_may_be_replaced_where_only_allowed_things_differ() -> None:
    new = copy.deepcopy(CONFIG)
    new["messages"] = {"groupChat": {"visibleReplies": "automatic"}}
    assert replaced(CONFIG, new, base_hash=config_hash(CONFIG)) == new
    assert [shown(path) for path in compare(CONFIG, new).paths] == ["messages.groupChat.visibleReplies"]
    del new["tools"]
    with pytest.raises(ConfigChangeError, match="may not change tools;"):
        replaced(CONFIG, new, base_hash=config_hash(CONFIG))


def test_a_change_of_a_configuration_that_is_not_the_present_one_is_refused() -> None:
    with pytest.raises(ConfigChangeError, match=r"has changed since it was read; read it again with config\.get\."):
        patched(CONFIG, {}, base_hash="stale")
    assert config_hash({"a": 1, "b": 2}) == config_hash({"b": 2, "a": 1})


def test_true_is_not_one() -> None:
    assert compare({"tools": {"x": 1}}, {"tools": {"x": True}}).protected == (("tools", "x"),)


def test_true_is_not_one_within_a_list_either() -> None:
    assert compare({"tools": {"x": [1]}}, {"tools": {"x": [True]}}).protected == (("tools", "x"),)


def test_every_spelling_of_an_id_means_the_agent_that_is_there() -> None:
    after = patch({"agents": {"list": [{"id": " PELL ", "model": "c/d"}]}})
    assert after["agents"]["list"] == [  # type: ignore[index, call-overload]
        {"id": "pell", "model": "c/d", "workspace": "/p"}, {"id": "tamsin"}
    ]  # fmt: skip


def test_a_new_agent_is_named_and_does_not_repeat_another() -> None:
    for change in ([{"id": ""}], [{"id": None}], [{"id": 5}], [{"model": "a/b"}], ["pell"]):
        with pytest.raises(
            ConfigChangeError, match=r"^Each entry of agents\.list in a patch needs the id of its agent"
        ):
            patch({"agents": {"list": change}})  # type: ignore[dict-item]
    with pytest.raises(ConfigChangeError, match=r"^The patch has the agent pell twice in agents\.list\.$"):
        patch({"agents": {"list": [{"id": "pell"}, {"id": "Pell", "model": "c/d"}]}})


@pytest.mark.parametrize("nameless", [{"model": "x/y"}, {"id": "", "name": "N"}, {"id": 7}, "scrap", {"id": "Pell"}])
def test_an_entry_that_names_nobody_does_not_keep_others_from_a_change(nameless: Json) -> None:
    config: dict[str, Json] = {"agents": {"list": [{"id": "pell", "model": "a/b"}, nameless]}}
    change: Json = {"agents": {"list": [{"id": "pell", "model": "c/d"}]}}
    assert patched(config, change, base_hash=config_hash(config)) == {
        "agents": {"list": [{"id": "pell", "model": "c/d"}, nameless]}
    }


def test_an_id_may_be_given_to_the_entry_that_counts_as_the_main_agent_and_not_be_taken_from_it() -> None:
    config: dict[str, Json] = {"agents": {"list": [{"model": "a/b"}]}}
    named: dict[str, Json] = {"agents": {"list": [{"model": "a/b", "id": "main"}]}}
    assert patched(config, {"agents": {"list": [{"id": "main"}]}}, base_hash=config_hash(config)) == named
    for other in ({"model": "a/b", "id": "Main"}, {"model": "a/b", "id": ""}):
        with pytest.raises(ConfigChangeError, match=r"^An agent may not change agents\.list\[\];"):
            replaced(named, {"agents": {"list": [other]}}, base_hash=config_hash(named))  # type: ignore[dict-item]


@pytest.mark.parametrize("before", [{}, {"agents": {}}, {"agents": {"list": []}}, {"agents": {"list": None}}])
def test_where_nobody_is_listed_the_first_agent_is_for_a_person_to_add(before: dict[str, Json]) -> None:
    with pytest.raises(ConfigChangeError, match=r"^An agent may not change agents\.list;"):
        patched(before, {"agents": {"list": [{"id": "new", "model": "x/y"}]}}, base_hash=config_hash(before))


def nested(depth: int) -> Json:
    tree: Json = 1
    for _ in range(depth):
        tree = {"a": tree} if depth % 2 else [tree]
    return tree


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        (nested(3_001), "{} is nested more than 64 levels deep."),
        (nested(3_000), "{} is nested more than 64 levels deep."),
        (2**64, "{} holds a number of more than 64 bits at gateway."),
        (-(2**63) - 1, "{} holds a number of more than 64 bits at gateway."),
        ([10**5_000], "{} holds a number of more than 64 bits at gateway[]."),
        (float("inf"), "{} holds a number that is not finite at gateway."),
        (float("nan"), "{} holds a number that is not finite at gateway."),
        ("\udfff", "{} holds half a character at gateway."),
        ({"a": {"\ud83e b": 1}}, "{} holds half a character at gateway.a."),
    ],
    ids=["deep", "deep lists", "large", "small", "huge", "infinite", "no number", "half", "half a key"],
)
def test_what_no_file_can_hold_is_one_sentence(value: Json, sentence: str) -> None:
    broken: dict[str, Json] = {"gateway": value}
    calls = {
        "The patch": lambda: patched({}, broken, base_hash=config_hash({})),
        "The new configuration": lambda: replaced({}, broken, base_hash=config_hash({})),
        "The configuration": lambda: config_hash(broken),
    }
    for what, call in calls.items():
        with pytest.raises(ConfigChangeError) as caught:
            call()
        assert str(caught.value) == sentence.format(what)


@pytest.mark.parametrize("patch", [None, [], "tools", 5, True])
def test_a_change_that_is_no_object_is_one_sentence(patch: Json) -> None:
    with pytest.raises(ConfigChangeError, match=r"^The patch has to be a JSON object\.$"):
        patched(CONFIG, patch, base_hash=config_hash(CONFIG))
    with pytest.raises(ConfigChangeError, match=r"^The new configuration has to be a JSON object\.$"):
        replaced(CONFIG, patch, base_hash=config_hash(CONFIG))


def test_a_long_path_costs_no_more_than_its_length() -> None:
    def cost(length: int) -> float:
        start = time.process_time()
        assert parse_path("[" + " " * length) == ()
        return max(time.process_time() - start, 1e-3)

    assert cost(200_000) / cost(20_000) < 60


# What the fuzz test takes for guarded is written down a second time here, as a walk over the values.

TUNING = ("thinkingDefault", "reasoningDefault", "fastModeDefault")


def guarded(config: Json) -> Json:
    """A copy of a configuration without what an agent may write."""
    assert isinstance(config, dict)
    rest: Json = json.loads(json.dumps(config))
    assert isinstance(rest, dict)
    agents, channels, messages = (rest.get(name) for name in ("agents", "channels", "messages"))
    if isinstance(agents, dict):
        roster = agents.get("list")
        for level in (agents.get("defaults"), *(roster if isinstance(roster, list) else ())):
            without(level, *TUNING)
            if isinstance(level, dict):
                without(level.get("subagents"), "thinking")
                drop_empty(level, "subagents")
        for entry in roster if isinstance(roster, list) else ():
            without(entry, "model")
        drop_empty(agents, "defaults")
    drop_mentions(channels, 0)
    if isinstance(messages, dict):
        without(messages, "visibleReplies")
        without(messages.get("groupChat"), "visibleReplies", "unmentionedInbound")
        drop_empty(messages, "groupChat")
    for name in ("agents", "channels", "messages"):
        drop_empty(rest, name)
    return rest


def without(level: Json, *names: str) -> None:
    if isinstance(level, dict):
        for name in names:
            if not isinstance(level.get(name), list) and (name == "model" or not isinstance(level.get(name), dict)):
                level.pop(name, None)


def drop_empty(level: dict[str, Json], name: str) -> None:
    if level.get(name) == {}:
        del level[name]


def drop_mentions(level: Json, depth: int) -> None:
    if not isinstance(level, dict) or depth > 5:
        return
    for name in list(level):
        if name not in ("__proto__", "constructor", "prototype"):
            drop_mentions(level[name], depth + 1)
            drop_empty(level, name)
    if depth:
        without(level, "requireMention")


def agents_of(config: Json) -> list[Json]:
    agents = config.get("agents") if isinstance(config, dict) else None
    roster = agents.get("list") if isinstance(agents, dict) else None
    return roster if isinstance(roster, list) else []


KEYS = [
    "agents", "defaults", "list", "id", "model", "primary", "fallbacks", "thinkingDefault", "subagents", "thinking",
    "tools", "exec", "bash", "ask", "security", "Tools", "tools.exec.ask", "channels", "telegram", "requireMention",
    "messages", "groupChat", "visibleReplies", "__proto__", "constructor", "[]", "0", "", "dangerouslyOpen", "default",
    "workspace", "token",
]  # fmt: skip
VALUES: list[Json] = [
    None, True, False, 0, 1, 2**70, 0.5, float("inf"), "", "off", "pell", "PELL", "\ud83e", [], {}, ["off"],
    [{"id": "pell", "model": "x/y"}], [{"id": "Pell", "workspace": "/"}], [{"id": "tamsin", "thinkingDefault": "off"}],
    [{"id": "new"}], [{"id": ""}], [{"id": "tamsin"}, {"id": "pell"}], [{"id": "pell", "model": {"primary": "z"}}],
    [{"id": "pell", "default": True}], [{"ask": "off"}], {"ask": "off"}, {"ask": None}, {"requireMention": None},
    {"requireMention": {"ask": "off"}}, {"exec": {"security": "none"}}, {"thinking": "high"},
]  # fmt: skip
ANYWHERE = st.sampled_from(KEYS)
PLACES = st.one_of(
    [st.just(("agents", "list"))] * 2
    + [
        st.tuples(*(ANYWHERE if key == "?" else st.just(key) for key in text.split(".")))
        for text in (
            "?", "agents.?", "agents.defaults.?", "agents.defaults.subagents.?", "messages.?", "messages.groupChat.?",
            "channels.?", "channels.?.requireMention", "channels.telegram.?", "channels.?.?.requireMention", "tools.?",
            "tools.bash.?", "tools.exec.?", "?.exec.ask",
        )
    ]
)  # fmt: skip
PATCHES = st.lists(st.tuples(PLACES, st.sampled_from(VALUES)), min_size=1, max_size=3)


def put_together(changes: list[tuple[tuple[str, ...], Json]]) -> dict[str, Json]:
    """Make one patch of several places and what goes there."""
    root: dict[str, Json] = {}
    for place, value in changes:
        holder = root
        for key in place[:-1]:
            below = holder.get(key)
            holder[key] = below = below if isinstance(below, dict) else {}
            holder = below
        holder[place[-1]] = copy.deepcopy(value)
    return root


CONFIGS: list[dict[str, Json]] = [CONFIG, {}, {"agents": {"list": [{"id": "Pell"}, {"model": "m"}, 5, {"id": "pell"}]}}]
PATHS = st.lists(st.sampled_from(["agents.list", "tools.bash", "agents[list]", "channels", "["]), max_size=2)


@settings(derandomize=True, deadline=None, max_examples=1_000)
@given(changes=PATCHES, config=st.sampled_from(CONFIGS), replace=PATHS, whole=st.booleans())
def test_a_patch_ends_in_a_refusal_or_changes_nothing_that_is_guarded(
    changes: list[tuple[tuple[str, ...], Json]], config: dict[str, Json], replace: list[str], whole: bool
) -> None:
    before, change = copy.deepcopy(config), put_together(changes)
    refusal, after = "", before
    try:
        if whole:
            after = replaced(config, {**copy.deepcopy(config), **change}, base_hash=config_hash(config))
        else:
            after = patched(config, change, base_hash=config_hash(config), replace=replace)
    except ConfigChangeError as error:
        refusal = str(error)
    assert config == before
    assert refusal == "" or (refusal.endswith(".") and refusal.isprintable())
    old, new = agents_of(before), agents_of(after)
    known = {str(each.get("id")).lower() for each in old if isinstance(each, dict)}
    for entry in new[len(old) :]:
        assert old
        assert isinstance(entry, dict)
        assert isinstance(entry.get("id"), str)
        assert entry["id"] not in {"", *known}
        assert set(entry) <= {"id", "model", "subagents", *TUNING}
    roster = after.get("agents")
    if isinstance(roster, dict) and isinstance(roster.get("list"), list):
        roster["list"] = new[: len(old)]
    assert guarded(after) == guarded(before)
