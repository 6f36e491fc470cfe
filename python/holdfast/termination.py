# SPDX-License-Identifier: Apache-2.0
"""The end of this process by SIGTERM or SIGHUP."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_SIGNALS = (signal.SIGTERM, signal.SIGHUP)


@contextmanager
def raised() -> Iterator[None]:
    """In the block these signals raise SystemExit, so that the block can remove its files.

    Outside they end the process at once, which an exception could not do during a long call of the
    core. The status is that of a shell for a process that a signal has ended. Signals that are
    ignored or handled stay so; threads other than the main one change nothing.
    """
    main = threading.current_thread() is threading.main_thread()
    ours = [n for n in _SIGNALS if main and signal.getsignal(n) is signal.SIG_DFL]

    def end(number: int, _frame: FrameType | None) -> None:
        for one in ours:  # a second signal must not interrupt the removal
            signal.signal(one, signal.SIG_IGN)
        raise SystemExit(128 + number)

    for one in ours:
        signal.signal(one, end)
    try:
        yield
    finally:
        for one in ours:
            signal.signal(one, signal.SIG_DFL)
