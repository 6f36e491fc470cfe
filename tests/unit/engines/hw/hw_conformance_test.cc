// SPDX-License-Identifier: Apache-2.0
// Does engine hw conform with a lock for each partition, without locks, and with a design that
// isolates transactions? The suite's transactions name no partitions, so they use all. (The suite
// itself runs the default lock.)
#include <gtest/gtest.h>

#include "tests/engine/sim_world.h"

namespace holdfast::conformance::hw_conformance_test {
namespace {

using SimQuestion = Question<SimWorld>;

class HwConformance : public ::testing::TestWithParam<SimQuestion> {};

/// Asks the question of a heap with partitions.
void ask(const SimQuestion& question, int threads, const char* lock) {
  SimWorld world("hw", "tiny", threads, Schedule::timed);
  world.options().options = {{"lock", lock}};
  world.options().partitions = 3;
  question.ask(world);
}

TEST_P(HwConformance, WithALockForEachPartition) {
  ask(GetParam(), 4, "partition");
}

// Threads that share partitions need a lock, so there is one.
TEST_P(HwConformance, WithoutLocksForOneThread) {
  ask(GetParam(), 1, "none");
}

TEST_P(HwConformance, IsolatedByTheDesign) {
  SimWorld world("hw", "tiny", 4, Schedule::timed);
  use_design(world.machine_options(), "hercules", {{"isolate", "1"}});
  world.options().options = {{"lock", "hardware"}};
  GetParam().ask(world);
}

INSTANTIATE_TEST_SUITE_P(Questions, HwConformance, ::testing::ValuesIn(all_questions<SimWorld>()),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace holdfast::conformance::hw_conformance_test
