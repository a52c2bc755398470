"""No credential that has a known form, or whose value is known, is left in a text that we show."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.masking import MASK, Hidden, mask, masked

LETTERS = "AbCdEfGhIjKlMnOpQrStUvWxYz0123456789"
TELEGRAM = "123456789:" + LETTERS[:35]
DISCORD = f"M{LETTERS[:25]}.{LETTERS[:6]}.{LETTERS[:30]}"
JWT = f"eyJhbGciOiJIUzI1NiJ9.{LETTERS}.{LETTERS[:20]}_-x"

CREDENTIALS = {
    "OpenAI key": f"sk-{LETTERS}",
    "OpenAI project key": f"sk-proj-{LETTERS}_{LETTERS}",
    "Anthropic key": f"sk-ant-api03-{LETTERS}",
    "JWT": JWT,
    "JWT without a signature": "eyJhbGciOiJub25lIn0.eyJzdWIiOiIxIn0.",
    "Telegram token": TELEGRAM,
    "Discord token": DISCORD,
    "Slack bot token": "xoxb-1234567890-0987654321-AbCdEfGhIjKl",
    "Slack user token": "xoxp-1234567890-AbCdEfGhIjKl",
    "Slack app token": "xapp-1-A0123456789-1234567890-abcdef",
    "GitHub token": f"ghp_{LETTERS}",
    "GitHub server token": f"ghs_{LETTERS}",
    "GitHub fine-grained token": f"github_pat_{LETTERS}_{LETTERS}",
}


@pytest.mark.parametrize("secret", CREDENTIALS.values(), ids=CREDENTIALS)
@pytest.mark.parametrize("frame", ["{}", "key={} used", '{{"token":"{}"}}', "({})", "<{}>\n", "a, {}, b", "'{}'"])
def test_a_credential_of_a_known_form_is_masked_and_the_rest_is_kept(secret: str, frame: str) -> None:
    assert mask(frame.format(secret)) == frame.format(MASK)


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        (f"GET https://api.telegram.org/bot{TELEGRAM}/getMe", f"GET https://api.telegram.org/bot{MASK}/getMe"),
        (
            f"https://api.telegram.org/file/bot{TELEGRAM}/photos/file_7.jpg",
            f"https://api.telegram.org/file/bot{MASK}/photos/file_7.jpg",
        ),
        ("Authorization: Bearer abc.def-123", f"Authorization: Bearer {MASK}"),
        ("authorization: bearer  abcdef", f"authorization: bearer  {MASK}"),
        (f"Bearer {JWT}", f"Bearer {MASK}"),
        (f"Bearer sk-{LETTERS}!", f"Bearer {MASK}!"),
        ("Proxy-Authorization: Basic dXNlcjpwYXNzd29yZA==", f"Proxy-Authorization: Basic {MASK}"),
        ("proxy http://keeper:lamp@proxy.example:3128/ down", f"proxy http://{MASK}@proxy.example:3128/ down"),
        ("via socks5h://keeper:l@mp@[::1]:1080, then", f"via socks5h://{MASK}@[::1]:1080, then"),
        ('{"url":"wss://token@example.org"}', f'{{"url":"wss://{MASK}@example.org"}}'),
        (f"two: sk-{LETTERS} {DISCORD}", f"two: {MASK} {MASK}"),
    ],
)
def test_a_credential_in_an_address_or_a_header_is_masked(text: str, masked: str) -> None:
    assert mask(text) == masked


@pytest.mark.parametrize(
    "text",
    [
        "",
        "nothing of interest, line after line",
        "the task-force-of-ten met at 12:30:45 on disk-encryption",
        "sk-1 is too short, and so is eyJ.a.b",
        "2031-05-06T07:08:09.123456Z  INFO codex_core: turn 019f3b2c-6a1e-7d10-9c35-3f6f7f6f0b11 ended",
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "https://example.org/bots/manual?page=2",
        "https://example.org/@keeper and mail to keeper@example.org",
        "https://example.org?to=keeper@example.org",
        "see https://example.org or write to keeper@example.org",
        "a bearer of news",
        f"Bearer {MASK}",
    ],
)
def test_ordinary_words_are_left_alone(text: str) -> None:
    assert mask(text) == text


@pytest.mark.parametrize("secret", ["hunter2-hunter2", "пароль-от-почты", "a b c d e f g h", "(.*)+[a-z]{9}"])
def test_a_value_that_we_held_back_is_masked_wherever_it_stands(secret: str) -> None:
    assert mask(f"x{secret}y {secret}", [secret]) == f"x{MASK}y {MASK}"


def test_a_short_value_is_not_masked_since_it_would_hide_ordinary_words() -> None:
    assert mask("the port is 8080", ["8080", "the", ""]) == "the port is 8080"


def test_a_value_that_begins_with_another_one_is_masked_whole() -> None:
    """A gateway has its bot's id and its token in the environment, and the one begins the other."""
    assert mask(f"token {TELEGRAM}", ["123456789", TELEGRAM]) == f"token {MASK}"


PLAIN = st.text(st.characters(codec="utf-8", exclude_characters="*"), max_size=20)
SECRETS = st.text(st.characters(codec="utf-8", exclude_characters="*"), min_size=8, max_size=40)


@given(secrets=st.lists(SECRETS, min_size=1, max_size=5), between=st.lists(PLAIN, min_size=6, max_size=6))
def test_no_long_secret_value_survives(secrets: list[str], between: list[str]) -> None:
    text = "".join(word for pair in zip(between, [*secrets, *secrets], strict=False) for word in pair)
    masked = mask(text, secrets)
    assert not [secret for secret in secrets if secret in masked]


@given(st.text(), st.lists(st.text(max_size=12), max_size=4))
def test_masking_again_changes_nothing(text: str, secrets: list[str]) -> None:
    once = mask(text)
    assert mask(once) == once
    mask(text, secrets)  # whatever the values are, it does not raise


def test_what_is_hidden_can_be_looked_at() -> None:
    text = "https://pell:hunter-two@example.org basic abcdef12 and pass-word and pass-word"
    assert masked(text, ["pass-word"]) == (
        "https://***@example.org basic *** and *** and ***",
        [
            *[Hidden("pass-word")] * 2,
            Hidden("abcdef12"),
            Hidden("pell:hunter-two", in_address=True),
        ],
    )
