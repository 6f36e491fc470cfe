// SPDX-License-Identifier: Apache-2.0
#include "holdfast/hardware/redu/dram_cache.h"

#include <algorithm>

namespace holdfast {

void DramCache::attach(DesignContext& context, uint64_t bytes, size_t ways, double cycles) {
  context_ = &context;
  line_bytes_ = context.line_bytes();
  ways_ = ways;
  sets_ = std::max<uint64_t>(1, bytes / line_bytes_ / ways);
  const MachineDescription& machine = context.machine();
  if (machine.one_memory) {
    MemoryDescription dram = machine.medium;
    const double access_ns = cycles / machine.core.ghz;
    dram.read_ns = std::max(0.0, access_ns - dram.path_ns - dram.bus_ns);
    dram.write_ns = dram.read_ns;
    dram.row_bytes = 0;
    dram_ = std::make_unique<sim::MemoryController>(dram, context.line_bytes());
  }
}

DramCache::Line* DramCache::find(uint64_t home) {
  const auto found = lines_.find(home);
  return found == lines_.end() ? nullptr : &found->second;
}

DramCache::Line* DramCache::crowded(uint64_t home) {
  const auto set = members_.find(set_of(home));
  if (set == members_.end() || set->second.size() < ways_) {
    return nullptr;
  }
  const std::vector<uint64_t>& homes = set->second;
  const auto committed = std::find_if(homes.begin(), homes.end(), [&](uint64_t member) {
    return lines_.at(member).owner == kCommitted;
  });
  return &lines_.at(committed != homes.end() ? *committed : homes.front());
}

DramCache::Line& DramCache::put(DesignLine line) {
  const uint64_t home = line.at.offset;
  std::vector<uint64_t>& homes = members_[set_of(home)];
  homes.push_back(home);
  overflowed_ += homes.size() > ways_ ? 1 : 0;
  Line& added = lines_[home];
  added.line = line;
  return added;
}

void DramCache::erase(uint64_t home) {
  const auto set = members_.find(set_of(home));
  overflowed_ -= set->second.size() > ways_ ? 1 : 0;
  std::erase(set->second, home);
  if (set->second.empty()) {
    members_.erase(set);
  }
  lines_.erase(home);
}

Time DramCache::read(uint64_t home, Time now) {
  const uint64_t place = home / line_bytes_ % (sets_ * ways_);
  return dram_ ? dram_->read(place, now) : context_->read_dram(place, now);
}

Time DramCache::write(uint64_t home, Time now) {
  const uint64_t place = home / line_bytes_ % (sets_ * ways_);
  return dram_ ? dram_->write(place, now) : context_->write_dram(place, now);
}

}  // namespace holdfast
