# SPDX-License-Identifier: Apache-2.0
"""Do includes point down, and does each engine, design and workload stand in its own folder?"""

from pathlib import Path

import pytest
from house_rules import (
    Excused,
    Hit,
    engines,
    folder_cycles,
    foreign_engine_includes,
    missing_includes,
    mutual_includes,
    named_elsewhere,
    names,
    upward_includes,
)

REPOSITORY = Path(__file__).resolve().parents[2]

# The order of the library's folders, lowest first. A file includes headers of its own folder and of
# lower rows; folders of one row do not include each other. docs/inside/architecture.md explains
# the rooms.
ORDER = [
    ["holdfast/base"],
    ["holdfast/machine"],
    ["holdfast/engines", "holdfast/hardware"],
    ["holdfast/heap"],
    ["holdfast/check", "holdfast/structures"],
    ["holdfast/db", "holdfast/workloads"],
    ["holdfast/runner"],
    ["holdfast/bindings"],
    ["holdfast"],  # holdfast.h, which brings the default engine
]

# The folders of other engines that an engine's folder includes.
FOREIGN_ENGINES = {
    "hw": ["swl", "undo"],  # the same log and filter, where the hardware lacks room
    "pmdk_like": ["undo"],  # the same log of old bytes, of ranges
    "swl": ["undo"],  # the same frame, over a log of its own
    "spht_si_htm": ["spht"],  # the same logs and group commit behind other transactions
}

# Shared sources and tests. Comments may name anything: a part says which paper it comes from.
SHARED = ["holdfast", "tests", "bench", "python", "tools", "cmake", "CMakeLists.txt"]

