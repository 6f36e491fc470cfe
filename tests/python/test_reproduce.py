# SPDX-License-Identifier: Apache-2.0
"""Are figures and claims read, run and judged as docs/reference/reproduce.md says?"""

import errno
import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from toy_paper import CLAIM, FIGURE, write

from holdfast import catalog, core, errors, plots
from holdfast.lab import claims, draw, figures, kinds, metrics, report, reproduce, runs
from holdfast.lab.cache import Cache, linked
from holdfast.lab.cells import Cell, CellSpec, Outcome
from holdfast.lab.formula import Formula, FormulaError, NotRun, Series
from holdfast.lab.results import Results


@pytest.fixture
def toy(tmp_path) -> figures.Figure:
    return figures.load(write(tmp_path, FIGURE))


# ---- figures


def test_a_panel_is_the_common_values_and_its_own(toy):
    one, two = toy.panels
    cells = list(one.cells())
    assert [(c.series, c.x, c.seed) for c in cells] == [
        ("undo", 1, 1),
        ("undo", 2, 1),
        ("fur-si", 1, 1),
        ("fur-si", 2, 1),
    ]
    assert cells[1].spec.threads == [2] and cells[1].spec.engines == ["undo"]
    assert cells[1].spec.params == {"entries": "100"}
    assert cells[0].spec.check is False
    assert len(list(two.cells())) == 2 * 3 * 2
    last = list(two.cells())[-1]
    assert last.spec.set == {"core.ghz": "2", "persistence.write_back_ns": "40"}
    assert last.spec.threads == [2] and last.seed == 2


def test_options_go_to_engines_that_have_them(toy):
    by_engine = {cell.series: cell.spec.options for cell in toy.panel("one").cells()}
    assert by_engine["fur-si"] == {"background": "0"}
    assert by_engine["undo"] == {"undo.nonsense": "1"}  # named for it: the core will refuse it


def test_quick_changes_the_values_it_names(tmp_path):
    one, two = figures.load(write(tmp_path, FIGURE), quick=True).panels
    assert one.values == (2,) and one.duration_us == 5 and one.warm_up_us == 2
    assert two.values == (10, 20, 40) and two.seeds == (7,)


def test_few_threads_run_longer(tmp_path):
    text = FIGURE.replace("duration_us = 20\n", "duration_us = 20\nthread_time_us = 30\n", 1)
    one, two = figures.load(write(tmp_path, text)).panels
    assert {cell.spec.threads[0]: cell.spec.duration_us for cell in one.cells()} == {1: 30, 2: 20}
    assert {cell.spec.threads[0]: cell.spec.warm_up_us for cell in one.cells()} == {1: 3, 2: 2}
    assert {cell.spec.duration_us for cell in two.cells()} == {20}


def test_variants_name_several_changes(tmp_path):
    text = FIGURE.replace("values = [1, 2]\n", "").replace("[quick]\nvalues = [2]", "[quick]")
    text += '\n[[panel]]\nid = "three"\ntitle = "t"\naxis = "variant"\n'
    text += "[panel.variants.plain]\n[panel.variants.slow.set]\ncore.ghz = 1\nl1.hit_cycles = 9\n"
    text = text.replace('id = "one"', 'id = "one"\nvalues = [1]')
    panel = figures.load(write(tmp_path, text)).panel("three")
    assert panel.values == ("plain", "slow")
    changes = [cell.spec.set for cell in panel.cells() if cell.series == "undo"]
    assert changes == [{}, {"core.ghz": "1", "l1.hit_cycles": "9"}]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('id = "toy-1"', 'id = "other"', "name of the file"),
        ("duration_us = 20", "durration_us = 20", "duration_us is missing"),
        ("duration_us = 20", "duration_us = 20\nnonsense = 1", "'nonsense'; the keys are arrivals"),
        ("values = [1, 2]", "values = []", "must not be empty"),
        ("values = [1, 2]", "values = 3", "must be a list"),
        ('id = "two"', 'id = "one"', "different ids"),
        ("axis = ", "axis = 'sideways' # ", "must be threads or machine or variant"),
        ("axis = ", "axis = 'set' # ", "must be threads or machine or variant"),
        ("axis = ", "axis = 'variant' # ", "the variants are none"),
        ('"time.read"', '"time.travel"', "'time.travel' is none of"),
        ('workload = "sps"', "workload = 7", "workload must be a text, not 7"),
        ('title = "a toy"', 'title = "a toy', "is not TOML"),
    ],
)
def test_a_wrong_figure_is_refused_with_its_reason(tmp_path, old, new, said):
    path = write(tmp_path, FIGURE.replace(old, new))
    with pytest.raises(errors.BadUsage, match=said) as caught:
        figures.load(path)
    assert str(path) in str(caught.value)


