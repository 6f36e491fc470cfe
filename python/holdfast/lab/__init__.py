# SPDX-License-Identifier: Apache-2.0
"""The laboratory: figures and claims of papers, as data, run on simulated machines.

Reading order: figures.py (the runs of a figure), series.py and scaling.py (parts of a panel),
cells.py (one run), kinds.py (the kinds of runs), runs.py and cache.py (running all of them),
metrics.py, machine_metrics.py, costs.py and formula.py (reading values out of them), claims.py
(verdicts), draw.py, points.py and report.py (pictures and files), reproduce.py (the whole way).
"""
