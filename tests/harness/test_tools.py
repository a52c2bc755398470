"""Every tool of the agent is the same kind of value, whichever part offers it."""

from pathlib import Path

from harness.heartbeat import HeartbeatResponder
from harness.memory import MemoryIndex, Open, memory_tools
from harness.tools import Tool


def test_the_tools_of_all_parts_can_be_registered_together(tmp_path: Path) -> None:
    with MemoryIndex(tmp_path) as index:
        tools: tuple[Tool, ...] = (
            *memory_tools(index, str(tmp_path), access=Open),
            HeartbeatResponder(active=True).tool,
        )
    assert [tool.name for tool in tools] == ["memory_search", "memory_get", "heartbeat_respond"]
    assert [tool.input_schema["type"] for tool in tools] == ["object"] * 3
    assert all(tool.description.endswith(".") for tool in tools)
