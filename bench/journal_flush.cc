// SPDX-License-Identifier: Apache-2.0
//
// Measures how groups of a journal reach a disk: by pwrite and fdatasync, by a write with
// RWF_DSYNC, and by io_uring.
//
// Each client changes some lines again and again, and waits until they are durable. The methods
// take turns, so that a disturbance of the computer affects all rows alike. One client has a row of
// times, beside a raw overwrite of 4 KiB with fdatasync; more clients have rates. Medians over the
// turns with quartiles; `groups` is the mean number of changes that share a group.
//
//   journal_flush DIR [TURNS [SECONDS]]     files in DIR; default 9 turns of 0.5 s
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "bench/durable_store.h"
#include "holdfast/base/seconds_since.h"
#include "holdfast/machine/native/medium/journaled_memory.h"

namespace holdfast::native {
namespace {

constexpr uint64_t kJournalBytes = 64 << 20;
constexpr uint64_t kHomeBytes = 16 << 20;
// The lines of a put into a database of the default engine (docs/measurements/journal.md).
constexpr uint64_t kLinesPerChange = 20;
constexpr int kClients[] = {1, 16, 32};

int open_or_exit(const std::string& path, uint64_t bytes) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600);
  if (fd < 0 || posix_fallocate(fd, 0, static_cast<off_t>(bytes)) != 0) {
    std::perror(path.c_str());
    std::exit(1);
  }
  return fd;
}

/// A file with a journal behind its pages, and memory in place of a mapping.
class JournaledFile {
 public:
  JournaledFile(const std::string& path, FlushMethod method)
      : path_(path),
        fd_(open_or_exit(path, kHomeBytes + kJournalBytes)),
        sync_(fd_, path, {}),
        file_(fd_, path, sync_, method),
        memory_(kHomeBytes) {
    const JournalPlace place = {kHomeBytes, kJournalBytes};
    Journal::format(file_, place, 1).check();
    journal_ = Journal::open(file_, place, 2).value();
  }
  ~JournaledFile() {
    journal_.reset();
    ::close(fd_);
    ::unlink(path_.c_str());
  }
  JournaledFile(const JournaledFile&) = delete;
  JournaledFile& operator=(const JournaledFile&) = delete;

  /// A change of this client. It has lines of its own.
  void change(int client, uint64_t number) {
    const uint64_t lines = kHomeBytes / kLineBytes / 64;
    const uint64_t first =
        static_cast<uint64_t>(client) * lines + mix64(number) % (lines - kLinesPerChange);
    std::vector<LineRun> runs;
    for (uint64_t i = 0; i < kLinesPerChange; i += 2) {  // pairs of lines
      std::byte* const at = memory_.data() + (first + i) * kLineBytes;
      std::memcpy(at, &number, sizeof number);
      runs.push_back({(first + i) * kLineBytes, at, 1});
    }
    journal_->await(journal_->append(runs));
  }

  /// Returns the changes per second.
  double run(int clients, double seconds, std::vector<double>* us, double& per_group) {
    std::atomic<uint64_t> changes{0};
    std::atomic<bool> stop{false};
    const uint64_t groups = journal_->counters().groups;
    const auto begin = Clock::now();
    std::vector<std::thread> threads;
    for (int c = 0; c < clients; ++c) {
      threads.emplace_back([&, c] {
        uint64_t n = 0;
        while (!stop) {
          const auto from = Clock::now();
          change(c, ++number_[c]);
          ++n;
          if (us != nullptr) {
            us->push_back(1e6 * seconds_since(from));
          }
        }
        changes += n;
      });
    }
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    stop = true;
    for (std::thread& thread : threads) {
      thread.join();
    }
    const double rate = static_cast<double>(changes) / seconds_since(begin);
    per_group =
        static_cast<double>(changes) / static_cast<double>(journal_->counters().groups - groups);
    return rate;
  }

  FlushMethod method() const { return file_.flush_method(); }

 private:
  const std::string path_;
  const int fd_;
  MediumSync sync_;
  SystemJournalFile file_;
  std::vector<std::byte> memory_;
  std::unique_ptr<Journal> journal_;
  uint64_t number_[64] = {};
};

void raw(int fd, double seconds, std::vector<double>& us) {
  const std::vector<std::byte> page(kPageBytes);
  const auto begin = Clock::now();
  for (uint64_t i = 0; seconds_since(begin) < seconds; ++i) {
    const auto from = Clock::now();
    if (::pwrite(fd, page.data(), kPageBytes, static_cast<off_t>(i % 1024 * kPageBytes)) < 0 ||
        ::fdatasync(fd) != 0) {
      std::perror("raw");
      std::exit(1);
    }
    us.push_back(1e6 * seconds_since(from));
  }
}

struct Row {
  explicit Row(const std::string& path, FlushMethod method) : file(path, method) {}
  JournaledFile file;
  std::vector<double> us;
  std::vector<double> rates[std::size(kClients)];
  std::vector<double> shared[std::size(kClients)];
};

void measure(const std::string& directory, int turns, double seconds) {
  std::vector<std::unique_ptr<Row>> rows;
  for (const auto method : {FlushMethod::fdatasync, FlushMethod::dsync, FlushMethod::io_uring}) {
    rows.push_back(
        std::make_unique<Row>(directory + "/journal_flush." + to_string(method), method));
  }
  const std::string raw_path = directory + "/journal_flush.raw";
  const int raw_fd = open_or_exit(raw_path, kHomeBytes);
  const std::vector<std::byte> zeros(kHomeBytes);
  if (::pwrite(raw_fd, zeros.data(), kHomeBytes, 0) < 0 || ::fsync(raw_fd) != 0) {
    std::perror("raw");
    std::exit(1);
  }
  std::vector<double> raw_us;
  for (int turn = 0; turn < turns; ++turn) {
    raw(raw_fd, seconds, raw_us);
    for (size_t i = 0; i < std::size(kClients); ++i) {
      for (auto& row : rows) {
        double shared = 0;
        const int n = kClients[i];
        row->rates[i].push_back(row->file.run(n, seconds, n == 1 ? &row->us : nullptr, shared));
        row->shared[i].push_back(shared);
      }
    }
  }
  ::close(raw_fd);
  ::unlink(raw_path.c_str());
  const double base = quantile(raw_us, 0.5);
  std::printf("raw overwrite of 4 KiB: %.1f us (%.1f to %.1f)\n", base, quantile(raw_us, 0.25),
              quantile(raw_us, 0.75));
  for (const auto& row : rows) {
    std::printf("%-10s 1 client %.1f us (%.1f to %.1f), %.2f raw overwrites\n",
                to_string(row->file.method()), quantile(row->us, 0.5), quantile(row->us, 0.25),
                quantile(row->us, 0.75), quantile(row->us, 0.5) / base);
    for (size_t i = 0; i < std::size(kClients); ++i) {
      std::printf("           %2d clients %.0f per second (%.0f to %.0f), groups %.1f\n",
                  kClients[i], quantile(row->rates[i], 0.5), quantile(row->rates[i], 0.25),
                  quantile(row->rates[i], 0.75), quantile(row->shared[i], 0.5));
    }
  }
}

}  // namespace
}  // namespace holdfast::native

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: journal_flush DIR [TURNS [SECONDS]]\n");
    return 2;
  }
  holdfast::native::measure(argv[1], argc > 2 ? std::atoi(argv[2]) : 9,
                            argc > 3 ? std::atof(argv[3]) : 0.5);
  return 0;
}
