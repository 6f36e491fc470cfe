// SPDX-License-Identifier: Apache-2.0
//
// A history of transactions, as clients can observe it: the values that each transaction read and
// replaced, and when it began and was answered. The judges (isolation.h, durability.h) see nothing
// else, so they depend on no engine.
//
// Every attempt of a body is a separate transaction with its own number. In a checked run, each
// stored value names the write that stored it (Version). So each value that is read names its
// writer.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "holdfast/engines/engine.h"

namespace holdfast::check {

/// An object of the history: an index below History::objects.
using Object = uint32_t;

/// Names a write by its transaction and its number among the transaction's writes, counted from 1.
/// The version {0, 0} is the initial value of an object, "written" before the history begins.
struct Version {
  uint32_t transaction = 0;
  uint32_t write = 0;

  bool initial() const { return transaction == 0; }
  /// Returns the word that is stored in the object; 0 for the initial value.
  uint64_t word() const { return uint64_t{transaction} << 32 | write; }
  static Version of_word(uint64_t word) {
    return {static_cast<uint32_t>(word >> 32), static_cast<uint32_t>(word)};
  }
  friend bool operator==(const Version&, const Version&) = default;
};

/// One read or write, in the order of the body.
struct Access {
  enum class Kind : uint8_t {
    read,   ///< found `version`
    write,  ///< found `replaced`, then stored `version`, in the same transaction
    blind,  ///< stored `version` without reading the object
  };
  Kind kind = Kind::read;
  Object object = 0;
  Version version;
  Version replaced = {};  ///< only for Kind::write
  uint64_t at = 0;        ///< time of the access; for display only

  bool writes() const { return kind != Kind::read; }
};

/// The end of a transaction.
enum class Outcome : uint8_t {
  committed,  ///< its caller was told that it committed ("acknowledged")
  aborted,    ///< rolled back: an attempt that was repeated, or a body that threw
  live,       ///< running or not answered when the history ended; it may have taken effect
};

/// One attempt of a body. Times are counts of the recorder's events.
struct Transaction {
  uint32_t number = 0;  ///< from 1; its index in History::transactions + 1
  uint32_t thread = 0;
  bool read_only = false;  ///< run by Heap::read, or without a write
  Outcome outcome = Outcome::live;
  /// Aborted by an exception of the body. The caller has the exception, which may tell what the
  /// body has seen.
  bool threw = false;
  /// The word of its caller. A fence of the heap is a durable transaction without accesses.
  Commit commit = Commit::unsaid;
  uint64_t begin = 0;  ///< no later than its first effect
  uint64_t end = 0;    ///< no earlier than its last effect; kForever if live
  std::vector<Access> accesses;
};
inline constexpr uint64_t kForever = ~uint64_t{0};

/// All transactions of a run.
struct History {
  uint32_t objects = 0;
  std::vector<Transaction> transactions;  ///< in the order of their numbers, from 1

  const Transaction& at(uint32_t number) const { return transactions[number - 1]; }
};

}  // namespace holdfast::check
