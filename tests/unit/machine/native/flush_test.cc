// SPDX-License-Identifier: Apache-2.0
//
// Does each way to flush bring all bytes to the file, report failures of the write and of the sync,
// and leave its work to fdatasync where the system refuses it?
#include "holdfast/machine/native/medium/flush.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <functional>
#include <thread>

#include "holdfast/machine/native/journal/journal.h"
#include "holdfast/machine/native/medium/system_journal_file.h"
#include "tests/child_process.h"
#include "tests/native/refuse_call.h"
#include "tests/native/test_file.h"
#include "tests/unit/machine/native/journal_world.h"

namespace holdfast::native::flush_test {
namespace {

constexpr FlushMethod kMethods[] = {FlushMethod::fdatasync, FlushMethod::dsync,
                                    FlushMethod::io_uring};

std::vector<std::byte> pattern(size_t n, uint64_t seed) {
  std::vector<std::byte> bytes(n);
  Random random(seed);
  for (std::byte& byte : bytes) {
    byte = static_cast<std::byte>(random.below(256));
  }
  return bytes;
}

/// Runs the body in a forked child. True if it returns true there.
bool in_child(const std::function<bool()>& body) {
  return end_of_child([&] { return body() ? 0 : 1; }) == 0;
}

#ifdef SYS_sync_file_range
/// From here on the filter's result for sync_file_range() is `own` on this descriptor, and `other`
/// on others. False as above.
bool filter_hints(int fd, uint32_t own, uint32_t other) {
  sock_filter lines[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_sync_file_range, 0, 4),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[0])),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(fd), 0, 1),
      BPF_STMT(BPF_RET | BPF_K, own),
      BPF_STMT(BPF_RET | BPF_K, other),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  return filter_calls(lines);
}
#endif

/// A file with room for a small journal, which reaches the medium in a given way.
class Flushed {
 public:
  explicit Flushed(FlushMethod method, const std::string& parent = "/tmp",
                   std::function<int(int)> sync = {})
      : file_(parent) {
    fd_ = ::open(file_.path().c_str(), O_RDWR | O_CREAT, 0600);
    const std::vector<std::byte> content = new_content();
    EXPECT_EQ(::pwrite(fd_, content.data(), content.size(), 0),
              static_cast<ssize_t>(content.size()));
    sync_ = std::make_unique<MediumSync>(fd_, file_.path(), std::move(sync));
    journal_file_ = std::make_unique<SystemJournalFile>(fd_, file_.path(), *sync_, method);
  }
  ~Flushed() { ::close(fd_); }
  Flushed(const Flushed&) = delete;
  Flushed& operator=(const Flushed&) = delete;

  int fd() const { return fd_; }
  MediumSync& medium() { return *sync_; }
  SystemJournalFile& file() { return *journal_file_; }
  FlushMethod method() const { return journal_file_->flush_method(); }

  bool flushes(uint64_t offset, size_t n, uint64_t seed) {
    const std::vector<std::byte> from = pattern(n, seed);
    std::vector<std::byte> to(n);
    return file().write_and_sync(offset, from).ok() && file().read(offset, to).ok() && to == from;
  }

 private:
  NativeTestFile file_;
  int fd_ = -1;
  std::unique_ptr<MediumSync> sync_;
  std::unique_ptr<SystemJournalFile> journal_file_;
};

/// Whether this kernel lets this process use io_uring, and Holdfast is built with it.
bool has_io_uring() {
  return Flushed(FlushMethod::io_uring).method() == FlushMethod::io_uring;
}

TEST(Flush, BringsAllBytesToTheFile) {
  for (const FlushMethod method : kMethods) {
    Flushed flushed(method);
    for (const size_t n : {size_t{4096}, size_t{12288}, size_t{1} << 20}) {
      EXPECT_TRUE(flushed.flushes(8192, n, n)) << to_string(method) << ' ' << n;
    }
    EXPECT_TRUE(flushed.file().write_and_sync(0, {}).ok());
  }
}

TEST(Flush, IsTheWayThatWasAskedForWhereTheSystemHasIt) {
  for (const char* const parent : {"/tmp", "/dev/shm"}) {
    EXPECT_EQ(Flushed(FlushMethod::fdatasync, parent).method(), FlushMethod::fdatasync);
  }
  EXPECT_EQ(Flushed(FlushMethod::dsync, "/dev/shm").method(), FlushMethod::dsync);
}

TEST(Flush, DoesNotTrustRwfDsyncOnAFileSystemThatIsNotKnownToSyncThen) {
  const int fd = ::open("/proc/self/comm", O_RDWR);
  EXPECT_EQ(make_flush(fd, FlushMethod::dsync), nullptr);
  ::close(fd);
}

