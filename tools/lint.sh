#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Checks the layout of every C++ file with clang-format, every source with clang-tidy as build/lint
# is configured (`make lint`), and Python with ruff. `--fix-format` rewrites the layout instead.
set -euo pipefail

mapfile -t files < <(find holdfast tests bench examples -name '*.h' -o -name '*.cc' | sort)
if [[ ${1:-} == --fix-format ]]; then
  clang-format-19 -i "${files[@]}"
  .venv/bin/ruff format python tests/python tools
  exit 0
fi
jobs=${1:-1}
clang-format-19 --dry-run -Werror "${files[@]}"
.venv/bin/ruff check python tests/python tools
.venv/bin/ruff format --check python tests/python tools

# The sources of the configured build. Without an optional library, such as a peer's, its users are
# not checked.
mapfile -t sources < <(.venv/bin/python - "$PWD" <<'EOF'
import json, pathlib, sys
here = pathlib.Path(sys.argv[1])
commands = json.loads((here / "build/lint/compile_commands.json").read_text())
files = {pathlib.Path(c["file"]) for c in commands}
ours = [f.relative_to(here) for f in files if f.is_relative_to(here) and f.suffix == ".cc"]
rooms = {"holdfast", "tests", "bench", "examples"}
print("\n".join(sorted(str(f) for f in ours if f.parts[0] in rooms)))
EOF
)
printf '%s\n' "${sources[@]}" | xargs -P "$jobs" -n 4 clang-tidy-19 -p build/lint --quiet
echo "lint: ${#sources[@]} sources with their headers clean"
