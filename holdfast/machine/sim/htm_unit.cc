// SPDX-License-Identifier: Apache-2.0
#include "holdfast/machine/sim/htm_unit.h"

#include <algorithm>
#include <bit>
#include <numeric>

namespace holdfast::sim {

HtmUnit::HtmUnit(size_t lines, size_t slots, const HtmLimits& limits, HtmListener& listener,
                 bool huge_table, HostPages* pages)
    : lines_(lines, huge_table, pages),
      transactions_(slots),
      limits_(limits),
      group_of_(slots),
      usage_(slots),
      listener_(listener) {
  std::iota(group_of_.begin(), group_of_.end(), 0);
}

HtmUnit::~HtmUnit() {
  // Whoever holds no transaction holds no lines either.
  for (const Transaction& tx : transactions_) {
    for (const auto* lines : {&tx.read_lines, &tx.written_lines}) {
      for (const uint32_t line : *lines) {
        lines_.clear(line, 1);
      }
    }
  }
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
  ++open_;
}

void HtmUnit::release(int slot) {
  Transaction& tx = transaction(slot);
  listener_.on_released(slot, tx, tx.doomed());
  Usage& used = usage(slot);
  used.loads -= tx.read_lines.size();
  used.stores -= tx.written_lines.size() - tx.in_both;
  tx.in_both = 0;
  const auto bit = static_cast<unsigned>(slot);
  for (const uint32_t line : tx.read_lines) {
    lines_[line].readers[bit / 64] &= ~(uint64_t{1} << (bit % 64));
  }
  for (const uint32_t line : tx.written_lines) {
    lines_[line].writer = 0;
  }
  tx.read_lines.clear();
  tx.written_lines.clear();
  tx.words.clear();
  --open_;
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

void HtmUnit::evict_writer(int slot, uint32_t line) {
  const int writer = lines_[line].writer - 1;
  if (writer >= 0 && writer != slot) {
    doom(writer, AbortCause::conflict);
  }
}

template <class F>
void HtmUnit::for_each_reader(uint32_t line, F&& f) {
  for (unsigned part = 0; part < kMaxSlots / 64; ++part) {
    for (uint64_t readers = lines_[line].readers[part]; readers != 0; readers &= readers - 1) {
      f(static_cast<int>(part * 64) + std::countr_zero(readers));
    }
  }
}

void HtmUnit::evict_readers(int slot, uint32_t line) {
  for_each_reader(line, [&](int reader) {
    if (reader != slot) {
      doom(reader, AbortCause::conflict);
    }
  });
}

void HtmUnit::lost(uint32_t line, bool readers, bool writer, FunctionRef<bool(int)> concerned) {
  const int owner = lines_[line].writer - 1;
  if (writer && owner >= 0 && concerned(owner)) {
    doom(owner, AbortCause::capacity);
  }
  if (readers) {
    for_each_reader(line, [&](int reader) {
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
  if (open_ == 0) {
    return;
  }
  evict_writer(slot, line);
  evict_readers(slot, line);
  if (owns(slot, line)) {
    doom(slot, AbortCause::conflict);
  }
}

void HtmUnit::transactional_load(int slot, uint32_t line) {
  evict_writer(slot, line);
  Transaction& tx = transaction(slot);
  if (tx.tracking == Tracking::stores || owns(slot, line)) {
    return;
  }
  const auto bit = static_cast<unsigned>(slot);
  uint64_t& readers = lines_[line].readers[bit / 64];
  if ((readers >> (bit % 64) & 1) == 0) {
    if (full(slot, false)) {
      doom(slot, AbortCause::capacity);
      return;
    }
    readers |= uint64_t{1} << (bit % 64);
    tx.read_lines.push_back(line);
    ++usage(slot).loads;
  }
}

void HtmUnit::transactional_store(int slot, uint32_t line) {
  evict_writer(slot, line);
  evict_readers(slot, line);
  Transaction& tx = transaction(slot);
  if (!owns(slot, line)) {
    const bool has_entry = limits_.together && reads(slot, line);
    if (!has_entry && full(slot, true)) {
      doom(slot, AbortCause::capacity);
      return;
    }
    lines_[line].writer = static_cast<uint16_t>(slot + 1);
    tx.written_lines.push_back(line);
    has_entry ? ++tx.in_both : ++usage(slot).stores;
  }
}

}  // namespace holdfast::sim
