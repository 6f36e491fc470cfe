// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "holdfast/db/options.h"
#include "holdfast/machine/native/support/options.h"

namespace holdfast::db {

inline NativeOptions native_options(const Options& options) {
  NativeOptions native;
  native.domain = options.domain;
  native.force = true;  // a domain somebody asked for by name, they get, emulated if need be
  native.max_threads = options.max_threads;
  native.read_only = options.read_only;
  return native;
}

}  // namespace holdfast::db
