// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <string>

#include "holdfast/engines/engine.h"

namespace holdfast {

/// How logs are replayed when that is all there is to do.
struct ReplayOptions {
  /// Threads, among which the home is divided.
  int replayers = 1;
  /// Newest transaction first, and of each word the newest value only.
  bool filter = false;
};

struct ReplayReport {
  uint64_t transactions = 0;
  uint64_t logged = 0;   ///< bytes to be stored, as the logs have them
  uint64_t written = 0;  ///< bytes stored to the home: fewer with filter
};

/// The option of engines that replay while transactions run.
inline constexpr OptionInfo kBackgroundOption = {
    "background", "1", "1: replay logs in a thread of their own; 0: only when one is full"};
/// The option of engines that replay so when a heap is closed or recovered as well.
inline constexpr OptionInfo kReplayersOption = {
    "replayers", "1", "threads that replay logs when a heap is closed or recovered, 1 to 64"};
inline constexpr uint64_t kMostReplayers = 64;

/// An engine, or its durable half, that can bring the home up to date by itself.
///   replay(options)   replays all there is in the logs, on threads of its own, outside
///                     run_threads. No transaction may be running: else Code::misuse. Code::
///                     too_many_threads, if the machine has no slots for the replayers. A crash
///                     meanwhile is like any other: recovery replays the same logs again.
template <class T>
concept ReplaysLogs = requires(T& t, const ReplayOptions& options) {
  { t.replay(options) } -> std::same_as<Result<ReplayReport>>;
};

/// The same of any engine.
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
