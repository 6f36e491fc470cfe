# SPDX-License-Identifier: Apache-2.0
"""A process that runs cells, one after the other: `python -m holdfast.lab.worker`.

Reads a cell's job per line of standard input, as JSON, and answers each with a line: {"entry": ...} or
{"failed": why}. A process of its own because it holds one simulated machine, and because an engine that ends it must
not end the others.
"""

import json
import sys

from holdfast import errors
from holdfast.lab import cells


def main() -> None:
    for line in sys.stdin:
        try:
            answer = {"entry": cells.run(json.loads(line))}
        except errors.Failure as failure:
            answer = {"failed": str(failure)}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
