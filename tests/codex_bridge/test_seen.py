import pytest

from codex_bridge.lanes import Lane, Placed
from codex_bridge.loopback.recorder import RecordedRequest
from codex_bridge.rpc import Json
from codex_bridge.seen import sightings
from codex_bridge.wording import CONTEXT_INTRO
from harness.layers import Layer, LayerName, Lifetime, Trust


def request(*parts: tuple[str, str]) -> RecordedRequest:
    items: list[Json] = [
        {"type": "message", "role": role, "content": [{"type": "input_text", "text": text}]} for role, text in parts
    ]
    return RecordedRequest(1, "/v1/responses", {}, {"model": "m", "input": items})


def verdict(lane: Lane, *parts: tuple[str, str]) -> str:
    layer = Layer(LayerName.SOUL, "workspace/SOUL.md", Lifetime.TURN, Trust.WORKSPACE, "dry")
    (sighting,) = sightings([Placed(layer, lane)], request(*parts))
    return sighting.verdict


MODE = ("developer", "<collaboration_mode>so dry</collaboration_mode>")


def test_a_layer_in_its_place_has_no_problem() -> None:
    assert verdict(Lane.TURN_DEVELOPER, ("developer", "base"), MODE, ("user", "hi")) == ""
    assert verdict(Lane.THREAD_DEVELOPER, ("developer", "dry")) == ""
    assert verdict(Lane.NATIVE, ("user", "# AGENTS.md instructions for /w\n\ndry")) == ""
    assert verdict(Lane.TURN_INPUT, ("user", "dry?")) == ""
    assert verdict(Lane.TURN_CONTEXT, ("user", f"{CONTEXT_INTRO}\n\n## MEMORY.md\n\ndry")) == ""


def test_a_layer_that_vanished_doubled_or_strayed_is_named() -> None:
    assert verdict(Lane.TURN_DEVELOPER, ("user", "hi")) == "the model never saw it"
    assert verdict(Lane.TURN_DEVELOPER, MODE, MODE) == "the model saw it 2 times"
    assert verdict(Lane.TURN_DEVELOPER, ("developer", "dry")) == "the model saw it as THREAD_DEVELOPER"
    assert verdict(Lane.TURN_DEVELOPER, ("assistant", "dry")) == "the model saw it as message"


@pytest.mark.parametrize(("key", "lane"), [("gateway_chat", Lane.TURN_NAMED), ("gateway_quoted", Lane.TURN_QUOTED)])
def test_what_is_untrusted_is_known_by_its_key_on_either_version(key: str, lane: Lane) -> None:
    layer = Layer(LayerName.CHAT_NAMES, "chat/names", Lifetime.TURN, Trust.OUTSIDER, "Boats")
    newer: Json = {"type": "function_call_output", "name": f"{key}_names_01", "output": "Boats"}
    items = (newer, request(("user", f"<external_{key}_names_01>Boats</external_{key}_names_01>")).input[0])
    seen = [RecordedRequest(1, "/v1/responses", {}, {"model": "m", "input": [item]}) for item in items]
    assert [each.verdict for one in seen for each in sightings([Placed(layer, lane)], one)] == ["", ""]
    call = RecordedRequest(1, "/v1/responses", {}, {"input": [{"type": "function_call_output", "output": "Boats"}]})
    assert sightings([Placed(layer, lane)], call)[0].verdict == "the model saw it as function_call_output"


def test_top_level_instructions_are_looked_through_as_well() -> None:
    layer = Layer(LayerName.SOUL, "s", Lifetime.TURN, Trust.WORKSPACE, "dry")
    recorded = RecordedRequest(1, "/v1/responses", {}, {"instructions": "base and dry", "input": []})
    (sighting,) = sightings([Placed(layer, Lane.TURN_DEVELOPER)], recorded)
    assert sighting.verdict == "the model saw it as instructions"