def test_every_figure_can_be_built_and_names_existing_things():
    workloads = {entry.name: entry for entry in catalog.workloads()}
    stores = catalog.stores()
    benchmarks = {entry.name for entry in stores.benchmarks}
    peers = {peer.name for peer in stores.peers}
    machines = {entry.name for entry in catalog.machines()}
    engines = {entry.name: entry for entry in catalog.engines()}
    designs = {entry.name: {option.name for option in entry.options} for entry in catalog.designs()}

    def options(names):
        own = {name: engines[name].option_names for name in names if name in engines}
        return {f"{name}.{option}" for name in own for option in own[name]}.union(*own.values())

    for quick in (False, True):
        for figure in figures.load_all(quick).values():
            for panel in figure.panels:
                if panel.kind == "db":
                    assert panel.workload in benchmarks
                    assert set(panel.engines) <= engines.keys() | peers
                    continue
                assert panel.machine in machines or panel.kind == "bench"
                assert metrics.known(panel.metric)
                if panel.kind == "bench":
                    assert set(panel.engines) <= engines.keys()
                for cell in panel.cells():
                    if workload := workloads.get(cell.spec.workload):
                        assert set(cell.spec.params) <= set(workload.parameter_names), cell.name
                    if cell.series in engines:
                        assert set(cell.spec.options) <= options(cell.spec.engines), cell.name
                    if cell.spec.design in designs:
                        own = designs[cell.spec.design]
                        assert set(cell.spec.design_options) <= own, cell.name


def test_every_claim_reads_an_existing_figure():
    everything = claims.load(figures.load_all())
    groups = {claim.group for claim in everything if claim.paper == "fur"}
    assert groups == {f"F{n}" for n in range(1, 14)} | {f"FS{n}" for n in range(1, 4)}
    assert all(claim.sentence.endswith(".") for claim in everything)
    for claim in everything:
        if " at least " in claim.sentence and not isinstance(claim.value, bool):
            assert claim.tolerance.startswith("at least "), claim.id
    # A claim must keep a point to look at when --quick leaves points out.
    quick = figures.load_all(quick=True)
    assert claims.load(quick)


# ---- formulas

_A = Series({1: 10.0, 8: 80.0, 64: 40.0})
_B = Series({1: 20.0, 8: 20.0, 64: 20.0})


def _lookup(metric, figure, panel, engine):
    if engine == "gone":
        raise NotRun("engine gone does not exist yet")
    if panel == "other":
        return Series({2: 1.0})
    if panel == "holes":
        return Series({1: 3.0, 8: 0.0}, {64: "no luck at 64"})
    return {"a": _A, "b": _B}[engine]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('peak(tput["a"])', 80.0),
        ('max(tput["a"] / tput["b"])', 4.0),
        ('at(tput["a"], 64) - 1', 39.0),
        ('mean(upto(tput["b"] / tput["a"], 8))', 1.125),
        ('gmean(only(tput["a"], 1, 64))', 20.0),
        ('last(tput["a"] / first(tput["a"]))', 4.0),
        ('at(tput["holes", "a"], 1)', 3.0),
        ('max(upto(tput["holes", "a"], 1))', 3.0),
        ('where(tput["a"])', 8),
        ('min(tput["a"], 3, peak(tput["b"]))', 3),
        ('max(-tput["a"] * 2 + 1)', -19.0),
        ('min(larger(tput["a"], tput["b"], 15 + tput["b"]))', 35.0),
        ('all(beyond(tput["a"] > tput["b"], 1))', True),
        ('all(tput["a"] > tput["b"])', False),
        ('any(tput["a"] < tput["b"])', True),
        ('all(only(tput["a"], 8, 64) >= 40)', True),
        ('all(15 < beyond(tput["b"], 1) < 25)', True),
        ('not (first(tput["a"]) > last(tput["a"]))', True),
        ('at(tput["a"], 8) > 1 and at(tput["a"], 8) > 100', False),
        ('at(tput["a"], 8) > 100 or\n at(tput["a"], 8) > 1', True),
        ('at(tput["fig", "panel", "a"], 1)', 10.0),
    ],
)
def test_formulas_compute(text, value):
    assert Formula(text).evaluate(_lookup)[0] == pytest.approx(value)


