// SPDX-License-Identifier: Apache-2.0
//
// Does opening a file that is not a valid heap give a clear error and leave the file unchanged?
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <thread>

#include "holdfast/engines/parts/any/any_engine.h"
#include "holdfast/heap/file/inspect.h"
#include "holdfast/holdfast.h"
#include "tests/child_process.h"
#include "tests/engine_options.h"
#include "tests/file_bytes.h"

namespace holdfast::heap_file_test {
namespace {

using H = Heap<AnyEngine<NativeMachine>>;

struct Number {
  static constexpr const char* kTypeName = "fuzz.Number";
  H::Field<int64_t> value = 0;
};

/// Any durable engine but the default one.
const Description& engine() {
  static const Description& found =
      *AnyEngine<NativeMachine>::describe(names_of(engine_rows<NativeMachine>(),
                                                   [](const auto& row) {
                                                     return is_durable(*row.description) &&
                                                            row.description !=
                                                                &DefaultEngine::kDescription;
                                                   })
                                              .at(0))
           .value();
  return found;
}

/// While it lives, no file can become longer than this, as on a full disk.
class FullDisk {
 public:
  explicit FullDisk(uint64_t bytes) : previous_(std::signal(SIGXFSZ, SIG_IGN)) {
    EXPECT_EQ(::getrlimit(RLIMIT_FSIZE, &before_), 0);
    const struct rlimit least = {bytes, before_.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &least), 0);
  }
  ~FullDisk() {
    EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &before_), 0);
    std::signal(SIGXFSZ, previous_);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  void (*previous_)(int);
  struct rlimit before_{};
};

class HeapFile : public testing::Test {
 public:
  ~HeapFile() override { std::filesystem::remove_all(directory_); }

 protected:
  HeapFile() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "holdfast-file-XXXXXX").string();
    directory_ = mkdtemp(pattern.data());
    path_ = directory_ + "/heap";
    native_.domain = Domain::process;
    create_.bytes = 1 << 20;
    create_.max_bytes = 4 << 20;
    create_.engine = engine().name;
    create_.options = known_options(engine(), {{"log_bytes", "65536"}});
  }

  void make_heap() { H::create(path_, create_, native_).value()->close().check(); }
  std::string bytes() const { return file_bytes(path_); }
  void write(const std::string& text) const {
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << text;
  }
  Status open_status() { return H::open(path_, {}, native_).status(); }

  /// Opening must fail with this code, mention the file, and not change it.
  void expect_refused(Code code) {
    const std::string before = bytes();
    const Status status = open_status();
    EXPECT_EQ(status.code(), code) << status.to_string();
    EXPECT_NE(status.message().find("heap"), std::string::npos) << status.to_string();
    EXPECT_EQ(bytes(), before);
    EXPECT_EQ(inspect_heap_file(path_).status().to_string(), status.to_string());
  }

  std::string directory_;
  std::string path_;
  NativeOptions native_;
  CreateOptions create_;
};

TEST_F(HeapFile, MissingFile) {
  EXPECT_EQ(open_status().code(), Code::not_found);
}

TEST_F(HeapFile, EmptyFile) {
  write("");
  expect_refused(Code::wrong_format);
}

TEST_F(HeapFile, AnotherProgramsFile) {
  write("SQLite format 3" + std::string(100000, 'x'));
  expect_refused(Code::wrong_format);
}

TEST_F(HeapFile, ShortText) {
  write("hello");
  expect_refused(Code::wrong_format);
}

TEST_F(HeapFile, InterruptedCreation) {
  write(std::string(1 << 20, '\0'));
  expect_refused(Code::wrong_format);
}

TEST_F(HeapFile, TruncatedHeap) {
  make_heap();
  std::filesystem::resize_file(path_, std::filesystem::file_size(path_) / 2);
  expect_refused(Code::corrupt);
}

TEST_F(HeapFile, NewerFormat) {
  make_heap();
  std::string all = bytes();
  all[8] = all[kSuperblockBytes + 8] = kFormatVersion + 1;
  write(all);
  expect_refused(Code::wrong_format);
  EXPECT_NE(open_status().message().find("newer"), std::string::npos);
}

