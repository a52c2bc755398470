"""What of a call is seen in the chat: our tokens are in none of its texts, whichever field the model put them in.

Pure. What is no word of an answer is none of a message: thoughts, directives and tokens (`harness.replies`).
"""

from dataclasses import replace

from harness.delivery.outbox import Button
from harness.message_tool.arguments import Wish
from harness.replies.directives import directed
from harness.replies.silence import told
from harness.replies.thoughts import without_thoughts


def seen(wish: Wish) -> Wish:
    """Return the call as it is sent: also what directives in its text say is done.

    Buttons stand under a text or a file; without either there are none.
    """
    said = directed(without_thoughts(wish.text))
    text = told(said.text).strip()
    media = tuple(dict.fromkeys((*wish.media, *said.media)))
    rows = (tuple(each for button in row if (each := _seen(button)) is not None) for row in wish.buttons)
    buttons = tuple(row for row in rows if row) if text or media else ()
    voice, message = wish.voice or said.voice, wish.message or said.reply_to
    return replace(wish, text=text, buttons=buttons, media=media, voice=voice, message=message)


def says_nothing(wish: Wish) -> bool:
    """Whether nothing is left of a call to send."""
    return not wish.text and not wish.media


def _seen(button: Button) -> Button | None:
    label = told(button.label).strip()
    return replace(button, label=label) if label else None
