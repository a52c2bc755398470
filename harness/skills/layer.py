"""The list of skills as a layer of a turn.

Pure.
"""

from typing import Final

from harness.layers import Layer, LayerName, LeftOut, Lifetime, Trust
from harness.skills.catalogue import SkillCatalogue

SOURCE_NAME: Final = "skills"


def skills_layer(catalogue: SkillCatalogue) -> Layer | LeftOut:
    """Make the turn's layer of the list, or say why there is none."""
    text = catalogue.text.strip()
    if not text:
        return LeftOut(LayerName.SKILLS, SOURCE_NAME, "no skill is eligible")
    raw = catalogue.raw_units if catalogue.warning else -1  # nothing gave way, so it is as large as it is
    return Layer(LayerName.SKILLS, SOURCE_NAME, Lifetime.TURN, Trust.WORKSPACE, text, raw)
