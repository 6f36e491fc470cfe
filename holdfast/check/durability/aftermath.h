// SPDX-License-Identifier: Apache-2.0
//
// Derives which writes a recovered image contains and which it lacks. Not all of it can be known:
// an object shows only its latest value, and a blind write does not tell which value it replaced.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "holdfast/check/history/finding.h"
#include "holdfast/check/history/version_table.h"

namespace holdfast::check {

/// The survival of each transaction of a history, given the word of each object after recovery.
class Aftermath {
 public:
  /// `recovered` has one word per object. `versions` was made with the same words, and must outlive
  /// this object.
  Aftermath(const VersionTable& versions, std::span<const uint64_t> recovered, bool real_time);

  /// Findings for words that no write stored, and for values that replaced an impossible value.
  const std::vector<Finding>& impossible() const { return impossible_; }

  /// Returns an object that holds the transaction's write, or a later value built on it.
  std::optional<Object> shown(uint32_t transaction) const { return shown_[transaction]; }
  /// Returns an object that certainly lacks the transaction's write.
  std::optional<Object> missing(uint32_t transaction) const { return missing_[transaction]; }

  /// Returns why the transaction must have survived: the step by which a survivor read or overwrote
  /// its write; {} if it is shown itself. No value: nothing implies its survival.
  std::optional<Step> implied(uint32_t transaction) const { return implied_[transaction]; }
  /// Returns why the transaction cannot have survived: the step by which it read from a transaction
  /// that cannot have; {} if it is missing itself. No value: nothing rules its survival out.
  std::optional<Step> doomed(uint32_t transaction) const { return doomed_[transaction]; }

  /// Adds to implied() the transactions from which these survivors have read, directly or not.
  void imply(std::vector<uint32_t> survivors);

 private:
  enum class State : uint8_t { unknown, shown, overwritten, missing };
  struct Interval {
    uint64_t earliest_end = kForever;
    uint64_t latest_begin = 0;
  };

  void find_roots();
  WriteId root_of(WriteId id);
  void walk(Object object, Version version);
  State state(WriteId id) const;
  void spread_doom();

  const VersionTable& versions_;
  const bool real_time_;
  std::vector<WriteId> root_;       // by WriteId: the first write of its chain of replaced versions
  std::vector<Interval> interval_;  // by root: the interval of all writes on its chains
  std::vector<bool> on_chain_;      // by WriteId: a recovered value, or a value that it is built on
  std::vector<WriteId> recovered_;  // by object
  std::vector<Finding> impossible_;
  std::vector<std::optional<Object>> shown_;  // these four by transaction
  std::vector<std::optional<Object>> missing_;
  std::vector<std::optional<Step>> implied_;
  std::vector<std::optional<Step>> doomed_;
};

}  // namespace holdfast::check
