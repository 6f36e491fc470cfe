// SPDX-License-Identifier: Apache-2.0
// Does a non-volatile last level carry a design that commits by writing there (after Kiln, MICRO
// 2013)?
#include <map>
#include <set>

#include "tests/unit/hardware/design_sweep.h"
#include "tests/unit/hardware/features/overflow_log.h"

namespace holdfast::design_test::nonvolatile_llc_test {
namespace {

enum class Bug : uint8_t {
  none,
  overwrites_in_llc,  ///< a new version overwrites the committed one in the last level
  commits_too_early,  ///< the register changes before the last level has the lines
  evicts_home,        ///< a line of an open transaction that leaves the last level goes home
  trusts_flags,       ///< recovery takes flagged lines for lines of open transactions
};

/// A commit writes the transaction's lines to the last level, which is non-volatile, and then its
/// number to a register. Flagged lines stay there. If a set is full of them, a further one goes to
/// a log. Committed lines go home when they leave the last level.
class MiniKiln final : public HardwareDesign {
 public:
  explicit MiniKiln(Bug bug = Bug::none, double write_cycles = 50)
      : bug_(bug), write_cycles_(write_cycles) {}

  DesignWishes wishes() const override {
    return {.victims = true, .versions = true, .flags_move_up = true, .nonvolatile_llc = true};
  }
  void adapt(MachineDescription& machine) const override {
    machine.llc.inclusive = false;
    machine.llc.fills_on_miss = true;
    machine.llc.hit_cycles = 40;
    machine.llc.write_cycles = write_cycles_;
  }
  std::vector<StructureInfo> structures(const MachineDescription&) const override {
    return {{.name = "commits", .entries = kSlots, .entry_bytes = sizeof(Register)},
            OverflowLog::info()};
  }
  void attach(DesignContext& context) override {
    HardwareDesign::attach(context);
    log_.attach(context);
  }

  Time begin(const DesignTransaction& tx, Time now) override {
    Register own = of(tx.slot);
    own.begun = tx.id;
    context().change(kRegisters, index(tx.slot), bytes_of(own), now);
    open_[tx.slot] = {};
    return now;
  }
  Time first_store(const DesignStore& store, Time now) override {
    context().set_flags_in_l1(store.tx.core, store.line.line, flag(store.tx.slot));
    open_[store.tx.slot].lines.push_back(store.line);
    return now;
  }
  Time commit(const DesignTransaction& tx, Time now) override {
    Open& open = open_[tx.slot];
    if (open.ready > now) {
      return open.ready;
    }
    switch (open.step++) {
      case 0:
        if (bug_ == Bug::commits_too_early) {
          end(tx, now);
        }
        open.ready = now;
        for (const DesignLine& line : open.lines) {
          if (log_.find(line.at.offset) == OverflowLog::kEntries) {
            const Time written = context().write_to_last_level(line.line, now);
            open.ready = std::max(open.ready, written);
          }
        }
        open.ready = std::max(open.ready, open.logged);
        return open.ready > now ? open.ready : commit(tx, now);
      case 1:
        end(tx, now);
        for (const DesignLine& line : open.lines) {
          context().set_flags(line.line, 0);
        }
        each_entry(tx, [&](size_t i) {
          open.ready = std::max(open.ready, log_.migrate(i, Cause::migration, now));
        });
        return open.ready > now ? open.ready : commit(tx, now);
      default:
        each_entry(tx, [&](size_t i) { log_.clear(i, now); });
        return now;
    }
  }
  Time abort(const DesignTransaction& tx, Time now) override {
    for (const DesignLine& line : open_[tx.slot].lines) {
      context().drop(line.line);
    }
    each_entry(tx, [&](size_t i) { log_.clear(i, now); });
    return now;
  }

