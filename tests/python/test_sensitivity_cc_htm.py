# SPDX-License-Identifier: Apache-2.0
"""Do write times and the alias table have the effects that the cc-HTM paper names?

Transactions of hash-update on the paper's machine, with its array of 64 MB.
"""

import pytest

from holdfast import core

_ALIAS_TABLES = {
    "tiny": {"alias_bytes": "4096", "ways": "1"},
    "paper": {"alias_bytes": str(64 << 20), "ways": "2"},
}


def _run(engine: str, threads: int = 8, options: dict | None = None, **changes: str) -> dict:
    spec = {
        "workload": "hash-update",
        "engines": [engine],
        "options": options or {},
        "machine": "haswell-e5-2699v3",
        "set": {name.replace("__", "."): value for name, value in changes.items()},
        "threads": [threads],
        "duration_us": 60,
        "warm_up_us": 20,
        "check": False,  # of the whole array it takes minutes
    }
    entry = core.sim(spec)["benchmarks"][0]
    assert not entry.get("error_occurred"), entry
    return entry


def _alias_share(entry: dict) -> float:
    """Attempts that found no room in the alias table, of all attempts."""
    return entry["explicit_aborts"]["alias"] / entry["machine_counters"]["htm"]["begins"]


def test_a_tiny_alias_table_aborts_and_still_every_transaction_commits():
    entry = _run("cc-htm", options={"lag": "256"} | _ALIAS_TABLES["tiny"])
    assert _alias_share(entry) > 0
    assert entry["update_commits"] == entry["iterations"] > 0


def test_the_alias_table_of_the_paper_has_room():
    entry = _run("cc-htm", options={"lag": "256"} | _ALIAS_TABLES["paper"])
    assert _alias_share(entry) < 0.01


@pytest.mark.parametrize("engine", ["cc-htm", "ptl2"])
def test_longer_write_times_cost_throughput(engine):
    delays = {"persistence__write_back": "emulated"}
    fast, slow = (_run(engine, 4, persistence__write_back_ns=ns, **delays) for ns in ("50", "1000"))
    assert slow["items_per_second"] < 0.8 * fast["items_per_second"]
