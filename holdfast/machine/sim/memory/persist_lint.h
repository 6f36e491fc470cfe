// SPDX-License-Identifier: Apache-2.0
//
// Watches how a program uses persistent memory, and notes what is likely waste or a gap. Looks at
// operations in the order in which the program asks for them, over all threads, not at what store
// buffers make of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "holdfast/machine/machine.h"
#include "holdfast/machine/sim/description/mutation.h"

namespace holdfast {

struct SimOptions;

enum class LintKind : uint8_t {
  /// When a transaction was over, a line that its thread had stored to (not as a replayer) had not
  /// been written back since by anybody. Where: the phase of the store. Domain pmem only.
  not_written_back,
  /// It had, but no fence of who wrote it back had followed. Where: the write-back's site.
  not_fenced,
  /// Nobody had stored to the line since it was written back last. Where: the site. Domain pmem
  /// only.
  redundant_write_back,
  /// A pfence or psync, and the thread had neither stored to persistent memory nor written anything
  /// back since its last one. Where: the site.
  empty_fence,
  /// A worker stored to persistent memory outside a transaction, though not in phase replay and not
  /// before the machine's first transaction, which would be format or recovery. Where: the phase.
  stray_store,
};
const char* to_string(LintKind kind);

struct LintRow {
  LintKind kind = LintKind::not_written_back;
  std::string where;
  uint64_t count = 0;
  uint64_t example = 0;  ///< where on the medium the first one was; 0 for fences
};

namespace sim {

class SimMedium;
struct SimThread;

/// Does not see stores of hardware transactions to persistent memory, which no engine here makes,
/// and says nothing about lines where a hardware design takes care of them.
class PersistLint {
 public:
  PersistLint(const SimOptions& options, const SimMedium& medium, size_t slots);

  void stored(const SimThread& thread, uintptr_t address);
  void asked(const SimThread& thread, const SiteOperation& operation);
  /// The thread asks for the line of this address to be written back.
  void write_back(const SimThread& thread, uintptr_t address, Site site);
  /// The thread's write-backs so far are durable.
  void completed(const SimThread& thread);
  /// A transaction of the thread begins, or, with kind none, is over. `failed`: with the medium.
  void transaction(const SimThread& thread, TransactionKind kind, bool failed);
  void forget(int slot) { threads_[static_cast<size_t>(slot)] = {}; }

  std::vector<LintRow> report() const;

 private:
  /// Moments at which something last happened to a line; 0: never.
  struct Line {
    uint64_t stored = 0;
    uint64_t written_back = 0;
    uint64_t durable = 0;   ///< what was stored up to then is
    const char* site = "";  ///< of the last write-back
  };
  struct OwnStore {
    uint64_t moment = 0;
    Phase phase = Phase::outside;
  };
  struct PerThread {
    std::map<uint64_t, OwnStore> stores;                 ///< by line; since the transaction began
    std::vector<std::pair<uint64_t, uint64_t>> pending;  ///< line and moment of write-backs
    bool something_to_order = false;
  };

  PerThread& of(const SimThread& thread);
  void found(LintKind kind, const char* where, uint64_t example);

  const SimMedium& medium_;
  const size_t line_bytes_;
  const bool lines_;  ///< write-backs mean something
  uint64_t now_ = 0;
  bool transaction_seen_ = false;
  std::unordered_map<uint64_t, Line> line_;
  std::vector<PerThread> threads_;
  std::map<std::pair<LintKind, std::string>, LintRow> rows_;
};

}  // namespace sim
}  // namespace holdfast
