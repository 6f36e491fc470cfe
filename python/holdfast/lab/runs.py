# SPDX-License-Identifier: Apache-2.0
"""Runs cells, as many at a time as asked for, and keeps their results."""

from collections.abc import Callable, Sequence
from typing import Any

from holdfast import cache_folder
from holdfast.lab.cache import Cache
from holdfast.lab.cells import Cell, Outcome
from holdfast.pool import Answer, Job, Pool
from holdfast.shapes import Json

# A cell that takes the host longer than this is stuck, or too big for a figure.
LIMIT_S = 1200
# Takes the cells done, all cells, and the name of the last one.
Tell = Callable[[int, int, str], None]


def run_all(
    cells: Sequence[Cell],
    jobs: int,
    cache: Cache,
    tell: Tell = lambda done, of, name: None,
    say: Callable[[str], None] = lambda text: None,
    **pool: Any,
) -> list[Outcome]:
    """The outcome of every cell, in their order. Cells that ask for the same run share it.

    `say` receives a line if the limit of the cache folder deletes files; `pool` has arguments of
    the Pool.
    """
    refused = [cell.cannot_run() for cell in cells]  # one of those that share a run may be
    keys = ["" if reason else cache.key(cell) for cell, reason in zip(cells, refused, strict=True)]
    known: dict[str, tuple[Answer, bool]] = {}  # and whether it was there before
    to_run: dict[str, Cell] = {}
    for key, cell, reason in zip(keys, cells, refused, strict=True):
        if reason or key in known or key in to_run:
            continue
        if (entry := cache.get(key)) is not None:
            known[key] = (Answer(entry), True)
        else:
            to_run[key] = cell
    try:
        for native in (False, True):  # cells that measure this computer run one at a time
            part = {key: cell for key, cell in to_run.items() if cell.native == native}
            at_once = 1 if native else jobs
            if part:
                answers = _run(part, min(at_once, len(part)), cache, tell, pool)
                known |= {key: (answer, False) for key, answer in answers.items()}
    finally:
        if text := cache_folder.removal_text(cache_folder.trim()):
            say(text)
    return [
        Outcome("not run", reason=reason) if reason else _outcome(cell, *known[key])
        for key, cell, reason in zip(keys, cells, refused, strict=True)
    ]


def _outcome(cell: Cell, answer: Answer, cached: bool) -> Outcome:
    if answer.value is None:
        return Outcome("failed", reason=str(answer.failure))
    return Outcome("ok", cell.own(answer.value), cached=cached)


def _run(
    to_run: dict[str, Cell], jobs: int, cache: Cache, tell: Tell, pool: Json
) -> dict[str, Answer]:
    groups = _by_population(to_run)
    known: dict[str, Answer] = {}
    workers: Pool[str]
    with Pool(jobs, **({"limit_s": LIMIT_S} | pool)) as workers:
        for group in groups.values():
            first = group.pop()
            workers.submit(first, Job("cell", to_run[first].job))
        while workers.busy:
            key, answer = workers.next()
            known[key] = answer
            if answer.value is not None:
                cache.put(key, answer.value)
            for other in groups.pop(to_run[key].population(), []):
                workers.submit(other, Job("cell", to_run[other].job))
            tell(len(known), len(to_run), to_run[key].name)
    return known


def _by_population(to_run: dict[str, Cell]) -> dict[tuple, list[str]]:
    """Keys by population, the longest run first, so that none is left to the end alone.

    The last one of a population is its smallest. It goes before all others and builds the image,
    so that no other process waits for the image on a core.
    """
    groups: dict[tuple, list[str]] = {}
    for key in sorted(to_run, key=lambda key: -to_run[key].cost()):
        groups.setdefault(to_run[key].population(), []).append(key)
    return groups
