"""The keys about Codex that are known and do nothing yet, each with what holds instead.

Pure. What they mean to the gateway: harness reference, section 14.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from harness.config.section import Unserved

UNSERVED: Final[Mapping[str, Unserved]] = MappingProxyType(
    {
        "discovery": Unserved("no list of models is asked for", harmless=({"enabled": False},)),
        "codexPlugins": Unserved("Codex's plugins stay off", harmless=({"enabled": False},)),
        "computerUse": Unserved("the agent does not use the screen", harmless=({"enabled": False},)),
        "sessionCatalog": Unserved("threads are listed by codex-bridge status", harmless=({"enabled": False},)),
        "supervision": Unserved("only conversations of the agent are reached", harmless=({"enabled": False},)),
        "appServer.args": Unserved("the arguments are the bridge's; settings go into config.toml of the home"),
        "appServer.codeModeOnly": Unserved("Codex decides which models get code mode", harmless=(False,)),
        "appServer.networkProxy": Unserved(
            "no proxy would hold the commands back; without it the sandboxes read-only and workspace-write keep them "
            "off the network",
            harmless=({"enabled": False},),
            refused=True,
        ),
        "appServer.defaultWorkspaceDir": Unserved("commands start in the agent's workspace"),
        "appServer.experimental.sandboxExecServer": Unserved(
            "commands run in Codex's own sandbox, see appServer.sandbox; remove it to have that", refused=True
        ),
        "appServer.loopDetectionPreToolUseRelay": Unserved("nothing watches tools for loops", harmless=(False,)),
        "appServer.cyberFailover": Unserved("a refused turn stays refused", harmless=({"mode": "off"},)),
    }
)  # fmt: skip
"""By path below `codex_bridge.config.PATH`."""
