"""What is known of a conversation on Codex."""

from pathlib import Path

from codex_bridge.session import allowances_of, unknown
from codex_bridge.wire.besides import AccountLimits
from harness.session_facts import Allowance, SessionFacts
from tests.support.turns import harness_on_fake, words


def test_limits_are_named_by_the_time_over_which_they_are_counted() -> None:
    stated = {
        "primary": {"usedPercent": 42.5, "resetsAt": 1_900_000_000, "windowDurationMins": 300},
        "secondary": {"usedPercent": 80, "windowDurationMins": 10_080},
        "individualLimit": {"remainingPercent": 25, "resetsAt": 1_900_000_060},
    }
    assert allowances_of(AccountLimits.model_validate(stated)) == (
        Allowance(name="5 h", used=42.5, resets_at=1_900_000_000),
        Allowance(name="7 d", used=80.0),
        Allowance(name="spending", used=75.0, resets_at=1_900_000_060),
    )
    odd = {"primary": {"windowDurationMins": 90}, "secondary": {}}
    assert [each.name for each in allowances_of(AccountLimits.model_validate(odd))] == ["90 min", "the account"]


def test_a_model_is_unknown_only_where_a_catalogue_says_which_there_are() -> None:
    assert (unknown("b", ["a", "b"]), unknown("b", [])) == ("", "")
    assert unknown("c", ["b", "a"]) == "Codex does not know the model 'c'; it knows a, b."


async def test_a_conversation_is_told_of_as_far_as_its_thread_is_loaded(tmp_path: Path) -> None:
    async with harness_on_fake(tmp_path) as harness:
        assert await harness.session_facts("a") == SessionFacts(backend="Codex")
        turn = harness.start(words("echo"))
        result = await turn.result()
        here, elsewhere = await harness.session_facts("a"), await harness.session_facts("b")
        told = [harness.cannot_run(model) for model in ("gpt-5.5", "no-such-model")]
    assert told == ["", "Codex does not know the model 'no-such-model'; it knows gpt-5.5."]
    assert turn.thread is not None
    assert here.backend.startswith("Codex 0.")
    assert here == SessionFacts(
        backend=here.backend,
        conversation="thr_1",
        model=turn.thread.model,
        effort=turn.thread.reasoning_effort or "",
        context_used=here.context_used,
        context_window=here.context_window,
        usage=here.usage,
    )
    assert (here.context_used, here.context_window) == (result.context_used, result.context_window)
    assert elsewhere == SessionFacts(backend=here.backend)
