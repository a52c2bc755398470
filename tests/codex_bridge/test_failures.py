"""What the server's refusals mean; every wording was seen on both pinned binaries unless its row says otherwise."""

import pytest

from codex_bridge.errors import (
    BinaryNotFoundError,
    CallTimeoutError,
    CodexError,
    ConnectError,
    ConnectionLostError,
    NotSignedInError,
    OverloadedError,
    RpcError,
)
from codex_bridge.failures import (
    REFUSED,
    RULES,
    Rule,
    Trouble,
    call_failure,
    refusal,
    trouble_of,
)
from harness.errors import StoreError
from harness.turns import Failure

ID = "01a22fb2-64d8-7ea1-8388-3ef194e03bfc"
META = (
    "failed to read thread: thread-store internal error: failed to read session metadata rollout-9.jsonl: "
    "thread-store internal error: failed to read session metadata rollout-9.jsonl: "
)


@pytest.mark.parametrize(
    ("code", "message", "trouble"),
    [
        (-32600, f"no rollout found for thread id {ID}", Trouble.GONE),
        (-32600, f"thread not found: {ID}", Trouble.GONE),
        (-32600, f"thread not loaded: {ID}", Trouble.GONE),
        (-32600, f"invalid paginated history lineage for {ID}: missing source rollout", Trouble.GONE),
        (-32600, f"session {ID} is archived. Run `codex unarchive {ID}` to unarchive it first.", Trouble.GONE),
        (-32600, "invalid session id: invalid character: expected an optional prefix of `urn:uuid:`", Trouble.GONE),
        (-32600, "invalid thread id: invalid character: expected an optional prefix of `urn:uuid:`", Trouble.GONE),
        (-32600, "failed to load configuration: Model provider `nowhere` not found", Trouble.GONE),
        (-32600, "This chat uses model provider “nowhere”, which is no longer configured. Restore it.", Trouble.GONE),
        (-32603, f"{META}rollout at rollout-9.jsonl is empty", Trouble.UNREADABLE),
        (-32603, f"{META}stream did not contain valid UTF-8", Trouble.UNREADABLE),
        (
            -32603,
            "failed to list thread history: thread-store internal error: failed to open thread history database: "
            "error returned from database: (code: 26) file is not a database",
            Trouble.UNREADABLE,
        ),
        (-32603, f"{META}Permission denied (os error 13)", Trouble.DISK),
        (
            -32603,
            "error resuming thread: Fatal error: Failed to initialize session: thread-store internal error: "
            "failed to resume local thread recorder: No space left on device (os error 28)",
            Trouble.DISK,
        ),
        (-32603, "error returned from database: (code: 13) database or disk is full", Trouble.DISK),
        (-32603, "error returned from database: (code: 14) unable to open database file", Trouble.DISK),
        (-32603, "error returned from database: (code: 5) database is locked", Trouble.BUSY),
        (-32603, "failed to submit turn input: ActiveTurnNotSteerable { turn_kind: Compact }", Trouble.BUSY),
        (-32600, "Server is draining; retry after reconnecting", Trouble.BUSY),
        (-32600, "thread 0b1d is closing; retry thread/resume after the thread is closed", Trouble.BUSY),
        (-32600, f"thread {ID} already has an active writer", Trouble.WRITER),
        (-32603, "workspace routing discovery unauthorized (401)", Trouble.LOGIN),
        (
            -32603,
            "Your access token could not be refreshed because your refresh token has expired. "
            "Please log out and sign in again.",
            Trouble.LOGIN,
        ),
        (-32600, "failed to load configuration: unknown variant in `sandbox_mode`", Trouble.OTHER),
        (-32600, "Invalid request: missing field `params`", Trouble.OTHER),
    ],
)
def test_a_refusal_is_told_apart_by_its_words(code: int, message: str, trouble: Trouble) -> None:
    assert trouble_of(RpcError("thread/resume", code, message)) is trouble


@pytest.mark.parametrize(
    ("error", "trouble"),
    [
        (OverloadedError("turn/start", -32001, "Server overloaded; retry later."), Trouble.BUSY),
        (ConnectionLostError("it was killed by SIGKILL"), Trouble.CONNECTION),
        (ConnectionLostError("it exited with status 1", detail="Error: database is locked"), Trouble.CONNECTION),
        (ConnectionLostError("it exited with status 1", detail="Read-only file system (os error 30)"), Trouble.DISK),
        (CallTimeoutError("thread/resume", 30), Trouble.SILENCE),
        (NotSignedInError("home", "main", "codex-bridge login", owned=True), Trouble.LOGIN),
        (ConnectError("no such file"), Trouble.OTHER),
    ],
)
def test_an_error_of_a_call_is_told_apart_by_its_kind(error: CodexError, trouble: Trouble) -> None:
    assert trouble_of(error) is trouble


def test_every_trouble_has_a_rule_and_only_a_lost_thread_or_a_full_window_ends_a_conversation() -> None:
    assert dict(RULES) == {
        Trouble.GONE: Rule.FRESH,
        Trouble.UNREADABLE: Rule.FRESH,
        Trouble.OVERFLOW: Rule.FRESH,
        Trouble.WRITER: Rule.KEEP,
        Trouble.LOGIN: Rule.KEEP,
        Trouble.DISK: Rule.KEEP,
        Trouble.SILENCE: Rule.KEEP,
        Trouble.BUSY: Rule.AGAIN,
        Trouble.CONNECTION: Rule.AGAIN,
        Trouble.OTHER: Rule.ASIDE,
    }
    assert set(RULES) == set(Trouble)


def test_what_is_told_of_a_refusal_is_a_sentence_of_ours_with_the_fix() -> None:
    def told(message: str) -> str:
        return refusal(RpcError("thread/resume", -32600, message), "codex-bridge login --agent keeper")

    assert told(f"thread {ID} already has an active writer").endswith("close it there and try again.")
    assert told("Your access token could not be refreshed.").endswith(
        "sign in again with `codex-bridge login --agent keeper`."
    )
    assert told("No space left on device (os error 28)").startswith("Codex cannot write to its disk; make room")
    assert (
        told("failed to load configuration: x in `y`")
        == "Codex cannot read its configuration; the log has the details."
    )
    assert told("something new") == REFUSED


@pytest.mark.parametrize(
    ("error", "failure"),
    [
        (None, Failure.SERVER),
        (ConnectionLostError("it was killed by SIGKILL"), Failure.SERVER),
        (ConnectionLostError("it exited with status 1", detail="Read-only file system (os error 30)"), Failure.DISK),
        (ConnectError("no such file"), Failure.SERVER),
        (BinaryNotFoundError(["PATH"]), Failure.SERVER),
        (CallTimeoutError("thread/resume", 30), Failure.SERVER),
        (NotSignedInError("home", "main", "codex-bridge login", owned=True), Failure.LOGIN),
        (RpcError("turn/start", -32600, "No space left on device"), Failure.DISK),
        (RpcError("turn/start", -32600, "something new"), Failure.REQUEST),
        (StoreError("the store is damaged"), Failure.OTHER),
    ],
)
def test_a_call_that_failed_has_a_class(error: Exception | None, failure: Failure) -> None:
    assert call_failure(error) is failure
