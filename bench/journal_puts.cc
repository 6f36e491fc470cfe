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

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "bench/durable_store.h"
#include "holdfast/base/seconds_since.h"
#include "holdfast/machine/types.h"

namespace holdfast {
namespace {

constexpr size_t kJournalBytes = 64 << 20;

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
  DurableStore plain(directory + "/journal_puts.plain", {});
  DurableStore journaled(directory + "/journal_puts.journaled", {.journal_bytes = kJournalBytes});
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
