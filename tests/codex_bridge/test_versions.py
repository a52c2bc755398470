"""The server's version is read out of its user agent; too old is an error, newer than tested is told."""

import pytest

from codex_bridge.errors import ServerTooOldError, UnreadableAnswerError
from codex_bridge.versions import FLOOR, NEWEST_TESTED, ServerVersion, version_of


@pytest.mark.parametrize(
    ("agent", "expected"),
    [
        ("probe/0.171.0 (Debian 12.0.0; x86_64) xterm (probe; 0)", ServerVersion((0, 171, 0), "0.171.0")),
        ("openclaw-codex-bridge/0.163.0 (Mac OS 15.1.0; arm64)", ServerVersion((0, 163, 0), "0.163.0")),
        ("x/0.164.0-alpha.3 (Debian)", ServerVersion((0, 164, 0), "0.164.0-alpha.3")),
        ("x/1.0.12+build5", ServerVersion((1, 0, 12), "1.0.12+build5")),
        ("/0.163.7", ServerVersion((0, 163, 7), "0.163.7")),
    ],
)
def test_the_version_follows_the_name(agent: str, expected: ServerVersion) -> None:
    assert version_of(agent) == expected


@pytest.mark.parametrize("agent", ["", "codex", "codex 0.171.0", "codex/", "codex/0.171", "codex/a.b.c"])
def test_a_user_agent_without_a_version_is_unreadable(agent: str) -> None:
    with pytest.raises(UnreadableAnswerError, match="no version in the user agent") as caught:
        version_of(agent)
    assert caught.value.method == "initialize"


@pytest.mark.parametrize("version", ["0.162.9", "0.98.2", "0.0.0", "0.162.999-alpha.1"])
def test_a_version_below_the_floor_names_itself_the_floor_and_the_fix(version: str) -> None:
    with pytest.raises(ServerTooOldError) as caught:
        version_of(f"x/{version} (Debian)")
    assert (caught.value.version, caught.value.floor) == (version, "0.163.0")
    assert str(caught.value) == (
        f"Codex {version} is too old for this bridge, which needs 0.163.0 or later. "
        "Update it with: pip install --upgrade openai-codex-cli-bin"
    )


@pytest.mark.parametrize(
    ("version", "untested"),
    [
        ("0.163.0", False),
        ("0.170.4", False),
        ("0.171.0", False),
        ("0.171.9", False),
        ("0.172.0", True),
        ("1.0.0", True),
    ],
)
def test_a_version_newer_than_every_tested_one_is_told_apart(version: str, untested: bool) -> None:
    told = (
        f"Codex {version} is newer than all that this bridge was tested on, which ends with 0.171.0; where it behaves "
        "oddly, update the bridge or name an older binary in CODEX_BIN."
    )
    assert version_of(f"x/{version}").warning == (told if untested else "")


def test_the_supported_range_is_no_empty_one() -> None:
    assert sorted([NEWEST_TESTED, FLOOR]) == [FLOOR, NEWEST_TESTED]
