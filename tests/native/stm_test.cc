// SPDX-License-Identifier: Apache-2.0
//
// Do the software engines keep their contract on this computer, with real threads?
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "holdfast/base/random.h"
#include "holdfast/engines/dudetm/dudetm.h"
#include "holdfast/engines/mnemosyne/mnemosyne.h"
#include "holdfast/engines/pisces/pisces.h"
#include "holdfast/engines/spec_pmt/spec_pmt.h"
#include "holdfast/engines/tinystm/tinystm.h"
#include "holdfast/engines/trinity/trinity.h"
#include "holdfast/machine/native/native_machine.h"
#include "tests/unit/engines/engine_fixture.h"

namespace holdfast {
namespace {

constexpr size_t kAccounts = 24;
constexpr int kThreads = 4;

template <class E>
class StmNative : public testing::Test {
 public:
  ~StmNative() override {
    stop();
    std::filesystem::remove(path_);
  }

 protected:
  using Heap = EngineFixture<E>;

  StmNative()
      : path_(std::filesystem::temp_directory_path() /
              ("holdfast_stm_" + std::to_string(::getpid()))) {
    std::filesystem::remove(path_);
  }

  Heap& start(bool create) {
    NativeOptions native;
    native.create = create;
    native.domain = Domain::process;
    native.force = true;
    native.max_threads = kThreads + 2;
    machine_ = NativeMachine::open(path_, native).value();
    EngineFixtureShape shape;
    const Options wished = {{"log_bytes", "4096"}, {"locks", "256"}, {"patience", "16"}};
    for (size_t i = 0; i < E::kDescription.option_count; ++i) {
      const auto found = wished.find(E::kDescription.options[i].name);
      if (found != wished.end()) {
        shape.options.insert(*found);
      }
    }
    shape.max_threads = kThreads + 2;
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
  NativeMachine& machine() { return *machine_; }

 private:
  std::string path_;
  std::unique_ptr<NativeMachine> machine_;
  std::optional<Heap> heap_;
};

using Engines =
    testing::Types<TinyStm<NativeMachine>, SpecPmt<NativeMachine>, DudeTm<NativeMachine>,
                   Pisces<NativeMachine>, Trinity<NativeMachine>, Mnemosyne<NativeMachine>>;
TYPED_TEST_SUITE(StmNative, Engines);

/// Unaligned accounts, which transactions access as ranges, and a count of transfers.
template <class E>
class Accounts {
 public:
  explicit Accounts(EngineFixture<E>& heap) : heap_(heap) {}

  uint64_t get(size_t i) const {
    uint64_t value = 0;
    E::load_range(&value, place(i), sizeof value);
    return value;
  }
  void set(size_t i, uint64_t value) const { E::store_range(place(i), &value, sizeof value); }

  /// Returns the sum of all accounts, in the running transaction.
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
  EngineFixture<E>& heap_;
};

TYPED_TEST(StmNative, MoneyIsNeitherMadeNorLost) {
  constexpr int kRounds = 2000;
  auto& heap = this->start(true);
  const Accounts<TypeParam> accounts(heap);
  this->machine().run_threads(kThreads, [&](int worker) {
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
  if (TypeParam::kDescription.durability == Durability::none) {
    return;
  }
  this->stop();  // does not close the engine
  auto& again = this->start(false);
  EXPECT_EQ(again.read(0), transfers);
  again.engine().read([&] { EXPECT_EQ(Accounts<TypeParam>(again).sum(), 0u); });
}

}  // namespace
}  // namespace holdfast
