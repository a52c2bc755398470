"""What holds for this turn alone: listeners, files of the moment, delivery, run time. All below the cache boundary."""

import json
import re
from collections.abc import Sequence
from typing import Final

from harness.heartbeat.wording import RESPONSE_TOOL, heartbeat_section
from harness.inbound import ChatKind
from harness.prompt.chat import chat_context
from harness.prompt.facts import AgentFacts, Elevation, Mode, Process, RuntimeFacts, TurnFacts
from harness.prompt.hygiene import capability_ids, literal
from harness.prompt.owners import owner_ids
from harness.prompt.sections.delivery import (
    acknowledgement,
    channel_id,
    channel_of,
    general_silence,
    is_direct,
    is_for_people,
    rich_text,
    tool_only,
)
from harness.prompt.sections.headings import Heading, foreign, headed, unforged
from harness.prompt.sections.joining import lines
from harness.prompt.sections.place import bootstrap_notice, document, in_order, remarks
from harness.prompt.sections.work import acp_possible, tools
from harness.prompt.subagent import subagent_context
from harness.prompt.tool_list import Tools
from harness.replies import NO_REPLY
from harness.workspace.first_run import FirstRunMode
from harness.workspace.names import BOOTSTRAP, base_name

NATIVE_APPROVALS: Final = frozenset({"discord", "googlechat", "matrix", "qqbot", "slack", "telegram", "signal"})
"""Channels with approval cards or buttons of their own (prompt-builder 2.B, 30)."""
_ENDS: Final = re.compile('[|="]|::')
"""What may end a value in a line of several."""
EMBED_ROOT: Final = "/__openclaw__/canvas/"
_BLOCKED: Final = {"host-policy": "host policy", "channel": "channel constraints", "sandbox": "sandbox constraints"}
_LEVELS: Final = {
    "on": "commands run on the host, with approvals",
    "ask": "commands run on the host, with approvals",
    "full": "commands run on the host, without approvals",
    "off": "commands stay in the sandbox",
}


def dynamic_context(agent: AgentFacts, turn: TurnFacts) -> str:
    """The files that not every turn gets, and a warning that not every turn gives."""
    # One such section is enough, and it names no file.
    notice = "" if bootstrap_notice(agent.notice) else bootstrap_notice(turn.notice)
    if not turn.files:
        return notice
    return lines(
        notice,
        (Heading.DYNAMIC_CONTEXT if agent.files else Heading.PROJECT_CONTEXT).value,
        "The following files of the workspace are for this conversation, or change often.",
        *remarks(turn.files),
        *map(document, in_order(turn.files)),
    )


def bootstrap_pending(agent: AgentFacts, turn: TurnFacts) -> str:
    """The first run of a workspace."""
    del agent
    match turn.first_run:
        case FirstRunMode.NONE:
            return ""
        case FirstRunMode.FULL:
            below = any(base_name(file.path).lower() == BOOTSTRAP.lower() for file in turn.files)
            return headed(
                Heading.BOOTSTRAP_PENDING,
                "This workspace is new, and its BOOTSTRAP.md has not been worked through. "
                + ("It stands above." if below else "Read it first."),
                "Follow it now, as far as it can be done here, and begin your first visible answer as it says; no "
                "ordinary greeting. If something keeps you from it, say what. Never pretend that it is done.",
                *map(foreign, turn.notes),
            )
        case FirstRunMode.LIMITED:
            return headed(
                Heading.BOOTSTRAP_PENDING,
                "This workspace is new, but its BOOTSTRAP.md cannot be worked through in this run. Do not claim that "
                "it is done.",
                "That concerns the owner: do not bring it up in this group."
                if turn.chat is not None and turn.chat.kind is ChatKind.GROUP
                else "Say so in a sentence and offer the next step: an ordinary chat with the agent, or that the owner "
                "deletes BOOTSTRAP.md.",
            )


def memory(agent: AgentFacts, turn: TurnFacts) -> str:
    """How to look things up. Below the boundary, since not every listener may."""
    del agent
    return headed(Heading.MEMORY, *map(foreign, turn.memory))


