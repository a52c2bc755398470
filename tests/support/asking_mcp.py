"""An MCP server on stdin and stdout whose one tool has a form filled in, and says what came of it.

    python -m tests.support.asking_mcp

It speaks the little of the protocol that this takes; the calls are answered one after the other.
"""

import json
import sys
from typing import Any, Final

TOOL: Final[dict[str, Any]] = {
    "name": "book",
    "description": "Books a table.",
    "inputSchema": {"type": "object", "properties": {}},
    "annotations": {"readOnlyHint": True},  # so that the call of the tool itself needs no leave
}
FORM: Final = {
    "message": "Which table?",
    "requestedSchema": {
        "type": "object",
        "properties": {
            "guests": {"type": "integer", "title": "Guests", "minimum": 1},
            "place": {"type": "string", "enum": ["inside", "outside"]},
        },
        "required": ["guests"],
    },
}
ASKED: Final = "form"
"""The id of our request; those of the client are numbers."""


def _send(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def _answers(method: str, params: dict[str, Any]) -> dict[str, Any]:
    match method:
        case "initialize":
            return {
                "protocolVersion": params["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "tables", "version": "1"},
            }
        case "tools/list":
            return {"tools": [TOOL]}
        case _:
            return {}


def main() -> None:
    """Serve until stdin ends."""
    waits: Any = None
    for line in sys.stdin:
        message: dict[str, Any] = json.loads(line)
        method, number = message.get("method", ""), message.get("id")
        if number == ASKED and not method:
            said = json.dumps(message.get("result", message.get("error")), sort_keys=True)
            _send({"id": waits, "result": {"content": [{"type": "text", "text": said}]}})
        elif method == "tools/call":
            waits = number
            _send({"id": ASKED, "method": "elicitation/create", "params": FORM})
        elif number is not None:
            _send({"id": number, "result": _answers(method, message.get("params") or {})})


if __name__ == "__main__":
    main()
