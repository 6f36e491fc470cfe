# SPDX-License-Identifier: Apache-2.0
"""Figures of papers as data: experiments/figures/*.toml (docs/reference/reproduce.md).

A figure has panels; a panel has one series per engine along one axis (threads, a value of the
machine, a parameter of the workload, an option of the engine). Every point of a series is a cell
per seed.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from holdfast import catalog, errors
from holdfast.lab.cells import Cell, CellSpec
from holdfast.lab.files import Table, experiments, read
from holdfast.lab.kinds import KINDS
from holdfast.specs import Assigned

ROWS = (
    "throughput",
    "outcomes",
    "overhead.update",
    "overhead.read",
    "time.update",
    "time.read",
    "bars",
    "pending",
)
Value = int | float | str


@dataclass(frozen=True)
class Variant:
    """A point of the axis "variant": several changes under one name."""

    set: Assigned
    params: Assigned
    options: Assigned


@dataclass(frozen=True)
class Panel:
    """One set of axes, and the runs for it."""

    figure: str
    id: str
    title: str
    kind: str
    workload: str
    machine: str
    domain: str
    engines: tuple[str, ...]
    axis: str  # "threads", "machine", "arrivals", "variant", or set., params., options. and a name
    values: tuple[Value, ...]
    threads: int  # where they are not the axis
    seeds: tuple[int, ...]
    duration_us: float
    warm_up_us: float
    work: int  # kind sim: transactions of all threads together, in place of a time; 0: none
    arrivals: float  # kind sim: transactions per second of an open loop; 0: a closed loop
    gauge_us: float  # kind sim: between samples of pending updates; 0: none
    thread_time_us: float  # measured, of all threads together, at least: few threads run longer
    latency: str  # kind bench: a preset of emulated delays
    htm: str  # kind bench: the backend of hardware transactions
    replayers: int  # kind replay: threads that replay the logs of `threads` in duration_us
    filter: bool
    params: Assigned = field(default_factory=dict)
    options: Assigned = field(default_factory=dict)
    changes: Assigned = field(default_factory=dict)  # of the machine's description
    variants: dict[str, Variant] = field(default_factory=dict)
    rows: tuple[str, ...] = ("throughput",)
    metric: str = "tput"  # drawn in row throughput
    unit: str = ""
    # The paper's values, by metric and point of the axis.
    paper: dict[str, dict[str, float]] = field(default_factory=dict)

    def cells(self) -> Iterator[Cell]:
        for engine in self.engines:
            for x in self.values:
                for seed in self.seeds:
                    spec = self._spec(engine, x, seed)
                    yield Cell(self.figure, self.id, engine, x, seed, self.kind, spec)

    def _spec(self, engine: str, x: Value, seed: int) -> CellSpec:
        kind = KINDS[self.kind]
        fields = {"engines": [engine]} | kind.more(self)
        spec = CellSpec(
            workload=self.workload,
            threads=[self.threads],
            machine=self.machine,
            domain=self.domain,
            set=dict(self.changes),
            params=dict(self.params),
            options=dict(self.options),
            seed=seed,
            **fields,
        )
        spec = self._at(spec, x)
        spec = self._with_work(spec) if self.work else self._with_time(spec)
        if kind.native:  # one run for all engines
            return spec
        return replace(spec, options=catalog.own_options(spec.options, engine))

    def _with_time(self, spec: CellSpec) -> CellSpec:
        longer = 1.0
        if self.thread_time_us and self.duration_us:
            longer = max(1.0, self.thread_time_us / (self.duration_us * spec.threads[0]))
        return replace(
            spec, duration_us=longer * self.duration_us, warm_up_us=longer * self.warm_up_us
        )

    def _with_work(self, spec: CellSpec) -> CellSpec:
        """Every thread does its share of the work, after a tenth as much for warming up."""
        each, left = divmod(self.work, spec.threads[0])
        if left:
            raise errors.BadUsage(
                f"figure {self.figure}, panel {self.id}: a work of {self.work} transactions is no "
                f"multiple of {spec.threads[0]} threads"
            )
        return replace(spec, transactions=each, duration_us=None, warm_up_us=None)

    def _at(self, spec: CellSpec, x: Value) -> CellSpec:
        """The spec at a point of the axis."""
        if self.axis == "threads":
            return replace(spec, threads=[x])
        if self.axis == "machine":
            return replace(spec, machine=str(x))
        if self.axis == "arrivals":
            return replace(spec, arrivals=float(x))
        if self.axis == "variant":
            variant = self.variants[str(x)]
            return replace(
                spec,
                set=spec.set | variant.set,
                params=spec.params | variant.params,
                options=spec.options | variant.options,
            )
        group, _, name = self.axis.partition(".")
        return replace(spec, **{group: getattr(spec, group) | {name: _text(x)}})


@dataclass(frozen=True)
class Figure:
    id: str
    paper: str
    title: str
    reference: str
    notes: str
    panels: tuple[Panel, ...]

    def panel(self, name: str) -> Panel:
        for panel in self.panels:
            if panel.id == name:
                return panel
        there = ", ".join(panel.id for panel in self.panels)
        raise errors.BadUsage(f"figure {self.id} has no panel '{name}'; it has {there}")

    def cells(self) -> Iterator[Cell]:
        for panel in self.panels:
            yield from panel.cells()

    def on_machine(self, machine: str) -> "Figure":
        """The same figure on another simulated computer."""
        return replace(self, panels=tuple(replace(panel, machine=machine) for panel in self.panels))


def load_all(quick: bool = False, folder: Path | None = None) -> dict[str, Figure]:
    """All figures by id, in the order of their files' names."""
    folder = folder or experiments() / "figures"
    figures: dict[str, Figure] = {}
    for path in sorted(folder.glob("*.toml"), key=_in_order):
        figure = load(path, quick)
        if figure.id in figures:
            raise errors.BadUsage(f"{path}: there is another figure {figure.id}")
        figures[figure.id] = figure
    return figures


