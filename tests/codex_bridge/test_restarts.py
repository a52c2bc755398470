"""When a server that has died is started again, and which conversations lose their thread for it."""

from codex_bridge.restarts import Patience, Restarts, Suspects


class Played:
    """Deaths of servers, each so many seconds after its start."""

    def __init__(self, patience: Patience = Patience()) -> None:  # noqa: B008 - frozen
        self.restarts = Restarts(patience)
        self.now = 100.0

    def die(self, after: float = 1.0, *, worked: bool = False, jitter: float = 0.0, words: str = "") -> None:
        started = max(self.now, self.restarts.next_start())
        self.now = started + after
        self.restarts.died(self.now, started=started, worked=worked, words=words, jitter=jitter)

    @property
    def wait(self) -> float:
        """Seconds until the next start, 0 for at once."""
        return max(0.0, self.restarts.next_start() - self.now)

    def waits(self, deaths: int, *, jitter: float = 0.0) -> list[float]:
        found: list[float] = []
        for _ in range(deaths):
            self.die(jitter=jitter)
            found.append(round(self.wait, 6))
        return found


def test_the_first_death_is_answered_at_once_and_each_later_one_more_slowly() -> None:
    assert Played().wait == 0
    assert Played().waits(8) == [0, 0.5, 1, 2, 30, 60, 120, 120]


def test_the_waits_of_several_gateways_differ_and_still_grow() -> None:
    assert Played().waits(6, jitter=0.9) == [0, 0.725, 1.45, 2.9, 43.5, 87]


def test_starts_rest_when_the_budget_is_spent_and_not_before() -> None:
    played = Played()
    rests: list[bool] = []
    for _ in range(6):
        played.die()
        rests.append(played.restarts.rests)
    assert rests == [False, False, False, False, True, True]


def test_a_death_after_a_whole_turn_or_after_a_minute_begins_the_row_anew() -> None:
    for how in ({"worked": True}, {"after": 60.0}):
        played = Played()
        played.waits(7)
        played.die(**how)  # type: ignore[arg-type]
        assert (played.restarts.deaths, played.wait) == (1, 0)
    played = Played()
    played.waits(3)
    played.die(after=59.9)
    assert played.restarts.deaths == 4


def test_the_last_death_is_the_one_that_is_told() -> None:
    played = Played()
    played.die(words="it exited with status 1")
    played.die(words="it was killed by SIGKILL")
    assert played.restarts.words == "it was killed by SIGKILL"


def test_a_conversation_loses_its_thread_with_the_second_death_in_a_row() -> None:
    suspects = Suspects()
    assert [suspects.died_with("a"), suspects.died_with("b"), suspects.died_with("a")] == [False, False, True]


def test_a_whole_turn_in_between_acquits_a_conversation() -> None:
    suspects = Suspects()
    suspects.died_with("a")
    suspects.clear("a")
    assert [suspects.died_with("a"), suspects.died_with("a")] == [False, True]


def test_a_conversation_whose_fresh_thread_fares_no_better_keeps_that_until_a_turn_is_whole() -> None:
    suspects = Suspects()
    assert [suspects.died_with("a") for _ in range(6)] == [False, True, False, False, False, False]
    suspects.clear("a")
    assert [suspects.died_with("a") for _ in range(2)] == [False, True]
