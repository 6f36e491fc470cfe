# SPDX-License-Identifier: Apache-2.0
"""A figure and a claim of a paper that does not exist, for tests of the lab."""

from pathlib import Path

FIGURE = """
id = "toy-1"
paper = "toy"
title = "a toy"
reference = "nowhere"

[common]
workload = "sps"
machine = "tiny"
engines = ["undo", "fur-si"]
values = [1, 2]
duration_us = 20
warm_up_us = 2
params = { entries = 100 }
options = { background = 0, "undo.nonsense" = 1 }

[quick]
values = [2]
duration_us = 5

[[panel]]
id = "one"
title = "first"

[[panel]]
id = "two"
title = "second"
axis = "set.persistence.write_back_ns"
values = [10, 20, 40]
threads = 2
seeds = [1, 2]
set = { core.ghz = 2 }
rows = ["throughput", "outcomes", "overhead.update", "time.read"]
quick = { seeds = [7] }
"""

CLAIM = """
[[of]]
paper = "toy"
where = "1"
figure = "toy-1"
panel = "one"

[[of.claim]]
id = "T1a"
sentence = "undo is twice as fast"
formula = 'at(tput["undo"] / tput["fur-si"], 2)'
value = 2.0
tolerance = "factor 1.5"
"""


def write(folder: Path, text: str, name: str = "toy-1.toml") -> Path:
    path = folder / name
    path.write_text(text)
    return path
