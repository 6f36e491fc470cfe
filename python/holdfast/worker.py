# SPDX-License-Identifier: Apache-2.0
"""The process that a kill test kills, and the one that verifies the heap afterwards.

Apart from the command line, so that it starts fast and shares no memory with the test.

    python -m holdfast.worker serve SPEC FD     runs a workload; one acknowledgement record per
                                                operation goes to pipe FD
    python -m holdfast.worker verify SPEC       opens the heap and checks it against the records
                                                on standard input

SPEC is JSON; holdfast/runner/heap/serve.h documents it. Both print a JSON result.
"""

import json
import sys

from holdfast import core, errors


def main(arguments: list[str]) -> int:
    verb, spec = arguments[0], json.loads(arguments[1])
    try:
        if verb == "serve":
            result = core.serve(spec, int(arguments[2]))
        else:
            result = core.verify(spec, sys.stdin.buffer.read())
    except errors.Failure as failure:
        print(failure, file=sys.stderr)
        return failure.exit_status
    print(json.dumps(result))
    return 0 if result.get("ok", True) else errors.EXIT_CHECK_FAILED


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
