"""The keys of the gateway's own part of the file that are known and do nothing yet, each with what holds instead.

Pure. A test compares this table, and the one of each backend, with what the code reads: a key of the models is either
read or stands here.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from harness.config.section import Unserved

_LEVELS: Final = ("agents.defaults", "agents.list.*")

_OF_AN_AGENT: Final[Mapping[str, Unserved]] = {
    "model.fallbacks": Unserved("a model that fails is not replaced, and the turn fails with it"),
    "models.*.agentRuntime.id": Unserved("every turn runs on Codex", harmless=("codex", "auto")),
    "models.*.params": Unserved("Codex chooses the parameters of a model"),
    "reasoningDefault": Unserved("the reasoning of a turn is not shown in chats", harmless=("off",)),
    "sandbox": Unserved(
        "commands run in the sandbox of Codex alone; set plugins.entries.codex.config.appServer.sandbox and remove it",
        harmless=({"mode": "off"},),
        refused=True,
    ),
}  # fmt: skip
"""Below the defaults, and below the entry of an agent."""

_COMPACTED: Final = (
    "a conversation is compacted by what the model's window holds, see reserveTokens, and never by bytes"
)
_SUMMARISED: Final = "Codex summarises a conversation with the model that talks in it"
_ENVELOPE: Final = "messages carry their time as the prompt shows it"
_COMMANDS: Final = (
    "Codex runs the commands; set plugins.entries.codex.config.appServer.approvalPolicy and sandbox, and remove it"
)

UNSERVED: Final[Mapping[str, Unserved]] = MappingProxyType(
    {
        **{f"{level}.{key}": entry for level in _LEVELS for key, entry in _OF_AN_AGENT.items()},
        "agents.defaults.compaction.model": Unserved(_SUMMARISED),
        "agents.defaults.compaction.provider": Unserved(_SUMMARISED),
        "agents.defaults.compaction.truncateAfterCompaction": Unserved(_COMPACTED, harmless=(False,)),
        "agents.defaults.compaction.maxActiveTranscriptBytes": Unserved(_COMPACTED),
        "agents.list.*.compaction": Unserved("agents.defaults.compaction holds for every agent"),
        "agents.defaults.envelopeTimezone": Unserved(_ENVELOPE),
        "agents.defaults.envelopeTimestamp": Unserved(_ENVELOPE),
        "agents.defaults.envelopeElapsed": Unserved(_ENVELOPE),
        "agents.defaults.imageGenerationModel": Unserved("pictures are made by the backend's own tool, if it has one"),
        **{
            f"{place}.silentReply.internal": Unserved(
                "a run that no chat sees may always be silent", harmless=("allow",)
            )
            for place in ("agents.defaults", "surfaces.*")
        },
        "auth.order": Unserved("the login of the agent's Codex home is used; see codex-bridge login"),
        "messages.groupChat.unmentionedInbound": Unserved(
            "a message of a group that calls nobody is kept, and told with the next one that calls the agent"
        ),
        "models.providers.*.baseUrl": Unserved("the provider is the one that Codex is configured with"),
        "models.providers.*.agentRuntime.id": Unserved("every turn runs on Codex", harmless=("codex", "auto")),
        "tools.exec.ask": Unserved(_COMMANDS, harmless=("off", "on-miss"), refused=True),
        "tools.exec.security": Unserved(_COMMANDS, harmless=("full",), refused=True),
        "tools.exec.mode": Unserved(_COMMANDS, harmless=("full",), refused=True),
        "tools.exec.host": Unserved(_COMMANDS, harmless=("auto", "gateway"), refused=True),
        "tools.media.image.timeoutSeconds": Unserved("the model sees pictures itself, and no tool describes them"),
        "tools.web.search.provider": Unserved(
            "the model's own provider searches the web", harmless=("openai", "codex")
        ),
    }
)
"""By path; `*` stands for any key or index."""