def test_a_comparison_that_does_not_hold_says_where():
    _, notes = Formula('all(tput["a"] > tput["b"])').evaluate(_lookup)
    assert notes == ["not at 1"]
    _, notes = Formula('peak(tput["b"]) > peak(tput["a"])').evaluate(_lookup)
    assert notes == ["20 against 80"]


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os')",
        'tput["a"].values',
        "open('x')",
        "[x for x in (1,)]",
        "lambda: 1",
        "tput[0]",
        'tput["a", "b", "c", "d"]',
        "tput",
        "1 +",
        "2 ** 9",
        'max(tput["a"], key=1)',
        "peak",
        '(tput["a"])["b"]',
    ],
)
def test_formulas_that_are_none_are_refused_unread(text):
    with pytest.raises(FormulaError):
        Formula(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('tput["a"]', "is a series"),
        ('beyond(tput["a"] > 1, 8)', "is a series"),
        ('"a"', "is a text"),
        ('tput["a"] > 1 and 1 > 0', "single values"),
        ('not tput["a"]', "single values"),
        ("at(3, 1)", "at takes a series and a point"),
        ('at(tput["a"])', "at takes a series and a point"),
        ('at(tput["a"], tput["b"])', "at takes a series and a point"),
        ('max(tput["a"], "a")', "max takes series and numbers"),
        ('only(tput["a"])', "only takes a series and points"),
        ('larger(tput["a"])', "larger takes several series"),
        ('all(tput["a"] > 1, 8)', "all takes a series"),
        ("peak()", "peak takes series and numbers"),
        ('"a" < 3', "texts"),
    ],
)
def test_formulas_that_make_no_sense_are_refused_unrun(text, said):
    with pytest.raises(FormulaError, match=said):
        Formula(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('max(upto(tput["a"], "eight"))', "upto makes no sense on this axis"),
    ],
)
def test_mistakes_that_only_results_show_are_reported_then(text, said):
    with pytest.raises(FormulaError, match=said):
        Formula(text).evaluate(_lookup)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('peak(tput["gone"])', "gone does not exist"),
        ('at(tput["a"], 12)', "no point at 12"),
        ('max(beyond(tput["a"], 64))', "no point beyond 64"),
        ('max(tput["a"] / tput["other", "b"])', "no point in common"),
        ('1 / (at(tput["a"], 1) - 10)', "division by zero"),
        ('gmean(only(tput["holes", "a"], 1, 8))', "results above 0"),
        ('gmean(tput["holes", "a"])', "no luck at 64"),
        ('last(tput["a"] + tput["holes", "a"])', "no luck at 64"),
        ('last(larger(tput["a"], tput["holes", "a"]))', "no luck at 64"),
        ('at(tput["holes", "a"], 64)', "no luck at 64"),
        ('all(2 * tput["holes", "a"] > -1)', "no luck at 64"),
        ('at(tput["a"], 8) > 1 and peak(tput["gone"]) > 1', "gone"),
    ],
)
def test_a_formula_with_missing_results_is_not_run(text, said):
    with pytest.raises(NotRun, match=said):
        Formula(text).evaluate(_lookup)


# ---- cells, pool, cache