  bool keeps(const CachedLine& resident, uint8_t coming) override {
    return resident.flags == 0 && coming != 0 && bug_ != Bug::overwrites_in_llc;
  }
  size_t victim(const VictimChoice& choice) override {
    if (choice.level != Level::llc || choice.present) {
      return HardwareDesign::victim(choice);
    }
    for (size_t way = choice.ways; way > 0; --way) {
      if ((choice.set[way - 1].meta & sim::LineBits::kFlags) == 0) {
        return way - 1;
      }
    }
    ++refused_;
    return kNoWay;
  }
  Leaving leaving(const LineMove& move, Time now) override {
    if (move.from != Level::llc || !move.dirty || bug_ == Bug::evicts_home) {
      return HardwareDesign::leaving(move, now);
    }
    const int slot = move.flags - 1;
    const Time accepted = log_.add(of(slot).begun, index(slot), move, now);
    open_[slot].logged = std::max(open_[slot].logged, accepted);
    ++logged_;
    return {.dirty = false, .flags = 0, .done = accepted};
  }
  DesignFill fill(DesignLine line, int, Time now) override {
    const size_t i = log_.find(line.at.offset);
    if (i == OverflowLog::kEntries) {
      return {.start = now};
    }
    const OverflowLog::Entry entry = log_.entry(i);
    const Time there = log_.read(i, filled_, now);
    const int slot = static_cast<int>(entry.slot);
    const bool open = entry.tx > of(slot).committed;
    if (open) {  // else the entry is needed until the line is home
      log_.clear(i, now);
    }
    return {.supplied = true,
            .done = there,
            .bytes = filled_.data(),
            .dirty = open,
            .flags = open ? flag(slot) : uint8_t{0}};
  }

  void power_failure(PowerFailure&) const override {}

  Time recover(DesignRecovery& recovery, Time now) override {
    Time home = now;
    std::set<size_t> discarded;
    const auto restore = [&](uint64_t offset, const std::byte* bytes, Time at) {
      const Place place{Space::home, offset};
      home = std::max(home, context().write(place, bytes, Cause::recovery, at).accepted);
      ++recovery.lines_written;
    };
    context().for_each_remaining([&](const CachedLine& cached, const std::byte* bytes) {
      const int slot = cached.flags - 1;
      const bool open =
          cached.flags != 0 && (of(slot).begun > of(slot).committed || bug_ == Bug::trusts_flags);
      if (open) {
        discarded.insert(index(slot));
      } else if (cached.dirty) {
        restore(cached.line.at.offset, bytes, now);
      }
    });
    for (size_t i = 0; i < OverflowLog::kEntries; ++i) {
      const OverflowLog::Entry entry = log_.entry(i);
      if (entry.used != 0 && entry.tx <= of(static_cast<int>(entry.slot)).committed) {
        now = log_.read(i, filled_, now);
        restore(entry.offset, filled_.data(), now);
      }
    }
    recovery.discarded = discarded.size();
    now = std::max(now, home);
    for (size_t i = 0; i < OverflowLog::kEntries; ++i) {
      if (log_.entry(i).used != 0) {
        log_.clear(i, now);
      }
    }
    // The last level has its lines until this returns, and takes them for lines of an open
    // transaction then.
    const Register none{1, 0};
    for (size_t slot = 0; slot < kSlots; ++slot) {
      context().change(kRegisters, slot, bytes_of(none), now);
    }
    return now;
  }
  std::vector<std::pair<const char*, uint64_t>> counters() const override {
    return {{"logged", logged_}, {"refused", refused_}};
  }

 private:
  struct Register {
    uint64_t begun = 0;
    uint64_t committed = 0;
  };
  struct Open {
    std::vector<DesignLine> lines;
    int step = 0;
    Time ready = 0;
    Time logged = 0;  ///< the time from which on the log has what was sent there
  };
  static constexpr size_t kSlots = 10;
  static constexpr size_t kRegisters = 0;

  static size_t index(int slot) { return static_cast<size_t>(slot); }
  static uint8_t flag(int slot) { return static_cast<uint8_t>(slot + 1); }
  Register of(int slot) const {
    return read_as<Register>(context().entry(kRegisters, index(slot)));
  }
  void end(const DesignTransaction& tx, Time now) {
    const Register own{tx.id, tx.id};
    context().change(kRegisters, index(tx.slot), bytes_of(own), now);
  }
  template <class F>
  void each_entry(const DesignTransaction& tx, F&& f) {
    for (size_t i = 0; i < OverflowLog::kEntries; ++i) {
      if (log_.entry(i).used != 0 && log_.entry(i).tx == tx.id) {
        f(i);
      }
    }
  }

