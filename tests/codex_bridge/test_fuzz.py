"""Random and mutated lines of the server: no crash, no growing memory, and every turn gets its own answer, once.

A share of what `python -m tests.support.fuzzing` runs in full; see there for what the two kinds of nonsense are.
"""

from random import Random

import pytest

from codex_bridge.rpc import Peer, Requested
from tests.support.fuzzing import Mutator, Nonsense, corpus, rounds

LINES = 4_000
"""Of the server, for each kind of nonsense."""


@pytest.mark.parametrize("nonsense", ["foreign", "own"])
async def test_turns_get_their_own_answers_whatever_is_said_between_their_lines(nonsense: Nonsense) -> None:
    figures = await rounds(LINES, 7, nonsense)
    assert figures.lines >= LINES
    assert figures.turns["answered"] > 0
    assert (figures.connections == 1) is (nonsense == "foreign")


def test_no_line_breaks_a_peer_and_none_leaves_anything_behind() -> None:
    mutator, peer = Mutator(Random(7), corpus()), Peer()
    for _ in range(LINES):
        for line in mutator.lines(hostile=True).split(b"\n"):
            event = peer.receive(line)
            if isinstance(event, Requested):
                peer.answer(event, {})
    answers = list(peer.outgoing())
    assert len(answers) > 0
    assert dict(peer.open_requests) == {}


def test_the_same_seed_says_the_same() -> None:
    one, two = (Mutator(Random(3), corpus()) for _ in range(2))
    assert [one.lines(hostile=False) for _ in range(300)] == [two.lines(hostile=False) for _ in range(300)]
