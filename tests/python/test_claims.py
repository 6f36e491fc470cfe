# SPDX-License-Identifier: Apache-2.0
"""Are claims read and judged as docs/reference/figures-and-claims.md says?"""

from dataclasses import replace

import pytest
from toy_paper import CLAIM, FIGURE, write

from holdfast import errors, results
from holdfast.lab import claims, figures
from holdfast.lab.cells import Outcome
from holdfast.lab.results import Results


@pytest.fixture
def toy(tmp_path) -> figures.Figure:
    return figures.load(write(tmp_path, FIGURE))


def _claims(tmp_path, toy, text=CLAIM):
    return claims.load({"toy-1": toy}, write(tmp_path, text, "claims.toml"))


def _results(toy, rates, state="ok"):
    outcomes = []
    for cell in toy.cells():
        rate = rates.get((cell.series, cell.x))
        entry = None if rate is None else results.entry_of({"items_per_second": rate})
        outcomes.append((cell, Outcome("ok", entry) if entry else Outcome(state, reason="because")))
    return Results({"toy-1": toy}, outcomes)


_ALL = {("undo", 1): 1.0, ("undo", 2): 200.0, ("fur-si", 1): 1.0, ("fur-si", 2): 100.0}


@pytest.mark.parametrize(
    ("undo", "tolerance", "verdict"),
    [
        (200.0, "factor 1.5", "green"),
        (300.0, "factor 1.5", "green"),
        (301.0, "factor 1.5", "red"),
        (134.0, "factor 1.5", "green"),
        (133.0, "factor 1.5", "red"),
        (1.0, "at most factor 1.5", "green"),
        (301.0, "at most factor 1.5", "red"),
        (133.0, "at least factor 1.5", "red"),
        (9999.0, "at least factor 1.5", "green"),
    ],
)
def test_ratios_hold_within_their_tolerance(tmp_path, toy, undo, tolerance, verdict):
    (claim,) = _claims(tmp_path, toy, CLAIM.replace("factor 1.5", tolerance))
    found = claims.judge(claim, _results(toy, _ALL | {("undo", 2): undo}))
    assert (found.verdict, found.measured) == (verdict, undo / 100)


@pytest.mark.parametrize(
    ("undo", "verdict"), [(110.0, "green"), (101.0, "green"), (100.0, "red"), (99.0, "red")]
)
def test_an_ordering_the_wrong_way_round_is_red_within_its_tolerance(tmp_path, toy, undo, verdict):
    text = CLAIM.replace("value = 2.0", "value = 1.3")
    measured = _results(toy, _ALL | {("undo", 2): undo})
    (claim,) = _claims(tmp_path, toy, text.replace("value = 1.3", "value = 1.3\nordering = true"))
    assert claims.judge(claim, measured).verdict == verdict
    (claim,) = _claims(tmp_path, toy, text)
    assert claims.judge(claim, measured).verdict == "green"


_CAUSE = """
[of.claim.cause]
figure = "toy-1"
panel = "two"
changes = "slower write-backs"
source = "section 1"
"""


@pytest.mark.parametrize(
    ("own", "other", "verdict", "in_cause"),
    [
        (200.0, None, "green", None),
        (900.0, 200.0, "explained", 2.0),
        (900.0, 900.0, "red", 9.0),
        (900.0, None, "red", None),
    ],
)
def test_a_red_claim_is_explained_if_its_cause_makes_it_green(
    tmp_path, toy, own, other, verdict, in_cause
):
    text = CLAIM.replace("at(tput", "mean(tput").replace(", 2)'", ")'")
    (claim,) = _claims(tmp_path, toy, text + _CAUSE)
    outcomes = []
    for cell in toy.cells():
        rate = (own if cell.panel == "one" else other) if cell.series == "undo" else 100.0
        entry = None if rate is None else results.entry_of({"items_per_second": rate})
        outcomes.append((cell, Outcome("ok", entry) if entry else Outcome("not run", reason="so")))
    found = claims.judge(claim, Results({toy.id: toy}, outcomes))
    assert (found.verdict, found.in_cause) == (verdict, in_cause)
    assert found.as_json()["cause"]["measured"] == in_cause
    if verdict != "green":
        assert found.measured == 9.0
        assert "panel two" in found.reason


