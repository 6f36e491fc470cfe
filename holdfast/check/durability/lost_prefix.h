// SPDX-License-Identifier: Apache-2.0
//
// Which transactions come after a missing one in every order that explains the history. With a lag
// the survivors are a prefix of the commit order, so none of these may have survived.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "holdfast/check/durability/aftermath.h"

namespace holdfast::check {

/// The part of the order behind the first missing transaction.
///
/// The order has the transactions that were acknowledged, those that survived, and those that one
/// of them has read from. A missing transaction outside of it never happened. One transaction comes
/// before another if the other one read from it or replaced its value, and if it was answered
/// before the other one began, as within a thread. In an opaque history it also does if the other
/// one replaced a value that it had read.
///
/// Cost: linear in the history, and sorting.
class LostPrefix {
 public:
  /// The arguments must outlive this object.
  LostPrefix(const VersionTable& versions, const Aftermath& aftermath, bool anti_dependencies,
             bool real_time);

  /// Returns whether the transaction is missing, or comes after one that is.
  bool lost(uint32_t transaction) const { return why_[transaction].has_value(); }
  /// Returns the fate of a missing transaction, and the steps from it to this one, which is lost.
  std::vector<Step> why(uint32_t transaction) const;
  /// Returns the last of these steps; none if the transaction is missing itself.
  std::optional<Step> last_step(uint32_t transaction) const;

 private:
  struct Followers {
    std::vector<std::vector<Step>> by_value;  // by transaction: its readers and replacers
    std::vector<std::vector<Step>> by_read;   // by transaction: those that replaced what it read
  };

  void find_members();
  Followers followers(bool anti_dependencies) const;
  void spread(const Followers& followers, bool real_time);
  void mark(Step step);

  const VersionTable& versions_;
  const Aftermath& aftermath_;
  std::vector<bool> member_;              // by transaction: part of the order
  std::vector<std::optional<Step>> why_;  // by transaction; from == to: missing itself
  std::vector<uint32_t> pending_;
};

}  // namespace holdfast::check
