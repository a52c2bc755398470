"""What we ask the app-server besides turns: to look at threads, to sign in, to list models.

Apart from `codex_bridge.wire.requests`, so that who only runs turns does not load it. Spelling is checked likewise.
"""

from typing import Annotated, Any, Literal

from pydantic import Field

from codex_bridge.wire.base import Method, OrElse, RawObject, Received, Sent, Variant, known
from codex_bridge.wire.items import Item
from codex_bridge.wire.requests import ApprovalPolicy, Empty, SandboxMode, Thread, ThreadOpened, Turn

# threads


class ThreadReadParams(Sent):
    """Look at a thread without loading it."""

    thread_id: str
    include_turns: bool | None = None


class ThreadRead(Received):
    """Answer to thread/read."""

    thread: Thread


class TurnsListParams(Sent):
    """Look at the turns of a thread, the last one first, without loading it."""

    thread_id: str
    limit: int
    items_view: Literal["full"] | None = None
    """Without it each turn comes with the message that it began with and its last answer; one that only summarised the
    thread with nothing."""


class TurnsListed(Received):
    """Answer to thread/turns/list."""

    data: tuple[Turn, ...] = ()


class ItemsListParams(Sent):
    """Look at the items of a turn without loading its thread."""

    thread_id: str
    turn_id: str
    limit: int
    sort_direction: Literal["asc", "desc"]
    cursor: str | None = None


class ListedItem(Received):
    """An item, and beside it which turn it belongs to."""

    item: Item


class ItemsListed(Received):
    """Answer to thread/items/list; without a cursor nothing comes after these."""

    data: tuple[ListedItem, ...] = ()
    next_cursor: str | None = None


class ThreadForkParams(Variant):
    """Make a thread that begins with what another one holds. `developer_instructions` must be sent or they are lost."""

    thread_id: str
    model: str | None = None
    cwd: str | None = None
    approval_policy: ApprovalPolicy | None = None
    sandbox: SandboxMode | None = None
    config: RawObject | None = None
    developer_instructions: str | None = None
    exclude_turns: Literal[True] = True


class ThreadUnsubscribeParams(Sent):
    """Stop following a thread; the server unloads it after a while."""

    thread_id: str


class ThreadCompactParams(Sent):
    """Put a summary in place of what a loaded thread holds; a turn that runs on it is interrupted for that."""

    thread_id: str


class ThreadUnsubscribed(Received):
    """Answer to thread/unsubscribe."""

    status: Annotated[str, known("unsubscribed", "notSubscribed", "notLoaded")] = ""


# account and models


class LoginParams(Sent):
    """Begin to sign in, one of three ways. `api_key` goes with the way of that name only."""

    type: Literal["apiKey", "chatgpt", "chatgptDeviceCode"]
    api_key: str | None = Field(default=None, repr=False)


class LoginStarted(Received):
    """Answer to account/login/start. An API key is signed in at once; the others wait for the person."""

    type: Annotated[str, known("apiKey", "chatgpt", "chatgptDeviceCode")]
    login_id: str | None = None
    auth_url: str | None = None
    verification_url: str | None = None
    user_code: str | None = None


class LoginCancelParams(Sent):
    """Give up a sign-in that waits for the person."""

    login_id: str


class ModelListParams(Sent):
    """Ask for the models of the account."""

    cursor: str | None = None
    include_hidden: bool | None = None


class Model(Received):
    """One model of the catalogue."""

    id: str
    model: str = ""
    display_name: str = ""
    is_default: bool = False
    hidden: bool = False
    default_reasoning_effort: str | None = None


class ModelList(Received):
    """Answer to model/list."""

    data: tuple[Model, ...] = ()
    next_cursor: str | None = None


# limits


class LimitWindow(Received):
    """How much of a limit is used, and when it begins anew, in Unix seconds."""

    used_percent: float = 0.0
    resets_at: int | None = None
    window_duration_mins: int | None = None
    """Over how long it is counted."""


class SpendLimit(Received):
    """What is left of a limit on spending."""

    remaining_percent: float = 100.0
    resets_at: int | None = None


class AccountLimits(Received):
    """The limits of the account, those that the provider states."""

    primary: Annotated[LimitWindow | None, OrElse(None)] = None
    secondary: Annotated[LimitWindow | None, OrElse(None)] = None
    individual_limit: Annotated[SpendLimit | None, OrElse(None)] = None


class LimitsReadParams(Sent):
    """Ask for the limits of the account, which asks the provider."""


class LimitsTold(Received):
    """The limits of the account, as an answer and as a notification."""

    rate_limits: AccountLimits


THREAD_FORK = Method("thread/fork", ThreadForkParams, ThreadOpened)
TURNS_LIST = Method("thread/turns/list", TurnsListParams, TurnsListed)
NO_TURNS = -32601
"""Code by which the server says that a thread has no turns to tell of (protocol reference, section 1)."""
THREAD_READ = Method("thread/read", ThreadReadParams, ThreadRead)
THREAD_COMPACT = Method("thread/compact/start", ThreadCompactParams, Empty)
"""Answered at once; what comes of it is told as of a turn."""
ITEMS_LIST = Method("thread/items/list", ItemsListParams, ItemsListed)
THREAD_UNSUBSCRIBE = Method("thread/unsubscribe", ThreadUnsubscribeParams, ThreadUnsubscribed)
LOGIN_START = Method("account/login/start", LoginParams, LoginStarted)
LOGIN_CANCEL = Method("account/login/cancel", LoginCancelParams, Empty)
MODEL_LIST = Method("model/list", ModelListParams, ModelList)
LIMITS_READ = Method("account/rateLimits/read", LimitsReadParams, LimitsTold)

METHODS: tuple[Method[Any, Any], ...] = (
    THREAD_COMPACT,
    THREAD_FORK,
    THREAD_READ,
    TURNS_LIST,
    ITEMS_LIST,
    THREAD_UNSUBSCRIBE,
    LOGIN_START,
    LOGIN_CANCEL,
    MODEL_LIST,
    LIMITS_READ,
)
"""Every method of this module."""
