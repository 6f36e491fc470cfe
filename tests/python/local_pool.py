# SPDX-License-Identifier: Apache-2.0
"""A stand-in for holdfast.pool.Pool: runs jobs in this process, where tests replace the core."""

from collections import deque
from collections.abc import Callable, Hashable
from typing import Any

from holdfast import errors, pool, pool_worker
from holdfast.pool import Answer, Job


class LocalPool(pool.Pool):
    def __init__(
        self,
        processes: int,
        *,
        tell: pool.Tell = lambda key, share, text: None,
        **others: Any,
    ) -> None:
        super().__init__(0, tell=tell)
        self._jobs: deque[tuple[Hashable, Job]] = deque()

    def submit(self, key: Hashable, job: Job) -> None:
        self._jobs.append((key, job))

    def withdraw(self, unwanted: Callable[[Hashable], bool]) -> None:
        self._jobs = deque(one for one in self._jobs if not unwanted(one[0]))

    @property
    def busy(self) -> bool:
        return bool(self._jobs)

    def next(self) -> tuple[Hashable, Answer]:
        key, job = self._jobs.popleft()

        def progress(share: float, text: str) -> None:
            self._tell(key, share, text)

        try:
            return key, Answer(pool_worker.TASKS[job.task](job.spec, progress))
        except errors.Failure as failure:
            return key, Answer(failure=failure)
