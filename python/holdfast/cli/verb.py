# SPDX-License-Identifier: Apache-2.0
"""The end of every verb: exit status and messages."""

import functools
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
    """Turns a failure into a message on standard error and its exit status."""

    @functools.wraps(function)
    def guarded(*args: Any, **kwargs: Any) -> None:
        try:
            function(*args, **kwargs)
        except _PASS:
            raise
        except errors.Failure as failure:
            output.error(str(failure))
            raise typer.Exit(failure.exit_status) from None
        except Exception:
            traceback.print_exc(file=sys.stderr)
            output.error("this is a defect of holdfast; the lines above say where")
            raise typer.Exit(errors.EXIT_INTERNAL) from None

    return guarded
