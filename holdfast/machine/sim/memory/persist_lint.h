// SPDX-License-Identifier: Apache-2.0
//
// The lint of persistence: it watches how a program uses persistent memory, and notes likely waste
// and gaps. It sees operations in the order in which the program requests them, over all threads.
// The effect of store buffers is left out.
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

/// The kinds of findings. "Where" is LintRow::where.
enum class LintKind : uint8_t {
  /// A transaction has ended, and no thread has written back a line since the transaction's thread
  /// stored to it (replayers excepted). Where: the phase of the store. Domain pmem only.
  not_written_back,
  /// As above, but the line was written back, and the writing thread has executed no fence since.
  /// Where: the site of the write-back. Domain pmem only.
  not_fenced,
  /// A write-back of a line that no thread has stored to since its last write-back. Where: the
  /// site. Domain pmem only.
  redundant_write_back,
  /// A pfence or psync of a thread that has neither stored to persistent memory nor written a line
  /// back since its last one. Where: the site.
  empty_fence,
  /// A worker's store to persistent memory outside a transaction. Stores in phase replay do not
  /// count, nor those before the machine's first transaction (format and recovery). Where: the
  /// phase.
  stray_store,
};
const char* to_string(LintKind kind);

/// All findings of one kind at one place.
struct LintRow {
  LintKind kind = LintKind::not_written_back;
  std::string where;
  uint64_t count = 0;
  uint64_t example = 0;  ///< the offset on the medium of the first one; 0 for fences
};

namespace sim {

class SimMedium;
struct SimThread;

/// The lint. It says nothing about lines on a machine with a hardware design, which takes care of
/// them.
class PersistLint {
 public:
  PersistLint(const SimOptions& options, const SimMedium& medium, size_t slots);

  void stored(const SimThread& thread, uintptr_t address);
  /// The thread requests an operation.
  void asked(const SimThread& thread, const SiteOperation& operation);
  /// The thread begins to write back the line of this address.
  void write_back(const SimThread& thread, uintptr_t address, Site site);
  /// The thread's write-backs so far are durable.
  void completed(const SimThread& thread);
  /// A transaction of the thread begins, or with kind `none` is over. `failed`: the medium has
  /// failed.
  void transaction(const SimThread& thread, TransactionKind kind, bool failed);
  void forget(int slot) { threads_[static_cast<size_t>(slot)] = {}; }

  std::vector<LintRow> report() const;

 private:
  /// The moments at which a line was last stored to and so on; 0: never.
  struct Line {
    uint64_t stored = 0;
    uint64_t written_back = 0;
    uint64_t durable = 0;   ///< stores up to this moment are durable
    const char* site = "";  ///< of the last write-back
  };
  struct OwnStore {
    uint64_t moment = 0;
    Phase phase = Phase::outside;
  };
  struct PerThread {
    std::map<uint64_t, OwnStore> stores;                 ///< by line: since the transaction began
    std::vector<std::pair<uint64_t, uint64_t>> pending;  ///< lines and moments of write-backs
    bool something_to_order = false;                     ///< the next fence has something to order
  };

  PerThread& of(const SimThread& thread);
  void found(LintKind kind, const char* where, uint64_t example);

  const SimMedium& medium_;
  const size_t line_bytes_;
  const bool lines_;  ///< write-backs have an effect: domain pmem, no design
  uint64_t now_ = 0;
  bool transaction_seen_ = false;
  std::unordered_map<uint64_t, Line> line_;
  std::vector<PerThread> threads_;
  std::map<std::pair<LintKind, std::string>, LintRow> rows_;
};

}  // namespace sim
}  // namespace holdfast
