// SPDX-License-Identifier: Apache-2.0
//
// A heap gets more thread slots when it is opened. Is it whole after a crash at any persist event
// of that opening, and do all its threads work afterwards?
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "holdfast/engines/parts/any/any_engine.h"
#include "holdfast/heap/heap.h"
#include "holdfast/machine/sim/sim_machine.h"
#include "tests/engine_options.h"
#include "tests/same_image.h"
#include "tests/sanitized.h"
#include "tests/unit/hardware/design_fixture.h"

namespace holdfast::slots_test {
namespace {

using H = Heap<AnyEngine<SimMachine>>;

constexpr int kBefore = 2;  // threads of the machine that makes the heap
constexpr int kAfter = 5;   // and of the one that opens it
constexpr int kRounds = 4;

struct Ledger {
  static constexpr const char* kTypeName = "slots.ledger";
  struct Entry {
    H::Field<Entry*> next{nullptr};
  };
  H::Field<Entry*> entries{nullptr};
  H::Field<uint64_t> count{0};
};

/// Each of the threads adds kRounds entries.
void add_entries(H& heap, int threads) {
  auto* ledger = heap.root<Ledger>("ledger").value();
  heap.machine().run_threads(threads, [&](int) {
    for (int i = 0; i < kRounds; ++i) {
      const Status status = heap.update([&] {
        auto* entry = heap.make<Ledger::Entry>();
        entry->next = ledger->entries.load();
        ledger->entries = entry;
        ledger->count += 1;
      });
      EXPECT_TRUE(status.ok()) << status.to_string();
    }
  });
}

/// Returns the number of entries, after checking the heap.
uint64_t entries_of(H& heap) {
  auto* ledger = heap.find_root<Ledger>("ledger").value();
  uint64_t found = 0;
  uint64_t count = 0;
  const HeapCheck check =
      heap.check([&](const BlockVisitor& visit) {
            found = 0;
            count = ledger->count;
            for (Ledger::Entry* e = ledger->entries; e != nullptr && found < 1000; e = e->next) {
              visit(e, sizeof(Ledger::Entry));
              ++found;
            }
          })
          .value();
  EXPECT_TRUE(check.ok()) << (check.errors.empty() ? "a leak" : check.errors.at(0));
  EXPECT_EQ(found, count);
  return found;
}

class MoreSlots : public testing::TestWithParam<std::string> {
 protected:
  const Description& engine() const { return *AnyEngine<SimMachine>::describe(GetParam()).value(); }

  SimOptions machine_options(int threads) const {
    SimOptions o;
    if (engine().needs_design) {
      o = design_test::options(design_test::tiny(), design_test::durable_design());
    } else {
      o.domain = usual_domain(engine());
    }
    o.threads = threads;
    o.count_main_events = true;
    return o;
  }

  /// Returns the image of a heap with kBefore * kRounds entries.
  SimImage made(bool closed) const {
    SimMachine machine(machine_options(kBefore));
    CreateOptions create;
    create.engine = GetParam();
    create.options = with_tiny(engine(), {});
    create.bytes = 128 << 10;
    create.max_bytes = 1 << 20;
    auto heap = H::create(machine, create).value();
    add_entries(*heap, kBefore);
    if (closed) {
      heap->close().check();
    } else {
      machine.switch_off();
    }
    return machine.earliest_image();
  }

  bool area_depends_on_slots() const {
    const Options options = with_tiny(engine(), {});
    auto most = engine().area_bytes(options, kMaxThreads);  // may be more than options allow
    return !most || engine().area_bytes(options, kBefore).value() != *most;
  }
  bool area_gets_longer() const {
    const Options options = with_tiny(engine(), {});
    return engine().area_bytes(options, kBefore).value() !=
           engine().area_bytes(options, kAfter).value();
  }

