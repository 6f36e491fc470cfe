#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Prints how many compiler processes to run: one per core, but no more than memory allows at 1.5 GB each.
set -euo pipefail

cores=$(nproc)
by_memory=$(awk '/^MemAvailable:/ { print int($2 / 1500000) }' /proc/meminfo)
jobs=$(( cores < by_memory ? cores : by_memory ))
echo $(( jobs > 0 ? jobs : 1 ))
