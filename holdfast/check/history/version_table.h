// SPDX-License-Identifier: Apache-2.0
//
// The writes of a history in one table: who wrote a version, what it replaced, whether anybody may
// see it. Both judges look values up here.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "holdfast/check/history/finding.h"
#include "holdfast/check/history/history.h"

namespace holdfast::check {

/// Index of a write in the table, or one of the three below.
using WriteId = uint32_t;
inline constexpr WriteId kInitial = ~WriteId{0};        ///< the initial value of the object
inline constexpr WriteId kGarbage = ~WriteId{0} - 1;    ///< no write of the history
inline constexpr WriteId kNotLooked = ~WriteId{0} - 2;  ///< replaced by a blind write

/// Whether the id stands for a row of the table.
constexpr bool is_write(WriteId id) {
  return id < kNotLooked;
}

struct Write {
  uint32_t transaction = 0;
  Object object = 0;
  bool last = true;  ///< its transaction did not overwrite it: the version that others may see
  /// What the transaction found in the object before its first write there, also by an earlier
  /// read: a transaction that is atomic, or whose snapshot nobody overwrote, replaces exactly that.
  WriteId previous = kNotLooked;
};

/// What a transaction found in an object, left by another one.
struct Found {
  Object object = 0;
  WriteId write = kInitial;
};

/// What makes a history unusable: numbers that do not count, objects that do not exist.
std::optional<Finding> malformed(const History& history);

class VersionTable {
 public:
  /// `history` must not be malformed(), and must outlive the table. `recovered` adds what an image
  /// after a crash shows to what others have seen of transactions that were never answered.
  explicit VersionTable(const History& history, std::span<const uint64_t> recovered = {});

  const History& history() const { return history_; }
  uint32_t transactions() const { return static_cast<uint32_t>(effective_.size() - 1); }
  /// kGarbage unless the version names a write into this object.
  WriteId find(Version version, Object object) const;

  size_t size() const { return writes_.size(); }
  const Write& operator[](WriteId id) const { return writes_[id]; }
  /// The first of the transaction's writes; they are consecutive.
  WriteId first(uint32_t transaction) const { return first_[transaction]; }
  WriteId beyond(uint32_t transaction) const { return first_[transaction + 1]; }

  /// Once for each object, as it was found first.
  std::span<const Found> found(uint32_t transaction) const {
    return std::span(found_).subspan(first_found_[transaction],
                                     first_found_[transaction + 1] - first_found_[transaction]);
  }
  /// Committed; or never answered, but somebody saw what it wrote.
  bool effective(uint32_t transaction) const { return effective_[transaction]; }

 private:
  void list_writes();
  void follow(const Transaction& transaction);

  const History& history_;
  std::vector<WriteId> first_;  // by transaction number, and one more
  std::vector<Write> writes_;
  std::vector<size_t> first_found_;
  std::vector<Found> found_;
  std::vector<bool> effective_;

  // By object, of the transaction that follow() is at: valid where `by` is its number.
  struct Current {
    uint32_t by = 0;
    bool written = false;
    WriteId found = kNotLooked;
    WriteId last = 0;
  };
  std::vector<Current> current_;
};

}  // namespace holdfast::check
