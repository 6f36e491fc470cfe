// SPDX-License-Identifier: Apache-2.0
//
// Over a journal, does an engine with one writer go on while the medium works, and does each caller
// wait for what it answers? Does an update that a crash may take keep its credit until then? Does a
// reader wait for nothing, with each engine whose readers trust such updates?
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "holdfast/holdfast.h"
#include "tests/native/journal_engines.h"
#include "tests/native/test_file.h"

namespace holdfast::journal_wait_test {
namespace {

constexpr int kYields = 2000;  // long enough for a caller that does not wait to return

/// A medium whose syncs do not return while it is held.
class HeldMedium {
 public:
  int sync() {
    std::unique_lock lock(mutex_);
    ++inside_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return !held_; });
    --inside_;
    return 0;
  }
  void hold() {
    const std::lock_guard lock(mutex_);
    held_ = true;
  }
  void release() {
    const std::lock_guard lock(mutex_);
    held_ = false;
    changed_.notify_all();
  }
  void await_sync() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return inside_ > 0; });
  }
  bool held() {
    const std::lock_guard lock(mutex_);
    return held_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool held_ = false;
  int inside_ = 0;
};

void yield_for_long() {
  for (int i = 0; i < kYields; ++i) {
    std::this_thread::yield();
  }
}

template <class H>
struct Value {
  static constexpr const char* kTypeName = "test.Value";
  static constexpr uint32_t kTypeVersion = 1;
  typename H::template Field<uint64_t> value = 0;
};

template <class H>
class HeldHeap {
 protected:
  void make(Options options, const std::string& engine = "") {
    NativeOptions native;
    native.domain = Domain::file;
    native.sync = [this](int) { return medium_.sync(); };
    CreateOptions create;
    create.bytes = 1 << 20;
    create.max_bytes = 8 << 20;
    create.journal_bytes = 1 << 20;
    create.engine = engine;
    create.run_options = std::move(options);
    heap_ = H::create(file_.path(), create, native).value();
    root_ = heap_->template root<Value<H>>("value").value();
  }
  Status set(uint64_t value, Commit commit = Commit::unsaid) {
    return heap_->update([&] { root_->value = value; }, commit);
  }

  NativeTestFile file_{"/dev/shm"};
  HeldMedium medium_;
  std::unique_ptr<H> heap_;
  Value<H>* root_ = nullptr;
};

class JournalWaitTest : public testing::Test, protected HeldHeap<DefaultHeap> {};

TEST_F(JournalWaitTest, AdmitsTheNextUpdateAndAnswersNoneBeforeTheMediumHasIt) {
  make({});
  medium_.hold();
  std::atomic<bool> first_done{false};
  std::atomic<bool> second_ran{false};
  std::atomic<bool> second_done{false};
  std::thread first([&] {
    set(1).check();
    first_done = true;
  });
  medium_.await_sync();
  std::thread second([&] {
    heap_
        ->update([&] {
          EXPECT_EQ(root_->value.load(), 1u);
          root_->value = 2;
          second_ran = true;
        })
        .check();
    second_done = true;
  });
  while (!second_ran) {
    std::this_thread::yield();
  }
  yield_for_long();
  EXPECT_FALSE(first_done);
  EXPECT_FALSE(second_done);
  medium_.release();
  first.join();
  second.join();
}

TEST_F(JournalWaitTest, AReaderWaitsForWhatItHasSeen) {
  make({});
  medium_.hold();
  std::thread writer([&] { set(1).check(); });
  medium_.await_sync();
  std::atomic<bool> has_read{false};
  std::thread releasing([&] {
    while (!has_read) {
      std::this_thread::yield();
    }
    yield_for_long();
    medium_.release();
  });
  const auto seen = heap_->read([&] {
    has_read = true;
    return root_->value.load();
  });
  EXPECT_EQ(seen.value(), 1u);
  EXPECT_FALSE(medium_.held()) << "the reader told of an update that was not durable";
  writer.join();
  releasing.join();
}

TEST_F(JournalWaitTest, AReaderThatHasSeenDurableUpdatesOnlyDoesNotWait) {
  make({});
  set(1).check();
  medium_.hold();
  EXPECT_EQ(heap_->read([&] { return root_->value.load(); }).value(), 1u);
  medium_.release();
}

TEST_F(JournalWaitTest, AFenceWaitsForUpdatesThatAreBeingMadeDurable) {
  make({{"lag", "8"}, {"lag_ms", "1000000"}, {"commit", "durable"}});
  set(1, Commit::later).check();
  EXPECT_EQ(heap_->pending().count, 1u);
  medium_.hold();
  std::thread writer([&] { set(2).check(); });  // makes the first one durable, too
  medium_.await_sync();
  EXPECT_EQ(heap_->pending().count, 2u);
  std::thread releasing([&] {
    yield_for_long();
    medium_.release();
  });
  heap_->fence().check();
  EXPECT_FALSE(medium_.held());
  EXPECT_EQ(heap_->pending().count, 0u);
  writer.join();
  releasing.join();
}

TEST_F(JournalWaitTest, AnUpdateKeepsItsCreditUntilTheMediumHasIt) {
  constexpr uint64_t kBound = 4;
  make({{"lag", std::to_string(kBound)}, {"lag_ms", "1000000"}, {"commit", "durable"}});
  medium_.hold();
  std::thread writer([&] { set(1).check(); });
  medium_.await_sync();
  std::atomic<uint64_t> returned{0};
  std::atomic<bool> waits{false};
  std::thread hasty([&] {
    for (uint64_t i = 0; i < 4 * kBound; ++i) {
      waits = heap_->pending().count == kBound;  // no credit is left for this one
      set(i, Commit::later).check();
      ++returned;
    }
  });
  while (!waits) {
    std::this_thread::yield();
  }
  yield_for_long();
  EXPECT_LT(returned, kBound);
  medium_.release();
  writer.join();
  hasty.join();
  EXPECT_EQ(returned, 4 * kBound);
  heap_->fence().check();
  EXPECT_EQ(heap_->pending().count, 0u);
}

const Options kLagging = {{"lag", "8"}, {"lag_ms", "1000000"}, {"commit", "durable"}};

/// With each engine that lets reads show updates, where these may lag, before they are durable.
class EarlyReaderTest : public testing::TestWithParam<std::string>,
                        protected HeldHeap<Heap<AnyEngine<NativeMachine>>> {};

TEST_P(EarlyReaderTest, DoesNotWaitButAFenceDoes) {
  make(kLagging, GetParam());
  EXPECT_FALSE(heap_->promise().observed);
  medium_.hold();
  std::atomic<bool> written{false};
  std::atomic<bool> fenced{false};
  std::thread writer([&] {
    set(1).check();
    written = true;
  });
  while (heap_->read([&] { return root_->value.load(); }).value() == 0) {
    std::this_thread::yield();
  }
  EXPECT_TRUE(medium_.held());
  EXPECT_FALSE(written);
  std::thread fencing([&] {
    heap_->fence().check();
    fenced = true;
  });
  yield_for_long();
  EXPECT_FALSE(fenced) << "a reader has seen an update that is not durable";
  medium_.release();
  writer.join();
  fencing.join();
}

INSTANTIATE_TEST_SUITE_P(Engines, EarlyReaderTest,
                         testing::ValuesIn(engines_with_early_readers(kLagging)), name_of_test);

}  // namespace
}  // namespace holdfast::journal_wait_test
