#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Prints the options that make cmake use clang, if clang and its sanitizers are installed; else
# nothing.
set -euo pipefail

clang=$(command -v clang++-19 || true)
probe=$(mktemp)
trap 'rm -f "$probe"' EXIT
if [[ -n $clang ]] &&
  echo 'int main() {}' | "$clang" -x c++ - -fsanitize=address,undefined -o "$probe" 2>/dev/null
then
  echo "-DCMAKE_CXX_COMPILER=$clang -DCMAKE_C_COMPILER=${clang/++/}"
fi
