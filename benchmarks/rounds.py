"""How the clients are run: in turn, each in a fresh process, on a fresh copy of one warmed Codex home."""

import importlib.util
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path
from statistics import median
from typing import Final, cast

from benchmarks.job import Job, ProviderFields, Sample
from codex_bridge.binary import find_codex
from codex_bridge.home import Home, child_environment, private_dir
from codex_bridge.process import Launch
from codex_bridge.providers import Provider

ROOT: Final = Path(__file__).parent.parent
BUILD: Final = ROOT / "build" / "bench"
"""Codex homes live here and not in the temporary folder, where Codex warns of them."""
COMPILED: Final = BUILD / "pycache"
"""Bytecode of everything that is imported. An installed package has it; a checkout may not, and would be compiled
anew by every process."""
LIBRARIES: Final = {"raw": "benchmarks.clients.raw", "sdk": "openai_codex", "ours": "codex_bridge.bridge"}
"""What speaks the protocol in each client."""
LONGEST: Final = 600
"""Seconds after which a client counts as hung."""


@dataclass(frozen=True, slots=True)
class Counts:
    """How much is run."""

    turns: int = 50
    warmups: int = 3
    deltas: int = 20_000
    runs: int = 3
    opens: int = 5
    imports: int = 9


def clients(*, sdk: bool) -> list[str]:
    """The clients to compare, in the order in which they take turns."""
    wanted = sdk and importlib.util.find_spec("openai_codex") is not None
    return ["raw", "sdk", "ours"] if wanted else ["raw", "ours"]


def measure(names: Iterable[str], counts: Counts, say: Callable[[str], None]) -> dict[str, dict[str, float]]:
    """Run everything and return the medians, in the units of `benchmarks.report`."""
    names = list(names)
    results = imports(names, counts.imports, say)
    samples: dict[str, list[Sample]] = {name: [] for name in names}
    BUILD.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=BUILD) as folder, _workspace() as workspace:
        warm = private_dir(Path(folder, "warm"))
        _run_client("raw", warm, workspace, Counts(turns=0))
        for name in names:  # compiles what is imported late; an installed package is compiled
            home = Path(folder, f"{name}-compiled", "home")
            shutil.copytree(warm, home, symlinks=True)
            _run_client(name, home, workspace, Counts(turns=0))
        for number in range(max(counts.runs, counts.opens)):
            this_round = counts if number < counts.runs else Counts(turns=0)
            for name in names:
                say(f"round {number + 1}: {name}")
                home = Path(folder, f"{name}-{number}", "home")
                shutil.copytree(warm, home, symlinks=True)
                samples[name].append(_run_client(name, home, workspace, this_round))
    for name in names:
        results[name] |= _medians(samples[name][: counts.opens], samples[name][: counts.runs])
    return results


def imports(names: Iterable[str], count: int, say: Callable[[str], None]) -> dict[str, dict[str, float]]:
    """CPU of importing each client and its library over a bare interpreter: medians of the differences, in ms."""
    names = list(names)
    statements = {("", ""): "pass"}
    statements |= {(name, "import_cpu"): f"import benchmarks.clients.{name}" for name in names}
    statements |= {(name, "library_cpu"): f"import {LIBRARIES[name]}" for name in names}
    taken: dict[tuple[str, str], list[float]] = {each: [] for each in statements}
    for number in range(count + 1):
        say(f"import, {number} of {count}")
        for each, statement in statements.items():
            spent = _interpreter(statement)
            if number:  # the first one compiles
                taken[each].append(spent)
    bare = taken.pop(("", ""))
    results: dict[str, dict[str, float]] = {name: {} for name in names}
    for (name, key), took in taken.items():
        results[name][key] = 1000 * median(each - floor for each, floor in zip(took, bare, strict=True))
    return results


def _interpreter(statement: str) -> float:
    """CPU seconds of a fresh interpreter that runs `statement`."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", statement], cwd=ROOT, env=_environment(), check=True, timeout=LONGEST)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _medians(opens: list[Sample], runs: list[Sample]) -> dict[str, float]:
    return {
        "first_turn": 1000 * median(each["first_turn"] for each in opens),
        "turn_wall": 1000 * median(each["turn_wall"] for each in runs),
        "turn_cpu": 1000 * median(each["turn_cpu"] for each in runs),
        "deltas_wall": 1000 * median(each["deltas_wall"] for each in runs),
        "deltas_cpu": 1000 * median(each["deltas_cpu"] for each in runs),
        "peak_memory": max(each["peak_memory"] for each in runs) / 1e6,
    }


def _run_client(name: str, home: Path, workspace: Path, counts: Counts) -> Sample:
    binary = find_codex()
    with stand_in() as fields:
        provider = Provider(**fields)
        environment = child_environment(home, tools_dir=binary.tools_dir, extra=provider.environment())
        job: Job = {
            "command": Launch(binary, Home(home, owned=True), provider).command(),
            "env": dict(environment.passed),
            "home": str(home),
            "workspace": str(workspace),
            "provider": fields,
            "update": json.loads(files("harness.testing").joinpath("sample/update.json").read_text("utf-8")),
            "warmups": counts.warmups,
            "turns": counts.turns,
            "deltas": counts.deltas,
        }
        done = subprocess.run(
            [sys.executable, "-m", f"benchmarks.clients.{name}"],
            input=json.dumps(job),
            cwd=ROOT,
            env=_environment(),
            capture_output=True,
            text=True,
            check=False,
            timeout=LONGEST,
        )
    if done.returncode:
        raise RuntimeError(f"the client {name} ended with status {done.returncode}:\n{done.stderr}")
    return cast("Sample", json.loads(done.stdout))


def _environment() -> dict[str, str]:
    """The environment of every Python process that is started here."""
    ours = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return ours | {"PYTHONPYCACHEPREFIX": str(COMPILED)}


@contextmanager
def stand_in(*words: str) -> Generator[ProviderFields]:
    """A stand-in model in a process of its own; the words choose what it says, see `model_server`."""
    command = [sys.executable, "-m", "benchmarks.model_server", *words]
    with subprocess.Popen(
        command, cwd=ROOT, env=_environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        try:
            yield cast("ProviderFields", json.loads(server.stdout.readline()))
        finally:
            server.communicate()  # closes its stdin, at which it ends


@contextmanager
def _workspace() -> Generator[Path]:
    """A copy of the sample workspace outside of any repository."""
    with (
        tempfile.TemporaryDirectory(prefix="codex-bridge-bench-") as folder,
        as_file(files("harness.testing").joinpath("sample/workspace")) as sample,
    ):
        workspace = Path(os.path.realpath(folder), "workspace")
        shutil.copytree(sample, workspace)
        yield workspace
