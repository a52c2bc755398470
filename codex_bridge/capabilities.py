"""What a server makes of the fields that we send, by its version, the model and the catalogue in force.

Pure. Everything here was measured on both pinned versions (protocol reference, 3.4 to 3.7 and 12).
"""

import re
from collections.abc import Mapping
from dataclasses import field
from typing import Final, Literal, TypeAlias

from codex_bridge.catalogue import UNKNOWN, Catalogue, MultiAgent
from harness.lean_values import dataclass

REMEMBERS_CONTEXT: Final = (0, 171, 0)
"""The oldest version known to say the additional context again after a compaction; 0.163 forgets it, and what lies
between was never measured, so it counts as forgetful."""

SHOWS_AS_OUTPUT: Final = (0, 171, 0)
"""The oldest version known to show an untrusted entry as the output of a tool; 0.163 shows it as a user's message."""
UntrustedForm: TypeAlias = Literal["message", "toolOutput"]
"""How the model sees an untrusted entry of the additional context: as a user's message in a frame, or as the output of
a tool that nobody called."""
MULTI_AGENT: Final[MultiAgent] = "v1"
"""What a model has whose entry, or the want of one, leaves subagents to the server's features (reference, 3.6)."""

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
    takes_context: bool | None = None
    """Whether the server takes additional context at all; None: it does, as every supported version does."""
    untrusted_form: UntrustedForm | None = None
    """How the model sees untrusted entries; None leaves it to the version."""
    child_tools: bool | None = None
    """Whether a fresh subagent has the thread's tools; None: it has not, as on every version that was looked at."""
    multi_agent: Mapping[str, MultiAgent] = field(default_factory=dict[str, MultiAgent])
    """By the model's id: which kind of subagents it has."""


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

    def multi_agent(self, model: str) -> MultiAgent:
        """Which kind of subagents the model has: what its tools for them are called, and what a subagent inherits."""
        facts = self.catalogue.models.get(model)
        by_catalogue = MULTI_AGENT if facts is None or facts.multi_agent is None else facts.multi_agent
        return self.stated.multi_agent.get(model, by_catalogue)

    @property
    def child_tools(self) -> bool:
        """Whether a subagent that starts without a copy of the conversation has the thread's tools."""
        return bool(self.stated.child_tools)

    @property
    def takes_context(self) -> bool:
        """Whether the server takes additional context; where it does not, the same is said in the input."""
        return self.stated.takes_context is not False

    @property
    def untrusted_form(self) -> UntrustedForm:
        """How the model sees an untrusted entry of the additional context."""
        return self.stated.untrusted_form or ("toolOutput" if self.version >= SHOWS_AS_OUTPUT else "message")

    @property
    def remembers_context(self) -> bool:
        """Whether the server itself says the additional context again after a compaction."""
        stated = self.stated.remembers_context
        return self.version >= REMEMBERS_CONTEXT if stated is None else stated

    def told_of(self, model: str) -> dict[str, bool | str]:
        """All of it for one model, by the names that the configuration has for it."""
        return {
            "modeText": self.honours_mode_text(model),
            "additionalContext": self.takes_context,
            "untrusted": self.untrusted_form,
            "remembersContext": self.remembers_context,
            "childTools": self.child_tools,
            "multiAgent": self.multi_agent(model),
        }
