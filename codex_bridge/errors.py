"""Everything that can go wrong between the bridge and Codex.

    CodexError
    ├── BinaryNotFoundError      no Codex to run; carries all that was tried
    ├── ServerTooOldError        the app-server is below the supported floor
    ├── NotSignedInError         the Codex home has no account and the provider wants one
    ├── TransportError
    │   ├── ConnectError         the server could not be started or reached
    │   ├── ConnectionLostError  it was there and is gone; carries what was being done
    │   ├── OversizedMessageError  a message over the ceiling; the connection was closed
    │   └── ServerRestsError     it died so often that it is not started now; carries when it is
    ├── RpcError                 the server answered a request with an error
    │   └── OverloadedError      still overloaded after every retry
    ├── UnreadableAnswerError    the server answered with something that is not the method's result
    ├── CallTimeoutError         no answer within the call's deadline
    ├── AdoptionError            a thread cannot become a chat's conversation
    └── ThreadBusyError          another client of the server runs a turn on the thread

`RefusalError` and `UnneededError` are not of the tree: they are how a request handler says no, or nothing.

Each carries its facts as attributes; nobody has to read a message to decide what to do.
"""

from collections.abc import Sequence

from codex_bridge.rpc import Json


class CodexError(Exception):
    """Root of the tree."""


class BinaryNotFoundError(CodexError):
    """No Codex binary was found."""

    def __init__(self, tried: Sequence[str]) -> None:
        places = "; ".join(tried)
        super().__init__(
            f"No Codex binary found. Tried: {places}. "
            "Install one with: pip install 'openclaw-codex-bridge[codex]', or name yours in CODEX_BIN."
        )
        self.tried = tuple(tried)


class ServerTooOldError(CodexError):
    """The app-server's version is below the floor."""

    def __init__(self, version: str, floor: str) -> None:
        super().__init__(
            f"Codex {version} is too old for this bridge, which needs {floor} or later. "
            "Update it with: pip install --upgrade openai-codex-cli-bin"
        )
        self.version = version
        self.floor = floor


class NotSignedInError(CodexError):
    """The provider wants an account and the Codex home in use has none.

    Args:
        codex_home: The home's folder.
        agent: The agent's id.
        login: The command that signs this home in; see `codex_bridge.home.login_command`.
        owned: Whether the home is the agent's, not one that somebody else looks after.
    """

    def __init__(self, codex_home: str, agent: str, login: str, *, owned: bool) -> None:
        other = (
            "use your own Codex login with `--codex-home user`"
            if owned
            else f"leave `--codex-home` away and sign in the agent's own home with `codex-bridge login --agent {agent}`"
        )
        super().__init__(
            f"Codex is not signed in for agent {agent!r} (home: {codex_home}). Sign this home in with `{login}`, "
            f"or {other}."
        )
        self.codex_home = codex_home
        self.agent = agent
        self.login = login
        self.owned = owned


class ServerNotSignedInError(NotSignedInError):
    """A server that somebody else runs has no account, and its provider wants one.

    Args:
        server: The server's address.
        agent: The agent's id.
        login: The command that signs it in from here.
    """

    def __init__(self, server: str, agent: str, login: str) -> None:
        CodexError.__init__(
            self,
            f"The Codex behind {server} is not signed in. Sign it in where it runs with `codex login`, "
            f"or from here with `{login} --with device-code`.",
        )
        self.codex_home = ""
        self.agent = agent
        self.login = login
        self.owned = False


class TransportError(CodexError):
    """The way to the server failed."""


class ConnectError(TransportError):
    """The server could not be started or reached."""


class ConnectionLostError(TransportError):
    """The server went away."""

    def __init__(self, cause: str, *, doing: str | None = None, detail: str = "") -> None:
        action = f" during {doing}" if doing else ""
        tail = f"\nLast words of the server:\n{detail}" if detail else ""
        super().__init__(f"The Codex app-server connection was lost{action}: {cause}{tail}")
        self.cause = cause
        """What ended the connection, for a person."""
        self.doing = doing
        """What waited for the server: a method, or "turn ID"."""
        self.detail = detail
        """The masked tail of the server's stderr, for the log and never for a chat."""


class OversizedMessageError(TransportError):
    """A message exceeds the ceiling, so the connection was closed."""

    def __init__(self, limit: int) -> None:
        super().__init__(
            f"message too large: the app-server sent more than {limit:,} bytes in one message, the ceiling of "
            "appServer.maxMessageBytes"
        )
        self.limit = limit


class ServerRestsError(TransportError):
    """The server went away so often that it is not started again before some time is over."""

    def __init__(self, deaths: int, words: str, seconds: float, detail: str) -> None:
        super().__init__(
            f"it went away {deaths} times in a row soon after its start, the last time because {words}; the next try "
            f"is in {seconds:.0f} s"
        )
        self.seconds = seconds
        """Until a turn starts it again."""
        self.detail = detail
        """The masked last words of the server, for the log and never for a chat."""


class RpcError(CodexError):
    """The server answered a request with an error object."""

    def __init__(self, method: str, code: int, message: str, data: Json = None) -> None:
        super().__init__(f"{method} failed ({code}): {message}")
        self.method = method
        self.code = code
        self.message = message
        self.data = data


class OverloadedError(RpcError):
    """The server stayed overloaded over every retry."""


class UnreadableAnswerError(CodexError):
    """The server's answer is not what the method returns."""

    def __init__(self, method: str, problem: str) -> None:
        super().__init__(f"{method} was answered with something unreadable: {problem}")
        self.method = method
        self.problem = problem


class CallTimeoutError(CodexError):
    """No answer came within the deadline of the call."""

    def __init__(self, method: str, seconds: float) -> None:
        super().__init__(f"{method} was not answered within {seconds:g} s")
        self.method = method
        self.seconds = seconds


class AdoptionError(CodexError):
    """A thread cannot become a chat's conversation."""

    def __init__(self, thread_id: str, problem: str) -> None:
        super().__init__(f"The thread {thread_id} cannot be adopted: {problem}")
        self.thread_id = thread_id


def cause_of(error: TransportError | None) -> str:
    """Why a connection is over, for the middle of a sentence."""
    return error.cause if isinstance(error, ConnectionLostError) else str(error)


def last_words_of(error: TransportError | None) -> str:
    """What the server said last before it went away, masked; empty when that is not known."""
    return error.detail if isinstance(error, ConnectionLostError | ServerRestsError) else ""


class ThreadBusyError(CodexError):
    """Another client of the server runs a turn on a thread of ours."""

    def __init__(self) -> None:
        super().__init__("Another client of Codex runs a turn in this conversation; try again when that is over.")


class RefusalError(Exception):
    """Raised by a handler of ours to answer the server's request with an error. Never reaches a caller."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class UnneededError(Exception):
    """Raised by a handler of ours when the server does not wait for its answer any more: none is sent."""
