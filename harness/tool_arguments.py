"""Whether the arguments of a call are what a tool's schema says, told to the model in one sentence.

Backends pass on whatever the model wrote. The validator is loaded with the first call and made once for each schema; it
fetches nothing, and a pattern that would take for ever is given up.
"""

from collections.abc import Mapping
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Final

import orjson

from harness.json_value import Json
from harness.tools import name_of

if TYPE_CHECKING:
    from jsonschema_rs import Validator

    from harness.tools import Tool

MOST_SCHEMAS: Final = 256
"""How many validators are kept."""
MOST_ERRORS: Final = 20
"""Errors that are looked for: a model may write a list of any length, wrong throughout."""
LONGEST_TOLD: Final = 300
"""Characters of what is wrong that the model is told; our choice."""


def wrong_arguments(tool: "Tool", arguments: Mapping[str, Json]) -> str:
    """Return the sentence for arguments that a tool does not take; empty when it takes them.

    A schema that no validator can be made of takes none: what cannot be checked is not run.
    """
    name = name_of(tool)
    try:
        validator = _validator(orjson.dumps(dict(tool.input_schema)).decode())
        errors = list(islice(validator.iter_errors(dict(arguments)), MOST_ERRORS))
    except Exception as error:  # the schema is anybody's
        return f"{name} cannot be called: its arguments cannot be checked ({type(error).__name__})."
    if not errors:
        return ""
    first, more = errors[0], len(errors) - 1
    place = _place(first.instance_path)
    what = f"{place!r} of its arguments is wrong" if place else "its arguments are wrong"
    told = first.message if len(first.message) <= LONGEST_TOLD else f"{first.message[:LONGEST_TOLD]}…"
    others = f" (and {'at least ' if len(errors) == MOST_ERRORS else ''}{more} more)" if more else ""
    return f"{name} was not called, as {what}: {told}{others}."


@lru_cache(maxsize=MOST_SCHEMAS)
def _validator(schema: str) -> "Validator":
    from jsonschema_rs import Draft7Validator, Draft202012Validator, validator_for

    if '"$schema"' in schema:
        return validator_for(schema, offline=True)
    try:
        return Draft202012Validator(schema, offline=True)
    except ValueError:  # such as a list of `items`, which a later draft has another name for
        return Draft7Validator(schema, offline=True)


def _place(path: list[str | int]) -> str:
    place = ""
    for step in path:
        place += f"[{step}]" if isinstance(step, int) else f".{step}" if place else step
    return place[:LONGEST_TOLD]
