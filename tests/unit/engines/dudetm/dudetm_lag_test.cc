// SPDX-License-Identifier: Apache-2.0
//
// Does DudeTM with a lag persist many transactions at the cost of one, and recover all or a prefix?
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "holdfast/engines/dudetm/dudetm.h"
#include "holdfast/machine/sim/sim_machine.h"
#include "tests/unit/engines/engine_fixture.h"

namespace holdfast::dudetm_lag_test {
namespace {

using Engine = DudeTm<SimMachine>;
using Fixture = EngineFixture<Engine>;

constexpr uint64_t kWrites = 10;

Options with(const char* combination) {
  return {{"lag", "20"}, {"log_combination", combination}, {"log_bytes", "4096"}};
}

struct Outcome {
  PersistCounters cost;             ///< of the writes and the fence
  RecoveryReport report;            ///< of the crash behind them
  std::vector<uint64_t> recovered;  ///< the first words
};

/// Runs write(heap) and, if `fenced`, a fence, then cuts the power.
template <class Write>
Outcome run(const Options& options, bool fenced, Write&& write) {
  constexpr size_t kWords = 8;
  Outcome outcome;
  SimImage image;
  {
    SimMachine machine({.threads = 1, .seed = 1});
    Fixture heap(machine, {.options = options, .bytes = kPageBytes});
    heap.format().check();
    heap.recover().check();
    const PersistCounters before = machine.counters();
    write(heap);
    if (fenced) {
      heap.engine().fence();
    }
    outcome.cost = machine.counters() - before;
    image = machine.earliest_image();
  }
  SimMachine machine({.threads = 1, .seed = 2}, image);
  Fixture heap(machine, {.options = options, .bytes = kPageBytes});
  heap.engine().recover(outcome.report).check();
  for (size_t word = 0; word < kWords; ++word) {
    outcome.recovered.push_back(heap.read(word));
  }
  return outcome;
}

void write_one_word(Fixture& heap) {
  for (uint64_t i = 1; i <= kWrites; ++i) {
    heap.write(0, i);
  }
}

TEST(DudeTmLag, ManyTransactionsShareAFenceAndABlock) {
  const Outcome combined = run(with("1"), true, write_one_word);
  EXPECT_EQ(combined.cost.pfence + combined.cost.psync, 1u);
  EXPECT_EQ(combined.cost.pwb, 1u) << "the block has one word";
  EXPECT_EQ(combined.recovered[0], kWrites);
  EXPECT_EQ(combined.report.transactions, kWrites);

  const Outcome apart = run(with("0"), true, write_one_word);
  EXPECT_EQ(apart.cost.pfence + apart.cost.psync, 1u);
  EXPECT_EQ(apart.cost.pwb, kWrites);
  EXPECT_EQ(apart.recovered[0], kWrites);
  EXPECT_EQ(apart.report.transactions, kWrites);
}

TEST(DudeTmLag, WithoutAFenceTheyAreLost) {
  for (const char* combination : {"0", "1"}) {
    EXPECT_EQ(run(with(combination), false, write_one_word).recovered[0], 0u);
  }
}

TEST(DudeTmLag, ACombinedBlockHasTheLastValueOfEachWord) {
  const auto write = [](Fixture& heap) {
    for (uint64_t i = 1; i <= kWrites; ++i) {
      const auto body = [&] {
        for (uint64_t word = 0; word < 5; ++word) {
          heap.set((word * i) % 7, 100 * i + word);
        }
      };
      heap.engine().update(body);
    }
  };
  const Outcome combined = run(with("1"), true, write);
  EXPECT_EQ(combined.recovered, run(with("0"), true, write).recovered);
  EXPECT_EQ(combined.recovered[0], 100 * kWrites);
  EXPECT_EQ(combined.recovered[7], 0u);
}

TEST(DudeTmLag, ALogOfManyCombinedBlocksIsReclaimed) {
  const auto write = [](Fixture& heap) {
    for (uint64_t i = 1; i <= 2000; ++i) {
      heap.write(i % 8, i);
      if (i % 15 == 0) {
        heap.engine().fence();
      }
    }
  };
  for (const char* combination : {"0", "1"}) {
    const std::vector<uint64_t> expected = {2000, 1993, 1994, 1995, 1996, 1997, 1998, 1999};
    EXPECT_EQ(run(with(combination), true, write).recovered, expected);
  }
}

TEST(DudeTmLag, BadValuesAreRefused) {
  const auto status = [](const Options& options) {
    return Engine::kDescription.area_bytes(options, 1).status().to_string();
  };
  EXPECT_NE(status({{"lag", "5"}, {"background", "0"}}).find("background"), std::string::npos);
  EXPECT_NE(status({{"lag_ms", "0"}}).find("lag_ms"), std::string::npos);
  EXPECT_NE(status({{"log_combination", "2"}}).find("log_combination"), std::string::npos);
}

}  // namespace
}  // namespace holdfast::dudetm_lag_test
