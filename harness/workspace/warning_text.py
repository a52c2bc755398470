"""What is said about files that were cut: to the model, and to the person who keeps the workspace.

Pure (prompt-builder 7.10).
"""

from harness.workspace.analysis import BudgetAnalysis, Cause, FileStats
from harness.workspace.names import AGENTS, MEMORY

MOST_FILES = 3
"""Files that a warning names."""

BLOCK_HEADING = "[Bootstrap truncation warning]"

_KEYS = {
    Cause.PER_FILE: ("agents.list[].bootstrapMaxChars", "agents.defaults.bootstrapMaxChars"),
    Cause.TOTAL: ("agents.list[].bootstrapTotalMaxChars", "agents.defaults.bootstrapTotalMaxChars"),
}


def prompt_notice() -> str:
    """Return the notice for the system prompt: no names and no numbers, so that it is stable."""
    return "\n".join(
        (
            "Some workspace files did not fit into this prompt: they are shown in part, with a mark at the cut, or not "
            "at all.",
            "The files themselves are whole.",
            "Read a file before you rely on a part of it that you cannot see.",
        )
    )


def warning_lines(analysis: BudgetAnalysis) -> tuple[str, ...]:
    """Say for the model which files were cut by how much; empty when none was."""
    truncated = analysis.truncated
    if not truncated:
        return ()
    names = [file.name for file in truncated]
    lines = [_file_line(file, shared=names.count(file.name) > 1) for file in truncated[:MOST_FILES]]
    if len(truncated) > MOST_FILES:
        lines.append(f"+{len(truncated) - MOST_FILES} more truncated file(s).")
    if any(file.name.lower() == AGENTS.lower() for file in truncated):
        lines.append("AGENTS.md was cut: rules may stand in the part you do not see, so read the file before you act.")
    own, default = zip(*(_KEYS[cause] for cause in _causes(truncated)), strict=True)
    lines.append(f"To show more, the operator can raise {' and '.join(own)}, or {' and '.join(default)}.")
    return tuple(lines)


def user_prompt_with_warning(prompt: str, analysis: BudgetAnalysis, *, heartbeat_prompt: str | None = None) -> str:
    """Append the warning to a prompt for a CLI agent; a prompt that is the heartbeat prompt stays as it is."""
    lines = warning_lines(analysis)
    if not lines or prompt == heartbeat_prompt:
        return prompt
    block = (
        BLOCK_HEADING,
        "Some workspace files were cut to fit into this prompt.",
        "Read the files themselves where the cut part matters.",
        *(f"- {line}" for line in lines),
    )
    return f"{prompt}\n\n" + "\n".join(block)


def advice(analysis: BudgetAnalysis) -> tuple[str, ...]:
    """Tell the keeper of the workspace, one sentence per file, what does not fit or nearly so, and what to do."""
    lines = [_advice_for(file, analysis) for file in analysis.files if file.truncated or file.near_limit]
    if analysis.total_near_limit:
        lines.append(
            f"All files together put {analysis.injected_units:,} of at most {analysis.limits.total:,} units into the"
            f" prompt; shorten some or raise {_KEYS[Cause.TOTAL][1]}."
        )
    return tuple(lines)


def _advice_for(file: FileStats, analysis: BudgetAnalysis) -> str:
    if not file.truncated:
        return (
            f"{file.name} ({file.path}) is {file.raw_units:,} of at most {analysis.limits.per_file:,} units long;"
            f" shorten it before it is cut, or raise {_KEYS[Cause.PER_FILE][1]}."
        )
    limits = {Cause.PER_FILE: analysis.limits.per_file, Cause.TOTAL: analysis.limits.total}
    over = " and ".join(f"{cause.value} {limits[cause]:,}" for cause in file.causes)
    keys = " or ".join(_KEYS[cause][1] for cause in file.causes)
    move = "move history to memory/*.md" if file.name == MEMORY else "move parts into files that are read on demand"
    return (
        f"{file.name} ({file.path}) is {file.raw_units:,} units long and {file.injected_units:,} reach the prompt"
        f" ({over}). Nothing is lost on disk. Shorten it, {move}, or raise {keys}."
    )


def _file_line(file: FileStats, *, shared: bool) -> str:
    causes = ", ".join(cause.value for cause in file.causes)
    shown = file.path if shared else file.name
    return (
        f"{shown}: {file.raw_units} raw -> {file.injected_units} injected (~{file.removed_percent}% removed; {causes})."
    )


def _causes(files: tuple[FileStats, ...]) -> list[Cause]:
    return [cause for cause in Cause if any(cause in file.causes for file in files)]
