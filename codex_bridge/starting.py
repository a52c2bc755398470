"""A turn that is begun on its loaded thread: what turn/start says, and whether Codex has it.

What the operator is told then is told once for each change: layers that travel another way, an override file, edited
instructions.
"""

import logging
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Final

import anyio

from codex_bridge.aftermath import told_of
from codex_bridge.at_work import AtWork
from codex_bridge.client import CALL_DEADLINE
from codex_bridge.entries import CHANGED_KEY, entries
from codex_bridge.errors import CallTimeoutError, CodexError, UnreadableAnswerError
from codex_bridge.failures import call_failure
from codex_bridge.held import (
    OpenThread,
    after_reload,
    changes,
    holds_of,
    perhaps,
    standing_edits,
    told,
    with_chat,
)
from codex_bridge.lanes import LANE_OF, Lane
from codex_bridge.ledger import State, TurnLedger
from codex_bridge.params import ThreadSettings, now_said, turn_start
from codex_bridge.remembered import Remembered
from codex_bridge.rules import OVERRIDE, is_overridden
from codex_bridge.servers import Connection
from codex_bridge.stopping import Stopping
from codex_bridge.telling import Telling
from codex_bridge.turn import CodexTurn, SentRequest
from codex_bridge.watching import Watching
from codex_bridge.wire.requests import TURN_START, TurnStartParams
from harness.store.bound import Holds
from harness.turns import EndedBy, Notice, Trigger, TurnEvent

START_DEADLINE: Final = CALL_DEADLINE
"""Seconds to wait for the answer to turn/start; measured are 2 ms."""
ADOPTION_DEADLINE: Final = 2.0
"""Seconds to wait for turn/started when its answer is lost; on the wire they are a millisecond apart."""

logger = logging.getLogger("codex_bridge")


class Starting:
    """Begins turns on threads that are loaded.

    Args:
        remembered: What the conversations have been told.
        at_work: What runs; a turn is in it from its request on.
        stopping: Ends a turn that Codex did not confirm, or that was stopped meanwhile.
        watching: Keeps the deadlines of those that it did.
        settings: What a thread may do.
        telling: Tells what the errors mean that they fail with.
        on_known: Hands on what came of a turn before it was confirmed, its end perhaps.
    """

    def __init__(
        self,
        remembered: Remembered,
        at_work: AtWork,
        stopping: Stopping,
        watching: Watching,
        settings: ThreadSettings,
        telling: Telling,
        on_known: "Callable[[CodexTurn, TurnLedger, Iterable[TurnEvent]], None]",
    ) -> None:
        self._remembered = remembered
        self._at_work = at_work
        self._stopping = stopping
        self._watching = watching
        self._settings = settings
        self._telling = telling
        self._on_known = on_known

    async def begin(self, connection: Connection, thread: OpenThread, turn: CodexTurn) -> None:
        """Begin a turn on its thread; when this returns it is known to run, or to be over.

        Raises:
            CodexError: Codex refused, or went away, or did not begin it; then it does not run either.
            NoThreadError: It is a summary, and there is nothing to summarise.
        """
        thread_id = thread.opened.thread.id
        counted = self._at_work.counted.get(thread_id)
        ledger = turn.ledger = TurnLedger(thread_id, self._telling.for_zone(turn.request.zone), counted=counted)
        self._at_work.turns[ledger.thread_id] = turn
        self._watching.reopen(turn)
        if turn.compacts:
            from codex_bridge.compaction import begin_compaction  # few conversations are summarised on request

            ledger.summarises = True
            await begin_compaction(connection, thread, turn, ledger, self._stopping)
            return
        turn.thread = thread.opened
        capabilities, model = connection.server.capabilities, turn.request.model or thread.opened.model
        hears, takes = capabilities.honours_mode_text(model), capabilities.takes_context
        said_so_far, turn.aftermath = turn.aftermath, told_of(thread.holds.ended)
        if not hears or not takes or turn.aftermath != said_so_far:
            turn.route(copied=turn.lanes.copied, hears_mode=hears, takes_context=takes)
        trigger = turn.request.trigger
        turn.lanes = with_chat(turn.lanes, thread, trigger)
        after_reload(thread, turn.lanes, self._settings)
        before = thread.holds
        of_chat = trigger is Trigger.CHAT
        said, ended = now_said(before.said, turn.lanes.standing, thread.context_round, of_chat=of_chat)
        now = holds_of(turn.lanes, tools=before.tools, heard=turn.heard, said=said)
        changed = changes(thread, now, turn.lanes)
        edits = {**standing_edits(thread, now, turn.lanes), **changed}
        if edits or turn.lanes.edits:
            turn.lanes = replace(turn.lanes, edits=entries(CHANGED_KEY, edits))
        with_context = bool(now.context) and now.context != before.context
        params = turn_start(
            turn.request,
            turn.lanes,
            thread.opened,
            self._settings,
            with_context=with_context,
            ended=ended,
            context_round=thread.context_round,
            heard=turn.heard,
        )
        shown = params
        if turn.lanes.pictures:
            from codex_bridge.pictures import with_pictures, without_pictures  # most messages bring none

            if turn.pictures_refused:
                params = shown = without_pictures(params)
            else:
                params, shown = await with_pictures(params, turn.lanes.pictures)
        _tell_detours(turn, thread, model)
        _tell_override(turn, thread)
        _tell_changes(turn, before, changed)
        turn.sent.append(SentRequest(TURN_START.name, shown))
        await self._remembered.will_say(connection, turn.key, said)
        # Once the request is out, the turn is Codex's, and only turn/interrupt ends it.
        with anyio.CancelScope(shield=True):
            # Not after the answer: a compaction that follows it takes this back.
            is_told = with_context or now.context == before.context
            thread.holds = now if is_told else replace(now, context=before.context)
            try:
                await self.ask_for(connection, turn, ledger, params)
            except (CallTimeoutError, UnreadableAnswerError):
                thread.holds, thread.edits = perhaps(before, now), frozenset()
                raise
            except CodexError:
                thread.holds = before
                raise
            told(thread, now, turn.lanes, trigger, edits)
            self._watching.confirm(turn)
            if turn.stopped:
                await self._stopping.stop(turn)

    async def ask_for(
        self, connection: Connection, turn: CodexTurn, ledger: TurnLedger, params: TurnStartParams
    ) -> None:
        """Send turn/start; when this returns the turn is known to run, or to be over.

        Raises:
            CodexError: Codex refused, or went away, or did not begin it; then it does not run either.
        """
        try:
            started = await connection.server.client.call(TURN_START, params, deadline=START_DEADLINE)
        except (CallTimeoutError, UnreadableAnswerError) as error:
            if not await self._adopted(turn, ledger):
                sentence = f"Codex did not begin this turn: {error}."
                ledger.will_end(EndedBy.DEADLINE, sentence, call_failure(error))
                await self._stopping.stop(turn)  # it may run all the same
                raise
            logger.warning("a turn for %s is followed though %s", turn.request.session_key, error)
        else:
            self._on_known(turn, ledger, ledger.accept(started.turn))

    async def _adopted(self, turn: CodexTurn, ledger: TurnLedger) -> bool:
        """Whether Codex runs the turn although its answer to turn/start did not reach us."""
        self._on_known(turn, ledger, ledger.adopt())
        if ledger.state is State.OPENING:
            with anyio.move_on_after(ADOPTION_DEADLINE):
                await turn.until_known()
        return ledger.state is not State.OPENING


