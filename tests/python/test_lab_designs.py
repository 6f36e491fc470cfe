# SPDX-License-Identifier: Apache-2.0
"""Do figures compare hardware designs as docs/reference/figures-and-claims.md says?"""

import csv
import json
from dataclasses import replace
from pathlib import Path

import pytest
from toy_paper import write

from holdfast import catalog, errors, results
from holdfast.lab import cells, claims, figures, files, metrics, points, reproduce
from holdfast.lab.cells import Outcome
from holdfast.lab.results import Results
from holdfast.results import Entry

# Two designs that exist: one that keeps transactions, one that keeps nothing.
_DESIGN = next(design for design in catalog.designs() if design.durable and design.options)
_VOLATILE = next(design for design in catalog.designs() if not design.durable)
_OPTION = _DESIGN.options[0]
_ENGINE = next(e.name for e in catalog.engines() if e.durable and not e.needs_design)

_FIGURE = f"""
id = "toy-1"
paper = "toy"
title = "designs"
reference = "nowhere"

[common]
workload = "sps"
machine = "tiny"
designs = ["{_VOLATILE.name}", "{_DESIGN.name}", "moat"]
engines = ["{_ENGINE}", "perpetuum"]
params = {{ entries = 8000 }}
work = 200
warm_up_work = 40
rows = ["columns"]

[[panel]]
id = "workloads"
title = "by workload"
axis = "variant"
relative_to = "{_VOLATILE.name}"
mean = "geometric"

[panel.variants.swaps]

[panel.variants.accounts]
workload = "bank"
params = {{ accounts = 50 }}
work = 100
warm_up_work = 0

[panel.variants.dreams]
workload = "dreams"
"""


def _load(folder: Path, text: str = _FIGURE, quick: bool = False) -> figures.Figure:
    return figures.load(write(folder, text), quick)


def _panel(folder: Path, more: str, common: str = "") -> figures.Panel:
    head = _FIGURE[: _FIGURE.index("[[panel]]")]
    return _load(folder, head + common + '\n[[panel]]\nid = "own"\ntitle = "own"\n' + more).panels[
        0
    ]


def test_designs_and_engines_are_series_of_one_panel(tmp_path):
    (panel,) = _load(tmp_path).panels
    assert panel.names == (_VOLATILE.name, _DESIGN.name, "moat", _ENGINE, "perpetuum")
    by_name = {cell.series: cell.spec for cell in panel.cells() if cell.x == "swaps"}
    assert by_name[_DESIGN.name].engines == [catalog.design_engine()]
    assert by_name[_DESIGN.name].design == _DESIGN.name
    assert by_name[_ENGINE].engines == [_ENGINE]
    assert by_name[_ENGINE].design is None
    # The design's domain, and that of the machine.
    assert by_name[_DESIGN.name].domain is None and by_name[_ENGINE].domain is None


def test_a_variant_has_its_own_workload_and_work(tmp_path):
    (panel,) = _load(tmp_path).panels
    specs = {cell.x: cell.spec for cell in panel.cells() if cell.series == _DESIGN.name}
    assert (specs["swaps"].workload, specs["swaps"].params) == ("sps", {"entries": "8000"})
    assert (specs["swaps"].transactions, specs["swaps"].warm_up) == (200, 40)
    assert specs["accounts"].workload == "bank"
    assert specs["accounts"].params == {"accounts": "50"}, "a bank has no entries"
    assert (specs["accounts"].transactions, specs["accounts"].warm_up) == (100, 0)
    assert specs["swaps"].duration_us is None and specs["swaps"].warm_up_us is None


def test_work_is_shared_by_the_threads(tmp_path):
    panel = _panel(tmp_path, "threads = 4\nvalues = [4]\n")
    assert {cell.spec.transactions for cell in panel.cells()} == {50}
    assert {cell.spec.warm_up for cell in panel.cells()} == {10}
    panel = _panel(tmp_path, "values = [4]\nwarm_up_work = 6\n")
    with pytest.raises(errors.BadUsage, match="warm-up of 6 transactions is no multiple of 4"):
        list(panel.cells())


def test_things_that_do_not_exist_are_not_run(tmp_path):
    (panel,) = _load(tmp_path).panels
    reasons = {(c.series, c.x): c.cannot_run() for c in panel.cells()}
    assert reasons[("moat", "swaps")] == "design moat does not exist yet"
    assert reasons[("perpetuum", "swaps")] == "engine perpetuum does not exist yet"
    assert reasons[(_DESIGN.name, "dreams")] == "workload dreams does not exist yet"
    assert reasons[(_DESIGN.name, "swaps")] == "" and reasons[(_ENGINE, "accounts")] == ""


