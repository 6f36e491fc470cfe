// SPDX-License-Identifier: Apache-2.0
//
// The part of DesignHost that puts designs to the test: lost stores, disturbances, counts.
#include <cstring>
#include <utility>

#include "holdfast/machine/sim/memory/design_host.h"
#include "holdfast/machine/sim/memory/timed_memory.h"

namespace holdfast::sim {

/// Throws Error(corrupt) if the bytes of a fill are not the newest ones. No cache holds the line,
/// so the design or its place must have these.
void DesignHost::check_fill(DesignLine at, const std::byte* bytes) const {
  if (power_.power_is_gone() || std::memcmp(bytes, newest(at.line), options_.line_bytes) == 0) {
    return;
  }
  LineBytes expected;
  std::memcpy(expected.data(), newest(at.line), options_.line_bytes);
  if (admitted_.mask != 0 && line_of(admitted_.address) == at.line) {
    std::byte* stored = &expected[(admitted_.address - kArenaBase) % options_.line_bytes];
    uint64_t value;
    std::memcpy(&value, stored, sizeof(value));
    value = (value & ~admitted_.mask) | admitted_.value;
    std::memcpy(stored, &value, sizeof(value));
  }
  if (std::memcmp(bytes, expected.data(), options_.line_bytes) != 0) {
    const Status lost(Code::corrupt, "the hardware design lost stores to the line at byte " +
                                         std::to_string(at.at.offset) +
                                         " of the medium: neither a cache, nor the design, nor "
                                         "the medium has their values");
    power_.design_failed(lost);
    throw Error(lost);
  }
}

/// Makes a line leave a cache that it need not leave yet: what one deterministic run hides.
void DesignHost::disturb(Time now) {
  if (!disturbance_ || !disturbance_->chance(0.2)) {
    return;
  }
  CoherentCaches& caches = timing_.caches();
  const uint32_t line = recent_[disturbance_->below(recent_.size())];
  const auto core = disturbance_->below(static_cast<uint64_t>(caches.cores()));
  switch (disturbance_->below(3)) {
    case 0:
      caches.evict(Level::l1, core, line, now);
      break;
    case 1:
      caches.evict(Level::l2, caches.l2_of(static_cast<int>(core)), line, now);
      break;
    default:
      if (caches.last_levels() != 0) {
        caches.evict(Level::llc, disturbance_->below(caches.last_levels()), line, now);
      }
  }
}

DesignCounters DesignHost::counters() const {
  return counters_;
}

uint64_t DesignHost::structure_bytes() const {
  uint64_t bytes = 0;
  for (const StructureInfo& info : structures_.infos()) {
    bytes += info.entries * info.entry_bytes;
  }
  return bytes;
}

std::vector<DesignCoverageRow> DesignHost::coverage() const {
  static constexpr const char* kNames[kHooks] = {
      "begin",         "commit",       "abort",        "first_store", "store",
      "outside_store", "loaded",       "hit",          "touched",     "fill",
      "leaving_l1",    "leaving_l2",   "leaving_llc",  "keeps",       "memory_write",
      "victim",        "tick",         "doom",         "cancel",      "home_write",
      "own_write",     "table_leaves", "table_missed", "tlb_filled",  "tlb_evicted"};
  std::vector<DesignCoverageRow> rows;
  for (size_t i = 0; i < kHooks; ++i) {
    rows.push_back({kNames[i], met_[i]});
  }
  for (size_t i = 0; i < changed_.size(); ++i) {
    rows.push_back({std::string("structure ") + structures_.infos()[i].name, changed_[i], true});
  }
  for (size_t i = 0; i < passed_.size(); ++i) {
    rows.push_back({design_.transitions()[i], passed_[i], true});
  }
  return rows;
}

}  // namespace holdfast::sim
