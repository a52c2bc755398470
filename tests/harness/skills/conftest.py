from pathlib import Path

import pytest

from tests.harness.skills.shelf import Shelf


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(tmp_path)
