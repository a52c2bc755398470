"""Which options of a command go together: said once, as rules, so that none is passed over in silence.

A command gets its rules when it is registered, `app.command("prompt", cls=ruled(*RULES))`. Beside these one rule holds
for every command: an option that is written has a value.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, TypeAlias, cast

import typer
from typer.core import TyperCommand

from harness.errors import HarnessError


class OptionError(HarnessError):
    """Options that do not go together, or one whose value says nothing."""


@dataclass(frozen=True, slots=True)
class Written:
    """What a person wrote behind a command."""

    given: Mapping[str, tuple[str, ...]]
    """What stands behind each option that was written, as it was typed, by its long name."""
    values: Mapping[str, object] = field(default_factory=dict[str, object])
    """What every option of the command means now, defaults included, by its long name; arguments by their own name."""


Rule: TypeAlias = Callable[[Written], str | None]
"""One sentence when the options break the rule, or None."""


def apart(*options: str, why: str) -> Rule:
    """At most one of these options."""

    def rule(written: Written) -> str | None:
        given = [option for option in options if option in written.given]
        return f"{why}; leave out one of {_and(given)}." if len(given) > 1 else None

    return rule


def only(*options: str, deciding: str, words: tuple[Enum, ...], why: str) -> Rule:
    """Options that mean something only where another option, or an argument, has one of these values."""

    def rule(written: Written) -> str | None:
        idle = [option for option in options if option in written.given]
        if not idle or written.values.get(deciding) in words:
            return None
        named = " or ".join(str(word.value) for word in words)
        return f"{_and(idle)} {'is' if len(idle) == 1 else 'are'} for {deciding} {named}: {why}."

    return rule


def goes_with(option: str, other: str, why: str) -> Rule:
    """An option that means something only beside another one."""

    def rule(written: Written) -> str | None:
        idle = option in written.given and other not in written.given
        return f"{option} is for {other}: {why}." if idle else None

    return rule


def like(option: str, pattern: str, what: str) -> Rule:
    """An option whose values have a form."""
    form = re.compile(pattern)

    def rule(written: Written) -> str | None:
        wrong = next((text for text in written.given.get(option, ()) if not form.fullmatch(text.strip())), None)
        return None if wrong is None else f"{option} {wrong!r} is no {what}."

    return rule


def filled(written: Written) -> str | None:
    """Whether each option that is written has a value."""
    empty = next((option for option, texts in written.given.items() if any(not text.strip() for text in texts)), None)
    return None if empty is None else f"{empty} has no value; write one behind it, or leave it out."


class RuledCommand(TyperCommand):
    """A command that refuses what it would have to pass over."""

    rules: tuple[Rule, ...] = ()

    def parse_args(  # pyright: ignore[reportIncompatibleMethodOverride]
        self,
        ctx: typer.Context,  # type: ignore[override]
        args: list[str],
    ) -> list[str]:
        """Read the words behind the command.

        Raises:
            OptionError: They break a rule.
        """
        typed, _, _ = self.make_parser(ctx).parse_args(args=list(args))
        names = {param.name: next((word for word in param.opts if word.startswith("--")), param.name)
                 for param in self.params}  # fmt: skip
        given = {str(names[name]): _texts(value) for name, value in typed.items() if name in names}
        options = {option: texts for option, texts in given.items() if option.startswith("--") and texts is not None}
        _refuse((filled,), Written(options))
        rest = super().parse_args(ctx, args)
        values = {str(names[name]): value for name, value in ctx.params.items() if name in names}
        _refuse(self.rules, Written(options, values))
        return rest


def ruled(*rules: Rule) -> type[RuledCommand]:
    """The kind of a command with these rules."""
    return type("RuledCommand", (RuledCommand,), {"rules": rules})


def _refuse(rules: tuple[Rule, ...], written: Written) -> None:
    for rule in rules:
        if (sentence := rule(written)) is not None:
            raise OptionError(sentence)


def _texts(value: object) -> tuple[str, ...] | None:
    """What was typed for one option; None for one that was not. A switch has nothing behind it."""
    if value is None or isinstance(value, bool):
        return () if value else None
    texts = cast("list[object]", value) if isinstance(value, list) else [value]
    return tuple(str(each) for each in texts)


def _and(options: list[str]) -> str:
    return f"{', '.join(options[:-1])} and {options[-1]}" if len(options) > 1 else options[0]


CHANNEL: Final = r"[A-Za-z0-9][A-Za-z0-9_-]*"
"""A channel's name, such as `telegram`: it is a part of session keys, between colons."""
