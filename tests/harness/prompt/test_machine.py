"""What a prompt tells of the machine."""

import platform
from dataclasses import replace
from pathlib import Path

import pytest

from harness.plain import plain_settings
from harness.prompt.facts import DocsFacts
from harness.prompt.machine import find_docs, find_repo, machine_facts
from harness.settings.agent import ModelSettings


def check_out(folder: Path) -> None:
    (folder / ".git").mkdir(exist_ok=True)
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n", "utf-8")


def test_the_repository_is_the_configured_one_or_the_one_around_the_workspace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S26, prompt-builder 14."""
    workspace = tmp_path / "repo" / "agents" / "pell"
    workspace.mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    settings = plain_settings(workspace)
    assert find_repo(settings) is None
    check_out(tmp_path / "repo")
    assert find_repo(settings) == tmp_path / "repo"
    assert find_repo(replace(settings, repo_root=tmp_path)) == tmp_path
    assert find_repo(replace(settings, repo_root=tmp_path / "nowhere")) == tmp_path / "repo"
    elsewhere = plain_settings(tmp_path / "other")
    monkeypatch.chdir(workspace)
    assert find_repo(elsewhere) == tmp_path / "repo"


def test_the_machine_is_told_without_what_is_not_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHELL", "/usr/bin/zsh")
    settings = replace(plain_settings(tmp_path, "pell"), models=ModelSettings(primary="openai/gpt-5.5"))
    facts = machine_facts(settings, model="openai/gpt-5-mini")
    assert (facts.agent, facts.host, facts.arch, facts.shell) == ("pell", platform.node(), platform.machine(), "zsh")
    assert (facts.model, facts.default_model, facts.node) == ("openai/gpt-5-mini", "openai/gpt-5.5", "")
    assert machine_facts(settings).model == "openai/gpt-5.5"


def test_documentation_is_found_by_its_index_and_source_by_its_repository(tmp_path: Path) -> None:
    """S79, S80."""
    workspace, package = tmp_path / "w", tmp_path / "openclaw"
    (workspace / "docs").mkdir(parents=True)
    (package / "docs").mkdir(parents=True)
    assert find_docs(workspace, package) == DocsFacts()
    (package / "docs" / "docs.json").write_text("{}", "utf-8")
    assert find_docs(workspace, package) == DocsFacts(docs=str(package / "docs"))
    (package / ".git").mkdir()
    assert find_docs(workspace, package).source == ""
    check_out(package)
    (workspace / "docs" / "docs.json").write_text("{}", "utf-8")
    assert find_docs(workspace, package) == DocsFacts(docs=str(workspace / "docs"), source=str(package))
    assert find_docs(workspace) == DocsFacts(docs=str(workspace / "docs"))
