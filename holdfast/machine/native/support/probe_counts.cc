// SPDX-License-Identifier: Apache-2.0
#include "holdfast/machine/native/support/probe_counts.h"

#include <exception>

#include "holdfast/base/random.h"

namespace holdfast {

// Relaxed, all of it: the counts order no other access, and a name is a literal, which was there
// before the program began.
void ProbeCounts::count(Probe probe) {
  const uint64_t first = mix64(reinterpret_cast<uintptr_t>(probe.name));
  for (size_t step = 0; step < kMost; ++step) {
    Entry& entry = entries_[(first + step) % kMost];
    const char* name = entry.name.load(std::memory_order_relaxed);
    if (name == nullptr &&
        entry.name.compare_exchange_strong(name, probe.name, std::memory_order_relaxed)) {
      name = probe.name;
    }
    if (name == probe.name) {
      entry.count.fetch_add(1, std::memory_order_relaxed);
      return;
    }
  }
  std::terminate();  // kMost is too small
}

std::map<std::string, uint64_t> ProbeCounts::counts() const {
  std::map<std::string, uint64_t> all;
  for (const Entry& entry : entries_) {
    if (const char* name = entry.name.load(std::memory_order_relaxed); name != nullptr) {
      all[name] += entry.count.load(std::memory_order_relaxed);
    }
  }
  return all;
}

}  // namespace holdfast
