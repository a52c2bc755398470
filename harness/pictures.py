"""Whether some bytes are a picture that a model can be shown, and of which type.

Pure. A picture that a provider cannot read stays in a conversation and fails each of its later turns, so what is no
whole picture is found out before.
"""

from collections.abc import Callable, Mapping
from typing import Final

MOST_PICTURE_BYTES: Final = 5_000_000
"""How large one picture may be; our choice, the least that a large provider states."""


def picture_type(data: bytes) -> str:
    """Return the media type of a picture by its bytes; empty for what is none, or was cut short."""
    return next((kind for kind, is_whole in _KINDS.items() if is_whole(data)), "")


def picture_problem(data: bytes) -> str:
    """Say why a model cannot be shown these bytes, as the end of a sentence; empty when it can."""
    if len(data) > MOST_PICTURE_BYTES:
        return f"it has {len(data):,} bytes, and at most {MOST_PICTURE_BYTES:,} are shown"
    return "" if picture_type(data) else "it is no whole PNG, JPEG, GIF or WebP picture"


def _is_png(data: bytes) -> bool:
    return data[:8] == b"\x89PNG\r\n\x1a\n" and data[12:16] == b"IHDR" and data[-8:-4] == b"IEND"


def _is_jpeg(data: bytes) -> bool:
    return data[:3] == b"\xff\xd8\xff" and b"\xff\xd9" in data[-64:]


def _is_gif(data: bytes) -> bool:
    return data[:6] in (b"GIF87a", b"GIF89a") and data[-1:] == b"\x3b"


def _is_webp(data: bytes) -> bool:
    size = int.from_bytes(data[4:8], "little")
    return data[:4] == b"RIFF" and data[8:12] == b"WEBP" and len(data) in (size + 8, size + 9)


_KINDS: Final[Mapping[str, Callable[[bytes], bool]]] = {
    "image/png": _is_png,
    "image/jpeg": _is_jpeg,
    "image/gif": _is_gif,
    "image/webp": _is_webp,
}
