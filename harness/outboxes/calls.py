"""What an outbox asks of a gateway's HTTP client, and what the answers mean."""

from collections.abc import Mapping
from typing import Protocol

from harness.delivery.outbox import Media, NotSentError
from harness.errors import HarnessError
from harness.json_value import Json
from harness.lean_values import dataclass
from harness.replies.media import is_address, opened


@dataclass(frozen=True, slots=True)
class File:
    """A file that goes along as a part of a multipart form. Read it with `harness.replies.media.opened`."""

    field: str
    path: str
    """Where it lies, without links."""
    name: str
    """What the chat sees."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call of a channel's HTTP API."""

    verb: str
    path: str
    """After the address of the API; it holds no token."""
    body: Mapping[str, Json]
    """Sent as JSON; see the outbox for how it goes along with files."""
    files: tuple[File, ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """What the channel answered."""

    status: int
    """Of HTTP."""
    body: Mapping[str, Json]
    """Empty where it was no JSON object."""


class Caller(Protocol):
    """A gateway's HTTP client for one channel; it knows the address and the token."""

    async def call(self, call: Call) -> Answer:
        """Make a call. Whatever it raises leaves open whether the channel took it."""
        ...


class NoAnswerError(HarnessError):
    """The channel failed in a way that leaves open whether it took something."""


def refused(channel: str, answer: Answer, said: str, retry_after: Json, *, for_good: bool) -> Exception:
    """The exception for an answer that is no success.

    Args:
        channel: The channel's name.
        answer: The answer.
        said: What the channel says about it.
        retry_after: Seconds, as it says.
        for_good: Whether an answer below 500 that is neither a limit nor about the token holds for ever.
    """
    what = f"{channel} answered {answer.status}" + (f": {said}" if said else "")
    if answer.status == 429:
        seconds = float(retry_after) if isinstance(retry_after, int | float) else None
        return NotSentError(f"{what}.", retry_after=seconds)
    if answer.status >= 500 or answer.status < 400 or answer.status == 408:  # somebody between was tired of waiting
        return NoAnswerError(f"{what}.")
    return NotSentError(f"{what}.", for_good=for_good and answer.status != 401)


def is_number(id_: str, most: int) -> bool:
    """Whether an id is a number from 0 to `most`, as both channels have them: a model names what it likes."""
    return id_.isascii() and id_.isdecimal() and len(id_) <= len(str(most)) and int(id_) <= most


def checked_size(media: Media) -> int | None:
    """The size of a file in bytes; None for an address.

    Raises:
        NotSentError: The file is not there any more, or something else has taken its place.
    """
    if is_address(media.source):
        return None
    try:
        with opened(media.source) as file:
            return file.seek(0, 2)
    except OSError as error:
        raise NotSentError(f"The file {media.source} cannot be read: {error}.", for_good=True) from error
