"""How a reply looks on the wire: the server-sent events of the Responses API.

Pure. Ids are counted, so that a run is the same each time.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from codex_bridge.loopback.script import (
    BeginSaying,
    BreakOff,
    CallTool,
    FailResponse,
    Incomplete,
    Item,
    Pause,
    Reply,
    Say,
    Step,
    Think,
    Usage,
    Wait,
)
from codex_bridge.rpc import Json, JsonObject, encode


@dataclass(frozen=True, slots=True)
class Frames:
    """Bytes to send now."""

    data: bytes


@dataclass(frozen=True, slots=True)
class HangUp:
    """Close the connection in the middle."""


Instruction = Frames | Wait | Pause | HangUp


def frames(reply: Reply, number: int) -> Iterator[Instruction]:
    """Turn a reply to request `number` into what the server has to do, in order."""
    response_id = f"resp_{number}"
    yield Frames(_event("response.created", {"response": {"id": response_id}}))
    for index, step in enumerate(reply.steps):
        match step:
            case Wait() | Pause():
                yield step
            case BreakOff():
                yield HangUp()
                return
            case FailResponse(code, message):
                error: JsonObject = {"code": code, "message": message}
                yield Frames(
                    _event("response.failed", {"response": {"id": response_id, "status": "failed", "error": error}})
                )
                return
            case Incomplete(reason):
                details: JsonObject = {"reason": reason}
                cut: JsonObject = {"id": response_id, "incomplete_details": details, "usage": _usage(reply.usage)}
                yield Frames(_event("response.incomplete", {"response": cut}))
                return
            case Say(pause=pause) if pause > 0:
                for event in _output(step, index, f"{number}_{index}"):
                    yield Frames(event)
                    yield Pause(pause)
            case Say() | BeginSaying() | Think() | CallTool() | Item():
                yield Frames(b"".join(_output(step, index, f"{number}_{index}")))
    yield Frames(_event("response.completed", {"response": {"id": response_id, "usage": _usage(reply.usage)}}))


def _output(step: Step, index: int, key: str) -> Iterator[bytes]:
    match step:
        case Say(text=text, phase=phase):
            item_id = f"msg_{key}"
            yield from _begin(item_id, index, step.cut(), None if step.late else phase)
            content: Json = [{"type": "output_text", "text": text, "annotations": []}]
            yield _event(
                "response.output_item.done", {"output_index": index, "item": _message(item_id, content, phase)}
            )
        case BeginSaying(text=text, phase=phase):
            yield from _begin(f"msg_{key}", index, [text], phase)
        case Think(summary):
            item_id = f"rs_{key}"
            thought: JsonObject = {"type": "reasoning", "id": item_id, "summary": []}
            yield _event("response.output_item.added", {"output_index": index, "item": thought})
            place: JsonObject = {"item_id": item_id, "output_index": index, "summary_index": 0}
            yield _event("response.reasoning_summary_part.added", place)
            yield _event("response.reasoning_summary_text.delta", place | {"delta": summary})
            whole: Json = [{"type": "summary_text", "text": summary}]
            yield _event("response.output_item.done", {"output_index": index, "item": thought | {"summary": whole}})
        case CallTool():
            call: JsonObject = {
                "type": "function_call",
                "id": f"fc_{key}",
                "call_id": step.call_id,
                "name": step.name,
                "arguments": step.encoded,
            }
            if step.namespace is not None:
                call["namespace"] = step.namespace
            yield _event("response.output_item.done", {"output_index": index, "item": call})
        case Item(fields):
            yield _event("response.output_item.done", {"output_index": index, "item": fields | {"id": f"it_{key}"}})
        case _:
            raise AssertionError(f"{step!r} is no output")


def _begin(item_id: str, index: int, pieces: list[str], phase: str | None) -> Iterator[bytes]:
    yield _event("response.output_item.added", {"output_index": index, "item": _message(item_id, [], phase)})
    for piece in pieces:
        delta: JsonObject = {"item_id": item_id, "output_index": index, "content_index": 0, "delta": piece}
        yield _event("response.output_text.delta", delta)


def _message(item_id: str, content: Json, phase: str | None) -> JsonObject:
    message: JsonObject = {"type": "message", "id": item_id, "role": "assistant", "content": content}
    return message if phase is None else message | {"phase": phase}


def _event(kind: str, payload: JsonObject) -> bytes:
    return b"event: " + kind.encode() + b"\ndata: " + encode({"type": kind, **payload}) + b"\n\n"


def _usage(usage: Usage) -> JsonObject:
    return {
        "input_tokens": usage.input,
        "input_tokens_details": {"cached_tokens": usage.cached},
        "output_tokens": usage.output,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning},
        "total_tokens": usage.input + usage.output,
    }
