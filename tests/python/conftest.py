# SPDX-License-Identifier: Apache-2.0
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import fake_core
import holdfast
from holdfast import fleet
from holdfast.cli import app
from local_pool import LocalPool

REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory):
    """Sends populations of simulated runs to a folder of the tests, not to the user's."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("HOLDFAST_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture
def repository() -> Path:
    return REPOSITORY


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> fake_core.FakeCore:
    """A core that answers at once and remembers its calls. All jobs run in this process."""
    core = fake_core.FakeCore()
    monkeypatch.setattr(holdfast, "_core", core, raising=False)
    monkeypatch.setattr(fleet, "Pool", LocalPool)
    return core


@pytest.fixture
def invoke():
    """Runs the command line in this process: invoke("bench", "bank").

    Returns a result with exit_code, stdout and stderr.
    """
    return lambda *arguments: CliRunner().invoke(app, [str(a) for a in arguments])


@pytest.fixture
def command(tmp_path: Path):
    """Runs the real command in a process of its own."""

    def run(*arguments: object, status: int = 0) -> subprocess.CompletedProcess:
        line = [sys.executable, "-m", "holdfast", *map(str, arguments)]
        done = subprocess.run(
            line, capture_output=True, text=True, cwd=tmp_path, check=False, timeout=600
        )
        assert done.returncode == status, f"{line}\n{done.stdout}\n{done.stderr}"
        return done

    return run


@pytest.fixture
def command_json(command):
    """Runs the real command with --json; returns the JSON that it printed."""

    def run(*arguments: object, status: int = 0) -> Any:
        return json.loads(command(*arguments, "--json", "-", status=status).stdout)

    return run
