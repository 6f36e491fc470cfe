# SPDX-License-Identifier: Apache-2.0
"""Results as files for programs: per figure a CSV with a row per cell, and a JSON."""

import csv
import json
from pathlib import Path

from holdfast.lab import metrics
from holdfast.lab.figures import Figure, Panel
from holdfast.lab.kinds import KINDS
from holdfast.lab.results import Results
from holdfast.shapes import Json

_HEAD = (
    *("figure", "panel", "series", "engine", "design", "machine"),
    *("x", "seed", "state", "reason"),
)


def write_csv(path: Path, figure: Figure, results: Results) -> None:
    kinds = {panel.kind for panel in figure.panels}
    columns = [*dict.fromkeys(name for kind in sorted(kinds) for name in KINDS[kind].columns)]
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*_HEAD, *columns])
        for cell in figure.cells():
            panel = figure.panel(cell.panel)
            outcome = results.outcome(panel, cell.series, cell.x, cell.seed)
            entry = outcome.entry
            own = KINDS[cell.kind].columns if entry else ()
            values = [
                metrics.if_measured(entry, name) if entry and name in own else None
                for name in columns
            ]
            spec = cell.spec
            engine = cell.series if cell.native else spec.engines[0]
            head = (figure.id, cell.panel, cell.series, engine, spec.design, spec.machine)
            state = (cell.x, cell.seed, outcome.state, outcome.reason)
            writer.writerow([*head, *state, *values])


def write_json(path: Path, figure: Figure, results: Results) -> None:
    value = {
        "id": figure.id,
        "title": figure.title,
        "reference": figure.reference,
        "notes": figure.notes,
        "panels": [_panel(panel, results) for panel in figure.panels],
    }
    path.write_text(json.dumps(value, indent=1) + "\n")


def _panel(panel: Panel, results: Results) -> Json:
    cells = []
    for cell in panel.cells():
        outcome = results.outcome(panel, cell.series, cell.x, cell.seed)
        cells.append(
            {
                "series": cell.series,
                "x": cell.x,
                "seed": cell.seed,
                "state": outcome.state,
                "reason": outcome.reason,
                "spec": cell.spec.json(),
                "entry": outcome.entry.json if outcome.entry else None,
            }
        )
    return {
        "id": panel.id,
        "title": panel.title,
        "axis": panel.axis,
        "paper": panel.paper,
        "cells": cells,
    }