def output_directives(agent: AgentFacts, turn: TurnFacts) -> str:
    """Attachments, voice notes, reply tags (S24)."""
    found = tools(agent)
    if tool_only(turn, found):
        return headed(
            Heading.OUTPUT_DIRECTIVES,
            f"Files, voice and replies go through `{found.called('message')}`: media or attachments, asVoice, replyTo.",
            "MEDIA lines and [[...]] tags in your text do nothing here.",
        )
    return headed(
        Heading.OUTPUT_DIRECTIVES,
        "- MEDIA:<path or url> alone on a line attaches the file.",
        "- [[audio_as_voice]] sends the attached audio as a voice note.",
        "- [[reply_to_current]] as the very first thing answers the message itself; [[reply_to:<id>]] another one, "
        "only with an id that you were given.",
        "They are taken out before people see the text.",
    )


def silent_replies(agent: AgentFacts, turn: TurnFacts) -> str:
    """The general rule, where nothing else owns it (S42)."""
    if not general_silence(turn, tools(agent)):
        return ""
    return headed(
        Heading.SILENT_REPLIES,
        f"When there is nothing to say to anybody, your whole message is {NO_REPLY}. It is never added to an answer "
        "and never put in markdown or code.",
        f'Wrong: "All done. {NO_REPLY}"',
        f'Wrong: "`{NO_REPLY}`"',
        f"Right: {NO_REPLY}",
    )


def approvals(agent: AgentFacts, turn: TurnFacts) -> str:
    """What to do when a command waits for a person (S37)."""
    if agent.contribution.tool_call_style:
        return ""
    capable = {"inlinebuttons", "nativeapprovals"} & set(capability_ids(turn.capabilities))
    if capable or channel_id(turn) in NATIVE_APPROVALS:
        return headed(
            Heading.APPROVALS,
            "When a command waits for approval, the chat shows a card or buttons: rely on these. Add a plain /approve "
            "line only when the tool result says that approvals in the chat are not available, or that a typed one is "
            "the only way.",
        )
    return headed(
        Heading.APPROVALS,
        'When a command waits for approval, send the exact /approve line from "Reply with:" in the tool result.',
    )


def acp_threads(agent: AgentFacts, turn: TurnFacts) -> str:
    """Coding agents that live in a thread of the chat."""
    found = tools(agent)
    bound = "threadbound-acp-spawn" in capability_ids(turn.capabilities)
    if not (bound and acp_possible(agent) and found.has("sessions_spawn")):
        return ""
    spawn = found.called("sessions_spawn")
    persistent = (
        f"In this channel start a coding agent as a lasting session in a thread of its own: `{spawn}` with "
        'thread=true, mode="session".'
        if channel_id(turn) == "discord"
        else ""
    )
    way = f" with `{found.called('message')}`" if found.has("message") else ""
    alone = f"Do not make the thread yourself{way}."
    return headed(Heading.ACP_THREADS, persistent, alone)


def elevated(agent: AgentFacts, turn: TurnFacts) -> str:
    """Whether commands may leave the sandbox, for this sender (S22)."""
    facts = turn.elevation
    if agent.sandbox is None or facts is None:
        return ""
    return headed(Heading.ELEVATED, *(_elevation(facts) if facts.allowed else _no_elevation(facts)))


def _elevation(facts: Elevation) -> list[str]:
    full = facts.full_available is True
    choices = "on|off|ask|full" if full else "on|off|ask"
    now = _LEVELS[facts.level] if full or facts.level != "full" else "commands run on the host, with approvals"
    return [
        "Commands may leave the sandbox in this session.",
        f"The person switches that with /elevated {choices}; you may send the same line when you need it.",
        _why_not_full(facts),
        f"Level now: {facts.level} ({now}"
        + ("; full is not available)." if facts.level == "full" and not full else ")."),
    ]


def _no_elevation(facts: Elevation) -> list[str]:
    return [
        "Commands may not leave the sandbox in this session.",
        _why_not_full(facts),
        "Level now: off. Do not suggest /elevated full.",
    ]


def _why_not_full(facts: Elevation) -> str:
    if facts.full_available is not False:
        return ""
    return f"Full access is blocked by {_BLOCKED.get(facts.full_blocked, 'runtime constraints')}."


def owners(agent: AgentFacts, turn: TurnFacts) -> str:
    """Who is on the list of allowed senders."""
    del agent
    ids = owner_ids(turn.owners, turn.owner)
    if not ids:
        return ""
    return headed(
        Heading.OWNERS,
        f"Allowed senders: {', '.join(ids)}. To be on this list does not make somebody the owner.",
    )


