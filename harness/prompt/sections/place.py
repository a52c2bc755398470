"""Where the agent works: workspace, documentation, sandbox, time zone and files. All above the cache boundary."""

from collections.abc import Sequence
from typing import Final

from harness.prompt.facts import AgentFacts, ContextDoc, SandboxFacts
from harness.prompt.hygiene import literal
from harness.prompt.sections.headings import Heading, file_heading, foreign, headed
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
    return headed(
        Heading.WORKSPACE,
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
    found = tools(facts)
    read = f", with `{found.called('read')}`" if docs and found.has("read") else ""
    search = f" and `{found.called('memory_search')}`" if found.has("memory_search") else ""
    pages = "docs/gateway/configuration.md and docs/gateway/configuration-reference.md"
    fields = (
        f"For configuration, `{found.called('gateway')}` config.schema.lookup has each field's meaning and limits; "
        f"{pages} tell the rest."
        if found.has("gateway")
        else f"For configuration, {pages} tell each field's meaning and limits."
    )
    return headed(
        Heading.DOCUMENTATION,
        f"Docs: {docs or DOCS_URL}",
        f"Mirror: {DOCS_URL}" if docs else "",
        f"Source: {source or SOURCE_URL}",
        "On how OpenClaw itself works (memory and daily notes, sessions, tools, gateway, configuration, commands, "
        f"project context) the documentation is the authority: look there first{read}.",
        f"AGENTS.md, project context, notes of the workspace, profiles, memory{search} are instructions and memory of "
        "the user; they do not tell how OpenClaw is built.",
        fields,
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
    return headed(
        Heading.SANDBOX,
        "Your commands run in a container (Docker); some tools may be missing because of it.",
        "Subagents stay in the sandbox. When something needs the host, ask first.",
        blocked,
        *_mounts(box),
        f"A browser runs inside the sandbox: {literal(box.browser_url)}" if box.browser_url.strip() else "",
        ""
        if box.host_browser is None
        else f"The browser of the host {'may be used' if box.host_browser else 'is blocked'}.",
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
    return headed(Heading.TIME_ZONE, f"Time zone: {zone}" if zone else "")


def notice(facts: AgentFacts) -> str:
    """That a file was cut; no names and numbers, which would change the prompt whenever a file does."""
    return bootstrap_notice(facts.notice)


def bootstrap_notice(text: str) -> str:
    """The same section, wherever it stands."""
    return headed(Heading.NOTICE, foreign(text))


def injected(facts: AgentFacts) -> str:
    """That files follow (S21)."""
    del facts
    return headed(
        Heading.INJECTED,
        "These files belong to the user, who edits them; the gateway puts them into this prompt under Project Context.",
    )


def reasoning_format(facts: AgentFacts) -> str:
    """For models that mark their thoughts by tags."""
    if not facts.reasoning_tags:
        return ""
    return headed(
        Heading.REASONING_FORMAT,
        "Put all thinking inside <think>...</think> and the answer inside <final>...</final>, with nothing outside of "
        "the two. Only <final> is shown. Example: <think>They greet me.</think> <final>Good morning! What shall we "
        "start with?</final>",
    )


def project_context(facts: AgentFacts) -> str:
    """The files that every conversation gets (S57)."""
    if not facts.files:
        return ""
    return headed(
        Heading.PROJECT_CONTEXT,
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
    return lines(file_heading(file.path), _thinned(file.text))


def _thinned(text: str) -> str:
    """At most one blank line in a row: more cost tokens and say nothing."""
    while "\n\n\n" in text:
        text = text.replace("\n\n\n", "\n\n")
    return text
