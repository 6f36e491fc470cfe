#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Checks the layout of every C++ file with clang-format and every source with clang-tidy, against the
# compile commands of the release build; Python with ruff. `--fix-format` rewrites the layout instead.
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

# clang does not know all of g++'s options, uses not all, and sees functions of g++'s library that this deprecates and uses itself;
# the compile commands of the sources it does understand are enough. Nor can it read g++'s precompiled headers.
quiet=()
for warning in unknown-warning-option unused-command-line-argument deprecated-declarations; do
  quiet+=("--extra-arg=-Wno-$warning")
done
mkdir -p build/lint
sed -E 's# -include [^ ]*/cmake_pch\.hxx##g' build/release/compile_commands.json > build/lint/compile_commands.json
printf '%s\n' "${files[@]}" | grep '\.cc$' |
  xargs -P "$jobs" -n 4 clang-tidy-19 -p build/lint --quiet "${quiet[@]}"
echo "lint: ${#files[@]} files clean"
