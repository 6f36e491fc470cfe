// SPDX-License-Identifier: Apache-2.0
//
// Does a reader with an old snapshot see an object that was freed, when records get its room?
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>

#include "holdfast/engines/fur_mv/fur_mv.h"
#include "holdfast/heap/file/native_heap_file.h"
#include "holdfast/heap/heap.h"
#include "holdfast/machine/native/native_machine.h"
#include "tests/native/test_file.h"

namespace holdfast::fur_mv_lent_pages_test {
namespace {

using H = Heap<FurMv<NativeMachine>>;
using Word = H::Field<uint64_t>;

constexpr size_t kStored = 20'000;  // words of the large update: more than the log holds
constexpr size_t kFreed = 228'000;  // words of the block where its records get room: up to the end
constexpr size_t kAtATime = 1000;
constexpr uint64_t kValue = 7;

struct Blocks {
  Blocks() = default;
  H::Field<Word*> stored;
  H::Field<Word*> freed;
};

TEST(FurMvLentPages, AnOldReaderSeesNoRecordsThere) {
  const NativeTestFile file("/dev/shm");
  NativeOptions native;
  native.domain = Domain::process;
  CreateOptions options;
  options.engine = "fur-mv";
  options.bytes = options.max_bytes = 2 << 20;
  options.max_threads = 3;
  options.options = {{"log_bytes", "65536"}};
  {
    const auto made = H::create(file.path(), options, native).value();
    auto* const blocks = made->root<Blocks>("blocks").value();
    made->update([&] {
          blocks->stored = static_cast<Word*>(H::allocate(kStored * sizeof(Word)));
          blocks->freed = static_cast<Word*>(H::allocate(kFreed * sizeof(Word)));
        })
        .check();
    for (size_t from = 0; from < kFreed; from += kAtATime) {
      made->update([&] {
            for (size_t i = from; i < from + kAtATime; ++i) {
              blocks->freed.load()[i] = kValue;
            }
          })
          .check();
    }
    made->close().check();
  }

  // Opened anew, the pages of the working copy show the file.
  const auto heap = H::open(file.path(), {}, native).value();
  auto* const blocks = heap->find_root<Blocks>("blocks").value();
  std::atomic<bool> reads = false;
  std::atomic<bool> stored = false;
  std::thread writer([&] {
    while (!reads) {
      std::this_thread::yield();
    }
    heap->update([&] {
          H::deallocate(blocks->freed, kFreed * sizeof(Word));
          blocks->freed = nullptr;
        })
        .check();
    heap->update([&] {
          for (size_t i = 0; i < kStored; ++i) {
            blocks->stored.load()[i] = i;
          }
        })
        .check();
    stored = true;
  });
  size_t others = 0;
  heap->read([&] {
        const Word* const freed = blocks->freed;
        reads = true;
        while (!stored) {
          std::this_thread::yield();
        }
        others = 0;
        for (size_t i = 0; i < kFreed; ++i) {
          others += freed[i] != kValue ? 1 : 0;
        }
      })
      .check();
  EXPECT_EQ(others, 0);
  writer.join();
}

}  // namespace
}  // namespace holdfast::fur_mv_lent_pages_test
