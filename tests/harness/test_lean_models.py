"""Models of payloads: they read as pydantic's own do, and bring nothing along that a gateway does not need."""

import subprocess
import sys
from collections.abc import Callable
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel
from pydantic_core import CoreSchema, core_schema

from harness.lean_models import LeanModel

CONFIG = ConfigDict(alias_generator=to_camel, validate_by_name=True, validate_by_alias=True, frozen=True)


class Part(LeanModel):
    model_config = CONFIG
    is_open: bool = False


class Whole(LeanModel):
    model_config = CONFIG | ConfigDict(strict=True, extra="forbid")
    item_id: int
    kind: Literal["a", "b"] = "a"
    texts: tuple[str, ...] = ()
    parts: list[Part] | None = None
    by_name: dict[str, Part | None] | None = None
    either: int | str = 0
    share: float | None = None
    raw: Any = None


class TheirPart(BaseModel):
    model_config = CONFIG
    is_open: bool = False


class TheirWhole(BaseModel):
    model_config = CONFIG | ConfigDict(strict=True, extra="forbid")
    item_id: int
    kind: Literal["a", "b"] = "a"
    texts: tuple[str, ...] = ()
    parts: list[TheirPart] | None = None
    by_name: dict[str, TheirPart | None] | None = None
    either: int | str = 0
    share: float | None = None
    raw: Any = None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["a", "b", "1", "true", ""]) | st.just(1.5),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.lists(inner, max_size=2).map(tuple)
        | st.dictionaries(st.sampled_from(["isOpen", "is_open", "x"]), inner, max_size=2)
    ),
    max_leaves=4,
)
NAMES = ("itemId", "item_id", "kind", "texts", "parts", "byName", "either", "share", "raw", "other")


def outcome(model: type[BaseModel], value: object) -> object:
    try:
        made = model.model_validate(value)
    except ValidationError as error:
        return sorted((each["type"], each["loc"], each["msg"]) for each in error.errors())
    return made.model_dump(), made.model_dump(by_alias=True, exclude_unset=True)


@given(st.dictionaries(st.sampled_from(NAMES), JSON, max_size=5) | JSON)
def test_a_lean_model_takes_refuses_and_writes_what_pydantics_own_would(value: object) -> None:
    ours, theirs = outcome(Whole, value), outcome(TheirWhole, value)
    # Only the names of the classes differ.
    assert repr(ours) == repr(theirs).replace("TheirPart", "Part").replace("TheirWhole", "Whole")


def test_a_lean_model_can_be_made_by_name_and_not_be_changed() -> None:
    whole = Whole(item_id=1, parts=[Part(is_open=True)])
    assert whole.model_dump(by_alias=True, exclude_unset=True) == {"itemId": 1, "parts": [{"isOpen": True}]}
    with pytest.raises(ValidationError, match="frozen"):
        whole.item_id = 2  # pyright: ignore[reportAttributeAccessIssue] - that it is refused is the point


def test_a_mark_takes_the_place_of_the_schema() -> None:
    class Even:
        def core_schema(self, inner: Callable[[], CoreSchema]) -> CoreSchema:
            return core_schema.with_default_schema(core_schema.int_schema(multiple_of=2), default=0, on_error="default")

    class Marked(LeanModel):
        number: Annotated[int, Even()]

    assert [Marked.model_validate({"number": each}).number for each in (2, 3, "x")] == [2, 0, 0]


def test_a_kind_of_field_or_a_check_that_is_not_known_is_a_mistake_at_first_use() -> None:
    class Odd(LeanModel):
        numbers: set[int]

    class Bounded(LeanModel):
        number: int = Field(ge=1)

    class Made(LeanModel):
        numbers: list[int] = Field(default_factory=list[int])

    with pytest.raises(TypeError, match=r"no fields of the kind set\[int\]"):
        Odd(numbers={1})
    with pytest.raises(TypeError, match="does not check Ge"):
        Bounded(number=1)
    with pytest.raises(TypeError, match=r"Made\.numbers"):
        Made()


def test_reading_a_message_and_a_notification_looks_for_no_plugins() -> None:
    code = (
        "from harness.channels.telegram import from_update; from codex_bridge.wire.requests import ClientInfo\n"
        "try: from_update({})\n"
        "except Exception: pass\n"
        "ClientInfo(name='a', version='1').to_wire()\n"
        "import sys; print(*sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert {"importlib.metadata", "zipfile", "email"} & set(run.stdout.split()) == set()


def test_plain_text_is_cut_without_the_library_of_characters() -> None:
    code = "from harness.workspace.boundaries import head; import sys; print(head('ab\\r\\ncd', 3), *sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert run.stdout.split()[0] == "ab"
    assert "regex" not in run.stdout.split()
