// SPDX-License-Identifier: Apache-2.0
//
// Generates legal histories of any length, for tests and for the checkers' benchmark. Threads run
// at random speeds over one multi-version store. A transaction begins, takes its snapshot, commits
// and is answered at four moments; in an opaque history the snapshot and the commit share one
// moment.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "holdfast/base/random.h"
#include "holdfast/check/history/history.h"
#include "holdfast/engines/engine.h"

namespace holdfast::check {

/// The properties of a generated history.
struct LegalOptions {
  uint64_t seed = 1;
  Isolation isolation = Isolation::opaque;
  uint32_t objects = 3;
  uint32_t threads = 3;
  uint32_t transactions = 6;
  uint32_t accesses = 4;       ///< most accesses of an ordinary transaction
  uint32_t scan_permille = 0;  ///< share of read-only transactions that read `scan` objects
  uint32_t scan = 100;
  uint32_t write_percent = 50;  ///< share of accesses that write
  uint32_t blind_percent = 0;   ///< share of writes that are blind
  uint32_t abort_percent = 10;
  bool stop_early = true;  ///< leaves the last transactions without an answer
};

/// Generates one history.
class LegalHistory {
 public:
  explicit LegalHistory(const LegalOptions& options)
      : options_(options),
        random_(options.seed),
        threads_(options.threads),
        store_(options.objects, {{0, {}}}),
        own_(options.objects) {}

  /// Generates the history. Call it once; words() then returns the values in the store.
  History make() {
    history_.objects = options_.objects;
    while (history_.transactions.size() < options_.transactions) {
      advance(static_cast<uint32_t>(random_.below(options_.threads)));
    }
    for (uint32_t t = 0; t < options_.threads && !options_.stop_early; ++t) {
      while (threads_[t].phase != Phase::idle) {
        advance(t);
      }
    }
    return std::move(history_);
  }

  /// Returns the values in the store at the end.
  std::vector<uint64_t> words() const { return words(clock_); }
  /// Returns the values in the store at a moment. Call it after make().
  std::vector<uint64_t> words(uint64_t time) const {
    std::vector<uint64_t> words;
    words.reserve(options_.objects);
    for (Object object = 0; object < options_.objects; ++object) {
      words.push_back(version_at(object, time).word());
    }
    return words;
  }
  uint64_t clock() const { return clock_; }

 private:
  enum class Phase : uint8_t { idle, begun, started, decided };
  struct Thread {
    Phase phase = Phase::idle;
    uint32_t number = 0;
    uint64_t snapshot = 0;
  };

  Transaction& of(const Thread& thread) { return history_.transactions[thread.number - 1]; }

  void advance(uint32_t index) {
    Thread& thread = threads_[index];
    const uint64_t now = ++clock_;
    switch (thread.phase) {
      case Phase::idle: {
        thread.number = static_cast<uint32_t>(history_.transactions.size() + 1);
        Transaction fresh;
        fresh.number = thread.number;
        fresh.thread = index;
        fresh.begin = now;
        fresh.end = kForever;
        history_.transactions.push_back(std::move(fresh));
        thread.phase = Phase::begun;
        break;
      }
      case Phase::begun:
        thread.snapshot = now;
        run(of(thread), now);
        thread.phase = Phase::started;
        if (options_.isolation == Isolation::opaque) {
          decide(thread, now);
        }
        break;
      case Phase::started:
        decide(thread, now);
        break;
      case Phase::decided:
        of(thread).outcome = thread.snapshot == 0 ? Outcome::aborted : Outcome::committed;
        of(thread).end = now;
        thread.phase = Phase::idle;
        break;
    }
  }

  void run(Transaction& transaction, uint64_t snapshot) {
    const bool scans = random_.below(1'000) < options_.scan_permille;
    const uint64_t count = scans ? options_.scan : 1 + random_.below(options_.accesses);
    const auto from = static_cast<Object>(random_.below(options_.objects));
    uint32_t writes = 0;
    for (uint64_t i = 0; i < count; ++i) {
      const auto object = static_cast<Object>(scans ? (from + i) % options_.objects
                                                    : random_.below(options_.objects));
      const Version found = own_[object].transaction == transaction.number
                                ? own_[object]
                                : version_at(object, snapshot);
      Access access{Access::Kind::read, object, found};
      if (!scans && random_.below(100) < options_.write_percent) {
        const bool blind = random_.below(100) < options_.blind_percent;
        access = {blind ? Access::Kind::blind : Access::Kind::write,
                  object,
                  {transaction.number, ++writes},
                  blind ? Version{} : found};
        own_[object] = access.version;
      }
      transaction.accesses.push_back(access);
    }
    transaction.read_only = writes == 0;
  }

  Version version_at(Object object, uint64_t time) const {
    auto at = store_[object].rbegin();
    while (at->first > time) {
      ++at;
    }
    return at->second;
  }

  /// Commits the attempt, or sets `snapshot` to 0 to roll it back. It rolls back at random, or
  /// because another transaction committed a write to the same object since the snapshot.
  void decide(Thread& thread, uint64_t now) {
    thread.phase = Phase::decided;
    const auto& accesses = of(thread).accesses;
    const bool conflict = std::any_of(accesses.begin(), accesses.end(), [&](const Access& access) {
      return access.writes() && store_[access.object].back().first > thread.snapshot;
    });
    if (conflict || random_.below(100) < options_.abort_percent) {
      thread.snapshot = 0;
      return;
    }
    for (const Access& access : accesses) {
      if (access.writes()) {
        auto& versions = store_[access.object];
        if (versions.back().first == now && versions.size() > 1) {
          versions.back().second = access.version;
        } else {
          versions.emplace_back(now, access.version);
        }
      }
    }
  }

  const LegalOptions options_;
  Random random_;
  uint64_t clock_ = 0;
  std::vector<Thread> threads_;
  std::vector<std::vector<std::pair<uint64_t, Version>>> store_;  // commit time and version
  std::vector<Version> own_;  // by object: the latest write of any transaction
  History history_;
};

inline History legal_history(const LegalOptions& options) {
  return LegalHistory(options).make();
}

}  // namespace holdfast::check
