// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace holdfast::sim {

/// The most slots that a held line can record: workers, main and background.
inline constexpr int kMaxSlots = 128;

/// The lines that open hardware transactions hold, with the readers and the writer of each.
///
/// A hash table, because these are few of all lines. Most accesses that miss a cache look here, and
/// a table of all lines would cost the host one more cache miss each time. It grows with
/// transactions that exceed a real cache, as the check of a large structure.
class HeldLines {
 public:
  struct Holders {
    std::array<uint64_t, kMaxSlots / 64> readers{};  ///< a bit for each slot
    uint16_t writer = 0;                             ///< slot + 1; 0: none

    bool has_reader(int slot) const {
      const auto bit = static_cast<unsigned>(slot);
      return (readers[bit / 64] >> (bit % 64) & 1) != 0;
    }
    bool empty() const { return writer == 0 && readers == decltype(readers){}; }
  };

  /// Null if no transaction holds the line. The pointer is valid until the next change.
  const Holders* find(uint32_t line) const {
    for (uint32_t at = first_[bucket(line)]; at != 0; at = entries_[at - 1].next) {
      if (entries_[at - 1].line == line) {
        return &entries_[at - 1].holders;
      }
    }
    return nullptr;
  }

  void add_reader(int slot, uint32_t line) {
    const auto bit = static_cast<unsigned>(slot);
    insert(line).readers[bit / 64] |= uint64_t{1} << (bit % 64);
  }
  void set_writer(int slot, uint32_t line) {
    insert(line).writer = static_cast<uint16_t>(slot + 1);
  }
  void remove_reader(int slot, uint32_t line) {
    const auto bit = static_cast<unsigned>(slot);
    change(line,
           [&](Holders& holders) { holders.readers[bit / 64] &= ~(uint64_t{1} << (bit % 64)); });
  }
  void remove_writer(uint32_t line) {
    change(line, [](Holders& holders) { holders.writer = 0; });
  }

 private:
  struct Entry {
    Holders holders;
    uint32_t line;
    uint32_t next;
  };

  Holders& insert(uint32_t line) {
    if (const Holders* present = find(line)) {
      return const_cast<Holders&>(*present);
    }
    uint32_t at = free_;
    if (at == 0) {
      entries_.emplace_back();
      at = static_cast<uint32_t>(entries_.size());
      if (entries_.size() > first_.size()) {
        double_buckets();
      }
    } else {
      free_ = entries_[at - 1].next;
    }
    uint32_t& first = first_[bucket(line)];
    entries_[at - 1] = {{}, line, first};
    first = at;
    return entries_[at - 1].holders;
  }

  uint32_t bucket(uint32_t line) const { return line & mask_; }

  /// There is an entry for each bucket, and all but the last one are in use.
  void double_buckets() {
    first_.assign(2 * first_.size(), 0);
    mask_ = 2 * mask_ + 1;
    for (uint32_t at = 1; at < entries_.size(); ++at) {
      Entry& entry = entries_[at - 1];
      entry.next = std::exchange(first_[bucket(entry.line)], at);
    }
  }

  /// Changes the holders of a held line by f; removes the line if none is left.
  template <class F>
  void change(uint32_t line, F&& f) {
    uint32_t* link = &first_[bucket(line)];
    while (entries_[*link - 1].line != line) {
      link = &entries_[*link - 1].next;
    }
    Entry& entry = entries_[*link - 1];
    f(entry.holders);
    if (entry.holders.empty()) {
      const uint32_t at = *link;
      *link = entry.next;
      entry.next = free_;
      free_ = at;
    }
  }

  uint32_t mask_ = 4095;  ///< there are a power of two buckets
  /// By bucket: index in entries_ + 1; 0: empty.
  std::vector<uint32_t> first_ = std::vector<uint32_t>(mask_ + 1);
  std::vector<Entry> entries_;
  uint32_t free_ = 0;  ///< the list of unused entries: index in entries_ + 1; 0: empty
};

}  // namespace holdfast::sim
