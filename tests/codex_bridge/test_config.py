from dataclasses import replace
from pathlib import Path

import pytest

from codex_bridge.capabilities import Stated
from codex_bridge.config import PATH, AppServer, CodexConfig, binary_path, thread_settings, variable_problems
from codex_bridge.params import ThreadSettings
from harness.config import Surroundings, describe, read_config
from harness.plain import plain_settings
from harness.projection import LONGEST
from harness.settings.agent import ModelSettings, SearchSettings, ToolSettings
from harness.store.transcript import TranscriptLimits


def read(text: str) -> tuple[CodexConfig, list[str]]:
    """The Codex part of a configuration whose subtree is `text`, and what was found wrong with it."""
    whole = f"{{plugins: {{entries: {{codex: {{config: {text}}}}}}}}}"
    config = read_config(whole, Surroundings(home=Path("/home/orrin")), sections={PATH: CodexConfig})
    return config.section(PATH, CodexConfig), [describe(finding) for finding in config.findings]


def test_an_empty_subtree_is_every_default() -> None:
    assert read("{}") == (CodexConfig(), [])
    assert CodexConfig().app_server == AppServer()


@pytest.mark.parametrize(
    ("text", "environ", "settings"),
    [
        ("{}", {}, ThreadSettings("workspace-write", "on-request")),
        ("{appServer: {mode: 'yolo'}}", {}, ThreadSettings("danger-full-access", "never")),
        ("{appServer: {mode: 'guardian'}}", {}, ThreadSettings("workspace-write", "on-request")),
        ("{appServer: {mode: 'yolo', sandbox: 'read-only'}}", {}, ThreadSettings("read-only", "never")),
        ("{appServer: {approvalPolicy: 'untrusted'}}", {}, ThreadSettings("workspace-write", "untrusted")),
        ("{appServer: {subagents: false}}", {}, ThreadSettings(subagents=False)),
        ("{appServer: {onInstructionChange: 'rotate'}}", {}, ThreadSettings(on_change="rotate")),
        ("{continuity: {projectionChars: 900}}", {}, ThreadSettings(projection=900)),
        ("{appServer: {approvalsReviewer: 'auto_review'}}", {}, ThreadSettings(reviewer="auto_review")),
        ("{appServer: {serviceTier: 'flex'}}", {}, ThreadSettings(service_tier="flex")),
        ("{appServer: {serviceTier: 'fast'}}", {}, ThreadSettings(service_tier="priority")),
        ("{appServer: {sandbox: 'read-only'}}", {"MODE": "yolo"}, ThreadSettings("read-only", "never")),
        ("{}", {"SANDBOX": "danger-full-access", "APPROVAL_POLICY": "never"},
         ThreadSettings("danger-full-access", "never")),
        ("{}", {"SANDBOX": "roomy", "MODE": "wild"}, ThreadSettings("workspace-write", "on-request")),
    ],
)  # fmt: skip
def test_presets_keys_and_variables_settle_what_threads_may_do(
    text: str, environ: dict[str, str], settings: ThreadSettings
) -> None:
    config, findings = read(text)
    named = {f"OPENCLAW_CODEX_APP_SERVER_{name}": value for name, value in environ.items()}
    assert (thread_settings(config, named), findings) == (settings, [])


@pytest.mark.parametrize(("fast", "tier"), [(None, "flex"), (True, "priority"), (False, "")])
def test_an_agents_own_word_on_speed_counts_before_the_service_tier(fast: bool | None, tier: str) -> None:
    config, _ = read("{appServer: {serviceTier: 'flex'}}")
    agent = replace(plain_settings(Path("/w")), models=ModelSettings(fast_mode=fast))
    assert thread_settings(config, {}, agent) == ThreadSettings(service_tier=tier)


@pytest.mark.parametrize(
    ("search", "config"),
    [
        (SearchSettings(), {}),
        (SearchSettings(enabled=False, mode="live"), {"web_search": "disabled"}),
        (
            SearchSettings(
                mode="cached", allowed_domains=("a.example",), context_size="low", location={"city": "Bari"}
            ),
            {
                "web_search": "cached",
                "tools.web_search.allowed_domains": ["a.example"],
                "tools.web_search.context_size": "low",
                "tools.web_search.location": {"city": "Bari"},
            },
        ),
    ],
)
def test_the_web_is_searched_as_the_agent_may(search: SearchSettings, config: dict[str, object]) -> None:
    agent = replace(plain_settings(Path("/w")), tools=ToolSettings(search=search))
    assert thread_settings(CodexConfig(), {}, agent) == ThreadSettings(search=config)


