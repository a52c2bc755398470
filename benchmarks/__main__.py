"""Measure what our client costs: `make bench`, or `python -m benchmarks` in the development environment.

Three clients run the same turns on the same Codex binary, which asks the same stand-in model:

- raw   a minimal asyncio client without any feature (`clients/raw.py`): the floor;
- sdk   OpenAI's `openai-codex`, its asynchronous side (left out when it is not installed);
- ours  the whole of it: a Telegram update parsed, the workspace read, the prompt composed and routed into
        lanes, the binding kept in SQLite, the answer streamed to a reader as events.

The app-server and the stand-in are processes of their own, so CPU is the client's alone, all its threads
included. Each run has a fresh process and a fresh copy of a warmed Codex home. The clients take turns (raw, sdk,
ours, raw, ...), so that a busy machine hits all of them alike.

How to read the table. Every number is a median over the runs, with its ratio to raw behind it; peak memory is the
highest, in units of 10^6 bytes.

- import        a fresh interpreter that imports something, with its bytecode at hand, less a bare interpreter; both
                include their exit. The library is what speaks the protocol, `codex_bridge.bridge` for ours and
                `openai_codex` for the SDK; all that a turn needs is, for ours, also the workspace, the skills, the
                channel and the store;
- open          the app-server's start, the handshake, the thread and the first turn: mostly the app-server's work;
- short turns   after some to warm up; nearly all of the wall is the app-server's, the CPU is the client's;
- deltas        one long answer in deltas of 6 bytes, collected from the stream by each client;
- peak memory   of a process that did all of that.

A bar says what ours may cost, and is `held` or `MISSED`. Bars are on CPU, which a busy machine disturbs less than
wall, and on memory. Compare within one run only. A row that misses its bar is measured again, up to twice, raw and ours
side by side as before, and the try that comes nearest counts; a bar that is missed still makes the exit status 1. Those
who only look pass `--no-check`. `--json` prints data instead of the table.
"""

import argparse
import json
import sys
from collections.abc import Sequence

from benchmarks.bars import TRIES
from benchmarks.report import BASE, JUDGED, as_json, metrics, nearest, table, verdicts
from benchmarks.rounds import Counts, clients, measure


def positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a number from 1")
    return number


def parser() -> argparse.ArgumentParser:
    usual = Counts()
    made = argparse.ArgumentParser(
        prog="python -m benchmarks", description="Measure our client next to a raw one and OpenAI's SDK."
    )
    made.add_argument("--turns", type=positive, default=usual.turns, help="short turns a run measures")
    made.add_argument("--warmups", type=int, default=usual.warmups, help="turns before them")
    made.add_argument("--deltas", type=positive, default=usual.deltas, help="deltas of the long answer")
    made.add_argument("--runs", type=positive, default=usual.runs, help="runs of turns and deltas")
    made.add_argument("--opens", type=positive, default=usual.opens, help="runs that measure the first turn")
    made.add_argument("--imports", type=positive, default=usual.imports, help="interpreters started for each import")
    made.add_argument("--no-sdk", action="store_true", help="leave OpenAI's SDK out")
    made.add_argument("--json", action="store_true", help="print data instead of a table")
    made.add_argument("--no-check", action="store_true", help="measure once, and exit with 0 whatever is missed")
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    given = parser().parse_args(arguments)
    counts = Counts(given.turns, given.warmups, given.deltas, given.runs, given.opens, given.imports)
    rows = metrics(turns=counts.turns, deltas=counts.deltas)
    names = clients(sdk=not given.no_sdk)
    if "sdk" not in names and not given.no_sdk:
        print("OpenAI's SDK is left out: openai-codex is not installed (extra `bench`).", file=sys.stderr)
    results = measure(names, counts, _progress)
    for _ in range(0 if given.no_check else TRIES - 1):
        missed = [each for each in verdicts(rows, results) if not each.held]
        if not missed:
            break
        results = nearest(rows, results, measure([BASE, JUDGED], counts, _progress))
    print(json.dumps(as_json(rows, results), indent=2) if given.json else table(rows, results))
    return 0 if given.no_check or all(each.held for each in verdicts(rows, results)) else 1


def _progress(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r{text:<30}", end="\r", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
