// SPDX-License-Identifier: Apache-2.0
#include "holdfast/machine/sim/htm/htm_unit.h"

#include <algorithm>
#include <bit>
#include <numeric>

namespace holdfast::sim {

HtmUnit::HtmUnit(size_t slots, const HtmLimits& limits, HtmListener& listener)
    : transactions_(slots), limits_(limits), group_of_(slots), usage_(slots), listener_(listener) {
  std::iota(group_of_.begin(), group_of_.end(), 0);
}

void HtmUnit::set_group(int slot, int group, int parts) {
  group_of_[static_cast<size_t>(slot)] = group;
  usage_.resize(std::max(usage_.size(), static_cast<size_t>(group) + 1));
  usage_[static_cast<size_t>(group)].parts = static_cast<size_t>(parts);
}

void HtmUnit::begin(int slot, Tracking tracking) {
  Transaction& tx = transaction(slot);
  tx.open = true;
  tx.suspended = false;
  tx.unwinding = false;
  tx.tracking = tracking;
  tx.doom = AbortCause::none;
}

void HtmUnit::release(int slot) {
  Transaction& tx = transaction(slot);
  listener_.on_released(slot, tx, tx.doomed());
  Usage& used = usage(slot);
  used.loads -= tx.read_lines.size();
  used.stores -= tx.written_lines.size() - tx.in_both;
  tx.in_both = 0;
  for (const uint32_t line : tx.read_lines) {
    held_.remove_reader(slot, line);
  }
  for (const uint32_t line : tx.written_lines) {
    held_.remove_writer(line);
  }
  tx.read_lines.clear();
  tx.written_lines.clear();
  tx.words.clear();
}

void HtmUnit::end(int slot) {
  Transaction& tx = transaction(slot);
  if (tx.open && !tx.doomed()) {
    release(slot);
  }
  tx.open = tx.suspended = tx.unwinding = false;
  tx.doom = AbortCause::none;
}

void HtmUnit::doom(int slot, AbortCause cause) {
  Transaction& tx = transaction(slot);
  if (tx.open && !tx.doomed()) {
    tx.doom = cause;
    release(slot);
    listener_.on_doomed(slot);
  }
}

void HtmUnit::evict_writer(int slot, Holders holders) {
  const int writer = holders.writer - 1;
  if (writer >= 0 && writer != slot) {
    doom(writer, AbortCause::conflict);
  }
}

template <class F>
void HtmUnit::for_each_reader(const Holders& holders, F&& f) {
  for (size_t part = 0; part < holders.readers.size(); ++part) {
    for (uint64_t readers = holders.readers[part]; readers != 0; readers &= readers - 1) {
      f(static_cast<int>(part * 64) + std::countr_zero(readers));
    }
  }
}

void HtmUnit::evict_others(int slot, Holders holders) {
  evict_writer(slot, holders);
  for_each_reader(holders, [&](int reader) {
    if (reader != slot) {
      doom(reader, AbortCause::conflict);
    }
  });
}

void HtmUnit::lost(uint32_t line, bool readers, bool writer, FunctionRef<bool(int)> concerned) {
  const Holders* found = held_.find(line);
  if (found == nullptr) {
    return;
  }
  const Holders holders = *found;
  const int owner = holders.writer - 1;
  if (writer && owner >= 0 && concerned(owner)) {
    doom(owner, AbortCause::capacity);
  }
  if (readers) {
    for_each_reader(holders, [&](int reader) {
      if (concerned(reader)) {
        doom(reader, AbortCause::capacity);
      }
    });
  }
}

bool HtmUnit::full(int slot, bool store) {
  const Usage& used = usage(slot);
  if (limits_.together) {
    return used.loads + used.stores >= limits_.stores / used.parts;
  }
  return store ? used.stores >= limits_.stores / used.parts
               : used.loads >= limits_.loads / used.parts;
}

void HtmUnit::plain_store(int slot, uint32_t line) {
  if (const Holders* holders = held_.find(line)) {
    const bool own = holders->writer == slot + 1;
    evict_others(slot, *holders);
    if (own) {
      doom(slot, AbortCause::conflict);
    }
  }
}

void HtmUnit::transactional_load(int slot, uint32_t line) {
  Transaction& tx = transaction(slot);
  if (const Holders* holders = held_.find(line)) {
    const bool known = holders->writer == slot + 1 || holders->has_reader(slot);
    evict_writer(slot, *holders);
    if (known) {
      return;
    }
  }
  if (tx.tracking == Tracking::stores) {
    return;
  }
  if (full(slot, false)) {
    doom(slot, AbortCause::capacity);
    return;
  }
  held_.add_reader(slot, line);
  tx.read_lines.push_back(line);
  ++usage(slot).loads;
}

void HtmUnit::transactional_store(int slot, uint32_t line) {
  request_exclusive(slot, line);
  Transaction& tx = transaction(slot);
  if (!owns(slot, line)) {
    const bool has_entry = limits_.together && reads(slot, line);
    if (!has_entry && full(slot, true)) {
      doom(slot, AbortCause::capacity);
      return;
    }
    held_.set_writer(slot, line);
    tx.written_lines.push_back(line);
    has_entry ? ++tx.in_both : ++usage(slot).stores;
  }
}

}  // namespace holdfast::sim
