# SPDX-License-Identifier: Apache-2.0
"""The laboratory: figures and claims of papers, as data, run on simulated machines.

Reading order: figures.py (what is run), cells.py (one run), pool.py and cache.py (how all are run), metrics.py and
formula.py (what is read out of them), claims.py (verdicts), draw.py and report.py (what people see), reproduce.py.
"""
