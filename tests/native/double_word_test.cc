// SPDX-License-Identifier: Apache-2.0
//
// Does this computer's compare-exchange of 16 bytes change both words at once?
#include "holdfast/machine/double_word.h"

#include <gtest/gtest.h>

#include <thread>

#include "holdfast/machine/native/native_machine.h"
#include "tests/native/test_file.h"

namespace holdfast::double_word_test {
namespace {

struct Mapped {
  Mapped() {
    machine = NativeMachine::open(file.path(), {.create = true, .domain = Domain::process}).value();
    machine->medium().grow(kPageBytes).check();
    at = reinterpret_cast<DoubleWord*>(
        machine->medium().map(0, kPageBytes, nullptr, MapMode::shared).value());
  }

  NativeTestFile file;
  std::unique_ptr<NativeMachine> machine;
  DoubleWord* at = nullptr;
};

TEST(NativeDoubleWord, ChangesBothWordsOrNoneAndSaysWhatIsThere) {
  const Mapped m;
  DoubleWord expected;
  EXPECT_TRUE(compare_exchange(*m.machine, m.at, expected, {1, ~uint64_t{0}}));
  for (const DoubleWord wrong : {DoubleWord{1, 3}, DoubleWord{0, ~uint64_t{0}}, DoubleWord{0, 0}}) {
    expected = wrong;
    EXPECT_FALSE(compare_exchange(*m.machine, m.at, expected, {7, 8}));
    EXPECT_EQ(expected, (DoubleWord{1, ~uint64_t{0}}));
  }
  EXPECT_EQ(*m.at, (DoubleWord{1, ~uint64_t{0}}));
  EXPECT_EQ(m.at[1], DoubleWord());
}

TEST(NativeDoubleWord, AMisalignedAddressIsRefused) {
  const Mapped m;
  DoubleWord expected;
  EXPECT_THROW(
      compare_exchange(*m.machine, reinterpret_cast<DoubleWord*>(&m.at->second), expected, {1, 2}),
      Error);
  EXPECT_EQ(*m.at, DoubleWord());
}

TEST(NativeDoubleWord, NoChangeOfAnotherThreadIsLostOrTorn) {
  const Mapped m;
  constexpr uint64_t kEach = 50'000;
  m.machine->run_threads(4, [&](int) {
    for (uint64_t done = 0; done < kEach;) {
      DoubleWord seen = {NativeMachine::load(&m.at->first), NativeMachine::load(&m.at->second)};
      while (!compare_exchange(*m.machine, m.at, seen, {seen.first + 1, seen.second + 3})) {
        ASSERT_EQ(seen.second, 3 * seen.first);
      }
      ++done;
    }
  });
  EXPECT_EQ(*m.at, (DoubleWord{4 * kEach, 12 * kEach}));
}

// The tests below hand over a plain variable. If ThreadSanitizer does not see the order, it reports
// a race.

void wait_for_one(const uint64_t* word) {
  while (NativeMachine::load_acquire(word) != 1) {
    std::this_thread::yield();
  }
}

TEST(NativeDoubleWord, AStoredWordShowsWhatItsThreadHasDoneBefore) {
  for (uint64_t DoubleWord::* const word : {&DoubleWord::first, &DoubleWord::second}) {
    const Mapped m;
    int handed_over = 0;
    std::thread giver([&] {
      handed_over = 17;
      DoubleWord expected;
      EXPECT_TRUE(compare_exchange(*m.machine, m.at, expected, {1, 1}));
    });
    wait_for_one(&(m.at->*word));
    EXPECT_EQ(handed_over, 17);
    handed_over = 18;
    giver.join();
  }
}

TEST(NativeDoubleWord, AnExchangeSeesWhatCameBeforeTheWordsThatItFinds) {
  for (uint64_t DoubleWord::* const word : {&DoubleWord::first, &DoubleWord::second}) {
    for (const bool stores : {true, false}) {
      const Mapped m;
      int handed_over = 0;
      std::thread giver([&] {
        handed_over = 17;
        NativeMachine::store_release(&(m.at->*word), uint64_t{1});
      });
      DoubleWord stored;
      stored.*word = 1;
      DoubleWord seen;
      const auto found = [&] {
        seen = stores ? stored : DoubleWord{2, 2};
        return compare_exchange(*m.machine, m.at, seen, {3, 3}) || seen == stored;
      };
      while (!found()) {
        std::this_thread::yield();
      }
      EXPECT_EQ(handed_over, 17);
      handed_over = 18;
      giver.join();
    }
  }
}

TEST(NativeDoubleWord, NewSpaceIsMappedForThoseThatLearnOfIt) {
  const Mapped m;
  const uint64_t* fresh = nullptr;
  std::thread grower([&] {
    m.machine->medium().grow(2 * kPageBytes).check();
    fresh = reinterpret_cast<const uint64_t*>(
        m.machine->medium().map(kPageBytes, kPageBytes, nullptr, MapMode::shared).value());
    DoubleWord expected;
    EXPECT_TRUE(compare_exchange(*m.machine, m.at, expected, {1, 1}));
  });
  wait_for_one(&m.at->second);
  EXPECT_EQ(NativeMachine::load(fresh), 0U);
  grower.join();
}

}  // namespace
}  // namespace holdfast::double_word_test
