# SPDX-License-Identifier: Apache-2.0
"""Failures, as exceptions that know their exit status."""

import errno

EXIT_CHECK_FAILED = 1
EXIT_BAD_USAGE = 2
EXIT_INTERNAL = 3


class Failure(Exception):
    """Something to tell the user in one message, without a traceback."""

    exit_status = EXIT_INTERNAL


class CheckFailed(Failure):
    """A heap is damaged, or does not hold what was promised."""

    exit_status = EXIT_CHECK_FAILED


class OutOfSpace(Failure):
    """A disk, a heap or a log is full."""


class BadUsage(Failure):
    """The request cannot be met: a wrong name, a missing file, a heap that is open elsewhere."""

    exit_status = EXIT_BAD_USAGE


# The codes of holdfast/base/status.h.
_BY_CODE = {
    "corrupt": CheckFailed,
    "wrong format": CheckFailed,
    "invalid argument": BadUsage,
    "misuse": BadUsage,
    "not found": BadUsage,
    "already exists": BadUsage,
    "permission denied": BadUsage,
    "busy": BadUsage,
    "type mismatch": BadUsage,
    "unsupported": BadUsage,
    "out of space": OutOfSpace,
    "too large": OutOfSpace,
    "too many threads": BadUsage,
    "i/o error": Failure,
}
# The errors of system calls that another path, or its owner, would mend.
_WRONG_PATH = {
    errno.EACCES,
    errno.EEXIST,
    errno.EISDIR,
    errno.ENAMETOOLONG,
    errno.ENOENT,
    errno.ENOTDIR,
    errno.EPERM,
    errno.EROFS,
}
_BY_NAME = {kind.__name__: kind for kind in (Failure, CheckFailed, OutOfSpace, BadUsage)}


def from_code(code: str, message: str) -> Failure:
    """The failure that a code and message of the core stand for."""
    return _BY_CODE.get(code, Failure)(f"{message} ({code})")


def from_text(text: str) -> Failure:
    """The failure that "<code>: <message>" stands for, the form that results carry."""
    code, _, message = text.partition(": ")
    return from_code(code, message) if code in _BY_CODE else Failure(text)


def from_name(kind: str, message: str) -> Failure:
    """The failure of another process, which sent the name of its class."""
    return _BY_NAME.get(kind, Failure)(message)


def of_system(failure: OSError, what: str = "") -> Failure:
    """The failure that a failed system call stands for. `what` could not be done."""
    about = what or failure.filename
    text = failure.strerror or str(failure)
    kind = BadUsage if failure.errno in _WRONG_PATH else Failure
    return kind(f"{about}: {text}" if about else text)


class DatabaseError(Failure):
    """Raised by holdfast.open and databases. Subclasses are the cases a program may tell apart."""


class NotADatabaseError(DatabaseError, CheckFailed):
    """The file holds something else."""


class DamagedError(DatabaseError, CheckFailed):
    """Bytes in the file contradict each other. Restore the database from a copy."""


class FileError(DatabaseError, OSError):
    """A system call on the file has failed.

    `errno` and `filename` are set as by the standard library; str() says what to do.
    """

    def __str__(self) -> str:
        return super().__str__() if self.strerror is None else str(self.strerror)


class MissingError(FileError, BadUsage, FileNotFoundError):
    """There is no such file, and none was to be created; or its directory does not exist."""


class DeniedError(FileError, BadUsage, PermissionError):
    """The process may not open, create or write the file."""


class DirectoryError(FileError, BadUsage, IsADirectoryError):
    """The path is a directory with other files in it."""


class ExistsError(FileError, BadUsage, FileExistsError):
    """The file exists, and a new one was to be made."""


class FullError(FileError, OutOfSpace):
    """The database, a log or the disk is full. The failed call has changed nothing, unless the disk
    became full below a journal: then it has taken effect as a whole or not at all.

    `errno` is set if it is the disk.
    """


class LockedError(DatabaseError, BadUsage):
    """Another process, or this one, has the database open."""


class ReadOnlyError(DatabaseError, BadUsage):
    """A write to a database opened with read_only=True."""


class ClosedError(DatabaseError, BadUsage, ValueError):
    """The database is closed."""


class SequenceTooOldError(DatabaseError, BadUsage):
    """A follower asks for changes that are no longer kept: it must start anew from a copy."""


class MisuseError(DatabaseError, BadUsage):
    """A request that cannot be met, such as a read through a closed snapshot."""


_DATABASE_ERRORS = {
    "wrong format": NotADatabaseError,
    "corrupt": DamagedError,
    "busy": LockedError,
    "read-only": ReadOnlyError,
    "closed": ClosedError,
    "not found": SequenceTooOldError,
    "out of space": FullError,
    "too large": FullError,
    "i/o error": FileError,
}
_SYSTEM_ERRORS = {
    errno.ENOENT: MissingError,
    errno.EACCES: DeniedError,
    errno.EPERM: DeniedError,
    errno.EROFS: DeniedError,
    errno.EISDIR: DirectoryError,
    errno.EEXIST: ExistsError,
    errno.ENOSPC: FullError,
    errno.EDQUOT: FullError,
    errno.EFBIG: FullError,
}


def database_error(
    code: str, message: str, system_error: int = 0, path: str | None = None
) -> DatabaseError:
    """The exception for a code of holdfast/base/status.h, or one of the database's own.

    `system_error` is the errno of a failed system call on the file `path`, or 0.
    """
    if system_error:
        return _SYSTEM_ERRORS.get(system_error, FileError)(system_error, message, path)
    return _DATABASE_ERRORS.get(code, MisuseError)(message)
