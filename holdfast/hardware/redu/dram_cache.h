// SPDX-License-Identifier: Apache-2.0
//
// A write cache in volatile DRAM, between the last level and persistent memory (PM). It holds lines
// whose place in PM has older words, and nothing else: a line leaves it when it goes home.
//
// Sets       Lines lie in sets. A full set says which line should go home next. If that is not
//            possible, a further line lies elsewhere in the DRAM, and each miss looks there, too.
// Time       On a machine with DRAM, accesses share its controller. A machine that has none gets a
//            controller for the cache: queues, banks and bus are those of the medium, and an access
//            takes a number of cycles.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "holdfast/machine/sim/caches/memory_controller.h"
#include "holdfast/machine/sim/design/design_context.h"

namespace holdfast {

class DramCache {
 public:
  static constexpr int kCommitted = -1;

  struct Line {
    DesignLine line;
    int owner = kCommitted;  ///< the slot of the transaction that has not committed
    /// The committed transactions whose words for this line are here and not home: the first slots
    /// of their logs.
    std::vector<uint64_t> transactions;
    std::vector<std::byte> bytes;
  };

  void attach(DesignContext& context, uint64_t bytes, size_t ways, double cycles);

  /// The line with this home, or null.
  Line* find(uint64_t home);
  /// Null if the set of this home has room for one more line. Else the line that should make room:
  /// a committed one, if there is one, and of these the one that was put first.
  Line* crowded(uint64_t home);
  /// Adds a line, whether its set has room or not.
  Line& put(DesignLine line);
  void erase(uint64_t home);
  uint64_t overflowed() const { return overflowed_; }  ///< lines beyond the room of their sets

  Time read(uint64_t home, Time now);
  Time write(uint64_t home, Time now);

 private:
  uint64_t set_of(uint64_t home) const { return home / line_bytes_ % sets_; }

  DesignContext* context_ = nullptr;
  uint64_t line_bytes_ = 0;
  uint64_t sets_ = 1;
  size_t ways_ = 1;
  uint64_t overflowed_ = 0;
  std::unordered_map<uint64_t, Line> lines_;  ///< by home
  std::unordered_map<uint64_t, std::vector<uint64_t>>
      members_;                                  ///< by set: the homes, oldest first
  std::unique_ptr<sim::MemoryController> dram_;  ///< null: the machine's
};

}  // namespace holdfast
