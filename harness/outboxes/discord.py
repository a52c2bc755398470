"""What is called of Discord's HTTP API for what goes out (docs.discord.com, Message Resource).

A call without files is a JSON body; one with files is a multipart form whose `payload_json` holds the body. Discord
reads Markdown by itself. Nobody is pinged by what an agent writes. The nonce keeps Discord from taking a message twice
within a few minutes; as it forgets it then, `Abilities.keys` is not claimed. An address is put into the text, where
Discord shows what it leads to; a sound is an ordinary file, since a voice message would need its waveform.
"""

from collections.abc import Mapping
from hashlib import sha256
from pathlib import PurePath
from typing import Final
from urllib.parse import quote

from harness.delivery.outbox import Abilities, NotSentError, Outgoing, Reaction
from harness.json_value import Json
from harness.outboxes.calls import Answer, Call, Caller, File, checked_size, is_number, refused
from harness.replies.media import is_address
from harness.units import TextUnit

MOST: Final = 2000
"""Characters of a message, as code points."""
MOST_FILES: Final = 10
"""Files of a message."""
MOST_BYTES: Final = 10 * 1024 * 1024
"""Of the files of a message together, on a server that nobody pays for."""
LONGEST_NONCE: Final = 25
"""Characters."""
_LONGEST_LABEL: Final = 80
_HIGHEST: Final = 2**64 - 1
"""Of an id."""


class DiscordOutbox:
    """The way to Discord's channels and threads.

    Args:
        caller: Calls the API; `Call.path` begins behind its version.
        most_bytes: What a message's files may have together.
    """

    def __init__(self, caller: Caller, *, most_bytes: int = MOST_BYTES) -> None:
        self._caller = caller
        self._most_bytes = most_bytes

    def can(self, channel: str) -> Abilities:
        """See `Outbox`."""
        del channel
        return Abilities(edits=True, withdraws=True, reacts=True, limit=MOST, unit=TextUnit.CODE_POINTS)

    async def send(self, outgoing: Outgoing) -> str:
        """See `Outbox`."""
        sources = [each for each in outgoing.media if not is_address(each.source)]
        sizes = [checked_size(each) or 0 for each in sources]
        if sum(sizes) > self._most_bytes or len(sources) > MOST_FILES:
            raise NotSentError("The files are more than Discord takes with one message.", for_good=True)
        names = [PurePath(each.source).name for each in sources]
        body: dict[str, Json] = {
            **_content(outgoing),
            "nonce": sha256(outgoing.key.encode("utf-8", "surrogatepass")).hexdigest()[:LONGEST_NONCE],
            "enforce_nonce": True,
        }
        if is_number(outgoing.reply_to, _HIGHEST):  # the model may have named something else
            body["message_reference"] = {"message_id": outgoing.reply_to, "fail_if_not_exists": False}
        if names:
            body["attachments"] = [{"id": at, "filename": name} for at, name in enumerate(names)]
        files = tuple(
            File(f"files[{at}]", each.source, name) for at, (each, name) in enumerate(zip(sources, names, strict=True))
        )
        answer = await self._call("POST", f"{_channel(outgoing)}/messages", body, files)
        return str(answer.body.get("id", ""))

    async def edit(self, sent_as: str, outgoing: Outgoing) -> None:
        """See `Outbox`."""
        await self._call("PATCH", f"{_channel(outgoing)}/messages/{_id(sent_as)}", _content(outgoing))

    async def withdraw(self, sent_as: str, outgoing: Outgoing) -> None:
        """See `Outbox`."""
        path = f"{_channel(outgoing)}/messages/{_id(sent_as)}"
        await self._call("DELETE", path, {}, gone_is_fine=True)

    async def react(self, reaction: Reaction) -> None:
        """See `Reacts`."""
        path = f"/channels/{_id(reaction.topic or reaction.chat)}/messages/{_id(reaction.message)}"
        path += f"/reactions/{quote(reaction.emoji, safe='').replace('.', '%2E')}/@me"
        await self._call("DELETE" if reaction.removed else "PUT", path, {}, gone_is_fine=reaction.removed)

    async def _call(
        self,
        verb: str,
        path: str,
        body: Mapping[str, Json],
        files: tuple[File, ...] = (),
        *,
        gone_is_fine: bool = False,
    ) -> Answer:
        answer = await self._caller.call(Call(verb=verb, path=path, body=body, files=files))
        if answer.status in (200, 201, 204) or (gone_is_fine and answer.status == 404):
            return answer
        said, retry_after = str(answer.body.get("message", "")), answer.body.get("retry_after")
        raise refused("Discord", answer, said, retry_after, for_good=True)


def _channel(outgoing: Outgoing) -> str:
    return f"/channels/{_id(outgoing.topic or outgoing.chat)}"  # a thread is a channel of its own


def _id(id_: str) -> str:
    """An id as a part of a path. Two dots would be one as well, and lead to the path of something else."""
    if not is_number(id_, _HIGHEST):
        raise NotSentError(f"{id_!r} is no id of Discord.", for_good=True)
    return id_


def _content(outgoing: Outgoing) -> dict[str, Json]:
    addresses = [each.source for each in outgoing.media if is_address(each.source)]
    body: dict[str, Json] = {
        "content": "\n".join(filter(None, [outgoing.text, *addresses])),
        "allowed_mentions": {"parse": [], "replied_user": False},
    }
    if outgoing.buttons:
        body["components"] = [
            {
                "type": 1,
                "components": [
                    {"type": 2, "style": 2, "label": each.label[:_LONGEST_LABEL], "custom_id": each.data}
                    for each in row
                ],
            }
            for row in outgoing.buttons
        ]
    return body
