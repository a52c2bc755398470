"""What a backend does by itself, or wants done its way.

Pure.
"""

from harness.lean_values import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Habits:
    """The habits of one backend, which decide what a composition holds for it."""

    reads_agents_file: bool = False
    """It reads AGENTS.md from the working directory, so that a copy of ours would be a second one."""
    points_to_heartbeat_file: bool = False
    """A heartbeat turn gets the path of HEARTBEAT.md, which the model reads for itself."""
    replaces_memory_file: bool = False
    """Where memory tools serve a turn, MEMORY.md is not copied into it (S54); elsewhere they come beside the copy."""
    hears_of_chats_by_layer: bool = False
    """What is known of a group is a layer of its turns; other backends have a section for it in their prompt."""
    keeps_what_it_was_told: bool = False
    """It says to the model what is new, and that alone: a turn that leaves something out takes it back."""
    shares_files: bool = True
    """Its commands run on the gateway's machine, where the files of messages are."""
    marks_missing_files: bool = True
    """A short marker stands in the place of a file that is not there."""
