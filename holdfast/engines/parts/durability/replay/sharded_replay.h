// SPDX-License-Identifier: Apache-2.0
//
// Log replay on its own threads, one or several (SPHT; FUR 4.5 mentions it), for any kind of log.
// Each replayer owns some pages of the home. It walks all transactions in order and stores those
// values that lie in its own pages. So no two replayers touch the same line, and every word
// receives its values in order.
//
//   each replayer   walk: records in own pages -> home, pwb; pfence; count itself as done
//   the last one    tail, pwb; pfence; space is free
//
// The durable tail moves once, when the home has everything. After a crash before that, the tail is
// the old one. Replay from it stores the logs' values again, so the result does not depend on how
// often replay begins.
//
// With `filter` a replayer walks twice: forward to find the end, and then backward, storing each
// word when it first meets it. The values it skips were overwritten within the range, and the range
// becomes durable as a whole.
#pragma once

#include <algorithm>
#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "holdfast/engines/engine.h"
#include "holdfast/engines/parts/basics/log_replay.h"
#include "holdfast/engines/parts/durability/replay/redo_record.h"
#include "holdfast/engines/parts/durability/replay/written_words.h"

namespace holdfast {

/// One replayer's part of the home. For one thread.
template <class M>
class ReplayShard {
 public:
  ReplayShard(M& machine, const Regions& regions, int number, int shards, WrittenWords<M>* written,
              bool to_working_copy)
      : machine_(machine),
        regions_(regions),
        number_(static_cast<uint64_t>(number)),
        shards_(static_cast<uint64_t>(shards)),
        written_(written),
        to_working_copy_(to_working_copy) {}

  /// True if transactions come newest first.
  bool backward() const { return written_ != nullptr; }
  uint64_t logged() const { return logged_; }
  uint64_t stored() const { return stored_; }
  /// Buffer into which the caller reads a transaction's records.
  std::vector<uint64_t>& words() { return words_; }

  /// Stores the values of the records in words() that lie in this shard, and begins to write them
  /// back.
  void apply(Site site) {
    if (!backward()) {
      for_each_record(words_.data(), words_.size(), [&](RedoRecord r, const uint64_t* payload) {
        for_each_part(r, payload, [&](uint64_t offset, const uint64_t* from, uint64_t n) {
          store(offset, from, n, site);
        });
      });
      return;
    }
    records_.clear();
    for_each_record(words_.data(), words_.size(), [&](RedoRecord r, const uint64_t* payload) {
      records_.push_back({r, payload});
    });
    for (size_t i = records_.size(); i-- > 0;) {  // also within a transaction, the last value wins
      for_each_part(records_[i].record, records_[i].payload,
                    [&](uint64_t offset, const uint64_t* from, uint64_t n) {
                      store_unwritten(offset, from, n, site);
                    });
    }
  }

 private:
  /// A record of the transaction in words_, and its payload there.
  struct PlacedRecord {
    RedoRecord record;
    const uint64_t* payload;
  };

  /// Calls f(offset, payload, bytes) for the parts of a record in own pages.
  template <class F>
  void for_each_part(RedoRecord r, const uint64_t* payload, F&& f) {
    for (uint64_t done = 0; done < r.bytes;) {
      const uint64_t at = r.offset + done;
      const uint64_t n = std::min(r.bytes - done, kPageBytes - at % kPageBytes);
      if (at / kPageBytes % shards_ == number_) {
        logged_ += n;
        f(at, payload + done / 8, n);
      }
      done += n;
    }
  }

  void store(uint64_t offset, const uint64_t* from, uint64_t n, Site site) {
    M::copy(regions_.home + offset, from, n);
    machine_.pwb_range(regions_.home + offset, n, site);
    if (to_working_copy_) {
      M::copy(regions_.data + offset, from, n);
    }
    stored_ += n;
  }