def test_a_cause_in_a_figure_that_was_not_asked_for_leaves_the_claim_red(tmp_path, toy):
    other = replace(toy, id="toy-2")
    path = write(tmp_path, CLAIM + _CAUSE.replace("toy-1", "toy-2"), "toy.toml")
    (claim,) = claims.load({toy.id: toy, other.id: other}, path)
    found = claims.judge(claim, _results(toy, _ALL | {("undo", 2): 900.0}))
    assert found.verdict == "red"
    assert "toy-2 was not asked for" in found.reason
    assert claim.figures() == {"toy-1", "toy-2"}


def test_orderings_hold_or_say_where_they_do_not(tmp_path, toy):
    text = CLAIM.replace("value = 2.0", "").replace('tolerance = "factor 1.5"', "")
    text = text.replace(
        'at(tput["undo"] / tput["fur-si"], 2)', 'all(tput["undo"] > tput["fur-si"])'
    )
    (claim,) = _claims(tmp_path, toy, text)
    assert claims.judge(claim, _results(toy, _ALL | {("undo", 1): 2.0})).verdict == "green"
    red = claims.judge(claim, _results(toy, _ALL))
    assert (red.verdict, red.measured, red.reason) == ("red", False, "not at 1")


@pytest.mark.parametrize("state", ["not run", "failed"])
def test_a_claim_without_its_cells_is_not_run(tmp_path, toy, state):
    (claim,) = _claims(tmp_path, toy)
    elsewhere = {key: rate for key, rate in _ALL.items() if key != ("fur-si", 1)}
    assert claims.judge(claim, _results(toy, elsewhere, state)).verdict == "green"
    missing = {key: rate for key, rate in _ALL.items() if key != ("fur-si", 2)}
    found = claims.judge(claim, _results(toy, missing, state))
    assert (found.verdict, found.measured) == ("not run", None)
    assert "because" in found.reason
    assert found.as_json()["verdict"] == "not run"


def test_a_claim_is_green_only_if_all_its_parts_are(tmp_path, toy):
    (claim,) = _claims(tmp_path, toy)

    def verdict(name, colour):
        return claims.Verdict(replace(claim, id=name), 1.0, colour)

    found = claims.by_group(
        [
            verdict("T1a", "green"),
            verdict("T1b", "green"),
            verdict("T2a", "green"),
            verdict("T2b", "not run"),
            verdict("T3a", "not run"),
            verdict("T3b", "red"),
            verdict("T3c", "green"),
            verdict("T4a", "explained"),
            verdict("T4b", "green"),
            verdict("T5a", "explained"),
            verdict("T5b", "red"),
        ]
    )
    assert found == {
        "T1": "green",
        "T2": "not run",
        "T3": "red",
        "T4": "explained",
        "T5": "red",
    }


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('figure = "toy-1"', 'figure = "toy-9"', "claim T1a: there is no figure 'toy-9'"),
        ('panel = "one"', 'panel = "three"', "no panel 'three'; it has one, two"),
        ('tput["undo"]', 'tput["spht"]', "no engine or design 'spht'; it has undo, fur-si"),
        ('tput["undo"]', 'speed["undo"]', "no metric 'speed'"),
        ('tput["undo"]', "tput.undo", "claim T1a: 'tput.undo' is nothing a formula may have"),
        ('"factor 1.5"', '"nearly"', "'nearly' is none of factor N"),
        ('"factor 1.5"', '"holds"', "'holds' goes with true"),
        ("value = 2.0", "value = '2'", "value must be"),
        ('id = "T1a"', 'id = "first"', "an id is like F6a"),
        ('paper = "toy"', 'paper = "toy"\nnonsense = 1', "no key 'nonsense'"),
        ("value = 2.0", "value = 2.0\nnonsense = 1", "claim T1a: there is no key 'nonsense'"),
        ("value = 2.0", "value = 1.0\nordering = true", "'ordering' goes with a number"),
    ],
)
def test_a_wrong_claim_is_refused_with_its_name(tmp_path, toy, old, new, said):
    with pytest.raises(errors.BadUsage, match=said):
        _claims(tmp_path, toy, CLAIM.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('panel = "two"', 'panel = "one"', "its cause is its own panel"),
        ('panel = "two"', 'panel = "three"', "no panel 'three'"),
        ('figure = "toy-1"', 'figure = "toy-9"', "no figure 'toy-9'"),
        ('source = "section 1"', "", "source is missing"),
        ('source = "section 1"', 'source = "1"\nnonsense = 1', "cause: there is no key 'nonsense'"),
    ],
)
def test_a_wrong_cause_is_refused(tmp_path, toy, old, new, said):
    with pytest.raises(errors.BadUsage, match=said):
        _claims(tmp_path, toy, CLAIM + _CAUSE.replace(old, new))


