"""What a server makes of the fields that we send, by its version, the model and the catalogue in force.

Pure. Everything here was measured on both pinned versions (protocol reference, 3.4 to 3.7 and 12).
"""

import re
from collections.abc import Mapping
from dataclasses import field
from typing import Final

from codex_bridge.catalogue import UNKNOWN, Catalogue
from harness.lean_values import dataclass

REMEMBERS_CONTEXT: Final = (0, 171, 0)
"""The oldest version known to say the additional context again after a compaction; 0.163 forgets it, and what lies
between was never measured, so it counts as forgetful."""

TOOL_RESULT_BYTES: Final = 48_000
"""Measured: every entry of the catalogues has a `truncation_policy` of 10,000 tokens, which Codex takes for four bytes
each and stretches by a fifth."""
TOOL_RESULT_BYTES_UNKNOWN: Final = 12_000
"""Measured: for a model that its catalogue does not have, Codex assumes 10,000 bytes, and a fifth more."""

_DEAF: Final = re.compile(r"gpt-6(?![0-9])")
"""The models whose entry has a text of its own for the Default mode, in every catalogue that was looked at."""


@dataclass(frozen=True, slots=True)
class Stated:
    """What the operator knows better than version and catalogue say, from `lanes verify` for instance."""

    mode_text: Mapping[str, bool] = field(default_factory=dict[str, bool])
    """By the model's id: whether it sees our text of the Default mode."""
    remembers_context: bool | None = None
    """Whether the server says the additional context again after a compaction; None leaves it to the version."""


NOTHING_STATED: Final = Stated()


@dataclass(frozen=True, slots=True)
class ServerCapabilities:
    """What one running server honours."""

    version: tuple[int, int, int] = (0, 163, 0)
    catalogue: Catalogue = UNKNOWN
    stated: Stated = NOTHING_STATED

    def honours_mode_text(self, model: str) -> bool:
        """Whether the model sees our text of the Default mode.

        Where no catalogue could be read, the one rule that held in every catalogue so far decides.
        """
        if model in self.stated.mode_text:
            return self.stated.mode_text[model]
        if not self.catalogue.models:
            return _DEAF.match(model.rpartition("/")[2]) is None
        return self.catalogue.honours_mode_text(model)

    def context_tokens(self, model: str) -> int | None:
        """How large the model's context is, as the catalogue says; None where that is not known."""
        facts = self.catalogue.models.get(model)
        return None if facts is None else facts.context_window

    def tool_result_bytes(self, model: str) -> int:
        """How many bytes of UTF-8 of a tool's result the model reads; what is longer, Codex cuts in the middle."""
        known = not self.catalogue.models or model in self.catalogue.models
        return TOOL_RESULT_BYTES if known else TOOL_RESULT_BYTES_UNKNOWN

    @property
    def remembers_context(self) -> bool:
        """Whether the server itself says the additional context again after a compaction."""
        stated = self.stated.remembers_context
        return self.version >= REMEMBERS_CONTEXT if stated is None else stated
