// SPDX-License-Identifier: Apache-2.0
//
// Does a program read the superblocks of older and newer formats as docs/reference/file-format.md
// promises, and does it refuse what it does not understand?
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <span>
#include <thread>
#include <vector>

#include "holdfast/engines/parts/any/any_engine.h"
#include "holdfast/heap/file/inspect.h"
#include "holdfast/heap/file/superblock_v1.h"
#include "holdfast/holdfast.h"
#include "tests/engine_options.h"
#include "tests/file_bytes.h"
#include "tests/sanitized.h"
#include "tests/superblock_of.h"
#include "tests/superblock_v1_bytes.h"

namespace holdfast::format_test {
namespace {

using H = Heap<AnyEngine<NativeMachine>>;
using Bytes = std::vector<std::byte>;

struct Thing {
  H::Field<uint64_t> value{0};
  H::Field<Thing*> next{nullptr};
};

Superblock example() {
  Superblock s;
  s.engine = "some-engine";
  s.options = {{"log_bytes", "4096"}, {"order", "old first"}};
  s.base = 0x5500'0000'0000;
  s.capacity = 64 * kPageBytes;
  s.chunk_bytes = 4096;
  s.growth_bytes = 8192;
  s.slots = 3;
  s.append(ExtentKind::area, 2 * kPageBytes);
  for (int i = 0; i < 3; ++i) {
    s.append(ExtentKind::data, 4 * kPageBytes);
    s.append(ExtentKind::twin, 4 * kPageBytes);
  }
  return s;
}

TEST(Superblock, IsReadAsItWasWritten) {
  Superblock s = example();
  s.features = {1, 0, 0};
  const Superblock read = decode(encode(s).value()).value();
  EXPECT_EQ(read.engine, s.engine);
  EXPECT_EQ(read.options, s.options);
  EXPECT_EQ(read.base, s.base);
  EXPECT_EQ(read.growth_bytes, s.growth_bytes);
  EXPECT_EQ(read.features.compatible, 1U);
  ASSERT_EQ(read.extents.size(), s.extents.size());
  for (size_t i = 0; i < s.extents.size(); ++i) {
    EXPECT_EQ(read.extents[i].kind, s.extents[i].kind);
    EXPECT_EQ(read.extents[i].offset, s.extents[i].offset);
    EXPECT_EQ(read.extents[i].bytes, s.extents[i].bytes);
  }
  EXPECT_TRUE(validate(read, read.file_bytes(), "file").ok());
  EXPECT_EQ(validate(read, read.file_bytes() - 1, "file").code(), Code::corrupt);
}

TEST(Superblock, FindsEachByteOfARegion) {
  const Superblock s = example();
  EXPECT_EQ(s.data_bytes(), 12 * kPageBytes);
  const uint64_t begin = kHeaderBytes + 2 * kPageBytes;
  EXPECT_EQ(s.file_offset(ExtentKind::data), begin);
  EXPECT_EQ(s.file_offset(ExtentKind::twin), begin + 4 * kPageBytes);
  EXPECT_EQ(s.file_offset(ExtentKind::data, 4 * kPageBytes), begin + 8 * kPageBytes);
  EXPECT_EQ(s.file_offset(ExtentKind::data, 12 * kPageBytes - 1), begin + 20 * kPageBytes - 1);
  EXPECT_EQ(s.file_offset(ExtentKind::data, 12 * kPageBytes), s.file_bytes());
}

TEST(Superblock, MakesTheLastExtentLongerIfItEndsTheFile) {
  Superblock s;
  s.append(ExtentKind::data, kPageBytes);
  s.append(ExtentKind::data, kPageBytes);
  ASSERT_EQ(s.extents.size(), 1U);
  EXPECT_EQ(s.extents[0].bytes, 2 * kPageBytes);
  s.append(ExtentKind::area, kPageBytes);
  s.append(ExtentKind::data, kPageBytes);
  EXPECT_EQ(s.extents.size(), 3U);
}

TEST(Superblock, TheNewerValidCopyCounts) {
  Superblock old = example();
  Superblock fresh = example();
  old.sequence = 6;
  fresh.sequence = 7;
  fresh.slots = 4;
  bool healed = true;
  EXPECT_EQ(choose(header_of(old, fresh), "file", &healed).value().slots, 4U);
  EXPECT_FALSE(healed);
  EXPECT_EQ(choose(header_of(fresh, old), "file", &healed).value().slots, 4U);
  // Each byte of a copy, damaged: the other copy counts.
  const size_t used = encode(fresh).value().size();
  for (size_t i = 0; i < used; ++i) {
    Bytes header = header_of(old, fresh);
    header[kSuperblockBytes + i] ^= std::byte{4};
    EXPECT_EQ(choose(header, "file", &healed).value().slots, 3U) << i;
    EXPECT_TRUE(healed) << i;
    header = header_of(fresh, old);
    header[i] ^= std::byte{4};
    EXPECT_EQ(choose(header, "file", &healed).value().slots, 3U) << i;
  }
}

TEST(Superblock, WithoutAValidCopyTheReasonIsGiven) {
  bool healed = false;
  const auto status = [&](const Bytes& header) { return choose(header, "file", &healed).status(); };
  EXPECT_EQ(status({}).code(), Code::wrong_format);
  EXPECT_NE(status(Bytes(kHeaderBytes)).message().find("interrupted"), std::string::npos);
  EXPECT_NE(status(Bytes(kHeaderBytes, std::byte{'x'})).message().find("not a Holdfast heap"),
            std::string::npos);
  Bytes both = header_of(example(), example());
  both[100] ^= std::byte{1};
  both[kSuperblockBytes + 100] ^= std::byte{1};
  EXPECT_EQ(status(both).code(), Code::corrupt);
  Superblock newer = example();
  newer.features.incompatible = 0x10;
  EXPECT_EQ(status(header_of(newer, newer)).code(), Code::wrong_format);
  EXPECT_NE(status(header_of(newer, newer)).message().find("bits 10"), std::string::npos);
}

TEST(Superblock, ImplausibleExtentsAreDamage) {
  const auto refused = [](auto change) {
    Superblock s = example();
    change(s);
    return validate(s, uint64_t{1} << 40, "file").code() == Code::corrupt;
  };
  EXPECT_FALSE(refused([](Superblock&) {}));
  EXPECT_TRUE(refused([](Superblock& s) { s.extents.clear(); }));
  EXPECT_TRUE(refused([](Superblock& s) { s.extents[0].offset = 0; }));
  EXPECT_TRUE(refused([](Superblock& s) { s.extents[1].offset += 8; }));
  EXPECT_TRUE(refused([](Superblock& s) { s.extents[1].offset += kPageBytes; }));
  EXPECT_TRUE(refused([](Superblock& s) { s.extents[1].bytes = 0; }));
  EXPECT_TRUE(refused([](Superblock& s) { s.extents.back().bytes = ~uint64_t{0}; }));
  EXPECT_TRUE(refused([](Superblock& s) { s.extents.back().offset = ~uint64_t{4095}; }));
  EXPECT_TRUE(refused([](Superblock& s) { s.extents.pop_back(); }));
  EXPECT_TRUE(refused([](Superblock& s) { s.extents.back().kind = ExtentKind::cells; }));
  EXPECT_TRUE(refused([](Superblock& s) { s.capacity = kPageBytes; }));
  EXPECT_TRUE(refused([](Superblock& s) { s.chunk_bytes = 3000; }));
}

TEST(Superblock, AJournalNeedsItsFeatureAndOneExtentOfAPossibleSize) {
  const auto fits = [](uint64_t feature, const std::vector<uint64_t>& journals) {
    Superblock s = example();
    s.features.incompatible = feature;
    for (const uint64_t bytes : journals) {
      s.extents.push_back({ExtentKind::journal, s.file_bytes(), bytes});
    }
    return validate(s, uint64_t{1} << 40, "file").ok();
  };
  EXPECT_TRUE(fits(0, {}));
  EXPECT_TRUE(fits(kJournalFeature, {kLeastJournalBytes}));
  EXPECT_FALSE(fits(kJournalFeature, {}));
  EXPECT_FALSE(fits(0, {kLeastJournalBytes}));
  EXPECT_FALSE(fits(kJournalFeature, {kLeastJournalBytes, kLeastJournalBytes}));
  EXPECT_FALSE(fits(kJournalFeature, {kLeastJournalBytes - kPageBytes}));
  EXPECT_FALSE(fits(kJournalFeature, {kMostJournalBytes + kPageBytes}));
}

TEST(Superblock, HasRoomForManyExtentsAndNoMore) {
  Superblock s = example();
  while (s.extents.size() < kMostExtents) {
    s.extents.push_back({ExtentKind::data, s.file_bytes(), kPageBytes});
  }
  s.options["long"] = std::string(2000, 'x');
  EXPECT_LE(encode(s).value().size(), kSuperblockBytes);
  s.extents.push_back({ExtentKind::data, s.file_bytes(), kPageBytes});
  EXPECT_EQ(encode(s).status().code(), Code::out_of_space);
}

/// One engine for each layout of the regions.
std::vector<std::string> one_engine_per_layout() {
  std::vector<std::string> names;
  for (const Layout layout :
       {Layout::in_place, Layout::working_copy, Layout::twin, Layout::cells}) {
    for (const std::string& name : names_of(engine_rows<NativeMachine>(), [&](const auto& row) {
           return is_durable(*row.description) && row.description->layout == layout;
         })) {
      names.push_back(name);
      break;
    }
  }
  return names;
}

class Format : public testing::TestWithParam<std::string> {
 public:
  ~Format() override { std::filesystem::remove_all(directory_); }

