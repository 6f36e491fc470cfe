// SPDX-License-Identifier: Apache-2.0
//
// The part of TimedMemory for translations of addresses, on machines with TLBs.
//
// A hit in the first level costs nothing: it is looked up beside L1. The second level takes some
// cycles. A page that it does not have is looked up there first, then in the page table: the core
// loads the line with the page's entry, through its caches. The upper levels of the page table cost
// nothing, because small caches of the walker hold their few entries.
#include <algorithm>

#include "holdfast/machine/sim/memory/design_host.h"
#include "holdfast/machine/sim/memory/timed_memory.h"

namespace holdfast::sim {

/// Returns the time at which the thread's core knows the physical address of the line.
Time TimedMemory::translate(SimThread& thread, uint32_t line, Time now) {
  if (!tlbs_ || line >= arena_lines_) {
    return now;
  }
  const int core = of(thread).core;
  const uint32_t page = page_of(line);
  actor_ = &thread;
  const Tlbs::Found found = tlbs_->use(static_cast<size_t>(core), page,
                                       [&](uint32_t left) { left_tlbs(core, left, now); });
  if (found == Tlbs::Found::first) {
    return now;
  }
  const Time looked = now + ps(machine_.tlb.l2_cycles);
  if (found == Tlbs::Found::second) {
    ++thread.stats.tlb_second;
    return looked;
  }
  ++thread.stats.page_walks;
  const auto per_line = static_cast<uint32_t>(machine_.line_bytes / sizeof(uint64_t));
  const uint32_t entry = first_table_line_ + page / per_line;
  const Time walked = caches_.in_l1(core, entry) != nullptr
                          ? looked + caches_.l1_time()
                          : caches_.load(core, entry, looked).done;
  return design_ != nullptr && design_->asks_tlbs()
             ? design_->tlb_filled(core, page << page_shift_, walked)
             : walked;
}

/// The access begins when its address is known.
bool TimedMemory::load_translated(SimThread& thread, uint32_t line) {
  const Time issued = thread.clock;
  thread.clock = translate(thread, line, issued);
  const bool own_write = load_physical(thread, line);
  thread.clock = issued;
  return own_write;
}

void TimedMemory::left_tlbs(int core, uint32_t page, Time now) {
  if (design_ != nullptr && design_->asks_tlbs()) {
    design_->tlb_evicted(core, page << page_shift_, now);
  }
}

void TimedMemory::empty_tlbs(Time now) {
  for (int core = 0; core < caches_.cores() && tlbs_; ++core) {
    tlbs_->empty(static_cast<size_t>(core), [&](uint32_t page) { left_tlbs(core, page, now); });
  }
}

}  // namespace holdfast::sim
