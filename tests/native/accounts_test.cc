// SPDX-License-Identifier: Apache-2.0
// Does every engine keep its contract on this computer, with real threads and small logs?
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "holdfast/base/random.h"
#include "holdfast/engines/parts/any/any_engine.h"
#include "holdfast/machine/native/native_machine.h"
#include "tests/engine_options.h"
#include "tests/unit/engines/row_heap.h"

namespace holdfast::accounts_test {
namespace {

using Heap = engine_rows_test::EngineRowHeap<NativeMachine>;
constexpr size_t kAccounts = 24;
constexpr int kThreads = 4;

class NativeAccounts : public testing::TestWithParam<std::string> {
 public:
  ~NativeAccounts() override {
    stop();
    std::filesystem::remove(path_);
  }

 protected:
  NativeAccounts()
      : path_(std::filesystem::temp_directory_path() /
              ("holdfast_accounts_" + std::to_string(::getpid()))) {
    std::filesystem::remove(path_);
  }

  const EngineRow<NativeMachine>& row() const {
    return *find_row("engine", GetParam(), engine_rows<NativeMachine>()).value();
  }
  Heap& start(bool create) {
    NativeOptions native;
    native.create = create;
    native.domain = Domain::process;
    native.force = true;
    native.max_threads = kThreads + 2;
    machine_ = NativeMachine::open(path_, native).value();
    heap_.emplace(*machine_, row(), with_tiny(*row().description, {}), kThreads + 2);
    if (create) {
      heap_->engine().format().check();
    }
    heap_->recover().check();
    return *heap_;
  }
  void stop() {
    heap_.reset();
    machine_.reset();
  }
  NativeMachine& machine() { return *machine_; }

 private:
  std::string path_;
  std::unique_ptr<NativeMachine> machine_;
  std::optional<Heap> heap_;
};

/// Accounts of three bytes' distance from alignment, each moved by a range; a count beside them.
class Accounts {
 public:
  explicit Accounts(Heap& heap) : heap_(heap) {}

  uint64_t get(size_t i) const {
    uint64_t value = 0;
    heap_.engine().load_range(&value, place(i), sizeof value);
    return value;
  }
  void set(size_t i, uint64_t value) const {
    heap_.engine().store_range(place(i), &value, sizeof value);
  }

  /// The sum of all accounts, in the running transaction.
  uint64_t sum() const {
    uint64_t all = 0;
    for (size_t i = 0; i < kAccounts; ++i) {
      all += get(i);
    }
    return all;
  }
  void transfer(size_t from, size_t to, uint64_t by) const {
    set(from, get(from) - by);
    set(to, get(to) + by);
    heap_.set(0, heap_.get(0) + 1);
  }

 private:
  std::byte* place(size_t i) const { return heap_.regions().data + 67 + i * 29; }
  Heap& heap_;
};

TEST_P(NativeAccounts, MoneyIsNeitherMadeNorLost) {
  constexpr int kRounds = 2000;
  auto& heap = start(true);
  const Accounts accounts(heap);
  machine().run_threads(kThreads, [&](int worker) {
    Random random(static_cast<uint64_t>(worker) + 1);
    for (int i = 0; i < kRounds; ++i) {
      const size_t from = random.below(kAccounts);
      const size_t to = random.below(kAccounts);
      const uint64_t by = random.below(100);
      if (i % 4 == 3) {
        uint64_t sum = 1;
        heap.engine().read([&] { sum = accounts.sum(); });
        ASSERT_EQ(sum, 0u);
      } else if (i % 16 == 2) {
        EXPECT_THROW(heap.engine().update([&] {
          accounts.transfer(from, to, by);
          ASSERT_EQ(accounts.sum(), 0u);
          throw 1;
        }),
                     int);
      } else {
        heap.engine().update([&] { accounts.transfer(from, to, by); });
      }
    }
  });
  const uint64_t transfers = heap.read(0);
  EXPECT_EQ(transfers, static_cast<uint64_t>(kThreads) * (kRounds * 3 / 4 - kRounds / 16));
  if (row().description->durability == Durability::none) {
    return;
  }
  stop();  // without a close
  auto& again = start(false);
  EXPECT_EQ(again.read(0), transfers);
  again.engine().read([&] { EXPECT_EQ(Accounts(again).sum(), 0u); });
}

INSTANTIATE_TEST_SUITE_P(Engines, NativeAccounts,
                         testing::ValuesIn(names_of(engine_rows<NativeMachine>(),
                                                    [](const auto&) { return true; })),
                         [](const auto& test) { return test_name(test.param); });

}  // namespace
}  // namespace holdfast::accounts_test
