"""Which words a key with a fixed set of values can hold, where more than one module names them.

Pure. Words that are settings of an agent stand with those, in `harness.settings`.
"""

from typing import Literal

OptionalFile = Literal["SOUL.md", "IDENTITY.md", "USER.md", "HEARTBEAT.md"]
