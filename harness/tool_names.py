"""Names of tools that settings, prompts and backends have to agree on."""

from typing import Final

PLAN_TOOL: Final = "update_plan"
"""Codex has a plan of its own under this name."""
