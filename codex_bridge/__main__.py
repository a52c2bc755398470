"""`python -m codex_bridge` is `codex-bridge`."""

from codex_bridge.cli import main

main()
