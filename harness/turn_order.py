"""How many turns run at once over all chats and agents of a gateway, and which of those that wait is next.

Pure:

    who waits                 | is next
    --------------------------+------------------------------------------------------------------------------
    people                    | who came first: of each chat only the first message stands in the line
    heartbeats and other      | who came first, when no person waits; and after three people in a row who came
    turns that nobody awaits  | later or not, so that a busy gateway holds none of them back for ever

Turns that nobody awaits never fill all places, so a person finds one; where there is only one place, they may.
"""

from collections import deque
from collections.abc import Callable
from typing import Final

IN_A_ROW: Final = 3
"""People who are served one after the other while somebody else waits. Our choice: a quarter of a busy gateway."""


class Place:
    """Where a turn runs, or waits to run.

    Args:
        attended: Whether a person waits for it.
    """

    __slots__ = ("attended", "held", "lent", "on_turn")

    def __init__(self, attended: bool) -> None:
        self.attended = attended
        self.held = False
        """Whether it runs."""
        self.lent = 0
        """For how many answers of persons it waits, while others have its place."""
        self.on_turn: Callable[[], object] | None = None
        """To be called when it may begin."""


class TurnOrder:
    """The places of a gateway, and the line before them.

    Args:
        most: How many places there are, one at least.
    """

    def __init__(self, most: int) -> None:
        self.most = max(1, most)
        self.running = 0
        """How many turns run."""
        self._people: deque[Place] = deque()
        self._others: deque[Place] = deque()
        self._unattended = 0
        """How many of those run that nobody awaits."""
        self._in_a_row = 0

    @property
    def waiting(self) -> int:
        """How many wait in the line."""
        return len(self._people) + len(self._others)

    def come(self, *, attended: bool) -> Place:
        """Take a place, or one in the line; `Place.held` says which."""
        place = Place(attended)
        if self._has_room(attended=attended):
            self._hold(place)
        else:
            (self._people if attended else self._others).append(place)
        return place

    def attend(self, place: Place) -> None:
        """From now on a person waits for a turn that nobody awaited: theirs is behind it."""
        if place in self._others:
            self._others.remove(place)
            place.attended = True
            self._people.append(place)
            self._let_in()

    def leave(self, place: Place) -> None:
        """Give a place back, or leave the line; twice is harmless."""
        if place.held:
            place.lent = min(place.lent, 1)
            self.take_back(place)
            place.held = False
            self.running -= 1
            self._unattended -= not place.attended
        elif place in (line := self._people if place.attended else self._others):
            line.remove(place)
        if self._people or self._others:
            self._let_in()

    def lend(self, place: Place) -> None:
        """Let others have the place of a turn that waits for a person, until it is taken back as often."""
        if not place.held:
            return
        place.lent += 1
        if place.lent == 1:
            self.running -= 1
            self._unattended -= not place.attended
            self._let_in()

    def take_back(self, place: Place) -> None:
        """The turn goes on at once, also where its place is taken by now: one more runs then than there are places."""
        if not place.held or not place.lent:
            return
        place.lent -= 1
        if not place.lent:
            self.running += 1
            self._unattended += not place.attended

    def _has_room(self, *, attended: bool) -> bool:
        if self.running >= self.most:
            return False
        return attended or self.most == 1 or self._unattended < self.most - 1

    def _let_in(self) -> None:
        while (place := self._next()) is not None:
            (self._people if place.attended else self._others).popleft()
            self._hold(place)
            if place.on_turn is not None:
                place.on_turn()

    def _next(self) -> Place | None:
        """Who may begin now."""
        other = self._others[0] if self._others and self._has_room(attended=False) else None
        if self._people and self._has_room(attended=True) and (other is None or self._in_a_row < IN_A_ROW):
            return self._people[0]
        return other

    def _hold(self, place: Place) -> None:
        place.held = True
        self.running += 1
        self._unattended += not place.attended
        self._in_a_row = self._in_a_row + 1 if place.attended and self._others else 0