TEST_F(HeapFile, BothSuperblocksDamaged) {
  make_heap();
  std::string all = bytes();
  all[100] = static_cast<char>(all[100] ^ 1);
  all[kSuperblockBytes + 100] = static_cast<char>(all[kSuperblockBytes + 100] ^ 1);
  write(all);
  expect_refused(Code::corrupt);
}

TEST_F(HeapFile, OneSuperblockDamagedCostsNothing) {
  make_heap();
  std::string all = bytes();
  all[kSuperblockBytes + 100] = static_cast<char>(all[kSuperblockBytes + 100] ^ 1);
  write(all);
  auto heap = H::open(path_, {}, native_);
  ASSERT_TRUE(heap.ok()) << heap.status().to_string();
  EXPECT_TRUE((*heap)->healed());
}

TEST_F(HeapFile, AnotherEnginesHeap) {
  make_heap();
  const auto status = DefaultHeap::open(path_, {}, native_).status();
  EXPECT_EQ(status.code(), Code::wrong_format);
  EXPECT_NE(status.message().find(engine().name), std::string::npos);
}

TEST_F(HeapFile, AlreadyOpen) {
  auto first = H::create(path_, create_, native_).value();
  EXPECT_EQ(open_status().code(), Code::busy);
  const auto info = inspect_heap_file(path_);
  ASSERT_TRUE(info.ok()) << info.status().to_string();
  EXPECT_TRUE(info.value().in_use);
  native_.read_only = true;
  EXPECT_NE(open_status().message().find("in use by this process"), std::string::npos)
      << "what is being changed cannot be read";
  first.reset();
  const auto reader = H::open(path_, {}, native_).value();
  EXPECT_FALSE(inspect_heap_file(path_).value().in_use);
  native_.read_only = false;
  EXPECT_NE(open_status().message().find("in use by this process"), std::string::npos)
      << "nor changed while it is being read";
}

TEST_F(HeapFile, ExistsAlready) {
  make_heap();
  const std::string before = bytes();
  EXPECT_EQ(H::create(path_, create_, native_).status().code(), Code::already_exists);
  EXPECT_EQ(bytes(), before);
}

TEST_F(HeapFile, AbsurdSizes) {
  for (const size_t size : {size_t{0}, size_t{1} << 60, ~size_t{0}}) {
    create_.bytes = size;
    EXPECT_EQ(H::create(path_, create_, native_).status().code(), Code::invalid_argument) << size;
    EXPECT_FALSE(std::filesystem::exists(path_)) << "a file was left behind";
  }
  create_.bytes = 4096;  // too small for the metadata
  EXPECT_EQ(H::create(path_, create_, native_).status().code(), Code::invalid_argument);
  create_.bytes = 1 << 20;
  create_.max_threads = 100000;
  EXPECT_EQ(H::create(path_, create_, native_).status().code(), Code::invalid_argument);
  create_.max_threads = 4;
  create_.options["log_bytes"] = "many";
  EXPECT_EQ(H::create(path_, create_, native_).status().code(), Code::invalid_argument);
  create_.options.clear();
  create_.options["colour"] = "red";
  const Status status = H::create(path_, create_, native_).status();
  EXPECT_EQ(status.code(), Code::invalid_argument);
  EXPECT_NE(status.message().find("log_bytes"), std::string::npos) << "the right names are listed";
}