  /// Opens the image on a machine with so many threads. All entries must be there. On demand all
  /// threads add more, and the heap is closed and opened again.
  void expect_whole(const SimImage& image, int threads, bool go_on) const {
    constexpr uint64_t kEntries = kBefore * kRounds;
    SimImage after;
    uint64_t expected = kEntries;
    {
      SimMachine machine(machine_options(threads), image);
      machine.power_on();
      auto heap = H::open(machine);
      ASSERT_TRUE(heap.ok()) << heap.status().to_string();
      EXPECT_GE((*heap)->superblock().slots, static_cast<uint32_t>(machine.slots()));
      ASSERT_EQ(entries_of(**heap), kEntries);
      if (!go_on) {
        machine.switch_off();
        return;
      }
      add_entries(**heap, threads);
      expected += static_cast<uint64_t>(threads * kRounds);
      heap.value()->close().check();
      after = machine.earliest_image();
    }
    SimMachine machine(machine_options(kBefore), after);
    machine.power_on();
    auto heap = H::open(machine);
    ASSERT_TRUE(heap.ok()) << heap.status().to_string();
    EXPECT_EQ(entries_of(**heap), expected);
    machine.switch_off();
  }
};

INSTANTIATE_TEST_SUITE_P(Engines, MoreSlots,
                         testing::ValuesIn(names_of(engine_rows<SimMachine>(),
                                                    [](const auto& row) {
                                                      return is_durable(*row.description);
                                                    })),
                         [](const auto& instance) { return test_name(instance.param); });

/// The images of some crash points of an opening with kAfter threads.
class Images {
 public:
  /// Takes those before the persist events from `first` up to `end`. Returns the number of all
  /// events.
  uint64_t take(const SimOptions& options, const SimImage& before, uint64_t first, uint64_t end) {
    SimMachine machine(options, before);
    machine.power_on();
    machine.before_persist_event([&](uint64_t event) {
      if (first <= event && event < end && event % kShare == 0) {
        Random random(event);
        add(earliest_, machine.earliest_image());
        add(latest_, machine.latest_image());
        add(sample_, machine.sample_image(random));
      }
    });
    auto heap = H::open(machine);
    EXPECT_TRUE(heap.ok()) << heap.status().to_string();
    machine.before_persist_event(nullptr);
    machine.switch_off();
    return machine.persist_events();
  }
  std::vector<SimImage> all;

 private:
  /// Leaves out an image that the event before had as well.
  void add(SimImage& last, SimImage image) {
    if (!same_image(image, last)) {
      all.push_back(image);
      last = std::move(image);
    }
  }
  SimImage earliest_;
  SimImage latest_;
  SimImage sample_;
};

TEST_P(MoreSlots, AreThereAfterACrashAtAnyPersistEvent) {
  constexpr uint64_t kAtOnce = 64 * kShare;
  const SimImage before = made(true);
  if (engine().layout == Layout::cells) {
    SimMachine machine(machine_options(kAfter), before);
    machine.power_on();
    const Status refused = H::open(machine).status();
    EXPECT_EQ(refused.code(), Code::unsupported) << refused.to_string();
    EXPECT_NE(refused.message().find("convert --max-threads"), std::string::npos);
    EXPECT_EQ(machine.latest_image(), before);
    return;
  }
  Images images;
  size_t opened = 0;
  uint64_t events = 1;
  for (uint64_t first = 0; first < events && !HasFatalFailure(); first += kAtOnce) {
    events = images.take(machine_options(kAfter), before, first, first + kAtOnce);
    for (const SimImage& image : images.all) {
      const bool fewer = opened % 7 == 0;
      expect_whole(image, fewer ? kBefore : kAfter, opened % 5 == 0);
      if (HasFatalFailure()) {
        ADD_FAILURE() << "an image of events from " << first << " on";
        return;
      }
      ++opened;
    }
    images.all.clear();
  }
  std::printf("%s: %zu images of %llu persist events\n", GetParam().c_str(), opened,
              static_cast<unsigned long long>(events));
  EXPECT_GT(opened, 2U);
}

TEST_P(MoreSlots, OnlyAClosedHeapGetsLongerLogs) {
  const SimImage before = made(false);
  if (!area_depends_on_slots()) {
    expect_whole(before, kAfter, true);
    return;
  }
  {
    SimMachine machine(machine_options(kAfter), before);
    machine.power_on();
    const Status refused = H::open(machine).status();
    EXPECT_EQ(refused.code(), engine().layout == Layout::cells ? Code::unsupported : Code::misuse)
        << refused.to_string();
    EXPECT_EQ(machine.latest_image(), before);
  }
  expect_whole(before, kBefore, true);
}

TEST_P(MoreSlots, AFullDiskLeavesTheHeapAsItWas) {
  const SimImage before = made(true);
  if (!area_gets_longer() || engine().layout == Layout::cells) {
    GTEST_SKIP() << "the file does not get longer";
  }
  {
    SimOptions options = machine_options(kAfter);
    options.medium_limit = before.size();
    SimMachine machine(options, before);
    machine.power_on();
    EXPECT_EQ(H::open(machine).status().code(), Code::out_of_space);
    EXPECT_EQ(machine.latest_image(), before);
  }
  expect_whole(before, kBefore, true);
}

}  // namespace
}  // namespace holdfast::slots_test
