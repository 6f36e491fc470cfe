// SPDX-License-Identifier: Apache-2.0
//
// Takes the history of a run down, on any machine. The recorder's memory is the host's: on the
// simulated machine it costs no simulated time and is no scheduling point.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <vector>

#include "holdfast/check/history/history.h"

namespace holdfast::check {

class Recorder;

/// What one client does, one operation after the other. A body may run on another thread than its
/// client's (flat combining), as long as the client waits for it.
class ClientLog {
 public:
  ClientLog(Recorder& recorder, uint32_t thread) : recorder_(recorder), thread_(thread) {}

  /// The client is about to call update or read.
  void invoke(bool read_only);
  /// First thing in the body: whatever it did before was rolled back.
  void attempt();
  /// The body has loaded `word` from the object.
  void read(Object object, uint64_t word);
  /// The word to store in the object, in which the body has just found `replaced`.
  uint64_t write(Object object, uint64_t replaced);
  /// The same for a body that has not looked.
  uint64_t write_blindly(Object object);
  /// update or read has returned to the client: its last attempt was committed, or rolled back for
  /// good, with an exception of its body.
  void answer(Outcome outcome);

 private:
  friend class Recorder;
  Transaction& now() { return transactions_.back(); }
  uint64_t store(Access::Kind kind, Object object, Version replaced);

  Recorder& recorder_;
  uint32_t thread_;
  bool read_only_ = false;
  bool begun_ = false;     ///< the operation has an attempt
  uint64_t earliest_ = 0;  ///< begin of the next attempt
  uint32_t writes_ = 0;    ///< of the running attempt
  std::deque<Transaction> transactions_;
};

/// Thread safety: one thread per ClientLog; the rest while no client runs.
class Recorder {
 public:
  /// Transactions are numbered from first_number + 1. initial: the words the objects hold; empty:
  /// all zero.
  Recorder(uint32_t objects, uint32_t clients, uint32_t first_number = 0,
           std::vector<uint64_t> initial = {});

  ClientLog& client(uint32_t thread) { return clients_[thread]; }
  /// Counts begins, ends and accesses.
  uint64_t clock() const { return clock_.load(); }
  /// The history as it was at that moment (kForever: now): what came later has not happened, and
  /// what was not answered yet is live.
  History history(uint64_t until = kForever) const;
  uint32_t last_number() const { return number_.load(); }
  /// Words as the judges of this history want them: numbered from 1, and 0 where an object holds
  /// its initial value.
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
