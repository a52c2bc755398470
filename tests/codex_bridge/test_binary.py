"""The binary is looked up in four places in order, npm's launcher gives way to what it would run, and none is said."""

import sys
from pathlib import Path
from types import ModuleType

import pytest

from codex_bridge.binary import CodexBinary, find_codex, vendor_binary
from codex_bridge.errors import BinaryNotFoundError

LAUNCHER = "#!/usr/bin/env node\nconsole.log('codex')\n"
TRIPLE = "x86_64-unknown-linux-musl"
INSTALL = "Install one with: pip install 'openclaw-codex-bridge[codex]', or name yours in CODEX_BIN."


def program(path: Path, text: str = "\x7fELF", *, mode: int = 0o755) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    path.chmod(mode)
    return path


class Wheel(ModuleType):
    """The wheel's module, as far as it is used."""

    def __init__(self, path: Path | None) -> None:
        super().__init__("codex_cli_bin")
        self._path = path

    def bundled_codex_path(self) -> Path:
        if self._path is None:
            raise FileNotFoundError("no binary for this platform")
        return self._path


@pytest.fixture
def no_wheel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "codex_cli_bin", None)


@pytest.fixture
def wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = program(tmp_path / "wheel" / "bin" / "codex")
    monkeypatch.setitem(sys.modules, "codex_cli_bin", Wheel(path))
    return path


def test_a_path_that_is_given_wins(tmp_path: Path, wheel: Path) -> None:
    given, named, on_path = (program(tmp_path / place / "codex") for place in ("given", "named", "on-path"))
    environ = {"CODEX_BIN": str(named), "PATH": str(on_path.parent)}

    assert find_codex(given, environ=environ) == CodexBinary(given, "the path given")
    assert find_codex(environ=environ) == CodexBinary(named, "the environment variable CODEX_BIN")
    del environ["CODEX_BIN"]
    assert find_codex(environ=environ) == CodexBinary(wheel, "the wheel openai-codex-cli-bin")


@pytest.mark.usefixtures("no_wheel")
def test_path_is_the_last_resort(tmp_path: Path) -> None:
    on_path = program(tmp_path / "bin" / "codex")
    environ = {"CODEX_BIN": "  ", "PATH": f"/nowhere:{on_path.parent}"}
    assert find_codex(environ=environ) == CodexBinary(on_path, "PATH")


def test_the_variable_may_begin_with_a_tilde(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    path = program(tmp_path / "bin" / "codex")
    assert find_codex(environ={"CODEX_BIN": "~/bin/codex"}).path == path


def test_a_relative_path_is_made_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path / "codex")
    monkeypatch.chdir(tmp_path)
    assert find_codex(Path("codex"), environ={}).path == tmp_path / "codex"


@pytest.mark.usefixtures("no_wheel")
def test_when_there_is_none_all_that_was_tried_is_named(tmp_path: Path) -> None:
    with pytest.raises(BinaryNotFoundError) as caught:
        find_codex(environ={"PATH": str(tmp_path)})
    assert caught.value.tried == (
        "the environment variable CODEX_BIN (not set)",
        "the wheel openai-codex-cli-bin (not installed)",
        "PATH (no program called codex on it)",
    )
    assert str(caught.value) == f"No Codex binary found. Tried: {'; '.join(caught.value.tried)}. {INSTALL}"


def test_a_wheel_that_is_broken_is_passed_over_and_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    no_exec = program(tmp_path / "wheel" / "codex", mode=0o644)
    for wheel, problem in [
        (Wheel(None), "no binary for this platform"),
        (Wheel(no_exec), f"{no_exec} is not executable"),
        (Wheel(tmp_path / "gone"), f"{tmp_path / 'gone'} is no file"),
    ]:
        monkeypatch.setitem(sys.modules, "codex_cli_bin", wheel)
        with pytest.raises(BinaryNotFoundError) as caught:
            find_codex(environ={"PATH": str(tmp_path)})
        assert caught.value.tried[1] == f"the wheel openai-codex-cli-bin ({problem})"
        on_path = program(tmp_path / "bin" / "codex")
        assert find_codex(environ={"PATH": str(on_path.parent)}).path == on_path