TEST_F(HeapFile, SizesHaveBounds) {
  const size_t most = engine().most_bytes;
  const auto is_refused = [&](auto change) {
    const CreateOptions before = create_;
    change(create_);
    const Status status = H::create(path_, create_, native_).status();
    create_ = before;
    std::filesystem::remove(path_);
    return status.code() == Code::invalid_argument;
  };
  EXPECT_FALSE(is_refused([](CreateOptions&) {}));
  EXPECT_TRUE(is_refused([&](CreateOptions& o) { o.bytes = o.max_bytes = most + 1; }));
  EXPECT_TRUE(is_refused([&](CreateOptions& o) { o.max_bytes = most + 1; }));
  EXPECT_FALSE(is_refused([&](CreateOptions& o) { o.max_bytes = most; }));
  EXPECT_TRUE(is_refused([](CreateOptions& o) { o.max_bytes = o.bytes - 1; }));
  EXPECT_FALSE(is_refused([](CreateOptions& o) { o.max_bytes = o.bytes; }));
  EXPECT_TRUE(is_refused([&](CreateOptions& o) { o.growth = most + 1; }));
  EXPECT_FALSE(is_refused([&](CreateOptions& o) { o.growth = most; }));
  for (const size_t chunk : {512, 1023, 1536, 131072}) {
    EXPECT_TRUE(is_refused([&](CreateOptions& o) { o.chunk_bytes = chunk; })) << chunk;
  }
  for (const size_t chunk : {1024, 65536}) {
    EXPECT_FALSE(is_refused([&](CreateOptions& o) { o.chunk_bytes = chunk; })) << chunk;
  }
  EXPECT_FALSE(is_refused([](CreateOptions& o) {
    o.chunk_bytes = 16384;
    o.fine_classes = true;
  }));
  make_heap();
  OpenOptions options;
  options.max_bytes = most + 1;
  EXPECT_EQ(H::open(path_, options, native_).status().code(), Code::invalid_argument);
  options.max_bytes = most;
  EXPECT_NE(H::open(path_, options, native_).status().code(), Code::invalid_argument);
}

class HeapFileOf : public HeapFile, public testing::WithParamInterface<std::string> {};

TEST_P(HeapFileOf, GrowsNoFurtherThanTheLogsReach) {
  const size_t most = AnyEngine<NativeMachine>::describe(GetParam()).value()->most_bytes;
  create_.engine = GetParam();
  create_.options.clear();
  native_.domain = usual_domain(*AnyEngine<NativeMachine>::describe(GetParam()).value());
  native_.force = true;
  const auto expect_refused = [](const Status& status) {
    EXPECT_EQ(status.code(), Code::invalid_argument);
    EXPECT_NE(status.message().find("TiB"), std::string::npos) << status.message();
  };
  create_.max_bytes = most + 1;
  expect_refused(H::create(path_, create_, native_).status());
  std::filesystem::remove(path_);
  create_.max_bytes = 4 << 20;
  make_heap();
  OpenOptions options;
  options.max_bytes = most + 1;
  expect_refused(H::open(path_, options, native_).status());
  options.max_bytes = most;
  EXPECT_NE(H::open(path_, options, native_).status().code(), Code::invalid_argument);
}

INSTANTIATE_TEST_SUITE_P(Engines, HeapFileOf,
                         testing::ValuesIn(names_of(engine_rows<NativeMachine>(),
                                                    [](const auto& row) {
                                                      return is_durable(*row.description);
                                                    })),
                         [](const auto& test) { return test_name(test.param); });

TEST_F(HeapFile, SmallHeapsHaveSmallChunks) {
  const auto chunk = [&](size_t bytes) {
    create_.bytes = bytes;
    create_.max_bytes = size_t{32} << 20;
    make_heap();
    const Superblock s = inspect_heap_file(path_).value().superblock;
    EXPECT_EQ(s.data_bytes(), (bytes + kPageBytes - 1) / kPageBytes * kPageBytes);
    EXPECT_EQ(s.capacity, create_.max_bytes);
    std::filesystem::remove(path_);
    return s.chunk_bytes;
  };
  create_.max_threads = 2;
  EXPECT_EQ(chunk(16 << 20), 65536u);
  EXPECT_EQ(chunk((16 << 20) - 1), 32768u);
  EXPECT_EQ(chunk(1 << 20), 4096u);
  EXPECT_EQ(chunk(64 << 10), 1024u);
}

TEST_F(HeapFile, HasDefaults) {
  CreateOptions create;
  create.engine = engine().name;
  create.journal_bytes = 0;
  auto heap = H::create(path_, create, native_).value();
  const Superblock s = heap->superblock();
  EXPECT_EQ(s.data_bytes(), 16u << 20);
  EXPECT_EQ(s.chunk_bytes, 65536u);
  EXPECT_EQ(s.growth_bytes, 0u);
  EXPECT_EQ(s.slots, 64u + 1);
  EXPECT_EQ(heap->partitions(), 0);
}

