// SPDX-License-Identifier: Apache-2.0
//
// Does an allocation have all free space, although a compaction gives it back to the file system?
#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "holdfast/engines/parts/any/any_engine.h"
#include "holdfast/heap/file/native_heap_file.h"
#include "holdfast/heap/heap.h"
#include "tests/engine_options.h"
#include "tests/native/test_file.h"

namespace holdfast::native_compaction_test {
namespace {

using H = Heap<AnyEngine<NativeMachine>>;

class NativeCompaction : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Engines, NativeCompaction,
                         testing::ValuesIn(names_of(engine_rows<NativeMachine>(),
                                                    [](const auto& row) {
                                                      return is_durable(*row.description);
                                                    })),
                         [](const auto& i) { return test_name(i.param); });

constexpr size_t kBytes = 128 << 10;

/// Stores to each page of a block.
void mark(void* block, uint64_t value) {
  for (size_t at = 0; at < kBytes; at += kPageBytes) {
    *reinterpret_cast<H::Field<uint64_t>*>(static_cast<std::byte*>(block) + at) = value;
  }
}
bool is_marked(H& heap, const void* block, uint64_t value) {
  bool same = true;
  heap.read([&] {
        same = true;
        for (size_t at = 0; at < kBytes; at += kPageBytes) {
          const auto* bytes = static_cast<const std::byte*>(block) + at;
          same = same && reinterpret_cast<const H::Field<uint64_t>*>(bytes)->load() == value;
        }
      })
      .check();
  return same;
}

/// Allocates and frees a block again and again, beside threads that compact, in a heap that is one
/// free run for the most part. Returns the length of the data region at the end. `guests`: no
/// thread has a slot of its own.
size_t run_beside_compactions(const std::string& engine, size_t bytes, size_t max_bytes,
                              bool guests = false, int compacting = 1) {
  CreateOptions options;
  options.engine = engine;
  options.bytes = bytes;
  options.max_bytes = max_bytes;
  options.max_threads = guests ? 2 : options.max_threads;
  NativeOptions native;
  native.domain = usual_domain(*AnyEngine<NativeMachine>::describe(engine).value());
  native.force = true;
  const NativeTestFile file("/dev/shm");
  const auto heap = H::create(file.path(), options, native).value();
  std::atomic<bool> done{false};
  std::vector<std::thread> others;
  std::latch have_slots(guests ? 2 : 0);
  for (int i = 0; i < (guests ? 2 : 0); ++i) {
    others.emplace_back([&] {
      heap->update([] {}).check();
      have_slots.count_down();
      done.wait(false);
    });
  }
  have_slots.wait();
  for (int i = 0; i < compacting; ++i) {
    others.emplace_back([&] {
      while (!done.load()) {
        heap->compact().status().check();
      }
    });
  }
  int refused = 0;
  int lost = 0;
  std::thread([&] {
    for (uint64_t i = 1; i <= 2000; ++i) {
      void* block = nullptr;
      const Status status = heap->update([&] {
        block = H::allocate(kBytes);
        mark(block, i);
      });
      refused += status.ok() ? 0 : 1;
      if (status.ok()) {
        lost += is_marked(*heap, block, i) ? 0 : 1;
        heap->update([&] { H::deallocate(block, kBytes); }).check();
      }
    }
  }).join();
  done.store(true);
  done.notify_all();
  for (std::thread& other : others) {
    other.join();
  }
  EXPECT_EQ(refused, 0) << engine;
  EXPECT_EQ(lost, 0) << engine;
  return heap->superblock().data_bytes();
}

TEST_P(NativeCompaction, AnAllocationWaitsForTheSpaceThatItGivesBack) {
  run_beside_compactions(GetParam(), 2 << 20, 2 << 20);
}

TEST_P(NativeCompaction, ThreadsWithoutASlotWaitForEachOther) {
  run_beside_compactions(GetParam(), 2 << 20, 2 << 20, true);
}

/// Two at once would give back the pages of the run that the other one has linked again.
TEST_P(NativeCompaction, ThreadsTakeTurns) {
  run_beside_compactions(GetParam(), 2 << 20, 2 << 20, false, 2);
}

TEST_P(NativeCompaction, AHeapDoesNotGrowForTheSpaceThatItGivesBack) {
  EXPECT_EQ(run_beside_compactions(GetParam(), 2 << 20, 64 << 20), size_t{2 << 20});
}

}  // namespace
}  // namespace holdfast::native_compaction_test
