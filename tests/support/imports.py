"""What importing a module brings along or only tries to."""

import subprocess
import sys
from typing import Final

_WATCH: Final = """
import sys

class Watch:
    asked = set()

    def find_spec(self, name, path=None, target=None):
        self.asked.add(name)

watch = Watch()
sys.meta_path.insert(0, watch)
import {module}
print(*watch.asked, *sys.modules)
"""


def asked_for_by(module: str) -> set[str]:
    """The modules that importing `module` in a fresh process loads, and those that it would load if they were there.

    An import that is guarded against ImportError leaves no other trace where an extra is not installed.
    """
    command = [sys.executable, "-c", _WATCH.format(module=module)]
    return set(subprocess.run(command, check=True, capture_output=True, text=True).stdout.split())