def test_an_option_goes_to_the_designs_that_have_it(tmp_path):
    name = f"{_DESIGN.name}.{_OPTION.name}"
    panel = _panel(tmp_path, f'values = [1]\ndesign_options = {{ "{name}" = 64, depth = 3 }}\n')
    options = {cell.series: cell.spec.design_options for cell in panel.cells()}
    assert options[_DESIGN.name] == {_OPTION.name: "64"}
    assert options[_VOLATILE.name] == {} and options[_ENGINE] == {}


def test_an_option_of_designs_can_be_the_axis(tmp_path):
    panel = _panel(tmp_path, f'axis = "design_options.{_OPTION.name}"\nvalues = [64, 128]\n')
    got = [cell.spec.design_options for cell in panel.cells() if cell.series == _DESIGN.name]
    assert got == [{_OPTION.name: "64"}, {_OPTION.name: "128"}]


def test_designs_and_workloads_can_be_the_axis(tmp_path):
    head = _FIGURE[: _FIGURE.index("[[panel]]")]
    lone = "\n".join(line for line in head.splitlines() if not line.startswith("designs"))
    lone = lone.replace(f'engines = ["{_ENGINE}", "perpetuum"]', f'engines = ["{_CARRIER}"]')
    text = (
        lone
        + f"""
[[panel]]
id = "designs"
title = "designs"
axis = "design"
values = ["{_VOLATILE.name}", "moat"]

[[panel]]
id = "workloads"
title = "workloads"
axis = "workload"
values = ["sps", "dreams"]
"""
    )
    first, second = _load(tmp_path, text).panels
    assert [cell.spec.design for cell in first.cells()] == [_VOLATILE.name, "moat"]
    assert [cell.cannot_run() for cell in first.cells()] == ["", "design moat does not exist yet"]
    assert [cell.spec.workload for cell in second.cells()] == ["sps", "dreams"]
    assert [cell.cannot_run() for cell in second.cells()] == [
        f"engine {_CARRIER} needs a hardware design, and the panel names none",
        "workload dreams does not exist yet",
    ]


_CARRIER = catalog.design_engine()


def test_a_series_of_its_own_changes_a_design(tmp_path):
    panel = _panel(
        tmp_path,
        f"""values = [1]
[panel.series.small]
design = "{_DESIGN.name}"
design_options = {{ {_OPTION.name} = 64 }}
set = {{ medium.write_queue = 8 }}
[panel.series.{_ENGINE}]
domain = "pmem"
""",
    )
    specs = {cell.series: cell.spec for cell in panel.cells()}
    assert list(specs)[-1] == "small"
    assert specs["small"].design == _DESIGN.name
    assert specs["small"].design_options == {_OPTION.name: "64"}
    assert specs["small"].set == {"medium.write_queue": "8"}
    assert specs[_ENGINE].domain == "pmem" and specs[_DESIGN.name].domain is None


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("values = [1]\n[panel.series.odd]\n", "neither an engine nor a design"),
        ('values = [1]\nengines = ["moat"]\n', "listed twice"),
        ("values = [1]\ndesigns = []\nengines = []\n", "must not be empty"),
        ('values = [1]\nrelative_to = "odd"\n', "relative_to is 'odd', which is none of"),
        ('values = [1]\nmean = "harmonic"\n', "'harmonic', which is none of"),
        ("values = [1]\nscale = 0\n", "scale is 0"),
        ("values = [1]\nscaled = { odd = [] }\n", "no key 'odd'"),
        ('kind = "replay"\nvalues = [1]\n', "work is for cells of kinds sim and recovery"),
    ],
)
def test_a_wrong_panel_is_refused_with_its_reason(tmp_path, more, said):
    with pytest.raises(errors.BadUsage, match=said):
        _panel(tmp_path, more)


# ---- smaller machines


