# SPDX-License-Identifier: Apache-2.0
"""The command `holdfast`: one module per verb, all the same shape.

Exit status: 0 success, 1 a check failed, 2 bad usage, 3 internal error, 130 interrupted.
"""

from typing import Any

import typer
from typer.core import TyperGroup

import holdfast
from holdfast.cli import (
    bench,
    bench_replay,
    cache,
    cache_clear,
    check,
    convert,
    crash,
    db,
    demo,
    designs,
    dump,
    engines,
    info,
    machines,
    reproduce,
    sim,
    workloads,
)


class Verbs(TyperGroup):
    """Lists the right verbs when asked for a wrong one."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        command = super().get_command(ctx, cmd_name)
        if command is None:
            ctx.fail(f"no verb '{cmd_name}'; there are {', '.join(self.list_commands(ctx))}")
        return command

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Finds verbs of two words, the first of which is a verb as well."""
        both = " ".join(args[:2])
        if both in self.commands and len(args) > 1:
            return both, self.commands[both], args[2:]
        return super().resolve_command(ctx, args)

    def list_commands(self, ctx: Any) -> list[str]:
        """In the order they were added: a newcomer needs the first ones first."""
        return list(self.commands)


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


for _verb in (
    demo,
    engines,
    workloads,
    machines,
    designs,
    bench,
    bench_replay,
    sim,
    crash,
    reproduce,
    info,
    check,
    dump,
    convert,
    cache,
    cache_clear,
):
    app.command(name=_verb.__name__.rpartition(".")[2].replace("_", " "))(_verb.run)

app.add_typer(db.app, name="db")


def main() -> None:
    app(prog_name="holdfast")
