"""One end of a JSON-RPC connection as a state machine that never waits.

Say what to send (`call`, `notify`, `answer`, `refuse`) and take the bytes from `outgoing`; give each message
that came in to `receive` and get one event back. Who asked what, and what is still open, is kept here.
"""

from collections.abc import Mapping

from typing_extensions import TypeIs

from codex_bridge.rpc.encoding import decode, encode
from codex_bridge.rpc.messages import (
    Answered,
    Event,
    Json,
    JsonObject,
    Junk,
    Notified,
    Refused,
    Requested,
    RequestId,
    Stray,
)

_NO_PARAMS: Mapping[str, Json] = {}
_ABANDONED_KEPT = 1024
"""How many given-up requests are remembered, to tell a late answer from a foreign one."""


class LocalProtocolError(RuntimeError):
    """This side broke the rules, for instance by answering one request twice. A bug in the caller."""


class Peer:
    """Either end of a connection: the rules are the same for both."""

    def __init__(self, *, first_id: int = 1) -> None:
        self._next_id = first_id
        self._open: dict[RequestId, str] = {}
        self._abandoned: dict[RequestId, None] = {}
        self._asked: set[RequestId] = set()
        self._outgoing: list[bytes] = []

    @property
    def open_requests(self) -> Mapping[RequestId, str]:
        """Our requests without an answer yet: id and method."""
        return self._open

    def call(self, method: str, params: Json) -> RequestId:
        """Ask the other side; `params` is always sent, since the app-server insists on the member."""
        request_id = self._next_id
        self._next_id += 1
        self._outgoing.append(encode({"id": request_id, "method": method, "params": params}))
        self._open[request_id] = method
        return request_id

    def notify(self, method: str, params: Json = None) -> None:
        """Tell the other side something that has no answer."""
        message: JsonObject = {"method": method}
        if params is not None:
            message["params"] = params
        self._outgoing.append(encode(message))

    def answer(self, request: Requested, result: Json) -> None:
        """Answer a request of the other side, under the id and the id's JSON type that it used.

        Raises:
            LocalProtocolError: The request was answered already.
            TypeError: `result` is no JSON; the request stays open.
        """
        answer = encode({"id": request.id, "result": result})
        self._close(request)
        self._outgoing.append(answer)

    def refuse(self, request: Requested, code: int, message: str, data: Json = None) -> None:
        """Answer a request of the other side with an error.

        Raises:
            LocalProtocolError: The request was answered already.
        """
        error: JsonObject = {"code": code, "message": message}
        if data is not None:
            error["data"] = data
        refusal = encode({"id": request.id, "error": error})
        self._close(request)
        self._outgoing.append(refusal)

    def let_go(self, request: Requested) -> None:
        """Leave a request of the other side unanswered, which does not wait for the answer any more."""
        self._asked.discard(request.id)

    def give_up(self, request_id: RequestId) -> None:
        """Stop waiting for an answer. If it comes after all it is a `Stray` marked as abandoned."""
        if self._open.pop(request_id, None) is None:
            return
        self._abandoned[request_id] = None
        if len(self._abandoned) > _ABANDONED_KEPT:
            del self._abandoned[next(iter(self._abandoned))]

    def outgoing(self) -> list[bytes]:
        """Hand over the messages to be sent, oldest first, each once."""
        messages, self._outgoing = self._outgoing, []
        return messages

    def receive(self, data: bytes) -> Event:
        """Read one whole message. Never raises: what is not JSON-RPC becomes `Junk`.

        Members that we do not know, the server's `emittedAtMs` among them, are passed over.
        """
        try:
            message = decode(data)
        except ValueError:
            return Junk("not JSON", len(data))
        if not isinstance(message, dict):
            return Junk("not a JSON object", len(data))
        method = message.get("method")
        if method is None:
            return self._receive_answer(message, len(data))
        if not isinstance(method, str):
            return Junk("its method is not a string", len(data))
        given = message.get("params")
        if given is not None and not isinstance(given, dict):
            return Junk("its params are not an object", len(data))
        params = _NO_PARAMS if given is None else given
        if "id" not in message:
            return Notified(method, params)
        request_id = message["id"]
        if not _is_id(request_id):
            return Junk("its id is neither a string nor an integer", len(data))
        if request_id in self._asked:
            # A server repeats what is still open when its thread is resumed (protocol reference, section 2).
            return Junk("it repeats a request that is still open", len(data))
        self._asked.add(request_id)
        return Requested(request_id, method, params)

    def _receive_answer(self, message: JsonObject, size: int) -> Event:
        if "result" not in message and "error" not in message:
            return Junk("neither a method nor an answer", size)
        request_id = message.get("id")
        if not _is_id(request_id) or request_id not in self._open:
            if _is_id(request_id) and request_id in self._abandoned:
                del self._abandoned[request_id]
                return Stray(request_id, abandoned=True)
            return Stray(request_id, abandoned=False)
        method = self._open.pop(request_id)
        if "error" not in message:
            return Answered(request_id, method, message["result"])
        error = message["error"]
        if not isinstance(error, dict):
            return Refused(request_id, method, 0, "the error is not an object", error)
        code, text = error.get("code"), error.get("message")
        return Refused(
            request_id,
            method,
            code if isinstance(code, int) else 0,
            text if isinstance(text, str) else "no message",
            error.get("data"),
        )

    def _close(self, request: Requested) -> None:
        if request.id not in self._asked:
            raise LocalProtocolError(f"request {request.id!r} ({request.method}) was answered already")
        self._asked.remove(request.id)


def _is_id(value: Json) -> TypeIs[RequestId]:
    # bool is a subclass of int, and True == 1 would find somebody else's request.
    return isinstance(value, int | str) and not isinstance(value, bool)
