"""What an agent may change of the gateway's configuration (S18, prompt-builder 11.8)."""

import copy

import pytest

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
    ],
)
def test_a_path_has_one_spelling(text: str, path: str) -> None:
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
    "an agent without an id": ({"agents": {"list": [{"model": "a/b"}]}}, "agents.list"),
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
    "a key that looks like an element": ({"agents": {"more": {"[]": {"model": "x"}}}}, 'agents.more.["[]"].model'),
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
