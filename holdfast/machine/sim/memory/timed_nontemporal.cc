// SPDX-License-Identifier: Apache-2.0
//
// The part of TimedMemory for stores around the caches, which leave in a buffer that combines the
// words of a line.
#include <algorithm>
#include <bit>

#include "holdfast/machine/sim/memory/timed_memory.h"

namespace holdfast::sim {

Time TimedMemory::enter_nontemporal(SimThread& thread, uint32_t line) {
  PerThread& t = of(thread);
  operation(thread);
  const Time ready = translate(thread, line, thread.clock);
  t.last_leave = std::max({ready, t.window.loads_done(), t.last_leave + t.cycle});
  return t.last_leave;
}

void TimedMemory::leaves_around_caches(SimThread& thread, uint32_t line, Time now) {
  PerThread& t = of(thread);
  if (t.combined_words != 0 && t.combined_line != line) {
    send_combined(thread, now);
  }
  // This comes before the copies are removed, because caches track the lines of transactions. A
  // transaction on this line must be doomed for conflict, not for capacity.
  htm_.plain_store(thread.slot, line);
  actor_ = &thread;
  t.combined_line = line;
  t.combined_ready = caches_.write_back(line, true, now).done;
  t.write_backs_done = std::max(t.write_backs_done, t.combined_ready);
}

void TimedMemory::left_around_caches(SimThread& thread, uintptr_t address, Time now) {
  PerThread& t = of(thread);
  const size_t word = address % machine_.line_bytes / sizeof(uint64_t);
  const size_t words = machine_.line_bytes / sizeof(uint64_t);
  t.combined_words |= uint32_t{1} << word;
  if (std::popcount(t.combined_words) == static_cast<int>(words)) {
    send_combined(thread, now);
  }
}

void TimedMemory::send_combined(SimThread& thread, Time now) {
  PerThread& t = of(thread);
  if (t.combined_words != 0) {
    actor_ = &thread;
    t.combined_words = 0;
    ++thread.stats.nontemporal;
    const Time accepted =
        write_memory(t.combined_line, 0, nullptr, std::max(now, t.combined_ready));
    t.write_backs_done = std::max(t.write_backs_done, accepted);
  }
}

void TimedMemory::send_all_combined() {
  for (const auto& thread : threads_) {
    send_combined(*thread, thread->clock);
  }
}

}  // namespace holdfast::sim
