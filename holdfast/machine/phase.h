// SPDX-License-Identifier: Apache-2.0
//
// What an engine tells its machine about the work of a thread. Natively that is an empty inline
// function; the simulated machine adds up the time of each phase and can draw a timeline of them.
#pragma once

#include <cstdint>

namespace holdfast {

/// What a thread is at. Those of FUR and their kin carry the names of FUR's figures 3, 5, 7 and 8.
enum class Phase : uint8_t {
  outside,          ///< in no transaction
  execute,          ///< from the call of update or read to the end of the body
  lock_wait,        ///< for a lock, or for the thread that will serve the request
  isolation_wait,   ///< a writer, for transactions that may see its old data
  commit,           ///< suspend, resume and commit of a hardware transaction
  log_flush,        ///< writing the log, and until it is durable
  data_flush,       ///< until data changed in place is durable
  durability_wait,  ///< for others' transactions to be durable
  marker_flush,     ///< writing what makes the transaction durable, and until it is
  space_wait,       ///< for room in the log
  replay,           ///< bringing the home up to date from the logs
  combine,          ///< flat combining: running others' requests, and answering them
  copy,             ///< bringing the second copy up to date
  roll_back,        ///< putting old values back
  back_off,         ///< between two attempts
  /// Attempts that ended in an abort, and cleaning up after them. Who aborts in software enters it
  /// itself: then everything since the thread entered `execute` was in vain.
  aborted,
};
inline constexpr int kPhases = 16;
const char* to_string(Phase phase);

enum class TransactionKind : uint8_t { none, update, read };

/// In phase `phase` until the end of the block, then in the former one again.
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

/// One update or read, from its first phase, which is execute, to the end of the block.
template <class M>
class TransactionScope {
 public:
  explicit TransactionScope(TransactionKind kind) { M::transaction(kind); }
  ~TransactionScope() { M::transaction(TransactionKind::none); }
  TransactionScope(const TransactionScope&) = delete;
  TransactionScope& operator=(const TransactionScope&) = delete;
};

}  // namespace holdfast
