#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs build/release/bench/sim_validation and replaces its table in docs/inside/sim-validation.md,
between the two marks."""

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BEGIN = "<!-- validation table: tools/update_validation.py -->\n"
END = "<!-- end of validation table -->\n"


def main() -> None:
    table = subprocess.run(
        [ROOT / "build/release/bench/sim_validation"], check=True, capture_output=True, text=True
    ).stdout
    page = ROOT / "docs/inside/sim-validation.md"
    text = page.read_text()
    head, rest = text.split(BEGIN)
    _, tail = rest.split(END)
    page.write_text(head + BEGIN + table + END + tail)


if __name__ == "__main__":
    main()