def load(path: Path, quick: bool = False) -> Figure:
    values = read(path)
    table = Table(values, str(path))
    head = {key: table.get(key, str) for key in ("id", "paper", "title", "reference")}
    notes = table.get("notes", str, "")
    common = table.get("common", dict, {})
    hurry = table.get("quick", dict, {})
    panels = table.get("panel", list)
    table.finish()
    if head["id"] != path.stem:
        raise errors.BadUsage(
            f"{path}: its id is '{head['id']}', which must be the name of the file"
        )
    made = tuple(
        _panel(
            head["id"], _merged(_merged(common, panel), _hurried(hurry, panel, quick)), str(path)
        )
        for panel in panels
    )
    names = [panel.id for panel in made]
    if len(set(names)) != len(names) or not names:
        raise errors.BadUsage(f"{path}: panels must have different ids, and there must be one")
    return Figure(**head, notes=notes, panels=made)


def _in_order(path: Path) -> tuple[str, int, str]:
    """fur-4 before fur-10."""
    stem, _, last = path.stem.rpartition("-")
    return (stem, int(last), "") if last.isdecimal() else (stem, 1000, last)


def _merged(base: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    """`more` wins; tables are merged key by key."""
    merged = dict(base)
    for key, value in more.items():
        inner = isinstance(value, dict) and isinstance(merged.get(key), dict)
        merged[key] = merged[key] | value if inner else value
    return merged


def _hurried(hurry: dict[str, Any], panel: dict[str, Any], quick: bool) -> dict[str, Any]:
    """The changes of --quick: those for all panels, then those for this one.

    An axis that is not threads keeps its values.
    """
    own = panel.get("quick", {})
    merged = _merged(hurry, own) if quick else {}
    if "axis" in panel and "values" not in own:
        merged.pop("values", None)
    return merged


def _panel(figure: str, values: dict[str, Any], source: str) -> Panel:
    values = {key: value for key, value in values.items() if key != "quick"}
    table = Table(values, f"{source}, panel {values.get('id', '?')}")
    axis = table.get("axis", str, "threads")
    group, _, name = axis.partition(".")
    kind = table.one_of("kind", tuple(KINDS), "sim")
    named = ("set", "params", "options")
    if group not in KINDS[kind].axes or bool(name) != (group in named):
        known = [f"{axis}.NAME" if axis in named else axis for axis in KINDS[kind].axes]
        raise errors.BadUsage(
            f"{table.where}: axis is '{axis}'; with kind {kind} it must be {' or '.join(known)}"
        )
    variants = {
        name: _variant(inner, f"{table.where}, variant {name}")
        for name, inner in table.get("variants", dict, {}).items()
    }
    work = table.get("work", int, 0)
    if work and kind != "sim":
        raise errors.BadUsage(f"{table.where}: work is for cells of kind sim, not {kind}")
    time = None if KINDS[kind].timed and not work else 0.0  # for a value that is left out
    panel = Panel(
        figure=figure,
        id=table.get("id", str),
        title=table.get("title", str),
        kind=kind,
        workload=table.get("workload", str),
        machine=table.get("machine", str),
        domain=table.get("domain", str, "pmem"),
        engines=tuple(table.list_of("engines", str)),
        axis=axis,
        values=tuple(table.list_of("values", (int, float, str), list(variants) or None)),
        variants=variants,
        threads=table.get("threads", int, 1),
        seeds=tuple(table.list_of("seeds", int, [1])),
        duration_us=float(table.get("duration_us", (int, float), time)),
        warm_up_us=float(table.get("warm_up_us", (int, float), time)),
        thread_time_us=float(table.get("thread_time_us", (int, float), 0)),
        work=work,
        arrivals=float(table.get("arrivals", (int, float), 0)),
        gauge_us=float(table.get("gauge_us", (int, float), 0)),
        latency=table.get("latency", str, "none"),
        htm=table.get("htm", str, "soft"),
        replayers=table.get("replayers", int, 1),
        filter=table.get("filter", bool, False),
        params={key: _text(value) for key, value in table.get("params", dict, {}).items()},
        options={key: _text(value) for key, value in table.get("options", dict, {}).items()},
        changes={key: _text(value) for key, value in _flat(table.get("set", dict, {})).items()},
        rows=tuple(table.list_of("rows", str, ["throughput"])),
        metric=table.get("metric", str, "tput"),
        unit=table.get("unit", str, ""),
        paper=table.get("paper", dict, {}),
    )
    table.finish()
    for row in panel.rows:
        if row not in ROWS:
            raise errors.BadUsage(f"{table.where}: row '{row}' is none of {', '.join(ROWS)}")
    if axis == "variant" and not set(panel.values) <= set(variants):
        raise errors.BadUsage(f"{table.where}: the variants are {', '.join(variants) or 'none'}")
    if not panel.engines or not panel.values or not panel.seeds:
        raise errors.BadUsage(f"{table.where}: engines, values and seeds must not be empty")
    return panel


def _variant(values: Any, where: str) -> Variant:
    table = Table(values, where)
    groups = {name: _flat(table.get(name, dict, {})) for name in ("set", "params", "options")}
    table.finish()
    texts = {name: {key: _text(v) for key, v in group.items()} for name, group in groups.items()}
    return Variant(**texts)


def _flat(tables: dict[str, Any]) -> dict[str, Any]:
    """{persistence = {write_back_ns = 600}} as {"persistence.write_back_ns": 600}."""
    flat: dict[str, Any] = {}
    for key, value in tables.items():
        if isinstance(value, dict):
            flat |= {f"{key}.{name}": inner for name, inner in value.items()}
        else:
            flat[key] = value
    return flat


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
