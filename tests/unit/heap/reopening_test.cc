// SPDX-License-Identifier: Apache-2.0
//
// The last process may have failed to sync: does opening a heap that was not closed write again?
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/unit/heap/small_heap.h"

namespace holdfast::reopening_test {
namespace {

using H = Heap<AnyEngine<SimMachine>>;

std::string engine_in_files() {
  for (const auto& row : engine_rows<SimMachine>()) {
    if (is_durable(*row.description) && row.description->runs_in(Domain::file)) {
      return row.description->name;
    }
  }
  return {};
}

/// Returns what is left of a heap that was not closed.
SimImage left_heap(const SimOptions& options) {
  SimMachine machine(options);
  const auto heap = H::create(machine, small_heap_options(engine_in_files())).value();
  machine.switch_off();
  return machine.latest_image();
}

/// Records copies. The simulated medium does not: stores of equal bytes change nothing there.
struct Recorder : SimMachine {
  using SimMachine::SimMachine;
  struct Copy {
    const void* to;
    const void* from;
    size_t n;
  };
  static inline std::vector<Copy> copies;
  static void copy(void* to, const void* from, size_t n) {
    copies.push_back({to, from, n});
    SimMachine::copy(to, from, n);
  }
};

const SimOptions kOptions = {.threads = 1, .domain = Domain::file, .list_sites = true};

// The system's cache may have it, and count it as clean although the medium has an older one.
TEST(Reopening, StoresTheNewestSuperblockAgain) {
  Recorder machine(kOptions, left_heap(kOptions));
  machine.power_on();
  HeapFile<Recorder> file(machine);
  file.read().check();
  Recorder::copies.clear();
  file.keep_newest();
  ASSERT_EQ(Recorder::copies.size(), 2u);
  EXPECT_EQ(Recorder::copies[0].from, Recorder::copies[1].to);
  EXPECT_EQ(Recorder::copies[0].n, Recorder::copies[1].n);
  EXPECT_GT(Recorder::copies[1].n, 0u);
  file.keep_newest();
  EXPECT_EQ(Recorder::copies.size(), 2u);
}

TEST(Reopening, SyncsTheNewestSuperblock) {
  SimMachine machine(kOptions, left_heap(kOptions));
  machine.power_on();
  const auto heap = H::open(machine);
  ASSERT_TRUE(heap.ok()) << heap.status().to_string();
  const auto sites = machine.sites();
  EXPECT_EQ(std::count_if(sites.begin(), sites.end(),
                          [](const SiteUse& site) {
                            return site.name == "heap.superblock.newest.sync" && site.count == 1;
                          }),
            1);
  machine.switch_off();
}

}  // namespace
}  // namespace holdfast::reopening_test
