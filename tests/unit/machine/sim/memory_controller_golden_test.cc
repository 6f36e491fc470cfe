// SPDX-License-Identifier: Apache-2.0
// Does the memory controller serve long random runs at the same times as ever? Its rules have
// tests of their own, one by one; here they meet.
//
// TO UPDATE after an intended change of the rules: run
//     unit_test --gtest_filter='SimMemoryControllerGolden.*'
// and copy the numbers into devices(). Name the changed rule in the commit message. If the numbers
// change without such a reason, that is a bug.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "holdfast/base/random.h"
#include "holdfast/machine/sim/caches/memory_controller.h"

namespace holdfast::sim::memory_controller_golden_test {
namespace {

struct Device {
  const char* name;
  MemoryDescription description;
  uint64_t times;  ///< the digest of its run
};

std::vector<Device> devices() {
  MemoryDescription persistent;  // 16 banks, 64 entries in each queue
  persistent.row_bytes = 256;
  persistent.read_ns = 150;
  persistent.row_hit_ns = 15;
  persistent.write_ns = 100;
  persistent.bus_ns = 3.332;
  persistent.turnaround_ns = 1.666;
  persistent.path_ns = 20;

  MemoryDescription eager = persistent;
  eager.banks = 4;
  eager.row_bytes = 1024;
  eager.turnaround_ns = 7;
  eager.path_ns = 20.001;
  eager.drain_low = 0;

  MemoryDescription odd = persistent;
  odd.channels = 3;
  odd.banks = 5;
  odd.row_bytes = 192;
  odd.write_ns = 300;
  odd.bus_ns = 6;
  odd.read_queue = 3;
  odd.write_queue = 7;
  odd.forwards = odd.merges = false;

  MemoryDescription batches = persistent;
  batches.channels = 2;
  batches.banks = 8;
  batches.row_bytes = 0;
  batches.write_ns = 300;
  batches.turnaround_ns = 0;
  batches.read_queue = 8;
  batches.write_queue = 32;
  batches.drain_high = 0.5;
  batches.drain_low = 0.25;
  batches.drain_batch = 24;

  MemoryDescription instant = persistent;
  instant.banks = 2;
  instant.row_hit_ns = instant.write_ns = 0;
  instant.read_queue = 4;
  instant.write_queue = 8;
  instant.drain_batch = 2;
  instant.forwards = false;

  MemoryDescription single = persistent;
  single.banks = single.read_queue = single.write_queue = single.drain_batch = 1;
  single.row_bytes = 64;
  return {{"persistent memory", persistent, 5997259336266319437U},
          {"without a low mark", eager, 9551452656026545770U},
          {"odd numbers, and nothing merges", odd, 3575004498217576303U},
          {"large batches", batches, 3983578455927331721U},
          {"writes take no time", instant, 5516475740051149220U},
          {"one of each", single, 10479077111386116951U}};
}

/// Random requests on one device, some of them of a time that has passed.
class RandomRun {
 public:
  explicit RandomRun(const MemoryDescription& description) : memory_(description, 64), random_(7) {
    memory_.count_wear();
  }

  uint64_t digest() {
    for (int i = 0; i < 20'000; ++i) {
      clock_ += random_.below(i / 500 % 3 == 0 ? 10'000 : 150'000);  // a burst, or pauses
      request(clock_ - random_.below(300'000));
    }
    note(memory_.drained(clock_));
    const MemoryCounters& c = memory_.counters();
    for (const uint64_t count : {c.reads, c.writes, c.forwarded, c.merged, c.cancelled, c.row_hits,
                                 c.reads_waited, c.writes_waited, c.highest_fill}) {
      note(count);
    }
    const WearSummary wear = memory_.wear();
    note(wear.lines);
    note(wear.writes);
    note(wear.most);
    return digest_;
  }

 private:
  void request(Time now) {
    const uint64_t line = random_.below(random_.chance(0.3) ? 64 : 100'000);
    const uint64_t what = random_.below(1000);
    if (what < 450) {
      note(memory_.read(line, now));
    } else if (what < 470) {
      note(memory_.read_inside(line, now + memory_.path_there()));
    } else if (what < 800) {
      tickets_.emplace_back();
      note(memory_.write(line, now, &tickets_.back()));
    } else if (what < 900 && !tickets_.empty()) {
      const size_t back = random_.below(std::min<size_t>(tickets_.size(), 20));
      const auto at = tickets_.end() - 1 - static_cast<std::ptrdiff_t>(back);
      note(memory_.waits(*at) ? 1 : 0);
      if (memory_.cancel(*at, now)) {
        note(1);
        tickets_.erase(at);
      }
    } else if (what < 997) {
      note(memory_.queued(line, now) ? 1 : 0);
    } else {
      note(memory_.drained(now));
    }
  }

  void note(uint64_t value) { digest_ = mix64(digest_ ^ value); }

  MemoryController memory_;
  Random random_;
  std::vector<WriteTicket> tickets_;
  Time clock_ = 1'000'000;
  uint64_t digest_ = 0;
};

TEST(SimMemoryControllerGolden, TimesAreAsEver) {
  for (const Device& device : devices()) {
    EXPECT_EQ(RandomRun(device.description).digest(), device.times) << device.name;
  }
}

}  // namespace
}  // namespace holdfast::sim::memory_controller_golden_test
