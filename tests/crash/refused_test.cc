// SPDX-License-Identifier: Apache-2.0
//
// Which engines a crash search refuses, because they promise nothing that it could judge.
#include <gtest/gtest.h>

#include "holdfast/machine/sim/sim_machine.h"
#include "holdfast/runner/crash/crash.h"
#include "tests/unit/engines/engine_rows.h"

namespace holdfast::refused_test {
namespace {

TEST(CrashVolatile, IsRefused) {
  for (const auto& row : engine_rows<SimMachine>()) {
    if (!is_durable(*row.description)) {
      const auto result =
          crash({{"engine", row.description->name}}, [](double, const std::string&) {});
      ASSERT_FALSE(result.ok());
      EXPECT_EQ(result.status().code(), Code::unsupported);
      EXPECT_NE(result.status().message().find("keeps nothing over a crash"), std::string::npos);
    }
  }
}

TEST(CrashJournal, IsForEnginesThatRunOverOne) {
  for (const auto& row : engine_rows<SimMachine>()) {
    const Description& engine = *row.description;
    if (is_durable(engine) && engine.runs_in(Domain::file) && !engine.check_journal().ok()) {
      const Json spec = {{"engine", engine.name}, {"domain", "file"}, {"journal", true}};
      const auto result = crash(spec, [](double, const std::string&) {});
      ASSERT_FALSE(result.ok()) << engine.name;
      EXPECT_EQ(result.status().to_string(), engine.check_journal().to_string());
    }
  }
}

}  // namespace
}  // namespace holdfast::refused_test