# Answers like a worker: an entry with the spec's seed; seed 13 dies, seed 14 fails. Logs its jobs.
_WORKER = """
import json, sys
for line in sys.stdin:
    spec = json.loads(line)["spec"]["spec"]
    with open({log!r}, "a") as log:
        log.write(f"{{spec['seed']}}\\n")
    if spec["seed"] == 13:
        print("out of luck", file=sys.stderr)
        sys.exit(3)
    answer = {{"value": {{"seed": spec["seed"]}}}}
    if spec["seed"] == 14:
        answer = {{"failed": "OutOfSpace", "text": "the log is full"}}
    print(json.dumps(answer), flush=True)
"""


@pytest.fixture
def worker(tmp_path):
    log = tmp_path / "asked"
    log.touch()
    script = write(tmp_path, _WORKER.format(log=str(log)), "worker.py")
    return (sys.executable, str(script)), lambda: sorted(map(int, log.read_text().split()))


def _cell(seed, engine="undo", kind="sim"):
    spec = CellSpec(
        workload="sps",
        engines=[engine],
        threads=[1],
        machine="tiny",
        duration_us=1.0,
        warm_up_us=0.0,
        seed=seed,
    )
    return Cell("f", "p", engine, 1, seed, kind, spec)


def test_a_cell_with_a_kept_result_is_not_run_again(tmp_path, worker):
    command, asked = worker
    cache = Cache(tmp_path / "cells")
    first = runs.run_all([_cell(1), _cell(2), _cell(1)], 2, cache, command=command)
    assert [outcome.entry.seed for outcome in first] == [1, 2, 1]
    assert asked() == [1, 2]
    again = runs.run_all([_cell(2), _cell(3)], 2, cache, command=command)
    assert [(outcome.entry.seed, outcome.cached) for outcome in again] == [(2, True), (3, False)]
    assert asked() == [1, 2, 3]


def test_a_result_belongs_to_its_spec_machine_and_program(tmp_path, monkeypatch):
    cache = Cache(tmp_path)
    key = cache.key(_cell(1))
    assert key == cache.key(replace(_cell(1), figure="other", panel="other"))
    assert key != cache.key(_cell(2))
    other = _cell(1)
    assert key != cache.key(replace(other, spec=replace(other.spec, machine="power9")))
    native = cache.key(_cell(1, kind="bench"))
    monkeypatch.setattr("holdfast.lab.cache._computer", lambda: ["another", "cpu", "kernel"])
    assert native != cache.key(_cell(1, kind="bench"))
    assert key == cache.key(_cell(1))
    monkeypatch.setattr("holdfast.lab.cache.version", lambda: "a newer program")
    assert key != cache.key(_cell(1))


def test_a_result_belongs_to_the_content_of_its_design(tmp_path):
    def key(content):
        (tmp_path / "mine.so").write_text(content)
        cell = _cell(1)
        return Cache(tmp_path).key(
            replace(cell, spec=replace(cell.spec, design=str(tmp_path / "mine.so")))
        )

    assert key("built once") == key("built once") != key("built anew")


def test_a_native_result_belongs_to_the_whole_request_and_the_file_system(tmp_path, monkeypatch):
    cache, native, simulated = Cache(tmp_path), _cell(1, kind="db"), _cell(1)
    before, simulated_before = cache.key(native), cache.key(simulated)
    monkeypatch.setenv("TMPDIR", "/proc")
    on_another_system = cache.key(native)
    assert on_another_system != before and cache.key(simulated) == simulated_before
    asked = kinds._store_spec
    monkeypatch.setattr(kinds, "_store_spec", lambda spec: replace(asked(spec), sync="always"))
    assert cache.key(native) != on_another_system


def test_a_result_of_another_store_belongs_to_the_store_that_was_there(tmp_path, monkeypatch):
    peer = catalog.stores().peers[0].name

    def key(plug_in):
        entry = {"name": peer, "missing": "", "file": str(write(tmp_path, plug_in, plug_in))}
        found = {"benchmarks": [], "peers": [entry]}
        monkeypatch.setattr(core, "db_bench_catalog", lambda: found)
        return Cache(tmp_path).key(_cell(1, engine=peer, kind="db"))

    assert key("version 1") == key("version 1") != key("version 2")
    assert len(linked(core.module().__file__)) > 1, "libraries of the system count"
    monkeypatch.undo()
    for built in catalog.stores().peers:
        assert Path(built.file).exists() == (not built.missing)


