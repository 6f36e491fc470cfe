# SPDX-License-Identifier: Apache-2.0
"""The command `holdfast`: one module per verb, all the same shape.

Exit status: 0 success, 1 a check failed, 2 bad usage, 3 internal error, 130 interrupted.
"""

import importlib
import os
import sys
from difflib import get_close_matches
from typing import Any

import typer
from typer.core import TyperGroup

import holdfast

# In the order of the help: a newcomer needs the first ones first. A module of this package bears
# its verb's name and is loaded with its verb, for all of them together take longer than most verbs.
_VERBS = (
    "demo",
    "engines",
    "workloads",
    "machines",
    "designs",
    "bench",
    "bench replay",
    "sim",
    "crash",
    "reproduce",
    "info",
    "check",
    "dump",
    "convert",
    "cache",
    "cache clear",
    "db",
)


class Verbs(TyperGroup):
    """Loads verbs when they are needed, and lists the right ones when asked for a wrong one."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in _VERBS:
            close = get_close_matches(cmd_name, _VERBS)
            hint = f" Did you mean {', '.join(map(repr, close))}?" if close else ""
            ctx.fail(f"no verb '{cmd_name}'; there are {', '.join(_VERBS)}.{hint}")
        return _load(cmd_name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Finds verbs of two words, the first of which is a verb as well."""
        both = " ".join(args[:2])
        if both in _VERBS and len(args) > 1:
            return both, self.get_command(ctx, both), args[2:]
        return super().resolve_command(ctx, args)

    def list_commands(self, ctx: Any) -> list[str]:
        return list(_VERBS)


def _load(verb: str) -> Any:
    module = importlib.import_module(f"{__name__}.{verb.replace(' ', '_')}")
    group = getattr(module, "app", None)
    if group is None:
        group = typer.Typer(add_completion=False)
        group.command(name=verb)(module.run)
    return typer.main.get_command(group)


app = typer.Typer(
    name="holdfast",
    cls=Verbs,
    help="Durable transactions on memory: ordinary data structures that survive a crash.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"holdfast {holdfast.__version__}")
        raise typer.Exit()


@app.callback()
def root(
    version: bool = typer.Option(
        False, "--version", help="Print the version.", callback=_version, is_eager=True
    ),
) -> None:
    pass


def _open_standard_streams() -> None:
    """Opens a standard stream that the caller has closed, so that it leads nowhere.

    In the order of their numbers: otherwise a heap file would get the number of such a stream.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115 (stays open)


def main() -> None:
    _open_standard_streams()
    app(prog_name="holdfast")
