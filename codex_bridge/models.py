"""What a model makes of the fields that we send.

Pure.
"""

import re
from typing import Final

_DEAF: Final = re.compile(r"gpt-6(?![0-9])")


def ignores_mode_text(model: str) -> bool:
    """Whether the model never sees our turn-scoped instructions.

    The vendor's catalogue has its own text of the Default mode for every GPT-6 model, and that one wins (measured;
    protocol reference, 3.4 and 12).
    """
    return _DEAF.match(model.rpartition("/")[2]) is not None
