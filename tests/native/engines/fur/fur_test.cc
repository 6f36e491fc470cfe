// SPDX-License-Identifier: Apache-2.0
//
// Does FUR keep its contract on this computer, with real threads and software transactions?
#include "holdfast/engines/fur/fur.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "holdfast/machine/native/native_machine.h"
#include "tests/unit/engines/engine_fixture.h"

namespace holdfast::fur_test {
namespace {

constexpr size_t kLineWords = kLineBytes / sizeof(uint64_t);

template <class E>
class FurNative : public testing::Test {
 public:
  ~FurNative() override { discard(); }

 protected:
  using Heap = EngineFixture<E>;

  FurNative()
      : path_(std::filesystem::temp_directory_path() /
              ("holdfast_fur_" + std::to_string(::getpid()))) {
    std::filesystem::remove(path_);
  }

  Heap& start(const Options& options, Domain domain = Domain::process, bool create = true) {
    NativeOptions native;
    native.create = create;
    native.domain = domain;
    native.force = true;
    native.max_threads = 6;
    machine_ = NativeMachine::open(path_, native).value();
    EngineFixtureShape shape;
    shape.options = options;
    shape.max_threads = 6;
    heap_.emplace(*machine_, shape);
    if (create) {
      heap_->format().check();
    }
    heap_->recover().check();
    return *heap_;
  }
  void stop() {
    heap_.reset();
    machine_.reset();
  }
  void discard() {
    stop();
    std::filesystem::remove(path_);
  }
  NativeMachine& machine() { return *machine_; }

 private:
  std::string path_;
  std::unique_ptr<NativeMachine> machine_;
  std::optional<Heap> heap_;
};

using Engines = testing::Types<FurOpa<NativeMachine>, FurSi<NativeMachine>>;
TYPED_TEST_SUITE(FurNative, Engines);

TYPED_TEST(FurNative, TransfersAndAuditsUnderTinyLogs) {
  for (const char* background : {"1", "0"}) {
    auto& heap =
        this->start({{"log_bytes", "1024"}, {"markers", "16"}, {"background", background}});
    constexpr uint64_t kAccounts = 8;
    constexpr uint64_t kTurns = 3000;
    for (size_t a = 0; a < kAccounts; ++a) {
      heap.write(a * kLineWords, 1000);
    }
    NativeMachine& machine = this->machine();
    std::vector<int> wrong(3, 0);
    machine.run_threads(3, [&](int w) {
      Random random(static_cast<uint64_t>(w));
      for (uint64_t turn = 0; turn < kTurns; ++turn) {
        if (w < 2) {
          const size_t from = random.below(kAccounts) * kLineWords;
          const size_t to = random.below(kAccounts) * kLineWords;
          heap.engine().update([&] {
            heap.set(from, heap.get(from) - 1);
            heap.set(to, heap.get(to) + 1);
          });
        } else {
          uint64_t sum = 0;
          heap.engine().read([&] {
            sum = 0;
            for (size_t a = 0; a < kAccounts; ++a) {
              sum += heap.get(a * kLineWords);
            }
          });
          wrong[static_cast<size_t>(w)] += sum == 1000 * kAccounts ? 0 : 1;
        }
      }
    });
    EXPECT_EQ(wrong[2], 0) << "audits that saw no single state";
    const Statistics s = heap.engine().statistics();
    EXPECT_EQ(s.update_commits, kAccounts + 2 * kTurns);
    EXPECT_GT(s.replayed, kTurns);
    heap.engine().close().check();
    this->stop();

    auto& again = this->start({{"log_bytes", "1024"}, {"markers", "16"}}, Domain::process, false);
    EXPECT_FALSE(again.report().needed);
    uint64_t sum = 0;
    for (size_t a = 0; a < kAccounts; ++a) {
      sum += again.read(a * kLineWords);
    }
    EXPECT_EQ(sum, 1000 * kAccounts);
    this->discard();
  }
}

TYPED_TEST(FurNative, WithoutCloseTheLogsAreReplayedAtTheNextOpen) {
  const Options options = {{"log_bytes", "65536"}, {"markers", "4096"}, {"background", "0"}};
  auto& heap = this->start(options);
  for (uint64_t i = 0; i < 300; ++i) {
    heap.write(i, i + 7);
  }
  this->stop();
  auto& again = this->start(options, Domain::process, false);
  EXPECT_TRUE(again.report().needed);
  EXPECT_EQ(again.report().transactions, 300u);
  for (uint64_t i = 0; i < 300; ++i) {
    EXPECT_EQ(again.read(i), i + 7);
  }
}

TYPED_TEST(FurNative, EveryDomainCountsTheSame) {
  for (const Domain domain : {Domain::process, Domain::file, Domain::pmem, Domain::eadr}) {
    const Options options = {{"log_bytes", "65536"}, {"markers", "4096"}, {"background", "0"}};
    auto& heap = this->start(options, domain);
    const PersistCounters before = this->machine().counters();
    heap.engine().update([&] {
      for (size_t i = 0; i < 9; ++i) {
        heap.set(2 * i, i);
      }
    });
    heap.read(2);
    const PersistCounters c = this->machine().counters() - before;
    EXPECT_EQ(c.pfence, 2u) << to_string(domain);
    EXPECT_EQ(c.psync, 0u) << to_string(domain);
    const uint64_t line = this->machine().line_bytes();
    EXPECT_EQ(c.pwb, (uint64_t{16} * 9 + line - 1) / line + 1) << to_string(domain);
    this->discard();
  }
}

TYPED_TEST(FurNative, AnotherHeapsWordsAreReadRawAndNeverStoredTo) {
  const std::string path =
      std::filesystem::temp_directory_path() / ("holdfast_fur_other_" + std::to_string(::getpid()));
  std::filesystem::remove(path);
  auto& heap = this->start({{"log_bytes", "1024"}, {"markers", "64"}});
  {
    NativeOptions native;
    native.create = true;
    native.domain = Domain::process;
    const auto machine = NativeMachine::open(path, native).value();
    EngineFixtureShape shape;
    shape.options = {{"log_bytes", "1024"}, {"markers", "64"}};
    EngineFixture<TypeParam> other(*machine, shape);
    other.format().check();
    other.recover().check();
    other.write(3, 33);
    heap.engine().update([&] { heap.set(1, other.get(3)); });
    EXPECT_EQ(heap.read(1), 33u);
    EXPECT_THROW(heap.engine().update([&] {
      heap.set(1, 5);
      other.set(3, 5);
    }),
                 Error);
    EXPECT_EQ(heap.read(1), 33u) << "rolled back";
    EXPECT_EQ(other.read(3), 33u);
  }
  std::filesystem::remove(path);
}

TYPED_TEST(FurNative, LargeTransactionsGoUnderTheLockBesideSmallOnes) {
  auto& heap = this->start({{"log_bytes", "65536"}, {"markers", "64"}, {"retries", "2"}});
  this->machine().run_threads(3, [&](int w) {
    for (uint64_t turn = 0; turn < 300; ++turn) {
      heap.engine().update([&] {
        const size_t n = w == 0 ? 100 : 2;
        const uint64_t next = heap.get(0) + 1;
        for (size_t i = 0; i < n; ++i) {
          heap.set(i * 4, next);
        }
      });
    }
  });
  EXPECT_EQ(heap.read(0), 900u);
}

}  // namespace
}  // namespace holdfast::fur_test
