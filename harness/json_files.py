"""The JSON object that a person names on a command line: read, or one sentence that says why not."""

import json
import sys
from pathlib import Path
from typing import Final, cast

from harness.errors import PayloadError
from harness.json_value import Json

STDIN: Final = "-"


def read_object(source: str | Path, what: str) -> dict[str, Json]:
    """Read the JSON object of a file, or of stdin for "-".

    Args:
        source: The file.
        what: What the file is to the person, such as "payload".

    Raises:
        PayloadError: It cannot be read, is not JSON, or no object.
    """
    name = f"The {what} {'stdin' if source == STDIN else source}"
    try:
        text = sys.stdin.read() if source == STDIN else Path(source).read_text("utf-8-sig")
        found: object = json.loads(text)
    except OSError as error:
        raise PayloadError(f"{name} cannot be read: {error.strerror or error}.") from None
    except UnicodeDecodeError:
        raise PayloadError(f"{name} is not UTF-8 text.") from None
    except json.JSONDecodeError as error:
        raise PayloadError(f"{name} is not JSON: {error.msg} in line {error.lineno}, column {error.colno}.") from None
    except (ValueError, RecursionError):  # a number of thousands of digits, or thousands of brackets
        raise PayloadError(f"{name} is beyond what a JSON reader takes.") from None
    if not isinstance(found, dict):
        raise PayloadError(f"{name} is not a JSON object.")
    return cast("dict[str, Json]", found)
