// SPDX-License-Identifier: Apache-2.0
//
// Does every engine close a heap completely on a thread that has no slot?
#include <gtest/gtest.h>

#include <latch>
#include <memory>
#include <semaphore>
#include <string>
#include <thread>
#include <vector>

#include "holdfast/engines/parts/any/any_engine.h"
#include "holdfast/heap/file/inspect.h"
#include "tests/engine_options.h"
#include "tests/native/test_file.h"
#include "tests/native/world.h"

namespace holdfast::close_test {
namespace {

using H = Heap<AnyEngine<NativeMachine>>;

struct Root {
  static constexpr const char* kTypeName = "test.Root";

  H::Field<uint64_t> sum = 0;
};

class CloseTest : public ::testing::TestWithParam<std::string> {
 protected:
  static constexpr uint64_t kUpdates = 200;

  /// Makes a heap for so many threads. Its updates lag if the engine can do that by itself, and
  /// nothing but close() makes them durable soon.
  std::unique_ptr<H> make(const Options& more, int max_threads = 1) {
    const Description& engine = *AnyEngine<NativeMachine>::describe(GetParam()).value();
    CreateOptions options;
    options.engine = GetParam();
    options.bytes = 2 << 20;
    options.max_threads = max_threads;
    options.options = more;
    if (engine.lags && more.empty()) {
      options.options = {{"lag", "1000"}, {"lag_ms", "3600000"}};
    }
    options.options = known_options(engine, options.options);
    NativeOptions native;
    native.domain = usual_domain(engine);
    native.force = true;
    return H::create(file_.path(), options, native).value();
  }

  static void count_up(H& heap) {
    auto* const root = heap.root<Root>("root").value();
    for (uint64_t i = 0; i < kUpdates; ++i) {
      heap.update([&] { root->sum += 1; }).check();
    }
  }

  void expect_all() {
    NativeOptions native;
    native.domain = usual_domain(*AnyEngine<NativeMachine>::describe(GetParam()).value());
    native.force = true;
    const auto heap = H::open(file_.path(), {}, native).value();
    auto* const root = heap->find_root<Root>("root").value();
    EXPECT_FALSE(heap->recovery().needed);
    EXPECT_EQ(heap->read([&] { return root->sum.load(); }).value(), kUpdates);
  }

  NativeTestFile file_;
};

TEST_P(CloseTest, WhileAnotherThreadHasTheOnlySlot) {
  for (const Options& options : {Options{}, Options{{"background", "0"}}}) {
    std::unique_ptr<H> heap;
    std::binary_semaphore updated{0};
    std::binary_semaphore closed{0};
    std::thread owner([&] {
      heap = make(options);
      count_up(*heap);
      updated.release();
      closed.acquire();
    });
    updated.acquire();
    EXPECT_EQ(heap->machine().self(), -1);
    EXPECT_EQ(heap->close().to_string(), "ok");
    closed.release();
    owner.join();
    heap.reset();
    expect_all();
    std::filesystem::remove(file_.path());
  }
}

// The threads that replay the logs then have no slots.
TEST_P(CloseTest, WithTwoReplayersWhileOtherThreadsHaveAllSlots) {
  auto heap = make({{"replayers", "2"}, {"background", "0"}}, 3);
  count_up(*heap);
  std::latch all(3);
  std::latch closed(1);
  std::vector<std::thread> others;
  for (int i = 0; i < 2; ++i) {
    others.emplace_back([&] {
      heap->update([] {}).check();
      all.count_down();
      closed.wait();
    });
  }
  all.arrive_and_wait();
  EXPECT_EQ(heap->close().to_string(), "ok");
  closed.count_down();
  for (std::thread& other : others) {
    other.join();
  }
  heap.reset();
  expect_all();
}

// Objects with static storage duration are destroyed like that, on the main thread.
TEST_P(CloseTest, WhenTheThreadHasReturnedItsSlots) {
  static Status status;
  struct Late {
    std::unique_ptr<H> heap;
    ~Late() {
      EXPECT_EQ(heap->machine().self(), -1);
      status = heap->close();
    }
  };
  std::thread([&] {
    static thread_local Late object;  // constructed before the slot owner, so destroyed after it
    object.heap = make({});
    count_up(*object.heap);
    status = Status(Code::io_error, "not closed");
  }).join();
  EXPECT_EQ(status.to_string(), "ok");
  expect_all();
}

TEST_P(CloseTest, IsRefusedInATransaction) {
  auto heap = make({});
  count_up(*heap);
  Status inside;
  heap->update([&] { inside = heap->close(); }).check();
  EXPECT_EQ(inside.code(), Code::misuse) << inside.to_string();
  heap->read([&] { inside = heap->close(); }).check();
  EXPECT_EQ(inside.code(), Code::misuse) << inside.to_string();
  EXPECT_FALSE(inspect_heap_file(file_.path()).value().superblock.clean);
  EXPECT_EQ(heap->close().to_string(), "ok");
  heap.reset();
  expect_all();
}

INSTANTIATE_TEST_SUITE_P(Engines, CloseTest,
                         testing::ValuesIn(names_of(engine_rows<NativeMachine>(),
                                                    [](const auto& row) {
                                                      return is_durable(*row.description);
                                                    })),
                         [](const auto& test) { return test_name(test.param); });

}  // namespace
}  // namespace holdfast::close_test
