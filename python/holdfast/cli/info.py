# SPDX-License-Identifier: Apache-2.0
from holdfast import core
from holdfast.cli import options, output
from holdfast.cli.heap_file import HeapPath, existing, print_facts
from holdfast.cli.verb import verb


@verb
def run(heap: HeapPath, json_file: options.Json = None) -> None:
    """Describe a heap file: format, engine, sizes.

    Works while the file is in use.
    """
    facts = core.info(existing(heap))
    print_facts(output.people(json_file), facts)
    output.write_json(json_file, facts)
