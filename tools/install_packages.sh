#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Installs the missing ones of the Debian packages listed in the given files. Uses sudo unless root.
set -euo pipefail

wanted=$(sed -e 's/#.*//' "$@" | xargs)
if ! command -v dpkg-query >/dev/null; then
  echo "This is not Debian: install the equivalents of: $wanted" >&2
  exit 0
fi

missing=()
for package in $wanted; do
  status=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
  [[ $status == installed ]] || missing+=("$package")
done
if (( ${#missing[@]} == 0 )); then
  exit 0
fi

as_root=()
if (( EUID != 0 )); then
  if ! command -v sudo >/dev/null; then
    echo "Missing packages and neither root nor sudo. As root: apt-get install ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi
echo "Installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
"${as_root[@]}" apt-get update -q
"${as_root[@]}" apt-get install -q -y --no-install-recommends "${missing[@]}"
