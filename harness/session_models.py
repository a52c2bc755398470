"""Which model somebody chose for a conversation, in place of the agent's.

Pure. Who makes the `SessionModels` may keep them over restarts, see `harness.store.model_file`.
"""

from collections import OrderedDict
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

MOST_CHOICES: Final = 1024
"""Conversations whose choice is remembered: those in which it was made last."""


class SessionModels:
    """The choices of one agent's conversations, by session key.

    Args:
        known: What was chosen already, by the backend's own ids of models.
        keep: Called with all of it whenever it changes.
    """

    def __init__(
        self,
        known: Mapping[str, str] = MappingProxyType({}),
        keep: Callable[[Mapping[str, str]], None] = lambda _: None,
    ) -> None:
        self._known = OrderedDict(known)
        self._keep = keep

    def of(self, session_key: str) -> str | None:
        """The model that was chosen; None for none."""
        return self._known.get(session_key)

    def choose(self, session_key: str, model: str | None) -> None:
        """Let the turns that begin from now on use a model; None for the agent's own again."""
        if self._known.get(session_key) == model:
            return
        self._known.pop(session_key, None)
        if model is not None:
            self._known[session_key] = model
            if len(self._known) > MOST_CHOICES:
                self._known.popitem(last=False)
        self._keep(dict(self._known))
