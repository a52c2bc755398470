"""A local stand-in for the Responses API, which records what Codex asks of it."""