TEST_F(HeapFile, ReservesATebibyteOrWhatThereIsRoomFor) {
  create_.max_bytes = 0;
  make_heap();
  const uint64_t capacity = inspect_heap_file(path_).value().superblock.capacity;
  EXPECT_TRUE(capacity == uint64_t{1} << 40 || capacity == uint64_t{1} << 36 ||
              capacity == uint64_t{1} << 33)
      << capacity;
}

/// A heap of blocks with a chunk of their own.
class GrowingHeap : public HeapFile {
 protected:
  static constexpr size_t kChunk = 4096;
  GrowingHeap() { create_.chunk_bytes = kChunk; }

  Status allocate() {
    return heap().update([] { static_cast<void>(H::allocate(kChunk - kChunkHeaderBytes)); });
  }
  /// Allocates until the data region is larger, or the heap is full. Returns its size.
  size_t grown() {
    const size_t before = data_bytes();
    while (data_bytes() == before && allocate().ok()) {
    }
    return data_bytes();
  }
  size_t data_bytes() { return heap().superblock().data_bytes(); }
  H& heap() {
    if (heap_ == nullptr) {
      heap_ = H::create(path_, create_, native_).value();
    }
    return *heap_;
  }

 private:
  std::unique_ptr<H> heap_;
};

TEST_F(GrowingHeap, GrowsByASixteenth) {
  create_.bytes = 2 << 20;  // a fifteenth and a seventeenth round up to other pages
  EXPECT_EQ(grown(), (2 << 20) + (128 << 10));
}

TEST_F(GrowingHeap, GrowsByTheGivenAmountAtLeast) {
  create_.growth = 200 << 10;
  EXPECT_EQ(grown(), (1 << 20) + (200 << 10));
}

TEST_F(GrowingHeap, GrowsToItsLimitExactly) {
  create_.max_bytes = (1 << 20) + (68 << 10);
  EXPECT_EQ(grown(), (1 << 20) + (64 << 10));
  EXPECT_EQ(grown(), create_.max_bytes);
  EXPECT_EQ(grown(), create_.max_bytes);
  EXPECT_EQ(heap().space().value().untouched, 0u);
  EXPECT_EQ(allocate().code(), Code::out_of_space);
  EXPECT_TRUE(heap().check().value().errors.empty());
}

TEST_F(GrowingHeap, TakesWhatFitsIfTheDiskIsAlmostFull) {
  data_bytes();  // makes the heap
  {
    const FullDisk disk(std::filesystem::file_size(path_) + (32 << 10));
    EXPECT_EQ(grown(), (1 << 20) + (32 << 10));
  }
  const FullDisk disk(std::filesystem::file_size(path_) + kChunk);
  EXPECT_EQ(grown(), (1 << 20) + (32 << 10) + kChunk);
}

TEST_F(GrowingHeap, SaysThatItsListOfExtentsIsFull) {
  // Each step of two copies takes two extents, however small it is.
  create_.engine = names_of(engine_rows<NativeMachine>(), [](const auto& row) {
                     return row.description->layout == Layout::twin;
                   }).at(0);
  create_.options = {};
  create_.max_bytes = 16 << 20;
  int runs = 0;
  Status status;
  const auto allocate_once = [&] {
    runs = 0;
    const FullDisk disk(std::filesystem::file_size(path_) + 2 * kChunk);
    status = heap().update([&] {
      if (++runs > 100) {
        throw Error(Status(Code::misuse, "the body runs again and again"));
      }
      static_cast<void>(H::allocate(kChunk - kChunkHeaderBytes));
    });
    return status.ok();
  };
  data_bytes();  // makes the heap
  while (allocate_once()) {
    ASSERT_LE(heap().superblock().extents.size(), kMostExtents);
  }
  const size_t full = data_bytes();
  EXPECT_EQ(status.code(), Code::out_of_space) << status.to_string();
  EXPECT_NE(status.message().find("convert"), std::string::npos) << status.to_string();
  EXPECT_FALSE(allocate_once());
  EXPECT_EQ(status.code(), Code::out_of_space) << status.to_string();
  EXPECT_EQ(data_bytes(), full);
  EXPECT_TRUE(heap().check().value().errors.empty());
}

