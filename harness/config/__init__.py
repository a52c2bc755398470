"""The configuration file: original key names, every mistake named, one settings value for each agent."""

from typing import TYPE_CHECKING

from harness.lazy import lazily

if TYPE_CHECKING:
    from harness.config.errors import ConfigError, UnreadableConfigError
    from harness.config.findings import (
        ConfigFinding,
        DoubledKey,
        NoEffect,
        NotServed,
        StaleFile,
        UnknownKey,
        UnsetVariable,
        WrongValue,
        describe,
    )
    from harness.config.load import ConfigSource, config_file, load_config
    from harness.config.machine import this_machine
    from harness.config.read import Config, Sections, read_config, read_tree
    from harness.config.replies import gpt5_personality, silent_reply
    from harness.config.resolve import resolve_agent
    from harness.config.root import OpenClawConfig
    from harness.config.roster import agent_ids, default_agent_id
    from harness.config.section import Section
    from harness.config.surroundings import Surroundings
    from harness.settings.agent import AgentSettings

__all__ = [
    "AgentSettings",
    "Config",
    "ConfigError",
    "ConfigFinding",
    "ConfigSource",
    "DoubledKey",
    "NoEffect",
    "NotServed",
    "OpenClawConfig",
    "Section",
    "Sections",
    "StaleFile",
    "Surroundings",
    "UnknownKey",
    "UnreadableConfigError",
    "UnsetVariable",
    "WrongValue",
    "agent_ids",
    "config_file",
    "default_agent_id",
    "describe",
    "gpt5_personality",
    "load_config",
    "read_config",
    "read_tree",
    "resolve_agent",
    "silent_reply",
    "this_machine",
]

__getattr__ = lazily(
    __name__,
    {
        "AgentSettings": "harness.settings.agent",
        "Config": "harness.config.read",
        "ConfigError": "harness.config.errors",
        "ConfigFinding": "harness.config.findings",
        "ConfigSource": "harness.config.load",
        "DoubledKey": "harness.config.findings",
        "NoEffect": "harness.config.findings",
        "NotServed": "harness.config.findings",
        "OpenClawConfig": "harness.config.root",
        "Section": "harness.config.section",
        "Sections": "harness.config.read",
        "StaleFile": "harness.config.findings",
        "Surroundings": "harness.config.surroundings",
        "UnknownKey": "harness.config.findings",
        "UnreadableConfigError": "harness.config.errors",
        "UnsetVariable": "harness.config.findings",
        "WrongValue": "harness.config.findings",
        "agent_ids": "harness.config.roster",
        "config_file": "harness.config.load",
        "default_agent_id": "harness.config.roster",
        "describe": "harness.config.findings",
        "gpt5_personality": "harness.config.replies",
        "load_config": "harness.config.load",
        "read_config": "harness.config.read",
        "read_tree": "harness.config.read",
        "resolve_agent": "harness.config.resolve",
        "silent_reply": "harness.config.replies",
        "this_machine": "harness.config.machine",
    },
)
