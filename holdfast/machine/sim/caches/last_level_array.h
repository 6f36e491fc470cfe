// SPDX-License-Identifier: Apache-2.0
//
// The tags of a last-level cache.
#pragma once

#include <cstddef>
#include <cstdint>

#include "holdfast/machine/sim/caches/cache_array.h"

namespace holdfast::sim {

/// A CacheArray for a last level, which has many ways. Most accesses there only replace the least
/// recently used way. The ways of a set form a ring in the order of their last use. A new first way
/// takes the place of the last one, so a replacement touches one cache line of the host, not the
/// whole set.
class LastLevelArray {
 public:
  using Way = CacheArray::Way;

  LastLevelArray(size_t sets, size_t ways, Way* storage)
      : index_(sets), used_(sets), ways_(ways), array_(storage), first_(sets, 0) {}

  /// Finds the line's way and makes it the most recently used of its set. Null if the line is
  /// absent.
  Way* use(uint32_t line) {
    const Set set = set_of(line);
    const size_t i = position(set, line);
    if (i == ways_) {
      return nullptr;
    }
    to_front(set, i);
    return &at(set, 0);
  }

  /// Finds the line's way and leaves the order of use alone. Null if the line is absent.
  Way* peek(uint32_t line) {
    const Set set = set_of(line);
    for (Way* way = set.ways; way < set.ways + ways_; ++way) {
      if (way->line() == line) {
        return way;
      }
    }
    return nullptr;
  }

  /// Prefetches, on the host, the place of the next insertion into the line's set.
  void prefetch(uint32_t line) {
    const Set set = set_of(line);
    __builtin_prefetch(&at(set, ways_ - 1));
  }

  /// As in CacheArray.
  Way insert(uint32_t line, uint32_t meta) {
    used_.add(index_.of(line));
    const Set set = set_of(line);
    set.first = static_cast<uint16_t>((set.first == 0 ? ways_ : set.first) - 1);
    Way& way = set.ways[set.first];
    const Way victim = way;
    way = {line, meta};
    return victim;
  }
  template <class Choose>
  Way insert(uint32_t line, uint32_t meta, Choose&& choose) {
    const Set set = set_of(line);
    if (at(set, ways_ - 1).line() == CacheArray::kNoLine) {
      return insert(line, meta);
    }
    const size_t place = look(line, choose);
    if (place >= ways_) {
      return {CacheArray::kRefused, 0};
    }
    const Way victim = at(set, place);
    to_front(set, place);
    at(set, 0) = {line, meta};
    return victim;
  }
  template <class F>
  auto look(uint32_t line, F&& f) {
    const Set set = set_of(line);
    in_order_.clear();
    for (size_t i = 0; i < ways_; ++i) {
      in_order_.push_back(at(set, i));
    }
    return f(static_cast<const Way*>(in_order_.data()), ways_);
  }

  /// Removes the line and returns its bits; 0 if it was absent.
  uint32_t remove(uint32_t line) {
    const Set set = set_of(line);
    size_t i = position(set, line);
    if (i == ways_) {
      return 0;
    }
    const uint32_t meta = at(set, i).meta;
    for (; i + 1 < ways_; ++i) {
      at(set, i) = at(set, i + 1);
    }
    at(set, i) = {};
    return meta;
  }

  template <class F>
  void for_each(F&& f) {
    used_.for_each([&](size_t number) {
      const Set set{array_ + number * ways_, first_[number]};
      for (size_t i = 0; i < ways_; ++i) {
        if (at(set, i).line() != CacheArray::kNoLine) {
          f(at(set, i));
        }
      }
    });
  }

 private:
  struct Set {
    Way* ways;
    uint16_t& first;  ///< the index of the most recently used way
  };

  Set set_of(uint32_t line) {
    const size_t number = index_.of(line);
    return {array_ + number * ways_, first_[number]};
  }
  /// The i-th most recently used way.
  Way& at(const Set& set, size_t i) const {
    const size_t place = set.first + i;
    return set.ways[place < ways_ ? place : place - ways_];
  }
  size_t position(const Set& set, uint32_t line) const {
    for (size_t place = 0; place < ways_; ++place) {
      if (set.ways[place].line() == line) {
        return place >= set.first ? place - set.first : place + ways_ - set.first;
      }
    }
    return ways_;
  }
  void to_front(const Set& set, size_t i) const {
    const Way way = at(set, i);
    for (; i > 0; --i) {
      at(set, i) = at(set, i - 1);
    }
    at(set, 0) = way;
  }

  SetIndex index_;
  UsedSets used_;
  size_t ways_;
  Way* array_;
  std::vector<uint16_t> first_;  ///< by set
  std::vector<Way> in_order_;    ///< a set in the order of last use, as look() shows it
};

}  // namespace holdfast::sim
