// SPDX-License-Identifier: Apache-2.0
//
// Which writes a recovered image has, and which it has not, as far as that can be known: an object
// shows its latest value only, and a blind write does not say what it replaced.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "holdfast/check/history/finding.h"
#include "holdfast/check/history/version_table.h"

namespace holdfast::check {

class Aftermath {
 public:
  /// One word per object. `versions` knows the words too, and outlives this.
  Aftermath(const VersionTable& versions, std::span<const uint64_t> recovered, bool real_time);

  /// Words that cannot be there at all, and values that replaced what cannot have been there.
  const std::vector<Finding>& impossible() const { return impossible_; }

  /// An object that holds what the transaction wrote, or a value that others built on it.
  std::optional<Object> shown(uint32_t transaction) const { return shown_[transaction]; }
  /// An object where what the transaction wrote is missing for sure.
  std::optional<Object> missing(uint32_t transaction) const { return missing_[transaction]; }

  /// Must have survived, since a survivor saw or overwrote what it wrote: the step that says so, or
  /// {} for one that is shown itself. No value: nothing says so.
  std::optional<Step> implied(uint32_t transaction) const { return implied_[transaction]; }
  /// Cannot have survived, since it, or one it read from, directly or not, is missing: that step,
  /// or {} for one that is missing itself.
  std::optional<Step> doomed(uint32_t transaction) const { return doomed_[transaction]; }

  /// Adds what the survival of these implies to implied().
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
  std::vector<WriteId> root_;       // by WriteId: where its chain of replaced versions begins
  std::vector<Interval> interval_;  // by root: of all on such chains
  std::vector<bool> on_chain_;      // by WriteId: the recovered value or one it was built on
  std::vector<WriteId> recovered_;  // by object
  std::vector<Finding> impossible_;
  std::vector<std::optional<Object>> shown_;  // from here on by transaction
  std::vector<std::optional<Object>> missing_;
  std::vector<std::optional<Step>> implied_;
  std::vector<std::optional<Step>> doomed_;
};

}  // namespace holdfast::check
