# SPDX-License-Identifier: Apache-2.0
"""Runs a workload in a child process and kills it; another process verifies its promises."""

import json
import os
import select
import signal
import struct
import subprocess
import sys
import time

from holdfast import errors
from holdfast.findings import Verification
from holdfast.shapes import decode
from holdfast.specs import SessionSpec

# struct Record of holdfast/runner/spec/record.h: kind, worker, committed, read only, four words.
RECORD = struct.Struct("<IHBB4Q")
READY = 0xFFFFFFFF
FENCED = 0xFFFFFFFD  # this and larger kinds are no operations
# One read takes as much as a pipe holds by default.
_CHUNK = 1 << 16


class Worker:
    """A child that runs a workload. Its acknowledgements arrive through a pipe and outlive it.

    Use as a context manager: the child never outlives the block.
    """

    def __init__(self, spec: SessionSpec) -> None:
        self._reader, writer = os.pipe()
        self._process = subprocess.Popen(
            [*_command("serve", spec), str(writer)],
            pass_fds=(writer,),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        os.close(writer)
        self._bytes = bytearray()
        self._said = ""
        self.ended = False  # the pipe is closed: no more acknowledgements will come
        self.ready: tuple[bool, float] | None = None  # (created, seconds to open) once reported

    def __enter__(self) -> "Worker":
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    @property
    def records(self) -> bytes:
        """All whole records so far. A record is one write of less than PIPE_BUF: none is cut."""
        return bytes(self._bytes)

    @property
    def acknowledged(self) -> int:
        """Operations acknowledged so far."""
        return len(self._bytes) // RECORD.size - (1 if self.ready else 0)

    def pump(self, timeout: float | None) -> int:
        """Waits up to `timeout` seconds (None: for ever) for bytes; returns how many it took."""
        if self.ended or not select.select([self._reader], [], [], timeout)[0]:
            return 0
        chunk = os.read(self._reader, _CHUNK)
        self.ended = not chunk
        self._bytes += chunk
        if self.ready is None and len(self._bytes) >= RECORD.size:
            kind, _, _, _, created, nanoseconds, _, _ = RECORD.unpack_from(self._bytes)
            if kind != READY:
                raise errors.Failure("the worker's first record does not say that it is ready")
            self.ready = (bool(created), nanoseconds * 1e-9)
        return len(chunk)

    def wait_for(self, acknowledged: int, timeout: float) -> bool:
        """Pumps until that many operations are acknowledged.

        Returns False if the worker ended or the time is up.
        """
        deadline = time.monotonic() + timeout
        while self.acknowledged < acknowledged or self.ready is None:
            left = deadline - time.monotonic()
            if self.ended or left <= 0:
                return False
            self.pump(left)
        return True

    def kill(self) -> bool:
        """Sends SIGKILL, then reads the rest of the pipe. False if the worker had ended before."""
        alive = self._process.poll() is None
        if alive:
            self._process.send_signal(signal.SIGKILL)
        while not self.ended and self._reader >= 0:
            self.pump(None)
        self._close()
        return alive and self._process.returncode == -signal.SIGKILL

    def failure(self) -> str:
        """The worker's last words on standard error, or its exit status."""
        return self._said

    def _close(self) -> None:
        if self._reader >= 0:
            _, said = self._process.communicate()
            self._said = said.decode(errors="replace").strip() or self._how_it_ended()
            os.close(self._reader)
            self._reader = -1

    def _how_it_ended(self) -> str:
        status = self._process.returncode
        if status < 0:
            return signal.strsignal(-status) or f"signal {-status}"
        return f"exit status {status}"


def by_kind(records: bytes) -> dict[int, int]:
    """The number of acknowledged operations of each kind."""
    counts: dict[int, int] = {}
    for offset in range(0, len(records), RECORD.size):
        (kind,) = struct.unpack_from("<I", records, offset)
        if kind < FENCED:
            counts[kind] = counts.get(kind, 0) + 1
    return counts


def verify(spec: SessionSpec, records: bytes) -> Verification:
    """Recovers and checks in a process of its own; the result's `ok` is the verdict.

    Raises CheckFailed for a heap that cannot be opened.
    """
    done = subprocess.run(_command("verify", spec), input=records, capture_output=True, check=False)
    if done.returncode in (0, errors.EXIT_CHECK_FAILED) and done.stdout:
        return decode(Verification, json.loads(done.stdout))
    said = done.stderr.decode(errors="replace").strip() or f"exit status {done.returncode}"
    raise errors.CheckFailed(f"the heap could not be verified after the kill: {said}")


def verify_interrupted(spec: SessionSpec, records: bytes, seconds: float) -> bool:
    """Starts the same verification and kills it after `seconds`, most likely in the recovery.

    Returns False if it had ended before.
    """
    process = subprocess.Popen(
        _command("verify", spec),
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        process.communicate(records, timeout=seconds)
        return False
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return True


def _command(verb: str, spec: SessionSpec) -> list[str]:
    return [sys.executable, "-m", "holdfast.worker", verb, json.dumps(spec.json())]