def test_a_cause_without_a_panel_stands_in_for_all_panels_of_the_figure(tmp_path, toy):
    other = figures.load(write(tmp_path, FIGURE.replace("toy-1", "toy-2"), "toy-2.toml"))
    formula = 'mean(tput["two", "undo"]) / mean(tput["fur-si"])'
    text = CLAIM.replace('at(tput["undo"] / tput["fur-si"], 2)', formula)
    text += _CAUSE.replace('panel = "two"\n', "")
    text = text.replace('cause]\nfigure = "toy-1"', 'cause]\nfigure = "toy-2"')
    path = write(tmp_path, text, "claims.toml")
    (claim,) = claims.load({toy.id: toy, other.id: other}, path)
    outcomes = []
    for figure, undo in ((toy, 900.0), (other, 200.0)):
        for cell in figure.cells():
            rate = undo if cell.series == "undo" else 100.0
            entry = results.entry_of({"items_per_second": rate})
            outcomes.append((cell, Outcome("ok", entry)))
    found = claims.judge(claim, Results({toy.id: toy, other.id: other}, outcomes))
    assert (found.verdict, found.measured, found.in_cause) == ("explained", 9.0, 2.0)
    assert "toy-2 (slower write-backs)" in found.reason


def test_a_cause_without_a_panel_needs_another_figure(tmp_path, toy):
    with pytest.raises(errors.BadUsage, match="its cause is its own panel"):
        _claims(tmp_path, toy, CLAIM + _CAUSE.replace('panel = "two"\n', ""))


def test_a_cause_for_a_panel_that_the_formula_does_not_read_is_refused(tmp_path, toy):
    text = CLAIM.replace('tput["', 'tput["toy-1", "two", "').replace(", 2)'", ", 20)'")
    with pytest.raises(errors.BadUsage, match="does not read its own panel"):
        _claims(tmp_path, toy, text + _CAUSE)


def test_a_claim_may_stand_once(tmp_path, toy):
    with pytest.raises(errors.BadUsage, match="T1a is there twice"):
        _claims(tmp_path, toy, CLAIM + CLAIM)


def test_a_formula_that_does_not_fit_its_tolerance_names_its_claim(tmp_path, toy):
    text = CLAIM.replace("at(tput", "all(tput").replace(", 2)'", " > 1)'")
    (claim,) = _claims(tmp_path, toy, text)
    with pytest.raises(errors.BadUsage, match=r"claim T1a: tolerance 'factor 1[.]5' does not fit"):
        claims.judge(claim, _results(toy, _ALL))


# ---- claims of papers


def _judged(name, entry_of):
    """The verdict on a paper's claim if each cell had the entry that entry_of(cell) makes up."""
    papers = figures.load_all()
    (claim,) = [claim for claim in claims.load(papers) if claim.id == name]
    needed = {name: papers[name] for name in claim.figures()}
    cells = [cell for figure in needed.values() for cell in figure.cells()]
    outcomes = [(cell, Outcome("ok", results.entry_of(entry_of(cell)))) for cell in cells]
    return claims.judge(claim, Results(needed, outcomes)).verdict


@pytest.mark.parametrize(
    ("age_us", "verdict"), [(55, "red"), (999, "red"), (1500, "green"), (2001, "red")]
)
def test_a_range_has_two_ends_and_its_runs_are_long_enough_for_both(age_us, verdict):
    def entry(cell):
        within_run = min(age_us, cell.spec.duration_us)
        return {"pending": {"mean": 1, "max": 1, "max_age_us": within_run, "samples": []}}

    assert _judged("C3d", entry) == verdict


@pytest.mark.parametrize(
    ("fastest", "verdict"),
    [("romulus-log", "green"), ("romulus-lr", "green"), ("mnemosyne", "red"), ("romulus", "red")],
)
def test_a_claim_of_one_or_the_other_reads_both(fastest, verdict):
    def entry(cell):
        return {"items_per_second": 2.0 if cell.series == fastest else 1.0}

    assert _judged("R10a", entry) == verdict
