// SPDX-License-Identifier: Apache-2.0
//
// Does a power cut in an update of 72 KB leave all of it or nothing, with every engine? Logs of
// such updates have several parts.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "holdfast/engines/parts/any/any_engine.h"
#include "holdfast/heap/heap.h"
#include "holdfast/machine/sim/sim_machine.h"
#include "tests/engine_options.h"
#include "tests/unit/engines/engine_rows.h"

namespace holdfast::large_updates_test {
namespace {

using H = Heap<AnyEngine<SimMachine>>;

struct Words {
  static constexpr const char* kTypeName = "large_updates_test.words";
  static constexpr uint64_t kCount = 9'001;
  H::Field<uint64_t> word[kCount];
};

class LargeUpdates : public ::testing::TestWithParam<std::string> {
 protected:
  const Description& engine() const {
    return *EngineFactory<H::Engine>::describe(GetParam()).value();
  }
  SimOptions options() const { return {.threads = 2, .domain = usual_domain(engine())}; }
};
INSTANTIATE_TEST_SUITE_P(Engines, LargeUpdates,
                         ::testing::ValuesIn(names_of(engine_rows<SimMachine>(),
                                                      [](const auto& row) {
                                                        return is_durable(*row.description) &&
                                                               !row.description->needs_design;
                                                      })),
                         [](const auto& test) { return test_name(test.param); });

Status multiply(H& heap, uint64_t factor) {
  Words* const words = heap.root<Words>("words").value();
  return heap.update([&] {
    for (uint64_t i = 0; i < Words::kCount; ++i) {
      words->word[i] = factor * (i + 1);
    }
  });
}

/// The factor of all words; nothing holds for others.
uint64_t factor_of(H& heap) {
  uint64_t factor = 0;
  uint64_t others = 0;
  heap.read([&] {
        const Words* const words = heap.find_root<Words>("words").value();
        factor = words->word[0];
        others = 0;
        for (uint64_t i = 0; i < Words::kCount; ++i) {
          others += words->word[i] == factor * (i + 1) ? 0 : 1;
        }
      })
      .check();
  EXPECT_EQ(others, 0u);
  return factor;
}

TEST_P(LargeUpdates, AreThereWholeOrNotAtAllAfterAPowerCut) {
  std::vector<SimImage> images;
  const auto run = [&](const Options& small) {
    SimMachine machine(options());
    CreateOptions create;
    create.engine = GetParam();
    create.bytes = 2 << 20;
    create.max_bytes = 8 << 20;
    create.options = small;
    auto heap = H::create(machine, create).value();
    if (Status status = multiply(*heap, 1); !status.ok()) {
      return status;
    }
    // At growing distances, because some engines have many more events than others.
    const uint64_t first = machine.persist_events();
    uint64_t distance = 300;
    machine.before_persist_event([&](uint64_t event) {
      if (event - first >= distance) {
        distance += distance / 2;
        images.push_back(event % 2 == 0 ? machine.earliest_image() : machine.latest_image());
      }
    });
    machine.run_threads(1, [&](int) { multiply(*heap, 2).check(); });
    machine.before_persist_event({});
    heap->close().check();
    images.push_back(machine.earliest_image());
    return Status();
  };
  // A table of few records shows how an engine does without, if it can.
  if (run(known_options(engine(), {{"records", "256"}})).code() == Code::too_large) {
    run({}).check();
  }
  EXPECT_GE(images.size(), 3u);
  uint64_t last = 0;
  for (const SimImage& image : images) {
    SimMachine machine(options(), image);
    last = factor_of(*H::open(machine).value());
    EXPECT_TRUE(last == 1 || last == 2) << last;
  }
  EXPECT_EQ(last, 2u);
}

}  // namespace
}  // namespace holdfast::large_updates_test
