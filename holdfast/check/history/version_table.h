// SPDX-License-Identifier: Apache-2.0
//
// All writes of a history in one table: the writer of each version, the version it replaced, and
// whether other transactions may see it. Both judges look up values here.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "holdfast/check/history/finding.h"
#include "holdfast/check/history/history.h"

namespace holdfast::check {

/// The index of a write in the table, or one of the three constants below.
using WriteId = uint32_t;
inline constexpr WriteId kInitial = ~WriteId{0};        ///< the initial value of the object
inline constexpr WriteId kGarbage = ~WriteId{0} - 1;    ///< no write of the history
inline constexpr WriteId kNotLooked = ~WriteId{0} - 2;  ///< unknown: a blind write replaced it

/// Returns whether the id is an index of the table.
constexpr bool is_write(WriteId id) {
  return id < kNotLooked;
}

/// A write of a transaction.
struct Write {
  uint32_t transaction = 0;
  Object object = 0;
  bool last = true;  ///< the transaction's last write of the object, which others may see
  /// The version that the transaction found in the object before its first write there, perhaps by
  /// an earlier read. If the transaction is atomic, or no other one overwrote its snapshot, the
  /// write replaces exactly that version.
  WriteId previous = kNotLooked;
};

/// The version of another transaction that a transaction found in an object.
struct Observation {
  Object object = 0;
  WriteId write = kInitial;
};

/// Returns a finding if the history is unusable: its numbers do not count up, or it names objects
/// that do not exist.
std::optional<Finding> malformed(const History& history);

/// The writes and observations of a history.
///
/// Thread safety: immutable.
class VersionTable {
 public:
  /// `history` must not be malformed(), and must outlive the table. `recovered` has the objects'
  /// words after a crash: a transaction without an answer is effective if an object holds its
  /// write.
  explicit VersionTable(const History& history, std::span<const uint64_t> recovered = {});

  const History& history() const { return history_; }
  uint32_t transactions() const { return static_cast<uint32_t>(effective_.size() - 1); }
  /// Returns the version's index, or kGarbage if it names no write of this object.
  WriteId find(Version version, Object object) const;

  size_t size() const { return writes_.size(); }
  const Write& operator[](WriteId id) const { return writes_[id]; }
  /// The transaction's writes are consecutive, from first() to beyond(), exclusive.
  WriteId first(uint32_t transaction) const { return first_[transaction]; }
  WriteId beyond(uint32_t transaction) const { return first_[transaction + 1]; }

  /// Returns the transaction's first observation of each object.
  std::span<const Observation> observations(uint32_t transaction) const {
    return std::span(observations_)
        .subspan(first_observation_[transaction],
                 first_observation_[transaction + 1] - first_observation_[transaction]);
  }
  /// Returns whether the transaction took effect: it committed, or another one saw its write.
  bool effective(uint32_t transaction) const { return effective_[transaction]; }

 private:
  void list_writes();
  void follow(const Transaction& transaction);

  const History& history_;
  std::vector<WriteId> first_;  // by transaction number, and one more
  std::vector<Write> writes_;
  std::vector<size_t> first_observation_;
  std::vector<Observation> observations_;
  std::vector<bool> effective_;

  // By object: the state of the transaction that follow() examines, valid if `by` is its number.
  struct Current {
    uint32_t by = 0;
    bool written = false;
    WriteId found = kNotLooked;
    WriteId last = 0;
  };
  std::vector<Current> current_;
};

}  // namespace holdfast::check
