// SPDX-License-Identifier: Apache-2.0
#include "holdfast/machine/sim/htm_unit.h"

#include <bit>

namespace holdfast::sim {

HtmUnit::HtmUnit(size_t lines, size_t slots, size_t load_limit, size_t store_limit,
                 DoomListener& listener)
    : lines_(lines),
      transactions_(slots),
      load_limit_(load_limit),
      store_limit_(store_limit),
      listener_(listener) {}

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

void HtmUnit::evict_readers(int slot, uint32_t line) {
  for (unsigned part = 0; part < kMaxSlots / 64; ++part) {
    uint64_t readers = lines_[line].readers[part];
    while (readers != 0) {
      const int reader = static_cast<int>(part * 64) + std::countr_zero(readers);
      readers &= readers - 1;
      if (reader != slot) {
        doom(reader, AbortCause::conflict);
      }
    }
  }
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
    if (tx.read_lines.size() == load_limit_) {
      doom(slot, AbortCause::capacity);
      return;
    }
    readers |= uint64_t{1} << (bit % 64);
    tx.read_lines.push_back(line);
  }
}

void HtmUnit::transactional_store(int slot, uint32_t line) {
  evict_writer(slot, line);
  evict_readers(slot, line);
  Transaction& tx = transaction(slot);
  if (!owns(slot, line)) {
    if (tx.written_lines.size() == store_limit_) {
      doom(slot, AbortCause::capacity);
      return;
    }
    lines_[line].writer = static_cast<uint16_t>(slot + 1);
    tx.written_lines.push_back(line);
  }
}

}  // namespace holdfast::sim
