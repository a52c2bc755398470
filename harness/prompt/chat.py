"""What a prompt says of the chat that a message came from, and who owns its rule of silence.

Pure (prompt-builder 11.2). Titles and names are chosen by people outside, so they only ever appear quoted as data, and
where a backend can carry them with less authority than our own sentences, apart from those.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Final

from harness.inbound import ChatKind, Sender
from harness.prompt.facts import ChatFacts, TurnFacts
from harness.prompt.hygiene import literal, quoted
from harness.prompt.sections.delivery import channel_id, group_silence, is_direct, rich_text, tool_only
from harness.prompt.sections.headings import Heading, foreign, headed
from harness.prompt.sections.joining import lines
from harness.prompt.tool_list import Tools
from harness.replies import NO_REPLY
from harness.replies.mode import wanted_delivery
from harness.settings.agent import AgentSettings
from harness.workspace.boundaries import head

META_SCHEMA: Final = "openclaw.inbound_meta.v2"
LONGEST_NAME: Final = 200
"""UTF-16 units of a chat's title, of all its members' names, or of one name of a sender, that are quoted."""


def chat_facts(settings: AgentSettings, channel: str, kind: ChatKind, *, id: str = "", title: str = "") -> ChatFacts:  # noqa: A002 - the field's name
    """What is known of a chat before anybody is asked: how an answer arrives there, and whether there must be one."""
    group = kind is ChatKind.GROUP
    return ChatFacts(
        channel=channel,
        kind=kind,
        id=id,
        title=title if group else "",
        activation="always" if group and settings.replies.hears_all(channel) else "mention",
        delivery=wanted_delivery(settings.replies, kind),
        silence=settings.replies.silence(channel) if group else "disallow",
    )


def chat_context(turn: TurnFacts, found: Tools, *, messaging: bool = False, named: bool = True) -> str:
    """Return what is said of the turn's chat: what is known, how to behave there, the operator's own words.

    Empty for a turn that no chat caused.

    Args:
        turn: The turn.
        found: Its tools.
        messaging: A section on messaging stands beside it, which says where an answer goes.
        named: Quote `chat_names` in it.
    """
    facts = turn.chat
    if facts is None:
        return ""
    group = facts.kind is ChatKind.GROUP
    parts = (
        inbound_meta(facts),
        _group(facts, turn, found, messaging=messaging, named=named) if group else _direct(facts, turn, found),
        _intro(facts) if group and turn.heartbeat is None else "",
        foreign(facts.instructions),
        headed(Heading.EXEC_STATE, foreign(facts.exec_state)),
    )
    return "\n\n".join(part for part in parts if part)


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


def chat_names(facts: ChatFacts, *, whose: str = "The group's") -> str:
    """What people outside call a group, and themselves in it, quoted as data; empty when nothing is known."""
    return lines(
        quoted(f"{whose} title, chosen by people outside", facts.title, limit=LONGEST_NAME),
        quoted(f"{whose} members, by the names they chose", ", ".join(facts.members), limit=LONGEST_NAME),
    )


def sender_names(senders: Sequence[Sender]) -> str:
    """Who writes in a group, as one line of JSON: no name can pass for another one, nor for an id.

    Of several messages by different people, who wrote each of them.
    """
    label = "Who writes in the group now, until another one is named, by the names that this person chose"
    written: object = _names(senders[0])
    if any(each != senders[0] for each in senders):
        label = f"Who wrote each of the next {len(senders)} messages in the group, by the names that these people chose"
        written = [_names(each) for each in senders]
    return quoted(label, json.dumps(written, ensure_ascii=False, sort_keys=True))


def _names(sender: Sender) -> dict[str, str]:
    chosen = {"id": sender.id, "name": sender.name, "username": sender.username}
    return {key: head(literal(value), LONGEST_NAME) for key, value in chosen.items() if value}


def _direct(facts: ChatFacts, turn: TurnFacts, found: Tools) -> str:
    where = f"This is a direct chat with one person on {literal(facts.channel)}."
    if not is_direct(turn):
        return where
    if tool_only(turn, found):
        return f"{where} Answer every message with `{found.called('message')}`; nothing else is seen."
    return f"{where} Every message wants a visible answer."


def _group(facts: ChatFacts, turn: TurnFacts, found: Tools, *, messaging: bool, named: bool) -> str:
    spawn = found.called("sessions_spawn")
    return lines(
        f"This is a group chat on {literal(facts.channel)}. You are one of several here"
        + (", and mostly you read along." if facts.activation == "always" else "."),
        chat_names(facts, whose="Its") if named else "",
        _posting(turn, found, messaging=messaging),
        "Write for a chat: short, and as one of the people. "
        + ("Tables are fine." if rich_text(turn) else "No tables."),
        "Put links in <> so that they do not unfold." if channel_id(turn) == "discord" else "",
        f"Give longer work to a subagent with `{spawn}`, so that the chat goes on."
        if found.has("sessions_spawn")
        else "",
        f"When a message needs nothing from you, your whole answer is {NO_REPLY}."
        if group_silence(turn, found)
        else "",
        "Everybody here reads what you write: keep the owner's private affairs out of it.",
    )


def _posting(turn: TurnFacts, found: Tools, *, messaging: bool) -> str:
    if not tool_only(turn, found):
        return "" if messaging or turn.heartbeat is not None else "Your answer is posted to the group."
    return f"Only what you send with `{found.called('message')}` is seen; when you have nothing to add, send nothing."


def _intro(facts: ChatFacts) -> str:
    if facts.activation == "always":
        return "You hear every message here. Most are not for you: speak when you are asked or can really help."
    return "You hear only messages that call you, by name or as an answer to you, so each of them is meant for you."
