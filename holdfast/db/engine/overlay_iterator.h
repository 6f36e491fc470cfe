// SPDX-License-Identifier: Apache-2.0
//
// The iterator of a transaction whose writes are still in memory.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "holdfast/db/comparator.h"
#include "holdfast/db/iterator.h"
#include "holdfast/db/store/store.h"

namespace holdfast::db {

/// A transaction's writes, in the database's order. Keys with different bytes may be equal in it.
struct PendingWrite {
  bool deletion;
  std::string value;
};
struct ComparatorLess {
  const Comparator* comparator;
  bool operator()(const std::string& a, const std::string& b) const {
    return comparator->Compare(a, b) < 0;
  }
};
using PendingWrites = std::map<std::string, PendingWrite, ComparatorLess>;

/// Ranges of keys, without their ends, in which a transaction shows no entry, because it has
/// deleted all of them. One walk crosses such a range, and later walks jump over it. Otherwise a
/// loop that takes out the first entry again and again would cross all its deletions each time.
///
/// Cost: O(log n) for n ranges; add() amortized.
class HiddenRanges {
 public:
  explicit HiddenRanges(const Comparator* comparator) : ends_(ComparatorLess{comparator}) {}

  /// Returns the other end of the range that a walk enters behind this key, or before it; null if
  /// there is none.
  const std::string* end_behind(const std::string& key) const;
  const std::string* begin_before(const std::string& key) const;
  /// Adds the range between two deletions. Unites it with the ranges that it meets.
  void add(std::string first, const std::string& last);
  /// From now on the transaction may show an entry with this key.
  void put(const std::string& key);

 private:
  /// By their begins. They do not overlap, but may share ends.
  std::map<std::string, std::string, ComparatorLess> ends_;
};

/// Returns the union of the ranges, in the order of their keys. Ranges that share a key are one.
std::vector<KeyRange> united(std::vector<KeyRange> ranges, const Comparator& comparator);

/// Shows the entries of `below` with pending writes on top, and records the ranges that it crosses.
///
/// Each step searches the writes anew, so the transaction may write between two steps. It copies
/// the entry from `below` or from the writes, so later writes leave key() and value() alone.
class OverlayIterator final : public Iterator {
 public:
  /// The writes and the ranges must outlive the iterator. `limits`: keys outside do not count as
  /// crossed.
  OverlayIterator(std::unique_ptr<Iterator> below, const PendingWrites& writes,
                  HiddenRanges* hidden, KeyRange limits, std::vector<KeyRange>* crossed)
      : below_(std::move(below)),
        writes_(writes),
        hidden_(hidden),
        limits_(std::move(limits)),
        crossed_(crossed) {}

  bool Valid() const override { return valid_; }
  void SeekToFirst() override;
  void SeekToLast() override;
  void Seek(const Slice& target) override;
  void Next() override;
  void Prev() override;
  Slice key() const override { return key_; }
  Slice value() const override { return value_; }
  Status status() const override { return below_->status(); }

 private:
  using Write = PendingWrites::const_iterator;

  /// Moves to the first entry from `own` and below_ on, which are at or behind `from`.
  void settle_forwards(Write own, const std::optional<std::string>& from);
  /// Moves to the last entry before `end`, and at or before below_.
  void settle_backwards(Write end, const std::optional<std::string>& from);
  void move_below_before(const std::string& key);
  void hide(size_t deletions, Write first, Write end);
  int order(const Slice& a, const Slice& b) const {
    return writes_.key_comp().comparator->Compare(a, b);
  }
  void show(const Slice& key, const Slice& value);
  std::optional<std::string> within_limits(std::optional<std::string> key, bool is_first) const;
  void record(const std::optional<std::string>& origin);

  std::unique_ptr<Iterator> below_;  ///< at the next entry in the direction of the last step
  const PendingWrites& writes_;
  HiddenRanges* hidden_;  ///< of all iterators of the transaction
  const KeyRange limits_;
  std::vector<KeyRange>* crossed_;   ///< of all iterators of the transaction; it only grows
  std::optional<size_t> own_range_;  ///< the last range in crossed_ that this iterator has added
  bool forwards_ = true;             ///< the direction of the last step
  bool valid_ = false;
  std::string key_;
  std::string value_;
};

}  // namespace holdfast::db
