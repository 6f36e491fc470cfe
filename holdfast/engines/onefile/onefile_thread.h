// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "holdfast/engines/onefile/onefile_cells.h"
#include "holdfast/engines/onefile/onefile_options.h"
#include "holdfast/engines/parts/basics/write_set.h"
#include "holdfast/engines/parts/isolation/stm/software_transaction.h"

namespace holdfast::onefile {

/// One thread's transaction. It sees the state after transaction `start`. A word with a newer
/// sequence dooms it, so all values that it returns belong to one state (opacity). Only its own
/// thread uses it.
template <class M>
class alignas(kMaxLineBytes) Thread : public SoftwareContext {
 public:
  /// `newest`: the first word of OneFile's newest transaction.
  Thread(M& machine, const Cells<M>& cells, const uint64_t* newest, int own_slot)
      : backoff(static_cast<uint64_t>(own_slot)),
        machine_(machine),
        cells_(cells),
        newest_(newest) {
    slot = own_slot;
  }

  Backoff backoff;
  WriteSet writes;
  DoubleWord start;  ///< the newest transaction, which was over, when this attempt began

  struct Change {
    uint64_t offset;
    uint64_t value;
  };
  std::vector<Change> changes;  ///< of the transaction being finished, its own or another's

  void begin(Mode new_mode, const DoubleWord& newest, uint64_t sequence) {
    prepare_context(new_mode);
    writes.clear();
    start = newest;
    sequence_ = sequence;
  }

  template <class T>
  T load(const T* p) {
    const auto address = reinterpret_cast<uintptr_t>(p);
    const size_t shift = address % 8;
    const uint64_t word = load_word(reinterpret_cast<const uint64_t*>(address - shift));
    T value;
    std::memcpy(&value, reinterpret_cast<const std::byte*>(&word) + shift, sizeof(T));
    return value;
  }

  void load_range(void* to, const void* from, size_t n) {
    auto* out = static_cast<std::byte*>(to);
    for_each_word(from, n, [&](const uint64_t* at, size_t shift, size_t bytes, uint64_t) {
      const uint64_t word = load_word(at);
      std::memcpy(out, reinterpret_cast<const std::byte*>(&word) + shift, bytes);
      out += bytes;
    });
  }

  template <class T>
  void store(T* p, T value) {
    as_word(p, value, [&](uint64_t* word, uint64_t bits, uint64_t mask) { put(word, bits, mask); });
    stored_bytes += sizeof(T);
  }

  void store_range(void* to, const void* from, size_t n) {
    as_words(to, from, n,
             [&](uint64_t* word, uint64_t bits, uint64_t mask) { put(word, bits, mask); });
    stored_bytes += n;
  }

  void promote(const void* /*p*/, size_t /*n*/) {}  // a commit in between fails this one anyway
  void release_unchanged() {}                       // nothing is owned before the commit

  /// Fills `changes` with the new value of each word. Returns false if the bytes around a short
  /// store are newer than the start. Throws Error, as load() does, for a damaged cell.
  bool collect() {
    changes.clear();
    for (const WriteSet::Entry& e : writes.entries()) {
      const uint64_t offset = cells_.offset_of(e.word);
      uint64_t value = e.value;
      if (!e.whole()) {
        const auto seen = cells_.load(offset);
        if (seen.sequence > sequence_) {
          check(seen.sequence);
          return false;
        }
        value = e.over(seen.value);
      }
      changes.push_back({offset, value});
    }
    return true;
  }

 private:
  uint64_t load_word(const uint64_t* word) {
    if (!writes.empty()) {
      if (const WriteSet::Entry* const entry = writes.find(word)) {
        return entry->whole() ? entry->value : entry->over(load_shared(word));
      }
    }
    return load_shared(word);
  }

  uint64_t load_shared(const uint64_t* word) {
    const auto seen = cells_.load(cells_.offset_of(word));
    if (seen.sequence > sequence_ && !doomed && !machine_.skips(Site{"onefile.read.check"}))
        [[unlikely]] {
      check(seen.sequence);
      doom();
    }
    return seen.value;
  }

  /// Throws Error if no transaction can have had this sequence. A transaction is the newest one
  /// before its sequence is in a cell. So a sequence above the newest transaction's is damage, on
  /// which the transaction would restart forever. Cells::load() orders this load behind the cell's.
  void check(uint64_t sequence) const {
    if (sequence > M::load_acquire(newest_) >> kSlotBits) {
      throw damaged_cell();
    }
  }

  void put(uint64_t* word, uint64_t bits, uint64_t mask) {
    if (!doomed) {
      writes.put(word, bits, mask);
    }
  }

  M& machine_;
  Cells<M> cells_;
  const uint64_t* newest_;
  uint64_t sequence_ = 0;  // the sequence of `start`
};

}  // namespace holdfast::onefile
