# SPDX-License-Identifier: Apache-2.0
"""Figures of papers as data: experiments/figures/*.toml (docs/reference/reproduce.md).

A figure has panels; a panel has one series per engine or hardware design along one axis (threads, a
value of the machine, a parameter of the workload, an option, the workload). Every point of a series
is a cell per seed.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from holdfast import catalog, errors
from holdfast.lab import scaling
from holdfast.lab.cells import Cell, CellSpec
from holdfast.lab.files import Table, as_text, assigned, experiments, read
from holdfast.lab.kinds import KINDS
from holdfast.lab.scaling import Scaling
from holdfast.lab.series import Series, all_of
from holdfast.specs import Assigned

ROWS = (
    "throughput",
    "columns",
    "outcomes",
    "overhead.update",
    "overhead.read",
    "time.update",
    "time.read",
    "bars",
    "pending",
)
MEANS = ("", "arithmetic", "geometric")
Value = int | float | str


@dataclass(frozen=True)
class Variant:
    """A point of the axis "variant": several changes under one name."""

    set: Assigned
    params: Assigned
    options: Assigned
    design_options: Assigned
    workload: str = ""  # empty: the panel's
    work: int = 0  # 0: the panel's
    warm_up_work: int | None = None


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
    series: tuple[Series, ...]
    axis: str  # one of KINDS[kind].axes, with a name where it is a group of names
    values: tuple[Value, ...]
    threads: int  # where they are not the axis
    seeds: tuple[int, ...]
    duration_us: float
    warm_up_us: float
    work: int  # kinds sim, recovery: transactions of all threads, in place of a time; 0: none
    warm_up_work: int | None  # and before them; None: a tenth
    arrivals: float  # kind sim: transactions per second of an open loop; 0: a closed loop
    gauge_us: float  # kind sim: between samples of pending updates; 0: none
    thread_time_us: float  # measured, of all threads together, at least: few threads run longer
    latency: str  # kind bench: a preset of emulated delays
    htm: str  # kind bench: the backend of hardware transactions
    replayers: int  # kind replay: threads that replay the logs of `threads` in duration_us
    filter: bool
    params: Assigned = field(default_factory=dict)
    options: Assigned = field(default_factory=dict)
    design_options: Assigned = field(default_factory=dict)
    scaling: Scaling = field(default_factory=Scaling)
    changes: Assigned = field(default_factory=dict)  # of the machine's description
    variants: dict[str, Variant] = field(default_factory=dict)
    rows: tuple[str, ...] = ("throughput",)
    metric: str = "tput"  # drawn in rows throughput and columns
    unit: str = ""
    relative_to: str = ""  # a series, by whose values at the same point these rows divide
    mean: str = ""  # of MEANS: row columns has it beside the points
    # The paper's values, by metric and point of the axis.
    paper: dict[str, dict[str, float]] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the series."""
        return tuple(one.name for one in self.series)

    @property
    def engines(self) -> tuple[str, ...]:
        """The engines of the series, those that run with a design excluded."""
        return tuple(one.engine for one in self.series if one.engine)

    def cells(self) -> Iterator[Cell]:
        for series in self.series:
            for x in self.values:
                for seed in self.seeds:
                    spec = self._spec(series, x, seed)
                    yield Cell(self.figure, self.id, series.name, x, seed, self.kind, spec)

    def _spec(self, series: Series, x: Value, seed: int) -> CellSpec:
        kind = KINDS[self.kind]
        fields = {"engines": [series.runs]} | kind.more(self)
        spec = CellSpec(
            workload=self.workload,
            threads=[self.threads],
            machine=self.machine,
            design=series.design or None,
            domain=self._domain(series),
            set=self.changes | series.set,
            params=dict(self.params),
            options=self.options | series.options,
            design_options=self.design_options | series.design_options,
            seed=seed,
            **fields,
        )
        spec = self.scaling.applied(self._at(spec, x))
        variant = self.variants[str(x)] if self.axis == "variant" else None
        work = (variant and variant.work) or self.work
        spec = self._with_work(spec, work, variant) if work else self._with_time(spec)
        if kind.native:  # one run for all engines
            return spec
        return replace(
            spec,
            options=catalog.own_options(spec.options, spec.engines[0]),
            design_options=catalog.own_design_options(spec.design_options, spec.design)
            if spec.design
            else {},
        )

    def _domain(self, series: Series) -> str | None:
        """A design has its own domain. Engines beside designs have the machine's."""
        with_designs = self.axis == "design" or any(one.design for one in self.series)
        return series.domain or self.domain or (None if with_designs else "pmem")

    def _with_time(self, spec: CellSpec) -> CellSpec:
        longer = 1.0
        if self.thread_time_us and self.duration_us:
            longer = max(1.0, self.thread_time_us / (self.duration_us * spec.threads[0]))
        return replace(
            spec, duration_us=longer * self.duration_us, warm_up_us=longer * self.warm_up_us
        )

    def _with_work(self, spec: CellSpec, work: int, variant: Variant | None) -> CellSpec:
        """Every thread does its share of the work, after its share of the warm-up."""
        before = self.warm_up_work
        if variant and variant.warm_up_work is not None:
            before = variant.warm_up_work
        for what, number in (("work", work), ("warm-up", before or 0)):
            if number % spec.threads[0]:
                raise errors.BadUsage(
                    f"figure {self.figure}, panel {self.id}: a {what} of {number} transactions is "
                    f"no multiple of {spec.threads[0]} threads"
                )
        return replace(
            spec,
            transactions=work // spec.threads[0],
            warm_up=None if before is None else before // spec.threads[0],
            duration_us=None,
            warm_up_us=None,
        )

    def _at(self, spec: CellSpec, x: Value) -> CellSpec:
        """The spec at a point of the axis."""
        if self.axis == "threads":
            return replace(spec, threads=[x])
        if self.axis == "machine":
            return replace(spec, machine=str(x))
        if self.axis == "arrivals":
            return replace(spec, arrivals=float(x))
        if self.axis == "workload":
            return replace(
                spec, workload=str(x), params=catalog.own_parameters(spec.params, str(x))
            )
        if self.axis == "design":
            return replace(spec, design=str(x))
        if self.axis == "variant":
            variant = self.variants[str(x)]
            workload = variant.workload or spec.workload
            params = spec.params
            if variant.workload:
                params = catalog.own_parameters(params, workload)
            return replace(
                spec,
                workload=workload,
                set=spec.set | variant.set,
                params=params | variant.params,
                options=spec.options | variant.options,
                design_options=spec.design_options | variant.design_options,
            )
        group, _, name = self.axis.partition(".")
        return replace(spec, **{group: getattr(spec, group) | {name: as_text(x)}})


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
        """The same figure on another simulated computer. Panels that measure this one stay."""
        panels = (
            panel if KINDS[panel.kind].native else replace(panel, machine=machine)
            for panel in self.panels
        )
        return replace(self, panels=tuple(panels))


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
    named = ("set", "params", "options", "design_options")
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
    if work and kind not in ("sim", "recovery"):
        raise errors.BadUsage(
            f"{table.where}: work is for cells of kinds sim and recovery, not {kind}"
        )
    counted = work or any(one.work for one in variants.values())
    time = None if KINDS[kind].timed and not counted else 0.0  # for a value that is left out
    has_workload = axis == "workload" or (variants and all(v.workload for v in variants.values()))
    panel = Panel(
        figure=figure,
        id=table.get("id", str),
        title=table.get("title", str),
        kind=kind,
        workload=table.get("workload", str, "" if has_workload else None),
        machine=table.get("machine", str),
        domain=table.get("domain", str, ""),
        series=all_of(table),
        axis=axis,
        values=tuple(table.list_of("values", (int, float, str), list(variants) or None)),
        variants=variants,
        threads=table.get("threads", int, 1),
        seeds=tuple(table.list_of("seeds", int, [1])),
        duration_us=float(table.get("duration_us", (int, float), time)),
        warm_up_us=float(table.get("warm_up_us", (int, float), time)),
        thread_time_us=float(table.get("thread_time_us", (int, float), 0)),
        work=work,
        warm_up_work=_given(table.get("warm_up_work", int, -1)),
        arrivals=float(table.get("arrivals", (int, float), 0)),
        gauge_us=float(table.get("gauge_us", (int, float), 0)),
        latency=table.get("latency", str, "none"),
        htm=table.get("htm", str, "soft"),
        replayers=table.get("replayers", int, 1),
        filter=table.get("filter", bool, False),
        params=assigned(table, "params"),
        options=assigned(table, "options"),
        design_options=assigned(table, "design_options"),
        scaling=scaling.of(table),
        changes=assigned(table, "set"),
        rows=tuple(table.list_of("rows", str, ["throughput"])),
        metric=table.get("metric", str, "tput"),
        unit=table.get("unit", str, ""),
        relative_to=table.get("relative_to", str, ""),
        mean=table.one_of("mean", MEANS, ""),
        paper=table.get("paper", dict, {}),
    )
    table.finish()
    for row in panel.rows:
        if row not in ROWS:
            raise errors.BadUsage(f"{table.where}: row '{row}' is none of {', '.join(ROWS)}")
    if axis == "variant" and not set(panel.values) <= set(variants):
        raise errors.BadUsage(f"{table.where}: the variants are {', '.join(variants) or 'none'}")
    if not panel.series or not panel.values or not panel.seeds:
        raise errors.BadUsage(
            f"{table.where}: engines and designs, values and seeds must not be empty"
        )
    if panel.relative_to and panel.relative_to not in panel.names:
        raise errors.BadUsage(
            f"{table.where}: relative_to is '{panel.relative_to}', which is none of "
            f"{', '.join(panel.names)}"
        )
    return panel


def _variant(values: Any, where: str) -> Variant:
    table = Table(values, where)
    groups = ("set", "params", "options", "design_options")
    texts = {name: assigned(table, name) for name in groups}
    workload = table.get("workload", str, "")
    work, before = table.get("work", int, 0), table.get("warm_up_work", int, -1)
    table.finish()
    return Variant(**texts, workload=workload, work=work, warm_up_work=_given(before))


def _given(number: int) -> int | None:
    return None if number < 0 else number
