"""What is told of a failed turn; every error is one of both pinned binaries unless its row says otherwise."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codex_bridge.turn_errors import KINDS, OTHER, Told, kind_of, tell
from codex_bridge.wire.besides import AccountLimits
from codex_bridge.wire.requests import TurnError
from harness.turns import Failure
from tests.support.overflows import OVERFLOWS
from tests.support.values import json_values

NOW = 1_893_456_000.0
"""2030-01-01 00:00 UTC."""
BROKE_OFF = "stream disconnected before completion: "
LIMIT = "You\u2019ve hit your usage limit."
REACHED = "The account's usage limit is reached."
ADDRESS = ", url: http://127.0.0.1:39085/v1/responses, cf-ray: 8f2, request id: req_7"


def error(info: object, message: str = "") -> TurnError:
    return TurnError.model_validate({"message": message, "codexErrorInfo": info})


def told(info: object, message: str = "", *, zone: str = "", limits: AccountLimits | None = None) -> Told:
    return tell(error(info, message), login="log in", now=NOW, zone=zone, limits=limits)


def status(code: int | None) -> object:
    return {"httpConnectionFailed": {"httpStatusCode": code}}


PICTURES = (
    '{"error":{"message":"The image data you provided does not represent a valid image. Please check your input."}}',
    '{"error":{"message":"messages.12.content.3: Could not process image","type":"invalid_request_error"}}',
    """{"error":{"message":"Invalid 'input[5].content[0].image_url'. Expected a base64-encoded data URL."}}""",
    "Unsupported image type, must be one of png, jpeg, gif, webp.",
    "This model does not support image inputs.",
    "No endpoints found that support image input",
    "image_url is only supported by certain models",
    "Failed to decode image: unexpected end of file",
    "The image could not be loaded.",
    "invalid base64 data",
)
NO_PICTURES = (
    "Failed to generate the image that was asked for.",
    "The image model is busy.",
    "An invalid request. Images were not looked at.",
    "Something else went wrong.",
)


@pytest.mark.parametrize(
    ("info", "message", "failure"),
    [
        ("contextWindowExceeded", "Codex ran out of room in the model's context window.", Failure.CONTEXT),
        # 0.163 passes the provider's body on.
        ("other", '{"error":{"code":"context_length_exceeded","message":"Too much."}}', Failure.CONTEXT),
        *(("other", words, Failure.CONTEXT) for words in OVERFLOWS),
        ("other", "Rate limit reached: too many tokens per min (TPM) for this model.", Failure.RATE_LIMIT),
        ("other", "You exceeded your current quota of input tokens; context length 8192.", Failure.USAGE_LIMIT),
        (status(413), "unexpected status 413 Payload Too Large: no", Failure.CONTEXT),
        (status(500), "the context window of a crash", Failure.OUTAGE),
        ("usageLimitExceeded", f"{LIMIT} Try again later.", Failure.USAGE_LIMIT),
        ("usageLimitExceeded", "Quota exceeded. Check your plan and billing details.", Failure.USAGE_LIMIT),
        ({"responseTooManyFailedAttempts": {"httpStatusCode": 429}}, "exceeded retry limit", Failure.RATE_LIMIT),
        ("rateLimitExceeded", "rate limit exceeded: slow", Failure.RATE_LIMIT),
        ("serverOverloaded", "Selected model is at capacity. Please try a different model.", Failure.OVERLOADED),
        (status(503), "unexpected status 503 Service Unavailable: no", Failure.OVERLOADED),
        (status(529), "unexpected status 529 <unknown status code>: over", Failure.OVERLOADED),
        ("internalServerError", "We\u2019re currently experiencing high demand.", Failure.PROVIDER),
        (status(502), "unexpected status 502 Bad Gateway: no", Failure.OUTAGE),
        (status(None), "Connection failed: error sending request", Failure.OUTAGE),
        ("other", "Connection failed: error sending request", Failure.OUTAGE),
        ("other", f"{BROKE_OFF}Transport error: network error: error decoding response body", Failure.OUTAGE),
        ("other", f"{BROKE_OFF}stream closed before response.completed", Failure.OUTAGE),
        ("other", f"{BROKE_OFF}idle timeout waiting for SSE", Failure.OUTAGE),
        ("other", f"{BROKE_OFF}response.failed event received", Failure.OUTAGE),
        ("other", f"{BROKE_OFF}An error occurred; include the request ID 12ab.", Failure.PROVIDER),
        ("other", "Incomplete response returned, reason: max_output_tokens", Failure.LENGTH),
        ("other", f"{BROKE_OFF}Incomplete response returned, reason: content_filter", Failure.POLICY),
        ("unauthorized", "Your access token could not be refreshed.", Failure.LOGIN),
        ("other", "Failed to refresh token: 500 Internal Server Error", Failure.LOGIN),
        ("other", "Missing environment variable: `LAB_KEY`.", Failure.LOGIN),
        (status(401), "unexpected status 401 Unauthorized: bad key", Failure.LOGIN),
        (status(402), "unexpected status 402 Payment Required: pay", Failure.USAGE_LIMIT),
        (status(404), "unexpected status 404 Not Found: The model `x` does not exist", Failure.MODEL),
        ("modelNotFound", "The model `x` does not exist or you do not have access to it.", Failure.MODEL),
        ("other", '{"detail":"The \'x\' model is not supported when using Codex with an account."}', Failure.MODEL),
        ("other", '{"error":{"message":"Unsupported parameter","code":"unsupported_parameter"}}', Failure.REQUEST),
        (status(422), "unexpected status 422 Unprocessable Entity: no", Failure.REQUEST),
        ("badRequest", "Invalid image in your last message. Please remove it and try again.", Failure.IMAGE),
        *(("other", words, Failure.IMAGE) for words in PICTURES),
        (status(422), "unexpected status 422 Unprocessable Entity: could not process image", Failure.IMAGE),
        (status(500), "unexpected status 500: could not process image", Failure.OUTAGE),
        *(("other", words, Failure.OTHER) for words in NO_PICTURES),
        ("cyberPolicy", "no", Failure.POLICY),
        ("other", "failed to write: No space left on device (os error 28)", Failure.DISK),
        ("other", "no", Failure.OTHER),
        ("brandNew", "", Failure.OTHER),
        ("brandNew", "Rate limit reached.", Failure.RATE_LIMIT),
        ({"brandNew": {}}, "", Failure.OTHER),
        ({"brandNew": 7}, "", Failure.OTHER),
        ({"httpConnectionFailed": 7}, "", Failure.OUTAGE),
        ({}, "", Failure.OTHER),
        (7, "", Failure.OTHER),
        (None, "", Failure.OTHER),
    ],
)
def test_a_failed_turn_is_told_apart_by_name_status_and_words(info: object, message: str, failure: Failure) -> None:
    assert kind_of(error(info, message)).failure is failure


def test_no_error_at_all_is_told_as_what_it_is() -> None:
    assert tell(None, login="log in", now=NOW) == Told(Failure.OTHER, OTHER.sentence)


@pytest.mark.parametrize(
    ("info", "message"),
    [
        (None, '{"detail":"model x not supported"}'),
        (status(404), f"unexpected status 404 Not Found: {{...}}{ADDRESS}"),
        ("other", '{"error":{"message":"no such thing: {\\"x\\": 1}","request_id":"req_7"}}'),
        ("other", f"{BROKE_OFF}An error occurred while processing your request req_7. See https://help.example/x"),
        ("usageLimitExceeded", f"{LIMIT} Upgrade to Pro (https://chatgpt.com/explore/pro) or try again at 8:52 AM."),
        ("usageLimitExceeded", "To use Codex with your ChatGPT plan, upgrade: https://chatgpt.com/explore/plus."),
    ],
)
def test_t08_d_nothing_of_the_providers_reaches_the_sentence(info: object, message: str) -> None:
    """G7: no JSON, no address, no path, no request id."""
    sentence = told(info, message).sentence
    assert not any(sign in sentence for sign in ("{", "}", "://", "req_", "/v1", "`x`", "Pro"))
    assert sentence.endswith(".")
    assert len(sentence) < 150


INFOS = json_values(st.none() | st.integers() | st.text(max_size=6), st.sampled_from([*KINDS, "x"]), most=3)


@given(info=INFOS, message=st.text())
def test_whatever_an_error_holds_it_has_a_class_and_a_sentence_of_ours(info: object, message: str) -> None:
    found = tell(error(info, message), login="log in", now=NOW)
    assert found.failure in Failure
    assert found.sentence.endswith(".")
    assert "{" not in found.sentence


@pytest.mark.parametrize("name", sorted(KINDS))
def test_each_name_has_one_short_sentence_for_a_person(name: str) -> None:
    sentence = KINDS[name].sentence
    assert sentence[0].isupper()
    assert sentence.endswith(".")
    assert len(sentence) <= 100


def test_a_login_that_is_over_names_the_command_that_renews_it() -> None:
    assert told("unauthorized").sentence == "The login has expired; sign in again with `log in`."
    assert told("other", "Failed to refresh token: 500").sentence == (
        "The login has expired or is not accepted; sign in again with `log in`."
    )


def limits(primary: object = None, secondary: object = None, spending: object = None) -> AccountLimits:
    return AccountLimits.model_validate({"primary": primary, "secondary": secondary, "individualLimit": spending})


def window(used: float, resets_at: float | None) -> object:
    return {"usedPercent": used, "resetsAt": None if resets_at is None else int(resets_at), "windowDurationMins": 300}


@pytest.mark.usefixtures("in_utc")
@pytest.mark.parametrize(
    ("message", "stated", "when", "retry_at"),
    [
        (f"{LIMIT} Try again later.", None, "", None),
        (f"{LIMIT} Try again at 1:02 AM.", None, "in 1 h 3 min, at 02:03 (Europe/Berlin)", NOW + 3_780),
        (
            f"{LIMIT} Visit https://chatgpt.com/settings/usage or try again at Jan 4th, 2030 8:52 PM.",
            None,
            "in 3 d 20 h, on 2030-01-04 at 21:53 (Europe/Berlin)",
            NOW + 3 * 86_400 + 20 * 3_600 + 53 * 60,
        ),
        (  # the limits know the second
            f"{LIMIT} Try again at 1:02 AM.",
            limits(window(100, NOW + 3_747), window(40, NOW + 400_000)),
            "in 1 h 2 min, at 02:02 (Europe/Berlin)",
            NOW + 3_747,
        ),
        (  # and of several limits the words know which one it is
            f"{LIMIT} Try again at 1:02 AM.",
            limits(window(100, NOW + 90_000)),
            "in 1 h 3 min, at 02:03 (Europe/Berlin)",
            NOW + 3_780,
        ),
        (
            f"{LIMIT} To get more access now, send a request to your admin or try again later.",
            limits(window(100, NOW + 60), window(100, NOW + 7_200)),
            "in 2 h, at 03:00 (Europe/Berlin)",
            NOW + 7_200,
        ),
        (
            LIMIT,
            limits(window(99, NOW + 60), spending={"remainingPercent": 0, "resetsAt": int(NOW) + 90}),
            "in 90 s",
            NOW + 90,
        ),
        (LIMIT, limits(window(99, NOW + 60), window(100, NOW - 60)), "", None),
        (LIMIT, limits(window(100, None)), "", None),
    ],
)
def test_a_usage_limit_says_when_it_is_lifted(
    message: str, stated: AccountLimits | None, when: str, retry_at: float | None
) -> None:
    sentence = f"{REACHED} It is lifted {when}." if when else REACHED
    found = told("usageLimitExceeded", message, zone="Europe/Berlin", limits=stated)
    assert found == Told(Failure.USAGE_LIMIT, sentence, retry_at)


def test_a_limit_that_no_time_lifts_says_what_does() -> None:
    stated = limits(window(100, NOW + 60))
    quota = told("usageLimitExceeded", "Quota exceeded. Check your plan and billing details.", limits=stated)
    assert quota == Told(Failure.USAGE_LIMIT, "The account's quota is used up; check its plan and billing.")


@pytest.mark.usefixtures("in_utc")
@pytest.mark.parametrize("zone", ["", "Nowhere/Atlantis"])
def test_without_a_time_zone_the_time_is_told_in_utc_and_says_so(zone: str) -> None:
    sentence = told("usageLimitExceeded", f"{LIMIT} Try again at 1:02 AM.", zone=zone).sentence
    assert sentence == f"{REACHED} It is lifted in 1 h 3 min, at 01:03 (UTC)."


def test_a_rate_limit_says_when_to_try_again() -> None:
    slow = "rate limit exceeded: Rate limit reached for the model. Please try again in"
    asks = "The model provider asks for a slower pace; please try again"
    soon = told("rateLimitExceeded", f"{slow} 1.5s.")
    late = told("rateLimitExceeded", f"{slow} 20m.")
    assert soon == Told(Failure.RATE_LIMIT, f"{asks} in 2 s.", NOW + 1.5)
    assert late == Told(Failure.RATE_LIMIT, f"{asks} in 20 min, at 00:20 (UTC).", NOW + 1_200)
    assert told("rateLimitExceeded", "rate limit exceeded: slow").retry_at is None


@pytest.mark.parametrize("at", [int(NOW) * 1_000, 10**20, 10**400])
def test_a_moment_that_no_calendar_holds_is_not_told_and_ends_nothing_but_the_turn(at: int) -> None:
    """Such as one in milliseconds: an error here would cost the turn its end."""
    assert told("usageLimitExceeded", LIMIT, limits=limits(window(100, at))) == Told(Failure.USAGE_LIMIT, REACHED)


def test_words_that_name_such_a_moment_are_not_believed_either() -> None:
    never = f"{LIMIT} Try again at Dec 31st, 9999 11:59 PM."
    assert told("usageLimitExceeded", never, zone="Pacific/Auckland") == Told(Failure.USAGE_LIMIT, REACHED)
    slow = told("rateLimitExceeded", "Please try again in 999999999999 s.", zone="Pacific/Auckland")
    assert slow == Told(Failure.RATE_LIMIT, "The model provider asks for a slower pace; please try again shortly.")
