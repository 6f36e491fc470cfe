// SPDX-License-Identifier: Apache-2.0
//
// Do the small parts that engines share keep their contracts exactly?
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "holdfast/engines/parts/basics/home_lines.h"
#include "holdfast/engines/parts/basics/line_filter.h"
#include "holdfast/engines/parts/basics/retry.h"
#include "holdfast/engines/parts/basics/slot_statistics.h"
#include "holdfast/engines/parts/basics/word_place.h"
#include "holdfast/engines/parts/basics/write_set.h"
#include "holdfast/machine/sim/sim_machine.h"

namespace holdfast::basics_test {
namespace {

TEST(SlotStatistics, AddUpAllCountersOfAllSlots) {
  const SimMachine machine({.threads = 3});
  SlotStatistics<const SimMachine> statistics(machine);
  for (const int slot : {0, machine.slots() - 1}) {
    auto& s = statistics.at(slot);
    for (int i = 0; i < 2; ++i) {
      s.update_commits += 1;
      s.read_commits += 2;
      s.user_aborts += 3;
      s.lock_fallbacks += 4;
      s.batches += 5;
      s.bytes_stored += 6;
      s.bytes_written += 7;
      s.replayed += 8;
      s.aborts[0] += 9;
      s.aborts[kAbortCauses - 1] += 10;
      s.explicit_aborts[0] += 11;
      ++s.explicit_aborts[kAbortCodes - 1];
    }
  }
  const Statistics sum = statistics.sum();
  EXPECT_EQ(sum.update_commits, 4u * 1);
  EXPECT_EQ(sum.read_commits, 4u * 2);
  EXPECT_EQ(sum.user_aborts, 4u * 3);
  EXPECT_EQ(sum.lock_fallbacks, 4u * 4);
  EXPECT_EQ(sum.batches, 4u * 5);
  EXPECT_EQ(sum.bytes_stored, 4u * 6);
  EXPECT_EQ(sum.bytes_written, 4u * 7);
  EXPECT_EQ(sum.replayed, 4u * 8);
  EXPECT_EQ(sum.aborts.front(), 4u * 9);
  EXPECT_EQ(sum.aborts.back(), 4u * 10);
  EXPECT_EQ(sum.explicit_aborts.front(), 4u * 11);
  EXPECT_EQ(sum.explicit_aborts.back(), 4u * 1);
}

/// A hardware transaction that has aborted for this reason.
struct Aborted {
  AbortCause cause;
  AbortCause caught() const { return cause; }
  static int caught_code() { return 2; }
};

TEST(SlotStatistics, CountAnAbortByItsCauseAndOneThatAnEngineAskedForByItsCode) {
  const SimMachine machine({.threads = 1});
  SlotStatistics<const SimMachine> statistics(machine);
  for (const AbortCause cause :
       {AbortCause::conflict, AbortCause::explicit_abort, AbortCause::explicit_abort}) {
    Aborted htm{cause};
    EXPECT_EQ(statistics.at(0).caught(htm), cause);
  }
  const Statistics sum = statistics.sum();
  EXPECT_EQ(sum.aborts[static_cast<size_t>(AbortCause::conflict)], 1u);
  EXPECT_EQ(sum.aborts[static_cast<size_t>(AbortCause::explicit_abort)], 2u);
  EXPECT_EQ(sum.explicit_aborts[2], 2u);
  EXPECT_EQ(std::count(sum.explicit_aborts.begin(), sum.explicit_aborts.end(), 0u),
            kAbortCodes - 1);
}

struct Pauses {
  void pause() { ++count; }
  uint64_t count = 0;
};

TEST(Backoff, PausesUpToTwiceAsOftenAfterEachAttempt) {
  Backoff backoff(1);
  for (const uint64_t attempt : {0, 1, 2, 7, 8, 100}) {
    const uint64_t most = attempt < 7 ? uint64_t{2} << attempt : 256;
    uint64_t least_seen = UINT64_MAX;
    uint64_t most_seen = 0;
    for (int i = 0; i < 5000; ++i) {
      Pauses machine;
      backoff.pause(machine, attempt);
      least_seen = std::min(least_seen, machine.count);
      most_seen = std::max(most_seen, machine.count);
    }
    EXPECT_EQ(least_seen, 1u) << attempt;
    EXPECT_EQ(most_seen, most) << attempt;
  }
}

TEST(LineFilter, RemembersSixteenLines) {
  LineFilter filter;
  for (uint64_t line = 0; line < 16; ++line) {
    EXPECT_TRUE(filter.first(line));
    EXPECT_FALSE(filter.first(line));
  }
  EXPECT_FALSE(filter.first(0));
  EXPECT_TRUE(filter.first(16));
  EXPECT_TRUE(filter.first(0));
  EXPECT_FALSE(filter.first(15));
}

TEST(LineFilter, ARangeHasTheLinesOfItsFirstAndItsLastByte) {
  const auto lines = [](uint64_t offset, uint64_t n) {
    LineFilter filter;
    std::vector<uint64_t> seen;
    for_new_lines(filter, offset, n, [&](uint64_t line) { seen.push_back(line); });
    return seen;
  };
  using Lines = std::vector<uint64_t>;
  EXPECT_EQ(lines(64, 64), Lines{64});
  EXPECT_EQ(lines(64, 65), (Lines{64, 128}));
  EXPECT_EQ(lines(63, 1), Lines{0});
  EXPECT_EQ(lines(63, 2), (Lines{0, 64}));
}

TEST(HomeLinesOfEngines, WriteBackEachLineOnce) {
  SimMachine machine({.threads = 1});
  machine.medium().grow(kPageBytes).check();
  std::byte* const home = machine.medium().map(0, kPageBytes, nullptr, MapMode::shared).value();
  HomeLines<SimMachine> lines(machine);
  const auto written = [&] {
    const uint64_t before = machine.counters().pwb;
    lines.write_back(home, Site{});
    return machine.counters().pwb - before;
  };
  EXPECT_EQ(written(), 0u);
  for (const uint64_t offset : {200, 0, 192, 8, 56, 64}) {
    lines.add(offset);
  }
  EXPECT_EQ(written(), 3u);
  EXPECT_EQ(written(), 0u);
}

TEST(WordPlace, HoldsAnOffsetAndATag) {
  for (const uint64_t offset : {uint64_t{0}, uint64_t{8}, (uint64_t{1} << 44) - 8}) {
    for (const uint64_t tag : {uint64_t{0}, uint64_t{1}, (uint64_t{1} << 23) - 1}) {
      const uint64_t place = WordPlace::of(offset, tag);
      EXPECT_EQ(WordPlace::offset(place), offset);
      EXPECT_EQ(WordPlace::tag(place), tag);
    }
  }
  EXPECT_EQ(WordPlace::of(24, 5), uint64_t{5} << 41 | 3);
  EXPECT_EQ(WordPlace::kTagBits, 23);
}

/// Stores the value at each place of two words, as WriteSet does.
template <class T>
void expect_stored_as_words(T value) {
  alignas(8) unsigned char memory[16];
  for (size_t at = 0; at + sizeof(T) <= 16; at += sizeof(T)) {
    std::memset(memory, 0xa5, sizeof memory);
    WriteSet set;
    as_word(reinterpret_cast<T*>(memory + at), value,
            [&](uint64_t* word, uint64_t bits, uint64_t mask) { set.put(word, bits, mask); });
    ASSERT_EQ(set.size(), 1u);
    const WriteSet::Entry& entry = set.entries().front();
    *entry.word = entry.over(*entry.word);
    for (size_t i = 0; i < sizeof memory; ++i) {
      const bool inside = i >= at && i < at + sizeof(T);
      EXPECT_EQ(memory[i], inside ? reinterpret_cast<const unsigned char*>(&value)[i - at] : 0xa5)
          << sizeof(T) << " bytes at " << at << ", byte " << i;
    }
  }
}

TEST(WriteSet, TakesValuesOfEachSize) {
  expect_stored_as_words<uint8_t>(0x12);
  expect_stored_as_words<uint16_t>(0x1234);
  expect_stored_as_words<uint32_t>(0x12345678);
  expect_stored_as_words<uint64_t>(0x123456789abcdef0);
}

TEST(WriteSet, TakesBytesOfAnyPlaceAndLength) {
  alignas(8) unsigned char memory[40];
  unsigned char from[32];
  for (size_t i = 0; i < sizeof from; ++i) {
    from[i] = static_cast<unsigned char>(i + 1);
  }
  for (size_t at = 0; at < 8; ++at) {
    for (size_t n = 0; n <= sizeof from; ++n) {
      std::memset(memory, 0xa5, sizeof memory);
      as_words(memory + at, from, n, [](uint64_t* word, uint64_t bits, uint64_t mask) {
        *word = WriteSet::Entry{word, bits, mask, 0}.over(*word);
      });
      for (size_t i = 0; i < sizeof memory; ++i) {
        ASSERT_EQ(memory[i], i >= at && i < at + n ? from[i - at] : 0xa5) << at << ' ' << n;
      }
    }
  }
}

}  // namespace
}  // namespace holdfast::basics_test
