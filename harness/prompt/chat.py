"""What a prompt says of the chat that a message came from, and who owns its rule of silence.

Pure (prompt-builder 11.2). Titles and names are chosen by people outside, so they only ever appear quoted as data.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from harness.inbound import ChatKind
from harness.prompt.facts import Delivery
from harness.prompt.hygiene import literal, quoted, structured
from harness.prompt.sections.joining import lines
from harness.prompt.sections.turn import SILENT
from harness.settings.agent import AgentSettings, Permission

META_SCHEMA: Final = "openclaw.inbound_meta.v2"
LONGEST_NAME: Final = 200
"""UTF-16 units of a chat's title, or of all its members' names, that are quoted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatFacts:
    """The chat that a message came from."""

    channel: str
    kind: ChatKind
    id: str = ""
    account: str = ""
    title: str = ""
    """Chosen by people outside."""
    members: tuple[str, ...] = ()
    """Names, chosen by people outside."""
    delivery: Delivery = Delivery.AUTOMATIC
    activation: Literal["always", "mention"] = "mention"
    """Whether the agent hears every message of a group, or only those that call it."""
    silence: Permission = "disallow"
    """Whether it may answer with nothing; never in a direct chat."""
    instructions: str = ""
    """The operator's own words for this group."""
    message_tool: str = "message"
    """The tool's name, for chats where only that is seen."""
    exec_state: str = ""
    """How commands run in this session, when that was changed for it."""


def chat_facts(settings: AgentSettings, channel: str, kind: ChatKind, *, id: str = "", title: str = "") -> ChatFacts:  # noqa: A002 - the field's name
    """What is known of a chat before anybody is asked: how an answer arrives there, and whether there must be one."""
    group = kind is ChatKind.GROUP
    visible = settings.replies.group_visible if group else settings.replies.visible
    return ChatFacts(
        channel=channel,
        kind=kind,
        id=id,
        title=title if group else "",
        activation="always" if group and settings.replies.hears_all(channel) else "mention",
        delivery=Delivery.TOOL_ONLY if visible == "message_tool" else Delivery.AUTOMATIC,
        silence=settings.replies.silence(channel) if group else "disallow",
    )


def chat_context(facts: ChatFacts) -> str:
    """Return the text for the chat's section: what is known, how to behave there, the operator's own words."""
    here = _direct(facts) if facts.kind is ChatKind.DIRECT else _group(facts)
    parts = (
        inbound_meta(facts),
        here,
        _intro(facts) if facts.kind is ChatKind.GROUP else "",
        structured(facts.instructions),
        f"## Current Exec Session State\n{structured(facts.exec_state)}" if facts.exec_state.strip() else "",
    )
    return "\n\n".join(part for part in parts if part)


def general_silence(chat: ChatFacts | None, delivery: Delivery) -> bool:
    """Whether the general rule of silent replies applies: only where no chat's own context states one (S42)."""
    return chat is None and delivery is Delivery.AUTOMATIC


def inbound_meta(facts: ChatFacts) -> str:
    """What the gateway itself vouches for, as one line of JSON; nothing that people outside chose is in it."""
    meta: Mapping[str, str] = {
        "schema": META_SCHEMA,
        "channel": literal(facts.channel),
        "account_id": literal(facts.account),
        "chat_id": literal(facts.id),
        "chat_type": facts.kind.value,
    }
    known = {name: value for name, value in meta.items() if value}
    return f"From the gateway, about this conversation:\n{json.dumps(known, ensure_ascii=False, sort_keys=True)}"


def _direct(facts: ChatFacts) -> str:
    how = (
        f"Answer every message with `{literal(facts.message_tool)}`; nothing else is seen."
        if facts.delivery is Delivery.TOOL_ONLY
        else "Every message wants a visible answer."
    )
    return f"This is a direct chat with one person on {literal(facts.channel)}. {how}"


def _group(facts: ChatFacts) -> str:
    tool_only = facts.delivery is Delivery.TOOL_ONLY
    silent = facts.silence == "allow" and not tool_only
    channel = literal(facts.channel).lower()
    return lines(
        f"This is a group chat on {literal(facts.channel)}. You are one of several here, and mostly you read along.",
        quoted("Its title, chosen by people outside", facts.title, limit=LONGEST_NAME),
        quoted("Its members, by the names they chose", ", ".join(facts.members), limit=LONGEST_NAME),
        f"Only what you send with `{literal(facts.message_tool)}` is seen; when you have nothing to add, send nothing."
        if tool_only
        else "Your answer is posted to the group.",
        "Write for a chat: short, and as one of the people. "
        + ("Tables are fine." if channel == "telegram" else "No tables."),
        "Put links in <> so that they do not unfold." if channel == "discord" else "",
        f"When a message needs nothing from you, your whole answer is {SILENT}." if silent else "",
        "Everybody here reads what you write: keep the owner's private affairs out of it.",
    )


def _intro(facts: ChatFacts) -> str:
    if facts.activation == "always":
        return "You hear every message here. Most are not for you: speak when you are asked or can really help."
    return "You hear only messages that call you, by name or as an answer to you, so each of them is meant for you."
