"""What of a call is seen in the chat: our tokens are in none of its texts, whichever field the model put them into.

Pure. The same table as for answers (`harness.replies.silence`).
"""

from dataclasses import replace

from harness.delivery.outbox import Button
from harness.message_tool.arguments import Wish
from harness.replies.silence import told


def seen(wish: Wish) -> Wish:
    """Return the call without tokens. Buttons stand under a text or a file: without either there are none."""
    text = told(wish.text).strip()
    rows = (tuple(each for button in row if (each := _seen(button)) is not None) for row in wish.buttons)
    buttons = tuple(row for row in rows if row) if text or wish.media else ()
    return replace(wish, text=text, buttons=buttons)


def says_nothing(wish: Wish) -> bool:
    """Whether nothing is left of a call to send."""
    return not wish.text and not wish.media


def _seen(button: Button) -> Button | None:
    label = told(button.label).strip()
    return replace(button, label=label) if label else None
