# SPDX-License-Identifier: Apache-2.0
"""A process of a pool, which runs jobs one after the other: `python -m holdfast.pool_worker`.

Reads a job per line of standard input, as JSON: {"task": name, "spec": argument}. Answers with a
line {"value": ...} or {"failed": class of the failure, "text": message}, after any number of lines
{"progress": share, "text": ...}.
"""

import ctypes
import json
import os
import signal
import sys
import time
from collections.abc import Callable
from typing import TextIO

from holdfast import core, errors
from holdfast.shapes import Json

_PR_SET_PDEATHSIG = 1  # of prctl(2)
# Progress is for people: no more often than this.
_PROGRESS_SECONDS = 0.2


def _cell(spec: Json, progress: core.Progress) -> Json:
    from holdfast.lab import cells  # not needed for the other tasks

    return cells.run(spec)


TASKS: dict[str, Callable[[Json, core.Progress], Json]] = {
    "bench": core.bench,
    "replay": core.replay,
    "db_bench": core.db_bench,
    "sim": core.sim,
    "crash": core.crash,
    "cell": _cell,
}


def main() -> None:
    _die_with_the_pool()
    # Text that anything else prints must not come between the answers.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    for line in sys.stdin:
        job = json.loads(line)
        try:
            _say(answers, {"value": TASKS[job["task"]](job["spec"], _Progress(answers))})
        except errors.Failure as failure:
            _say(answers, {"failed": type(failure).__name__, "text": str(failure)})


class _Progress:
    def __init__(self, answers: TextIO) -> None:
        self._answers = answers
        self._next = 0.0

    def __call__(self, share: float, text: str) -> None:
        if (now := time.monotonic()) >= self._next:
            self._next = now + _PROGRESS_SECONDS
            _say(self._answers, {"progress": share, "text": text})


def _say(answers: TextIO, message: Json) -> None:
    answers.write(json.dumps(message) + "\n")
    answers.flush()


def _die_with_the_pool() -> None:
    """Ctrl-C ends this process at once, and so does the end of the process that started it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


if __name__ == "__main__":
    main()
