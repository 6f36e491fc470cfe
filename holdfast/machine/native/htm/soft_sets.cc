// SPDX-License-Identifier: Apache-2.0
#include "holdfast/machine/native/htm/soft_sets.h"

#include <bit>

#include "holdfast/machine/native/memory/words.h"

namespace holdfast::native {

void SoftMap::insert(uint64_t key, uint32_t value) {
  if (2 * (used_ + 1) > slots_.size()) {
    grow();
  }
  place(key, value);
  ++used_;
}

void SoftMap::place(uint64_t key, uint32_t value) {
  size_t i = start(key);
  while (slots_[i].epoch == epoch_) {
    i = (i + 1) & (slots_.size() - 1);
  }
  slots_[i] = {key, epoch_, value};
}

void SoftMap::grow() {
  std::vector<Slot> old(2 * slots_.size());
  old.swap(slots_);
  for (const Slot& slot : old) {
    if (slot.epoch == epoch_) {
      place(slot.key, slot.value);
    }
  }
}

void SoftMap::clear() {
  if (used_ == 0) {
    return;
  }
  used_ = 0;
  if (++epoch_ == 0) {  // the number has wrapped around, so old slots would look current
    slots_.assign(slots_.size(), Slot());
    epoch_ = 1;
  }
}

void SoftLine::overlay(void* to, size_t offset, size_t n) const {
  auto* bytes = static_cast<std::byte*>(to);
  for (uint64_t left = (mask >> offset) & bits(0, n); left != 0; left &= left - 1) {
    const auto i = static_cast<size_t>(std::countr_zero(left));
    bytes[i] = data[offset + i];
  }
}

void SoftLine::publish() const {
  auto* const memory = reinterpret_cast<std::byte*>(line * kLineBytes);
  for (size_t word = 0; word < kLineBytes; word += 8) {
    const uint64_t stored = (mask >> word) & 0xff;
    for (size_t at = 0; stored >> at != 0;) {
      // Find the largest aligned unit at `at` that lies within the word and was stored whole.
      size_t unit = at == 0 ? 8 : at & -at;
      while (unit > 0 && ((stored >> at) & bits(0, unit)) != bits(0, unit)) {
        unit /= 2;
      }
      if (unit == 0) {
        ++at;
        continue;
      }
      // Release: a plain load that sees one of these stores must see the transaction's ownership of
      // all its lines, which it took before (see soft_htm.h).
      copy_words<__ATOMIC_RELAXED, __ATOMIC_RELEASE>(memory + word + at, data + word + at, unit);
      at += unit;
    }
  }
}

SoftLine* SoftWriteSet::add(uintptr_t line) {
  SoftLine& added = lines_.emplace_back();
  added.line = line;
  map_.insert(line, static_cast<uint32_t>(lines_.size() - 1));
  return &added;
}

void SoftWriteSet::clear() {
  map_.clear();
  lines_.clear();
}

void SoftReadSet::add(uint32_t entry, uint64_t version) {
  records_.push_back({entry, version});
  map_.insert(entry, static_cast<uint32_t>(records_.size() - 1));
  last_ = entry;
}

void SoftReadSet::clear() {
  map_.clear();
  records_.clear();
  last_ = SoftMap::kNone;
}

}  // namespace holdfast::native