def embed(agent: AgentFacts, turn: TurnFacts) -> str:
    """Rich content in the browser chat."""
    if channel_id(turn) != "webchat":
        return ""
    found = tools(agent)
    other = f"attachments of `{found.called('message')}`" if tool_only(turn, found) else "MEDIA lines"
    return headed(
        Heading.EMBED,
        f"This chat shows embedded content, and no other does; it has nothing to do with {other}.",
        'Write [embed ref="<canvas id>" /] for a canvas, or '
        f'[embed url="{EMBED_ROOT}<file>" /] for a hosted file; always with quotes around the value.',
        f"No local paths, no file: addresses, nothing outside of {EMBED_ROOT}, which holds this profile's files alone.",
    )


def messaging(agent: AgentFacts, turn: TurnFacts) -> str:
    """Who hears what, and how (S28)."""
    found = tools(agent)
    if not is_for_people(turn):
        return ""
    return headed(
        Heading.MESSAGING, _here(found, turn), *_formatting(turn), *_elsewhere(found, turn), *_message_tool(found, turn)
    )


def _here(found: Tools, turn: TurnFacts) -> str:
    if turn.heartbeat is not None:
        return "- What you have to tell on this heartbeat is delivered by the gateway; give it as the poll says."
    if tool_only(turn, found):
        return (
            "- Nothing that you write is delivered by itself: people here see only what you send with "
            f"`{found.called('message')}`."
        )
    return "- Your answer goes to the chat that the message came from, by itself."


def _formatting(turn: TurnFacts) -> list[str]:
    if channel_id(turn) != "telegram":
        return []
    if rich_text(turn):
        return ["- Telegram shows rich text here: headings, lists and tables arrive as you write them."]
    return ["- Telegram shows simple formatting only: bold, italics, links, code; no tables."]


def _elsewhere(found: Tools, turn: TurnFacts) -> list[str]:
    quiet = f", or {NO_REPLY} if nobody needs to know" if general_silence(turn, found) else ""
    return [
        f"- For another session use `{found.called('sessions_send')}`." if found.has("sessions_send") else "",
        _subagents(found),
        f"- A runtime event (a command or subagent that ended) is for you: tell its news in your own words{quiet}.",
        "- Never reach a chat service through commands or curl; the gateway does that.",
    ]


def _subagents(found: Tools) -> str:
    parts = [
        f"start with `{found.called('sessions_spawn')}`" if found.has("sessions_spawn") else "",
        f"look after with `{found.called('subagents')}`" if found.has("subagents") else "",
        f"wait with `{found.called('sessions_yield')}`" if found.has("sessions_yield") else "",
    ]
    said = ", ".join(part for part in parts if part)
    return f"- Subagents: {said}." if said else ""


def _message_tool(found: Tools, turn: TurnFacts) -> list[str]:
    if not found.has("message"):
        return []
    message, facts = f"`{found.called('message')}`", turn.message
    channels = capability_ids(facts.channels)
    here = channel_id(turn)
    quiet = "" if is_direct(turn) else "; with nothing to add, stay quiet"
    buttons = "inlinebuttons" in capability_ids(turn.capabilities)
    return [
        Heading.MESSAGE_TOOL.value,
        f"- {message} sends messages and uses what channels offer: media, polls, reactions, edits.",
        f"- Send one complete message with {message}, not a running commentary{quiet}."
        if tool_only(turn, found)
        else f"- Do not repeat your answer with {message}; it is for another place, a file, or before the end.",
        "- Every call needs a target; there is no default one here."
        if facts.explicit_target
        else "- Without a target it goes to this chat; name a target for any other.",
        f"- Channels to choose from: {', '.join(channels)}." if len(channels) > 1 and here not in channels else "",
        f"- When {message} has told people everything, your final answer is {NO_REPLY}."
        if general_silence(turn, found)
        else "",
        _buttons(here, shown=True if buttons else turn.buttons),
        *(foreign(hint) for hint in facts.hints),
    ]


def _buttons(channel: str, *, shown: bool | None) -> str:
    if not channel or channel == "slack":
        return ""
    if shown:
        return '- Buttons: `buttons=[[{"text": ..., "callback_data": ...}]]`; a press comes back as a message.'
    what = "This chat shows no buttons" if shown is False else "Whether this chat shows buttons is not known"
    key = f"channels.{literal(channel)}.capabilities.inlineButtons"
    return f"- {what}; the owner can allow them with {key} (dm, group, all or allowlist)."


def voice(agent: AgentFacts, turn: TurnFacts) -> str:
    """Spoken replies."""
    del agent
    hint = foreign(turn.speech)
    return headed(Heading.VOICE, hint)


