"""The suite runs on the same Codex on every machine, says on which, and knows nothing of the person who runs it."""

import os
import signal
import tempfile
import time
from collections.abc import Iterator

import pytest
from hypothesis import settings

from tests.support.chosen import forget_the_person, header

# The same examples in every run, on a fast machine and on a slow one.
settings.register_profile("steady", derandomize=True, deadline=None)
settings.load_profile("steady")


def pytest_configure(config: pytest.Config) -> None:
    forget_the_person(os.environ)
    # Codex reads the start files of the person's shell for each thread: slow on some machines, and never the same.
    empty = tempfile.TemporaryDirectory(prefix="home-")
    config.add_cleanup(empty.cleanup)
    os.environ["HOME"] = empty.name
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # What a shell starts in the background; the commands that we start would ignore it too.
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_report_header() -> str:
    return header()


@pytest.fixture
def in_utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A machine whose time zone is UTC."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()
