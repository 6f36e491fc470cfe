// SPDX-License-Identifier: Apache-2.0
//
// Does each page of a heap with a journal agree with its checksum, whatever the heap went through:
// growth, compaction, more threads, other domains, a crash? Is a damaged page reported? Do heaps
// without checksums stay as they are?
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "holdfast/base/random.h"
#include "holdfast/engines/parts/any/any_engine.h"
#include "holdfast/heap/file/inspect.h"
#include "holdfast/heap/file/native_heap_file.h"
#include "holdfast/heap/heap.h"
#include "holdfast/machine/native/medium/journaled_memory.h"
#include "holdfast/machine/native/native_machine.h"
#include "tests/file_bytes.h"
#include "tests/native/journal_engines.h"
#include "tests/native/test_file.h"
#include "tests/sanitized.h"

namespace holdfast::journal_checksums_test {
namespace {

using CheckedHeap = Heap<AnyEngine<NativeMachine>>;

void write_all(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary)
      .write(content.data(), static_cast<std::streamsize>(content.size()));
}

/// Objects of some sizes, and as many that were freed.
struct Blocks {
  static constexpr const char* kTypeName = "test.Blocks";
  static constexpr uint32_t kTypeVersion = 1;
  static constexpr size_t kBlocks = 60;
  CheckedHeap::Field<CheckedHeap::Field<uint64_t>*> block[kBlocks] = {};
};

class ChecksumsOfHeap : public testing::TestWithParam<std::string> {
 protected:
  static constexpr size_t kBlockBytes = 9000;  // of more than two pages

  ChecksumsOfHeap() {
    create_.engine = GetParam();
    create_.bytes = 256 << 10;
    create_.max_bytes = 16 << 20;
    create_.max_threads = 2;
    create_.journal_bytes = 64 << 10;
    create_.options = small_log(GetParam());
    native_.domain = Domain::file;
    native_.sync = [](int) { return 0; };
  }

  std::unique_ptr<CheckedHeap> make() {
    return CheckedHeap::create(file_.path(), create_, native_).value();
  }
  Result<std::unique_ptr<CheckedHeap>> open() {
    return CheckedHeap::open(file_.path(), {}, native_);
  }
  Superblock superblock() const { return inspect_heap_file(file_.path()).value().superblock; }
  /// Returns the pages of all regions.
  static uint64_t pages_of(const Superblock& s) {
    uint64_t bytes = 0;
    for (const Extent& extent : s.extents) {
      const bool region =
          extent.kind != ExtentKind::journal && extent.kind != ExtentKind::page_checksums;
      bytes += region ? extent.bytes : 0;
    }
    return bytes / kPageBytes;
  }
  static void expect_right(CheckedHeap& heap) {
    const HeapCheck check = heap.check().value();
    EXPECT_TRUE(check.errors.empty()) << check.errors.front();
    EXPECT_EQ(check.verified_pages, pages_of(heap.superblock()));
  }
  /// Makes and frees blocks, so that the heap grows and has free room.
  static void work(CheckedHeap& heap, uint64_t seed) {
    Blocks* const blocks = heap.root<Blocks>("blocks").value();
    Random random(seed);
    for (int i = 0; i < (kSanitized ? 60 : 200); ++i) {
      const size_t at = random.below(Blocks::kBlocks);
      const uint64_t value = random.next();
      heap.update([&] {
            CheckedHeap::Field<uint64_t>* one = blocks->block[at];
            if (one != nullptr) {
              CheckedHeap::deallocate(one, kBlockBytes);
              blocks->block[at] = nullptr;
            } else {
              one = static_cast<CheckedHeap::Field<uint64_t>*>(CheckedHeap::allocate(kBlockBytes));
              for (size_t word = 0; word < kBlockBytes / 8; word += 100) {
                one[word] = value + word;
              }
              blocks->block[at] = one;
            }
          })
          .check();
    }
  }
  static void free_all(CheckedHeap& heap) {
    Blocks* const blocks = heap.root<Blocks>("blocks").value();
    heap.update([&] {
          for (auto& block : blocks->block) {
            if (block.load() != nullptr) {
              CheckedHeap::deallocate(block.load(), kBlockBytes);
              block = nullptr;
            }
          }
        })
        .check();
  }
  /// The content of the file, of which no heap is open.
  std::string bytes() const { return file_bytes(file_.path()); }

