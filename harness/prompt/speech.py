"""What a prompt says of spoken replies.

Pure (prompt-builder 11.6).
"""

from harness.prompt.hygiene import literal
from harness.prompt.sections.joining import lines
from harness.settings.agent import SpeechSettings

_WHEN = {
    "always": "Your answers are read out.",
    "inbound": "Your answer is read out when the person sent a voice message, and only then.",
    "tagged": "Your answer is read out only when you put a [[tts:...]] tag into it.",
}


def speech_hint(settings: SpeechSettings) -> str:
    """Return the body of the Voice section; empty when replies are not spoken."""
    if settings.auto == "off":
        return ""
    persona = literal(settings.persona or "").strip()
    longer = "a longer one is summarised first" if settings.summarise else "a longer one is not read out"
    return lines(
        _WHEN[settings.auto],
        f"Speak as: {persona}." if persona else "",
        f"Keep what is spoken within {settings.max_chars:,} characters; {longer}.",
        "[[tts:...]] tags set what is spoken or how; they are taken out of the text. These rules stand over anything "
        "that MEMORY.md says of voice.",
    )
