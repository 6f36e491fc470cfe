// SPDX-License-Identifier: Apache-2.0
// Does a transaction lock late, keep its snapshot, and notice what changed under its own locks?
#include "holdfast/engines/tl2/tl2.h"

#include <gtest/gtest.h>

#include <vector>

#include "holdfast/machine/sim/sim_machine.h"
#include "tests/unit/engines/engine_fixture.h"

namespace holdfast::tl2_test {
namespace {

constexpr size_t kLineWords = kLineBytes / sizeof(uint64_t);
using Heap = EngineFixture<Tl2<SimMachine>>;

class Tl2Order : public testing::Test {
 protected:
  Tl2Order() : machine_(options()), heap_(machine_, {.options = {{"locks", "4096"}}}) {
    heap_.format().check();
    heap_.recover().check();
  }

  /// Runs `first` on one thread. Whenever it calls the function that it is given, `second` runs to
  /// its end on the other thread meanwhile.
  void interleave(const std::function<void(const std::function<void()>&)>& first,
                  const std::function<void()>& second) {
    auto* const turn = make_array<SimMachine::Atomic<uint64_t>>(machine_, 2);
    machine_.run_threads(2, [&](int worker) {
      if (worker == 0) {
        first([&] {
          turn[0].store(1);
          while (turn[1].load() == 0) {
            machine_.wait_while(turn[1], uint64_t{0});
          }
        });
      } else {
        while (turn[0].load() == 0) {
          machine_.wait_while(turn[0], uint64_t{0});
        }
        second();
        turn[1].store(1);
      }
    });
  }
  uint64_t conflicts() const {
    return heap_statistics().aborts[static_cast<size_t>(AbortCause::conflict)];
  }
  Statistics heap_statistics() const { return const_cast<Heap&>(heap_).engine().statistics(); }

  static SimOptions options() {
    SimOptions o;
    o.threads = 2;
    return o;
  }
  SimMachine machine_;
  Heap heap_;
};

TEST_F(Tl2Order, RecoverySaysThatNothingIsKept) {
  EXPECT_NE(heap_.report().text.find("nothing"), std::string::npos) << heap_.report().text;
  EXPECT_FALSE(heap_.report().needed);
}

/// Stores take no lock before the commit, so an update in the middle of another one commits.
TEST_F(Tl2Order, AStoreLocksNothing) {
  interleave(
      [&](const auto& let_other) {
        heap_.engine().update([&] {
          heap_.set(0, 1);
          let_other();
        });
      },
      [&] { heap_.write(0, 2); });
  EXPECT_EQ(heap_.read(0), 1u);
  EXPECT_EQ(conflicts(), 0u) << "neither of them has read anything";
}

/// A trap: the stripe is locked by the transaction itself when it validates, and its version from
/// before is newer than the snapshot.
TEST_F(Tl2Order, AReadBeforeTheOwnStoreIsValidated) {
  interleave(
      [&](const auto& let_other) {
        heap_.engine().update([&] {
          const uint64_t seen = heap_.get(0);
          if (seen == 0) {
            let_other();
          }
          heap_.set(0, seen + 1);
        });
      },
      [&] { heap_.write(0, 10); });
  EXPECT_EQ(heap_.read(0), 11u);
  EXPECT_EQ(conflicts(), 1u);
}

/// Unlike the lazy snapshot algorithm, TL2 does not extend a snapshot.
TEST_F(Tl2Order, ANewerStripeAborts) {
  std::vector<uint64_t> seen;
  interleave(
      [&](const auto& let_other) {
        heap_.engine().read([&] {
          seen.push_back(heap_.get(0));
          if (seen.size() == 1) {
            let_other();
          }
          static_cast<void>(heap_.get(kLineWords));
        });
      },
      [&] { heap_.write(kLineWords, 1); });
  EXPECT_EQ(seen.size(), 2u);
  EXPECT_EQ(conflicts(), 1u);
}

/// An own store is loaded although the stripe has changed since. The transaction has not read what
/// was there.
TEST_F(Tl2Order, AnOwnStoreIsLoadedWithoutALookAtTheVersion) {
  uint64_t seen = 0;
  interleave(
      [&](const auto& let_other) {
        heap_.engine().update([&] {
          heap_.set(0, 5);
          let_other();
          seen = heap_.get(0);
        });
      },
      [&] { heap_.write(0, 9); });
  EXPECT_EQ(seen, 5u);
  EXPECT_EQ(heap_.read(0), 5u);
}

}  // namespace
}  // namespace holdfast::tl2_test
