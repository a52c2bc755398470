"""Codex app-server as an agent backend of the gateway."""
