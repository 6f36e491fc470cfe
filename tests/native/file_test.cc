// SPDX-License-Identifier: Apache-2.0
//
// Does the native machine open, lock, grow and map its file as documented, and explain failures?
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <bit>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <set>
#include <vector>

#include "holdfast/machine/native/native_machine.h"
#include "tests/child_process.h"
#include "tests/native/test_file.h"
#include "tests/sanitized.h"

namespace holdfast::file_test {
namespace {

constexpr int kNever = -1;

/// Whether this thread's allocations of blocks are those of tmpfs of an older kernel while a timer
/// runs: a signal comes during each one and ends it.
thread_local bool signals_end_allocations = false;
volatile sig_atomic_t signals_seen = 0;

/// Entries of directories that this thread can still read, before each attempt fails; or kNever.
thread_local int entries_until_failure = kNever;

}  // namespace
}  // namespace holdfast::file_test

#if !HOLDFAST_ADDRESS_SANITIZER && !HOLDFAST_THREAD_SANITIZER

// Takes the place of the system library's, which NativeMedium calls.
extern "C" int posix_fallocate(int fd, off_t offset, off_t bytes) {
  static const auto original =
      reinterpret_cast<int (*)(int, off_t, off_t)>(dlsym(RTLD_NEXT, "posix_fallocate"));
  if (holdfast::file_test::signals_end_allocations) {
    const sig_atomic_t before = holdfast::file_test::signals_seen;
    raise(SIGPROF);
    if (holdfast::file_test::signals_seen != before) {
      constexpr sig_atomic_t kEnough = 100;
      return before < kEnough ? EINTR : EIO;
    }
  }
  return original(fd, offset, bytes);
}

// Takes the place of the system library's, which std::filesystem calls.
extern "C" dirent* readdir(DIR* directory) {
  static const auto original = reinterpret_cast<dirent* (*)(DIR*)>(dlsym(RTLD_NEXT, "readdir"));
  int& left = holdfast::file_test::entries_until_failure;
  if (left == 0) {
    errno = ENOENT;
    return nullptr;
  }
  left -= left != holdfast::file_test::kNever ? 1 : 0;
  return original(directory);
}

#endif

