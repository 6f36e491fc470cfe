// SPDX-License-Identifier: Apache-2.0
//
// Do the Romulus engines keep their contract on this computer, with real threads?
#include "holdfast/engines/romulus/romulus.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

#include "holdfast/machine/native/native_machine.h"
#include "tests/native/refuse_call.h"
#include "tests/native/test_file.h"
#include "tests/unit/engines/engine_fixture.h"

namespace holdfast::romulus_test {
namespace {

using M = NativeMachine;
constexpr size_t kFar = 1000;

template <class E>
class RomulusNative : public ::testing::Test {
 public:
  ~RomulusNative() override {
    close();
    std::remove(path_.c_str());
  }

 protected:
  RomulusNative() : path_(::testing::TempDir() + "romulus_native_" + std::to_string(getpid())) {}

  EngineFixture<E>& create(Domain domain) {
    close();
    std::remove(path_.c_str());
    map({.create = true, .domain = domain, .force = true});
    heap_->format().check();
    return *heap_;
  }

  EngineFixture<E>& reopen(Domain domain) {
    close();
    map({.domain = domain, .force = true});
    heap_->recover().check();
    return *heap_;
  }

 private:
  void map(const NativeOptions& options) {
    machine_ = std::move(M::open(path_, options).value());
    heap_ = std::make_unique<EngineFixture<E>>(*machine_);
  }
  void close() {
    heap_.reset();
    machine_.reset();
  }

  std::string path_;
  std::unique_ptr<M> machine_;
  std::unique_ptr<EngineFixture<E>> heap_;
};

using Engines = ::testing::Types<Romulus<M>, RomulusLog<M>, RomulusLr<M>>;
TYPED_TEST_SUITE(RomulusNative, Engines);

TYPED_TEST(RomulusNative, KeepsWhatWasWrittenWithAndWithoutAClose) {
  for (const Domain domain : {Domain::process, Domain::file, Domain::pmem, Domain::eadr}) {
    SCOPED_TRACE(to_string(domain));
    auto& heap = this->create(domain);
    heap.write(1, 11);
    heap.write(kFar, 22);
    auto& killed = this->reopen(domain);
    EXPECT_TRUE(killed.read(1) == 11 && killed.read(kFar) == 22);
    killed.write(1, 12);
    killed.engine().close().check();
    auto& closed = this->reopen(domain);
    EXPECT_FALSE(closed.report().needed);
    EXPECT_TRUE(closed.read(1) == 12 && closed.read(kFar) == 22);
    closed.engine().compare_copies().check();
  }
}

TYPED_TEST(RomulusNative, ThreadsSeeWholeTransactionsOnly) {
  constexpr uint64_t kRounds = 3000;
  auto& heap = this->create(Domain::process);
  heap.machine().run_threads(4, [&](int worker) {
    uint64_t last = 0;
    for (uint64_t i = 0; i < kRounds; ++i) {
      uint64_t a = 0;
      uint64_t b = 0;
      if (worker < 2) {
        heap.engine().update([&] {
          a = b = heap.get(3) + 1;
          heap.set(3, a);
          heap.set(kFar, a);
        });
      } else {
        heap.engine().read([&] {
          a = heap.get(kFar);
          b = heap.get(3);
        });
      }
      ASSERT_EQ(a, b);
      ASSERT_GE(a, last);
      last = a;
    }
  });
  const auto s = heap.engine().statistics();
  EXPECT_EQ(heap.read(3), 2 * kRounds);
  EXPECT_EQ(s.update_commits, 2 * kRounds);
  EXPECT_EQ(s.read_commits, 2 * kRounds);
  EXPECT_LE(s.batches, s.update_commits);
  heap.engine().compare_copies().check();
}

TYPED_TEST(RomulusNative, ExceptionsReachTheirCallers) {
  constexpr int kRounds = 500;
  auto& heap = this->create(Domain::pmem);
  heap.machine().run_threads(3, [&](int worker) {
    for (int i = 0; i < kRounds; ++i) {
      const bool throws = (i + worker) % 3 == 0;
      std::string caught;
      try {
        heap.engine().update([&] {
          heap.set(0, heap.get(0) + 1);
          if (throws) {
            throw std::runtime_error(std::to_string(worker));
          }
          heap.set(kFar, heap.get(kFar) + 1);
        });
      } catch (const std::runtime_error& e) {
        caught = e.what();
      }
      ASSERT_EQ(caught, throws ? std::to_string(worker) : "");
    }
  });
  const auto s = heap.engine().statistics();
  EXPECT_EQ(s.user_aborts + s.update_commits, 3u * kRounds);
  EXPECT_EQ(heap.read(0), s.update_commits);
  EXPECT_EQ(heap.read(kFar), s.update_commits);
  heap.engine().compare_copies().check();
}

/// The n-th fdatasync fails with EIO, as with a failing disk.
TYPED_TEST(RomulusNative, AFailedDiskReachesEveryThread) {
  const std::string path = ::testing::TempDir() + "romulus_eio_" + std::to_string(getpid());
  for (int failing = 2; failing < 10; ++failing) {
    SCOPED_TRACE(failing);
    std::remove(path.c_str());
    std::atomic<int> left{failing};
    NativeOptions options{.create = true, .domain = Domain::file};
    options.sync = [&](int) {
      if (--left > 0) {
        return 0;
      }
      errno = EIO;
      return -1;
    };
    auto machine = M::open(path, options);
    EngineFixture<TypeParam> heap(*machine.value());
    const Status formatted = heap.format();
    heap.machine().run_threads(3, [&](int) {
      const auto loop = [&] {
        for (;;) {
          heap.engine().update([&] { heap.set(0, heap.get(0) + 1); });
        }
      };
      EXPECT_THROW(loop(), MediumFailure);
    });
    EXPECT_EQ(heap.engine().close().code(), Code::io_error);
  }
  std::remove(path.c_str());
}

/// romulus-log with a lag of an hour, on the native machine.
class RomulusLagNative : public ::testing::Test {
 protected:
  void make(int max_threads) {
    machine_ =
        std::move(M::open(file_.path(),
                          {.create = true, .domain = Domain::process, .max_threads = max_threads})
                      .value());
    const EngineFixtureShape shape = {.options = {{"lag", "9"}, {"lag_ms", "3600000"}}};
    heap_ = std::make_unique<EngineFixture<RomulusLog<M>>>(*machine_, shape);
    heap_->format().check();
    heap_->recover().check();
  }
  /// Returns whether an update that may wait does.
  bool waits() {
    const auto body = [&] { heap_->set(0, heap_->get(0) + 1); };
    heap_->engine().update(body, Commit::later);
    return heap_->engine().pending().count != 0;
  }

