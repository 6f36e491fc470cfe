# SPDX-License-Identifier: Apache-2.0
"""`holdfast db`: a HoldfastDB file from the command line, one module per group of verbs."""

from typing import Any

import typer

from holdfast.cli.db import bench, entries, service, transfer

app = typer.Typer(
    name="db",
    help="The key-value store: load, dump, look, change, verify, back up, measure.",
    no_args_is_help=True,
    add_completion=False,
)

for _verb in (
    transfer.load,
    transfer.dump,
    entries.get,
    entries.put,
    entries.delete,
    entries.scan,
    service.stats,
    service.maps,
    service.verify,
    service.compact,
    service.backup,
    bench.bench,
):
    _command: Any = _verb
    app.command(name=_command.__name__)(_command)
