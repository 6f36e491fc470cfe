# SPDX-License-Identifier: Apache-2.0
"""Does each number of a machine's description have the effect it should have? TPC-C on power9.

The database is small, so that this takes seconds. It has as many customers per district as at full
size, for trees as deep, and few of all other rows. Up to eight threads have a warehouse each.
"""

from holdfast import core

_PARAMS = {
    "warehouses": "8",
    "districts": "2",
    "items": "1000",
    "customers": "3000",
    "orders": "300",
    "detail": "fur",
}


def _rate(mix: str, engine: str, threads: int, **changes: float) -> float:
    return _run(mix, engine, threads, **changes)["items_per_second"]


def _run(mix: str, engine: str, threads: int, duration_us: float = 200, **changes: float) -> dict:
    options = next(entry["options"] for entry in core.engines() if entry["name"] == engine)
    home = "disjoint" if threads <= int(_PARAMS["warehouses"]) else "uniform"
    spec = {
        "workload": "tpcc",
        "params": _PARAMS | {"mix": mix, "home": home},
        "engines": [engine],
        "options": {"background": "0"} if any(o["name"] == "background" for o in options) else {},
        "machine": "power9",
        "set": {name.replace("__", "."): str(value) for name, value in changes.items()},
        "threads": [threads],
        "duration_us": duration_us,
        "warm_up_us": duration_us / 3,
        "check": False,
    }
    entry = core.sim(spec)["benchmarks"][0]
    assert not entry.get("error_occurred"), entry
    return entry


def _wait_ns(entry: dict) -> float:
    """The mean durability wait of an update."""
    return (
        entry["machine_counters"]["update"]["phase_ns"]["durability wait"] / entry["update_commits"]
    )


def test_dearer_suspension_costs_writers_and_no_reader():
    dear = {"htm__suspend_resume_ns": 20 * 350, "htm__suspend_resume_full_ns": 20 * 1500}
    for engine in ("fur-si", "fur-opa"):
        assert _rate("payment", engine, 4, **dear) < 0.5 * _rate("payment", engine, 4)
        # Read-only transactions suspend nothing.
        assert _rate("orderstatus", engine, 4, **dear) == _rate("orderstatus", engine, 4)


def test_hardware_transactions_collapse_on_shared_cores_for_lack_of_capacity_only():
    room = {"htm__load_lines": 4096, "htm__store_lines": 4096}
    apart, shared = (_rate("orderstatus", "htm", threads) for threads in (32, 64))
    assert shared < 0.5 * apart
    apart, shared = (_rate("orderstatus", "htm", threads, **room) for threads in (32, 64))
    assert shared > apart


def test_the_durability_wait_of_spht_follows_the_flushes():
    # Without flushes a transaction still waits for those that began earlier and have not
    # committed yet.
    none, usual, dear = (
        _run("payment", "spht", 8, persistence__write_back_ns=ns) for ns in (0, 310, 3100)
    )
    assert _wait_ns(none) < 0.8 * _wait_ns(usual)
    assert _wait_ns(dear) > 3 * _wait_ns(usual)
    assert none["items_per_second"] > usual["items_per_second"] > dear["items_per_second"]