namespace holdfast::file_test {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

std::unique_ptr<NativeMachine> create(const std::string& path, NativeOptions options = {}) {
  options.create = true;
  auto machine = NativeMachine::open(path, options);
  EXPECT_TRUE(machine.ok()) << machine.status().to_string();
  return std::move(machine.value());
}

std::unique_ptr<NativeMachine> open(const std::string& path, const NativeOptions& options = {}) {
  auto machine = NativeMachine::open(path, options);
  EXPECT_TRUE(machine.ok()) << machine.status().to_string();
  return std::move(machine.value());
}

void expect_failure(const std::string& path, const NativeOptions& options, Code code,
                    const std::string& words) {
  const auto machine = NativeMachine::open(path, options);
  ASSERT_FALSE(machine.ok());
  EXPECT_EQ(machine.status().code(), code) << machine.status().to_string();
  EXPECT_NE(machine.status().message().find(path), std::string::npos) << machine.status().message();
  EXPECT_NE(machine.status().message().find(words), std::string::npos)
      << machine.status().message();
}

Code open_status(const std::string& path) {
  return NativeMachine::open(path, {}).status().code();
}

TEST(NativeFile, CreatesWithOwnerOnlyMode) {
  const NativeTestFile file;
  const auto machine = create(file.path());
  struct stat info{};
  ASSERT_EQ(stat(file.path().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777u, 0600u);
  EXPECT_EQ(machine->medium().bytes(), 0u);
}

TEST(NativeFile, SaysWhatIsWrongAndWhatToDo) {
  const NativeTestFile file;
  expect_failure(file.path(), {}, Code::not_found, "create it first");
  expect_failure(file.directory(), {}, Code::invalid_argument, "is a directory");
  expect_failure(file.directory(), {.read_only = true}, Code::invalid_argument, "is a directory");
  expect_failure(file.directory() + "/none/a.heap", {.create = true}, Code::not_found,
                 "check the name");
  expect_failure("/dev/null", {}, Code::invalid_argument, "ordinary file");
  expect_failure(file.directory() + "/none/", {.create = true}, Code::not_found,
                 "the directory " + file.directory() + "/none does not exist");
  expect_failure(file.directory(), {.create = true}, Code::invalid_argument, "is a directory");
  ASSERT_TRUE(create(file.path())->medium().grow(kPageBytes).ok());
  expect_failure(file.path(), {.create = true}, Code::already_exists, "exists already");
}

TEST(NativeFile, RefusesAZeroByteInAPath) {
  const NativeTestFile file;
  const std::string path = file.path() + std::string("\0more", 5);
  for (const bool creates : {true, false}) {
    const auto machine = NativeMachine::open(path, {.create = creates});
    EXPECT_EQ(machine.status().code(), Code::invalid_argument);
    EXPECT_NE(machine.status().message().find(file.path() + "' goes on"), std::string::npos);
  }
  EXPECT_EQ(open_status(file.path()), Code::not_found);
}

TEST(NativeFile, TakesAnEmptyFileThatExists) {
  const NativeTestFile file;
  std::ofstream(file.path()).close();
  {
    const auto machine = create(file.path());
    expect_failure(file.path(), {.create = true}, Code::busy, "in use by this process");
  }
  EXPECT_NE(create(file.path()), nullptr) << "it is still empty";
}

TEST(NativeFile, CountsThePagesInMemory) {
  const NativeTestFile file;
  const auto machine = create(file.path());
  EXPECT_EQ(machine->medium().bytes_in_memory().value(), 0u);
  ASSERT_TRUE(machine->medium().grow(64 * kMiB).ok());
  std::byte* const p = machine->medium().map(0, 64 * kMiB, nullptr, MapMode::shared).value();
  EXPECT_EQ(machine->medium().bytes_in_memory().value(), 0u);
  std::memset(p + 8 * kMiB, 1, kMiB);
  EXPECT_GE(machine->medium().bytes_in_memory().value(), kMiB);
  EXPECT_LT(machine->medium().bytes_in_memory().value(), 4 * kMiB);
  machine->medium().unmap(p, 64 * kMiB);
}

TEST(NativeFile, NoPermission) {
  const NativeTestFile file;
  create(file.path());
  ASSERT_EQ(chmod(file.path().c_str(), 0), 0);
  const int how = end_of_child([&] {
    // The superuser may open every file, so the child becomes another user.
    if (geteuid() == 0 && setuid(65534) != 0) {
      return 1;
    }
    const auto machine = NativeMachine::open(file.path(), {});
    return machine.status().code() == Code::permission_denied ? 0 : 2;
  });
  EXPECT_EQ(how, 0) << "step " << WEXITSTATUS(how);
}

TEST(NativeFile, IsLockedWhileOpen) {
  const NativeTestFile file;
  auto machine = create(file.path());
  expect_failure(file.path(), {}, Code::busy, "in use by");
  machine.reset();
  EXPECT_NE(open(file.path()), nullptr);
}

TEST(NativeFile, NamesTheProcessThatHoldsTheLock) {
  const NativeTestFile file;
  create(file.path());
  int ready[2];
  int finish[2];
  ASSERT_EQ(pipe(ready), 0);
  ASSERT_EQ(pipe(finish), 0);
  const pid_t child = fork();
  if (child == 0) {
    const auto machine = NativeMachine::open(file.path(), {});
    const char ok = machine.ok() ? 'y' : 'n';
    char wait = 0;
    ::close(finish[1]);
    const bool talked = write(ready[1], &ok, 1) == 1 && read(finish[0], &wait, 1) == 0;
    _exit(talked ? 0 : 1);
  }
  ::close(finish[0]);
  char ok = 'n';
  ASSERT_EQ(read(ready[0], &ok, 1), 1);
  EXPECT_EQ(ok, 'y');
  expect_failure(file.path(), {}, Code::busy, "process " + std::to_string(child));
  expect_failure(file.path(), {.read_only = true}, Code::busy, "process " + std::to_string(child));
  const auto looking = native::open_file(file.path(), native::Access::look);
  ASSERT_TRUE(looking.ok());  // Access::look takes no lock
  EXPECT_TRUE(looking.value().has_writer().value());
  ::close(finish[1]);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_NE(open(file.path()), nullptr);  // the lock ended with the process
  ::close(ready[0]);
  ::close(ready[1]);
}

// The program's output would go into the heap.
TEST(NativeFile, HasNoNumberOfAStandardStream) {
  const NativeTestFile file;
  const auto closed = [] {
    return fcntl(0, F_GETFD) == -1 && fcntl(1, F_GETFD) == -1 && fcntl(2, F_GETFD) == -1;
  };
  const int how = end_of_child([&] {
    for (int stream = 0; stream <= 2; ++stream) {
      ::close(stream);
    }
    const bool after_creation = create(file.path()) != nullptr && closed();
    const bool after_opening = open(file.path()) != nullptr && closed();
    return after_creation && after_opening ? 0 : 1;
  });
  EXPECT_EQ(how, 0);
}

// A process may end while its open files are listed.
TEST(NativeFile, IsInUseAlsoIfTheSearchForTheHolderFails) {
  if (kSanitized) {
    GTEST_SKIP() << "a sanitizer has a readdir of its own";
  }
  constexpr int kMost = 500;
  const NativeTestFile file;
  const auto machine = create(file.path());
  for (int entries = 0; entries < kMost; ++entries) {
    entries_until_failure = entries;
    Status status;
    EXPECT_NO_THROW(status = NativeMachine::open(file.path(), {}).status()) << entries;
    entries_until_failure = kNever;
    ASSERT_EQ(status.code(), Code::busy) << entries;
    if (entries == 0) {
      EXPECT_NE(status.message().find("another process"), std::string::npos) << status.message();
    }
  }
  expect_failure(file.path(), {}, Code::busy, "this process");
}

TEST(NativeFile, ReadersKeepWritersOutButNotEachOther) {
  const NativeTestFile file;
  create(file.path());
  auto first = open(file.path(), {.read_only = true});
  auto second = open(file.path(), {.read_only = true});
  expect_failure(file.path(), {}, Code::busy, "in use by this process");
  const auto looking = native::open_file(file.path(), native::Access::look);
  EXPECT_FALSE(looking.value().has_writer().value()) << "both have opened it read-only";
  first.reset();
  expect_failure(file.path(), {}, Code::busy, "in use by");
  second.reset();
  EXPECT_NE(open(file.path()), nullptr) << "looking takes no lock";
}

TEST(NativeFile, AChildsCopyOfTheLockIsNotReleasedByItsEnd) {
  const NativeTestFile file;
  const auto machine = create(file.path());
  EXPECT_EQ(0, end_of_child([] { return 0; }));
  expect_failure(file.path(), {}, Code::busy, "in use by");
}

TEST(NativeFile, ALockEndsBesideAChildsCopy) {
  const NativeTestFile file;
  auto machine = create(file.path());
  int end[2];
  ASSERT_EQ(pipe(end), 0);
  const pid_t child = fork();
  if (child == 0) {
    char none = 0;
    ::close(end[1]);
    _exit(read(end[0], &none, 1) == 0 ? 0 : 1);  // until the parent has closed its end
  }
  ::close(end[0]);
  machine.reset();
  machine = open(file.path());
  expect_failure(file.path(), {}, Code::busy, "in use by this process");
  ::close(end[1]);
  int how = -1;
  EXPECT_EQ(waitpid(child, &how, 0), child);
  EXPECT_EQ(how, 0);
}

TEST(NativeFile, AChildThatEndsItsMachineKeepsNoLock) {
  const NativeTestFile file;
  int parent_ended[2];
  int result[2];
  ASSERT_EQ(pipe(parent_ended), 0);
  ASSERT_EQ(pipe(result), 0);
  const int how = end_of_child([&] {
    auto machine = create(file.path());
    if (fork() != 0) {
      _exit(0);  // without closing the file
    }
    machine.reset();
    ::close(parent_ended[1]);
    char opens = 'n';
    if (read(parent_ended[0], &opens, 1) == 0) {
      opens = NativeMachine::open(file.path(), {}).ok() ? 'y' : 'n';
    }
    return write(result[1], &opens, 1) == 1 ? 0 : 1;
  });
  EXPECT_EQ(how, 0);
  ::close(parent_ended[1]);
  char opens = 'n';
  EXPECT_EQ(read(result[0], &opens, 1), 1);
  EXPECT_EQ(opens, 'y');
  ::close(parent_ended[0]);
  ::close(result[0]);
  ::close(result[1]);
}

TEST(NativeFile, StoresReachTheFile) {
  const NativeTestFile file;
  auto machine = create(file.path());
  ASSERT_TRUE(machine->medium().grow(kMiB).ok());
  auto p = machine->medium().map(kPageBytes, kPageBytes, nullptr, MapMode::shared);
  ASSERT_TRUE(p.ok());
  NativeMachine::store(reinterpret_cast<uint64_t*>(*p), uint64_t{42});
  machine->medium().unmap(*p, kPageBytes);
  machine.reset();
  machine = open(file.path());
  EXPECT_EQ(machine->medium().bytes(), kMiB);
  p = machine->medium().map(kPageBytes, kPageBytes, nullptr, MapMode::shared);
  EXPECT_EQ(NativeMachine::load(reinterpret_cast<uint64_t*>(*p)), 42u);
  machine->medium().unmap(*p, kPageBytes);
}

TEST(NativeFile, CopyOnWriteMapsKeepStoresToThemselves) {
  const NativeTestFile file;
  const auto machine = create(file.path());
  ASSERT_TRUE(machine->medium().grow(kPageBytes).ok());
  auto home = machine->medium().map(0, kPageBytes, nullptr, MapMode::shared);
  auto copy = machine->medium().map(0, kPageBytes, nullptr, MapMode::copy_on_write);
  ASSERT_TRUE(home.ok() && copy.ok());
  NativeMachine::store(reinterpret_cast<uint64_t*>(*copy), uint64_t{1});
  EXPECT_EQ(NativeMachine::load(reinterpret_cast<uint64_t*>(*home)), 0u);
  machine->medium().unmap(*home, kPageBytes);
  machine->medium().unmap(*copy, kPageBytes);
}

TEST(NativeFile, ReadOnlyChangesNothing) {
  const NativeTestFile file;
  auto writer = create(file.path());
  ASSERT_TRUE(writer->medium().grow(kPageBytes).ok());
  writer.reset();
  auto reader = open(file.path(), {.read_only = true});
  EXPECT_TRUE(reader->medium().read_only());
  EXPECT_EQ(reader->medium().grow(2 * kPageBytes).code(), Code::permission_denied);
  auto p = reader->medium().map(0, kPageBytes, nullptr, MapMode::shared);
  ASSERT_TRUE(p.ok());
  NativeMachine::store(reinterpret_cast<uint64_t*>(*p), uint64_t{1});
  reader->psync(Site{});  // must not write the store to the file
  reader->medium().unmap(*p, kPageBytes);
  reader.reset();
  writer = open(file.path());
  auto q = writer->medium().map(0, kPageBytes, nullptr, MapMode::shared);
  EXPECT_EQ(NativeMachine::load(reinterpret_cast<uint64_t*>(*q)), 0u);
  writer->medium().unmap(*q, kPageBytes);
}

TEST(NativeFile, HasAddressesForAHundredHeaps) {
  constexpr size_t kCapacity = size_t{8} << 30;
  const NativeTestFile file;
  const auto machine = create(file.path());
  NativeMedium& medium = machine->medium();
  std::vector<std::byte*> taken;
  for (int k = 0; taken.size() < 100; ++k) {
    std::byte* const candidate = medium.base_candidate(k, kCapacity);
    ASSERT_NE(candidate, nullptr) << "room for " << taken.size();
    if (medium.reserve(kCapacity, candidate).ok()) {
      taken.push_back(candidate);
    }
  }
  for (std::byte* const p : taken) {
    medium.unmap(p, kCapacity);
  }
}

TEST(NativeFile, MapsAtTheExactAddressOrNotAtAll) {
  const NativeTestFile file;
  const auto machine = create(file.path());
  NativeMedium& medium = machine->medium();
  ASSERT_TRUE(medium.grow(4 * kPageBytes).ok());
  std::byte* base = nullptr;
  for (int k = 0; base == nullptr && medium.base_candidate(k, kMiB) != nullptr; ++k) {
    if (auto p = medium.reserve(kMiB, medium.base_candidate(k, kMiB)); p.ok()) {
      base = *p;
    }
  }
  ASSERT_NE(base, nullptr);
  EXPECT_EQ(medium.reserve(kMiB, base).status().code(), Code::busy);
  for (const size_t page : {2u, 0u, 1u}) {
    auto p = medium.map(page * kPageBytes, kPageBytes, base + page * kPageBytes, MapMode::shared);
    ASSERT_TRUE(p.ok()) << p.status().to_string();
    EXPECT_EQ(*p, base + page * kPageBytes);
  }
  // Mapping outside of the reservation must not replace another mapping.
  auto taken = medium.map(0, kPageBytes, nullptr, MapMode::shared);
  ASSERT_TRUE(taken.ok());
  EXPECT_EQ(medium.map(0, kPageBytes, *taken, MapMode::shared).status().code(), Code::busy);
  medium.unmap(*taken, kPageBytes);
  medium.unmap(base + kPageBytes, kPageBytes);  // reserves the page again for another mapping
  EXPECT_TRUE(medium.map(0, kPageBytes, base + kPageBytes, MapMode::shared).ok());
  medium.unmap(base, kMiB);
  auto again = medium.reserve(kMiB, base);
  EXPECT_TRUE(again.ok());
}

TEST(NativeFile, RefusesMapsBeyondTheEndAndOddOnes) {
  const NativeTestFile file;
  const auto machine = create(file.path());
  ASSERT_TRUE(machine->medium().grow(2 * kPageBytes).ok());
  auto& medium = machine->medium();
  EXPECT_EQ(medium.map(kPageBytes, 2 * kPageBytes, nullptr, MapMode::shared).status().code(),
            Code::invalid_argument);
  EXPECT_EQ(medium.map(8, 8, nullptr, MapMode::shared).status().code(), Code::invalid_argument);
  EXPECT_EQ(medium.map(0, SIZE_MAX, nullptr, MapMode::shared).status().code(),
            Code::invalid_argument);
}

TEST(NativeFile, BaseCandidatesAreDistinctAndEnd) {
  const NativeTestFile file;
  const auto machine = create(file.path());
  for (const size_t capacity : {size_t{1}, size_t{8} << 30, size_t{9} << 30, size_t{1} << 40}) {
    const uintptr_t step = std::max(std::bit_ceil(capacity), size_t{8} << 30);
    std::set<uintptr_t> seen;
    for (int k = 0; machine->medium().base_candidate(k, capacity) != nullptr; ++k) {
      const auto at = reinterpret_cast<uintptr_t>(machine->medium().base_candidate(k, capacity));
      EXPECT_TRUE(seen.insert(at).second);
      EXPECT_EQ(at % step, 0U);
      // Each candidate has room for a heap below the next region in use.
      const bool high = at >= 0x5500'0000'0000 && at + step <= 0x5555'0000'0000;
      const bool low = at >= 0x20'0000'0000 && at + step <= 0x80'0000'0000;
      const bool above = at >= 0x5660'0000'0000 && at + step <= 0x5680'0000'0000;
      const bool middle = at >= 0x1100'0000'0000 && at + step <= 0x5400'0000'0000;
      EXPECT_TRUE(high || low || above || middle) << std::hex << at;
    }
    EXPECT_GE(seen.size(), std::min(0x4300'0000'0000 / step, size_t{1000}));
  }
  EXPECT_EQ(machine->medium().base_candidate(-1, 1), nullptr);
  EXPECT_EQ(machine->medium().base_candidate(0, SIZE_MAX), nullptr);
}

// The first ones are the usual ones. Where 16 TiB had no room, a heap could not be opened with a
// larger limit if its program lay behind it, which was so in one of twenty runs.
TEST(NativeFile, HeapsMayGetALargerLimit) {
  const NativeTestFile file;
  const auto machine = create(file.path());
  for (const size_t capacity : {size_t{1} << 20, size_t{1} << 34, size_t{1} << 40}) {
    for (int k = 0; k < 50; ++k) {
      const auto at = reinterpret_cast<uintptr_t>(machine->medium().base_candidate(k, capacity));
      EXPECT_GE(at, 0x1100'0000'0000);
      EXPECT_LE(at + (uintptr_t{1} << 44), 0x5400'0000'0000);
    }
  }
}

TEST(NativeFile, HeapsOfDifferentMachinesRarelyShareAnAddress) {
  std::set<std::byte*> first;
  for (int i = 0; i < 8; ++i) {
    const NativeTestFile file;
    first.insert(create(file.path())->medium().base_candidate(0, size_t{1} << 40));
  }
  EXPECT_GT(first.size(), 1U);  // all eight of 52 addresses are equal once in 10^12 runs
}

TEST(NativeFile, GrowsByRealBlocks) {
  const NativeTestFile file;
  const auto machine = create(file.path());
  ASSERT_TRUE(machine->medium().grow(kMiB).ok());
  ASSERT_TRUE(machine->medium().grow(kPageBytes).ok());  // does not shrink the file
  EXPECT_EQ(machine->medium().bytes(), kMiB);
  struct stat info{};
  ASSERT_EQ(stat(file.path().c_str(), &info), 0);
  EXPECT_EQ(info.st_size, static_cast<off_t>(kMiB));
  EXPECT_GE(info.st_blocks * 512, static_cast<off_t>(kMiB));
}

// A limit on the size of files, as a full disk. It applies to a child process only.
TEST(NativeFile, AGrowthThatFailsLeavesTheFileAsItWas) {
  const NativeTestFile file;
  create(file.path());
  const int how = end_of_child([&] {
    const rlimit limit{2 * kMiB, 2 * kMiB};
    auto machine = NativeMachine::open(file.path(), {});
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0 || !machine || !(*machine)->medium().grow(kMiB).ok()) {
      return 1;
    }
    const Status status = (*machine)->medium().grow(4 * kMiB);
    if (status.code() != Code::out_of_space ||
        status.message().find(file.path()) == std::string::npos) {
      return 2;
    }
    if ((*machine)->medium().bytes() != kMiB || (*machine)->failed()) {
      return 3;
    }
    return (*machine)->medium().grow(2 * kMiB).ok() ? 0 : 4;  // a growth that fits succeeds
  });
  EXPECT_EQ(how, 0) << "step " << WEXITSTATUS(how);
  struct stat info{};
  ASSERT_EQ(stat(file.path().c_str(), &info), 0);
  EXPECT_EQ(info.st_size, static_cast<off_t>(2 * kMiB));
}

TEST(NativeFile, ATimerDoesNotKeepAGrowthFromItsEnd) {
  if (kSanitized) {
    GTEST_SKIP() << "a sanitizer delivers signals in its own way";
  }
  const NativeTestFile file;
  const auto machine = create(file.path());
  struct sigaction counting{};
  struct sigaction before{};
  counting.sa_handler = [](int) { signals_seen = signals_seen + 1; };
  signals_seen = 0;
  ASSERT_EQ(sigaction(SIGPROF, &counting, &before), 0);
  signals_end_allocations = true;
  const Status status = machine->medium().grow(kMiB);
  signals_end_allocations = false;
  sigaction(SIGPROF, &before, nullptr);
  EXPECT_TRUE(status.ok()) << status.to_string();
  EXPECT_EQ(signals_seen, 1) << "the signal comes when the growth has ended";
}

TEST(NativeFile, AForkedChildKnowsItAndHasNoMappings) {
  if (!wipes_pages_at_fork()) {
    GTEST_SKIP() << "this system, an emulator, does not wipe pages at fork";
  }
  const NativeTestFile file;
  auto machine = create(file.path());
  machine->set_background([] { return false; });
  ASSERT_TRUE(machine->medium().grow(kPageBytes).ok());
  auto p = machine->medium().map(0, kPageBytes, nullptr, MapMode::shared);
  ASSERT_TRUE(p.ok());
  EXPECT_FALSE(machine->forked_child());
  EXPECT_EQ(0, end_of_child([&] {
              const bool knows = machine->forked_child();
              machine.reset();  // must return although the child has no background thread
              return knows ? 0 : 1;
            }));
  const int how = end_of_child([&] {
    struct sigaction plain{};
    plain.sa_handler = SIG_DFL;
    sigaction(SIGSEGV, &plain, nullptr);
    NativeMachine::store(reinterpret_cast<uint64_t*>(*p), uint64_t{1});
    return 0;
  });
  EXPECT_TRUE(WIFSIGNALED(how));
  machine->medium().unmap(*p, kPageBytes);
}

}  // namespace
}  // namespace holdfast::file_test