  void store_unwritten(uint64_t offset, const uint64_t* from, uint64_t n, Site site) {
    uint64_t run = 0;  // bytes since the last word that had been written already
    for (uint64_t at = 0; at <= n; at += 8) {
      if (at < n && written_->first(offset + at)) {
        run += 8;
      } else if (run != 0) {
        store(offset + at - run, from + (at - run) / 8, run, site);
        run = 0;
      }
    }
  }

  M& machine_;
  const Regions& regions_;
  const uint64_t number_;
  const uint64_t shards_;
  WrittenWords<M>* written_;
  const bool to_working_copy_;
  uint64_t logged_ = 0;
  uint64_t stored_ = 0;
  std::vector<uint64_t> words_;
  std::vector<PlacedRecord> records_;
};

/// Runs the threads of one replay. Call it outside run_threads; one replay at a time.
template <class M>
class ShardedReplay {
 public:
  explicit ShardedReplay(M& machine) : machine_(machine), written_(machine) {}

  /// The most replayers that the machine has slots for.
  int most() const { return std::max(1, machine_.slots() - kOtherSlots); }

  /// Calls walk(shard) once on each replayer's thread. The last replayer whose shard is durable
  /// calls finish(walked) on its thread.
  /// The result of walk has `transactions`, the length of the walk, and `complete`, false if it met
  /// a transaction in flight. If a walk is incomplete, or their lengths differ, finish() is not
  /// called and the result is Code::misuse. Code::too_many_threads for more than most() replayers.
  /// Recovery also stores to the working copy (`to_working_copy`).
  template <class Walk, class Finish>
  Result<ReplayReport> run(const Regions& regions, const ReplayOptions& options, Walk&& walk,
                           Finish&& finish, bool to_working_copy = false) {
    const int n = options.replayers;
    if (n < 1 || n > most()) {
      return Status(Code::too_many_threads, "the heap has slots for 1 to " +
                                                std::to_string(most()) + " replayers, not " +
                                                std::to_string(n));
    }
    if (options.filter) {
      written_.begin(regions.bytes);
    }
    if (done_ == nullptr) {
      done_ = make_object<Word>(machine_);
    }
    // Relaxed: the threads start afterwards, which orders the store before their accesses.
    done_->store(0, std::memory_order_relaxed);
    ReplayReport report;
    std::vector<Part> parts(static_cast<size_t>(n));
    bool finished = false;
    machine_.run_threads(n, [&](int number) {
      const PhaseScope<M> scope(Phase::replay);
      ReplayShard<M> shard(machine_, regions, number, n, options.filter ? &written_ : nullptr,
                           to_working_copy);
      auto walked = walk(shard);
      // Separates this shard's values from the count: they are durable before the shard counts.
      machine_.pfence(Site{"replay.shard.fence"});
      parts[static_cast<size_t>(number)] = {walked.transactions, walked.complete, shard.logged(),
                                            shard.stored()};
      // Sequentially consistent: the thread that completes the count sees all others' `parts`.
      const bool last = done_->fetch_add(1) + 1 == static_cast<uint64_t>(n);
      if ((last && agree(parts)) || machine_.skips(Site{"replay.shard.last"})) {
        finish(walked);
        finished = true;
      }
    });
    if (machine_.failed()) {
      throw MediumFailure(machine_.failure());
    }
    if (!finished) {
      return Status(Code::misuse, "logs cannot be replayed while a transaction is running");
    }
    report.transactions = parts[0].transactions;
    for (const Part& part : parts) {
      report.logged += part.logged;
      report.written += part.written;
    }
    return report;
  }

 private:
  using Word = typename M::template Atomic<uint64_t>;
  /// The slots of the calling thread and of the background thread.
  static constexpr int kOtherSlots = 2;

  struct Part {
    uint64_t transactions = 0;
    bool complete = false;
    uint64_t logged = 0;
    uint64_t written = 0;
  };

  static bool agree(const std::vector<Part>& parts) {
    return std::all_of(parts.begin(), parts.end(), [&](const Part& part) {
      return part.complete && part.transactions == parts[0].transactions;
    });
  }

  M& machine_;
  WrittenWords<M> written_;
  Word* done_ = nullptr;  // allocated at first use
};

}  // namespace holdfast
