# SPDX-License-Identifier: Apache-2.0
import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import fake_core
import holdfast
from holdfast.cli import app

REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory):
    """Populations of simulated runs go to a folder of the tests, not to the user's."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("HOLDFAST_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture
def repository() -> Path:
    return REPOSITORY


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> fake_core.FakeCore:
    """A core that answers at once and remembers what it was asked."""
    core = fake_core.FakeCore()
    monkeypatch.setattr(holdfast, "_core", core, raising=False)
    return core


@pytest.fixture
def invoke():
    """Runs the command line in this process: invoke("bench", "bank") -> result with exit_code, stdout, stderr."""
    return lambda *arguments: CliRunner().invoke(app, [str(a) for a in arguments])


@pytest.fixture
def command(tmp_path: Path):
    """Runs the real command in a process of its own."""

    def run(*arguments: object, status: int = 0) -> subprocess.CompletedProcess:
        line = [sys.executable, "-m", "holdfast", *map(str, arguments)]
        done = subprocess.run(line, capture_output=True, text=True, cwd=tmp_path, check=False, timeout=600)
        assert done.returncode == status, f"{line}\n{done.stdout}\n{done.stderr}"
        return done

    return run


@pytest.fixture
def command_json(command):
    """The same for a verb with --json: returns what it printed as JSON."""
    return lambda *arguments, status=0: json.loads(command(*arguments, "--json", "-", status=status).stdout)


@pytest.fixture(scope="session")
def engine_names() -> list[str]:
    """The real engines that run on this computer."""
    from holdfast import core

    return [entry["name"] for entry in core.engines() if not entry["simulated_only"]]


@pytest.fixture(scope="session")
def durable_engine_names() -> list[str]:
    """Those that promise something over a crash."""
    from holdfast import core

    return [e["name"] for e in core.engines() if not e["simulated_only"] and core.is_durable(e)]
