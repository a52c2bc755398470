"""What the fake app-server can be told to play, by name, so that a child process can be told too."""

from collections.abc import Callable, Iterable
from typing import Final

from codex_bridge.rpc import Event, Notified, Requested, encode
from tests.support.fake_codex import INITIALIZED, FakeCodex
from tests.support.fake_server import Failure, HangUp, Raw, Result, Script, Stderr, Step, Tell, UntilRead, by_method
from tests.support.silent_codex import SilentCodex

KEY: Final = "sk-proj-4f9Q2mZr71XcVbNa"
HELD_BACK: Final = "green-harbour-lantern-42"
"""A secret of no known form: only its value tells that it is one."""
FLOOD: Final = 80 * 1024 * 1024


def padded(size: int, method: str = "padded") -> Tell:
    """A notification whose message has exactly `size` bytes."""
    frame = len(encode({"method": method, "params": {"text": ""}}))
    return Tell(method, {"text": "x" * (size - frame)})


def contract() -> Script:
    """The few things that every transport must carry."""

    def echo(request: Requested) -> Iterable[Step]:
        return (Result(dict(request.params)),)

    def count(request: Requested) -> Iterable[Step]:
        last = request.params["to"]
        assert isinstance(last, int)
        yield from (Tell("counted", {"number": number}) for number in range(last))
        yield Result({})

    def grow(request: Requested) -> Iterable[Step]:
        size = request.params["bytes"]
        assert isinstance(size, int)
        return (padded(size),)

    return by_method({"echo": echo, "count": count, "grow": grow, "bye": (Tell("parting", {}), HangUp())})


def boring() -> Script:
    """Case T09, in its order: (a) to (c) follow the handshake, (d) and (e) the next request, (f) the one after."""
    overloaded = Failure(-32001, "Server overloaded; retry later.")
    works: list[tuple[Step, ...]] = [
        (overloaded,),
        (overloaded,),
        (Result({"done": True}), Raw(b'{"method":"x", broken\n'), Tell("after broken", {})),
    ]
    lobster = encode({"method": "split", "params": {"text": "日本語🦞"}}) + b"\n"
    cut = lobster.index("本".encode()) + 2

    def on(event: Event) -> Iterable[Step]:
        match event:
            case Requested(method="initialize"):
                return (Result(INITIALIZED),)
            case Notified(method="initialized"):
                return (
                    padded(300_000),
                    Raw(lobster[:cut]),
                    UntilRead(),
                    Raw(lobster[cut:]),
                    Tell("before junk", {}),
                    Raw(b"SUCCESS: process 4711 ended\n"),
                    Tell("after junk", {}),
                )
            case Requested(method="work"):
                return works.pop(0)
            case Requested(method="flood"):
                return (Raw(b"x" * FLOOD),)
            case _:
                return ()

    noise = b"2031-05-06T07:08:09Z WARN codex: nothing of interest\n"
    opening = (Stderr(noise * (1024 * 1024 // len(noise) + 1)), Raw(b"\x1b[?2004h\nWelcome to the dev shell\n"))
    return Script(on, opening)


def last_words() -> Script:
    """A server that sends 20,000 bytes at once, and something short when it is told to go."""
    return Script(lambda _: (), (padded(20_000),), (Tell("goodbye", {}),))


def stillborn() -> Script:
    """A server that complains, with credentials in its words, and exits before the handshake."""
    said = "debug: nothing of interest, line after line\n" * 200
    said += f"\x1b[31mERROR\x1b[0m key {KEY} refused; header Authorization: Bearer {KEY}; password {HELD_BACK}\n"
    return Script(lambda _: (), (Stderr(said.encode()), HangUp(3)))


def deaf() -> Script:
    """A server that never answers."""
    return Script(lambda _: ())


def outdated() -> Script:
    """A server below the supported floor."""
    return by_method({"initialize": (Result(INITIALIZED | {"userAgent": "openclaw-codex-bridge/0.98.2 (Debian)"}),)})


def torrent() -> Script:
    """Two megabytes of notifications before every answer, whether or not the client is still sending."""

    def echo(request: Requested) -> Iterable[Step]:
        return (*([padded(20_000)] * 100), Result({"bytes": len(encode(dict(request.params)))}))

    return by_method({"echo": echo})


def codex() -> Script:
    """A Codex that runs turns; the person's words choose what happens in each."""
    return Script(FakeCodex())


def silent() -> Script:
    """A Codex whose turns do not say that they are over, or fall silent before."""
    return Script(SilentCodex())


def hanging() -> Script:
    """A Codex that comes to a stop at its first thread, and answers nothing any more."""
    running, hung = FakeCodex(), False

    def on(event: Event) -> Iterable[Step]:
        nonlocal hung
        hung = hung or (isinstance(event, Requested) and event.method == "thread/start")
        return () if hung else running(event)

    return Script(on)


def newer() -> Script:
    """A Codex of a later version than any that was measured."""
    running = FakeCodex()
    told = Result(INITIALIZED | {"userAgent": "openclaw-codex-bridge/0.999.0 (Debian 12.0.0; x86_64) xterm"})

    def on(event: Event) -> Iterable[Step]:
        return (told,) if isinstance(event, Requested) and event.method == "initialize" else running(event)

    return Script(on)


def signed_out() -> Script:
    """A Codex that cannot renew its login, and does not start without."""
    return Script(lambda _: (), (Stderr(b"Error: Failed to refresh token: 401\n"), HangUp(1)))


SCRIPTS: Final[dict[str, Callable[[], Script]]] = {
    script.__name__: script
    for script in (
        contract,
        boring,
        last_words,
        stillborn,
        deaf,
        outdated,
        torrent,
        codex,
        silent,
        hanging,
        newer,
        signed_out,
    )
}
