// SPDX-License-Identifier: Apache-2.0
//
// Does an allocation have all free space, although a compaction gives it back to the file system?
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>

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

// The heap cannot grow, and most of it is one free run.
TEST_P(NativeCompaction, AnAllocationWaitsForTheSpaceThatItGivesBack) {
  constexpr size_t kBytes = 128 << 10;
  CreateOptions options;
  options.engine = GetParam();
  options.bytes = 2 << 20;
  options.max_bytes = options.bytes;
  NativeOptions native;
  native.domain = usual_domain(*AnyEngine<NativeMachine>::describe(GetParam()).value());
  native.force = true;
  const NativeTestFile file("/dev/shm");
  const auto heap = H::create(file.path(), options, native).value();
  std::atomic<bool> done{false};
  std::thread compacting([&] {
    while (!done.load()) {
      heap->compact().status().check();
    }
  });
  int refused = 0;
  for (int i = 0; i < 300; ++i) {
    void* block = nullptr;
    const Status status = heap->update([&] { block = H::allocate(kBytes); });
    refused += status.ok() ? 0 : 1;
    if (status.ok()) {
      heap->update([&] { H::deallocate(block, kBytes); }).check();
    }
  }
  done.store(true);
  compacting.join();
  EXPECT_EQ(refused, 0);
}

}  // namespace
}  // namespace holdfast::native_compaction_test
