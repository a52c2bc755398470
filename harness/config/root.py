"""Which sections a configuration file has.

Pure. `OpenClawConfig.model_validate({...})` takes the keys as people write them; `read.read_config` does the same
and survives mistakes.
"""

from typing import ClassVar

from pydantic import Field

from harness.config.agent_keys import Agents
from harness.config.channel_keys import Channel, Commands, Messages, Surface
from harness.config.section import Section
from harness.config.skill_keys import Skills
from harness.config.tool_keys import Auth, Browser, Hooks, Memory, Models, Plugins, Tools
from harness.config.unserved_keys import UNSERVED


class OpenClawConfig(Section):
    """A whole configuration file."""

    unserved: ClassVar = UNSERVED
    agents: Agents = Agents.model_construct()
    auth: Auth = Auth.model_construct()
    browser: Browser = Browser.model_construct()
    channels: dict[str, Channel] = Field(default_factory=dict[str, Channel])
    commands: Commands = Commands.model_construct()
    hooks: Hooks = Hooks.model_construct()
    memory: Memory = Memory.model_construct()
    messages: Messages = Messages.model_construct()
    models: Models = Models.model_construct()
    plugins: Plugins = Plugins.model_construct()
    skills: Skills = Skills.model_construct()
    surfaces: dict[str, Surface] = Field(default_factory=dict[str, Surface])
    tools: Tools = Tools.model_construct()
