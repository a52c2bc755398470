"""A picture of a prompt: each layer a tile as large as its share. Needs the `plots` extra."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from harness.errors import HarnessError
from harness.report import LayerLine, PromptReport

SIZE: Final = (1280, 860)
"""Of the picture in pixels (prompt-builder 13.2)."""
_COLOURS: Final = ("#35618e", "#4f8a5b", "#a8652f", "#7a5195", "#b5485d", "#5f6b76", "#2f8f8f", "#8c7a2e")


class PictureError(HarnessError):
    """The picture could not be drawn."""


@dataclass(frozen=True, slots=True)
class Tile:
    """A rectangle of the picture, in pixels."""

    line: LayerLine
    left: float
    top: float
    width: float
    height: float


def tiles(lines: list[LayerLine], width: float, height: float) -> list[Tile]:
    """Divide the area by size: each cut goes through the longer side, at the place nearest to half of what is left."""
    shown = sorted((line for line in lines if line.kept), key=lambda line: -line.kept)
    return _divide(shown, 0.0, 0.0, width, height)


def _divide(lines: list[LayerLine], left: float, top: float, width: float, height: float) -> list[Tile]:
    if not lines:
        return []
    if len(lines) == 1:
        return [Tile(lines[0], left, top, width, height)]
    total = sum(line.kept for line in lines)
    first, at = lines[0].kept, 1
    while at < len(lines) - 1 and first + lines[at].kept / 2 <= total / 2:
        first += lines[at].kept
        at += 1
    share = first / total
    if width >= height:
        edge = width * share
        one, two = (left, top, edge, height), (left + edge, top, width - edge, height)
    else:
        edge = height * share
        one, two = (left, top, width, edge), (left, top + edge, width, height - edge)
    return [*_divide(lines[:at], *one), *_divide(lines[at:], *two)]


def draw(report: PromptReport, path: Path) -> None:
    """Write the picture as PNG.

    Raises:
        PictureError: Pillow is not installed, or the file cannot be written.
    """
    try:
        from PIL import Image, ImageDraw, ImageFont
    except ImportError:
        raise PictureError("A picture needs Pillow: pip install 'openclaw-codex-bridge[plots]'.") from None
    image = Image.new("RGB", SIZE, "white")
    pen, font = ImageDraw.Draw(image), ImageFont.load_default(size=16)
    for index, tile in enumerate(tiles(list(report.layers), *map(float, SIZE))):
        box = (tile.left + 1, tile.top + 1, tile.left + tile.width - 2, tile.top + tile.height - 2)
        if box[2] <= box[0] or box[3] <= box[1]:
            continue
        pen.rectangle(box, fill=_COLOURS[index % len(_COLOURS)])
        label = f"{tile.line.name.rpartition('/')[2]}\n{tile.line.kept:,}"
        if tile.width > pen.textlength(label.partition("\n")[0], font=font) + 12 and tile.height > 44:
            pen.multiline_text((tile.left + 7, tile.top + 6), label, fill="white", font=font)
    try:
        image.save(path, format="PNG")
    except OSError as error:
        raise PictureError(f"The picture {path} cannot be written: {error.strerror or error}.") from None
