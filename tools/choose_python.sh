#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Prints the first Python that is new enough and has its headers (for the extension module) and
# ensurepip (for the virtual environment). Debian's Python gets them from python3-dev and
# python3-venv; a self-built one has them.
set -euo pipefail

check='
import os, sys, sysconfig
import ensurepip, venv
header = os.path.join(sysconfig.get_path("include"), "Python.h")
sys.exit(0 if sys.version_info >= (3, 11) and os.path.exists(header) else 1)
'
for candidate in ${PYTHON:-} python3 /usr/bin/python3 python3.13 python3.12 python3.11; do
  if path=$(command -v "$candidate") && "$path" -c "$check" 2>/dev/null; then
    echo "$path"
    exit 0
  fi
done
echo "No Python 3.11+ with headers and venv found: apt-get install python3-dev python3-venv" >&2
exit 1
