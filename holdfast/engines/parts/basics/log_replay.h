// SPDX-License-Identifier: Apache-2.0
//
// Replay of redo logs. A commit makes the redo log durable, and not the home. The home is the
// durable data behind the engine's working copy. So the home is behind until a replay copies the
// logged values there.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>

#include "holdfast/engines/engine.h"

namespace holdfast {

/// Options of one call of replay(), which runs alone, with no transaction beside it.
struct ReplayOptions {
  /// Threads, which divide the pages of the home among them. Each one stores to its own pages, in
  /// the order of the transactions, so no order between replayers is needed.
  int replayers = 1;
  /// Replays the newest transaction first and stores only the newest value of each word. The first
  /// value met for a word is then its newest, and the others are skipped.
  bool filter = false;
};

struct ReplayReport {
  uint64_t transactions = 0;
  uint64_t logged = 0;   ///< bytes of stores in the logs
  uint64_t written = 0;  ///< bytes stored to the home; fewer with `filter`
};

/// Option of engines that replay while transactions run. With 0, the thread that needs room in a
/// full log replays. Logs are also replayed at close, at recovery and by replay().
inline constexpr OptionInfo kBackgroundOption = {
    "background", "1", "1: replay logs in a thread of their own; 0: only when one is full"};
/// Option of engines that can replay with several threads when a heap is closed or recovered. It
/// does not govern replay(). Recovery takes fewer threads if the machine has too few slots.
inline constexpr OptionInfo kReplayersOption = {
    "replayers", "1", "threads that replay logs when a heap is closed or recovered, 1 to 64"};
inline constexpr uint64_t kMostReplayers = 64;

/// An engine, or its durable half, that can bring the home up to date on its own.
///   replay(options)
///               replays the whole content of the logs, on its own threads, outside run_threads.
///               Returns Code::misuse while a transaction runs, and Code::too_many_threads if the
///               machine has no slots for the replayers. The logs' tail moves only when the whole
///               home is durable. So after a crash meanwhile, recovery replays the same logs again,
///               with the same result.
/// These are the engines of the FUR family, SPHT and NV-HTM.
template <class T>
concept ReplaysLogs = requires(T& t, const ReplayOptions& options) {
  { t.replay(options) } -> std::same_as<Result<ReplayReport>>;
};

/// Calls replay() of an engine that has it; otherwise Code::unsupported.
template <class E>
Result<ReplayReport> replay_logs(E& engine, const ReplayOptions& options) {
  if constexpr (ReplaysLogs<E>) {
    return engine.replay(options);
  } else {
    return Status(Code::unsupported, std::string("engine ") + E::kDescription.name +
                                         " keeps no redo log that could be replayed by itself");
  }
}

}  // namespace holdfast
