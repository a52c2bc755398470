"""What is allowed or declined without asking anybody.

Pure.
"""

from collections.abc import Iterable

from harness.asks import Answer, ApprovalAsked, ApprovalKind, QuestionAsked, Verdict
from harness.settings.approvals import ApprovalSettings, Asking
from harness.simple_command import simple_argv

NEVER_ASKED = "Nobody is asked here, since tools.exec.ask is off, and no rule allows it."


def ruled(what: ApprovalAsked | QuestionAsked, settings: ApprovalSettings) -> Answer | None:
    """Return the answer that the configuration gives by itself; None when a person has to be asked."""
    if isinstance(what, QuestionAsked):
        return None
    if settings.asking is not Asking.ALWAYS and is_allowed(what, settings.allowed):
        return Answer(Verdict.ALLOW, why="A rule of tools.exec.allow allows it.")
    return Answer(Verdict.DECLINE, why=NEVER_ASKED) if settings.asking is Asking.NEVER else None


def is_allowed(what: ApprovalAsked, allowed: Iterable[tuple[str, ...]]) -> bool:
    """Whether a rule allows it: it is one simple command, and begins with the words of the rule."""
    if what.kind is not ApprovalKind.COMMAND or not what.script:
        return False
    words = simple_argv(what.script)
    return words is not None and any(rule and words[: len(rule)] == rule for rule in allowed)