// A replaced fdatasync stands for all ways to sync.
#ifdef SYS_sync_file_range
// It would take the report of a failed write-back away from the sync.
TEST(Flush, AHintUsesAnOpeningOfItsOwn) {
  constexpr uint32_t kFails = SECCOMP_RET_ERRNO | EIO;
  const auto end = [](uint32_t own, uint32_t other) {
    Flushed flushed(FlushMethod::fdatasync);
    return end_of_child([&] {
      if (!filter_hints(flushed.fd(), own, other)) {
        return 2;
      }
      constexpr uint64_t kPiece = uint64_t{1} << 20;
      for (uint64_t i = 0; i < 3; ++i) {
        flushed.file().write_out(i * kPiece, kPiece).check();
      }
      return 0;
    });
  };
  EXPECT_EQ(end(SECCOMP_RET_KILL_PROCESS, kFails), 0);
  const int hinted = end(SECCOMP_RET_ALLOW, SECCOMP_RET_KILL_PROCESS);
  EXPECT_TRUE(WIFSIGNALED(hinted) && WTERMSIG(hinted) == SIGSYS) << hinted;
}
#endif

TEST(Flush, IsFdatasyncIfATestHasReplacedThat) {
  for (const FlushMethod method : kMethods) {
    int syncs = 0;
    Flushed flushed(method, "/tmp", [&](int) {
      ++syncs;
      return 0;
    });
    EXPECT_EQ(flushed.method(), FlushMethod::fdatasync);
    EXPECT_TRUE(flushed.flushes(0, 4096, 1));
    EXPECT_EQ(syncs, 1);
  }
}

TEST(Flush, AFailedWriteOrSyncIsReported) {
  const auto io_uring = [](const char* path) {
    const int fd = ::open(path, O_RDWR);
    const auto flush = make_io_uring_flush(fd);
    const int result = flush->write_and_sync(0, pattern(4096, 1));
    ::close(fd);
    return result;
  };
  if (!has_io_uring()) {
    GTEST_SKIP() << "io_uring is not available";
  }
  EXPECT_EQ(io_uring("/dev/full"), ENOSPC);  // the write, which cancels the sync
  EXPECT_EQ(io_uring("/dev/null"), EINVAL);  // the sync: this device has none
}

TEST(Flush, TheFirstFailureIsFinal) {
  for (const FlushMethod method : kMethods) {
    Flushed flushed(method);
    const int readable = ::open("/dev/null", O_RDONLY);
    SystemJournalFile file(readable, "the file", flushed.medium(), method);
    const Status failure = file.write_and_sync(0, pattern(4096, 1));
    EXPECT_EQ(failure.code(), Code::io_error) << to_string(method);
    EXPECT_EQ(failure.system_error(), EBADF) << to_string(method);
    if (file.flush_method() != FlushMethod::fdatasync) {
      EXPECT_TRUE(flushed.medium().failed());
      EXPECT_FALSE(flushed.flushes(0, 4096, 1));
    }
    ::close(readable);
  }
}

// A group needs no new blocks, except in a file that shares its blocks with another one.
TEST(Flush, AFullDiskIsToldAsSuch) {
  Flushed flushed(FlushMethod::fdatasync);
  EXPECT_THROW(flushed.medium().run([] { return ENOSPC; }), MediumFailure);
  const Status failure = flushed.medium().failure();
  EXPECT_EQ(failure.code(), Code::out_of_space);
  EXPECT_NE(failure.message().find("make room"), std::string::npos) << failure.message();
}

// The limit of a file's size cuts the write, and fails the one of the rest.
TEST(Flush, AShortWriteGoesOnWithTheRest) {
  for (const FlushMethod method : kMethods) {
    EXPECT_TRUE(in_child([&] {
      std::signal(SIGXFSZ, SIG_IGN);
      Flushed flushed(method);
      const std::vector<std::byte> from = pattern(16384, 3);
      const rlimit limit = {8192, RLIM_INFINITY};
      if (setrlimit(RLIMIT_FSIZE, &limit) != 0) {
        return false;
      }
      const Status status = flushed.file().write_and_sync(4096, from);
      std::vector<std::byte> to(4096);
      return status.system_error() == EFBIG && flushed.file().read(4096, to).ok() &&
             std::equal(to.begin(), to.end(), from.begin());
    })) << to_string(method);
  }
}

TEST(Flush, SignalsDoNotDisturb) {
  struct sigaction action{};
  struct sigaction before{};
  action.sa_handler = [](int) {};  // without SA_RESTART, so that system calls end with EINTR
  sigaction(SIGUSR1, &action, &before);
  for (const FlushMethod method : kMethods) {
    Flushed flushed(method);
    std::atomic<bool> done{false};
    std::thread writer([&] {
      for (uint64_t i = 0; i < 100; ++i) {
        EXPECT_TRUE(flushed.flushes(i % 4 * 4096, 4096, i)) << to_string(method);
      }
      done = true;
    });
    while (!done) {
      pthread_kill(writer.native_handle(), SIGUSR1);
      std::this_thread::yield();
    }
    writer.join();
    EXPECT_FALSE(flushed.medium().failed());
  }
  sigaction(SIGUSR1, &before, nullptr);
}

