"""What a thread does not fix, on the real binary: what comes or goes with a server is the same for old threads."""

import json
import sys
from pathlib import Path

from codex_bridge.binary import CodexBinary
from codex_bridge.loopback.recorder import RecordedRequest
from codex_bridge.loopback.script import Action, CallTool, Reply, always, say
from codex_bridge.params import ThreadSettings
from tests.support.real import MODEL, count, places, stage

SERVER = """
import json
import sys

for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    tool = {"name": "high_water", "description": "When?", "inputSchema": {"type": "object", "properties": {}}}
    answers = {
        "initialize": {
            "protocolVersion": asked.get("params", {}).get("protocolVersion"),
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "tides", "version": "1"},
        },
        "tools/list": {"tools": [tool]},
        "tools/call": {"content": [{"type": "text", "text": "HIGH_AT_SIX"}]},
    }
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": answers.get(asked["method"], {})}), flush=True)
"""


def ask_for_it(request: RecordedRequest) -> Action:
    """Call the tool of the MCP server once in each turn."""
    if request.parts()[-1].kind.endswith("_call_output"):
        return say("Yes.")
    return Reply((CallTool("high_water", {}, namespace="mcp__tides"),))


async def test_an_mcp_server_that_comes_or_goes_is_the_same_for_a_conversation_of_before(
    codex: CodexBinary, state: Path, workspace: Path, tmp_path: Path
) -> None:
    """Harness reference 7.2, checks 2 and 6: there is nothing to rotate for."""
    program = tmp_path / "tides.py"
    program.write_text(SERVER, "utf-8")
    there = [
        ("mcp_servers.tides.command", json.dumps(sys.executable)),
        ("mcp_servers.tides.args", json.dumps([str(program)])),
    ]
    settings = ThreadSettings(sandbox="danger-full-access", approval_policy="never")
    conversations: set[str] = set()
    seen: list[bool] = []
    for number, overrides in enumerate(([], there, [])):
        async with stage(codex, state, workspace, ask_for_it, overrides=overrides, settings=settings) as play:
            conversations.add((await play.ask("When is high water?", number=str(number))).conversation)
            seen.append("HIGH_AT_SIX" in play.model.requests[-1].parts()[-1].text)
    assert (seen, len(conversations)) == ([False, True, False], 1)


async def test_another_model_goes_on_in_the_same_thread_and_is_told_who_it_is(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    """A turn may name another model, and the next process too: Codex tells it its own text (measured)."""
    conversations: list[str] = []
    for number, model in enumerate((MODEL, "gpt-6-sol", MODEL)):
        async with stage(codex, state, workspace, always(say("Yes.")), model=model) as play:
            result = await play.ask(f"heron {number}", number=str(number))
            conversations.append(result.conversation)
        request = play.model.requests[-1]
        assert request.body["model"] == model
        assert [count(request, f"heron {each}") for each in range(number + 1)] == [1] * (number + 1)
        assert places(request, "SOUL_M22") == ["mode"]
    assert len(set(conversations)) == 1
