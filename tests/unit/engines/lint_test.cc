// SPDX-License-Identifier: Apache-2.0
// Does the lint of persistence report for each engine what checks.toml beside it says?
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <utility>

#include "holdfast/machine/sim/sim_machine.h"
#include "tests/unit/engines/engine_rows.h"

namespace holdfast::lint_test {
namespace {

using engine_rows_test::mixed_transactions;
using engine_rows_test::row_of;
using engine_rows_test::RowHeap;

using Finding = std::pair<LintKind, std::string>;
using Findings = std::map<Finding, uint64_t>;

constexpr uint64_t kSeed = 3;

/// The lint's findings in a run of every kind of transaction, and how often it met each.
Findings findings(const std::string& engine, const Options& engine_options = {},
                  const std::string& mutation = "", uint64_t seed = kSeed) {
  const Description& about = *row_of(engine).description;
  SimOptions o = engine_rows_test::machine_for(about, seed);
  o.rmw_orders_pwb = false;
  o.lint = true;
  if (!mutation.empty()) {
    o.mutations = {parse_mutation(mutation).value()};
  }
  SimMachine machine(o);
  RowHeap heap(machine, row_of(engine), with_tiny(about, engine_options));
  heap.engine().format().check();
  heap.recover().check();
  machine.run_threads(RowHeap::kThreads, [&](int i) { mixed_transactions(heap, i, 20); });
  EXPECT_TRUE(mutation.empty() || machine.mutated() > 0) << engine << ' ' << mutation;
  Findings all;
  for (const LintRow& row : machine.lint_report()) {
    all[{row.kind, row.where}] = row.count;
  }
  return all;
}

std::string text(const Finding& finding) {
  return std::string(to_string(finding.first)) + " at " + finding.second + '\n';
}

class EngineLint : public testing::TestWithParam<std::string> {};

TEST_P(EngineLint, ShowsTheFindingsBesideTheEngine) {
  std::set<Finding> expected;
  for (const ExpectedFinding& finding : checks_of(GetParam()).findings) {
    expected.emplace(finding.kind, finding.where);
  }
  Findings shown = findings(GetParam());
  for (const auto& [finding, count] : shown) {
    EXPECT_EQ(expected.count(finding), 1u) << text(finding);
  }
  for (uint64_t seed = kSeed + 1; seed < kSeed + 5; ++seed) {  // some findings need a rare schedule
    shown.merge(findings(GetParam(), {}, "", seed));
  }
  for (const Finding& finding : expected) {
    EXPECT_EQ(shown.count(finding), 1u) << "is gone: " << text(finding);
  }
}

TEST_P(EngineLint, ADroppedWriteBackShowsInThePhaseItCovers) {
  for (const CoveredPhase& covered : checks_of(GetParam()).phases) {
    const Finding finding = {LintKind::not_written_back, to_string(covered.phase)};
    const Findings mutant = findings(GetParam(), covered.options, covered.site + "=drop");
    const auto found = mutant.find(finding);
    std::string shown;
    for (const auto& [other, count] : mutant) {
      shown += text(other);
    }
    ASSERT_NE(found, mutant.end()) << covered.site << " shows only\n" << shown;
    Findings sound = findings(GetParam(), covered.options);
    EXPECT_GT(found->second, sound[finding]) << covered.site;
  }
}

INSTANTIATE_TEST_SUITE_P(Engines, EngineLint, testing::ValuesIn(engine_rows_test::engine_names()),
                         [](const auto& test) { return test_name(test.param); });

}  // namespace
}  // namespace holdfast::lint_test
