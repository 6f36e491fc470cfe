# SPDX-License-Identifier: Apache-2.0
"""The end of every verb: exit status and messages."""

import functools
import os
import sys
import traceback
from collections.abc import Callable
from typing import Any

import typer

from holdfast import errors
from holdfast.cli import output

# Typer handles these: they carry an exit status of their own. Ctrl-C ends with 130.
_PASS = (typer.Exit, typer.Abort, typer.BadParameter, KeyboardInterrupt, BrokenPipeError)


def verb(function: Callable[..., None]) -> Callable[..., None]:
    """Turns a failure into a message on standard error and its exit status.

    A file for JSON or a timeline that cannot be written, or is a heap, is such a failure, found
    before the verb does anything.
    """

    @functools.wraps(function)
    def guarded(*args: Any, **kwargs: Any) -> None:
        try:
            for name in ("json_file", "timeline"):
                target = kwargs.get(name)
                if target not in (None, "", "-"):
                    made = kwargs.get("out")
                    output.check_target(target, made, in_place=name == "timeline")
            function(*args, **kwargs)
            _flush()
        except _PASS:
            raise
        except errors.Failure as failure:
            raise _told(failure) from None
        except OSError as failure:
            raise _told(errors.of_system(failure)) from None
        except Exception:
            traceback.print_exc(file=sys.stderr)
            output.error("this is a defect of holdfast; the lines above say where")
            raise typer.Exit(errors.EXIT_INTERNAL) from None
        finally:
            _give_up_full_output()

    return guarded


def _told(failure: errors.Failure) -> typer.Exit:
    output.error(str(failure))
    return typer.Exit(failure.exit_status)


def _flush() -> None:
    print(end="", flush=True)  # does nothing if standard output is closed


def _give_up_full_output() -> None:
    """The interpreter flushes at its end, and would report the same failure in its own way."""
    try:
        _flush()
    except OSError:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115 (lives as long as the process)
