// SPDX-License-Identifier: Apache-2.0
//
// Measures durable puts on a disk, with and without a journal.
//
// Raw overwrites of 4 KiB with fdatasync, then puts into a hash map (8-byte keys, 104-byte values,
// overwritten at random) in a heap of the default engine in domain `file`, by one client and by
// more. All take turns, so that a disturbance of the computer affects all of them alike. The
// figures are medians over the turns, with the smallest and the largest.
//
//   journal_puts DIR [CLIENTS [TURNS [SECONDS]]]     files in DIR; default 16 clients, 5, 1
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "holdfast/base/random.h"
#include "holdfast/holdfast.h"
#include "holdfast/structures/hash_map.h"

namespace holdfast {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint64_t kKeys = 100'000;
constexpr size_t kJournalBytes = 64 << 20;

struct Value {
  static constexpr const char* kTypeName = "bench.Value";
  uint64_t words[13];
};
using Map = HashMap<DefaultHeap, uint64_t, Value>;

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

  /// Returns the overwrites per second.
  double run(double seconds) {
    const auto begin = Clock::now();
    uint64_t done = 0;
    while (seconds_since(begin) < seconds) {
      overwrite(next_++ % kBlocks);
      sync();
      ++done;
    }
    return static_cast<double>(done) / seconds_since(begin);
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

/// A heap with a filled map.
class Store {
 public:
  Store(const std::string& path, size_t journal_bytes) : path_(path) {
    NativeOptions native;
    native.domain = Domain::file;
    CreateOptions create;
    create.bytes = 32 << 20;
    create.journal_bytes = journal_bytes;
    ::unlink(path.c_str());
    heap_ = DefaultHeap::create(path, create, native).value();
    map_ = heap_->root<Map>("map").value();
    for (uint64_t key = 0; key < kKeys; key += 1000) {
      heap_
          ->update([&] {
            for (uint64_t k = key; k < key + 1000; ++k) {
              map_->insert(k, Value{});
            }
          })
          .check();
    }
    filled_ = counters();
  }
  ~Store() {
    heap_.reset();
    ::unlink(path_.c_str());
  }
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  /// Returns the durable puts per second of all clients.
  double run(int clients, double seconds) {
    std::atomic<uint64_t> done{0};
    const auto begin = Clock::now();
    std::vector<std::thread> threads;
    for (int client = 0; client < clients; ++client) {
      threads.emplace_back([&, client] {
        Random random(++seed_ + static_cast<uint64_t>(client));
        uint64_t mine = 0;
        while (seconds_since(begin) < seconds) {
          Value value{};
          value.words[0] = ++mine;
          const uint64_t key = random.below(kKeys);
          heap_->update([&] { map_->put(key, value); }).check();
        }
        done += mine;
      });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    return static_cast<double>(done) / seconds_since(begin);
  }

  /// Prints the work of the journal since the map was filled.
  void print_counters() {
    const native::JournalCounters now = counters();
    const auto groups = static_cast<double>(now.groups - filled_.groups);
    std::printf("journal: %.0f groups of %.1f lines and %.0f bytes, %.0f checkpoints\n", groups,
                static_cast<double>(now.lines - filled_.lines) / groups,
                static_cast<double>(now.group_bytes - filled_.group_bytes) / groups,
                static_cast<double>(now.checkpoints - filled_.checkpoints));
  }

 private:
  native::JournalCounters counters() {
    auto* const memory = heap_->machine().medium().journaled();
    return memory != nullptr ? memory->journal().counters() : native::JournalCounters();
  }

  const std::string path_;
  std::unique_ptr<DefaultHeap> heap_;
  native::JournalCounters filled_;
  Map* map_ = nullptr;
  std::atomic<uint64_t> seed_{1};
};

void print(const char* name, std::vector<double> rates) {
  std::sort(rates.begin(), rates.end());
  const double median = rates[rates.size() / 2];
  std::printf("%-28s %9.0f per second (%.0f to %.0f), %8.1f us each\n", name, median, rates.front(),
              rates.back(), 1e6 / median);
}

int measure(const std::string& directory, int clients, int turns, double seconds) {
  RawFile raw(directory + "/journal_puts.raw");
  Store plain(directory + "/journal_puts.plain", 0);
  Store journaled(directory + "/journal_puts.journaled", kJournalBytes);
  std::vector<double> rates[5];
  for (int turn = 0; turn < turns; ++turn) {
    rates[0].push_back(raw.run(seconds));
    rates[1].push_back(plain.run(1, seconds));
    rates[2].push_back(journaled.run(1, seconds));
    rates[3].push_back(plain.run(clients, seconds));
    rates[4].push_back(journaled.run(clients, seconds));
  }
  std::printf("%d clients, %d turns of %.1f s, journal of %zu bytes\n", clients, turns, seconds,
              kJournalBytes);
  const char* const names[] = {"raw overwrite of 4 KiB", "1 client, no journal",
                               "1 client, journal", "clients, no journal", "clients, journal"};
  for (size_t i = 0; i < std::size(rates); ++i) {
    print(names[i], rates[i]);
  }
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
