// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "holdfast/machine/machine.h"
#include "holdfast/runner/db/store.h"

namespace holdfast::store_bench {

struct HoldfastSpec {
  std::string engine;
  std::map<std::string, std::string> options;
  Domain domain = Domain::file;
  std::optional<size_t> journal_bytes = {};  ///< see db::Options
  bool lag = false;  ///< clients that need no durable writes make them without sync
};

/// Opens HoldfastDB. Without `lag` all its writes are durable, also those of clients that need not
/// be. Throws Error.
std::unique_ptr<Store> open_holdfast(const HoldfastSpec& spec, const std::string& path,
                                     int threads);

}  // namespace holdfast::store_bench
