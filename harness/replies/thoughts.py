"""What a model left in its answer between tags and no chat is told of (spec 5): its reasoning, and frames of ours.

Pure. What stands in code is no tag. Some models open their thoughts in the prompt, so that an answer has the closing
tag alone: what is before one on a line of its own is thought too. A frame stands around what the gateway says or quotes
to the agent; a model that repeats one repeats what was meant for it alone (F15).
"""

import re
from bisect import bisect_right
from typing import Final

from harness.prompt.hygiene import FRAME

_NAMES: Final = ("antthinking", "reasoning", "thinking", "thought", "think")
_FRAMES: Final = ("external_gateway_", "gateway_", FRAME)
"""How the names of frames begin: of what a backend is told under a name, and of quoted words of people outside."""
_NAMED: Final = rf"(?:{'|'.join(_NAMES)})\b|(?:{'|'.join(_FRAMES)})\w*"
_TAG: Final = re.compile(rf"<(/?)\s*({_NAMED})[^<>]*>", re.IGNORECASE)
_CLOSING: Final = re.compile(rf"</\s*({_NAMED})\s*>", re.IGNORECASE)
_BEGUN: Final = re.compile(r"/?\s*([a-z_-]*)", re.IGNORECASE)


def without_thoughts(text: str, *, streamed: bool = False) -> str:
    """Take the thoughts out of an answer; where any were, no blanks are left at its beginning.

    Args:
        text: The answer.
        streamed: More is to come, so that half a tag at the end is none of the answer either.
    """
    if "<" not in text:
        return text
    rest = _unthought(text, streamed) if _TAG.search(text) else text
    if streamed and (start := rest.rfind("<")) > rest.rfind(">"):
        begun = _BEGUN.match(rest, start + 1)
        assert begun is not None, "it may be empty"
        return rest[:start] if _may_be_tag(begun[1].lower()) else rest
    return rest


def _unthought(text: str, streamed: bool) -> str:
    from harness.replies.code import in_code  # few answers hold a tag

    code = in_code(text)
    starts = [start for start, _ in code]
    closes = {found[1].lower(): found.start() for found in _CLOSING.finditer(text)}  # the last one of each name
    kept: list[str] = []
    at, opened = 0, ""
    for tag in _TAG.finditer(text):
        before = bisect_right(starts, tag.start()) - 1
        if not opened and before >= 0 and tag.start() < code[before][1]:
            continue
        name = tag[2].lower()
        if tag[1]:
            if opened == name:
                at, opened = tag.end(), ""
            elif not opened and name.startswith(_FRAMES):
                kept.append(text[at : tag.start()])
                at = tag.end()
            elif not opened and _is_alone(text, tag.start(), tag.end()):
                kept, at = [], tag.end()
        elif not opened and (streamed or _begins_line(text, tag.start()) or closes.get(name, -1) >= tag.end()):
            kept.append(text[at : tag.start()])
            opened = name
    if not opened:
        kept.append(text[at:])
    rest = "".join(kept)
    return rest if rest == text else rest.lstrip()


def _begins_line(text: str, at: int) -> bool:
    return not text[text.rfind("\n", 0, at) + 1 : at].strip()


def _is_alone(text: str, start: int, end: int) -> bool:
    return _begins_line(text, start) and not text[end:].partition("\n")[0].strip()


def _may_be_tag(begun: str) -> bool:
    return any(name.startswith(begun) for name in (*_NAMES, *_FRAMES)) or begun.startswith(_FRAMES)
