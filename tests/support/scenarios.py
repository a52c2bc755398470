"""A scenario's folder, written for a test."""

import json
from pathlib import Path

UPDATE: dict[str, object] = {
    "update_id": 1,
    "message": {
        "message_id": 9, "date": 1_900_000_000, "text": "hi",
        "chat": {"id": 7, "type": "private"}, "from": {"id": 7, "is_bot": False, "first_name": "Orrin"},
    },
}  # fmt: skip
WHOLE: dict[str, object] = {
    "channel": "telegram", "payload": "update.json", "workspace": "w", "model": "m", "answer": "a", "lanes": {},
    "leftOut": {}, "absent": ["x"],
}  # fmt: skip


def scenario(folder: Path, data: object, payload: object = UPDATE) -> Path:
    """Write a scenario with these contents."""
    folder.mkdir(exist_ok=True)
    (folder / "scenario.json").write_text(json.dumps(data), "utf-8")
    (folder / "update.json").write_text(json.dumps(payload), "utf-8")
    return folder
