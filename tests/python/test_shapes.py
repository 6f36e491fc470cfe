# SPDX-License-Identifier: Apache-2.0
"""Do JSON objects become dataclasses and back, with the right fields?"""

from dataclasses import dataclass, field

import pytest

import fake_core
from holdfast import errors, fleet, results
from holdfast.findings import CrashReport
from holdfast.results import Entry, ReplayEntry, Report, StoreEntry
from holdfast.shapes import Json, decode, encode
from holdfast.specs import CrashSpec, SimSpec


@dataclass(frozen=True)
class Inner:
    n: int


@dataclass(frozen=True)
class Outer:
    json: Json
    name: str
    one: Inner
    maybe: Inner | None = None
    several: list[Inner] = field(default_factory=list)
    named: dict[str, Inner] = field(default_factory=dict)
    count: int = 7


def test_objects_become_dataclasses():
    value = {
        "name": "x",
        "one": {"n": 1, "unknown": 2},
        "maybe": {"n": 3},
        "several": [{"n": 4}, {"n": 5}],
        "named": {"a": {"n": 6}},
        "more": True,
    }
    assert decode(Outer, value) == Outer(
        json=value,
        name="x",
        one=Inner(1),
        maybe=Inner(3),
        several=[Inner(4), Inner(5)],
        named={"a": Inner(6)},
    )


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"one": {"n": 1}}, "Outer has no 'name'"),
        ({"name": "x", "one": {}}, "Inner has no 'n'"),
        ({"name": "x", "one": 3}, "Inner: an object is expected, not 3"),
    ],
)
def test_an_object_of_another_shape_is_a_failure(value, said):
    with pytest.raises(errors.Failure, match=said):
        decode(Outer, value)


def test_none_is_left_out():
    outer = Outer(json={}, name="x", one=Inner(1), several=[Inner(2)])
    assert encode(outer) == {
        "json": {},
        "name": "x",
        "one": {"n": 1},
        "several": [{"n": 2}],
        "named": {},
        "count": 7,
    }


def test_an_entry_is_of_the_class_of_its_fields():
    assert type(results.entry_of({"items_per_second": 1.0})) is Entry
    assert type(results.entry_of({"replayers": 2})) is ReplayEntry
    assert type(results.entry_of({"store": "holdfast/x/file"})) is StoreEntry


def test_a_report_hands_on_its_json():
    report = Report(fake_core.FakeCore().bench(_BENCH))
    (entry,) = report.medians()
    assert entry.json is report.json["benchmarks"][0] and entry.spread == pytest.approx(20)
    assert report.context.params == {"accounts": "7"}
    assert results.merged([report, report]).json["benchmarks"] == [entry.json] * 2


_BENCH = {
    "engines": ["swift"],
    "threads": [2],
    "domain": "process",
    "params": {"accounts": "7"},
    "seed": 1,
}


def test_parts_of_a_search_add_up(fake):
    spec = CrashSpec(workload="registers", schedules=25, seed=1, machine="sim", program="")
    (report,) = fleet.crash(spec, ["swift"], jobs=1)
    assert isinstance(report, CrashReport) and len(fake.calls) == 3
    told = report.as_json()
    assert (told["schedules"], told["points"], told["images"]) == (25, 250, 500)
    assert told["sites"] == [
        {"name": "swift.log.fence", "kind": "fence", "count": 9, "only_in_creation": False},
        {"name": "swift.head.fence", "kind": "fence", "count": 3, "only_in_creation": True},
    ]
    assert told["coverage"]["explored"] == 750 and told["mutated"] == 3


def test_an_engine_is_given_its_own_options_only(fake):
    """Runs of several engines are apart, and the core refuses the options of others."""
    spec = SimSpec(
        workload="bank",
        engines=["steady", "swift"],
        threads=[1],
        machine="sim",
        lint=False,
        options={"log_entries": "8", "swift.log_entries": "16"},
    )
    report = fleet.sim(spec, [1], jobs=2)
    assert [asked["options"] for _, (asked,) in fake.calls] == [{}, {"swift.log_entries": "16"}]
    assert report.context.options == {"swift.log_entries": "16"}
