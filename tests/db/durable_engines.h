// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "holdfast/db/engine/db_engines.h"
#include "tests/db/db_file.h"
#include "tests/engine_options.h"
#include "tests/sanitized.h"

namespace holdfast::db {

/// The engines that can keep a database: all durable ones. A sanitized store is compiled once for
/// all of them, and each has suites of its own; there it is one of each layout and isolation.
inline std::vector<std::string> durable_engines() {
  auto all = names_of(db_engines(), [](const DbEngine& row) { return row.open != nullptr; });
  if (!kSanitized) {
    return all;
  }
  std::stable_partition(all.begin(), all.end(),
                        [](const std::string& name) { return name == kDefaultEngine; });
  return first_of_each(db_engines(), std::move(all),
                       [](const Description& d) { return std::pair(d.layout, d.isolation); });
}

inline const Description& about(const std::string& engine) {
  return *find_row("engine", engine, db_engines()).value()->description;
}

/// The engines that can keep a database over a journal.
inline std::vector<std::string> journaled_engines() {
  auto names = durable_engines();
  std::erase_if(names, [](const auto& name) { return !about(name).check_journal().ok(); });
  return names;
}

/// An engine that keeps nothing over a crash.
inline std::string volatile_engine() {
  return names_of(db_engines(), [](const DbEngine& row) { return row.open == nullptr; }).at(0);
}

/// For tests of every durable engine.
struct DbTest : ::testing::TestWithParam<std::string> {
  explicit DbTest(const std::string& folder = "/tmp") : file(GetParam(), folder) {}
  DbFile file;
};

inline std::string engine_name(const ::testing::TestParamInfo<std::string>& info) {
  return test_name(info.param);
}

}  // namespace holdfast::db