  const NativeTestFile file_;
  std::unique_ptr<M> machine_;
  std::unique_ptr<EngineFixture<RomulusLog<M>>> heap_;
};

TEST_F(RomulusLagNative, AGuestMayStartTheFlusher) {
  make(2);
  EXPECT_EQ(machine_->self(), 1);
  std::thread([&] {
    EXPECT_EQ(machine_->self(), -1) << "the flusher will have slot 0, and guests the last one";
    const M::GuestSlot guest(*machine_);
    EXPECT_EQ(machine_->self(), 2);
    EXPECT_TRUE(waits());
  }).join();
  EXPECT_TRUE(waits());
  heap_->engine().close().check();
}

TEST_F(RomulusLagNative, UpdatesAreDurableWhileAGuestHasTheFlushersSlot) {
  make(1);
  EXPECT_EQ(machine_->self(), 1);
  std::thread([&] {
    const M::GuestSlot guest(*machine_);
    EXPECT_EQ(machine_->self(), 0);
    EXPECT_FALSE(waits());
  }).join();
  EXPECT_TRUE(waits());
  heap_->engine().close().check();
}

TEST_F(RomulusLagNative, UpdatesAreDurableWithoutAThreadForTheFlusher) {
  make(3);
  std::thread([&] {
    ASSERT_TRUE(refuse_call(SYS_clone, EAGAIN) && refuse_call(SYS_clone3, EAGAIN));
    EXPECT_FALSE(waits());
    EXPECT_FALSE(waits());
  }).join();
  EXPECT_TRUE(waits());
  EXPECT_EQ(heap_->read(0), 3u);
  heap_->engine().close().check();
}

}  // namespace
}  // namespace holdfast::romulus_test
