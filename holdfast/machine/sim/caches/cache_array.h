// SPDX-License-Identifier: Apache-2.0
//
// The tags of one set-associative cache.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace holdfast::sim {

/// Computes the set of a cache that a line belongs to: line % sets.
class SetIndex {
 public:
  explicit SetIndex(size_t sets)
      : sets_(sets),
        mask_((sets & (sets - 1)) == 0 ? static_cast<uint32_t>(sets - 1) : kNoMask),
        reciprocal_(~uint64_t{0} / sets + 1) {}

  size_t of(uint32_t line) const {
    if (mask_ != kNoMask) [[likely]] {
      return line & mask_;
    }
    // The remainder without a division (Lemire, Kaser, Kurz 2019); exact for 32-bit numbers.
    const uint64_t low = reciprocal_ * line;
    return static_cast<size_t>((static_cast<Wide>(low) * sets_) >> 64);
  }

 private:
  __extension__ using Wide = unsigned __int128;
  static constexpr uint32_t kNoMask = ~uint32_t{0};

  size_t sets_;
  uint32_t mask_;  ///< sets - 1 if the number of sets is a power of two, else kNoMask
  uint64_t reciprocal_;
};

/// The sets of a cache that may hold a line, in groups. A run uses a part of a large cache, and a
/// walk leaves the rest alone, so that its pages stay untouched.
class UsedSets {
 public:
  explicit UsedSets(size_t sets) : sets_(sets), groups_(sets / kSets + 1) {}

  void add(size_t set) { groups_[set / kSets] = 1; }

  /// Calls f(set) for each set that was added, and for its neighbours in the group, in order.
  template <class F>
  void for_each(F&& f) const {
    for (size_t group = 0; group < groups_.size(); ++group) {
      const size_t end = groups_[group] != 0 ? std::min(sets_, (group + 1) * kSets) : 0;
      for (size_t set = group * kSets; set < end; ++set) {
        f(set);
      }
    }
  }

 private:
  static constexpr size_t kSets = 64;

  size_t sets_;
  std::vector<uint8_t> groups_;  ///< whether a set of the group was added
};

/// The tags of one set-associative cache with least-recently-used replacement and any number of
/// sets. The ways of a set stand in the order of their last use, so most look-ups end at the first.
class CacheArray {
 public:
  static constexpr uint32_t kNoLine = ~uint32_t{0};
  static constexpr uint32_t kRefused = kNoLine - 1;  ///< instead of a displaced line: see insert()

  /// A free way is all zeros, so that a cache whose storage is zeroed pages is empty, and a machine
  /// that uses a few sets of a large cache touches the pages of those alone.
  struct Way {
    Way() = default;
    Way(uint32_t line, uint32_t bits) : meta(bits), inverted_(~line) {}
    uint32_t line() const { return ~inverted_; }

    uint32_t meta = 0;  ///< bits of the class that uses the array (LineBits)

   private:
    uint32_t inverted_ = ~kNoLine;
  };

  /// `storage` has sets * ways zeroed ways, and outlives this object.
  CacheArray(size_t sets, size_t ways, Way* storage)
      : index_(sets), used_(sets), ways_(ways), array_(storage) {}

  /// Finds the line's way and makes it the most recently used of its set. Null if the line is
  /// absent.
  Way* use(uint32_t line) {
    Way* set = set_of(line);
    if (set[0].line() == line) {
      return set;
    }
    for (size_t i = 1; i < ways_; ++i) {
      if (set[i].line() == line) {
        to_front(set, i);
        return set;
      }
    }
    return nullptr;
  }

  /// Finds the line's way and leaves the order of use alone. Null if the line is absent.
  Way* peek(uint32_t line) {
    Way* set = set_of(line);
    for (size_t i = 0; i < ways_; ++i) {
      if (set[i].line() == line) {
        return &set[i];
      }
    }
    return nullptr;
  }

  /// Prefetches the line's set on the host.
  void prefetch(uint32_t line) {
    const Way* set = set_of(line);
    __builtin_prefetch(set);
    __builtin_prefetch(set + ways_ - 1);
  }

  /// The least recently used line of this line's set; kNoLine if the set is not full.
  uint32_t last(uint32_t line) { return set_of(line)[ways_ - 1].line(); }

  /// Inserts an absent line as the most recently used of its set. Returns the displaced way, which
  /// was the least recently used one; its line is kNoLine if the set was not full.
  Way insert(uint32_t line, uint32_t meta) {
    used_.add(index_.of(line));
    Way* set = set_of(line);
    size_t place = ways_ - 1;
    while (place > 0 && set[place].line() == kNoLine && set[place - 1].line() == kNoLine) {
      --place;  // free ways come last
    }
    const Way victim = set[place];
    to_front(set, place);
    set[0] = {line, meta};
    return victim;
  }

  /// Inserts an absent line. If the set is full, choose(set, ways) returns the index of the way to
  /// displace, or one beyond the last to refuse the line. Then the result has the line kRefused.
  template <class Choose>
  Way insert(uint32_t line, uint32_t meta, Choose&& choose) {
    Way* set = set_of(line);
    if (set[ways_ - 1].line() == kNoLine) {
      return insert(line, meta);
    }
    const size_t place = choose(static_cast<const Way*>(set), ways_);
    if (place >= ways_) {
      return {kRefused, 0};
    }
    const Way victim = set[place];
    to_front(set, place);
    set[0] = {line, meta};
    return victim;
  }

  /// Calls f(set, ways) with the line's set, in the order of last use.
  template <class F>
  auto look(uint32_t line, F&& f) {
    return f(static_cast<const Way*>(set_of(line)), ways_);
  }

  /// Removes the line and returns its bits; 0 if it was absent.
  uint32_t remove(uint32_t line) {
    Way* way = peek(line);
    if (way == nullptr) {
      return 0;
    }
    const uint32_t meta = way->meta;
    Way* set = set_of(line);
    for (Way* end = set + ways_ - 1; way < end; ++way) {
      way[0] = way[1];
    }
    set[ways_ - 1] = {};
    return meta;
  }

  template <class F>
  void for_each(F&& f) {
    used_.for_each([&](size_t number) {
      Way* set = array_ + number * ways_;
      for (Way* way = set; way < set + ways_; ++way) {
        if (way->line() != kNoLine) {
          f(*way);
        }
      }
    });
  }

 private:
  Way* set_of(uint32_t line) const { return array_ + index_.of(line) * ways_; }

  static void to_front(Way* set, size_t i) {
    const Way way = set[i];
    if (i > kFewWays) {
      std::memmove(set + 1, set, i * sizeof(Way));
    } else {
      for (; i > 0; --i) {
        set[i] = set[i - 1];
      }
    }
    set[0] = way;
  }

  static constexpr size_t kFewWays = 8;  ///< up to this many, a loop is faster than memmove

  SetIndex index_;
  UsedSets used_;
  size_t ways_;
  Way* array_;
};

}  // namespace holdfast::sim
