"""A fake app-server: a script says what it does, and the project's own `Peer` is the far end of the wire.

Pure: whole messages in, steps to carry out. `serving` carries them out inside the test's process; run as a program,
this file does so on its own stdin and stdout, whatever the environment is:

    python tests/support/fake_server.py SCRIPT
"""

import array
import fcntl
import os
import select
import sys
import termios
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Final, TypeAlias

if __name__ == "__main__":
    _ROOT = Path(__file__).resolve().parents[2]
    sys.path[0] = str(_ROOT)
    # A child needs the JSON-RPC core alone. The package's `__init__` would load the whole bridge first, and a test
    # that starts a child would take five times as long.
    _package = sys.modules["codex_bridge"] = ModuleType("codex_bridge")
    _package.__path__ = [str(_ROOT / "codex_bridge")]

from codex_bridge.rpc import Event, Json, JsonObject, LineFramer, Peer, Requested


@dataclass(frozen=True, slots=True)
class Result:
    """Answer the request that is being handled."""

    value: Json


@dataclass(frozen=True, slots=True)
class Failure:
    """Answer it with an error."""

    code: int
    message: str
    data: Json = None


@dataclass(frozen=True, slots=True)
class Tell:
    """Send a notification."""

    method: str
    params: JsonObject


@dataclass(frozen=True, slots=True)
class Ask:
    """Send a request; the answer comes back to the script as an event."""

    method: str
    params: JsonObject


@dataclass(frozen=True, slots=True)
class Raw:
    """Put these bytes on the wire: a whole message where messages have frames, any bytes at all on stdio."""

    data: bytes


@dataclass(frozen=True, slots=True)
class UntilRead:
    """Wait until the other side has read all that was written. On stdio only; elsewhere nothing is ever cut."""


@dataclass(frozen=True, slots=True)
class Stderr:
    """Write to stderr. On stdio only."""

    data: bytes


@dataclass(frozen=True, slots=True)
class HangUp:
    """Close the connection; a child process exits with this status."""

    status: int = 0


Step: TypeAlias = Result | Failure | Tell | Ask | Raw | UntilRead | Stderr | HangUp


SILENCE: Final[tuple[Step, ...]] = ()


@dataclass(frozen=True, slots=True)
class Message:
    """One whole message to be sent."""

    data: bytes


Output: TypeAlias = Message | Raw | UntilRead | Stderr | HangUp


@dataclass(frozen=True, slots=True)
class Script:
    """What the server does when the connection opens, and on each event. No step at all is silence."""

    on: Callable[[Event], Iterable[Step]]
    opening: tuple[Step, ...] = ()
    closing: tuple[Step, ...] = ()
    """What a child process still does when its stdin ends."""


Reaction: TypeAlias = "tuple[Step, ...] | Callable[[Requested], Iterable[Step]]"


def by_method(reactions: dict[str, Reaction], *, opening: tuple[Step, ...] = ()) -> Script:
    """A script that is a table: what to do on each request. Others are refused in the words of the real server."""

    def on(event: Event) -> Iterable[Step]:
        if not isinstance(event, Requested):
            return SILENCE
        unknown: Reaction = (Failure(-32600, f"Invalid request: unknown variant `{event.method}`"),)
        reaction = reactions.get(event.method, unknown)
        return reaction(event) if callable(reaction) else reaction

    return Script(on, opening)


class FakeServer:
    """One connection's far end."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self.peer = Peer(first_id=0)  # the real server counts from 0 too

    def begin(self) -> Iterator[Output]:
        """What to do before anything was received."""
        return self.perform(self._script.opening)

    def end(self) -> Iterator[Output]:
        """What to do when nothing more will be received."""
        return self.perform(self._script.closing)

    def hear(self, message: bytes) -> tuple[Event, Iterator[Output]]:
        """Take one whole message; return what it was and what to do."""
        event = self.peer.receive(message)
        return event, self.perform(self._script.on(event), event)

    def perform(self, steps: Iterable[Step], event: Event | None = None) -> Iterator[Output]:
        """Turn steps into output; `Result` and `Failure` answer `event`."""
        for step in steps:
            match step:
                case Result(value):
                    assert isinstance(event, Requested)
                    self.peer.answer(event, value)
                case Failure(code, message, data):
                    assert isinstance(event, Requested)
                    self.peer.refuse(event, code, message, data)
                case Tell(method, params):
                    self.peer.notify(method, params)
                case Ask(method, params):
                    self.peer.call(method, params)
                case Raw() | UntilRead() | Stderr() | HangUp():
                    yield step
            yield from map(Message, self.peer.outgoing())


PROGRAM: Final = Path(__file__).resolve()


class _Pipes:
    """The program's stdin, stdout and stderr. Like the real server it ends when stdin does, even while it writes."""

    def __init__(self) -> None:
        os.set_blocking(1, False)
        self._writable = select.poll()
        self._writable.register(1, select.POLLOUT)
        self._writable.register(0, 0)

    def carry_out(self, outputs: Iterable[Output]) -> None:
        for output in outputs:
            match output:
                case Message(data):
                    self._write(data + b"\n")
                case Raw(data):
                    self._write(data)
                case UntilRead():
                    self._wait_until_read()
                case Stderr(data):
                    os.write(2, data)
                case HangUp(status):
                    sys.exit(status)

    def stdin_ended(self) -> None:
        self._writable.unregister(0)

    def _write(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            for file, _ in self._writable.poll():
                if file == 0:
                    sys.exit(0)
                rest = rest[os.write(1, rest[: 64 * 1024]) :]

    def _wait_until_read(self) -> None:
        unread = array.array("i", [1])
        while unread[0]:
            fcntl.ioctl(1, termios.FIONREAD, unread)
            time.sleep(0.001)


def main() -> None:
    """Serve one connection on stdin and stdout with the script that the first argument names."""
    from tests.support.scripts import SCRIPTS

    server = FakeServer(SCRIPTS[sys.argv[1]]())
    pipes = _Pipes()
    pipes.carry_out(server.begin())
    lines = LineFramer(limit=1 << 30)
    while chunk := os.read(0, 256 * 1024):
        for line in lines.feed(chunk):
            _, outputs = server.hear(line)
            pipes.carry_out(outputs)
    pipes.stdin_ended()
    pipes.carry_out(server.end())


if __name__ == "__main__":
    from tests.support import fake_server  # the classes of `__main__` would be other ones than the scripts use

    fake_server.main()