// As a kernel without io_uring, one that forbids it, a small limit of locked memory.
TEST(Flush, IsFdatasyncIfTheKernelRefusesIoUring) {
#ifdef __NR_io_uring_setup
  for (const int error : {ENOSYS, EPERM, ENOMEM}) {
    EXPECT_TRUE(in_child([&] {
      if (!refuse_call(__NR_io_uring_setup, error)) {
        return true;  // such filters are not allowed here
      }
      Flushed flushed(FlushMethod::io_uring);
      return flushed.method() == FlushMethod::fdatasync && flushed.flushes(0, 8192, 1);
    })) << error;
  }
#endif
}

TEST(Flush, IsFdatasyncFromTheCallOnThatTheKernelRefuses) {
  const auto goes_on = [](FlushMethod method, int call, int error) {
    return in_child([&] {
      Flushed flushed(method);
      if (flushed.method() == FlushMethod::fdatasync || !refuse_call(call, error)) {
        return true;  // there is nothing to refuse, or filters are not allowed here
      }
      return flushed.flushes(0, 8192, 1) && flushed.method() == FlushMethod::fdatasync &&
             flushed.flushes(0, 8192, 2) && !flushed.medium().failed();
    });
  };
  for (const int error : {ENOSYS, EOPNOTSUPP}) {
    EXPECT_TRUE(goes_on(FlushMethod::dsync, __NR_pwritev2, error)) << error;
  }
#ifdef __NR_io_uring_enter
  for (const int error : {EPERM, EAGAIN, EBUSY}) {
    EXPECT_TRUE(goes_on(FlushMethod::io_uring, __NR_io_uring_enter, error)) << error;
  }
#endif
}

TEST(Flush, AForkedChildDoesNotUseTheRing) {
  if (!has_io_uring()) {
    GTEST_SKIP() << "io_uring is not available";
  }
  auto flushed = std::make_unique<Flushed>(FlushMethod::io_uring);
  EXPECT_TRUE(flushed->flushes(0, 4096, 1));
  EXPECT_TRUE(in_child([&] {
    const auto flush = make_io_uring_flush(flushed->fd());  // one of its own works
    const bool own = flush != nullptr && flush->write_and_sync(4096, pattern(4096, 2)) == 0;
    const bool refused =
        flushed->flushes(8192, 4096, 3) && flushed->method() == FlushMethod::fdatasync;
    return own && refused;
  }));
  EXPECT_EQ(flushed->method(), FlushMethod::io_uring);
  EXPECT_TRUE(flushed->flushes(0, 4096, 4));
}

// Threads share groups, and checkpoints write heads and pages meanwhile.
TEST(Flush, AJournalHoldsWhatItsThreadsWereAnswered) {
  constexpr uint64_t kThreads = 4;
  constexpr uint64_t kChanges = 200;
  for (const FlushMethod method : kMethods) {
    Flushed flushed(method, "/dev/shm");
    {
      auto journal = Journal::open(flushed.file(), kSmallJournal, 7).value();
      std::vector<std::thread> threads;
      threads.emplace_back([&] { journal->checkpoint_in_background(); });
      for (uint64_t t = 0; t < kThreads; ++t) {
        threads.emplace_back([&, t] {
          alignas(kLineBytes) std::byte line[kLineBytes];
          for (uint64_t i = 1; i <= kChanges; ++i) {
            std::fill(std::begin(line), std::end(line), static_cast<std::byte>(i % 251));
            const LineRun run = {(t * 10 + i % 5) * kLineBytes, line, 1};
            journal->await(journal->append({&run, 1}));
          }
        });
      }
      for (uint64_t t = 1; t <= kThreads; ++t) {
        threads[t].join();
      }
      journal->stop();
      threads[0].join();
      EXPECT_GT(journal->counters().checkpoints, 0u);
    }
    auto journal = Journal::open(flushed.file(), kSmallJournal, 8).value();
    EXPECT_EQ(journal->position(), kThreads * kChanges) << to_string(method);
    journal->checkpoint();
    for (uint64_t t = 0; t < kThreads; ++t) {
      for (uint64_t i = kChanges - 4; i <= kChanges; ++i) {
        std::byte found{};
        flushed.file().read((t * 10 + i % 5) * kLineBytes + 9, {&found, 1}).check();
        EXPECT_EQ(found, static_cast<std::byte>(i % 251)) << to_string(method);
      }
    }
  }
}

}  // namespace
}  // namespace holdfast::native::flush_test
