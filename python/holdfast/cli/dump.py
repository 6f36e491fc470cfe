# SPDX-License-Identifier: Apache-2.0
from holdfast import core
from holdfast.cli import options, output
from holdfast.cli.heap_file import HeapPath, existing, print_facts, verified
from holdfast.cli.verb import verb


@verb
def run(heap: HeapPath, json_file: options.Json = None) -> None:
    """Print the contents of a heap: superblocks, roots, allocator, blocks."""
    contents = verified(heap, core.dump(existing(heap)))
    print_facts(output.people(json_file), contents)
    output.write_json(json_file, contents)
