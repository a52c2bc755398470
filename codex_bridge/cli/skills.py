"""`codex-bridge skills list`: every skill that was found, in or out, and why."""

import json

import typer
from rich.text import Text

from codex_bridge.cli.options import ruled
from codex_bridge.cli.setup import AgentOption, ConfigOption, JsonOption, WorkspaceOption, configured, hint
from codex_bridge.cli.tables import console, table
from codex_bridge.lanes import HABITS
from harness.gather import Gatherer
from harness.skills.library import SkillSurvey
from harness.skills.values import Standing
from harness.workspace.folder import check_folder

app = typer.Typer(help="What the agent's skills are.", no_args_is_help=True)

_STYLES = {Standing.IN: "green", Standing.COMMAND_ONLY: "yellow", Standing.OUT: "dim"}


@app.callback()
def group() -> None:
    """What the agent's skills are."""


@app.command("list", cls=ruled())
def listing(
    workspace: WorkspaceOption = None,
    config: ConfigOption = None,
    agent: AgentOption = None,
    as_json: JsonOption = False,
) -> None:
    """List every skill that was found, whether the model is told of it, and why."""
    found = configured(config, agent, workspace)
    hint(found)
    settings = found.settings
    check_folder(settings.workspace)
    gatherer = Gatherer(settings, HABITS)
    survey = gatherer.library.survey(settings.skills.rules, gatherer.options)
    if as_json:
        print(json.dumps(as_data(survey), ensure_ascii=False, indent=2))
        return
    out = console()
    rows = [
        (
            verdict.name,
            Text(verdict.standing.value, style=_STYLES[verdict.standing]),
            verdict.source.value,
            verdict.reason,
        )
        for verdict in survey.verdicts
    ]
    out.print(table("Skills", ("skill", "state", "from", "why"), rows))
    out.print(f"\n{survey.catalogue.count} of {survey.catalogue.total} listed, {survey.catalogue.units:,} units.")
    if survey.catalogue.warning:
        out.print(Text(f"! {survey.catalogue.warning}", style="yellow"))
    for problem in survey.problems:
        out.print(Text(f"! {problem.text}", style="yellow"))


def as_data(survey: SkillSurvey) -> dict[str, object]:
    """The survey as JSON data."""
    return {
        "skills": [
            {
                "name": verdict.name,
                "state": verdict.standing.value,
                "why": verdict.why.value,
                "reason": verdict.reason,
                "source": verdict.source.value,
                "plugin": verdict.plugin,
                "file": verdict.file,
            }
            for verdict in survey.verdicts
        ],
        "listed": survey.catalogue.count,
        "units": survey.catalogue.units,
        "problems": [problem.text for problem in survey.problems],
    }
