import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from harness.config import (
    ConfigSource,
    Surroundings,
    UnreadableConfigError,
    describe,
    load_config,
)
from harness.config.root import OpenClawConfig

GOOD = "{agents: {defaults: {bootstrapMaxChars: 100}}}"


@pytest.fixture
def here(machine: Surroundings, tmp_path: Path) -> Surroundings:
    return replace(machine, environment={"OPENCLAW_STATE_DIR": str(tmp_path)})


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "openclaw.json"


def test_without_a_file_every_default_counts(here: Surroundings) -> None:
    config = load_config(here)

    assert (config.values, config.findings, config.path) == (OpenClawConfig(), (), None)


def test_the_file_of_the_state_directory_is_read_with_its_byte_order_mark(here: Surroundings, file: Path) -> None:
    file.write_bytes(b"\xef\xbb\xbf" + GOOD.encode())

    config = load_config(here)

    assert (config.values.agents.defaults.bootstrap_max_chars, config.path) == (100, file)


def test_a_file_that_somebody_named_must_exist(here: Surroundings, tmp_path: Path) -> None:
    missing = tmp_path / "typo.json"

    with pytest.raises(UnreadableConfigError) as caught:
        load_config(here, explicit=missing)
    assert str(caught.value) == f"{missing}: there is no such file; check the path."


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"{ a: }", ", line 1, column 6: '}' is not expected here; check the comma, quote or bracket before it."),
        (b"[]", ", line 1, column 1: the file must hold one object in braces."),
        (b'{\n "a": "\xff"}', ", line 2, column 8: it is not UTF-8; save it as UTF-8."),
        (GOOD.encode("utf-16"), ": it is in UTF-16; save it as UTF-8."),
        (b" " * (4 * 1024 * 1024 + 1), ": it is larger than 4,194,304 bytes, so it is no configuration file."),
    ],
    ids=["fault", "list", "latin", "utf-16", "huge"],
)
def test_a_file_that_cannot_be_read_is_named_with_place_and_fix(
    here: Surroundings, file: Path, content: bytes, sentence: str
) -> None:
    file.write_bytes(content)

    with pytest.raises(UnreadableConfigError) as caught:
        load_config(here)
    assert str(caught.value) == f"{file}{sentence}"


def test_a_folder_in_place_of_the_file_is_named(here: Surroundings, file: Path) -> None:
    file.mkdir()

    with pytest.raises(UnreadableConfigError) as caught:
        load_config(here)
    assert str(caught.value) == f"{file}: it cannot be read (Is a directory)."


def test_an_unchanged_file_gives_the_very_same_value(here: Surroundings, file: Path) -> None:
    file.write_text(GOOD, encoding="utf-8")
    source = ConfigSource(here)

    assert source.current() is source.current()


def test_no_file_gives_the_very_same_value_until_one_appears(here: Surroundings, file: Path) -> None:
    source = ConfigSource(here)
    first = source.current()
    assert source.current() is first

    file.write_text(GOOD, encoding="utf-8")

    assert source.current().values.agents.defaults.bootstrap_max_chars == 100


def test_an_edit_is_noticed(here: Surroundings, file: Path) -> None:
    file.write_text(GOOD, encoding="utf-8")
    source = ConfigSource(here)
    source.current()

    file.write_text(GOOD.replace("100", "2000"), encoding="utf-8")

    assert source.current().values.agents.defaults.bootstrap_max_chars == 2000


def test_a_broken_edit_leaves_the_last_good_configuration_in_force(here: Surroundings, file: Path) -> None:
    file.write_text(GOOD, encoding="utf-8")
    source = ConfigSource(here)
    good = source.current()

    file.write_text(GOOD + "}", encoding="utf-8")
    broken = source.current()

    assert broken.values is good.values
    assert [describe(finding) for finding in broken.findings] == [
        f"{file}, line 1, column 47: '}}' is not expected here; check the comma, quote or bracket before it; "
        "the last good configuration stays in force."
    ]
    assert source.current() is broken

    file.write_text(GOOD, encoding="utf-8")
    assert source.current().findings == ()


def test_a_file_that_goes_away_leaves_the_last_good_configuration_in_force(here: Surroundings, file: Path) -> None:
    file.write_text(GOOD, encoding="utf-8")
    source = ConfigSource(here)
    good = source.current()

    file.unlink()
    gone = source.current()

    assert gone.values is good.values
    assert [describe(finding) for finding in gone.findings] == [
        f"{file}: the file is gone; write it again, or restart without it; the last good configuration stays in force."
    ]


def test_a_file_that_was_broken_from_the_start_is_an_error(here: Surroundings, file: Path) -> None:
    file.write_text("{", encoding="utf-8")

    with pytest.raises(UnreadableConfigError, match="line 1, column 2"):
        ConfigSource(here).current()


def test_importing_the_package_leaves_the_json5_library_for_later() -> None:
    code = "import sys, harness.config; print(sorted({'json5', 'difflib'} & set(sys.modules)))"

    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)

    assert found.stdout.strip() == "[]"
