"""Which keys stand under `tools`, `memory`, `browser`, `hooks`, `plugins`, `models` and `auth`.

Pure. A plugin's own settings (`plugins.entries.<id>.config`) are raw JSON here; whoever owns them passes a
model for that path when the configuration is read.
"""

from typing import Annotated

from pydantic import AfterValidator, Field

from harness.config.agent_keys import AgentRuntime
from harness.config.section import InWords, Opaque, PositiveNumber, Section, Texts
from harness.settings.agent import SearchMode, SearchSize
from harness.settings.approvals import Asking
from harness.settings.memory import CitationsMode
from harness.simple_command import simple_argv


class FileTools(Section):
    """`tools.fs`."""

    workspace_only: bool = False


class ExperimentalTools(Section):
    """`tools.experimental`."""

    plan_tool: bool | None = None


def _words(value: str | tuple[str, ...]) -> str | tuple[str, ...]:
    if not value or not all(value) or (isinstance(value, str) and simple_argv(value) is None):
        raise ValueError("no words")
    return value


Words = Annotated[
    str | Texts,
    AfterValidator(_words),
    InWords('the first words of a plain command, such as "git status", or a list of them'),
]


class ExecTool(Section):
    """`tools.exec`: how commands are run and who is asked."""

    has_open_keys = True
    ask: Annotated[Asking, Field(strict=False)] | None = None
    allow: Annotated[tuple[Words, ...], Field(strict=False)] = ()
    """How commands begin that need no asking."""
    approval_timeout_seconds: PositiveNumber | None = None
    security: str | None = None
    mode: str | None = None
    host: str | None = None


class ImageTool(Section):
    """`tools.media.image`."""

    has_open_keys = True
    timeout_seconds: PositiveNumber | None = None


class MediaTools(Section):
    """`tools.media`."""

    has_open_keys = True
    image: ImageTool = ImageTool.model_construct()


class SearchPlace(Section):
    """`tools.web.search.openaiCodex.userLocation`."""

    country: str | None = None
    region: str | None = None
    city: str | None = None
    timezone: str | None = None


class CodexSearch(Section):
    """`tools.web.search.openaiCodex`: the search that runs at the model's provider."""

    enabled: bool | None = None
    mode: SearchMode | None = None
    allowed_domains: Texts | None = None
    context_size: SearchSize | None = None
    user_location: SearchPlace | None = None


class WebSearch(Section):
    """`tools.web.search`."""

    has_open_keys = True
    enabled: bool | None = None
    provider: str | None = None
    openai_codex: CodexSearch = CodexSearch.model_construct()


class WebTools(Section):
    """`tools.web`."""

    has_open_keys = True
    search: WebSearch = WebSearch.model_construct()


class Tools(Section):
    """`tools`."""

    has_open_keys = True
    allow: Texts = ()
    """Names of tools. Only whether `update_plan` is among them is used here."""
    fs: FileTools = FileTools.model_construct()
    experimental: ExperimentalTools = ExperimentalTools.model_construct()
    exec: ExecTool = ExecTool.model_construct()
    media: MediaTools = MediaTools.model_construct()
    web: WebTools = WebTools.model_construct()


class Memory(Section):
    """`memory`."""

    has_open_keys = True
    citations: CitationsMode | None = None
    groups: bool | None = None
    """True lets group chats use the agent's memory as well."""


class Browser(Section):
    """`browser`: skills may require it."""

    has_open_keys = True
    enabled: bool = True
    evaluate_enabled: bool = True


class InternalHook(Section):
    """`hooks.internal.entries.<id>`; the first of the three lists that is not empty counts (prompt-builder 7.5)."""

    has_open_keys = True
    enabled: bool | None = None
    paths: Texts = ()
    patterns: Texts = ()
    files: Texts = ()


class InternalHooks(Section):
    """`hooks.internal`."""

    has_open_keys = True
    enabled: bool | None = None
    """False switches every internal hook off."""
    entries: dict[str, InternalHook] = Field(default_factory=dict[str, InternalHook])


class Hooks(Section):
    """`hooks`."""

    has_open_keys = True
    internal: InternalHooks = InternalHooks.model_construct()


class Plugin(Section):
    """`plugins.entries.<id>`."""

    has_open_keys = True
    enabled: bool | None = None
    config: Opaque = Field(default_factory=dict[str, object])


class PluginLoad(Section):
    """`plugins.load`."""

    has_open_keys = True
    paths: Texts = ()


class Plugins(Section):
    """`plugins`."""

    has_open_keys = True
    load: PluginLoad = PluginLoad.model_construct()
    enabled: bool | None = None
    allow: Texts | None = None
    deny: Texts | None = None
    entries: dict[str, Plugin] = Field(default_factory=dict[str, Plugin])


class ModelProvider(Section):
    """`models.providers.<id>`."""

    has_open_keys = True
    base_url: str | None = None
    agent_runtime: AgentRuntime | None = None


class Models(Section):
    """`models`."""

    has_open_keys = True
    providers: dict[str, ModelProvider] = Field(default_factory=dict[str, ModelProvider])


class Auth(Section):
    """`auth`: `order` names the sign-ins of a provider, best first."""

    has_open_keys = True
    order: dict[str, Texts] = Field(default_factory=dict[str, tuple[str, ...]])
