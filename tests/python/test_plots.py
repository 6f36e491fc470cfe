# SPDX-License-Identifier: Apache-2.0
"""Does everything but drawing work without matplotlib?"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast import chart, errors, plots

# A module of this name in front of the real one, as where matplotlib is not installed.
_HIDING = "import sys\nsys.modules['matplotlib'] = None\n"


@pytest.fixture
def without_matplotlib(tmp_path):
    """Runs the command where matplotlib cannot be imported."""
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    (hidden / "sitecustomize.py").write_text(_HIDING)
    search = os.pathsep.join([str(hidden), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)

    def run(*arguments: object, status: int = 0) -> subprocess.CompletedProcess:
        line = [sys.executable, "-m", "holdfast", *map(str, arguments)]
        done = subprocess.run(
            line,
            capture_output=True,
            text=True,
            cwd=tmp_path,
            check=False,
            env=os.environ | {"PYTHONPATH": search},
        )
        assert done.returncode == status, f"{line}\n{done.stdout}\n{done.stderr}"
        return done

    return run


def test_the_demo_runs_and_says_why_there_is_no_chart(without_matplotlib, tmp_path):
    line = ("demo", "--quick", "--domain", "process", "--compare-seconds", 0.1, "--out", "out")
    said = " ".join(without_matplotlib(*line).stdout.split())
    assert "There is no chart: drawing needs matplotlib" in said
    assert "pip install 'holdfast[plots]'" in said
    out = tmp_path / "out"
    assert json.loads((out / "demo.json").read_text())["kill"]["ok"]
    assert not (out / "demo.png").exists()


def test_a_figure_is_run_and_judged_without_a_picture(without_matplotlib, tmp_path):
    line = ("reproduce", "--quick", "--out", "out", "--json", "told.json")
    figure = _smallest_figure()
    said = " ".join(without_matplotlib(*line, figure).stdout.split())
    assert "There are no pictures: drawing needs matplotlib" in said and "holdfast[plots]" in said
    assert json.loads((tmp_path / "told.json").read_text())["figures"] == []
    written = {path.name for path in (tmp_path / "out").iterdir()}
    assert written == {f"{figure}.csv", f"{figure}.json", "claims.json"}


def _smallest_figure() -> str:
    from holdfast.lab import figures

    def cost(figure: figures.Figure) -> float:
        """The cost of a transaction is not known, so runs that are counted do not take part."""
        cells = list(figure.cells())
        unfit = any(cell.native or cell.spec.transactions for cell in cells)
        return float("inf") if unfit else sum(cell.cost() for cell in cells)

    return min(figures.load_all(quick=True).values(), key=cost).id


def test_nothing_else_needs_it(without_matplotlib):
    without_matplotlib("--help")
    without_matplotlib("engines")
    without_matplotlib("reproduce", "--list")


def test_drawing_without_it_is_bad_usage(monkeypatch, tmp_path: Path):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert "pip install 'holdfast[plots]'" in plots.missing()
    with pytest.raises(errors.BadUsage, match="drawing needs matplotlib"):
        chart.draw(tmp_path / "chart.png", [], "title", [])


def test_it_is_an_extra_and_no_dependency(repository):
    import tomllib

    project = tomllib.loads((repository / "pyproject.toml").read_text())["project"]
    assert not any("matplotlib" in one for one in project["dependencies"])
    assert any("matplotlib" in one for one in project["optional-dependencies"]["plots"])
    assert "matplotlib" in (repository / "requirements.txt").read_text()
