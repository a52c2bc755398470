"""How a model provider is described to Codex: overrides for its command line."""

import json
from dataclasses import field

from harness.lean_values import dataclass


@dataclass(frozen=True, slots=True)
class Provider:
    """A provider that speaks the Responses API."""

    id: str
    name: str
    base_url: str
    token_variable: str
    """Environment variable in which the app-server finds the bearer token."""
    token: str = field(repr=False)
    request_retries: int | None = None
    stream_retries: int | None = None

    def overrides(self) -> list[tuple[str, str]]:
        """Dotted keys and TOML values that define the provider and make it the default."""
        prefix = f"model_providers.{self.id}"
        pairs = [
            ("model_provider", _toml(self.id)),
            (f"{prefix}.name", _toml(self.name)),
            (f"{prefix}.base_url", _toml(self.base_url)),
            (f"{prefix}.env_key", _toml(self.token_variable)),
            (f"{prefix}.wire_api", _toml("responses")),
            # The server needs the token; the commands that it runs for a model do not.
            ("shell_environment_policy.exclude", f"[{_toml(self.token_variable)}]"),
        ]
        if self.request_retries is not None:
            pairs.append((f"{prefix}.request_max_retries", str(self.request_retries)))
        if self.stream_retries is not None:
            pairs.append((f"{prefix}.stream_max_retries", str(self.stream_retries)))
        return pairs

    def environment(self) -> dict[str, str]:
        """Variables that the app-server needs for this provider."""
        return {self.token_variable: self.token}


def _toml(text: str) -> str:
    # A JSON string is a TOML basic string for everything that can stand in a provider block.
    return json.dumps(text)
