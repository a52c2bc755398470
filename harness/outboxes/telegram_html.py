"""The Markdown that models write, as the HTML that Telegram reads.

Pure. Whatever is not understood stays as it was written, and nothing of the answer becomes a tag that is not ours: tags
are closed in the order in which they were opened, by construction.
"""

import re
from html import escape
from typing import Final

from harness.replies.chunks import Fence

_ANY_LENGTH: Final = 1 << 30
_HEADING: Final = re.compile(r"#{1,6}[ \t]+(.+?)[ \t#]*")
_LANGUAGE: Final = re.compile(r"[\w+#.-]+")
_INLINE: Final = re.compile(
    r"(?<!`)(?P<ticks>`+)(?!`)(?P<code>.+?)(?<!`)(?P=ticks)(?!`)"
    r"|\[(?P<label>[^\[\]\n]+)\]\((?P<link>https?://[^\s()<>]+)\)"
    r"|\*\*(?=\S)(?P<bold>.+?)(?<=\S)\*\*"
    r"|~~(?=\S)(?P<struck>.+?)(?<=\S)~~"
    r"|(?<![\w*])\*(?=[^\s*])(?P<italic>[^*\n]+?)(?<=\S)\*(?![\w*])"
    r"|(?<!\w)_(?=[^\s_])(?P<slanted>[^_\n]+?)(?<=\S)_(?!\w)"
)
_TAGS: Final = (("bold", "b"), ("struck", "s"), ("italic", "i"), ("slanted", "i"))


def as_html(text: str) -> str:
    """Return a text as Telegram's HTML, see core.telegram.org/bots/api#html-style."""
    made: list[str] = []
    fence: Fence | None = None
    code: list[str] = []
    for line in text.split("\n"):
        if fence is not None:
            if fence.is_closed_by(line, _ANY_LENGTH):
                made.append(_block(fence, code))
                fence = None
            else:
                code.append(line)
        elif (fence := Fence.opened_by(line)) is not None:
            code = []
        else:
            heading = _HEADING.fullmatch(line)
            made.append(f"<b>{escape(heading[1].replace('**', ''), quote=False)}</b>" if heading else _inline(line))
    if fence is not None:
        made.append(_block(fence, code))
    return "\n".join(made)


def _block(fence: Fence, code: list[str]) -> str:
    inside = escape("\n".join(code), quote=False)
    language = _LANGUAGE.match(fence.opening.strip().lstrip("`~").strip())
    return f'<pre><code class="language-{language[0]}">{inside}</code></pre>' if language else f"<pre>{inside}</pre>"


def _inline(text: str) -> str:
    made: list[str] = []
    at = 0
    for found in _INLINE.finditer(text):
        made.append(escape(text[at : found.start()], quote=False))
        at = found.end()
        if (code := found["code"]) is not None:
            made.append(f"<code>{escape(code.strip() or code, quote=False)}</code>")
        elif (link := found["link"]) is not None:
            made.append(f'<a href="{escape(link)}">{escape(found["label"], quote=False)}</a>')
        else:
            name, tag = next(each for each in _TAGS if found[each[0]] is not None)
            made.append(f"<{tag}>{_inline(found[name])}</{tag}>")
    return "".join([*made, escape(text[at:], quote=False)])
