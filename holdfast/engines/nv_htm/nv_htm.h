// SPDX-License-Identifier: Apache-2.0
//
// NV-HTM: Hardware transactional memory meets memory persistency (Castro, Romano, Barreto, IPDPS
// 2018); FUR 2.3 counts it among the designs with totally ordered markers.
//
// Idea      As in SPHT, its successor, but every transaction has its own commit marker, in its
//           thread's log, and markers become durable in the order of time stamps.
// Area      header | progress of the replay, twice | one circular log per thread
// Begin     slot := {running, clock}, fence; hardware transaction that tracks everything and
//           subscribes to the lock. A store also appends {place, value} to the log.
// Commit    T := clock; hardware commit; slot := {T, committed}; flush the log, fence; wait until
//           every other update is durable, or known to have a larger time; marker with T, flush,
//           fence.
// Reads     in hardware transactions as well; then wait for all updates older than their own clock
// Recovery  Replay every transaction that has its marker, in the order of T.
// Persists  ceil((16 N + 24) / line) + 1 pwb and 2 pfence per update of N words; none per read
//
// The wait comes before the marker is stored. So after a crash the transactions with a marker are a
// prefix of the order of times. The replayer scans all logs for the oldest transaction.
//
// Differences from the paper
//  - The running replayer does not skip words that are overwritten later in the logs. Only replay
//    alone can (log_replay.h).
//  - The marker is the header in front of the records, with sizes and a checksum (24 bytes).
//  - Two updates with the same T are ordered by thread.
#pragma once

#include "holdfast/engines/nv_htm/total_order.h"
#include "holdfast/engines/parts/durability/replay/redo_record.h"
#include "holdfast/engines/parts/frame/pht.h"
#include "holdfast/engines/parts/frame/tracked.h"

namespace holdfast {

/// The engine; see Pht for the frame and Engine in engine.h for the contract.
template <class M>
class NvHtm : public Pht<M, TrackedTransactions, TotalOrder> {
 public:
  static constexpr OptionInfo kOptions[] = {kRetriesOption, kCapacityOption, kPhtLogBytesOption,
                                            kBackgroundOption, kReplayersOption};
  static constexpr Description kDescription = {
      .name = "nv-htm",
      .title = "NV-HTM: hardware transactions, redo logs with totally ordered markers",
      .paper = "NV-HTM (IPDPS 2018); FUR (EuroSys 2026), section 2.3",
      .isolation = Isolation::opaque,
      .durability = Durability::strict,
      .layout = Layout::working_copy,
      .needs_htm = true,
      .log = "redo, per thread",
      .fences = "2",
      .options = kOptions,
      .option_count = sizeof(kOptions) / sizeof(kOptions[0]),
      .area_bytes = &pht_area_bytes,
      .most_bytes = RedoRecord::kMostBytes,
  };

  NvHtm(M& machine, const Regions& regions, const Options& options, int max_threads)
      : Pht<M, TrackedTransactions, TotalOrder>(kDescription, machine, regions, options,
                                                max_threads) {}
};

}  // namespace holdfast