_DETOURS: Final = {
    Lane.TURN_ADDED: "{model} ignores turn-scoped instructions, so it gets these as additional context: {names}.",
    Lane.TURN_BLOCK: "This server takes no additional context, so these stand in the input of each turn: {names}.",
}


def _tell_detours(turn: CodexTurn, thread: OpenThread, model: str) -> None:
    """Say, once for each change, which layers travel another way than on other models and servers."""
    moved = [each for each in turn.lanes.placed if each.lane in _DETOURS and each.lane is not LANE_OF[each.layer.name]]
    names = tuple(each.layer.name.value.rpartition("/")[2].replace("-", " ") for each in moved)
    told = (model, *names) if names else ()
    if told and told != thread.told:
        turn.buffer.push(Notice(_DETOURS[moved[0].lane].format(model=model, names=", ".join(names))))
    thread.told = told


def _tell_override(turn: CodexTurn, thread: OpenThread) -> None:
    """Say, once for each time that it appears, that Codex's own override file is not obeyed."""
    overridden = is_overridden(turn.request.workspace)
    if overridden and not thread.told_override:
        path = turn.request.workspace / OVERRIDE
        turn.buffer.push(Notice(f"{path} is not read: the rules of an agent stand in AGENTS.md; remove it."))
    thread.told_override = overridden


_EDITED: Final = {"rules": "AGENTS.md", "instructions": "the standing instructions (TOOLS.md is one of them)"}


def _tell_changes(turn: CodexTurn, before: Holds, changed: Iterable[str]) -> None:
    # Rules of which the conversation holds no version are only said to it again, see `held.holds_of`.
    names = " and ".join(_EDITED[name] for name in changed if name != "rules" or before.rules)
    if names:
        text = (
            f"{names[0].upper()}{names[1:]} changed since this conversation was told; this turn tells the new version."
        )
        turn.buffer.push(Notice(text))
