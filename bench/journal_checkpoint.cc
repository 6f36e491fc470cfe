// SPDX-License-Identifier: Apache-2.0
//
// Measures a checkpoint with and without a table of page checksums.
//
// A journal gets one line of each page, in an order drawn at random, and makes them durable. Then
// the checkpoint is measured, which writes all of these pages home. Files with a table and files
// without one take turns. Times are medians over the turns, for a page. The last row is a page's
// checksum alone, of which a checkpoint takes two.
//
//   journal_checkpoint DIR [PAGES [TURNS]]     files in DIR; default 20000 pages, 9 turns
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "holdfast/base/random.h"
#include "holdfast/machine/native/medium/journaled_memory.h"

namespace holdfast::native {
namespace {

constexpr uint64_t kJournalBytes = 64 << 20;

double nanoseconds(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// Times for a page.
struct Times {
  std::vector<double> elapsed;
  std::vector<double> processor;  // of all threads
};

/// A file with pages, a journal behind them, and room for a table.
class File {
 public:
  File(const std::string& path, uint64_t pages, bool table)
      : path_(path),
        pages_(pages),
        fd_(::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600)),
        sync_(fd_, path, {}),
        file_(fd_, path, sync_),
        table_(file_),
        place_{pages * kPageBytes, kJournalBytes},
        memory_(pages * kPageBytes) {
    const uint64_t end = place_.offset + place_.bytes;
    const uint64_t table_bytes = (pages * sizeof(uint64_t) / kPageBytes + 1) * kPageBytes;
    if (fd_ < 0 || posix_fallocate(fd_, 0, static_cast<off_t>(end + table_bytes)) != 0) {
      std::perror(path.c_str());
      std::exit(1);
    }
    Journal::format(file_, place_, 1).check();
    table_.use({place_.offset, place_.bytes}, {{end, table_bytes}});
    journal_ = Journal::open(file_, place_, 2, &copy_line, table ? &table_ : nullptr).value();
    checkpoint(1, nullptr);  // the first one writes to blocks that were never written
  }
  ~File() {
    journal_.reset();
    ::close(fd_);
    ::unlink(path_.c_str());
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  /// Changes a line of each page, and measures how these go home.
  void checkpoint(uint64_t seed, Times* times) {
    Random random(seed);
    for (uint64_t i = 0; i < pages_; ++i) {
      const uint64_t at = random.below(pages_ * kPageBytes / kLineBytes) * kLineBytes;
      const uint64_t offset = i * kPageBytes + at % kPageBytes;
      for (uint64_t word = 0; word < kLineBytes; word += sizeof(uint64_t)) {
        const uint64_t value = random.next();
        std::memcpy(memory_.data() + offset + word, &value, sizeof value);
      }
      const LineRun run[] = {{offset, memory_.data() + offset, 1}};
      journal_->append(run);
    }
    journal_->await(journal_->position());
    const double elapsed = nanoseconds(CLOCK_MONOTONIC);
    const double processor = nanoseconds(CLOCK_PROCESS_CPUTIME_ID);
    journal_->checkpoint();
    if (times != nullptr) {
      const auto pages = static_cast<double>(pages_);
      times->elapsed.push_back((nanoseconds(CLOCK_MONOTONIC) - elapsed) / pages);
      times->processor.push_back((nanoseconds(CLOCK_PROCESS_CPUTIME_ID) - processor) / pages);
    }
  }

  /// Returns the time that a page's entry takes.
  double entry_time() const {
    uint64_t sum = 0;
    const double begin = nanoseconds(CLOCK_PROCESS_CPUTIME_ID);
    for (uint64_t i = 0; i < pages_; ++i) {
      sum += page_entry(memory_.data() + i * kPageBytes);
    }
    const double end = nanoseconds(CLOCK_PROCESS_CPUTIME_ID);
    return sum != 0 ? (end - begin) / static_cast<double>(pages_) : 0;
  }

 private:
  const std::string path_;
  const uint64_t pages_;
  const int fd_;
  MediumSync sync_;
  SystemJournalFile file_;
  PageChecksums table_;
  const JournalPlace place_;
  std::vector<std::byte> memory_;
  std::unique_ptr<Journal> journal_;
};

int measure(const std::string& directory, uint64_t pages, uint64_t turns) {
  File plain(directory + "/journal_checkpoint.plain", pages, false);
  File checked(directory + "/journal_checkpoint.checked", pages, true);
  Times without;
  Times with;
  std::vector<double> entry;
  for (uint64_t turn = 0; turn < turns; ++turn) {
    plain.checkpoint(turn + 2, &without);
    checked.checkpoint(turn + 2, &with);
    entry.push_back(checked.entry_time());
  }
  std::printf("ns for a page        elapsed  processor\n");
  std::printf("without checksums  %9.0f  %9.0f\n", median(without.elapsed),
              median(without.processor));
  std::printf("with checksums     %9.0f  %9.0f\n", median(with.elapsed), median(with.processor));
  std::printf("one checksum                  %9.0f\n", median(entry));
  return 0;
}

}  // namespace
}  // namespace holdfast::native

int main(int argc, char** argv) {
  if (argc < 2 || argc > 4) {
    std::fprintf(stderr, "usage: journal_checkpoint DIR [PAGES [TURNS]]\n");
    return 2;
  }
  const auto number = [&](int i, uint64_t fallback) {
    return argc > i ? std::strtoull(argv[i], nullptr, 10) : fallback;
  };
  return holdfast::native::measure(argv[1], number(2, 20000), number(3, 9));
}
