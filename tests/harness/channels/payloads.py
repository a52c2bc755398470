"""The payloads of `fixtures/payloads`, and who the agent is in them."""

from functools import cache
from pathlib import Path
from typing import Any

import orjson

from harness.inbound import Bot

FOLDER = Path(__file__).parents[3] / "fixtures" / "payloads"
PAYLOADS = {f"{file.parent.name}/{file.stem}": file for file in sorted(FOLDER.glob("*/*.json"))}
BOTS = {
    "telegram": Bot("7300400500", "pell_keeper_bot"),
    "discord": Bot("1080000000000000099", "Pell", frozenset({"1090000000000000400"})),
}


@cache
def _text(name: str) -> bytes:
    return PAYLOADS[name].read_bytes()


def payload(name: str) -> dict[str, Any]:
    """A payload, fresh for each test to change."""
    found: dict[str, Any] = orjson.loads(_text(name))
    return found


def bot_of(name: str) -> Bot:
    """The agent's account on the channel of a payload."""
    return BOTS[name.partition("/")[0]]
