// SPDX-License-Identifier: Apache-2.0
// Does a write that is taken back leave no trace, and only while it waits in the queue?
#include "tests/unit/hardware/design_sweep.h"
#include "tests/unit/hardware/features/undo_log.h"

namespace holdfast::design_test::cancel_test {
namespace {

/// A queue in which up to 28 writes wait until they must go.
MachineDescription patient(MachineDescription m) {
  m.medium.write_queue = 32;
  m.medium.drain_high = 1;
  m.medium.drain_low = 0.9;
  return m;
}

SimOptions open_options(const MachineDescription& machine, uint64_t disturb) {
  SimOptions o = options_for<Open>(machine, Domain::pmem);
  o.disturb = disturb;
  return o;
}

struct OpenMachine : DesignMachine {
  explicit OpenMachine(const MachineDescription& machine, uint64_t disturb = 0)
      : DesignMachine(open_options(machine, disturb)),
        context(static_cast<Open*>(this->machine().hardware_design())->context()) {}

  static constexpr Place kPlace{Space::own, 640};

  Ticket write(uint8_t value, bool cancelable = true) {
    std::array<std::byte, 64> bytes;
    bytes.fill(std::byte{value});
    const Time now = machine().now();
    const DesignWrite write = context.write(kPlace, bytes.data(), Cause::log, now, cancelable);
    machine().sleep_until(write.accepted);
    machine().pfence();
    return write.ticket;
  }
  bool cancel(Ticket ticket) { return context.cancel(ticket, machine().now()); }
  int content() {
    std::array<std::byte, 64> bytes;
    context.read(kPlace, bytes.data(), ReadCause::log, machine().now());
    return static_cast<int>(bytes[63]);
  }

  DesignContext& context;
};

TEST(DesignCancel, TheContentBelowComesBackInAnyOrder) {
  OpenMachine m(patient(roomy()));
  m.run([&] {
    m.write(1, false);
    const Ticket two = m.write(2);
    const Ticket three = m.write(3);
    EXPECT_EQ(m.content(), 3);
    EXPECT_TRUE(m.cancel(three));
    EXPECT_EQ(m.content(), 2);
    EXPECT_FALSE(m.cancel(three)) << "once";
    EXPECT_TRUE(m.cancel(two));
    EXPECT_EQ(m.content(), 1);

    const Ticket four = m.write(4);
    const Ticket five = m.write(5);
    EXPECT_TRUE(m.cancel(four));
    EXPECT_EQ(m.content(), 5) << "a later write covers it";
    EXPECT_TRUE(m.cancel(five));
    EXPECT_EQ(m.content(), 1);

    const Ticket six = m.write(6);
    m.write(7, false);
    EXPECT_TRUE(m.cancel(six));
    EXPECT_EQ(m.content(), 7);

    const Ticket eight = m.write(8);
    const Ticket nine = m.write(9);
    const Ticket ten = m.write(10);
    EXPECT_TRUE(m.cancel(nine));
    EXPECT_EQ(m.content(), 10);
    EXPECT_TRUE(m.cancel(ten));
    EXPECT_EQ(m.content(), 8);
    EXPECT_TRUE(m.cancel(eight));
    EXPECT_EQ(m.content(), 7);
  });
  EXPECT_EQ(m->design_counters().cancelled, 8u);
  EXPECT_EQ(m->design_counters().by_cause[static_cast<size_t>(Cause::log)], 10u);
}

// tiny.toml: at most one write waits; the others begin when their bank is free.
TEST(DesignCancel, AWriteThatItsBankHasBegunIsTooLate) {
  OpenMachine m(roomy());
  std::array<std::byte, 64> bytes{};
  m.run([&] {
    const Time start = m->now();
    std::vector<DesignWrite> writes;
    for (uint64_t line = 0; line < 3; ++line) {
      writes.push_back(
          m.context.write({Space::own, 64 * line}, bytes.data(), Cause::log, start, true));
      EXPECT_EQ(writes.back().accepted, start + 5'000);
    }
    EXPECT_TRUE(m.context.cancel(writes[2].ticket, start + 5'000)) << "two banks take two writes";
    EXPECT_FALSE(m.context.cancel(writes[0].ticket, start + 5'001));
    EXPECT_FALSE(m.context.cancel(Ticket{}, start + 5'001));
    EXPECT_FALSE(m.context.cancel(Ticket{99}, start + 5'001));
  });
}

TEST(DesignCancel, ATakenBackWriteIsAPersistEvent) {
  OpenMachine m(patient(roomy()));
  m.run([&] {
    const Ticket ticket = m.write(1);
    const uint64_t before = m->persist_events();
    EXPECT_TRUE(m.cancel(ticket));
    EXPECT_EQ(m->persist_events(), before + 1);
    EXPECT_FALSE(m.cancel(ticket));
    EXPECT_EQ(m->persist_events(), before + 1);
  });
}

TEST(DesignWrites, WritesOfALineAreAcceptedInTheirOrderAtTheTimesReturned) {
  size_t late = 0;
  for (uint64_t seed = 0; seed <= 20; ++seed) {
    OpenMachine m(patient(roomy()), seed);
    std::array<std::byte, 64> bytes{};
    m.run([&] {
      for (uint8_t i = 1; i < 20; ++i) {
        const Time now = m->now();
        bytes[0] = std::byte{i};
        const Time first =
            m.context.write({Space::home, 640}, bytes.data(), Cause::data, now).accepted;
        bytes[0] = std::byte{static_cast<uint8_t>(i + 100)};
        const Time second =
            m.context.write({Space::home, 640}, bytes.data(), Cause::data, now).accepted;
        EXPECT_GE(second, first);
        late += second > now + 5'000 ? 1 : 0;
        m->sleep_until(second);
        m->pfence();
        EXPECT_EQ(DesignMachine::in_image(m->earliest_image(), 10), i + 100u) << "seed " << seed;
      }
    });
  }
  EXPECT_GT(late, 20u) << "disturbances delay acceptance";
}

TEST(DesignCancel, ALogThatCommitsTakeBackSparesTheMediumItsWrites) {
  for (const bool cancels : {false, true}) {
    DesignMachine m(options_for<UndoLog>(patient(roomy()), Domain::pmem, UndoBug::none, cancels));
    m.run([&] {
      for (uint64_t i = 0; i < 4; ++i) {
        m.transaction(0, 3, i);
      }
      m->fence();
    });
    EXPECT_EQ(m.count("taken back"), cancels ? 24u : 0u);
    EXPECT_EQ(m.count("too late"), 0u);
    EXPECT_EQ(m->design_counters().cancelled, cancels ? 24u : 0u);
    EXPECT_EQ(m->design_counters().by_cause[static_cast<size_t>(Cause::log)], 24u);
  }
}

TEST(DesignCancel, APowerFailureAtAnyEventLeavesTheCommittedTransactions) {
  expect_durable(options_for<UndoLog>(patient(tiny()), Domain::pmem, UndoBug::none, true));
}

TEST(DesignCancel, LongSearchOfPowerFailures) {
  expect_durable(options_for<UndoLog>(patient(tiny()), Domain::pmem, UndoBug::none, true), {},
                 false);
}

TEST(DesignCancel, TheSearchFindsALogThatIsTakenBackTooEarly) {
  EXPECT_GT(wrong_images(
                options_for<UndoLog>(patient(tiny()), Domain::pmem, UndoBug::cancels_early, true)),
            0u);
}

}  // namespace
}  // namespace holdfast::design_test::cancel_test
