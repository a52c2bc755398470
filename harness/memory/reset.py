"""What a turn says that begins with a bare /new or /reset.

Pure: the first-run state, the notes and the time are arguments.
"""

from types import MappingProxyType

from harness.clock import with_time_lines
from harness.workspace.first_run import FirstRunMode

_PROMPTS: MappingProxyType[FirstRunMode, str] = MappingProxyType(
    {
        FirstRunMode.NONE: (
            "A new conversation begins. Greet the owner in your own voice, in one to three sentences, and ask "
            "what they would like to do. Say nothing of files, tools or other inner workings."
        ),
        FirstRunMode.FULL: (
            "A new conversation begins, and the workspace is not set up yet. Read BOOTSTRAP.md and follow it: "
            "your first words are its first step, not a greeting of your own."
        ),
        FirstRunMode.LIMITED: (
            "A new conversation begins. The workspace is not set up yet, and that cannot be done here. Say so "
            "briefly, do not claim that it is done, and name the way on: set it up in the main interactive chat, or "
            "delete BOOTSTRAP.md."
        ),
    }
)


def reset_prompt(first_run: FirstRunMode, *, notes: str | None = None, time_lines: str = "") -> str:
    """Return the text of a bare reset's turn: the quoted daily notes, what to do, and the time, in this order.

    `first_run` is `full` where BOOTSTRAP.md can be worked through, `limited` where it is pending but cannot be.
    Notes are for a workspace that is set up, and are left out otherwise (prompt-builder 7.14).
    """
    quoted = notes if first_run is FirstRunMode.NONE else None
    prompt = with_time_lines(_PROMPTS[first_run], time_lines)
    return prompt if not quoted else f"{quoted}\n\n{prompt}"