def chat(agent: AgentFacts, turn: TurnFacts) -> str:
    """What is said of the chat, or of a subagent's task (S41)."""
    found = tools(agent)
    said = (
        chat_context(turn, found, messaging=agent.mode is Mode.FULL and is_for_people(turn)),
        subagent_context(turn.subagent, found),
        foreign(turn.extra),
    )
    helper = turn.subagent is not None or agent.mode is Mode.MINIMAL
    return headed(Heading.SUBAGENT if helper else Heading.GROUP_CHAT, "\n\n".join(each for each in said if each))


def reactions(agent: AgentFacts, turn: TurnFacts) -> str:
    """How freely to react with emoji."""
    del agent
    facts = turn.reactions
    if facts is None:
        return ""
    where = f" on {name}" if (name := literal(facts.channel).strip()) else ""
    rule = (
        f"React with an emoji{where} only when it really fits: at most one in five to ten exchanges."
        if facts.level == "minimal"
        else f"React with emoji{where} freely, wherever a person would."
    )
    return headed(Heading.REACTIONS, rule)


def dynamic_suffix(agent: AgentFacts, turn: TurnFacts) -> str:
    """What the provider adds below the boundary."""
    del agent
    return turn.suffix


def heartbeats(agent: AgentFacts, turn: TurnFacts) -> str:
    """The rule for polls (S25)."""
    found = tools(agent)
    ack = acknowledgement(found, turn) if turn.heartbeat_rule else None
    return headed(Heading.HEARTBEATS, heartbeat_section(ack, found.called(RESPONSE_TOOL)) if ack else "")


def schedule(agent: AgentFacts, turn: TurnFacts) -> str:
    """What holds for a turn that a schedule started."""
    del agent
    text = foreign(turn.schedule)
    return headed(Heading.SCHEDULE, text)


def runtime(agent: AgentFacts, turn: TurnFacts) -> str:
    """Where the run takes place (S26, S27)."""
    facts = turn.runtime
    shown = "hidden unless switched on" if turn.reasoning == "off" else f"shown ({turn.reasoning})"
    return headed(
        Heading.RUNTIME,
        runtime_line(facts, turn),
        identity_line(facts.model),
        *_processes(facts.processes, tools(agent)),
        f"Reasoning: {turn.reasoning} ({shown}). /reasoning switches it; /status shows it.",
    )


def runtime_line(facts: RuntimeFacts, turn: TurnFacts) -> str:
    """The facts on one line, in a fixed order (prompt-builder 2.E)."""
    system = f"{facts.os} ({facts.arch})" if facts.os and facts.arch else facts.os
    channel = literal(channel_of(turn)).strip().lower()
    pairs = (
        ("agent", facts.agent),
        ("session", facts.session),
        ("sessionId", facts.session_id),
        ("host", facts.host),
        ("repo", facts.repo),
        ("os", system),
        ("arch", "" if facts.os else facts.arch),
        ("node", facts.node),
        ("model", facts.model),
        ("default_model", facts.default_model),
        ("shell", facts.shell),
        ("channel", channel),
        ("capabilities", (",".join(capability_ids(turn.capabilities)) or "none") if channel else ""),
        ("thinking", turn.thinking or "off"),
    )
    return "Runtime: " + " | ".join(f"{name}={clean}" for name, value in pairs if (clean := _value(value)))


def _value(text: str) -> str:
    """A value that cannot pass for more than one: what could end it is put in quotes."""
    clean = literal(text).strip()
    return json.dumps(clean, ensure_ascii=False) if _ENDS.search(clean) else clean


IDENTITY_PREFIX: Final = "Current model identity:"


def identity_line(model: str) -> str:
    """Which model answers; empty when that is not known."""
    name = literal(model).strip()
    return f"{IDENTITY_PREFIX} {name}. Say so when somebody asks which model you are." if name else ""


def _processes(commands: Sequence[Process], found: Tools) -> list[str]:
    if not commands:
        return []
    rows = [
        unforged(
            f"- {_value(each.id)} {_value(each.status)}"
            + (f" pid={each.pid}" if each.pid is not None else "")
            + (f" cwd={_value(each.cwd)}" if each.cwd else "")
            + (f" :: {literal(each.name)}" if each.name else "")
        )
        for each in commands
    ]
    shown = f"`{found.called('process')}` lists them and shows their output." if found.has("process") else ""
    return ["Commands of this session in the background:", *rows, shown]