def test_a_broken_result_is_run_again(tmp_path, worker):
    command, asked = worker
    cache = Cache(tmp_path / "cells")
    runs.run_all([_cell(1)], 1, cache, command=command)
    path = next((tmp_path / "cells").glob("*.json"))
    path.write_text('{"seed"')
    runs.run_all([_cell(1)], 1, cache, command=command)
    assert asked() == [1, 1]


def test_an_engine_that_ends_its_process_ends_no_other(tmp_path, worker):
    command, _ = worker
    told = []
    outcomes = runs.run_all(
        [_cell(seed) for seed in (11, 12, 13, 14, 15)],
        1,
        Cache(tmp_path / "cells"),
        tell=lambda done, of, name: told.append((done, of)),
        command=command,
    )
    assert [outcome.state for outcome in outcomes] == ["ok", "ok", "failed", "failed", "ok"]
    assert outcomes[2].reason == "the process ended with status 3: out of luck"
    assert outcomes[3].reason == "the log is full"
    assert told[-1] == (5, 5)


def test_an_interrupt_keeps_finished_cells(tmp_path, worker):
    command, asked = worker
    cache = Cache(tmp_path / "cells")

    def interrupt(done, of, name):
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        runs.run_all(
            [_cell(seed) for seed in range(20, 30)], 1, cache, tell=interrupt, command=command
        )
    kept = len(list((tmp_path / "cells").glob("*.json")))
    assert kept == 2
    outcomes = runs.run_all([_cell(seed) for seed in range(20, 30)], 1, cache, command=command)
    assert sum(outcome.cached for outcome in outcomes) == kept
    assert set(asked()) == set(range(20, 30))


def test_a_cell_that_cannot_be_run_is_not_run(tmp_path, worker):
    command, asked = worker
    outcomes = runs.run_all(
        [_cell(1, engine="perpetuum"), _cell(1, kind="replay")], 1, Cache(tmp_path), command=command
    )
    assert [outcome.state for outcome in outcomes] == ["not run", "not run"]
    assert outcomes[0].reason == "engine perpetuum does not exist yet"
    assert outcomes[1].reason.startswith("engine undo keeps no redo log")
    assert asked() == []


# ---- the whole way


@pytest.fixture
def laboratory(tmp_path, monkeypatch):
    """Experiments of the toy figure only, and results kept in a folder of the test."""
    for folder in ("figures", "claims"):
        (tmp_path / "experiments" / folder).mkdir(parents=True)
    text = FIGURE.replace(', "undo.nonsense" = 1', "").replace(
        '"fur-si"]', '"fur-si", "perpetuum"]'
    )
    write(tmp_path / "experiments/figures", text)
    lost = CLAIM.replace("T1a", "T2a").replace('"undo"', '"perpetuum"')
    write(tmp_path / "experiments/claims", CLAIM + lost, "toy.toml")
    for module in (figures, claims):
        monkeypatch.setattr(module, "experiments", lambda: tmp_path / "experiments")
    monkeypatch.setenv("HOLDFAST_CACHE", str(tmp_path / "cache"))
    return tmp_path


def test_a_tiny_figure_from_end_to_end(laboratory, invoke):
    out = laboratory / "out"
    result = invoke(
        "reproduce", "toy", "--quick", "--jobs", 2, "--out", out, "--json", laboratory / "r.json"
    )
    assert result.exit_code == 0, result.output
    told = json.loads((laboratory / "r.json").read_text())
    by_id = {claim["id"]: claim for claim in told["claims"]}
    assert by_id["T1a"]["verdict"] in ("green", "red") and by_id["T1a"]["measured"] > 0
    assert by_id["T1a"]["paper"] == 2.0 and by_id["T1a"]["tolerance"] == "factor 1.5"
    assert (
        by_id["T2a"]["verdict"] == "not run"
        and "perpetuum does not exist" in by_id["T2a"]["reason"]
    )
    assert told["groups"]["T2"] == "not run"
    for ending in ("png", "svg", "csv", "json"):
        assert (out / f"toy-1.{ending}").stat().st_size > 500
    data = json.loads((out / "toy-1.json").read_text())
    states = [cell["state"] for cell in data["panels"][0]["cells"]]
    assert states == ["ok", "ok", "not run"]
    assert data["panels"][0]["cells"][0]["entry"]["items_per_second"] > 0
    again = invoke("reproduce", "T1a", "--quick", "--out", out)
    assert again.exit_code == 0 and "8 of them known from before" in again.stdout
    assert invoke("reproduce", "toy-1", "--quick", "--out", out).exit_code == 0
    svg = (out / "toy-1.svg").read_bytes()
    assert invoke("reproduce", "toy-1", "--quick", "--out", out).exit_code == 0
    assert (out / "toy-1.svg").read_bytes() == svg


