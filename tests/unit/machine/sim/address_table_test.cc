// SPDX-License-Identifier: Apache-2.0
// Does the address table take the time that its rules say, on a machine with a design and without?
#include "holdfast/machine/sim/memory/address_table.h"

#include <gtest/gtest.h>

#include <numeric>

#include "tests/unit/hardware/design_fixture.h"

namespace holdfast::design_test::address_table_test {
namespace {

using sim::AddressTable;
using sim::MemoryController;

constexpr Time kNs = 1000;
constexpr Time kHit = 20 * kNs;
constexpr Time kTableRead = 52 * kNs;  ///< bank and bus of machine `tiny`; no path

/// Four entries in two sets; an entry has two lines of the table.
constexpr AitDescription kSmall = {.sets = 2, .ways = 2, .lines = 16, .hit_cycles = 20};

class AddressTableTest : public testing::Test {
 protected:
  AddressTable::Found at(uint64_t entry, Time now) { return table_.look_up(16 * entry, now); }

  MemoryController medium_{tiny().medium, 64};
  AddressTable table_{kSmall, 64, kHit, medium_};
};

TEST_F(AddressTableTest, R1_AHitTakesTheCachesTime) {
  at(0, 0);
  const AddressTable::Found hit = table_.look_up(7, 1000 * kNs);
  EXPECT_TRUE(hit.hit);
  EXPECT_FALSE(hit.read);
  EXPECT_EQ(hit.known, 1000 * kNs + kHit);
  EXPECT_EQ(medium_.counters().reads, 1u);
}

TEST_F(AddressTableTest, R2_AMissReadsOneLineOfTheTable) {
  const AddressTable::Found miss = at(0, 0);
  EXPECT_FALSE(miss.hit);
  EXPECT_TRUE(miss.read);
  EXPECT_EQ(miss.known, kHit + kTableRead);
  EXPECT_EQ(medium_.counters().reads, 1u);
}

TEST_F(AddressTableTest, R2_AnEntryFillsInParts) {
  at(0, 0);
  const AddressTable::Found other = table_.look_up(8, 1000 * kNs);
  EXPECT_FALSE(other.hit) << "the ninth mapping is in the next line of the table";
  EXPECT_EQ(other.known, 1000 * kNs + kHit + kTableRead);
  EXPECT_TRUE(table_.look_up(7, 2000 * kNs).hit);
  EXPECT_TRUE(table_.look_up(15, 2000 * kNs).hit);
}

TEST_F(AddressTableTest, R2_ASecondRequestWaitsForTheSameRead) {
  const Time known = at(0, 0).known;
  const AddressTable::Found second = table_.look_up(1, 10 * kNs);
  EXPECT_TRUE(second.hit);
  EXPECT_EQ(second.known, known);
}

TEST_F(AddressTableTest, R5_AFullSetGivesUpTheEntryUsedLeastRecently) {
  at(0, 0);
  at(2, 1000 * kNs);
  at(0, 2000 * kNs);
  at(4, 3000 * kNs);  // takes the place of entry 2
  EXPECT_TRUE(at(0, 4000 * kNs).hit);
  EXPECT_TRUE(at(4, 5000 * kNs).hit);
  EXPECT_FALSE(at(2, 6000 * kNs).hit);
  EXPECT_FALSE(at(1, 7000 * kNs).hit) << "another set";
}

// ---- on a machine

MachineDescription with_table(MachineDescription m) {
  m.ait = kSmall;
  return m;
}

/// The times of loads of lines 0, 1 and 8, in nanoseconds.
std::array<uint64_t, 3> loads(const MachineDescription& machine, const std::string& design) {
  DesignMachine m(options(machine, design));
  std::array<uint64_t, 3> times{};
  m.run([&] { times = {m.load_ns(0), m.load_ns(1), m.load_ns(8)}; });
  return times;
}

TEST(AddressTableMachine, LoadsOfPersistentMemoryWaitForTheirMapping) {
  for (const std::string& design : {std::string(), volatile_design()}) {
    const auto without = loads(roomy(), design);
    const auto with = loads(with_table(roomy()), design);
    EXPECT_EQ(with[0] - without[0], 72u) << design << ": a miss";
    EXPECT_EQ(with[1] - without[1], 20u) << design << ": a hit";
    EXPECT_EQ(with[2] - without[2], 72u) << design << ": another line of the table";
  }
}

TEST(AddressTableMachine, WritesDoNotWait) {
  for (const std::string& design : {std::string(), volatile_design()}) {
    std::array<uint64_t, 2> times{};
    for (const bool with : {false, true}) {
      DesignMachine m(options(with ? with_table(roomy()) : roomy(), design));
      m.run([&] {
        m.set(0, 1);
        m->fence();
        m->work(1000);
        const uint64_t start = m->now();
        m->pwb(m.word(0));
        m->psync();
        times[with ? 1 : 0] = m->now() - start;
      });
      EXPECT_EQ(m->statistics().table_hits, with ? 1u : 0u) << "the line's mapping was read before";
    }
    EXPECT_EQ(times[0], times[1]) << design;
  }
}

// Volatile data lie in persistent memory there, too.
TEST(AddressTableMachine, OnAMachineWithOneMemoryAllAccessesNeedAMapping) {
  MachineDescription machine = with_table(roomy());
  machine.one_memory = true;
  machine.dram = machine.medium;
  DesignMachine m(options(machine, ""));
  auto* const word = static_cast<uint64_t*>(m->allocate(4096, 64));
  m.run([&] {
    const uint64_t before = m->statistics().table_misses;
    SimMachine::load(word);
    m->fence();
    EXPECT_EQ(m->statistics().table_misses, before + 1);
  });
}

// Designs that own the table have accesses that need no mapping.
TEST(AddressTableMachine, EachAccessOfEachDesignLooksUpOneMapping) {
  std::vector<std::string> names = {""};
  for (const DesignInfo& info : hardware_designs()) {
    names.emplace_back(info.name);
  }
  for (const std::string& name : names) {
    DesignMachine m(options(with_table(tiny()), name));
    m.run([&] {
      for (uint64_t i = 1; i < 10 && !name.empty(); ++i) {
        m.transaction(0, 12, i);
        m->tx_start();
        m.set(13, 99);
        m->tx_abort();
      }
      for (size_t line = 0; line < 40; ++line) {
        m.set(line, m.get(line + 40));
      }
    });
    m.settle();
    const SimCounters counters = m->statistics();
    const sim::MemoryCounters medium = m->medium_counters();
    EXPECT_GT(counters.table_reads, 0u) << name;
    EXPECT_EQ(medium.reads, counters.medium_reads) << name;
    EXPECT_EQ(medium.writes, counters.medium_writes) << name;
    if (!name.empty()) {
      const DesignCounters design = m->design_counters();
      EXPECT_EQ(std::accumulate(design.by_cause.begin(), design.by_cause.end(), uint64_t{0}),
                medium.writes)
          << name;
      EXPECT_EQ(std::accumulate(design.reads_by_cause.begin(), design.reads_by_cause.end(),
                                counters.table_reads),
                medium.reads)
          << name;
      if (make_design(name, {}).value()->wishes().address_table) {
        continue;  // it has accesses that need no mapping
      }
    }
    EXPECT_EQ(counters.table_misses, counters.table_reads) << name;
    EXPECT_EQ(counters.table_hits + counters.table_misses,
              medium.reads - counters.table_reads + medium.writes)
        << name;
  }
}

// ---- designs

/// Owns the table, or looks a mapping up without owning it.
class Owner final : public HardwareDesign {
 public:
  explicit Owner(bool owns) : owns_(owns) {}
  DesignWishes wishes() const override { return {.address_table = owns_}; }
  Time first_store(const DesignStore& store, Time now) override {
    context().look_up(store.line.at, now);
    return now;
  }
  Time recover(DesignRecovery& /*recovery*/, Time now) override { return now; }

 private:
  bool owns_;
};

TEST(AddressTableMachine, AnOwnerNeedsAMachineWithATable) {
  EXPECT_THROW(SimMachine{options_for<Owner>(tiny(), Domain::pmem, true)}, Error);
  DesignMachine m(options_for<Owner>(with_table(tiny()), Domain::pmem, true));
  m.run([&] { m.transaction(0, 1, 1); });
  EXPECT_EQ(m->statistics().table_hits, 1u) << "the fill has read the mapping";
}

TEST(AddressTableMachine, OnlyTheOwnerLooksMappingsUp) {
  DesignMachine m(options_for<Owner>(with_table(tiny()), Domain::pmem, false));
  EXPECT_THROW(m.run([&] {
    m.transaction(0, 1, 1);
    m->fence();
  }),
               Error);
}

}  // namespace
}  // namespace holdfast::design_test::address_table_test
