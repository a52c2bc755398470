"""What becomes of a chat's thread, as one table."""

from dataclasses import replace

import pytest

from codex_bridge.compatibility import UNKNOWN, Decision, Keep, Rotate, Transient, Wanted, decide
from harness.store.bound import Basis, Binding, Holds

BASIS = Basis(cwd="/home/pell", model="gpt-5.5", provider="openai", account="orrin", loading="searchable")
BOUND = Binding("codex", "chat", "thread", Holds("c", "rules", "developer", "tools", 3), BASIS)
WANTED = Wanted(basis=BASIS, tools="tools", rules="rules", developer="developer")


def held(**changed: str) -> Binding:
    return replace(BOUND, basis=replace(BASIS, **changed))


ACCOUNT = Rotate("The home is signed in to another account, so this conversation goes on in a new thread.")
PROVIDER = Rotate("The model's provider has changed, so this conversation goes on in a new thread.")
FOLDER = Rotate("The workspace is another folder now, so this conversation goes on in a new thread.")
LOADING = Rotate("The agent's tools are offered in another way now, so this conversation goes on in a new thread.")
TOOLS = Rotate("The agent's tools have changed, so this conversation goes on in a new thread.")
NO_TOOLS = Transient("This turn has no tools, so it runs in a thread of its own; the conversation keeps its own.")
TEXTS = Rotate("The agent's instructions have changed, so this conversation goes on in a new thread.")


@pytest.mark.parametrize(
    ("binding", "wanted", "decision"),
    [
        (BOUND, WANTED, Keep()),
        (None, WANTED, Keep()),
        (held(model="gpt-6"), WANTED, Keep()),
        (held(account="wren"), WANTED, ACCOUNT),
        (held(provider="local"), WANTED, PROVIDER),
        (held(cwd="/elsewhere"), WANTED, FOLDER),
        (held(loading="direct"), WANTED, LOADING),
        (BOUND, replace(WANTED, tools="others"), TOOLS),
        (replace(BOUND, holds=replace(BOUND.holds, tools="")), WANTED, TOOLS),
        (BOUND, replace(WANTED, tools="", basis=replace(BASIS, loading="")), NO_TOOLS),
        (replace(BOUND, holds=replace(BOUND.holds, tools="")), replace(WANTED, tools=""), Keep()),
        (BOUND, replace(WANTED, rules="edited", developer="edited"), Keep()),
        (BOUND, replace(WANTED, rules="edited", on_change="rotate"), TEXTS),
        (BOUND, replace(WANTED, developer="edited", on_change="rotate"), TEXTS),
        (BOUND, replace(WANTED, on_change="rotate"), Keep()),
    ],
)
def test_a_thread_is_kept_unless_it_cannot_do_what_is_needed(
    binding: Binding | None, wanted: Wanted, decision: Decision
) -> None:
    assert decide(binding, wanted) == decision


@pytest.mark.parametrize(
    ("binding", "wanted", "decision"),
    [
        (held(account="wren", provider="local", cwd="/x", loading="direct"), WANTED, ACCOUNT),
        (held(provider="local", cwd="/x", loading="direct"), WANTED, PROVIDER),
        (held(cwd="/x", loading="direct"), replace(WANTED, tools="others"), FOLDER),
        (held(loading="direct"), replace(WANTED, tools=""), LOADING),
        (BOUND, replace(WANTED, tools="others", rules="edited", on_change="rotate"), TOOLS),
    ],
)
def test_the_first_thing_that_does_not_fit_decides(binding: Binding, wanted: Wanted, decision: Decision) -> None:
    assert decide(binding, wanted) == decision


def test_what_is_not_known_of_a_thread_never_speaks_against_it() -> None:
    adopted = Binding("codex", "chat", "thread", Holds(tools=UNKNOWN, developer=UNKNOWN))
    assert decide(adopted, replace(WANTED, on_change="rotate")) == Keep()
    assert decide(replace(BOUND, holds=Holds(tools="tools")), replace(WANTED, on_change="rotate")) == Keep()
    assert decide(BOUND, Wanted(tools="tools")) == Keep()
