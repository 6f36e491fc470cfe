#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Prints the number of compiler processes to run: one per core, at most one per 2 GB of memory.
set -euo pipefail

cores=$(nproc)
by_memory=$(awk '/^MemAvailable:/ { print int($2 / 2000000) }' /proc/meminfo)
jobs=$(( cores < by_memory ? cores : by_memory ))
echo $(( jobs > 0 ? jobs : 1 ))
