// SPDX-License-Identifier: Apache-2.0
//
// Measures durable puts on a disk, with and without a journal.
//
// The database has the default engine in domain `file`, 16-byte keys and 100-byte values, which are
// overwritten at random. A turn has three parts, so that a disturbance of the computer affects all
// rows alike:
//
//   one client    one after the other: a raw overwrite of 4 KiB with fdatasync, a put without a
//                 journal, a put with one. Times are medians with quartiles over all turns.
//   more clients  puts without a journal, then puts with one. Rates are medians over the turns,
//                 with the smallest and the largest.
//
//   journal_puts DIR [CLIENTS [TURNS [SECONDS]]]     files in DIR; default 16 clients, 5, 1
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "holdfast/base/random.h"
#include "holdfast/db/db.h"
#include "holdfast/machine/types.h"

namespace holdfast {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint64_t kKeys = 100'000;
constexpr size_t kKeyBytes = 16;
constexpr size_t kValueBytes = 100;
constexpr size_t kJournalBytes = 64 << 20;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// Overwrites blocks of a file in turn, each durably.
class RawFile {
 public:
  explicit RawFile(const std::string& path)
      : path_(path), fd_(::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600)) {
    for (uint64_t i = 0; i < kBlocks; ++i) {
      overwrite(i);
    }
    sync();
  }
  ~RawFile() {
    ::close(fd_);
    ::unlink(path_.c_str());
  }
  RawFile(const RawFile&) = delete;
  RawFile& operator=(const RawFile&) = delete;

  /// Overwrites a block durably.
  void put() {
    overwrite(next_++ % kBlocks);
    sync();
  }

 private:
  static constexpr uint64_t kBlocks = 4096;

  void overwrite(uint64_t block) {
    const std::vector<char> bytes(kPageBytes, static_cast<char>(block));
    if (::pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(block * kPageBytes)) !=
        static_cast<ssize_t>(bytes.size())) {
      std::perror("pwrite");
      std::exit(1);
    }
  }
  void sync() const {
    if (fdatasync(fd_) != 0) {
      std::perror("fdatasync");
      std::exit(1);
    }
  }

  const std::string path_;
  const int fd_;
  uint64_t next_ = 0;
};

/// How many puts the groups of a journal were shared by.
struct Shared {
  uint64_t puts = 0;
  uint64_t groups = 0;
};

/// A filled database.
class Store {
 public:
  Store(const std::string& path, size_t journal_bytes) : path_(path) {
    db::Options options;
    options.create_if_missing = true;
    options.error_if_exists = true;
    options.domain = Domain::file;
    options.initial_bytes = 64 << 20;
    options.journal_bytes = journal_bytes;
    ::unlink(path.c_str());
    db::DB* opened = nullptr;
    check(db::DB::Open(options, path, &opened));
    db_.reset(opened);
    for (uint64_t key = 0; key < kKeys; key += 1000) {
      db::WriteBatch batch;
      for (uint64_t k = key; k < key + 1000; ++k) {
        batch.Put(name_of(k), std::string(kValueBytes, 'v'));
      }
      check(db_->Write({}, &batch));
    }
    filled_ = counters();
  }
  ~Store() {
    db_.reset();
    ::unlink(path_.c_str());
  }
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  /// Overwrites an entry durably.
  void put() {
    std::memcpy(value_.data(), &next_, sizeof next_);
    ++next_;
    check(db_->Put({}, name_of(random_.below(kKeys)), value_));
  }

  /// Returns the durable puts per second of all clients. Adds puts and groups to `shared`.
  double run(int clients, double seconds, Shared& shared) {
    const uint64_t groups_before = counters().groups;
    std::atomic<uint64_t> done{0};
    const auto begin = Clock::now();
    std::vector<std::thread> threads;
    for (int client = 0; client < clients; ++client) {
      threads.emplace_back([&] {
        Random random(++seed_);
        std::string value(kValueBytes, 'v');
        uint64_t mine = 0;
        while (seconds_since(begin) < seconds) {
          ++mine;
          std::memcpy(value.data(), &mine, sizeof mine);
          check(db_->Put({}, name_of(random.below(kKeys)), value));
        }
        done += mine;
      });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    const double rate = static_cast<double>(done) / seconds_since(begin);
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
    char name[kKeyBytes + 1];
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
  std::unique_ptr<db::DB> db_;
  Counters filled_{};
  std::atomic<uint64_t> seed_{1};
  Random random_{0};
  std::string value_ = std::string(kValueBytes, 'v');
  uint64_t next_ = 0;
};

double quantile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(share * static_cast<double>(values.size() - 1))];
}

/// The times of one operation, in microseconds.
class Times {
 public:
  template <class F>
  void time(F&& operation) {
    const auto begin = Clock::now();
    operation();
    us_.push_back(1e6 * seconds_since(begin));
  }
  double at(double share) const { return quantile(us_, share); }
  void print(const char* name, const Times& raw) const {
    std::printf("%-24s %7.0f us (%.0f to %.0f), %5.2f raw overwrites; quartiles %.2f and %.2f\n",
                name, at(0.5), at(0.25), at(0.75), at(0.5) / raw.at(0.5), at(0.25) / raw.at(0.25),
                at(0.75) / raw.at(0.75));
  }

 private:
  std::vector<double> us_;
};

void print(const char* name, const std::vector<double>& rates) {
  std::printf("%-24s %7.0f per second (%.0f to %.0f)\n", name, quantile(rates, 0.5),
              quantile(rates, 0), quantile(rates, 1));
}

int measure(const std::string& directory, int clients, int turns, double seconds) {
  RawFile raw(directory + "/journal_puts.raw");
  Store plain(directory + "/journal_puts.plain", 0);
  Store journaled(directory + "/journal_puts.journaled", kJournalBytes);
  Times raw_times;
  Times plain_times;
  Times journal_times;
  std::vector<double> plain_rates;
  std::vector<double> journal_rates;
  Shared shared;
  for (int turn = 0; turn < turns; ++turn) {
    const auto begin = Clock::now();
    while (seconds_since(begin) < seconds) {
      raw_times.time([&] { raw.put(); });
      plain_times.time([&] { plain.put(); });
      journal_times.time([&] { journaled.put(); });
    }
    Shared ignored;
    plain_rates.push_back(plain.run(clients, seconds, ignored));
    journal_rates.push_back(journaled.run(clients, seconds, shared));
  }
  std::printf("%d clients, %d turns of %.1f s, journal of %zu bytes\n", clients, turns, seconds,
              kJournalBytes);
  raw_times.print("raw overwrite of 4 KiB", raw_times);
  plain_times.print("1 client, no journal", raw_times);
  journal_times.print("1 client, journal", raw_times);
  print("clients, no journal", plain_rates);
  print("clients, journal", journal_rates);
  std::printf("clients share a group: %.1f puts in each\n",
              static_cast<double>(shared.puts) / static_cast<double>(shared.groups));
  journaled.print_counters();
  return 0;
}

}  // namespace
}  // namespace holdfast

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: journal_puts DIR [CLIENTS [TURNS [SECONDS]]]\n");
    return 2;
  }
  return holdfast::measure(argv[1], argc > 2 ? std::atoi(argv[2]) : 16,
                           argc > 3 ? std::atoi(argv[3]) : 5, argc > 4 ? std::atof(argv[4]) : 1);
}
