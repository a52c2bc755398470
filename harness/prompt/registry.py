"""What installed packages add to prompts: texts of a model's provider, hints of a channel, lines on the memory.

A package announces each by an entry point, and nothing here has to change for it:

    [project.entry-points."openclaw_codex_bridge.prompt_providers"]
    acme = "acme_gateway.prompt:contribute"

An entry that cannot be loaded, or fails when it is asked, is reported in one sentence and passed over.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.metadata import EntryPoint, entry_points
from typing import Final, TypeAlias, TypeVar, cast

from harness.prompt.contributions import Contribution, contribution
from harness.prompt.facts import Mode
from harness.settings.memory import CitationsMode

PROVIDERS: Final = "openclaw_codex_bridge.prompt_providers"
"""Entry points named by a provider's id, or `*` for every provider: `ProviderContext` to a `Contribution`, to a mapping
with `stablePrefix`, `dynamicSuffix` and `sectionOverrides`, or to None."""
CHANNEL_HINTS: Final = "openclaw_codex_bridge.channel_hints"
"""Entry points named by a channel: `ChannelContext` to lines for the message tool."""
MEMORY: Final = "openclaw_codex_bridge.memory_supplements"
"""Entry points of any name: `MemoryContext` to lines for the memory section, in the order of their names."""
ANY: Final = "*"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderContext:
    """What a provider's contribution may depend on.

    A provider is asked twice. Without a channel, capabilities and a trigger, what it answers stands above the cache
    boundary: the prefix and the replaced sections. With them, it is asked for the suffix alone.
    """

    provider: str
    model: str
    mode: Mode
    agent: str
    workspace: str
    channel: str = ""
    capabilities: tuple[str, ...] = ()
    trigger: str = ""
    base: Contribution = field(default_factory=Contribution)
    """What is contributed without it."""

    @property
    def of_every_turn(self) -> "ProviderContext":
        """The same without what depends on the turn."""
        base = replace(self.base, dynamic_suffix="")
        return replace(self, channel="", capabilities=(), trigger="", base=base)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelContext:
    """What a channel's hints may depend on."""

    channel: str
    agent: str
    capabilities: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryContext:
    """What a memory supplement may depend on."""

    tools: frozenset[str]
    """Names in lower case, hidden ones among them."""
    citations: CitationsMode = "auto"


Provider: TypeAlias = Callable[[ProviderContext], object]
ChannelHints: TypeAlias = Callable[[ChannelContext], object]
MemoryLines: TypeAlias = Callable[[MemoryContext], object]
Plugin = TypeVar("Plugin")
Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True, kw_only=True)
class Extensions:
    """Everything that adds to prompts, each with its name."""

    providers: tuple[tuple[str, Provider], ...] = ()
    channel_hints: tuple[tuple[str, ChannelHints], ...] = ()
    memory: tuple[tuple[str, MemoryLines], ...] = ()
    problems: tuple[str, ...] = ()
    """One sentence for each that could not be loaded."""
    _kept: dict[tuple[int, ProviderContext], Contribution] = field(
        default_factory=dict[tuple[int, ProviderContext], Contribution], init=False, repr=False, compare=False
    )

    def kept(self, place: int, context: ProviderContext) -> Contribution | None:
        """What the provider at that place answered for every turn; None as long as it has not."""
        return self._kept.get((place, context))

    def keep(self, place: int, context: ProviderContext, answer: Contribution) -> None:
        """Hold on to such an answer: what is above the boundary must not change with the mood of a package.

        For another one, after a change of the configuration, look for the `installed` extensions again.
        """
        self._kept[place, context] = answer


def plain_name(name: str) -> str:
    """The name of a provider or a channel in the form in which names are compared."""
    return name.strip().lower()


