from pathlib import Path

import pytest

from harness.config import Surroundings

ZONES = frozenset({"UTC", "Europe/Rome", "Asia/Tokyo"})


@pytest.fixture
def machine() -> Surroundings:
    return Surroundings(home=Path("/home/ana"), host_timezone="Europe/Rome", is_timezone=ZONES.__contains__)
