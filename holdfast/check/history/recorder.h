// SPDX-License-Identifier: Apache-2.0
//
// Records the history of a run, on any machine. The recorder uses the host's memory, so on the
// simulated machine it takes no simulated time and adds no scheduling point.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <vector>

#include "holdfast/check/history/history.h"

namespace holdfast::check {

class Recorder;

/// The log of one client, which executes one operation after the other. Another thread may run a
/// body (flat combining) while the client waits for it.
class ClientLog {
 public:
  ClientLog(Recorder& recorder, uint32_t thread) : recorder_(recorder), thread_(thread) {}

  /// Call it before the client calls update or read.
  void invoke(bool read_only, Commit commit = Commit::unsaid);
  /// Call it first in the body. It ends the attempt before as rolled back.
  void attempt();
  /// Records that the body has loaded `word` from the object.
  void read(Object object, uint64_t word);
  /// Records a write and returns the word to store. The body has just found `replaced` in the
  /// object.
  uint64_t write(Object object, uint64_t replaced);
  /// Records a write of an object that the body has not read, and returns the word to store.
  uint64_t write_blindly(Object object);
  /// Call it when update or read has returned. The last attempt committed, or an exception of the
  /// body rolled it back for good.
  void answer(Outcome outcome);

 private:
  friend class Recorder;
  Transaction& now() { return transactions_.back(); }
  uint64_t store(Access::Kind kind, Object object, Version replaced);

  Recorder& recorder_;
  uint32_t thread_;
  bool read_only_ = false;
  Commit commit_ = Commit::unsaid;
  bool begun_ = false;     ///< the operation has an attempt
  uint64_t earliest_ = 0;  ///< begin of the next attempt
  uint32_t writes_ = 0;    ///< writes of the running attempt
  std::deque<Transaction> transactions_;
};

/// Records the operations of all clients in one history.
///
/// Thread safety: one thread at a time per ClientLog. The functions here, except clock(), may be
/// called while no client runs.
class Recorder {
 public:
  /// Transactions get numbers from first_number + 1 on. `initial` has the words of the objects;
  /// empty: all are zero.
  Recorder(uint32_t objects, uint32_t clients, uint32_t first_number = 0,
           std::vector<uint64_t> initial = {});

  ClientLog& client(uint32_t thread) { return clients_[thread]; }
  /// Returns the number of begins, ends and accesses so far.
  uint64_t clock() const { return clock_.load(); }
  /// Returns the history up to that moment (kForever: now). It lacks later events, and a
  /// transaction that was not yet answered is live.
  History history(uint64_t until = kForever) const;
  uint32_t last_number() const { return number_.load(); }
  /// Converts words of the objects for the judges of this history: transactions are numbered from
  /// 1, and an initial value is 0.
  std::vector<uint64_t> translate(const std::vector<uint64_t>& words) const;

 private:
  friend class ClientLog;
  uint64_t tick() { return ++clock_; }
  Version version(Object object, uint64_t word) const;

  uint32_t objects_;
  uint32_t first_number_;
  std::vector<uint64_t> initial_;
  std::atomic<uint64_t> clock_{0};
  std::atomic<uint32_t> number_;
  std::deque<ClientLog> clients_;
};

}  // namespace holdfast::check
