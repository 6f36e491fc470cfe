// SPDX-License-Identifier: Apache-2.0
//
// Is an update that is larger than the log as durable as all others? A suite that each engine that
// borrows instantiates in its own folder.
#pragma once

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "tests/unit/engines/parts/durability/loan_world.h"

namespace holdfast::loan_suite {

template <class E>
class LoanEngine : public testing::Test {};
TYPED_TEST_SUITE_P(LoanEngine);

TYPED_TEST_P(LoanEngine, AsksForALoanAndLeavesNothingWithoutOne) {
  using W = World<TypeParam>;
  W w;
  w.heap.write(0, 7);
  w.heap.write(2 * (W::kWords - 1), 7);
  uint64_t need = 0;
  for (const uint64_t lent : {uint64_t{0}, uint64_t{800}}) {
    W::lend(w.heap, lent);
    try {
      W::write_large(w.heap, 8);
      FAIL() << "it fits";
    } catch (const LoanNeeded& e) {
      need = e.bytes;
    }
  }
  EXPECT_EQ(w.heap.read(0), 7u);
  EXPECT_EQ(w.heap.read(2 * (W::kWords - 1)), 7u);
  W::lend(w.heap, need);
  W::write_large(w.heap, 9);
  EXPECT_EQ(W::value_of(w.heap), 9u);
}

/// After update() has returned, no recovery needs the loan: the heap may give it to others.
TYPED_TEST_P(LoanEngine, TheLoanIsFreeWhenTheUpdateReturns) {
  using W = World<TypeParam>;
  std::vector<SimImage> images;
  size_t loan = 0;
  {
    W w;
    W::lend(w.heap);
    W::write_large(w.heap, 3);
    images = {w.machine.earliest_image(), w.machine.latest_image()};
    loan = w.heap.regions().area_bytes + W::kLoan;
  }
  for (SimImage& image : images) {
    for (size_t i = 0; i < W::kLoan; ++i) {
      image[loan + i] = std::byte{0xa5};
    }
    SimMachine machine(W::options(), image);
    typename W::Heap after(machine, W::shape());
    after.recover().check();
    EXPECT_EQ(W::value_of(after), 3u);
  }
}

/// At each persist event of two large updates and the small ones around them, and again in the
/// recovery.
TYPED_TEST_P(LoanEngine, APowerCutLeavesAllOfItOrNothing) {
  using W = World<TypeParam>;
  std::vector<std::pair<uint64_t, SimImage>> images;  // what has returned, and the medium
  {
    W w;
    uint64_t returned = 0;
    w.machine.before_persist_event([&](uint64_t) {
      images.emplace_back(returned, w.machine.earliest_image());
      images.emplace_back(returned, w.machine.latest_image());
    });
    w.machine.run_threads(1, [&](int) {
      W::lend(w.heap);
      for (const uint64_t value : {1, 2, 3}) {
        W::write_large(w.heap, value);
        returned = value;
        w.heap.write(1, value);
      }
    });
    w.machine.before_persist_event({});
  }
  std::set<uint64_t> seen;
  for (const auto& [returned, image] : images) {
    std::vector<SimImage> again{image};
    for (size_t life = 0; life < 2 && life < again.size(); ++life) {
      SimMachine machine(W::options(), again[life]);
      typename W::Heap after(machine, W::shape());
      if (life == 0) {
        uint64_t events = 0;
        machine.before_persist_event([&](uint64_t) {
          if (++events % 40 == 3 && again.size() < 2) {
            again.push_back(machine.earliest_image());
          }
        });
      }
      after.recover().check();
      machine.before_persist_event({});
      const uint64_t value = W::value_of(after);
      EXPECT_GE(value, returned);
      EXPECT_LE(value, returned + 1);
      seen.insert(value);
      after.write(0, 50 + value);
      EXPECT_EQ(after.read(0), 50 + value);
    }
  }
  EXPECT_EQ(seen, (std::set<uint64_t>{0, 1, 2, 3}));
}

/// Damage to a log that recovery needs is found, and nothing is changed.
TYPED_TEST_P(LoanEngine, ADamagedLogIsRefused) {
  using W = World<TypeParam>;
  std::vector<SimImage> images;
  size_t at = 0;
  {
    W w;
    images = W::cuts_of_large(w, 6);
    at = w.heap.regions().area_bytes + W::kLoan + 24;
  }
  int refused = 0;
  for (SimImage& image : images) {
    image[at] ^= std::byte{4};
    SimMachine machine(W::options(), image);
    typename W::Heap after(machine, W::shape());
    const Status status = after.recover();
    if (status.ok()) {
      W::value_of(after);
    } else {
      EXPECT_EQ(status.code(), Code::corrupt) << status.to_string();
      EXPECT_TRUE(machine.latest_image() == image);
      ++refused;
    }
  }
  EXPECT_GT(refused, 0);
}

REGISTER_TYPED_TEST_SUITE_P(LoanEngine, AsksForALoanAndLeavesNothingWithoutOne,
                            TheLoanIsFreeWhenTheUpdateReturns, APowerCutLeavesAllOfItOrNothing,
                            ADamagedLogIsRefused);

}  // namespace holdfast::loan_suite
