// SPDX-License-Identifier: Apache-2.0
//
// Is an update that is larger than the log as durable as all others? A suite that each engine that
// borrows instantiates in its own folder.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "holdfast/base/random.h"
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
    at = w.heap.regions().area_bytes + W::kLoan;
  }
  int refused = 0;
  for (size_t i = 0; i < 2 * images.size(); ++i) {
    SimImage image = images[i / 2];
    // A byte near the beginning, or of the last word.
    image[at + (i % 2 == 0 ? 24 : 2 * W::kWords * sizeof(uint64_t) - 5)] ^= std::byte{4};
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

/// Records of before must not come home over the loan, or over the words of the large update.
TYPED_TEST_P(LoanEngine, EarlierStoresToTheSameWordsAndToTheLoanAreForgotten) {
  using W = World<TypeParam>;
  std::vector<SimImage> images;
  {
    W w;
    w.machine.before_persist_event([&](uint64_t) { images.push_back(w.machine.earliest_image()); });
    w.machine.run_threads(1, [&](int) {
      for (const uint64_t value : {1, 2}) {
        for (size_t i = 0; i < 4; ++i) {
          w.heap.write(W::kLoan / sizeof(uint64_t) + 3 * i, 77);
        }
        W::lend(w.heap);
        w.heap.write(0, value);  // also what its words were before
        W::write_large(w.heap, value);
        W::lend(w.heap, 0);
      }
    });
    w.machine.before_persist_event({});
    images.push_back(w.machine.earliest_image());
  }
  for (const SimImage& image : images) {
    SimMachine machine(W::options(), image);
    typename W::Heap after(machine, W::shape());
    after.recover().check();
    const uint64_t value = after.read(2);
    for (size_t i = 1; i < W::kWords; ++i) {
      ASSERT_EQ(after.read(2 * i), value);
    }
    EXPECT_TRUE(after.read(0) == value || after.read(0) == value + 1);
  }
}

/// Ranges of any size and alignment, and words over them; power fails when it has returned, and
/// again after a recovery and another one.
TYPED_TEST_P(LoanEngine, ALargeUpdateOfAnyBytesIsThereWhole) {
  using W = World<TypeParam>;
  SimImage image;
  std::string expected;
  uint64_t stored = 0;
  for (uint64_t life = 1; life <= 3; ++life) {
    std::optional<SimMachine> machine;
    image.empty() ? machine.emplace(W::options()) : machine.emplace(W::options(), image);
    typename W::Heap heap(*machine, W::shape());
    if (image.empty()) {
      heap.format().check();
      expected.assign(W::kLoan, '\0');
    }
    heap.recover().check();
    Random random(life);
    heap.engine().update([&] {
      const uint8_t one = 9;  // with a store of before in the same transaction as the loan
      TypeParam::store(reinterpret_cast<uint8_t*>(heap.regions().data), one);
      heap.engine().lend({W::kLoan, W::kLoan});
    });
    expected[0] = 9;
    const uint64_t before = heap.engine().statistics().bytes_stored;
    stored = 0;
    heap.engine().update([&] {
      for (int i = 0; i < 60; ++i) {
        const size_t n = 1 + random.below(i % 3 == 0 ? 200 : 20);
        const size_t at = i == 0 ? 0 : random.below(3000);
        const std::string piece(n, static_cast<char>('a' + i));
        TypeParam::store_range(heap.regions().data + at, piece.data(), n);
        expected.replace(at, n, piece);
        stored += n;
        std::string seen(n + 8, ' ');
        TypeParam::load_range(seen.data(), heap.regions().data + at, seen.size());
        EXPECT_TRUE(seen == expected.substr(at, seen.size()));
      }
      for (size_t i = 400; i < 700; ++i) {  // one run
        heap.set(i, i);
        std::memcpy(expected.data() + 8 * i, &i, sizeof i);
        stored += sizeof i;
      }
    });
    EXPECT_EQ(heap.engine().statistics().bytes_stored - before, stored);
    std::string found(W::kLoan, ' ');
    SimMachine::copy(found.data(), heap.regions().data, found.size());
    EXPECT_TRUE(found == expected) << "life " << life;
    image = machine->earliest_image();
  }
  SimMachine machine(W::options(), image);
  typename W::Heap heap(machine, W::shape());
  heap.recover().check();
  for (const std::byte* from : {heap.regions().data, heap.regions().home}) {
    std::string found(W::kLoan, ' ');
    SimMachine::copy(found.data(), from, found.size());
    EXPECT_TRUE(found == expected);
  }
}

REGISTER_TYPED_TEST_SUITE_P(LoanEngine, AsksForALoanAndLeavesNothingWithoutOne,
                            TheLoanIsFreeWhenTheUpdateReturns, APowerCutLeavesAllOfItOrNothing,
                            ADamagedLogIsRefused,
                            EarlierStoresToTheSameWordsAndToTheLoanAreForgotten,
                            ALargeUpdateOfAnyBytesIsThereWhole);

}  // namespace holdfast::loan_suite
