# SPDX-License-Identifier: Apache-2.0
"""Are the formulas for energy and area those of the paper, with a source for each constant?"""

import pytest

from holdfast import errors, results
from holdfast.lab import costs, files, metrics

_PAPERS = {"line_bytes": 64, "l1": (30720, 8), "l2": (262144, 8), "llc": (16777216, 1)}


def _entry(**more) -> results.Entry:
    caches = {
        name: value if isinstance(value, int) else {"bytes": value[0], "count": value[1]}
        for name, value in _PAPERS.items()
    }
    counters = {
        "transactions": 10, "aborts": 0, "media_writes": 40, "media_reads": 0,
        "commit_wait_ns": 0.0, "store_wait_ns": 0.0, "structure_bytes": 4096,
    }  # fmt: skip
    json = {"design": "hercules", "caches": caches, "medium": {"writes": 40, "reads": 0}}
    return results.entry_of(json | {"design_counters": counters, "update_commits": 10} | more)


# Hercules 5.4 and table 6; its machine has 8 cores and an L1D of 30 KB.
@pytest.mark.parametrize(
    ("metric", "paper"),
    [
        ("flush_mj", 214.831),
        ("tag_flush_mj", 9.653),
        ("tag_compare_nj", 84.045),
        ("tag_bytes_l1", 1.29 * 1024),
        ("tag_bytes_l2", 6.25 * 1024),
        ("tag_bytes_llc", 208 * 1024),
        ("tag_area_percent_l1", 3.9),
        ("tag_area_percent_l2", 2.2),
        ("tag_area_percent_llc", 1.2),
    ],
)
def test_the_papers_numbers_follow_from_the_constants(metric, paper):
    digits = 0.05 if metric.startswith("tag_area") else 0.001 * paper
    assert metrics.value(_entry(), metric) == pytest.approx(paper, abs=digits)


def test_the_papers_share_of_energy_follows():
    entry = _entry()
    more = metrics.value(entry, "tag_flush_mj") + metrics.value(entry, "tag_compare_nj") / 1e6
    assert 100 * more / metrics.value(entry, "flush_mj") == pytest.approx(4.49, abs=0.005)


def test_writes_of_the_medium_take_energy():
    assert metrics.value(_entry(), "media_write_nj") == pytest.approx(4 * 64 * 11.228)


def test_what_is_not_known_is_not_measured():
    other = _entry(design="moat")
    assert metrics.if_measured(other, "tag_flush_mj") is None
    assert metrics.if_measured(other, "tag_area_percent_l1") is None
    assert metrics.if_measured(other, "flush_mj") is not None
    bare = results.entry_of({"update_commits": 1})
    for metric in ("flush_mj", "media_write_nj", "media_writes", "nonvolatile_bytes"):
        assert metrics.if_measured(bare, metric) is None


def test_a_constant_needs_a_source():
    table = files.Table({"rate": {"value": 3}}, "file")
    with pytest.raises(errors.BadUsage, match="source is missing"):
        costs._number(table, "rate")
    table = files.Table({"rate": {"value": 3, "source": " "}}, "file")
    with pytest.raises(errors.BadUsage, match="needs a source"):
        costs._number(table, "rate")
