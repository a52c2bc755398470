"""The suite runs on the same Codex on every machine, and says on which."""

import os
import signal
import time
from collections.abc import Iterator

import pytest

from tests.support.chosen import forget_the_person, header


def pytest_configure() -> None:
    forget_the_person(os.environ)
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