EXCUSED = [
    # Registries and default aliases.
    Excused("holdfast/engines/CMakeLists.txt", "the registry of engines"),
    Excused("holdfast/hardware/designs.cc", "the registry of designs"),
    Excused("holdfast/workloads/registry.h", "the registry of workloads"),
    Excused("holdfast/holdfast.h", "brings the default engine"),
    Excused("holdfast/db/options.h", "the default engine", ("romulus-log",)),
    Excused("holdfast/runner/sim/population.cc", "the engine that builds populations", ("undo",)),
    Excused("holdfast/runner/CMakeLists.txt", "the engine that builds populations", ("undo",)),
    Excused("python/holdfast/lab/figures.py", "a key of figures", ("htm",)),
    Excused("python/holdfast/lab/kinds.py", "a key of figures", ("htm",)),
    Excused("tests/unit/engines/parts/slot_scan_test.cc", "parts of one engine each"),
    Excused("tests/fuzz/store_damage_test.cc", "engines of four kinds, for stores"),
    Excused("holdfast/bindings/db", "an argument: a named map", ("map",)),
    Excused("python/holdfast/cli/db/service.py", "a field: a named map", ("map",)),
    Excused("tests/python/test_database_maps.py", "a field: a named map", ("map",)),
    Excused("tests/db_native/c_interface.c", "an engine that a file does not have", ("quadra",)),
    Excused("python/holdfast/cli/db/bench.py", "the default engine", ("romulus-log",)),
    Excused("python/holdfast/cli/demo.py", "the demo's default engine", ("fur-opa",)),
    # Engines that are built from another engine, or judged beside one.
    Excused("holdfast/engines/pmdk_like", "shares the log", ("undo",)),
    Excused("holdfast/engines/swl", "shares the frame", ("undo",)),
    Excused("tests/unit/engines/swl", "shares the frame", ("undo",)),
    Excused("holdfast/engines/spht_si_htm", "shares the logs", ("spht",)),
    Excused("tests/unit/engines/pmdk_like", "shares the log", ("undo",)),
    Excused("tests/unit/engines/romulus", "its lock is the contrast in a test", ("undo",)),
    Excused("holdfast/engines/hw", "the engine of hardware designs", ("tc", "ssp", "hercules")),
    Excused("holdfast/engines/hw", "its software log", ("swl-eadr", "swl-flush", "undo")),
    Excused("tests/unit/engines/hw", "the engine of hardware designs", ("tc",)),
    Excused("tests/unit/engines/hw", "the design that isolates transactions", ("hercules",)),
    Excused("tests/unit/hardware", "the engine of hardware designs", ("hw",)),
    Excused("tests/unit/hardware", "runs", ("map", "registers", "sps")),
    Excused("holdfast/hardware", "their registers", ("registers",)),
    # Presets, which are workloads with other fallbacks.
    Excused("holdfast/workloads/btree_zipf.h", "a preset", ("map",)),
    Excused("holdfast/workloads/rbtree_zipf.h", "a preset", ("map",)),
    Excused("holdfast/workloads/hash_map", "a preset", ("hash-table",)),
    Excused("holdfast/workloads/tpcc_neworder", "a preset", ("tpcc",)),
    # The word is a paper's, or something else than an engine.
    Excused("holdfast/runner/db/ycsb.cc", "workloads of the store: a verb", ("ycsb",)),
    Excused("python/holdfast/cli/db/ycsb.py", "the same verb", ("ycsb",)),
    Excused("tests/db/bench_test.cc", "the same verb", ("ycsb",)),
    Excused("holdfast/workloads/tpcc", "parameters as in FUR's program", ("fur-opa", "fur-si")),
    Excused("tests/unit/workloads/tpcc", "the same parameters", ("fur-opa", "fur-si")),
    Excused("holdfast/machine/native/support", "FUR's latencies, a preset", ("fur-opa", "fur-si")),
    Excused("tests/native/persistence_test.cc", "the same preset", ("fur-opa", "fur-si")),
    Excused("holdfast/machine/sim/description", "a section of machine descriptions", ("htm",)),
    Excused("tests/unit/machine/sim/description_test.cc", "the same section", ("htm",)),
    Excused("holdfast/runner", "the field of a spec or report for the backend", ("htm",)),
    Excused("bench/sim_speed.cc", "the same field", ("htm",)),
    Excused("python/holdfast/cli/result_table.py", "the same field", ("htm",)),
    Excused("holdfast/check/registers", "random programs over registers", ("registers",)),
    Excused("holdfast/runner/crash/crash.cc", "random programs over registers", ("registers",)),
    Excused("holdfast/runner/crash/crash_registers.cc", "the same programs", ("registers",)),
    Excused("python/holdfast/cli/crash.py", "random programs over registers", ("registers",)),
    Excused("tests/crash/crash_test.cc", "random programs over registers", ("registers",)),
    Excused("tests/engine", "the name of a heap's root", ("list",)),
    Excused("tests/unit/runner/json_test.cc", "a field of JSON", ("map",)),
    # A run needs a workload, with parameters of its own; no registry could choose one.
    Excused("bench", "benchmarks with a bar for certain engines"),
    Excused("python/holdfast/torture.py", "the workload that kill tests verify", ("bank",)),
    Excused("python/holdfast/cli/demo_compare.py", "the demo's workload", ("tpcc",)),
    Excused("python/holdfast/cli/demo_kill.py", "the demo's workload", ("tpcc",)),
    Excused("python/holdfast/cli/bench_replay.py", "the default workload", ("sps",)),
    Excused("tests/served_bank.h", "the workload that kill tests verify", ("bank",)),
    Excused("tests/native/runner_session_test.cc", "runs", ("intset", "map", "sps", "tpcc")),
    Excused("tests/unit/engines/hw", "runs", ("array-swap", "hash-table", "linked-list", "map")),
    Excused("holdfast/engines/hw", "a run", ("linked-list",)),
    Excused("tests/unit/runner", "runs", ("bank", "intset", "map", "sps", "tpcc")),
    Excused("holdfast/engines/parts/isolation/stm", "the algorithm's labels", ("tl2",)),
    Excused("holdfast/engines/cc_htm", "the paper's ring of transactions", ("ring",)),
    Excused("tests/unit/engines/cc_htm", "the paper's ring of transactions", ("ring",)),
    Excused("tests/unit/check", "models that judges are tested with", ("bank", "map", "ring")),
    Excused("tests/unit/workloads", "tests of workloads", ("bank", "intset", "list", "map")),
    Excused("tests/unit/workloads", "tests of workloads", ("ring", "sps", "tpcc")),
    Excused("tests/unit/workloads", "tests of workloads", ("hash-update", "rbtree-insert")),
    Excused("tests/unit/workloads", "tests of workloads", ("ssca2", "vacation")),
    Excused("tests/unit/workloads", "tests of workloads", ("array-swap", "array-stream")),
    Excused("tests/unit/workloads", "tests of workloads", ("binary-heap", "linked-list")),
    Excused("tests/unit/workloads", "tests of workloads", ("hash-table", "bplus-tree", "huge")),
    Excused("tests/unit/workloads", "tests of workloads", ("hash-map", "rb-tree", "btree-zipf")),
    Excused("tests/unit/workloads", "tests of workloads", ("rbtree-zipf", "tpcc-neworder")),
    Excused("tests/unit/workloads", "tests of workloads", ("sdg", "tatp", "ycsb")),
    Excused("tests/db_native/c_interface.c", "C knows no registry", ("undo",)),
    Excused("tools/compare_designs.py", "the run that compares designs", ("array-swap", "hw")),
    Excused("tools/mutation/plan.toml", "folders of engines with what is built to judge them"),
    # Tests of the command line and of Python, whose examples are calls that a user makes.
    *(
        Excused(f"tests/python/{file}.py", "calls that a user makes")
        for file in (
            "fake_core", "test_cache", "test_claims", "test_cli", "test_cli_db", "test_core",
            "test_crash", "test_db_fuzz", "test_interrupt", "test_lab_costs", "test_lab_designs",
            "test_lab_kinds", "test_open_loop", "test_own_design", "test_pool", "test_replay",
            "test_reproduce", "test_sensitivity", "test_sensitivity_cc_htm", "test_shapes",
            "test_sim_designs", "test_timeline", "test_tools", "test_torture", "toy_paper",
        )
    ),
    Excused("python/holdfast/cli/bench.py", "the preset of FUR's latencies", ("fur-opa", "fur-si")),
    Excused("python/holdfast/cli/reproduce.py", "the name of a paper", ("fur-opa", "fur-si")),
    Excused("tests/python/house_rules.py", "words that are names too"),
    Excused("tests/python/test_house.py", "this list"),
]  # fmt: skip


