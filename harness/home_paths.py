"""What `~` at the beginning of a configured path stands for.

Pure: the home directory is an argument.
"""


def at_home(path: str, home: str) -> str:
    """Return `path`, trimmed, with a leading `~` replaced by `home`; `~name` is nobody's home here."""
    path = path.strip()
    if path == "~":
        return home
    return f"{home.rstrip('/')}/{path[2:]}" if path.startswith(("~/", "~\\")) else path
