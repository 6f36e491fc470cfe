// SPDX-License-Identifier: Apache-2.0
//
// Phases: the steps of a transaction, as an engine reports them to its machine. Natively a report
// is an empty inline function. The simulated machine adds up the time of each phase and can draw a
// timeline of them.
#pragma once

#include <cstdint>

namespace holdfast {

/// The step of a transaction that a thread is in. The phases of FUR and its relatives have the
/// names of FUR's figures 3, 5, 7 and 8.
enum class Phase : uint8_t {
  outside,          ///< in no transaction
  execute,          ///< from the call of update or read to the end of the body
  lock_wait,        ///< waits for a lock, or for the thread that will serve the request
  isolation_wait,   ///< a writer waits for transactions that may see its old data
  commit,           ///< suspend, resume and commit of a hardware transaction
  log_flush,        ///< writes the log, until it is durable
  data_flush,       ///< waits until data changed in place are durable
  durability_wait,  ///< waits until transactions of other threads are durable
  marker_flush,     ///< writes the record that makes the transaction durable, until it is durable
  space_wait,       ///< waits for room in the log
  replay,           ///< brings the home up to date from the logs
  combine,          ///< flat combining: runs and answers requests of other threads
  copy,             ///< brings the second copy up to date
  roll_back,        ///< puts old values back
  back_off,         ///< pauses between two attempts
  /// Attempts that ended in an abort, and the clean-up after them. caught() enters this phase. An
  /// engine that aborts in software enters it explicitly: then all work since the thread entered
  /// `execute` counts as wasted.
  aborted,
};
inline constexpr int kPhases = 16;
const char* to_string(Phase phase);

enum class TransactionKind : uint8_t { none, update, read };

/// Puts the calling thread into a phase until the end of the block, then back into the former one.
template <class M>
class PhaseScope {
 public:
  explicit PhaseScope(Phase phase) : former_(M::phase(phase)) {}
  ~PhaseScope() { M::phase(former_); }
  PhaseScope(const PhaseScope&) = delete;
  PhaseScope& operator=(const PhaseScope&) = delete;

 private:
  const Phase former_;
};

/// Reports one update or read of the calling thread: it begins here, in phase `execute`, and is
/// over at the end of the block.
template <class M>
class TransactionScope {
 public:
  explicit TransactionScope(TransactionKind kind) { M::transaction(kind); }
  ~TransactionScope() { M::transaction(TransactionKind::none); }
  TransactionScope(const TransactionScope&) = delete;
  TransactionScope& operator=(const TransactionScope&) = delete;
};

}  // namespace holdfast