@pytest.fixture(scope="module")
def hits() -> list[Hit]:
    return named_elsewhere(REPOSITORY, SHARED)


def test_includes_exist():
    assert missing_includes(REPOSITORY) == []


def test_no_two_headers_include_each_other():
    assert mutual_includes(REPOSITORY) == []


def test_no_two_folders_reach_each_other():
    assert folder_cycles(REPOSITORY) == []


def test_includes_point_down():
    assert upward_includes(REPOSITORY, ORDER) == []


def test_engine_folders_include_no_other_engines_folder():
    assert foreign_engine_includes(REPOSITORY, FOREIGN_ENGINES) == []


def test_shared_files_name_no_engine_design_or_workload(hits: list[Hit]):
    """A registry, or a property of an entry, says which ones a source or a test is about."""
    assert [str(hit) for hit in hits if not any(one.covers(hit) for one in EXCUSED)] == []


def test_no_exception_is_left_over(hits: list[Hit]):
    unused = [
        (one.path, name)
        for one in EXCUSED
        for name in one.names or ["anything"]
        if not any(one.covers(hit) and name in (hit.thing.name, "anything") for hit in hits)
    ]
    assert unused == []


def test_the_registries_are_read():
    from holdfast import core

    listed = [thing.name for thing in names(REPOSITORY)]
    entries = [*core.engines(), *core.designs(), *core.workloads()]
    assert sorted(listed) == sorted(entry["name"] for entry in entries)


# ---- the rules themselves, on made-up repositories


def tree(root: Path, files: dict[str, str]) -> Path:
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return root


def include(*headers: str) -> str:
    return "".join(f'#include "holdfast/{header}"\n' for header in headers)


REGISTRIES = {
    "holdfast/engines/CMakeLists.txt": (
        "function(holdfast_engine name header class)\n"
        "holdfast_engine(fast-log engines/fast/fast.h FastLog)\n"
        "holdfast_engine(undo engines/undo/undo.h Undo SIMULATED)\n"
    ),
    "holdfast/engines/fast/fast.h": "",
    "holdfast/engines/undo/undo.h": "",
    "holdfast/hardware/designs.cc": include("hardware/designs.h", "hardware/buf/buf.h"),
    "holdfast/workloads/registry.h": include("workloads/parts/x.h", "workloads/queue.h"),
}


def test_a_missing_header_is_found(tmp_path: Path):
    root = tree(tmp_path, {"holdfast/base/a.h": include("base/b.h")})
    assert missing_includes(root) == [
        "holdfast/base/a.h includes holdfast/base/b.h, which does not exist"
    ]
    (root / "holdfast/base/b.h").touch()
    assert missing_includes(root) == []


def test_headers_that_include_each_other_are_found(tmp_path: Path):
    root = tree(
        tmp_path,
        {
            "holdfast/base/a.h": include("base/b.h"),
            "holdfast/base/b.h": include("base/a.h"),
            "holdfast/base/c.h": include("base/a.h"),
        },
    )
    assert mutual_includes(root) == ["holdfast/base/a.h and holdfast/base/b.h include each other"]


