// SPDX-License-Identifier: Apache-2.0
#include "holdfast/machine/sim/memory/address_table.h"

#include <algorithm>

#include "holdfast/machine/sim/memory/physical_lines.h"

namespace holdfast::sim {

AddressTable::AddressTable(const AitDescription& description, size_t line_bytes, Time hit,
                           MemoryController& medium)
    : sets_(description.sets),
      ways_(static_cast<size_t>(description.ways)),
      lines_(static_cast<uint64_t>(description.lines)),
      mappings_(line_bytes / kMappingBytes),
      line_bytes_(line_bytes),
      hit_(hit),
      medium_(medium),
      slots_(sets_ * ways_) {}

AddressTable::Found AddressTable::look_up(uint64_t line, Time now) {
  const uint64_t entry = line / lines_;
  const size_t first = entry % sets_ * ways_;
  const auto begin = slots_.begin() + static_cast<std::ptrdiff_t>(first);
  const auto found = std::find_if(begin, begin + static_cast<std::ptrdiff_t>(ways_),
                                  [entry](const Slot& slot) { return slot.entry == entry; });
  const uint64_t part = uint64_t{1} << line % lines_ / mappings_;
  Found result{.known = now + hit_};
  TableMiss miss;
  if (found == begin + static_cast<std::ptrdiff_t>(ways_)) {
    result.slot = make_room(first, result.known);
    slots_[result.slot] = {.entry = entry};
    if (client_ != nullptr) {
      miss = client_->table_missed({result.slot, entry}, line, result.known);
      result.known = std::max(result.known, miss.done);
    }
  } else {
    result.slot = static_cast<size_t>(found - slots_.begin());
  }
  Slot& slot = slots_[result.slot];
  result.hit = (slot.parts & part) != 0;
  result.read = !result.hit && !miss.supplied;
  if (result.read) {
    result.known = read_table(line, result.known);
  }
  slot.parts |= part;
  slot.used = ++clock_;
  slot.known = result.known = std::max(result.known, slot.known);
  return result;
}

/// The slot of this set that takes another entry. `now` becomes the time at which it can.
size_t AddressTable::make_room(size_t first, Time& now) {
  set_.clear();
  for (size_t i = first; i < first + ways_; ++i) {
    if (slots_[i].entry == kNone) {
      return i;
    }
    set_.push_back({i, slots_[i].entry});
  }
  std::sort(set_.begin(), set_.end(), [this](const TableSlot& a, const TableSlot& b) {
    return slots_[a.slot].used > slots_[b.slot].used;
  });
  const size_t chosen =
      client_ == nullptr ? ways_ - 1 : std::min(client_->table_victim(set_), ways_ - 1);
  const TableSlot leaves = set_[chosen];
  if (client_ != nullptr) {
    now = std::max(now, client_->table_leaves(leaves, now));
  }
  return leaves.slot;
}

/// Reads the line of the table that maps this line. The controller itself asks: there is no path.
Time AddressTable::read_table(uint64_t line, Time now) {
  const uint64_t table_line = own_line(kAddressTable + line * kMappingBytes, line_bytes_);
  return medium_.read_inside(table_line, now + medium_.path_there()) - medium_.path_there();
}

}  // namespace holdfast::sim
