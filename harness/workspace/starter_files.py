"""What a new workspace is filled with: the packaged templates, without their front matter."""

from functools import lru_cache
from importlib import resources

from harness.workspace.names import AGENTS, BOOTSTRAP, HEARTBEAT, IDENTITY, SOUL, TOOLS, USER

REQUIRED = (AGENTS, TOOLS)
OPTIONAL = (SOUL, IDENTITY, USER, HEARTBEAT)
"""Files that the configuration may leave out, and that a workspace which is set up may go without."""

PROFILE = (SOUL, IDENTITY, USER)
"""Files that the first conversation fills in."""

STARTERS = (*REQUIRED, *OPTIONAL, BOOTSTRAP)

_FENCE = "---"


@lru_cache(maxsize=len(STARTERS))
def starter_text(name: str) -> str:
    """Return the text that a new file of that name begins with.

    Raises:
        ValueError: There is no template of that name.
    """
    if name not in STARTERS:
        raise ValueError(f"there is no template for {name}; the templates are {', '.join(STARTERS)}")
    folder = resources.files("harness.workspace").joinpath("templates")
    return without_front_matter(folder.joinpath(name).read_text(encoding="utf-8"))


def without_front_matter(text: str) -> str:
    """Drop a leading block between two lines of `---`; a text without a closed block is returned as it is."""
    lines = text.splitlines(keepends=True)
    if not lines or lines[0].strip() != _FENCE:
        return text
    end = next((number for number, line in enumerate(lines[1:], 1) if line.strip() == _FENCE), None)
    return text if end is None else "".join(lines[end + 1 :]).lstrip("\n")