TEST_F(HeapFile, AFullDiskIsReportedWithTheFilesNameOnce) {
  create_.max_threads = 1;
  constexpr int kThreads = 100;
  const auto engines = names_of(engine_rows<NativeMachine>(), [&](const auto& row) {
    const Description& d = *row.description;
    const auto area = [&](int slots) { return d.area_bytes({}, slots).value(); };
    return is_durable(d) && d.layout != Layout::cells && area(2) < area(kThreads + 1);
  });
  create_.engine = engines.at(0);
  create_.options = {};
  make_heap();
  native_.max_threads = kThreads;
  {
    const FullDisk disk(std::filesystem::file_size(path_));
    const Status status = open_status();
    EXPECT_EQ(status.code(), Code::out_of_space) << status.to_string();
    EXPECT_EQ(status.message().find(path_), 0u) << status.to_string();
    EXPECT_EQ(status.message().rfind(path_), 0u) << status.to_string();
  }
  EXPECT_TRUE(open_status().ok());
}

TEST_F(HeapFile, NoSuchDirectory) {
  path_ = directory_ + "/nowhere/heap";
  EXPECT_EQ(H::create(path_, create_, native_).status().code(), Code::not_found);
}

TEST_F(HeapFile, ADirectory) {
  path_ = directory_;
  EXPECT_FALSE(open_status().ok());
}

TEST_F(HeapFile, TheBaseAddressIsTaken) {
  create_.base = reinterpret_cast<std::byte*>(0x5500'0000'0000);
  auto first = H::create(path_, create_, native_).value();
  const std::string other = path_ + "2";
  const Status status = H::create(other, create_, native_).status();
  EXPECT_EQ(status.code(), Code::busy) << status.to_string();
}

TEST_F(HeapFile, TwoHeapsAtOnceAndNoMixing) {
  struct Thing {
    H::Field<int> value{0};
  };
  auto a = H::create(path_, create_, native_).value();
  auto b = H::create(path_ + "2", create_, native_).value();
  auto* x = a->root<Thing>("x").value();
  auto* y = b->root<Thing>("y").value();
  a->update([&] { x->value = 1; }).check();
  b->update([&] { y->value = 2; }).check();
  EXPECT_EQ(a->update([&] { y->value = 3; }).code(), Code::misuse);
  Status inner;
  a->update([&] { inner = b->update([&] { y->value = 4; }); }).check();
  EXPECT_EQ(inner.code(), Code::misuse);
  EXPECT_EQ(b->read([&] { return y->value.load(); }).value(), 2);
}

TEST_F(HeapFile, ReadOnlyOpenLeavesTheFileAlone) {
  make_heap();
  const std::string before = bytes();
  native_.read_only = true;
  auto heap = H::open(path_, {}, native_);
  ASSERT_TRUE(heap.ok()) << heap.status().to_string();
  EXPECT_TRUE((*heap)->list_roots().empty());
  EXPECT_FALSE((*heap)->update([] {}).ok());
  heap.value().reset();
  EXPECT_EQ(bytes(), before);
}

/// Returns whether the kernel charges the private pages around p only when they are written.
bool is_charged_late(const void* p) {
  std::ifstream smaps("/proc/self/smaps");
  bool inside = false;
  for (std::string line; std::getline(smaps, line);) {
    uint64_t begin = 0;
    uint64_t end = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &begin, &end) == 2) {
      inside = begin <= reinterpret_cast<uint64_t>(p) && reinterpret_cast<uint64_t>(p) < end;
    } else if (inside && line.starts_with("VmFlags:")) {
      return (line + ' ').find(" nr ") != std::string::npos;
    }
  }
  return false;
}

TEST_F(HeapFile, MayBeLargerThanTheMemory) {
  if (std::ifstream("/proc/sys/vm/overcommit_memory").get() == '2') {
    GTEST_SKIP() << "this system charges all private pages at once";
  }
  create_.engine = names_of(engine_rows<NativeMachine>(), [](const auto& row) {
                     return row.description->layout == Layout::working_copy;
                   }).at(0);
  create_.options = {};
  for (const bool read_only : {false, true}) {
    native_.read_only = read_only;
    auto heap = read_only ? H::open(path_, {}, native_) : H::create(path_, create_, native_);
    ASSERT_TRUE(heap.ok()) << heap.status().to_string();
    const Number* const number =
        read_only ? (*heap)->find_root<Number>("n").value() : (*heap)->root<Number>("n").value();
    EXPECT_TRUE(is_charged_late(number)) << "read-only: " << read_only;
  }
}