def test_a_cycle_of_three_folders_is_found(tmp_path: Path):
    files = {
        "holdfast/a/one.h": include("b/two.h"),
        "holdfast/b/two.h": include("c/three.h"),
        "holdfast/c/three.h": "",
        "holdfast/c/four.h": "",
    }
    assert folder_cycles(tree(tmp_path, files)) == []
    # No file includes itself in the end, but the folders do.
    files["holdfast/c/four.h"] = include("a/one.h")
    found = folder_cycles(tree(tmp_path, files))
    assert len(found) == 3
    assert "holdfast/c/four.h includes holdfast/a/one.h" in found[2]


def test_an_upward_include_is_found(tmp_path: Path):
    order = [["holdfast/low"], ["holdfast/left", "holdfast/right"], ["holdfast"]]
    files = {
        "holdfast/left/deep/a.h": include("low/b.h", "left/c.h"),
        "holdfast/left/c.h": "",
        "holdfast/right/d.h": "",
        "holdfast/low/b.h": "",
        "holdfast/all.h": include("left/c.h", "right/d.h"),
    }
    assert upward_includes(tree(tmp_path, files), order) == []
    files["holdfast/low/b.h"] = include("left/c.h")
    files["holdfast/left/c.h"] = include("right/d.h")
    assert upward_includes(tree(tmp_path, files), order) == [
        "holdfast/left/c.h includes holdfast/right/d.h: holdfast/right is not below holdfast/left",
        "holdfast/low/b.h includes holdfast/left/c.h: holdfast/left is not below holdfast/low",
    ]


def test_another_engines_folder_is_found(tmp_path: Path):
    root = tree(
        tmp_path, REGISTRIES | {"holdfast/engines/fast/fast.h": include("engines/undo/undo.h")}
    )
    assert foreign_engine_includes(root, {}) == [
        "holdfast/engines/fast/fast.h includes holdfast/engines/undo/undo.h"
    ]
    assert foreign_engine_includes(root, {"fast": ["undo"]}) == []


@pytest.mark.parametrize(
    ("path", "text", "names_it"),
    [
        ("tests/unit/a.cc", 'run("fast-log");', True),
        ("tests/unit/a.cc", "FastLog<SimMachine> engine;", True),
        ("tests/unit/a.cc", include("engines/fast/fast.h"), True),
        ("tests/unit/a.cc", "int fast_log = 1;", True),
        ("tests/unit/a.cc", "// as fast-log does\n", False),
        ("tests/unit/a.cc", 'const char* url = "x"; // fast-log', False),
        ("tests/unit/a.cc", 'run("fast-logs");', False),
        ("tests/unit/a.cc", "int breakfast_logs = 1;", False),
        ("tests/unit/a.cc", 'run("undo");', True),
        ("tests/unit/a.cc", "undo(); Undo undone;", False),
        ("tests/unit/a.cc", "Undo<SimMachine> engine;", True),
        ("tests/unit/a.cc", 'design("buf"); workload("queue");', True),
        ("tests/unit/engines/fast/a.cc", 'run("fast-log");', False),
        ("tests/unit/engines/fast/a.cc", 'run("undo");', True),
        ("holdfast/engines/fast/checks.toml", 'engines = ["fast-log"]', False),
        ("tests/unit/hardware/buf/a.cc", 'design("buf");', False),
        ("holdfast/workloads/queue.cc", 'name = "queue"', False),
        ("tests/unit/workloads/queue_test.cc", 'name = "queue"', False),
        ("python/a.py", 'run("fast-log")', True),
        ("python/a.py", "# fast-log\n", False),
        ("python/a.py", '"""Runs fast-log."""\n', False),
        ("docs/README.md", "`fast-log`", False),
    ],
)
def test_a_name_is_found_where_it_does_not_belong(
    tmp_path: Path, path: str, text: str, names_it: bool
):
    root = tree(tmp_path, REGISTRIES | {path: text})
    registries = ("CMakeLists.txt", "designs.cc", "registry.h")
    found = [hit.path for hit in named_elsewhere(root, ["holdfast", "tests", "python"])]
    assert (path in [p for p in found if not p.endswith(registries)]) == names_it


def test_the_registries_of_a_made_up_repository_are_read(tmp_path: Path):
    root = tree(tmp_path, REGISTRIES)
    assert [thing.name for thing in names(root)] == ["fast-log", "undo", "buf", "queue"]
    assert [thing.cls for thing in engines(root)] == ["FastLog", "Undo"]
