// SPDX-License-Identifier: Apache-2.0
//
// Does an interrupted compaction lose or duplicate space?
#include <gtest/gtest.h>

#include <vector>

#include "holdfast/engines/parts/any/any_engine.h"
#include "holdfast/heap/heap.h"
#include "holdfast/machine/sim/sim_machine.h"
#include "tests/engine_options.h"
#include "tests/sanitized.h"
#include "tests/unit/engines/engine_rows.h"

namespace holdfast::compaction_test {
namespace {

using H = Heap<AnyEngine<SimMachine>>;

struct Box {
  static constexpr const char* kTypeName = "compaction_test.box";
  H::Field<uint64_t> value;
  H::Field<Box*> next{nullptr};
  H::Field<uint64_t> more[6];
};

class HeapCompaction : public ::testing::TestWithParam<std::string> {};
/// On the simulated machine an engine with a design needs simulated time, so it is left out.
std::vector<std::string> engines() {
  return names_of(engine_rows<SimMachine>(), [](const auto& row) {
    return is_durable(*row.description) && !row.description->needs_design;
  });
}
INSTANTIATE_TEST_SUITE_P(Engines, HeapCompaction, ::testing::ValuesIn(engines()),
                         [](const auto& i) { return test_name(i.param); });

CreateOptions small(const std::string& engine) {
  CreateOptions create;
  create.engine = engine;
  create.bytes = 256 << 10;
  create.max_bytes = 1 << 20;
  create.chunk_bytes = 4096;
  const Description& description = *EngineFactory<H::Engine>::describe(engine).value();
  create.options = known_options(description, {{"log_bytes", "16384"}, {"markers", "1024"}});
  return create;
}

/// Makes 600 boxes and destroys all but the first six, which share a chunk.
void fill(H& heap) {
  Box* first = heap.root<Box>("boxes").value();
  std::vector<Box*> boxes(600);
  for (uint64_t i = 0; i < 600; ++i) {
    heap.update([&] {
          boxes[i] = H::make<Box>();
          boxes[i]->value = i;
        })
        .check();
  }
  for (uint64_t i = 0; i < 600; ++i) {
    heap.update([&] {
          if (i < 6) {
            boxes[i]->next = first->next.load();
            first->next = boxes[i];
          } else {
            H::destroy(boxes[i]);
          }
        })
        .check();
  }
}

SimOptions machine_for(const std::string& engine) {
  return {.threads = 2,
          .domain = usual_domain(*EngineFactory<H::Engine>::describe(engine).value())};
}

void expect_sound(H& heap) {
  Box* first = heap.find_root<Box>("boxes").value();
  uint64_t sum = 0;
  const auto visit = [&](const BlockVisitor& see) {
    sum = 0;
    for (Box* box = first->next; box != nullptr; box = box->next) {
      see(box, sizeof(Box));
      sum += box->value;
    }
  };
  const HeapCheck found = heap.check(visit).value();
  EXPECT_TRUE(found.ok()) << (found.errors.empty() ? "leak" : found.errors[0]);
  EXPECT_EQ(sum, 0U + 1 + 2 + 3 + 4 + 5);
}

TEST_P(HeapCompaction, APowerFailureDuringItLosesNoSpace) {
  SimImage full;
  {
    SimMachine machine(machine_for(GetParam()));
    auto heap = H::create(machine, small(GetParam())).value();
    fill(*heap);
    expect_sound(*heap);
    heap->close().check();
    full = machine.earliest_image();
  }
  uint64_t events = 0;
  uint64_t reusable = 0;
  {
    SimMachine machine(machine_for(GetParam()), full);
    auto heap = H::open(machine).value();
    const uint64_t before = machine.persist_events();
    machine.run_threads(1, [&](int) { heap->compact().status().check(); });
    events = machine.persist_events() - before;
    expect_sound(*heap);
    reusable = heap->space().value().reusable;
    EXPECT_GT(reusable, 4 * 4096U);
  }
  ASSERT_GT(events, 20U);
  for (uint64_t event = 3; event < events; event += kStep * std::max<uint64_t>(events / 40, 1)) {
    SCOPED_TRACE("event " + std::to_string(event));
    std::vector<SimImage> images;
    {
      SimMachine machine(machine_for(GetParam()), full);
      auto heap = H::open(machine).value();
      machine.crash_at(machine.persist_events() + event);
      machine.run_threads(1, [&](int) { static_cast<void>(heap->compact()); });
      images = {machine.earliest_image(), machine.latest_image()};
    }
    for (const SimImage& image : images) {
      SimMachine after(machine_for(GetParam()), image);
      auto heap = H::open(after).value();
      ASSERT_NO_FATAL_FAILURE(expect_sound(*heap));
      after.run_threads(1, [&](int) { heap->compact().status().check(); });
      ASSERT_NO_FATAL_FAILURE(expect_sound(*heap));
      EXPECT_EQ(heap->space().value().reusable, reusable);
    }
  }
}

}  // namespace
}  // namespace holdfast::compaction_test
