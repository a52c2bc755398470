"""What is printed of heartbeats, for a person or as data."""

import json
import sys
from dataclasses import dataclass, field
from datetime import datetime

from codex_bridge.cli.printed import Printed, file_lines, messages_of, reactions_data, sent_data
from codex_bridge.cli.saying import said
from harness.clock import format_user_time
from harness.delivery.parcel import deliverable
from harness.heartbeat.events import (
    Began,
    Deferred,
    Ended,
    Failed,
    GaveWay,
    HeartbeatEvent,
    Noticed,
    Scheduled,
    Skipped,
)
from harness.heartbeat.outcome import Status, Verdict
from harness.heartbeat.skips import WHY, SkipReason
from harness.heartbeat.target import Target
from harness.masking import mask
from harness.replies.gate import Say, Silent
from harness.replies.media import MediaRules
from harness.settings.agent import AgentSettings


@dataclass
class Chats:
    """What chats get of heartbeats, or would get."""

    target: Target | None
    """Where alerts would go."""
    printed: Printed
    """What tools sent."""
    files: MediaRules = field(default_factory=MediaRules)

    def alert(self, verdict: Verdict) -> Say | Silent:
        """What would be told, with the files that may go out, if there were no reason to hold it."""
        if verdict.skip is SkipReason.SENT:
            return Silent(said=True)
        text = verdict.text or verdict.withheld
        say = Say((text,) if text else (), media=verdict.media, gone=verdict.gone)
        return deliverable(say, self.files, self.printed.aside) if text or verdict.media else Silent()

    def data(self, verdict: Verdict) -> list[dict[str, object]]:
        """What `--json` prints of them; what tools sent is told with the first heartbeat after it."""
        sent, self.printed.outbox = self.printed.outbox, []
        if self.target is not None:
            sent += messages_of(self.alert(verdict), channel=self.target.channel, chat=self.target.chat)
        return list(map(sent_data, sent))


class Teller:
    """Prints what comes of heartbeats, for a person or as one line of JSON for each event."""

    def __init__(self, settings: AgentSettings, chats: Chats, *, as_json: bool) -> None:
        self._settings = settings
        self._json = as_json
        self._chats = chats
        self._target = chats.target

    def __call__(self, event: HeartbeatEvent) -> None:
        """Hear of an event."""
        if self._json:
            print(json.dumps(_data(event, self._chats), ensure_ascii=False), flush=True)
            return
        for line, to_person in self._lines(event):
            print(line, file=sys.stdout if to_person else sys.stderr, flush=True)

    def _lines(self, event: HeartbeatEvent) -> list[tuple[str, bool]]:
        match event:
            case Ended(verdict=verdict):
                alert = self._chats.alert(verdict)
                if isinstance(alert, Silent) and alert.said:
                    return [(f"[nothing more would be sent: {WHY[SkipReason.SENT]}]", False)]
                if verdict.status is Status.QUIET or isinstance(alert, Silent):
                    return [("[quiet: nothing would be sent]", False)]
                whom = f"{self._target.channel} {self._target.chat}" if self._target else "nobody"
                why = "" if self._target else f": {WHY[SkipReason.NO_TARGET]}"
                shown = [(line, True) for line in (*alert.texts, *file_lines(alert.media))]
                return [*shown, (f"[would be sent to {whom}{why}]", False)]
            case Skipped(reason=reason):
                return [(f"[skipped: {WHY[reason]} ({reason})]", False)]
            case Deferred(until=until, why=why):
                return [(f"[waits until {self._time(until)}: {why}]", False)]
            case Failed(error=error):
                return [(f"codex-bridge: {said(error)}", False)]
            case GaveWay(again=again):
                return [(f"[gave way to a message; once more at {self._time(again)}]", False)]
            case Noticed(text=text):
                return [(f"[{said(text)}]", False)]
            case Began(session_key=key):
                return [(f"[began in {key}]", False)]
            case Scheduled(at=at):
                return [(f"[next: {self._time(at) if at else 'none'}]", False)]

    def _time(self, at: datetime) -> str:
        return format_user_time(at, self._settings.time.zone, clock=self._settings.time.clock)


def _data(event: HeartbeatEvent, chats: Chats) -> dict[str, object]:
    match event:
        case Ended(verdict=verdict, result=result):
            return {
                "event": "ended",
                "quiet": verdict.status is Status.QUIET,
                "text": verdict.text or verdict.withheld,
                "outbox": chats.data(verdict),
                **reactions_data(chats.printed),
                "thread": result.conversation,
                "turn": result.turn,
            }
        case Skipped(wake=wake, reason=reason, again=again):
            return {
                "event": "skipped",
                "wake": wake.value,
                "reason": reason,
                "why": WHY[reason],
                "again": iso(again),
            }
        case Deferred(wake=wake, until=until, why=why):
            return {"event": "deferred", "wake": wake.value, "until": iso(until), "why": why}
        case Failed(error=error, detail=detail):
            return {"event": "failed", "error": said(error), "detail": mask(detail)}
        case GaveWay(again=again):
            return {"event": "gave-way", "again": iso(again)}
        case Noticed(text=text):
            return {"event": "notice", "text": text}
        case Began(wake=wake, session_key=key, at=at):
            return {"event": "began", "wake": wake.value, "session": key, "at": iso(at)}
        case Scheduled(at=at):
            return {"event": "scheduled", "at": iso(at)}


def account_of(told: list[HeartbeatEvent], chats: Chats) -> dict[str, object]:
    """What `--once --json` prints: what came of it, what was said meanwhile, and when the next one is due."""
    account: dict[str, object] = {}
    for event in told:
        if isinstance(event, Skipped | Deferred | Ended | GaveWay | Failed):
            account |= _data(event, chats)
        elif isinstance(event, Began):
            account["session"] = event.session_key
        elif isinstance(event, Scheduled):
            account["next"] = iso(event.at)
    return account | {"notices": [event.text for event in told if isinstance(event, Noticed)]}


def iso(at: datetime | None) -> str | None:
    """A time as data."""
    return None if at is None else at.isoformat()
