// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "holdfast/db/engine/db_engines.h"
#include "tests/db/db_file.h"
#include "tests/engine_options.h"

namespace holdfast::db {

/// The engines that can keep a database: all durable ones.
inline std::vector<std::string> durable_engines() {
  return names_of(db_engines(), [](const DbEngine& row) { return row.open != nullptr; });
}

inline const Description& about(const std::string& engine) {
  return *find_row("engine", engine, db_engines()).value()->description;
}

/// An engine that keeps nothing over a crash.
inline std::string volatile_engine() {
  return names_of(db_engines(), [](const DbEngine& row) { return row.open == nullptr; }).at(0);
}

/// For tests of every durable engine.
struct DbTest : ::testing::TestWithParam<std::string> {
  DbTest() : file(GetParam()) {}
  DbFile file;
};

inline std::string engine_name(const ::testing::TestParamInfo<std::string>& info) {
  return test_name(info.param);
}

}  // namespace holdfast::db
