"""What one agent's list of skills on one backend depends on, from the agent's settings.

Looks at the disk once, to learn where the home folders really are: make the options when settings change, not on every
turn.
"""

from collections.abc import Iterable

from harness.settings.skills import SkillSettings, name_filter
from harness.skills.catalogue import ListingOptions
from harness.skills.disk import home_spellings
from harness.skills.locations import PathNaming
from harness.skills.wording import Loading


def listing_options(
    settings: SkillSettings,
    *,
    loading: Loading,
    check_command: str,
    run_filter: Iterable[str] | None = None,
    shell_homes: tuple[str, ...] | None = None,
    remote_how: str | None = None,
) -> ListingOptions:
    """Put the options of a list together.

    Args:
        settings: What the configuration says.
        loading: How the backend opens a skill's file.
        check_command: The command that shows a person every skill and why it is in or out.
        run_filter: The explicit filter of one run; it takes the place of the agent's own list, and lists are never
            merged (prompt-builder 8.5).
        shell_homes: What `~` means to the shell or the read tool; None when that is the same as here.
        remote_how: How commands reach a connected node; None where they may not.
    """
    return ListingOptions(
        loading,
        check_command,
        allow=settings.allow if run_filter is None else name_filter(run_filter),
        max_skills=settings.limits.max_skills_in_prompt,
        max_units=settings.limits.max_skills_prompt_chars,
        naming=PathNaming(
            homes=home_spellings(*settings.homes),
            shell_homes=None if shell_homes is None else home_spellings(*shell_homes),
            state_dir=settings.places.config_dir or "",
        ),
        remote_how=remote_how,
    )
