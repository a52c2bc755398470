"""How many turns run at once."""

from typing import Final

MOST_TURNS: Final = 4
"""Turns at once unless the configuration says otherwise; the original gateway's default."""
