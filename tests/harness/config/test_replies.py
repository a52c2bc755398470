import pytest

from harness.config import Surroundings, WrongValue, gpt5_personality, read_config, silent_reply
from harness.config.replies import Conversation

REPLIES = """{
  agents: {defaults: {silentReply: {group: "disallow", internal: "disallow", direct: "allow"}}},
  surfaces: {discord: {silentReply: {group: "allow", direct: "allow"}}, slack: {}},
}"""


@pytest.mark.parametrize(
    ("surface", "conversation", "permission"),
    [
        ("discord", "direct", "disallow"),
        ("discord", "group", "allow"),
        ("discord", "internal", "disallow"),
        ("slack", "group", "disallow"),
        ("telegram", "group", "disallow"),
    ],
)
def test_a_surface_decides_for_itself_but_a_direct_chat_is_always_answered(
    machine: Surroundings, surface: str, conversation: Conversation, permission: str
) -> None:
    values = read_config(REPLIES, machine).values

    assert silent_reply(values, surface=surface, conversation=conversation) == permission


@pytest.mark.parametrize(
    ("conversation", "permission"), [("direct", "disallow"), ("group", "allow"), ("internal", "allow")]
)
def test_without_a_word_only_direct_chats_forbid_silence(
    machine: Surroundings, conversation: Conversation, permission: str
) -> None:
    values = read_config("", machine).values

    assert silent_reply(values, surface="telegram", conversation=conversation) == permission


@pytest.mark.parametrize(
    ("overlay", "plugin", "provider", "personality"),
    [
        (None, None, None, "friendly"),
        ("off", "friendly", "openai", "off"),
        ("on", "off", "openai", "friendly"),
        ("friendly", None, "anthropic", "friendly"),
        (None, " OFF ", None, "off"),
        (None, "off", "codex", "off"),
        (None, "off", "anthropic", "friendly"),
        (None, "grumpy", "openai", "friendly"),
        ("grumpy", "off", "openai", "off"),
    ],
)
def test_the_gpt5_tone_is_the_overlays_then_the_openai_plugins_then_friendly(
    machine: Surroundings, overlay: str | None, plugin: str | None, provider: str | None, personality: str
) -> None:
    """S10: `agents.defaults.promptOverlays.gpt5.personality` is friendly, on or off."""
    gpt5 = f"{{personality: '{overlay}'}}" if overlay else "{}"
    config = f"{{personality: '{plugin}'}}" if plugin else "{}"
    text = f"""{{
      agents: {{defaults: {{promptOverlays: {{gpt5: {gpt5}}}}}}},
      plugins: {{entries: {{openai: {{config: {config}}}}}}},
    }}"""

    assert gpt5_personality(read_config(text, machine).values, provider) == personality


@pytest.mark.parametrize(
    ("written", "found"),
    [('"rude"', '"rude"'), ("5", "5"), ("[]", "a list"), ("true", "true"), ('" Friendly "', None), ("null", None)],
)
def test_a_tone_of_the_openai_plugin_that_there_is_not_is_named(
    machine: Surroundings, written: str, found: str | None
) -> None:
    text = f"{{plugins: {{entries: {{openai: {{config: {{personality: {written}}}}}}}}}}}"
    place, allowed = "plugins.entries.openai.config.personality", '"friendly", "on" or "off"'
    wrong = [] if found is None else [WrongValue(place, found, allowed, '"friendly" is used')]
    assert list(read_config(text, machine).findings) == wrong
