"""The suite runs on the same Codex on every machine, and says on which."""

import os

from tests.support.chosen import forget_the_person, header


def pytest_configure() -> None:
    forget_the_person(os.environ)


def pytest_report_header() -> str:
    return header()
