// SPDX-License-Identifier: Apache-2.0
//
// What transactions did, as far as a client could tell: who read whose value, who replaced whose
// value, and when each began and was answered. The judges (isolation.h, durability.h) see nothing
// else, so they know no engine.
//
// Every attempt of a body is a transaction of its own, with a number of its own. Each value stored
// in a checked run names the write that stored it (Version), so each value read names its writer.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace holdfast::check {

/// An object of the history: an index below History::objects.
using Object = uint32_t;

/// Names a write: which transaction, and which of its writes, counted from 1. {0, 0} is the initial
/// value of an object, "written" before the history begins.
struct Version {
  uint32_t transaction = 0;
  uint32_t write = 0;

  bool initial() const { return transaction == 0; }
  /// What is stored in the object: 0 for the initial value.
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
    write,  ///< stored `version`, and found `replaced` there just before, in the same transaction
    blind,  ///< stored `version` without looking at what was there
  };
  Kind kind = Kind::read;
  Object object = 0;
  Version version;
  Version replaced = {};  ///< of Kind::write only
  uint64_t at = 0;        ///< when; only for people to read

  bool writes() const { return kind != Kind::read; }
};

enum class Outcome : uint8_t {
  committed,  ///< its caller was told so ("acknowledged")
  aborted,    ///< rolled back: an attempt that was repeated, or a body that threw
  live,       ///< running, or not answered yet, when the history ended: it may have taken effect
};

/// Times are counts of events of the recorder: whole numbers that order begin and end.
struct Transaction {
  uint32_t number = 0;  ///< from 1; its index in History::transactions + 1
  uint32_t thread = 0;
  bool read_only = false;  ///< run by Heap::read, or without a write
  Outcome outcome = Outcome::live;
  /// Aborted, and its caller has the exception that its body threw: that knows what the body saw.
  bool threw = false;
  uint64_t begin = 0;  ///< no later than anything it did
  uint64_t end = 0;    ///< no earlier than anything it did; kForever if live
  std::vector<Access> accesses;
};
inline constexpr uint64_t kForever = ~uint64_t{0};

struct History {
  uint32_t objects = 0;
  std::vector<Transaction> transactions;  ///< by number - 1

  const Transaction& at(uint32_t number) const { return transactions[number - 1]; }
};

}  // namespace holdfast::check
