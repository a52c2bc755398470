"""How the lines of a section, and the sections of a prompt, are put together (prompt-builder 1.2).

Pure.
"""


def lines(*pieces: str) -> str:
    """Join what is not empty by single line ends: no blank line but those inside a piece."""
    return "\n".join(piece for piece in pieces if piece)
