// SPDX-License-Identifier: Apache-2.0
// Do the parts of software transactions keep their contracts?
#include "holdfast/engines/parts/basics/write_set.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <set>
#include <vector>

#include "holdfast/base/random.h"
#include "holdfast/engines/parts/basics/ownership_table.h"
#include "holdfast/engines/parts/basics/stripes.h"
#include "holdfast/machine/sim/sim_machine.h"

namespace holdfast::write_set_test {
namespace {

TEST(WriteSet, MergesStoresToOneWord) {
  uint64_t word = 0;
  WriteSet set;
  EXPECT_TRUE(set.empty());
  set.put(&word, 0x00000000aabb0000, 0x00000000ffff0000).engine = 7;
  EXPECT_FALSE(set.find(&word)->whole());
  set.put(&word, 0x0000000000cc0000, 0x0000000000ff0000);
  set.put(&word, 0x1100000000000000, 0xff00000000000000);
  ASSERT_EQ(set.size(), 1u);
  const WriteSet::Entry& e = *set.find(&word);
  EXPECT_EQ(e.engine, 7u);
  EXPECT_EQ(e.over(0x2222222222222222), 0x11222222aacc2222u);
  set.put(&word, 5, ~uint64_t{0});
  EXPECT_TRUE(set.find(&word)->whole());
  EXPECT_EQ(set.find(&word)->over(99), 5u);
}

TEST(WriteSet, AgreesWithAMapAndKeepsTheOrderOfFirstStores) {
  std::vector<uint64_t> memory(5000);
  WriteSet set;
  Random random(1);
  for (const size_t stores : {0u, 1u, 31u, 32u, 33u, 3000u, 10u, 500u}) {
    std::map<uint64_t*, uint64_t> model;
    std::vector<uint64_t*> order;
    for (size_t i = 0; i < stores; ++i) {
      uint64_t* const word = &memory[random.below(memory.size())];
      const uint64_t value = random.next();
      if (model.emplace(word, 0).second) {
        order.push_back(word);
      }
      model[word] = value;
      set.put(word, value, ~uint64_t{0});
    }
    ASSERT_EQ(set.size(), model.size());
    for (uint64_t& word : memory) {
      const auto known = model.find(&word);
      const WriteSet::Entry* const found = set.find(&word);
      ASSERT_EQ(found != nullptr, known != model.end());
      if (found != nullptr) {
        ASSERT_EQ(found->value, known->second);
      }
    }
    for (size_t i = 0; i < order.size(); ++i) {
      ASSERT_EQ(set.entries()[i].word, order[i]);
    }
    set.clear();
    EXPECT_TRUE(set.empty());
    for (uint64_t* const word : order) {
      ASSERT_EQ(set.find(word), nullptr);
    }
  }
}

TEST(WriteSet, WordsUnderARange) {
  alignas(8) unsigned char memory[64];
  for (size_t from = 0; from < 24; ++from) {
    for (size_t n = 0; n <= 32; ++n) {
      std::memset(memory, 0, sizeof memory);
      size_t bytes_seen = 0;
      for_each_word(
          memory + from, n, [&](uint64_t* word, size_t shift, size_t bytes, uint64_t mask) {
            EXPECT_EQ(reinterpret_cast<uintptr_t>(word) % 8, 0u);
            EXPECT_EQ(reinterpret_cast<unsigned char*>(word) + shift, memory + from + bytes_seen);
            bytes_seen += bytes;
            *word |= mask;
          });
      EXPECT_EQ(bytes_seen, n);
      for (size_t i = 0; i < sizeof memory; ++i) {
        EXPECT_EQ(memory[i], i >= from && i < from + n ? 0xff : 0) << from << "+" << n << "@" << i;
      }
    }
  }
}

TEST(Stripes, NeighboursSpreadAndRegularDistancesDoNotCollide) {
  const Stripes stripes(20);
  EXPECT_EQ(stripes.count(), size_t{1} << 20);
  EXPECT_EQ(stripes.of(0), stripes.of(31));
  EXPECT_EQ(stripes.of(32), stripes.of(0) + 1);
  for (const uint64_t distance : {uint64_t{1} << 20, uint64_t{1} << 25, uint64_t{1} << 30}) {
    std::set<size_t> entries;
    for (uint64_t i = 0; i < 64; ++i) {
      entries.insert(stripes.of(i * distance));
    }
    EXPECT_EQ(entries.size(), 64u) << "64 objects " << distance << " apart";
  }
}

TEST(OwnershipTable, PiecesOfARangeLieInOneStripeEach) {
  alignas(64) std::byte data[256];
  for (size_t from = 0; from < 70; from += 3) {
    for (size_t n = 0; n < 150; n += 7) {
      size_t seen = 0;
      for_each_stripe(data, data + from, n, [&](const std::byte* piece, size_t bytes) {
        const auto offset = static_cast<size_t>(piece - data);
        EXPECT_EQ(offset, from + seen);
        EXPECT_EQ(offset / 32, (offset + bytes - 1) / 32);
        seen += bytes;
      });
      EXPECT_EQ(seen, n);
    }
  }
}

TEST(OwnershipTable, SizesAreRoundedUp) {
  SimMachine machine(SimOptions{});
  const OwnershipTable<SimMachine> table(machine, 17);
  std::set<const void*> locks;
  for (uint64_t stripe = 0; stripe < 32; ++stripe) {
    locks.insert(&table.of(stripe * 32));
  }
  EXPECT_EQ(locks.size(), 32u);
}

}  // namespace
}  // namespace holdfast::write_set_test