 protected:
  Format() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "holdfast-format-XXXXXX").string();
    directory_ = mkdtemp(pattern.data());
    path_ = directory_ + "/heap";
    native_.domain = Domain::process;
    native_.max_threads = 4;
    const Description& engine = *AnyEngine<NativeMachine>::describe(GetParam()).value();
    create_.engine = engine.name;
    create_.options = known_options(engine, {{"log_bytes", "65536"}});
    create_.bytes = 256 << 10;
    create_.max_bytes = 16 << 20;
    create_.max_threads = 4;
  }

  /// Makes a heap with a list of `n` Things. It grows in several steps unless `n` is small.
  void make_heap(uint64_t n = 20'000) {
    auto heap = H::create(path_, create_, native_).value();
    auto* head = heap->root<Thing>("things").value();
    for (uint64_t i = 1; i < n; i += 100) {
      heap->update([&] {
            for (uint64_t j = 0; j < 100; ++j) {
              auto* thing = H::make<Thing>();
              thing->value = i + j;
              thing->next = head->next.load();
              head->next = thing;
            }
          })
          .check();
    }
    EXPECT_EQ(heap->superblock().data_bytes() > create_.bytes, n > 10'000);
    heap->close().check();
  }
  static uint64_t sum(H& heap) {
    auto* head = heap.find_root<Thing>("things").value();
    return heap
        .read([&] {
          uint64_t total = 0;
          for (Thing* thing = head; thing != nullptr; thing = thing->next) {
            total += thing->value;
          }
          return total;
        })
        .value();
  }
  Bytes bytes() const {
    const std::string text = file_bytes(path_);
    Bytes all(text.size());
    std::memcpy(all.data(), text.data(), text.size());
    return all;
  }
  void write(const Bytes& all) const {
    std::ofstream(path_, std::ios::binary | std::ios::trunc)
        .write(reinterpret_cast<const char*>(all.data()), static_cast<std::streamsize>(all.size()));
  }
  void change_superblock(const std::function<void(Superblock&)>& change) const {
    Bytes all = bytes();
    Superblock s = inspect_heap_file(path_).value().superblock;
    change(s);
    const Bytes header = header_of(s, s);
    std::copy(header.begin(), header.end(), all.begin());
    write(all);
  }
  Result<std::unique_ptr<H>> open(size_t max_bytes = 0) {
    OpenOptions options;
    options.max_bytes = max_bytes;
    return H::open(path_, options, native_);
  }

  std::string directory_;
  std::string path_;
  NativeOptions native_;
  CreateOptions create_;
};

INSTANTIATE_TEST_SUITE_P(Layouts, Format, testing::ValuesIn(one_engine_per_layout()),
                         [](const auto& instance) {
                           std::string name = instance.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

constexpr uint64_t kSum = uint64_t{20'000} * 20'001 / 2;

TEST_P(Format, GrowsInFewSteps) {
  make_heap();
  const HeapFileInfo info = inspect_heap_file(path_).value();
  const Superblock& s = info.superblock;
  EXPECT_LT(s.extents.size(), 40U);
  EXPECT_EQ(std::filesystem::file_size(path_), s.file_bytes());
  EXPECT_EQ(info.file_bytes, s.file_bytes());
  EXPECT_GT(info.disk_bytes, 0U);
  EXPECT_EQ(sum(*open().value()), kSum);
}

TEST_P(Format, AnUnknownCompatibleFeatureIsKept) {
  make_heap();
  change_superblock([](Superblock& s) { s.features.compatible = uint64_t{1} << 63; });
  auto heap = open(32 << 20).value();  // writes the superblocks
  EXPECT_EQ(sum(*heap), kSum);
  heap.reset();
  EXPECT_EQ(inspect_heap_file(path_).value().superblock.features.compatible, uint64_t{1} << 63);
}

TEST_P(Format, AnUnknownReadOnlyFeatureAllowsReading) {
  make_heap();
  change_superblock([](Superblock& s) { s.features.read_only = 2; });
  const Bytes before = bytes();
  EXPECT_EQ(open().status().code(), Code::unsupported);
  EXPECT_NE(open().status().message().find("read-only"), std::string::npos);
  native_.read_only = true;
  EXPECT_EQ(sum(*open().value()), kSum);
  EXPECT_EQ(bytes(), before);
}

TEST_P(Format, AnUnknownIncompatibleFeatureIsRefused) {
  make_heap();
  change_superblock([](Superblock& s) { s.features.incompatible = uint64_t{1} << 62; });
  for (const bool read_only : {false, true}) {
    native_.read_only = read_only;
    EXPECT_EQ(open().status().code(), Code::wrong_format);
    EXPECT_NE(open().status().message().find("newer"), std::string::npos);
  }
}

TEST_P(Format, FineClassesAreAFeatureAndSaveRoom) {
  constexpr size_t kBlocks = 2000;
  constexpr size_t kBytes = 90;
  create_.chunk_bytes = kMostFineChunk;
  for (const bool fine : {false, true}) {
    create_.fine_classes = fine;
    std::filesystem::remove(path_);
    auto heap = H::create(path_, create_, native_).value();
    EXPECT_EQ((heap->superblock().features.incompatible & kFineClassesFeature) != 0, fine);
    const uint64_t before = heap->space().value().used;
    std::vector<void*> blocks(kBlocks);
    for (size_t i = 0; i < kBlocks; i += 100) {
      heap->update([&] {
            for (size_t j = i; j < i + 100; ++j) {
              blocks[j] = H::allocate(kBytes);
            }
          })
          .check();
    }
    EXPECT_EQ(heap->space().value().used - before, kBlocks * (fine ? 96 : 128));
    for (size_t i = 0; i < kBlocks; i += 2) {
      heap->update([&] { H::deallocate(blocks[i], kBytes); }).check();
    }
    EXPECT_TRUE(heap->check().value().errors.empty());
    heap->close().check();
  }
  change_superblock([](Superblock& s) { s.features.incompatible &= ~kFineClassesFeature; });
  EXPECT_EQ(open().status().code(), Code::corrupt);
}

TEST_P(Format, FineClassesNeedSmallChunks) {
  create_.chunk_bytes = 2 * kMostFineChunk;
  create_.fine_classes = true;
  EXPECT_EQ(H::create(path_, create_, native_).status().code(), Code::invalid_argument);
}

TEST_P(Format, ALargerLimitIsRecorded) {
  make_heap();
  const uint64_t before = inspect_heap_file(path_).value().superblock.capacity;
  {
    auto heap = open(64 << 20).value();
    EXPECT_EQ(sum(*heap), kSum);
    auto* big = heap->update([] { return H::allocate(size_t{30} << 20); }).value();
    EXPECT_TRUE(heap->contains(big));
  }
  const Superblock s = inspect_heap_file(path_).value().superblock;
  EXPECT_GT(s.capacity, before);
  EXPECT_EQ(s.capacity, uint64_t{64} << 20);
  EXPECT_EQ(sum(*open().value()), kSum);
}

TEST_P(Format, ASmallerLimitHoldsUntilTheHeapIsClosed) {
  make_heap();
  const uint64_t size = inspect_heap_file(path_).value().superblock.data_bytes();
  {
    auto heap = open(size).value();
    const Status full = heap->update([] { H::allocate(size_t{4} << 20); }).code() == Code::ok
                            ? Status()
                            : heap->update([] { H::allocate(size_t{4} << 20); });
    EXPECT_EQ(full.code(), Code::out_of_space);
    EXPECT_NE(full.message().find("max_bytes=" + std::to_string(size)), std::string::npos)
        << full.message();
  }
  auto heap = open().value();
  EXPECT_TRUE(heap->update([] { H::allocate(size_t{4} << 20); }).ok());
}

/// Rewrites the closed heap as format 1 had it.
class FormatOne : public Format {
 protected:
  void rewrite() const {
    const Superblock s = inspect_heap_file(path_).value().superblock;
    const Bytes all = bytes();
    SuperblockV1 raw;
    raw.copies = s.bytes_of(ExtentKind::twin) != 0 ? 2 : s.bytes_of(ExtentKind::cells) != 0 ? 3 : 1;
    std::memcpy(raw.engine, s.engine.data(), s.engine.size());
    raw.base = s.base;
    raw.segment_bytes = kPageBytes;
    raw.segments = s.data_bytes() / kPageBytes;
    raw.capacity = s.capacity;
    raw.area_bytes = s.area_bytes();
    raw.chunk_bytes = s.chunk_bytes;
    raw.slots = s.slots;
    std::string options;
    for (const auto& [name, value] : s.options) {
      options += name + "=" + value + "\n";
    }
    raw.options_bytes = static_cast<uint32_t>(options.size());
    std::memcpy(raw.options, options.data(), options.size());
    const Bytes page = page_of(raw);
    Bytes old;
    const auto add = [&](const std::byte* from, size_t n) {
      old.insert(old.end(), from, from + n);
    };
    add(page.data(), page.size());
    add(page.data(), page.size());
    add(&all[s.file_offset(ExtentKind::area)], s.area_bytes());
    for (uint64_t at = 0; at < s.data_bytes(); at += kPageBytes) {
      add(&all[s.file_offset(ExtentKind::data, at)], kPageBytes);
      if (raw.copies == 2) {
        add(&all[s.file_offset(ExtentKind::twin, at)], kPageBytes);
      } else if (raw.copies == 3) {
        add(&all[s.file_offset(ExtentKind::cells, 2 * at)], kPageBytes);
        add(&all[s.file_offset(ExtentKind::cells, 2 * at + kPageBytes)], kPageBytes);
      }
    }
    write(old);
  }
};

INSTANTIATE_TEST_SUITE_P(Layouts, FormatOne, testing::ValuesIn(one_engine_per_layout()),
                         [](const auto& instance) {
                           std::string name = instance.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST_P(FormatOne, OpensReadOnly) {
  make_heap();
  rewrite();
  const Bytes before = bytes();
  const Status refused = open().status();
  EXPECT_EQ(refused.code(), Code::unsupported) << refused.to_string();
  EXPECT_NE(refused.message().find("convert"), std::string::npos);
  native_.read_only = true;
  auto heap = open();
  ASSERT_TRUE(heap.ok()) << heap.status().to_string();
  EXPECT_EQ(sum(**heap), kSum);
  heap.value().reset();
  EXPECT_EQ(bytes(), before);
  EXPECT_EQ(inspect_heap_file(path_).value().superblock.format, 1U);
}

TEST_P(FormatOne, OneDamagedCopyCostsNothing) {
  make_heap();
  rewrite();
  Bytes all = bytes();
  all[60] ^= std::byte{1};
  write(all);
  native_.read_only = true;
  auto heap = open();
  ASSERT_TRUE(heap.ok()) << heap.status().to_string();
  EXPECT_TRUE((*heap)->healed());
  heap.value().reset();
  all[v1::kSuperblockBytes + 60] ^= std::byte{1};
  write(all);
  EXPECT_EQ(open().status().code(), Code::corrupt);
}

/// A closed heap of each engine.
class ClosedHeap : public Format {
 protected:
  /// Opens the heap, adds a Thing, and kills the use of the heap by leaving it open, as seen by a
  /// copy of the file.
  void leave_open() {
    auto heap = open().value();
    auto* head = heap->find_root<Thing>("things").value();
    heap->update([&] {
          auto* thing = H::make<Thing>();
          thing->value = 1;
          thing->next = head->next.load();
          head->next = thing;
        })
        .check();
    const Bytes all = bytes();
    heap.reset();
    write(all);
  }
};

INSTANTIATE_TEST_SUITE_P(Engines, ClosedHeap,
                         testing::ValuesIn(names_of(engine_rows<NativeMachine>(),
                                                    [](const auto& row) {
                                                      return is_durable(*row.description);
                                                    })),
                         [](const auto& instance) {
                           std::string name = instance.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST_P(ClosedHeap, IsMarkedAsSuch) {
  make_heap(1000);
  EXPECT_TRUE(inspect_heap_file(path_).value().superblock.clean);
  auto heap = open().value();
  EXPECT_FALSE(inspect_heap_file(path_).value().superblock.clean);
  heap.reset();
  EXPECT_TRUE(inspect_heap_file(path_).value().superblock.clean);
  native_.read_only = true;
  open().value()->close().check();
  EXPECT_TRUE(inspect_heap_file(path_).value().superblock.clean);
}

TEST_P(ClosedHeap, DoesNotNeedItsEngineArea) {
  constexpr uint64_t kThings = 1000;
  make_heap(kThings);
  const Superblock s = inspect_heap_file(path_).value().superblock;
  const bool in_cells = s.bytes_of(ExtentKind::cells) != 0;
  const uint64_t area = s.file_offset(ExtentKind::area);
  const Bytes good = bytes();
  for (uint64_t i = 0; i < 100; i += kSanitized ? 5 : 1) {
    Bytes all = good;
    if (i < 60) {  // a bit of a header; records of some engines have no checksum
      all[area + i] ^= std::byte{1} << i % 8;
    } else {
      const uint64_t at = area + (i - 60) * 256 % (s.area_bytes() - 512);
      std::fill_n(all.begin() + static_cast<std::ptrdiff_t>(at), 512, std::byte{0xff});
    }
    write(all);
    auto heap = open();
    if (!heap.ok()) {
      EXPECT_TRUE(in_cells) << i << heap.status().to_string();
      EXPECT_EQ(bytes(), all) << i;
      continue;
    }
    EXPECT_EQ(sum(**heap), kThings * (kThings + 1) / 2) << i;
    EXPECT_TRUE((*heap)->update([&] { H::make<Thing>(); }).ok()) << i;
    heap.value().reset();
    EXPECT_EQ(sum(*open().value()), kThings * (kThings + 1) / 2) << i;
  }
}

/// Updates the heap on n threads, all of which have begun before one ends.
void add_on_threads(H& heap, int n) {
  auto* head = heap.find_root<Thing>("things").value();
  std::atomic<int> begun{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < n; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < 4; ++j) {
        const Status status = heap.update([&] {
          auto* thing = H::make<Thing>();
          thing->value = 1;
          thing->next = head->next.load();
          head->next = thing;
        });
        EXPECT_TRUE(status.ok()) << status.to_string();
        if (j == 0) {
          ++begun;
          while (begun < n) {
            std::this_thread::yield();
          }
        }
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

uint32_t slots_of(const std::string& path) {
  return inspect_heap_file(path).value().superblock.slots;
}

TEST_P(ClosedHeap, GetsMoreThreadsAtOpening) {
  constexpr uint64_t kThings = 1000;
  constexpr int kThreads = 12;
  make_heap(kThings);
  uint64_t expected = kThings * (kThings + 1) / 2;
  for (const bool closed : {true, false}) {
    if (!closed) {
      leave_open();
      ++expected;
    }
    const int recorded = static_cast<int>(slots_of(path_)) - 1;
    const Bytes before = bytes();
    native_.max_threads = recorded + kThreads;
    native_.read_only = true;
    EXPECT_EQ(sum(*open().value()), expected);
    EXPECT_EQ(bytes(), before) << "a read-only opening has changed the file";
    native_.read_only = false;
    auto heap = open();
    if (!heap.ok()) {
      const Superblock s = inspect_heap_file(path_).value().superblock;
      EXPECT_NE(s.bytes_of(ExtentKind::cells), 0U) << heap.status().to_string();
      EXPECT_EQ(heap.status().code(), Code::unsupported);
      EXPECT_NE(heap.status().message().find("convert --max-threads"), std::string::npos);
      EXPECT_EQ(slots_of(path_), static_cast<uint32_t>(recorded) + 1);
      native_.max_threads = 0;
      EXPECT_EQ(sum(*open().value()), expected);
      continue;
    }
    EXPECT_EQ(sum(**heap), expected);
    add_on_threads(**heap, native_.max_threads - 1);
    expected += 4 * (static_cast<uint64_t>(native_.max_threads) - 1);
    EXPECT_EQ(sum(**heap), expected);
    const HeapCheck check = (*heap)->check().value();
    EXPECT_TRUE(check.errors.empty()) << check.errors.at(0);
    heap.value().reset();
    native_.max_threads = 2;  // fewer: no effect
    EXPECT_EQ(sum(*open().value()), expected);
    EXPECT_EQ(slots_of(path_), static_cast<uint32_t>(recorded) + kThreads + 1);
  }
  native_.max_threads = -1;
  EXPECT_EQ(open().status().code(), Code::invalid_argument);
  native_.max_threads = kMaxThreads + 1;
  EXPECT_EQ(open().status().code(), Code::invalid_argument);
}

TEST_P(ClosedHeap, RefusesOptionsThatLayItOutDifferently) {
  const Description& engine = *AnyEngine<NativeMachine>::describe(GetParam()).value();
  create_.bytes = 1 << 20;
  create_.options = {};
  make_heap(1000);
  const Bytes before = bytes();
  OpenOptions options;
  options.options = known_options(engine, {{"log_bytes", "131072"}, {"records", "1024"}});
  const auto heap = H::open(path_, options, native_);
  if (options.options.empty()) {
    EXPECT_TRUE(heap.ok()) << heap.status().to_string();
    return;
  }
  EXPECT_EQ(heap.status().code(), Code::invalid_argument) << heap.status().to_string();
  EXPECT_NE(heap.status().message().find("convert"), std::string::npos);
  EXPECT_EQ(bytes(), before);
}

TEST_P(ClosedHeap, AnOpenOneNeedsIt) {
  constexpr uint64_t kThings = 1000;
  make_heap(kThings);
  leave_open();
  const Superblock s = inspect_heap_file(path_).value().superblock;
  EXPECT_FALSE(s.clean);
  EXPECT_EQ(sum(*open().value()), kThings * (kThings + 1) / 2 + 1);
}

}  // namespace
}  // namespace holdfast::format_test
