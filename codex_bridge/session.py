"""What is known of a conversation at the moment: its thread, its model, how full it is, and the limits of the account.

Loaded when somebody asks.
"""

import logging
from collections.abc import Collection
from typing import Final

from codex_bridge.at_work import AtWork
from codex_bridge.errors import CodexError
from codex_bridge.limits import LOOK_WITHIN
from codex_bridge.servers import Connection
from codex_bridge.telling import Telling
from codex_bridge.turn import CodexTurn
from codex_bridge.wire.besides import LIMITS_READ, AccountLimits, LimitsReadParams, LimitWindow
from harness.session_facts import Allowance, SessionFacts
from harness.turns import Usage

NAME: Final = "Codex"

logger = logging.getLogger("codex_bridge")


async def session_facts(
    connection: Connection | None, at_work: AtWork, telling: Telling, session_key: str, message_key: str
) -> SessionFacts:
    """What is known now, see `harness.session_facts.TellsSessions`."""
    if connection is None:
        return SessionFacts(backend=NAME)
    turn = _running(at_work, session_key, message_key)
    thread = turn.thread if turn is not None else None
    if thread is None and (loaded := connection.threads.get(session_key)) is not None:
        thread = loaded.opened
    backend = f"{NAME} {connection.server.version.text}"
    if thread is None:
        return SessionFacts(backend=backend, allowances=await _allowances(connection, telling))
    counted = at_work.counted.get(thread.thread.id)
    asked = turn.request if turn is not None else None
    model = (asked.model if asked is not None else None) or thread.model
    total = counted.total if counted is not None else None
    return SessionFacts(
        backend=backend,
        conversation=thread.thread.id,
        model=model,
        effort=(asked.effort if asked is not None else None) or thread.reasoning_effort or "",
        context_used=counted.last.total_tokens if counted is not None else None,
        context_window=(counted.model_context_window if counted is not None else None)
        or connection.server.capabilities.context_tokens(model),
        usage=None
        if total is None
        else Usage(total.input_tokens, total.cached_input_tokens, total.output_tokens, total.reasoning_output_tokens),
        allowances=await _allowances(connection, telling),
    )


def unknown(model: str, known: Collection[str]) -> str:
    """Say that a catalogue does not have a model; empty when it has, or has none at all."""
    if not known or model in known:
        return ""
    return f"Codex does not know the model {model!r}; it knows {', '.join(sorted(known))}."


def _running(at_work: AtWork, session_key: str, message_key: str) -> CodexTurn | None:
    turns = [turn for turn in at_work.turns.values() if turn.request.session_key == session_key]
    return next((turn for turn in turns if turn.request.message_key == message_key), turns[0] if turns else None)


async def _allowances(connection: Connection, telling: Telling) -> tuple[Allowance, ...]:
    """The limits as the provider states them now, or as they were told last."""
    try:
        told = await connection.server.client.call(LIMITS_READ, LimitsReadParams(), deadline=LOOK_WITHIN)
        limits: AccountLimits | None = told.rate_limits
    except CodexError as error:  # a provider that has no accounts is not asked
        logger.info("the limits of the account are not known: %s", error)
        limits = telling.limits
    return () if limits is None else allowances_of(limits)


def allowances_of(limits: AccountLimits) -> tuple[Allowance, ...]:
    """The limits that a provider states, each by the time over which it is counted."""
    found = [_allowance(window) for window in (limits.primary, limits.secondary) if window is not None]
    if (spent := limits.individual_limit) is not None:
        used = 100.0 - spent.remaining_percent
        found.append(Allowance(name="spending", used=used, resets_at=spent.resets_at))
    return tuple(found)


def _allowance(window: LimitWindow) -> Allowance:
    minutes = window.window_duration_mins
    return Allowance(
        name="the account" if not minutes else _length(minutes),
        used=window.used_percent,
        resets_at=window.resets_at,
    )


def _length(minutes: int) -> str:
    """A length of time in words, such as "5 h" or "7 d"."""
    for unit, size in (("d", 24 * 60), ("h", 60)):
        if minutes % size == 0:
            return f"{minutes // size} {unit}"
    return f"{minutes} min"