  Bug bug_;
  double write_cycles_;
  OverflowLog log_{1, 0};
  std::map<int, Open> open_;  ///< by slot
  std::vector<std::byte> filled_;
  uint64_t logged_ = 0;
  uint64_t refused_ = 0;
};

constexpr size_t kLog = static_cast<size_t>(Cause::log);
constexpr size_t kWriteBack = static_cast<size_t>(Cause::write_back);
constexpr size_t kMigration = static_cast<size_t>(Cause::migration);

SimOptions llc_options(const MachineDescription& machine, Bug bug = Bug::none) {
  return options_for<MiniKiln>(machine, Domain::pmem, bug);
}

TEST(DesignNonvolatileLlc, ACommitTakesOneWriteOfTheLastLevel) {
  for (const double cycles : {50.0, 70.0}) {
    DesignMachine m(options_for<MiniKiln>(roomy(), Domain::pmem, Bug::none, cycles));
    m.run([&] {
      m.set(0, 1);
      m->fence();
      m.transaction(0, 1, 2);
      m->fence();
    });
    EXPECT_EQ(m->design_counters().commit_waits, static_cast<Time>(cycles) * 1000);
  }
}

TEST(DesignNonvolatileLlc, ALineThatTheLastLevelHasTakesNoTimeAtTheCommit) {
  MachineDescription machine = roomy();
  machine.l1.bytes = machine.l2.bytes = 512;
  DesignMachine m(llc_options(machine));
  m.run([&] {
    m->tx_start();
    m.set(0, 1);
    m->fence();
    for (size_t line = 20; line < 60; ++line) {
      m.get(line);
    }
    m->tx_commit();
    m->fence();
  });
  EXPECT_EQ(m->design_counters().commit_waits, 0u);
}

TEST(DesignNonvolatileLlc, ReadsOfTheLastLevelHaveALatencyOfTheirOwn) {
  MachineDescription machine = roomy();
  machine.l1.bytes = machine.l2.bytes = 512;
  DesignMachine m(llc_options(machine));
  m.run([&] {
    for (size_t line = 0; line < 20; ++line) {
      m.get(line);
    }
    EXPECT_EQ(m.load_ns(1) - m.load_ns(19), 39u) << "a hit there takes 40 ns, one of L1 takes 1";
  });
}

TEST(DesignNonvolatileLlc, TheOlderCommittedVersionGoesHomeFirst) {
  SimImage image;
  {
    DesignMachine m(llc_options(roomy()));
    m.run([&] {
      m.transaction(0, 1, 1);
      m->fence();
      EXPECT_EQ(m->statistics().medium_writes, 0u);
      m.transaction(0, 1, 2);
      m->fence();
      EXPECT_EQ(m->design_counters().by_cause[kWriteBack], 1u);
    });
    image = m->earliest_image();
    EXPECT_EQ(DesignMachine::in_image(image, 0), 1u);
  }
  DesignMachine m(llc_options(roomy()), image);
  EXPECT_EQ(m.get(0), 2u);
  EXPECT_EQ(m->design_recovery().lines_written, 1u);
}

TEST(DesignNonvolatileLlc, AFullSetRefusesALineAndTheLogTakesIt) {
  SimImage image;
  {
    DesignMachine m(llc_options(tiny()));
    m.run([&] {
      m.transaction(0, 40, 1);
      m->tx_start();
      for (size_t line = 0; line < 40; ++line) {
        m.set(line, 2);
      }
      for (size_t line = 0; line < 40; ++line) {
        EXPECT_EQ(m.get(line), 2u);
      }
      m->tx_abort();
      for (size_t line = 0; line < 40; ++line) {
        EXPECT_EQ(m.get(line), 1u);
      }
    });
    EXPECT_GT(m.count("refused"), 20u);
    const DesignCounters counters = m->design_counters();
    EXPECT_EQ(counters.by_cause[kLog], m.count("logged"));
    EXPECT_GE(counters.by_cause[kMigration], 40u - 16) << "the last level has 16 lines";
    image = m->earliest_image();
  }
  const DesignMachine m(llc_options(tiny()), image);
  for (size_t line = 0; line < 40; ++line) {
    EXPECT_EQ(m.get(line), 1u);
  }
}

TEST(DesignNonvolatileLlc, APowerFailureAtAnyEventLeavesTheCommittedTransactions) {
  expect_durable(llc_options(tiny()), {.most_lines = 12});
}

TEST(DesignNonvolatileLlc, LongSearchOfPowerFailures) {
  expect_durable(llc_options(tiny()), {.most_lines = 20}, false);
}

TEST(DesignNonvolatileLlc, TheSearchFindsBugs) {
  for (const Bug bug :
       {Bug::overwrites_in_llc, Bug::commits_too_early, Bug::evicts_home, Bug::trusts_flags}) {
    EXPECT_GT(wrong_images(llc_options(tiny(), bug), {.most_lines = 12}), 0u)
        << static_cast<int>(bug);
  }
}

}  // namespace
}  // namespace holdfast::design_test::nonvolatile_llc_test
