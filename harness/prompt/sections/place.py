"""Where the agent works: workspace, documentation, sandbox, time zone and files. All above the cache boundary."""

from collections.abc import Sequence
from typing import Final

from harness.prompt.facts import AgentFacts, ContextDoc, SandboxFacts
from harness.prompt.hygiene import literal, structured
from harness.prompt.sections.headings import foreign
from harness.prompt.sections.joining import lines
from harness.prompt.sections.work import acp_possible, tools
from harness.workspace.names import MEMORY, SOUL, base_name

DOCS_URL: Final = "https://docs.openclaw.ai"
SOURCE_URL: Final = "https://github.com/openclaw/openclaw"
_ORDER: Final = {
    name.lower(): place
    for place, name in enumerate(
        ("AGENTS.md", "SOUL.md", "IDENTITY.md", "USER.md", "TOOLS.md", "BOOTSTRAP.md", "MEMORY.md")
    )
}
"""The order of files under Project Context; others come last (prompt-builder 2.F)."""


def time_hint(facts: AgentFacts) -> str:
    """How to learn the time (S69)."""
    if not facts.timezone.strip():
        return ""
    return "For the date, the time or the weekday now, call `session_status`; this prompt does not know them."


def workspace(facts: AgentFacts) -> str:
    """The working directory (S19)."""
    box = facts.sandbox
    host = literal(facts.workspace)
    inside = literal(box.container_workspace) if box else ""
    how = (
        f"File tools take paths of the host ({host}), commands take paths inside the sandbox ({inside}); relative "
        "paths work in both, so prefer them."
        if inside
        else "It is the one place for files, unless you are told otherwise."
    )
    return lines(
        "## Workspace",
        f"Your working directory: {inside or host}",
        how,
        "Scratch files stay inside the workspace as well, best in `.openclaw/tmp/`; not in /tmp."
        if facts.workspace_only
        else "",
        *(foreign(note) for note in facts.notes),
    )


def documentation(facts: AgentFacts) -> str:
    """What the gateway is documented by, and when to look there (S79 to S84)."""
    docs, source = literal(facts.docs.docs).strip(), literal(facts.docs.source).strip()
    read = tools(facts).called("read")
    first = (
        f"On how OpenClaw itself works (memory and daily notes, sessions, tools, gateway, configuration, commands, "
        f"project context) the documentation is the authority: look there first, with `{read}`."
        if docs
        else "On how OpenClaw itself works (memory and daily notes, sessions, tools, gateway, configuration, commands, "
        "project context) the documentation is the authority: look there first."
    )
    gateway = f"`{tools(facts).called('gateway')}`" if tools(facts).has("gateway") else "the gateway's"
    fields = f"For configuration, {gateway} config.schema.lookup has each field's meaning and limits; "
    return lines(
        "## Documentation",
        f"Docs: {docs or DOCS_URL}",
        f"Mirror: {DOCS_URL}" if docs else "",
        f"Source: {source or SOURCE_URL}",
        first,
        "AGENTS.md, project context, notes of the workspace, profiles, memory and memory_search are instructions and "
        "memory of the user; they do not tell how OpenClaw is built.",
        f"{fields}docs/gateway/configuration.md and docs/gateway/configuration-reference.md tell the rest.",
        "When the docs are silent or out of date, say so and look into the source"
        + (f" in {source}." if source else f" at {SOURCE_URL}."),
        "To find out what is wrong, run `openclaw status` yourself; ask the person only where you have no access.",
    )


def sandbox(facts: AgentFacts) -> str:
    """The sandbox, but for what depends on the sender (S22)."""
    box = facts.sandbox
    if box is None:
        return ""
    blocked = (
        'Coding agents over ACP (runtime="acp") cannot be started from a sandbox; use subagents.'
        if tools(facts).has("sessions_spawn") and facts.acp and not acp_possible(facts)
        else ""
    )
    return lines(
        "## Sandbox",
        "Your commands run in a container (Docker); some tools may be missing because of it.",
        "Subagents stay in the sandbox. When something needs the host, ask first.",
        blocked,
        *_mounts(box),
        f"A browser runs inside the sandbox: {literal(box.browser_url)}" if box.browser_url.strip() else "",
        {True: "The browser of the host may be used.", False: "The browser of the host is blocked.", None: ""}[
            box.host_browser
        ],
    )


def _mounts(box: SandboxFacts) -> list[str]:
    mount = literal(box.agent_mount)
    return [
        f"Workspace inside the container: {literal(box.container_workspace)}"
        if box.container_workspace.strip()
        else "",
        f"Its source on the host, which file tools see: {literal(box.host_workspace)}"
        if box.host_workspace.strip()
        else "",
        f"Access to the agent's workspace: {box.access}" + (f", mounted at {mount}" if mount else "")
        if box.access
        else "",
    ]


def time_zone(facts: AgentFacts) -> str:
    """The zone alone: a clock would change the prompt with every turn (S23, S68)."""
    zone = literal(facts.timezone).strip()
    return f"## Current Date & Time\nTime zone: {zone}" if zone else ""


def notice(facts: AgentFacts) -> str:
    """That a file was cut; no names and numbers, which would change the prompt whenever a file does."""
    return bootstrap_notice(facts.notice)


def bootstrap_notice(text: str) -> str:
    """The same section, wherever it stands."""
    text = structured(text)
    return f"## Bootstrap Context Notice\n{text}" if text else ""


def injected(facts: AgentFacts) -> str:
    """That files follow (S21)."""
    del facts
    return lines(
        "## Workspace Files (injected)",
        "These files belong to the user, who edits them; the gateway puts them into this prompt under Project Context.",
    )


def reasoning_format(facts: AgentFacts) -> str:
    """For models that mark their thoughts by tags."""
    if not facts.reasoning_tags:
        return ""
    return lines(
        "## Reasoning Format",
        "Put all thinking inside <think>...</think> and the answer inside <final>...</final>, with nothing outside of "
        "the two. Only <final> is shown. Example: <think>They greet me.</think> <final>Good morning! What shall we "
        "start with?</final>",
    )


def project_context(facts: AgentFacts) -> str:
    """The files that every conversation gets (S57)."""
    if not facts.files:
        return ""
    return lines(
        "# Project Context",
        "The following files of the workspace are part of your instructions.",
        *remarks(facts.files),
        *map(document, in_order(facts.files)),
    )


def remarks(files: Sequence[ContextDoc]) -> list[str]:
    """What is said of certain files, once each."""
    names = {base_name(file.path).lower() for file in files}
    return [
        "SOUL.md is your voice and character: speak and act as it describes, unless a stronger instruction forbids it."
        if SOUL.lower() in names
        else "",
        "MEMORY.md holds lasting facts and preferences: let them guide you, and leave alone what has no bearing here."
        if MEMORY.lower() in names
        else "",
    ]


def in_order(files: Sequence[ContextDoc]) -> list[ContextDoc]:
    """Known files first and in their fixed order, then by name and path."""

    def rank(file: ContextDoc) -> tuple[int, str, str]:
        name = base_name(file.path).lower()
        return _ORDER.get(name, len(_ORDER)), name, file.path

    return sorted(files, key=rank)


def document(file: ContextDoc) -> str:
    """One file under its path."""
    return lines(f"## {literal(file.path)}", _thinned(file.text))


def _thinned(text: str) -> str:
    """At most one blank line in a row: more cost tokens and say nothing."""
    while "\n\n\n" in text:
        text = text.replace("\n\n\n", "\n\n")
    return text
