// SPDX-License-Identifier: Apache-2.0
// Does the alias table find what it has, spread words over all its sets, and replace only entries
// whose transactions have retired?
#include "holdfast/engines/cc_htm/alias_table.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "holdfast/machine/sim/sim_machine.h"

namespace holdfast::alias_table_test {
namespace {

using Table = cc_htm::AliasTable<SimMachine>;
using Entry = Table::Entry;

/// A table, and how it is loaded from: plainly, with a note of each entry.
struct World {
  World(uint64_t bytes, uint64_t ways) : table(machine, bytes, ways) {}

  auto load() {
    return [this](const uint64_t* p) {
      const auto* const first = reinterpret_cast<const uint64_t*>(table.entries());
      const auto index = static_cast<uint64_t>(p - first) / (sizeof(Entry) / sizeof(uint64_t));
      EXPECT_LT(index, table.count());
      looked_at.insert(index);
      return SimMachine::load(p);
    };
  }
  Entry* find(uint64_t place) { return table.find(place, load()); }
  Entry* victim(uint64_t place, uint64_t min) { return table.victim(place, min, load()); }
  /// Stores an entry where the table wants it.
  Entry* insert(uint64_t place, uint64_t id) {
    Entry* const entry = victim(place, ~uint64_t{0});
    SimMachine::store(&entry->place, place);
    SimMachine::store(&entry->id, id);
    return entry;
  }

  SimMachine machine{SimOptions{}};
  Table table;
  std::set<uint64_t> looked_at;
};

/// Entries of 32 bytes; the number of sets is a power of two.
TEST(AliasTableSize, IsRoundedUpToAPowerOfTwoOfSets) {
  struct Size {
    uint64_t bytes;
    uint64_t ways;
    uint64_t entries;
  };
  for (const Size& size : {Size{64, 1, 2}, Size{64, 2, 2}, Size{64, 16, 16}, Size{4096, 2, 128},
                           Size{4096, 3, 96}, Size{4064, 1, 64}, Size{8192, 16, 256}}) {
    SCOPED_TRACE(std::to_string(size.bytes) + " bytes, ways " + std::to_string(size.ways));
    World w(size.bytes, size.ways);
    EXPECT_EQ(w.table.count(), size.entries);
  }
}

TEST(AliasTable, NeighboringWordsUseAllSetsAlike) {
  constexpr uint64_t kSets = 64;
  for (const uint64_t ways : {1u, 2u}) {
    World w(kSets * ways * sizeof(Entry), ways);
    ASSERT_EQ(w.table.count(), kSets * ways);
    std::vector<int> words(kSets);
    for (uint64_t word = 0; word < kSets; ++word) {
      w.looked_at.clear();
      EXPECT_EQ(w.find(Table::place_of(word * sizeof(uint64_t))), nullptr);
      EXPECT_EQ(w.looked_at.size(), ways) << "the entries of one set";
      ++words[*w.looked_at.begin() / ways];
    }
    for (const int n : words) {
      EXPECT_LE(n, 2) << "multiples of the golden ratio are spread";
    }
  }
}

TEST(AliasTable, FindsEachWordInItsSet) {
  World w(4096, 2);
  std::vector<std::pair<uint64_t, Entry*>> inserted;
  for (uint64_t word = 0; word < 40; ++word) {
    const uint64_t place = Table::place_of(word * sizeof(uint64_t));
    EXPECT_EQ(w.find(place), nullptr);
    inserted.emplace_back(place, w.insert(place, 1));
  }
  for (const auto& [place, entry] : inserted) {
    EXPECT_EQ(w.find(place), entry);
  }
}

/// Words of a table with one set share it.
TEST(AliasTable, ReplacesTheOldestEntryThatHasRetired) {
  World w(64, 4);
  ASSERT_EQ(w.table.count(), 4u);
  Entry* const first = w.insert(1, 9);
  Entry* const second = w.insert(2, 7);
  Entry* const third = w.insert(3, 8);
  EXPECT_EQ((std::set<Entry*>{first, second, third}).size(), 3u) << "empty ones come first";
  Entry* const fourth = w.victim(4, 0);
  EXPECT_EQ(fourth, nullptr) << "no number is below 0, not even that of an empty entry";
  w.insert(4, 6);
  Entry* const oldest = w.find(4);
  EXPECT_EQ(w.victim(5, 10), oldest);
  EXPECT_EQ(w.victim(5, 7), oldest);
  EXPECT_EQ(w.victim(5, 6), nullptr) << "its transaction has not retired";
  EXPECT_EQ(w.victim(5, 1), nullptr);
  SimMachine::store(&oldest->id, uint64_t{20});
  EXPECT_EQ(w.victim(5, 10), second);
  SimMachine::store(&third->place, uint64_t{0});
  EXPECT_EQ(w.victim(5, 1), third) << "an empty entry, whatever number is left in it";
}

}  // namespace
}  // namespace holdfast::alias_table_test
