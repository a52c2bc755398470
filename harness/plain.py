"""The settings of an agent that nobody configured: a workspace and every default."""

import os
import sys
from dataclasses import replace
from pathlib import Path

from harness.settings.agent import AgentSettings
from harness.settings.skills import Host, SkillPlaces, SkillRules, SkillSettings


def plain_settings(workspace: Path, agent: str = "main") -> AgentSettings:
    """Settings with every default and the skills of the workspace alone."""
    host = Host(sys.platform, dict(os.environ))
    skills = SkillSettings(places=SkillPlaces(str(workspace)), rules=SkillRules(host))
    return AgentSettings(id=agent, workspace=workspace, skills=skills)


def in_workspace(settings: AgentSettings, workspace: Path) -> AgentSettings:
    """The same agent in another folder."""
    skills = replace(settings.skills, places=replace(settings.skills.places, workspace=str(workspace)))
    return replace(settings, workspace=workspace, skills=skills)