@pytest.mark.parametrize("source", ["given", "variable"])
def test_a_place_that_somebody_named_is_not_replaced_by_another(tmp_path: Path, wheel: Path, source: str) -> None:
    assert wheel.is_file()
    missing, folder = tmp_path / "missing", tmp_path / "folder"
    folder.mkdir()
    no_exec = program(tmp_path / "plain", mode=0o644)
    for path, problem in [(missing, "is no file"), (folder, "is no file"), (no_exec, "is not executable")]:
        with pytest.raises(BinaryNotFoundError) as caught:
            if source == "given":
                find_codex(path, environ={})
            else:
                find_codex(environ={"CODEX_BIN": str(path)})
        place = "the path given" if source == "given" else "the environment variable CODEX_BIN"
        assert caught.value.tried == (f"{place} ({path} {problem})",)


# npm


def npm(root: Path, vendor: str) -> tuple[Path, Path]:
    """An installation of npm's: the link on PATH, and the vendor binary at `vendor` below node_modules/@openai."""
    scope = root / "node_modules" / "@openai"
    launcher = program(scope / "codex" / "bin" / "codex.js", LAUNCHER)
    link = root / "node_modules" / ".bin" / "codex"
    link.parent.mkdir(parents=True)
    link.symlink_to("../@openai/codex/bin/codex.js")
    assert link.resolve() == launcher
    return link, program(scope / vendor)


LAYOUTS = {
    "old": f"codex/vendor/{TRIPLE}/codex/codex",
    "new, inside the package": f"codex/vendor/{TRIPLE}/bin/codex",
    "new, beside the package": f"codex-linux-x64/vendor/{TRIPLE}/bin/codex",
    "new, beside, older folder": f"codex-linux-x64/vendor/{TRIPLE}/codex/codex",
    "new, nested": f"codex/node_modules/@openai/codex-linux-x64/vendor/{TRIPLE}/bin/codex",
}


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_the_vendor_binary_behind_npms_launcher_is_taken(tmp_path: Path, layout: str) -> None:
    link, vendor = npm(tmp_path, layout)
    behind = "(the vendor binary behind its npm launcher)"
    assert find_codex(link, environ={}) == CodexBinary(vendor, f"the path given {behind}")
    assert find_codex(environ={"CODEX_BIN": str(link)}) == CodexBinary(
        vendor, f"the environment variable CODEX_BIN {behind}"
    )


@pytest.mark.usefixtures("no_wheel")
def test_the_launcher_on_path_gives_way_too(tmp_path: Path) -> None:
    link, vendor = npm(tmp_path, LAYOUTS["new, beside the package"])
    found = find_codex(environ={"PATH": str(link.parent)})
    assert found == CodexBinary(vendor, "PATH (the vendor binary behind its npm launcher)")


def test_a_launcher_whose_vendor_binary_is_missing_is_no_binary(tmp_path: Path) -> None:
    link, vendor = npm(tmp_path, LAYOUTS["old"])
    vendor.chmod(0o644)
    assert vendor_binary(link) is None
    with pytest.raises(BinaryNotFoundError) as caught:
        find_codex(link, environ={})
    assert caught.value.tried == (f"the path given ({link} is an npm launcher whose vendor binary is missing)",)


@pytest.mark.parametrize("text", ["#!/bin/sh\nexec codex\n", "\x7fELF", "", "#!"])
def test_any_other_program_is_taken_as_it_is(tmp_path: Path, text: str) -> None:
    path = program(tmp_path / "codex", text)
    assert find_codex(path, environ={}).path == path


def test_helper_programs_beside_the_binary_are_found(tmp_path: Path) -> None:
    path = program(tmp_path / "vendor" / TRIPLE / "bin" / "codex")
    assert CodexBinary(path, "test").tools_dir is None
    tools = tmp_path / "vendor" / TRIPLE / "codex-path"
    tools.mkdir()
    assert CodexBinary(path, "test").tools_dir == tools
