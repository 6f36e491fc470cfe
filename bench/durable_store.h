// SPDX-License-Identifier: Apache-2.0
//
// A database on a disk, for benchmarks of durable puts.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "holdfast/base/random.h"
#include "holdfast/base/seconds_since.h"
#include "holdfast/db/db.h"

namespace holdfast {

using Clock = std::chrono::steady_clock;

inline constexpr size_t kStoreKeyBytes = 16;
inline constexpr size_t kStoreValueBytes = 100;

/// Returns the value with this share of the others below it.
inline double quantile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(share * static_cast<double>(values.size() - 1))];
}

/// How many puts the groups of a journal were shared by.
struct Shared {
  uint64_t puts = 0;
  uint64_t groups = 0;
};

/// A filled database in domain `file`, whose entries are overwritten at random.
class DurableStore {
 public:
  struct Spec {
    std::string engine = {};   ///< empty: the default one
    size_t journal_bytes = 0;  ///< 0: none
    uint64_t keys = 100'000;
  };

  DurableStore(const std::string& path, const Spec& spec) : path_(path), keys_(spec.keys) {
    db::Options options;
    options.engine = spec.engine;
    options.create_if_missing = true;
    options.error_if_exists = true;
    options.domain = Domain::file;
    options.initial_bytes = 64 << 20;
    options.journal_bytes = spec.journal_bytes;
    ::unlink(path.c_str());
    db::DB* opened = nullptr;
    check(db::DB::Open(options, path, &opened));
    db_.reset(opened);
    for (uint64_t key = 0; key < keys_; key += 1000) {
      db::WriteBatch batch;
      for (uint64_t k = key; k < key + 1000; ++k) {
        batch.Put(name_of(k), std::string(kStoreValueBytes, 'v'));
      }
      check(db_->Write({}, &batch));
    }
    filled_ = counters();
  }
  ~DurableStore() {
    db_.reset();
    ::unlink(path_.c_str());
  }
  DurableStore(const DurableStore&) = delete;
  DurableStore& operator=(const DurableStore&) = delete;

  /// Overwrites an entry durably.
  void put() {
    std::memcpy(value_.data(), &next_, sizeof next_);
    ++next_;
    check(db_->Put({}, name_of(random_.below(keys_)), value_));
  }

  /// Returns the durable puts per second of all clients. Adds puts and groups to `shared`. Threads
  /// that get entries at random run beside the clients, and `gets` becomes their rate.
  double run(int clients, double seconds, Shared& shared, int readers = 0, double* gets = nullptr) {
    const uint64_t groups_before = counters().groups;
    std::atomic<uint64_t> done{0};
    std::atomic<uint64_t> got{0};
    const auto begin = Clock::now();
    std::vector<std::thread> threads;
    for (int reader = 0; reader < readers; ++reader) {
      threads.emplace_back([&] {
        Random random(++seed_);
        std::string value;
        uint64_t mine = 0;
        for (; seconds_since(begin) < seconds; ++mine) {
          check(db_->Get({}, name_of(random.below(keys_)), &value));
        }
        got += mine;
      });
    }
    for (int client = 0; client < clients; ++client) {
      threads.emplace_back([&] {
        Random random(++seed_);
        std::string value(kStoreValueBytes, 'v');
        uint64_t mine = 0;
        while (seconds_since(begin) < seconds) {
          ++mine;
          std::memcpy(value.data(), &mine, sizeof mine);
          check(db_->Put({}, name_of(random.below(keys_)), value));
        }
        done += mine;
      });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    const double rate = static_cast<double>(done) / seconds_since(begin);
    if (gets != nullptr) {
      *gets = static_cast<double>(got) / seconds_since(begin);
    }
    shared.puts += done;
    shared.groups += counters().groups - groups_before;
    return rate;
  }

  /// Prints the work of the journal since the database was filled.
  void print_counters() const {
    const Counters now = counters();
    const auto groups = static_cast<double>(now.groups - filled_.groups);
    std::printf("journal: %.0f groups of %.1f lines and %.0f bytes, %.0f checkpoints\n", groups,
                static_cast<double>(now.lines - filled_.lines) / groups,
                static_cast<double>(now.bytes - filled_.bytes) / groups,
                static_cast<double>(now.checkpoints - filled_.checkpoints));
  }

 private:
  struct Counters {
    uint64_t groups, lines, bytes, checkpoints;
  };

  static void check(const db::Status& status) {
    if (!status.ok()) {
      std::fprintf(stderr, "%s\n", status.ToString().c_str());
      std::exit(1);
    }
  }
  static std::string name_of(uint64_t key) {
    char name[32];
    std::snprintf(name, sizeof name, "%016llu", static_cast<unsigned long long>(key));
    return name;
  }
  Counters counters() const {
    std::string text;
    db_->GetProperty("holdfast.prometheus", &text);
    const auto number = [&](const std::string& name) -> uint64_t {
      const size_t at = text.find("\nholdfast_db_journal_" + name + "{");
      return std::strtoull(text.c_str() + text.find("} ", at) + 2, nullptr, 10);
    };
    return {number("groups_total"), number("lines_total"), number("written_bytes_total"),
            number("checkpoints_total")};
  }

  const std::string path_;
  const uint64_t keys_;
  std::unique_ptr<db::DB> db_;
  Counters filled_{};
  std::atomic<uint64_t> seed_{1};
  Random random_{0};
  std::string value_ = std::string(kStoreValueBytes, 'v');
  uint64_t next_ = 0;
};

}  // namespace holdfast
