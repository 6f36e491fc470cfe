// SPDX-License-Identifier: Apache-2.0
// Does the machine call the hooks of a hardware design when it should, and only then?
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tests/unit/hardware/design_fixture.h"

namespace holdfast::design_test {
namespace {

/// The numbers of events.
struct Calls {
  uint64_t begins = 0;
  uint64_t commits = 0;
  uint64_t aborts = 0;
  uint64_t first_stores = 0;
  uint64_t stores = 0;
  uint64_t outside_stores = 0;
  uint64_t fills = 0;
  uint64_t memory_writes = 0;
  uint64_t leaving[3] = {};
  uint64_t victims = 0;
  std::vector<Time> ticks;
};

/// A design that counts its events and behaves as the test asks.
class Counting final : public HardwareDesign {
 public:
  explicit Counting(Calls& calls) : calls_(calls) {}

  DesignWishes wishes() const override { return wishes_; }
  Time begin(const DesignTransaction&, Time now) override {
    ++calls_.begins;
    return now;
  }
  Time commit(const DesignTransaction&, Time now) override {
    ++calls_.commits;
    return now;
  }
  Time abort(const DesignTransaction& tx, Time now) override {
    ++calls_.aborts;
    return HardwareDesign::abort(tx, now);
  }
  Time first_store(const DesignStore& store, Time now) override {
    ++calls_.first_stores;
    context().set_flags(store.line.line, flag_);
    if (wake_after_ != 0) {
      context().wake_at(now + wake_after_);
    }
    return now;
  }
  Time store(const DesignStore&, Time now) override {
    ++calls_.stores;
    return now;
  }
  uint8_t outside_store(DesignLine, uint8_t flags) override {
    ++calls_.outside_stores;
    EXPECT_EQ(flags, flag_);
    return 0;
  }
  DesignFill fill(DesignLine, int, Time now) override {
    ++calls_.fills;
    return {.start = now};
  }
  Leaving leaving(const LineMove& move, Time now) override {
    EXPECT_EQ(move.flags, flag_);
    ++calls_.leaving[static_cast<size_t>(move.from)];
    return {move.dirty, move.flags, now};
  }
  MemoryWrite memory_write(const LineMove&, Time now) override {
    ++calls_.memory_writes;
    return {writes_, now};
  }
  size_t victim(const VictimChoice& choice) override {
    ++calls_.victims;
    return HardwareDesign::victim(choice);
  }
  void tick(Time now) override { calls_.ticks.push_back(now); }
  Time recover(DesignRecovery&, Time now) override { return now; }

  DesignWishes wishes_;
  uint8_t flag_ = 0;
  bool writes_ = true;
  Time wake_after_ = 0;

