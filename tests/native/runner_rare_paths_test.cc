// SPDX-License-Identifier: Apache-2.0
//
// Do the threads of this computer take each rare path that the sources name, and keep what the
// engine promises there?
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "tests/engine_facts.h"
#include "tests/native/register_stress.h"

namespace holdfast::runner_rare_paths_test {
namespace {

constexpr uint64_t kSeed = 20261127;
constexpr int kMostRounds = kSanitized ? 1 : 400;  // 60 were too few once, beside other work

/// The heap's paths. Those about loans are for engines that ask for loans: their own sources name
/// that as a rare path.
std::vector<std::string> heap_probes(const std::vector<std::string>& engine) {
  const bool borrows = std::any_of(engine.begin(), engine.end(), [](const std::string& name) {
    return name.ends_with(".loan_needed");
  });
  static const std::set<std::string> all = {
      "heap.grown_by_other",   "heap.grows",     "heap.lends", "heap.lends.grown",
      "heap.lends.body_grows", "heap.lends.more"};
  EXPECT_EQ(all, probes_below(engines_directory().parent_path() / "heap").value());
  std::vector<std::string> names;
  for (const std::string& name : all) {
    if (borrows || !name.starts_with("heap.lends")) {
      names.push_back(name);
    }
  }
  return names;
}

class NativeRarePaths : public testing::TestWithParam<std::string> {
 protected:
  const Description& engine() const {
    return *AnyEngine<NativeMachine>::describe(GetParam()).value();
  }

  /// The engine's variants, in turn where each fence calls the test and as usual.
  std::vector<StressSetting> settings(int round) const {
    std::vector<EngineVariant> variants = checks_of(GetParam()).native_variants;
    variants.push_back({.name = "usual", .options = {}, .transactions = "3"});
    if (engine().check_journal().ok()) {
      variants.push_back({.name = "journal", .options = {}, .transactions = "3", .journal = true});
    }
    std::vector<StressSetting> all;
    for (const EngineVariant& variant : variants) {
      StressSetting setting{.variant = variant,
                            .few_lines = engine().needs_htm && round % 4 == 3,
                            .seed = kSeed + static_cast<uint64_t>(round)};
      const bool file = round % 2 == 0 || variant.journal || !variant.rmw_orders_pwb;
      setting.domain =
          file && engine().runs_in(Domain::file) ? Domain::file : usual_domain(engine());
      all.push_back(setting);
    }
    return all;
  }
};

TEST_P(NativeRarePaths, AreTakenByTheStress) {
  std::vector<std::string> names = probes_of(GetParam());
  const std::vector<std::string> of_heap = heap_probes(names);
  names.insert(names.end(), of_heap.begin(), of_heap.end());
  const auto& argued = checks_of(GetParam()).native_unreached_probes;
  SharedObject<StressState> state;
  const auto missing = [&] { return !not_taken(names, argued, state->probes.counts()).empty(); };
  int round = 0;
  for (; round == 0 || (round < kMostRounds && missing()); ++round) {
    for (const StressSetting& setting : settings(round)) {
      if (round > 0 && !missing()) {
        break;
      }
      RegisterStress(engine(), setting, *state).run();
      ASSERT_FALSE(HasFailure()) << GetParam() << ", " << setting.variant.name << ", domain "
                                 << to_string(setting.domain) << ", seed " << setting.seed;
    }
  }
  std::printf("%s: %d rounds\n", GetParam().c_str(), round);
  expect_taken(GetParam(), names, argued, state->probes.counts());
}

INSTANTIATE_TEST_SUITE_P(Engines, NativeRarePaths,
                         testing::ValuesIn(names_of(engine_rows<NativeMachine>(),
                                                    [](const auto&) { return true; })),
                         [](const auto& instance) { return test_name(instance.param); });

}  // namespace
}  // namespace holdfast::runner_rare_paths_test