TEST_F(HeapFile, AForkedChildMayNotUseTheHeap) {
  auto heap = H::create(path_, create_, native_).value();
  const auto refused = [](const Status& status) { return status.code() == Code::misuse; };
  EXPECT_EQ(0, end_of_child([&] {
              return refused(heap->update([] {})) && refused(heap->read([] {})) ? 0 : 1;
            }));
  EXPECT_TRUE(heap->update([] {}).ok()) << "the parent goes on";
}

TEST_F(HeapFile, BlocksBehindItsEndAreNeitherFreedNorExchanged) {
  auto heap = H::create(path_, create_, native_).value();
  const Superblock& s = heap->superblock();
  // The address space there is the heap's, but nothing is mapped.
  std::byte* const behind = reinterpret_cast<std::byte*>(s.base) + s.data_bytes() + s.chunk_bytes;
  EXPECT_EQ(heap->update([&] { H::deallocate(behind, 64); }).code(), Code::misuse);
  EXPECT_EQ(heap->update([&] { static_cast<void>(H::exchange(behind, 64, 64)); }).code(),
            Code::misuse);
}

TEST_F(HeapFile, IsForItsOwnerOnly) {
  make_heap();
  EXPECT_EQ(std::filesystem::status(path_).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
}

TEST_F(HeapFile, ThreadsBeyondTheLimitTakeTurns) {
  create_.max_threads = 2;
  auto heap = H::create(path_, create_, native_).value();
  heap->update([] {}).check();  // the first slot
  std::atomic<int> inside{0};
  std::thread second([&] {
    heap->update([] {}).check();
    inside = 1;
    while (inside != 2) {
      std::this_thread::yield();
    }
  });
  while (inside != 1) {
    std::this_thread::yield();
  }
  auto* const sum = heap->root<Number>("sum").value();
  constexpr int kEach = 200;
  const auto add = [&] {
    for (int i = 0; i < kEach; ++i) {
      EXPECT_TRUE(heap->update([&] { sum->value = sum->value + 1; }).ok());
      EXPECT_TRUE(heap->read([&] { return sum->value.load(); }).ok());
    }
  };
  std::vector<std::thread> guests;
  for (int i = 0; i < 3; ++i) {
    guests.emplace_back(add);
  }
  add();  // the first thread keeps its slot, as does the second
  for (std::thread& guest : guests) {
    guest.join();
  }
  EXPECT_EQ(heap->read([&] { return sum->value.load(); }).value(), 4 * kEach);
  inside = 2;
  second.join();
  std::thread fourth(
      [&] { EXPECT_TRUE(heap->update([] {}).ok()) << "the slot was not given back"; });
  fourth.join();
}

// The background thread of some engines has the slot that guests use otherwise.
TEST_F(HeapFile, AThreadWithoutASlotIsTold) {
  int told = 0;
  create_.max_threads = 1;
  for (const std::string& name :
       names_of(engine_rows<NativeMachine>(), [](const auto&) { return true; })) {
    create_.engine = name;
    create_.options =
        known_options(*AnyEngine<NativeMachine>::describe(name).value(), {{"log_bytes", "65536"}});
    auto heap = H::create(path_, create_, native_).value();
    heap->update([] {}).check();  // the only slot
    Status status;
    std::thread([&] { status = heap->update([] {}); }).join();
    if (!status.ok()) {
      EXPECT_EQ(status.code(), Code::too_many_threads) << name;
      EXPECT_NE(status.message().find(path_ + ": "), std::string::npos) << status.message();
      EXPECT_NE(status.message().find("max_threads, which is 1;"), std::string::npos)
          << status.message();
      ++told;
    }
    EXPECT_TRUE(heap->update([] {}).ok()) << name;
    heap->close().check();
    std::filesystem::remove(path_);
  }
  EXPECT_GT(told, 0);
}

}  // namespace
}  // namespace holdfast::heap_file_test
