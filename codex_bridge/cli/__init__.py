"""The command line, `codex-bridge`."""

import sys


def main() -> None:
    """Run the command line; says how to get its libraries when they are not installed."""
    try:
        from codex_bridge.cli.app import run
    except ImportError as error:
        if error.name not in ("typer", "rich", "h11", "click"):
            raise
        print(
            "codex-bridge: the command line needs its extra: pip install 'openclaw-codex-bridge[cli]'", file=sys.stderr
        )
        sys.exit(3)
    run()
