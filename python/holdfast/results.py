# SPDX-License-Identifier: Apache-2.0
"""Reads the results of `bench` and `sim`: Google Benchmark's schema with this project's counters."""

from typing import Any

import holdfast.environment

# One element of benchmarks[]; its fields are written by holdfast/runner/bench/bench_entry.cc.
Entry = dict[str, Any]


def medians(report: dict[str, Any]) -> list[Entry]:
    """One entry per configuration that ran: the one that carries everything."""
    return [entry for entry in report["benchmarks"] if entry.get("run_type") == "aggregate"]


def failures(report: dict[str, Any]) -> list[Entry]:
    """Configurations that could not run, each with its error_message."""
    return [entry for entry in report["benchmarks"] if entry.get("error_occurred")]


def commits(entry: Entry) -> int:
    return entry["update_commits"] + entry["read_commits"]


def aborts_per_commit(entry: Entry) -> float:
    """Aborted attempts, of every cause, per committed transaction."""
    return sum(entry["aborts"].values()) / max(commits(entry), 1)


def spread(entry: Entry) -> float | None:
    """(maximum - minimum) / median over the repetitions, in percent."""
    if "items_per_second_min" not in entry or not entry["items_per_second"]:
        return None
    return 100 * (entry["items_per_second_max"] - entry["items_per_second_min"]) / entry["items_per_second"]


def ratio_to(entry: Entry, report: dict[str, Any], baseline: str) -> float | None:
    """Speed relative to the baseline engine at the same number of threads, where it was measured."""
    for other in medians(report):
        if other["engine"] == baseline and other["threads"] == entry["threads"] and other is not entry:
            return (
                entry["items_per_second"] / other["items_per_second"] if other["items_per_second"] else None
            )
    return None


def add_environment(report: dict[str, Any]) -> dict[str, Any]:
    """Completes the context with what only this side knows; what the core wrote stays, but for the
    commit, which the core knew when it was compiled. Returns the description."""
    described = holdfast.environment.describe()
    context = report["context"]
    for name, value in described.items():
        context.setdefault(name, value)
    context["commit"] = described["commit"]
    return described
