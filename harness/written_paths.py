"""Paths as a person writes them."""

import os
from pathlib import Path


def expanded(named: str) -> Path:
    """The path with `~` for a home; that of a user who does not exist stays as it is, and leads nowhere."""
    return Path(os.path.expanduser(named))  # noqa: PTH111 - the method of a path raises for such a user
