"""The command line, `codex-bridge`."""
