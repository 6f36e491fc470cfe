# SPDX-License-Identifier: Apache-2.0
"""Runs a workload in a child process, kills it, and has another process verify what it had promised."""

import json
import os
import select
import signal
import struct
import subprocess
import sys
import time
from typing import Any

from holdfast import errors

# struct Record of holdfast/runner/spec/record.h: kind, worker, committed, read only, four words.
RECORD = struct.Struct("<IHBB4Q")
READY = 0xFFFFFFFF
# One read takes what a pipe holds by default.
_CHUNK = 1 << 16


class Worker:
    """A child running a workload. What it acknowledged arrives through a pipe and outlives it.

    Use as a context manager: the child never outlives the block.
    """

    def __init__(self, spec: dict[str, Any]) -> None:
        self._reader, writer = os.pipe()
        command = [sys.executable, "-m", "holdfast.worker", "serve", json.dumps(spec), str(writer)]
        self._process = subprocess.Popen(
            command, pass_fds=(writer,), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        os.close(writer)
        self._bytes = bytearray()
        self._said = ""
        self.ended = False  # the pipe is closed: no more acknowledgements will come
        self.ready: tuple[bool, float] | None = None  # (created, seconds to open), once it has said so

    def __enter__(self) -> "Worker":
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    @property
    def records(self) -> bytes:
        """All whole records so far. A record is one write of less than PIPE_BUF, so none is ever cut."""
        return bytes(self._bytes)

    @property
    def acknowledged(self) -> int:
        """Operations acknowledged so far."""
        return len(self._bytes) // RECORD.size - (1 if self.ready else 0)

    def pump(self, timeout: float | None) -> int:
        """Waits up to `timeout` seconds (None: as long as it takes) and takes what is there; returns bytes."""
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
        """Pumps until so many operations are acknowledged, or False: the worker ended or time is up."""
        deadline = time.monotonic() + timeout
        while self.acknowledged < acknowledged or self.ready is None:
            left = deadline - time.monotonic()
            if self.ended or left <= 0:
                return False
            self.pump(left)
        return True

    def kill(self) -> bool:
        """SIGKILL, then reads what is left in the pipe. False when the worker had already ended by itself."""
        alive = self._process.poll() is None
        if alive:
            self._process.send_signal(signal.SIGKILL)
        while not self.ended and self._reader >= 0:
            self.pump(None)
        self._close()
        return alive and self._process.returncode == -signal.SIGKILL

    def failure(self) -> str:
        """What the worker said on standard error, for a worker that ended by itself."""
        return self._said

    def _close(self) -> None:
        if self._reader >= 0:
            _, said = self._process.communicate()
            self._said = said.decode(errors="replace").strip() or self._how_it_ended()
            os.close(self._reader)
            self._reader = -1

    def _how_it_ended(self) -> str:
        status = self._process.returncode
        return signal.strsignal(-status) or f"signal {-status}" if status < 0 else f"exit status {status}"


def by_kind(records: bytes) -> dict[int, int]:
    """How many operations of each kind are acknowledged."""
    counts: dict[int, int] = {}
    for offset in range(0, len(records), RECORD.size):
        (kind,) = struct.unpack_from("<I", records, offset)
        if kind != READY:
            counts[kind] = counts.get(kind, 0) + 1
    return counts


def verify(spec: dict[str, Any], records: bytes) -> dict[str, Any]:
    """Recovers and checks in a process of its own. The result's `ok` says what it found; a heap that could
    not be opened is a Failure."""
    command = [sys.executable, "-m", "holdfast.worker", "verify", json.dumps(spec)]
    done = subprocess.run(command, input=records, capture_output=True, check=False)
    if done.returncode in (0, errors.EXIT_CHECK_FAILED) and done.stdout:
        return json.loads(done.stdout)
    said = done.stderr.decode(errors="replace").strip() or f"exit status {done.returncode}"
    raise errors.CheckFailed(f"the heap could not be verified after the kill: {said}")


def verify_interrupted(spec: dict[str, Any], records: bytes, seconds: float) -> bool:
    """Starts the same verification and kills it after `seconds`, most likely while it recovers. False when
    it had ended before."""
    command = [sys.executable, "-m", "holdfast.worker", "verify", json.dumps(spec)]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        process.communicate(records, timeout=seconds)
        return False
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return True