def test_a_cell_that_fails_is_reported_and_fails_the_command(laboratory, invoke):
    path = laboratory / "experiments/figures/toy-1.toml"
    path.write_text(path.read_text().replace("core.ghz = 2", "core.nonsense = 2"))
    result = invoke("reproduce", "--quick", "--out", laboratory / "out")
    assert result.exit_code == 1
    assert "cells failed" in result.stderr and "there is no key 'nonsense'" in result.stderr


def test_listing_runs_nothing(laboratory, invoke):
    result = invoke("reproduce", "--list", "--json", "-")
    assert result.exit_code == 0
    listed = json.loads(result.stdout)
    assert [figure["id"] for figure in listed["figures"]] == ["toy-1"]
    assert [claim["id"] for claim in listed["claims"]] == ["T1a", "T2a"]
    assert not (laboratory / "out").exists()


def test_an_unknown_name_lists_the_right_ones(laboratory, invoke):
    result = invoke("reproduce", "toy-2")
    assert result.exit_code == 2
    for part in ("'toy-2'", "papers: toy", "figures: toy-1", "claims: T1, T2", "such as T1a"):
        assert part in result.stderr
    assert invoke("reproduce", "toy-1", "--machine", "abacus").exit_code == 2


def test_another_machine_runs_the_same_figure(laboratory):
    selection = reproduce.select(["toy-1"], machine="power9")
    assert {cell.spec.machine for cell in selection.cells()} == {"power9"}


def test_another_machine_leaves_measurements_of_this_computer(tmp_path):
    text = FIGURE + '\n[[panel]]\nid = "here"\ntitle = "t"\nkind = "bench"\nmachine = "native"\n'
    figure = figures.load(write(tmp_path, text)).on_machine("power9")
    assert [panel.machine for panel in figure.panels] == ["power9", "power9", "native"]


def test_a_claim_brings_the_figures_it_reads():
    selection = reproduce.select(["F1d"])
    assert list(selection.figures) == ["fur-6", "fur-8", "fur-9"]
    assert [claim.id for claim in selection.claims] == ["F1d"]


@pytest.mark.parametrize(("number", "status"), [(errno.ENOSPC, 3), (errno.EACCES, 2)])
def test_a_folder_that_takes_no_data_has_its_exit_status(
    toy, tmp_path, monkeypatch, number, status
):
    def fail(*_):
        raise OSError(number, "the reason")

    monkeypatch.setattr(report, "write_json", fail)
    monkeypatch.setattr(plots, "missing", lambda: "all")
    outcomes = [(cell, Outcome("failed", reason="no luck")) for cell in toy.cells()]
    done = reproduce.Reproduction(Results({"toy-1": toy}, outcomes), [], outcomes)
    with pytest.raises(errors.Failure, match=r"cannot write to .*: the reason") as caught:
        reproduce.write(done, tmp_path)
    assert caught.value.exit_status == status


def test_drawings_and_tables_take_incomplete_figures(toy, tmp_path):
    outcomes = [(cell, Outcome("failed", reason="no luck")) for cell in toy.cells()]
    results = Results({"toy-1": toy}, outcomes)
    for path in draw.draw(tmp_path / "toy-1", toy, results, []):
        assert path.stat().st_size > 500
    report.write_csv(tmp_path / "toy.csv", toy, results)
    assert "no luck" in (tmp_path / "toy.csv").read_text()
