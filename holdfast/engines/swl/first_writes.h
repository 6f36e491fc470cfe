// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "holdfast/engines/parts/basics/line_filter.h"
#include "holdfast/engines/parts/basics/word_place.h"
#include "holdfast/engines/swl/swl_options.h"
#include "holdfast/engines/undo/undo_engine.h"

namespace holdfast::swl {

/// A set of offsets into the data, for one thread. It lies in the machine's memory, so a simulated
/// machine counts its accesses: they are part of the cost of software logging.
///
/// A hash table, half empty at least and probed linearly. A slot holds an offset and the generation
/// of its transaction. So clear() takes constant time.
template <class M>
class OffsetSet {
 public:
  explicit OffsetSet(M& machine) : machine_(machine) {}

  void clear() {
    size_ = 0;
    if (++generation_ == kGenerations) {
      generation_ = 1;
      for (size_t i = 0; i < slots_; ++i) {
        M::store(table_ + i, uint64_t{0});
      }
    }
  }

  /// Adds an offset, a multiple of 8. Returns whether it is new. Throws as Machine::allocate does.
  bool add(uint64_t offset) {
    if (2 * (size_ + 1) > slots_) {
      grow();
    }
    const bool added = insert(WordPlace::of(offset, generation_));
    size_ += added ? 1 : 0;
    return added;
  }

 private:
  static constexpr size_t kFirstSlots = 256;  // a power of two
  static constexpr uint64_t kGenerations = uint64_t{1} << WordPlace::kTagBits;

  bool insert(uint64_t place) {
    const size_t mask = slots_ - 1;
    for (size_t at = (place * 0x9e3779b97f4a7c15) >> 32 & mask;; at = (at + 1) & mask) {
      const uint64_t found = M::load(table_ + at);
      if (found == place) {
        return false;
      }
      if (WordPlace::tag(found) != generation_) {
        M::store(table_ + at, place);
        return true;
      }
    }
  }

  /// The old table stays allocated, as all memory of a machine does: at most as much again.
  void grow() {
    M::reach(Probe{"swl.filter.grows"});
    const uint64_t* const old = table_;
    const size_t before = slots_;
    const size_t slots = before == 0 ? kFirstSlots : 2 * before;
    table_ = make_array<uint64_t>(machine_, slots);
    slots_ = slots;  // last, because without memory the old table stays the current one
    for (size_t i = 0; i < before; ++i) {
      const uint64_t place = M::load(old + i);
      if (WordPlace::tag(place) == generation_) {
        insert(place);
      }
    }
  }

  M& machine_;
  uint64_t* table_ = nullptr;
  size_t slots_ = 0;
  size_t size_ = 0;
  uint64_t generation_ = 1;  // 0: never used
};

/// The first-write filter: each unit of bytes is saved when the running transaction first stores to
/// it. Blocks that the transaction has allocated are no exception, because software logging as the
/// hardware papers compare with saves all structural changes.
///
/// write_backs: whether commit has to write the units back.
template <class M, bool write_backs>
class FirstWrites {
 public:
  FirstWrites(M& machine, const Regions& regions, const Options& options)
      : machine_(machine),
        data_(regions.data),
        unit_(SwlOptions::parse(options).value().unit),
        saved_(machine) {}

  void clear() {
    if (!machine_.skips(Site{"swl.filter"})) {
      saved_.clear();
    }
    units_.clear();
    any_ = false;
  }
  bool any() const { return any_; }
  void fresh(const undo::Range& /*block*/) {}

  /// Calls save(run) for each run of units that need entries. If it throws, no unit counts as saved
  /// any more. A body that swallows the exception may still store before it is rolled back, which
  /// adds entries for bytes of the running transaction. They do no harm, because a roll-back
  /// restores the oldest entries last.
  template <class F>
  void add(const undo::Range& range, F&& save) {
    any_ = true;
    const auto offset = static_cast<uint64_t>(range.begin - data_);
    const uint64_t end = offset + range.bytes;
    uint64_t run = end;  // the beginning of the units found so far
    try {
      uint64_t at = offset - offset % unit_;
      for (; at < end; at += unit_) {
        if (saved_.add(at)) {
          run = std::min(run, at);
        } else if (run < at) {
          M::reach(Probe{"swl.saved_in_between"});
          save_run(run, at, save);
          run = end;
        }
      }
      if (run < end) {
        save_run(run, at, save);
      }
    } catch (...) {
      saved_.clear();
      throw;
    }
  }

  template <class F>
  void for_each_stored(size_t line, F&& visit) const {
    LineFilter lines;
    for (const uint64_t offset : units_) {
      if (unit_ >= line || lines.first(offset / line)) {
        visit(undo::Range{data_ + offset, unit_});
      }
    }
  }

 private:
  template <class F>
  void save_run(uint64_t begin, uint64_t end, F&& save) {
    save(undo::Range{data_ + begin, end - begin});
    if constexpr (write_backs) {
      for (; begin < end; begin += unit_) {
        units_.push_back(begin);
      }
    }
  }

  M& machine_;
  const std::byte* const data_;
  const uint64_t unit_;
  OffsetSet<M> saved_;
  std::vector<uint64_t> units_;  // in the order of their first stores
  bool any_ = false;
};

}  // namespace holdfast::swl