def test_what_the_gateway_wants_free_of_a_window_stays_free() -> None:
    agent = replace(plain_settings(Path("/w")), reserve_tokens=20_000)
    assert thread_settings(CodexConfig(), {}, agent) == ThreadSettings(reserve_tokens=20_000)


def test_a_wish_about_codex_that_does_nothing_is_named_and_a_limit_that_is_not_kept_is_refused() -> None:
    _, findings = read(
        """{appServer: {networkProxy: {allow: ['a.example']}, args: ['app-server'], codeModeOnly: false},
            sessionCatalog: {enabled: true}, computerUse: {enabled: true}}"""
    )
    assert findings == [
        f"{PATH}.computerUse is set and not served yet: the agent does not use the screen.",
        f"{PATH}.appServer.args is set and not served yet: "
        "the arguments are the bridge's; settings go into config.toml of the home.",
        f"{PATH}.appServer.networkProxy is set and cannot be kept yet, so no turn starts: no proxy would hold the "
        "commands back; without it the sandboxes read-only and workspace-write keep them off the network.",
    ]


def test_what_is_kept_of_a_chat_is_bounded_by_the_configuration() -> None:
    config, findings = read("{continuity: {maxExchanges: 3, maxTextChars: 500}}")
    assert (config.continuity.limits, findings) == (TranscriptLimits(3, 500), [])
    assert CodexConfig().continuity.limits == TranscriptLimits()
    config, findings = read("{continuity: {projectionChars: 90000, maxExchanges: -1}}")
    assert (config.continuity.projection_chars, config.continuity.max_exchanges, len(findings)) == (LONGEST, 200, 2)


def test_what_a_server_honours_can_be_stated() -> None:
    config, findings = read(
        "{appServer: {capabilities: {modeText: {'gpt-6-sol': true}, remembersContext: false, additionalContext: false, "
        "untrusted: 'toolOutput', childTools: true, multiAgent: {house: 'v2'}}}}"
    )
    assert (config.app_server.capabilities.stated(), findings) == (
        Stated({"gpt-6-sol": True}, False, False, "toolOutput", True, {"house": "v2"}),
        [],
    )
    assert AppServer().capabilities.stated() == Stated()


def test_one_wrong_key_is_named_and_the_rest_holds() -> None:
    config, findings = read("{appServer: {mode: 'yollo', sandbox: 'read-only', comand: 'codex'}}")
    assert config.app_server.sandbox == "read-only"
    assert findings == [
        "plugins.entries.codex.config.appServer.comand is not a known key; did you mean "
        "plugins.entries.codex.config.appServer.command?",
        'plugins.entries.codex.config.appServer.mode is "yollo", but must be "yolo" or "guardian"; it counts as not '
        "written.",
    ]


def test_the_binary_of_the_variable_comes_before_that_of_the_file() -> None:
    config, _ = read("{appServer: {command: '/opt/codex'}}")
    assert binary_path(config, {}) == Path("/opt/codex")
    assert binary_path(config, {"OPENCLAW_CODEX_APP_SERVER_BIN": "/srv/codex"}) == Path("/srv/codex")
    assert binary_path(CodexConfig(), {}) is None


@pytest.mark.parametrize(
    ("written", "bytes_", "findings"),
    [
        ("", 64 * 1024 * 1024, []),
        ("maxMessageBytes: 2000000", 2_000_000, []),
        (
            "maxMessageBytes: 1000",
            64 * 1024 * 1024,
            [
                "plugins.entries.codex.config.appServer.maxMessageBytes is 1000, but must be a whole number of at "
                "least 1048576; it counts as not written."
            ],
        ),
    ],
)
def test_the_ceiling_of_a_message_is_the_configured_one(written: str, bytes_: int, findings: list[str]) -> None:
    config, found = read(f"{{appServer: {{{written}}}}}")
    assert (config.app_server.max_message_bytes, found) == (bytes_, findings)


def test_a_token_never_shows() -> None:
    config, _ = read("{appServer: {authToken: 'very-secret-token', headers: {x: 'another-secret'}}}")
    assert "secret" not in repr(config)


def test_a_variable_that_does_nothing_is_named() -> None:
    prefix = "OPENCLAW_CODEX_APP_SERVER_"
    environ = {"SANDBOX": "readonly", "MODE": "yolo", "BIN": "codex", "ARGS": "app-server", "APPROVAL_POLICY": ""}
    assert variable_problems({f"{prefix}{name}": value for name, value in environ.items()} | {"MODE": "wild"}) == [
        f"{prefix}ARGS is set and nothing reads it, so unset it.",
        f"{prefix}SANDBOX must be one of read-only, workspace-write, danger-full-access; it counts as not set.",
    ]