  NativeTestFile file_{"/dev/shm"};
  CreateOptions create_;
  NativeOptions native_;
};

TEST_P(ChecksumsOfHeap, AreRightWhileItGrowsAndAfterwards) {
  {
    const auto heap = make();
    expect_right(*heap);
    for (uint64_t round = 0; round < 4; ++round) {
      work(*heap, round);
      expect_right(*heap);
    }
    EXPECT_GT(heap->superblock().data_bytes(), create_.bytes);
    EXPECT_GT(heap->machine().medium().journal_counters().checkpoints, 0u);
    EXPECT_EQ(heap->machine().medium().journal_counters().damaged_pages, 0u);
  }
  expect_right(*open().value());
  native_.read_only = true;
  expect_right(*open().value());
}

TEST_P(ChecksumsOfHeap, AreRightAfterACompaction) {
  const auto heap = make();
  work(*heap, 1);
  free_all(*heap);
  ASSERT_TRUE(heap->compact().ok());
  expect_right(*heap);
  work(*heap, 2);
  ASSERT_TRUE(heap->compact().ok());
  expect_right(*heap);
  EXPECT_EQ(heap->machine().medium().journal_counters().damaged_pages, 0u);
}

TEST_P(ChecksumsOfHeap, AreRightAfterACrash) {
  std::string crashed;
  {
    const auto heap = make();
    work(*heap, 1);
    heap->machine().medium().journaled()->journal().checkpoint();
    heap->update([] { static_cast<void>(CheckedHeap::allocate(100)); }).check();
    crashed = file_bytes_at_one_moment(file_.path());
  }
  write_all(file_.path(), crashed);
  native_.read_only = true;
  expect_right(*open().value());
  native_.read_only = false;
  const auto heap = open().value();
  expect_right(*heap);
  work(*heap, 2);
  expect_right(*heap);
}

TEST_P(ChecksumsOfHeap, AreRightWithMoreThreads) {
  make()->close().check();
  native_.max_threads = 9;
  auto heap = open();
  if (heap.status().code() == Code::unsupported) {
    GTEST_SKIP() << heap.status().message();
  }
  ASSERT_TRUE(heap.ok()) << heap.status().to_string();
  work(**heap, 1);
  expect_right(**heap);
}

TEST_P(ChecksumsOfHeap, AreMadeAtTheEndOfACreationInAnotherDomain) {
  native_.domain = Domain::process;
  {
    const auto heap = make();
    work(*heap, 1);
    EXPECT_EQ(heap->verify_pages().value(), 0u);
  }
  native_.read_only = true;
  expect_right(*open().value());
  native_.read_only = false;
  native_.domain = Domain::file;
  expect_right(*open().value());
}

TEST_P(ChecksumsOfHeap, AreNotAskedAfterChangesInAnotherDomainUntilTheyAreNew) {
  make()->close().check();
  native_.domain = Domain::process;
  work(*open().value(), 1);
  native_.read_only = true;
  EXPECT_EQ(open().value()->verify_pages().value(), 0u);
  native_.read_only = false;
  native_.domain = Domain::file;
  const auto heap = open().value();
  expect_right(*heap);
  work(*heap, 2);
  expect_right(*heap);
}

TEST_P(ChecksumsOfHeap, DoNotCountWhatTheFileHadBehindItsEnd) {
  {
    const auto heap = make();
    work(*heap, 1);
  }
  write_all(file_.path(), bytes() + std::string(300'000, 'x'));
  const auto heap = open().value();
  const uint64_t before = heap->superblock().data_bytes();
  for (uint64_t round = 2; heap->superblock().data_bytes() < before + (256 << 10); ++round) {
    heap->update([] { static_cast<void>(CheckedHeap::allocate(100'000)); }).check();
  }
  expect_right(*heap);
}

TEST_P(ChecksumsOfHeap, FindADamagedByteInEachRegion) {
  {
    const auto heap = make();
    work(*heap, 1);
  }
  const std::string good = bytes();
  const Superblock s = superblock();
  Random random(4);
  for (const Extent& extent : s.extents) {
    if (extent.kind == ExtentKind::journal || extent.kind == ExtentKind::page_checksums) {
      continue;
    }
    for (int i = 0; i < 3; ++i) {
      std::string content = good;
      const uint64_t at = extent.offset + random.below(extent.bytes);
      content[at] = static_cast<char>(content[at] ^ 16);
      write_all(file_.path(), content);
      native_.read_only = true;
      auto heap = open();
      if (heap.ok()) {
        const Status status = (*heap)->verify_pages().status();
        EXPECT_EQ(status.code(), Code::corrupt) << to_string(extent.kind) << ' ' << at;
        const std::string page = "byte " + std::to_string(at / kPageBytes * kPageBytes) + " ";
        EXPECT_NE(status.message().find(page), std::string::npos) << status.message();
        EXPECT_EQ(status.message().rfind(file_.path(), 0), 0u) << status.message();
        EXPECT_FALSE((*heap)->check().value().ok());
      } else {
        EXPECT_EQ(heap.status().code(), Code::corrupt);
      }
    }
  }
}

// As versions before have made it.
TEST_P(ChecksumsOfHeap, AreOptional) {
  make()->close().check();
  Superblock s = superblock();
  std::erase_if(s.extents, [](const Extent& e) { return e.kind == ExtentKind::page_checksums; });
  s.features.read_only = 0;
  std::string content = bytes();
  const auto copy = encode(s).value();
  for (const size_t at : {size_t{0}, kSuperblockBytes}) {
    std::memcpy(content.data() + at, copy.data(), copy.size());
  }
  write_all(file_.path(), content);
  for (int life = 0; life < 2; ++life) {
    const auto heap = open().value();
    work(*heap, 1);
    EXPECT_EQ(heap->verify_pages().value(), 0u);
    EXPECT_TRUE(heap->check().value().errors.empty());
    free_all(*heap);
    EXPECT_TRUE(heap->compact().ok());
  }
  EXPECT_FALSE(superblock().has_page_checksums());
  EXPECT_GT(superblock().data_bytes(), create_.bytes);
}

TEST_P(ChecksumsOfHeap, AreAFeatureThatAllowsOlderProgramsToRead) {
  make()->close().check();
  const Superblock s = superblock();
  EXPECT_TRUE(s.has_page_checksums());
  EXPECT_EQ(s.features.read_only, kPageChecksumsFeature);
  EXPECT_GE(8 * s.checksummed_pages(), 8 * pages_of(s));
  EXPECT_GE(s.bytes_of(ExtentKind::page_checksums), 8 * s.checksummed_pages());
}

INSTANTIATE_TEST_SUITE_P(Engines, ChecksumsOfHeap, testing::ValuesIn(engines_by_journal(true)),
                         name_of_test);

Superblock with_table() {
  Superblock s;
  s.engine = "any";
  s.base = uint64_t{1} << 40;
  s.capacity = uint64_t{1} << 32;
  s.chunk_bytes = 4096;
  s.slots = 2;
  s.append(ExtentKind::journal, kLeastJournalBytes);
  s.append(ExtentKind::data, 3 << 20);
  s.features.incompatible = kJournalFeature;
  s.features.read_only = kPageChecksumsFeature;
  s.append_page_checksums();
  return s;
}

TEST(TableOfChecksums, NeedsItsFeatureAJournalAndAnEntryForEachPage) {
  const auto fits = [](auto change) {
    Superblock s = with_table();
    change(s);
    return validate(s, uint64_t{1} << 40, "file").ok();
  };
  EXPECT_TRUE(fits([](Superblock&) {}));
  EXPECT_FALSE(fits([](Superblock& s) { s.features.read_only = 0; }));
  EXPECT_FALSE(fits([](Superblock& s) { s.extents.pop_back(); }));
  EXPECT_FALSE(fits([](Superblock& s) { s.extents.back().bytes = kPageBytes; }));
  EXPECT_FALSE(fits([](Superblock& s) { s.extents.back().offset -= kPageBytes; }));
  EXPECT_FALSE(fits([](Superblock& s) {
    s.extents.erase(s.extents.begin());
    s.features.incompatible = 0;
  }));
  EXPECT_FALSE(fits([](Superblock& s) { s.append(ExtentKind::data, 100 << 20); }));
}

TEST(TableOfChecksums, CountsNoPagesOfTheJournal) {
  const Superblock s = with_table();
  EXPECT_EQ(s.checksummed_pages(), (kHeaderBytes + (3 << 20)) / kPageBytes);
  EXPECT_EQ(s.bytes_of(ExtentKind::page_checksums), 4 * kPageBytes);  // 2 * 776 entries
}

// As a heap with a twin grows from 1 MiB to 16 TiB.
TEST(TableOfChecksums, HasFewPieces) {
  Superblock s = with_table();
  while (s.data_bytes() < uint64_t{1} << 44) {
    const uint64_t bytes = s.data_bytes();
    const uint64_t step = std::max<uint64_t>(bytes / (bytes < 1 << 30 ? 16 : 8), 256 << 10);
    for (const ExtentKind kind : {ExtentKind::data, ExtentKind::twin}) {
      s.append(kind, step / kPageBytes * kPageBytes);
    }
    s.append_page_checksums();
  }
  EXPECT_LE(s.extents.size(), kMostExtents);
  EXPECT_LT(s.bytes_of(ExtentKind::page_checksums), s.file_bytes() / 200);
}

}  // namespace
}  // namespace holdfast::journal_checksums_test
