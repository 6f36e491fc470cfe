// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "holdfast/db/options.h"
#include "holdfast/machine/native/support/options.h"

namespace holdfast::db {

/// Returns the options of the native machine for a database's options.
inline NativeOptions native_options(const Options& options) {
  NativeOptions native;
  native.domain = options.domain;
  native.force = options.force;
  native.max_threads = options.max_threads;
  native.read_only = options.read_only;
  return native;
}

}  // namespace holdfast::db