@dataclass(slots=True)
class Asked:
    """Asks extensions, and notes which of them failed."""

    extensions: Extensions
    problems: list[str] = field(default_factory=list[str])

    def contributions(self, context: ProviderContext) -> list[Contribution]:
        """What the provider's packages add, in the order of registration."""
        wanted = (plain_name(context.provider), ANY)
        places = [at for at, (name, _) in enumerate(self.extensions.providers) if plain_name(name) in wanted]
        every, this = self._of_every_turn, self._of_this_turn
        found = [replace(every(at, context.of_every_turn), dynamic_suffix=this(at, context)) for at in places]
        return [added for added in found if added != Contribution()]

    def _of_every_turn(self, place: int, context: ProviderContext) -> Contribution:
        kept = self.extensions.kept(place, context)
        if kept is None:
            kept = self._provided(place, context)
            if kept is not None:
                self.extensions.keep(place, context, kept)
        return kept or Contribution()

    def _of_this_turn(self, place: int, context: ProviderContext) -> str:
        found = self._provided(place, context)
        return found.dynamic_suffix if found else ""

    def _provided(self, place: int, context: ProviderContext) -> Contribution | None:
        """The answer of one package; None where it failed."""
        name, plugin = self.extensions.providers[place]
        return self._ask(f"provider {name}", plugin, context, _contribution)

    def hints(self, context: ChannelContext) -> tuple[str, ...]:
        """The lines of the channel's packages."""
        channel = plain_name(context.channel)
        chosen = [plugin for name, plugin in self.extensions.channel_hints if plain_name(name) == channel]
        return tuple(
            line for plugin in chosen for line in self._ask(f"channel {context.channel}", plugin, context, _lines) or ()
        )

    def memory_lines(self, context: MemoryContext) -> tuple[str, ...]:
        """The lines of every package, by name."""
        chosen = sorted(self.extensions.memory, key=lambda each: each[0])
        return tuple(
            line for name, plugin in chosen for line in self._ask(f"memory {name}", plugin, context, _lines) or ()
        )

    def _ask(
        self, name: str, plugin: Callable[[Plugin], object], context: Plugin, read: Callable[[object], Answer]
    ) -> Answer | None:
        try:
            return read(plugin(context))  # within the guard: a generator runs only when it is read
        except _NoContributionError:
            self._note(f"The extension {name} gave no contribution; it is left out.")
        except (Exception, SystemExit) as error:  # anybody's code: what it raises costs its own lines and no prompt
            self._note(f"The extension {name} failed ({type(error).__name__}: {error}); it is left out.")
        return None

    def _note(self, problem: str) -> None:
        if problem not in self.problems:
            self.problems.append(problem)


def installed(groups: Callable[[str], Iterable[EntryPoint]] | None = None) -> Extensions:
    """Load what the installed packages announce.

    Looks at every installed package, so call it once at the start and keep the result.

    Args:
        groups: Gives the entry points of a group; those of the running Python by default.
    """
    found = groups or _of_this_python
    problems: list[str] = []
    return Extensions(
        providers=tuple((name, cast("Provider", plugin)) for name, plugin in _loaded(found(PROVIDERS), problems)),
        channel_hints=tuple((n, cast("ChannelHints", plugin)) for n, plugin in _loaded(found(CHANNEL_HINTS), problems)),
        memory=tuple((name, cast("MemoryLines", plugin)) for name, plugin in _loaded(found(MEMORY), problems)),
        problems=tuple(problems),
    )


def _of_this_python(group: str) -> Iterable[EntryPoint]:
    return entry_points(group=group)


def _loaded(points: Iterable[EntryPoint], problems: list[str]) -> list[tuple[str, object]]:
    found: list[tuple[str, object]] = []
    for point in sorted(points, key=lambda each: (each.name, each.value)):
        try:
            plugin: object = point.load()
        except (Exception, SystemExit) as error:  # an import runs anybody's code
            why = error if isinstance(error, Exception) else "it ended the process"
            problems.append(f"The extension {point.name} ({point.value}) cannot be loaded: {why}.")
            continue
        if callable(plugin):
            found.append((point.name, plugin))
        else:
            problems.append(f"The extension {point.name} ({point.value}) cannot be called; it is left out.")
    return found


class _NoContributionError(Exception):
    """What a provider gave is of another kind."""


def _contribution(added: object) -> Contribution:
    if isinstance(added, Contribution):
        return _normalised(added)
    if isinstance(added, Mapping):
        return _of_mapping(cast("Mapping[str, object]", added))
    if added is not None:
        raise _NoContributionError
    return Contribution()


def _of_mapping(given: Mapping[str, object]) -> Contribution:
    overrides = given.get("sectionOverrides")
    return contribution(
        stable_prefix=given.get("stablePrefix"),
        dynamic_suffix=given.get("dynamicSuffix"),
        overrides=cast("Mapping[str, object]", overrides) if isinstance(overrides, Mapping) else None,
    )


def _normalised(given: Contribution) -> Contribution:
    return contribution(
        stable_prefix=given.stable_prefix,
        dynamic_suffix=given.dynamic_suffix,
        overrides={
            "interaction_style": given.interaction_style,
            "tool_call_style": given.tool_call_style,
            "execution_bias": given.execution_bias,
        },
    )


def _lines(found: object) -> Sequence[str]:
    """What is no list of texts counts as none (prompt-builder 2.C)."""
    if isinstance(found, str) or not isinstance(found, Iterable):
        return ()
    return [line for line in cast("Iterable[object]", found) if isinstance(line, str)]
