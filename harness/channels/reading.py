"""How a payload of a channel is read: into a model, or one sentence about the member that is wrong."""

from collections.abc import Mapping
from typing import TypeVar

from pydantic import ConfigDict, ValidationError

from harness.errors import PayloadError
from harness.lean_models import LeanModel

ModelT = TypeVar("ModelT", bound="Received")


class Received(LeanModel):
    """An object of a channel; members that a newer version of it has are passed over."""

    model_config = ConfigDict(extra="ignore", frozen=True)


def read(model: type[ModelT], payload: Mapping[str, object], what: str) -> ModelT:
    """Read a payload.

    Args:
        model: What it should be.
        payload: What came.
        what: The same in words, such as "a Telegram update".

    Raises:
        PayloadError: It is no such thing; names the member that is missing or wrong.
    """
    try:
        return model.read_from(payload)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "the payload"
        raise PayloadError(f"This is not {what}: {place}: {first['msg'].lower()}.") from None
