"""Pictures that Codex's own tool makes, on the real binary: forwarded once, to the chat of their turn.

Codex has the tool for accounts alone, so the home holds the login of an account that does not exist.
"""

import base64
import json
from collections.abc import Mapping
from pathlib import Path

from codex_bridge.binary import CodexBinary
from codex_bridge.home import own_home, private_dir
from codex_bridge.loopback.recorder import RecordedRequest
from codex_bridge.loopback.script import Action, CallTool, Reply, say
from harness.delivery.courier import Courier
from harness.replies.media import MediaRules
from harness.store.deliveries import Deliveries
from harness.testing.outbox import RecordingOutbox
from harness.turns import ToolFinished, ToolStarted
from tests.real.test_pictures import DOT
from tests.support.delivery import inbound
from tests.support.real import stage

ACCOUNT = (
    ("model_providers.loopback.name", '"OpenAI"'),
    ("model_providers.loopback.requires_openai_auth", "true"),
    ("features.enable_request_compression", "false"),
    ("features.apps", "false"),
    ("features.plugins", "false"),
    ("chatgpt_base_url", '"http://127.0.0.1:9/"'),
)


def signed_in(home: Path) -> None:
    """Put the login of nobody into a home."""

    def part(claims: Mapping[str, object]) -> str:
        return base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip("=")

    about = {"chatgpt_plan_type": "pro", "chatgpt_user_id": "u", "chatgpt_account_id": "a"}
    claims = {"email": "kim@example.com", "exp": 4_102_444_800, "https://api.openai.com/auth": about}
    token = f"{part({'alg': 'none'})}.{part(claims)}.c2ln"
    tokens = {"id_token": token, "access_token": token, "refresh_token": "r", "account_id": "a"}
    login = {"auth_mode": "chatgpt", "tokens": tokens, "last_refresh": "2030-01-01T00:00:00Z"}
    (private_dir(home) / "auth.json").write_text(json.dumps(login), "utf-8")


async def test_a_picture_that_codex_makes_is_forwarded_once_to_the_chat_of_its_turn(
    codex: CodexBinary, state: Path, workspace: Path
) -> None:
    """The model is told where it lies, and names it in its answer as well."""
    home = own_home(state, "main")
    signed_in(home.path)

    def script(request: RecordedRequest) -> Action:
        last = request.parts()[-1]
        if last.kind != "function_call_output":
            return Reply((CallTool("imagegen", {"prompt": "a boat"}, "image_gen", "boat"),))
        (made,) = home.pictures.glob("*/*.png")
        return say(f"Here it is.\nMEDIA:{made}")

    outbox, events = RecordingOutbox(), list[object]()
    rules = MediaRules(workspace=str(workspace), made=(str(home.pictures),), private=(str(state),))
    async with stage(codex, state, workspace, script, overrides=ACCOUNT, catalogue="untouched") as play:
        play.model.picture = base64.b64encode(DOT).decode()
        deliveries = Deliveries(play.bindings.database)
        turn, lead = await play.begin("Draw a boat."), inbound()
        await deliveries.admit(lead, running=True)
        carried = await Courier(deliveries, outbox, media=rules).carry(turn, lead, hear=events.append)
    (path,) = carried.result.media
    assert Path(path).read_bytes() == DOT
    assert Path(path) == home.pictures / carried.result.conversation / "boat.png"
    sent = [(each.text, [file.source for file in each.media]) for each in outbox.messages.values()]
    assert sent == [("Here it is.", []), ("", [str(Path(path).resolve())])]
    tools = [each for each in events if isinstance(each, ToolStarted | ToolFinished)]
    assert tools == [ToolStarted("boat", "image_generation"), ToolFinished("boat", "image_generation", succeeded=True)]