 private:
  Calls& calls_;
};

SimOptions counting(const MachineDescription& machine, Calls& calls,
                    const std::function<void(Counting&)>& prepare = {}) {
  SimOptions o = options(machine, "");
  o.make_design = [&calls, prepare] {
    auto design = std::make_unique<Counting>(calls);
    if (prepare) {
      prepare(*design);
    }
    return design;
  };
  return o;
}

TEST(SimDesign, RepeatedStoresToALineInL1CallNothing) {
  Calls calls;
  DesignMachine m(counting(roomy(), calls));
  m.run([&] {
    m->tx_start();
    for (uint64_t i = 0; i < 100; ++i) {
      m.set(i % 2, i, i % 8);
    }
    m->tx_commit();
    m->fence();
    EXPECT_EQ(calls.begins, 1u);
    EXPECT_EQ(calls.commits, 1u);
    EXPECT_EQ(calls.first_stores, 2u) << "two lines";
    EXPECT_EQ(calls.stores, 0u) << "not asked for";
    m.transaction(0, 1, 7);
    m->fence();
    EXPECT_EQ(calls.first_stores, 3u) << "once more, for the next transaction";
  });
}

TEST(SimDesign, EveryStoreIsToldToADesignThatAsks) {
  Calls calls;
  DesignMachine m(counting(roomy(), calls, [](Counting& d) { d.wishes_.every_store = true; }));
  m.run([&] {
    m->tx_start();
    for (uint64_t i = 0; i < 100; ++i) {
      m.set(i % 2, i, i % 8);
    }
    m->tx_commit();
    m.set(0, 1);
    m->fence();
  });
  EXPECT_EQ(calls.first_stores, 2u);
  EXPECT_EQ(calls.stores, 98u) << "those of the transaction";
}

TEST(SimDesign, TheFirstStoreIsToldOnceAlsoWhenTheLineLeftL1Meanwhile) {
  Calls calls;
  DesignMachine m(counting(tiny(), calls));
  m.run([&] {
    m->tx_start();
    for (int round = 0; round < 3; ++round) {
      for (size_t line = 0; line < 40; ++line) {
        m.set(line, 1);
      }
    }
    m->tx_commit();
  });
  EXPECT_EQ(calls.first_stores, 40u);
}

TEST(SimDesign, StoresOutsideTransactionsAndToVolatileMemoryCallNothing) {
  Calls calls;
  DesignMachine m(counting(roomy(), calls));
  auto* words = make_array<uint64_t>(m.machine(), 8);
  m.run([&] {
    m.set(0, 1);
    m->fence();
    m->tx_start();
    SimMachine::store(words, uint64_t{1});
    m->tx_commit();
    m->fence();
  });
  EXPECT_EQ(calls.first_stores + calls.stores + calls.outside_stores, 0u);
}

TEST(SimDesign, AStoreOutsideTransactionsToAFlaggedLineIsToldOnce) {
  Calls calls;
  DesignMachine m(counting(roomy(), calls, [](Counting& d) { d.flag_ = 3; }));
  m.run([&] {
    m.transaction(0, 1, 1);
    for (uint64_t i = 0; i < 5; ++i) {
      m.set(0, i);
    }
    m->fence();
  });
  EXPECT_EQ(calls.outside_stores, 1u) << "its answer took the flags away";
}

TEST(SimDesign, FillsAndEvictionsAreToldAndFlagsGoWithTheLine) {
  Calls calls;
  DesignMachine m(counting(tiny(), calls, [](Counting& d) { d.flag_ = 5; }));
  m.run([&] {
    m.transaction(0, 1, 1);
    m->fence();
    EXPECT_EQ(calls.fills, 1u);
    EXPECT_EQ(calls.leaving[0] + calls.leaving[1] + calls.leaving[2], 0u);
    for (size_t line = 1; line < 60; ++line) {
      m.get(line);
    }
    m->fence();
    EXPECT_EQ(calls.fills, 60u);
    EXPECT_EQ(calls.leaving[2], 1u) << "the flagged line left the last level, no other has flags";
    EXPECT_EQ(calls.memory_writes, 1u);
    EXPECT_EQ(m->design_counters().written_back, 1u);
  });
  EXPECT_EQ(DesignMachine::in_image(m->earliest_image(), 0), 1u) << "its content went along";
}

TEST(SimDesign, AnEmulatedWriteBackAsksTheDesignForTheWrite) {
  MachineDescription machine = roomy();
  machine.persistence.write_back = WriteBackKind::emulated;
  for (const bool writes : {true, false}) {
    Calls calls;
    DesignMachine m(counting(machine, calls, [&](Counting& d) { d.writes_ = writes; }));
    m.run([&] {
      m.set(0, 7);
      m->pwb(m.word(0, 0));
      m->psync();
    });
    EXPECT_EQ(calls.memory_writes, 1u);
    EXPECT_EQ(DesignMachine::in_image(m->earliest_image(), 0), writes ? 7u : 0u);
  }
}

TEST(SimDesign, VictimsAreChosenByADesignThatAsks) {
  Calls calls;
  {
    DesignMachine m(counting(tiny(), calls));
    m.run([&] { m.transaction(0, 40, 1); });
  }
  EXPECT_EQ(calls.victims, 0u);
  DesignMachine m(counting(tiny(), calls, [](Counting& d) { d.wishes_.victims = true; }));
  m.run([&] { m.transaction(0, 40, 1); });
  EXPECT_GT(calls.victims, 30u);
}

TEST(SimDesign, TicksComeAtTheTimeAskedFor) {
  Calls calls;
  Time before = 0;
  DesignMachine m(counting(roomy(), calls, [](Counting& d) { d.wake_after_ = 500'000; }));
  m.run([&] {
    m->fence();
    m.transaction(0, 1, 1);
    m->fence();
    before = m->now();
    m->work(400);
    m.get(1);  // an access to memory before the time
    m->fence();
    EXPECT_TRUE(calls.ticks.empty());
    m->work(400);
    m.get(2);
    m->fence();
  });
  ASSERT_EQ(calls.ticks.size(), 1u);
  EXPECT_NEAR(static_cast<double>(calls.ticks[0]), static_cast<double>(before) + 500'000, 10'000);
}

TEST(SimDesign, TicksComeByInstructionsToo) {
  Calls calls;
  DesignMachine m(
      counting(roomy(), calls, [](Counting& d) { d.wishes_.tick_instructions = 1000; }));
  m.run([&] {
    for (size_t i = 0; i < 10; ++i) {
      m->work(500);
      m.transaction(0, 1, i);
    }
  });
  EXPECT_EQ(calls.ticks.size(), 5u);
}

/// A design whose commit takes 300 ns.
class Slow final : public HardwareDesign {
 public:
  explicit Slow(bool waits) : waits_(waits) {}
  DesignWishes wishes() const override { return {.commit_waits = waits_}; }
  Time commit(const DesignTransaction&, Time now) override {
    ready_ = ready_ == 0 ? now + 300'000 : ready_;
    return ready_;
  }
  Time recover(DesignRecovery&, Time now) override { return now; }

 private:
  bool waits_;
  Time ready_ = 0;
};

TEST(SimDesign, ACommitHoldsUpLaterStoresAndTheThreadOnlyIfItWaits) {
  for (const bool waits : {false, true}) {
    SimOptions o = options(roomy(), "");
    o.make_design = [waits] { return std::make_unique<Slow>(waits); };
    DesignMachine m(o);
    auto* flag = make_array<uint64_t>(m.machine(), 1);
    m.run([&] {
      SimMachine::store(flag, uint64_t{1});
      m.set(0, 1);
      m->fence();
      m->tx_start();
      m.set(0, 2);
      const uint64_t start = m->now();
      m->tx_commit();
      const uint64_t back = m->now() - start;
      SimMachine::store(flag, uint64_t{2});
      m->work(250);
      static_cast<void>(m->now());  // all threads and buffers have acted up to this time
      EXPECT_EQ(*flag, waits ? 2u : 1u) << "as others see it";
      m->fence();
      const uint64_t done = m->now() - start;
      EXPECT_EQ(*flag, 2u);
      EXPECT_EQ(back >= 300'000, waits);
      EXPECT_GE(done, 300'000u);
      EXPECT_EQ(m->design_counters().commit_waits, 300'000u);
    });
  }
}

/// A start is done 300 ns after it is asked for.
class SlowStart final : public HardwareDesign {
 public:
  Time begin(const DesignTransaction& tx, Time now) override {
    Time& ready = ready_[tx.id];
    ready = ready == 0 ? now + 300'000 : ready;
    return ready;
  }
  Time first_store(const DesignStore& store, Time now) override {
    EXPECT_GE(now, ready_.at(store.tx.id));
    return now;
  }
  Time recover(DesignRecovery&, Time now) override { return now; }

 private:
  std::map<uint64_t, Time> ready_;  ///< by transaction
};

TEST(SimDesign, AStartHoldsUpTheStoresOfItsTransaction) {
  SimOptions o = options(roomy(), "");
  o.make_design = [] { return std::make_unique<SlowStart>(); };
  DesignMachine m(o);
  m.run([&] {
    m.transaction(0, 1, 1);
    m->fence();
    const uint64_t start = m->now();
    m->tx_start();
    m.set(0, 2);
    EXPECT_LT(m->now(), start + 300'000) << "the thread goes on";
    m->fence();
    EXPECT_GE(m->now(), start + 300'000);
    m->tx_commit();
    m->fence();
    EXPECT_EQ(m->design_counters().begin_waits, 600'000u);
    EXPECT_EQ(m->design_counters().transactions, 2u);
  });
}

TEST(SimDesign, AnAbortRestoresWhatTheTransactionOverwrote) {
  Calls calls;
  DesignMachine m(counting(tiny(), calls));
  m.run([&] {
    for (size_t line = 0; line < 30; ++line) {
      m.set(line, line + 1, 3);
    }
    m->tx_start();
    for (size_t line = 0; line < 30; ++line) {
      m.set(line, 99, 3);
      m.set(line, 99, 4);
    }
    m->tx_abort();
    for (size_t line = 0; line < 30; ++line) {
      EXPECT_EQ(m.get(line, 3), line + 1);
      EXPECT_EQ(m.get(line, 4), 0u);
    }
  });
  EXPECT_EQ(calls.aborts, 1u);
  EXPECT_EQ(calls.commits, 0u);
}

TEST(SimDesign, TheTableListsDesignsAndSaysWhatIsWrong) {
  std::set<std::string> names;
  for (const DesignInfo& info : hardware_designs()) {
    EXPECT_TRUE(names.insert(info.name).second);
    EXPECT_TRUE(make_design(info.name, {}).ok()) << info.name;
    EXPECT_STRNE(info.source, "");
    EXPECT_STRNE(info.survives, "");
  }
  const std::string message = make_design("nonsense", {}).status().message();
  EXPECT_NE(message.find(row_names(hardware_designs())), std::string::npos) << message;
  for (const DesignInfo& info : hardware_designs()) {
    const Status wrong = make_design(info.name, {{"no such option", "1"}}).status();
    EXPECT_NE(wrong.message().find(row_names(info.options)), std::string::npos)
        << wrong.to_string();
  }
}

TEST(SimDesign, AMachineWithoutADesignAndMisuseAreClearErrors) {
  {
    SimMachine machine({.threads = 1});
    EXPECT_THROW(machine.tx_start(), Error);
  }
  SimOptions functional;
  use_design(functional, durable_design());
  EXPECT_THROW(SimMachine{functional}, Error);
  SimOptions process = options(tiny(), durable_design());
  process.domain = Domain::process;
  EXPECT_THROW(SimMachine{process}, Error);
  DesignMachine m(options(tiny(), durable_design()));
  EXPECT_THROW(m->tx_commit(), Error);
  EXPECT_THROW(m->tx_abort(), Error);
  m->tx_start();
  EXPECT_THROW(m->tx_start(), Error);
  m->tx_commit();
  EXPECT_THROW(m->htm(0).begin(Tracking::all), Error);
}

TEST(SimDesign, AnImageIsRecoveredByTheDesignThatLeftItAndByNoOther) {
  SimImage image;
  {
    DesignMachine m(options(tiny(), durable_design()));
    m.run([&] { m.transaction(0, 1, 1); });
    image = m->earliest_image();
  }
  EXPECT_THROW(SimMachine(options(tiny(), volatile_design()), image), Error);
  EXPECT_THROW(SimMachine(SimOptions{}, image), Error);
  SimImage damaged = image;
  damaged[image.size() - 80] ^= std::byte{1};
  EXPECT_THROW(SimMachine(options(tiny(), durable_design()), damaged), Error);
  SimMachine again(options(tiny(), durable_design()), image);
  EXPECT_EQ(again.medium().map(0, kPageBytes, nullptr, MapMode::shared).status().code(),
            Code::misuse)
      << "before power_on()";
  again.power_on();
  EXPECT_TRUE(again.design_recovery().needed);
}

}  // namespace
}  // namespace holdfast::design_test
