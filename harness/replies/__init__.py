"""What of an answer reaches a chat: one gate before every outbox, for every harness, trigger and channel."""

from harness.replies.silence import NO_REPLY, is_silence, may_become_silence, told

__all__ = ["NO_REPLY", "is_silence", "may_become_silence", "told"]