def test_a_smaller_machine_is_a_rule(tmp_path):
    described = files.description("tiny")
    panel = _panel(
        tmp_path,
        f"""values = [1]
scale = 2
params = {{ entries = 8001 }}
[panel.scaled]
set = ["medium.write_queue"]
params = ["entries", "size"]
design_options = ["{_DESIGN.name}.{_OPTION.name}"]
""",
    )
    specs = {cell.series: cell.spec for cell in panel.cells()}
    expected = {
        f"{level}.bytes": str(described[level]["bytes"] // 2) for level in ("l1", "l2", "llc")
    }
    expected["medium.write_queue"] = str(described["medium"]["write_queue"] // 2)
    assert {key: specs["moat"].set[key] for key in expected} == expected
    assert specs["moat"].set == expected
    assert specs[_ENGINE].params == {"entries": "4000"}, "sps has no size"
    assert specs[_DESIGN.name].design_options == {_OPTION.name: str(int(_OPTION.fallback) // 2)}, (
        "half of the usual value"
    )
    assert specs[_VOLATILE.name].design_options == {}


def test_a_scale_divides_values_that_the_panel_changes(tmp_path):
    panel = _panel(tmp_path, "values = [1]\nscale = 2\nset = { llc.bytes = 1048576 }\n")
    assert {cell.spec.set["llc.bytes"] for cell in panel.cells()} == {"524288"}


# ---- results


def _results(panel: figures.Panel, rates: dict) -> Results:
    outcomes = []
    for cell in panel.cells():
        rate = rates.get((cell.series, cell.x))
        entry = results.entry_of({"items_per_second": rate}) if rate is not None else None
        outcomes.append((cell, Outcome("ok", entry) if entry else Outcome("not run", reason="so")))
    figure = figures.Figure("toy-1", "toy", "t", "r", "", (panel,))
    return Results({"toy-1": figure}, outcomes)


def test_drawn_values_are_relative_to_a_series(tmp_path):
    (panel,) = _load(tmp_path).panels
    base, other = _VOLATILE.name, _DESIGN.name
    rates = {(base, "swaps"): 10.0, (other, "swaps"): 5.0, (other, "accounts"): 7.0}
    measured = _results(panel, rates)
    drawn = measured.drawn(panel, other)
    assert [(p.x, p.mean) for p in drawn] == [("swaps", 0.5)], "no base at accounts"
    assert points.mean_of(measured.drawn(panel, base), "geometric") == 1.0


def test_the_mean_of_columns_is_the_named_one():
    heights = [points.Point(x, x, x, x) for x in (1.0, 4.0)]
    assert points.mean_of(heights, "arithmetic") == 2.5
    assert points.mean_of(heights, "geometric") == pytest.approx(2)
    zero = [*heights, points.Point(0, 0.0, 0.0, 0.0)]
    assert points.mean_of(zero, "geometric") == 0


@pytest.fixture
def laboratory(tmp_path, monkeypatch):
    for folder in ("figures", "claims"):
        (tmp_path / "experiments" / folder).mkdir(parents=True)
    for module in (figures, claims):
        monkeypatch.setattr(module, "experiments", lambda: tmp_path / "experiments")
    monkeypatch.setenv("HOLDFAST_CACHE", str(tmp_path / "cache"))
    return tmp_path


_CLAIMS = f"""
[[of]]
paper = "toy"
where = "1"
figure = "toy-1"
panel = "workloads"

[[of.claim]]
id = "T1a"
sentence = "At one workload they can be compared."
formula = 'at(tput["{_DESIGN.name}"] / tput["{_VOLATILE.name}"], "swaps") > 0'

[[of.claim]]
id = "T1b"
sentence = "The mean needs a workload that does not exist."
formula = 'gmean(tput["{_DESIGN.name}"] / tput["{_VOLATILE.name}"]) > 0'

[[of.claim]]
id = "T2"
sentence = "One design does not exist."
formula = 'at(tput["moat"], "swaps") > 0'
"""


def test_a_figure_of_designs_from_end_to_end(laboratory, invoke):
    text = (
        _FIGURE
        + """
[[panel]]
id = "recovery"
title = "recovery"
kind = "recovery"
values = [1]
metric = "recovery_us"
quick = { work = 20, warm_up_work = 0 }
"""
    )
    write(laboratory / "experiments/figures", text)
    write(laboratory / "experiments/claims", _CLAIMS, "toy.toml")
    out = laboratory / "out"
    told = laboratory / "r.json"
    result = invoke("reproduce", "toy", "--quick", "--jobs", 2, "--out", out, "--json", told)
    assert result.exit_code == 0, result.output
    verdicts = {claim["id"]: claim for claim in json.loads(told.read_text())["claims"]}
    assert verdicts["T1a"]["verdict"] == "green"
    assert verdicts["T1b"]["verdict"] == "not run"
    assert verdicts["T1b"]["reason"] == "workload dreams does not exist yet"
    assert verdicts["T2"]["reason"] == "design moat does not exist yet"
    for ending in ("png", "svg"):
        assert (out / f"toy-1.{ending}").stat().st_size > 500
    with (out / "toy-1.csv").open() as file:
        rows = {(r["panel"], r["series"], r["x"]): r for r in csv.DictReader(file)}
    swaps = rows[("workloads", _DESIGN.name, "swaps")]
    assert (swaps["engine"], swaps["design"]) == (_CARRIER, _DESIGN.name)
    own = {name: float(swaps[name]) for name in metrics.machine_metrics.COLUMNS if swaps[name]}
    by_cause = sum(own[f"media_writes_{cause}"] for cause in metrics.machine_metrics.CAUSES)
    assert by_cause >= own["media_writes"] > 0, "before writes merge in the queue"
    assert own["l1_accesses"] > own["l2_accesses"] >= own["llc_accesses"] >= own["llc_misses"] > 0
    assert own["instructions"] > own["l1_accesses"] and own["tx_lines"] >= 1
    assert float(swaps["response_p999"]) >= float(swaps["response_p50"]) > 0
    software = rows[("workloads", _ENGINE, "swaps")]
    assert software["design"] == "" and software["commit_wait_ns"] == ""
    assert float(software["media_writes_write_back"]) > float(software["media_writes"]) > 0
    assert float(software["media_writes_log"]) == 0 and software["media_writes_overhead"] == ""
    recovered = rows[("recovery", _DESIGN.name, "1")]
    assert float(recovered["recovery_us"]) > 0 and float(recovered["recovery_lines"]) >= 0
    volatile = rows[("recovery", _VOLATILE.name, "1")]
    assert volatile["state"] == "not run" and "makes nothing durable" in volatile["reason"]


def test_accesses_by_cause_come_before_the_queue_with_and_without_a_design():
    """10 writes, of which 4 merge, and 7 reads, of which the queue serves 2. There is a memory for
    both kinds of lines, and a volatile one comes and goes."""
    kind = results.KindCounters(phase_ns={}, execute_loads=0)
    engine = Entry(
        json={},
        update_commits=2,
        medium=results.Medium(writes=10 - 4 + 1, reads=7 - 2 + 1),
        machine_counters=results.MachineCounters(
            results.HtmCounters(0, 0, {}), kind, kind, medium_writes=10, medium_reads=7
        ),
    )
    own = results.DesignCounters(
        transactions=2,
        aborts=0,
        media_writes=7,
        media_reads=6,
        commit_wait_ns=0,
        store_wait_ns=0,
        structure_bytes=0,
        reads_by_cause={"miss": 7},
        writes_by_cause={"write_back": 8, "log": 2},
    )
    design = replace(engine, design_counters=own)
    assert metrics.value(engine, "media_writes_write_back") == 5
    assert metrics.value(design, "media_writes_write_back") == 4
    assert metrics.value(design, "media_writes_overhead") == 1
    assert metrics.if_measured(engine, "media_writes_overhead") is None, "its log has no cause"
    assert metrics.value(engine, "media_reads_miss") == 3.5
    assert metrics.value(design, "media_reads_miss") == 3.5


def test_a_run_has_its_metrics_again_from_the_same_cell(tmp_path, monkeypatch):
    """Panels of one figure that draw different metrics share their runs."""
    monkeypatch.setenv("HOLDFAST_CACHE", str(tmp_path / "cache"))
    (panel,) = _load(tmp_path).panels
    other = _load(tmp_path, _FIGURE.replace('mean = "geometric"', 'metric = "media_writes"'))
    jobs = [[cell.job for cell in one.cells()] for one in (panel, other.panels[0])]
    assert jobs[0] == jobs[1]
    job = next(c.job for c in panel.cells() if (c.series, c.x) == (_DESIGN.name, "accounts"))
    entry = results.entry_of(cells.run(job))
    assert entry.iterations == 100 and entry.response.count == 100
    assert metrics.value(entry, "tx_lines") >= 2


def test_the_paper_of_designs_is_complete():
    """Every claim of the paper can be judged, or says that it was not run."""
    selection = reproduce.select(["hercules"])
    ids = {claim.group for claim in selection.claims}
    absent = {f"H{n}" for n in (26, 33, 34, 35, 36, 41)}  # experiments/claims/hercules.toml
    assert ids == {f"H{n}" for n in range(1, 42)} - absent
    machines = {cell.spec.machine for cell in selection.cells()}
    assert machines == {"gem5-hercules"}
    for cell in reproduce.select(["hercules"], quick=True).cells():
        if cell.figure in ("hercules-16", "hercules-threads"):
            continue  # 16 threads on small caches are in each other's way
        caches = cell.spec.set
        if cell.figure == "hercules-collect" and not caches:
            continue  # its panel of the whole machine is a condition of a claim
        assert caches["llc.bytes"] == str(2 << 20), "--quick runs on the machine of an eighth"
        assert caches["l1.bytes"] == "4096" and caches["l2.bytes"] == "32768"
