// SPDX-License-Identifier: Apache-2.0
// Do versions of lines in caches that survive carry a design that commits by one store (after
// Hercules, ACM TECS 2023)?
#include <map>

#include "tests/unit/hardware/design_sweep.h"
#include "tests/unit/hardware/features/overflow_log.h"

namespace holdfast::design_test::versions_test {
namespace {

enum class Bug : uint8_t {
  none,
  overwrites_in_l1,    ///< a first store overwrites an older version that only L1 has
  overwrites_below,    ///< a version that leaves a cache overwrites the older one below
  arrives_clean,       ///< a committed line comes back from the log clean
  forgets_emergency,   ///< at power failure, lines of open transactions go home
  commits_by_flags,    ///< the flags go before the commit's store
  keeps_log_on_abort,  ///< an aborted transaction's lines stay in the log
};

/// The newest versions of a transaction's lines stay in caches, flagged. Their older versions are
/// below. A commit stores the transaction's number to a cached line of the own region, and clears
/// the flags. A flagged line that leaves the last level goes to a log, and comes back from there.
class MiniHercules final : public HardwareDesign {
 public:
  explicit MiniHercules(Bug bug = Bug::none) : bug_(bug) {}

  static constexpr double kTagCycles = 3;
  static constexpr size_t kMostFlagged = 4;  ///< ways of a set of the last level

  DesignWishes wishes() const override {
    return {.victims = true,
            .versions = true,
            .hits = true,
            .flags_move_up = true,
            .cached_own_bytes = 64 * kSlots};
  }
  std::vector<StructureInfo> structures(const MachineDescription&) const override {
    return {{.name = "begun", .entries = kSlots, .entry_bytes = 8}, OverflowLog::info()};
  }
  void attach(DesignContext& context) override {
    HardwareDesign::attach(context);
    log_.attach(context);
  }

  Time begin(const DesignTransaction& tx, Time now) override {
    context().change(kBegun, index(tx.slot), bytes_of(tx.id), now);
    return now;
  }
  Time first_store(const DesignStore& store, Time now) override {
    if (store.dirty && store.flags == 0 && bug_ != Bug::overwrites_in_l1) {
      const Time done = context().push_down(store.tx.core, store.line.line, now);
      if (done > now) {
        return done;
      }
    }
    context().set_flags_in_l1(store.tx.core, store.line.line, flag(store.tx.slot));
    lines_[store.tx.slot].push_back(store.line);
    return now;
  }
  Time commit(const DesignTransaction& tx, Time now) override {
    Time& done = committing_[tx.slot];
    if (done == 0) {
      if (bug_ == Bug::commits_by_flags) {
        clear_flags(tx);
      }
      done = context().store_own(tx.core, 64 * index(tx.slot), {bytes_of(tx.id), 8}, now);
      committed_[index(tx.slot)] = tx.id;
    }
    if (done > now) {
      return done;
    }
    done = 0;
    clear_flags(tx);
    lines_[tx.slot].clear();
    return now;
  }
  Time abort(const DesignTransaction& tx, Time now) override {
    for (const DesignLine& line : lines_[tx.slot]) {
      const size_t i = log_.find(line.at.offset);
      if (i != OverflowLog::kEntries && bug_ != Bug::keeps_log_on_abort) {
        log_.clear(i, now);
      }
      context().drop(line.line);
    }
    lines_[tx.slot].clear();
    return now;
  }

  Time hit(Level, const Touch&, Time done) override { return done + context().cycles(kTagCycles); }
  bool keeps(const CachedLine& resident, uint8_t coming) override {
    return resident.flags == 0 && coming != 0 && bug_ != Bug::overwrites_below;
  }
  size_t victim(const VictimChoice& choice) override {
    size_t flagged = 0;
    size_t last_flagged = kNoWay;
    size_t last_other = kNoWay;
    for (size_t way = 0; way < choice.ways; ++way) {
      const bool has = (choice.set[way].meta & sim::LineBits::kFlags) != 0;
      flagged += has ? 1 : 0;
      (has ? last_flagged : last_other) = way;
    }
    if (choice.level == Level::llc && choice.flags != 0 && flagged >= kMostFlagged) {
      return last_flagged;
    }
    if (choice.present) {
      return kNoWay;
    }
    return last_other != kNoWay ? last_other : last_flagged;
  }
  Leaving leaving(const LineMove& move, Time now) override {
    if (move.from != Level::llc || !move.dirty) {
      return HardwareDesign::leaving(move, now);
    }
    ++redirected_;
    const int slot = move.flags - 1;
    const auto tx = read_as<uint64_t>(context().entry(kBegun, index(slot)));
    return {.dirty = false, .flags = 0, .done = log_.add(tx, index(slot), move, now)};
  }
  DesignFill fill(DesignLine line, int, Time now) override {
    const size_t i =
        line.at.space == Space::own ? OverflowLog::kEntries : log_.find(line.at.offset);
    if (i == OverflowLog::kEntries) {
      return {.start = now};
    }
    const OverflowLog::Entry entry = log_.entry(i);
    const Time there = log_.read(i, filled_, now);
    const bool committed = entry.tx <= committed_[entry.slot];
    log_.clear(i, now);
    return {.supplied = true,
            .done = there,
            .bytes = filled_.data(),
            .dirty = !committed || bug_ != Bug::arrives_clean,
            .flags = committed ? uint8_t{0} : flag(static_cast<int>(entry.slot))};
  }
  Time settle(Time now) override {
    for (size_t i = 0; i < OverflowLog::kEntries; ++i) {
      if (log_.entry(i).used != 0) {
        now = std::max(now, log_.migrate(i, Cause::migration, now));
        log_.clear(i, now);
      }
    }
    return now;
  }

  void power_failure(PowerFailure& power) const override {
    uint64_t saved = 0;
    power.for_each_cached([&](const CachedLine& cached, const std::byte* bytes) {
      const std::span<const std::byte> content(bytes, power.line_bytes());
      if (!cached.dirty) {
        return;
      }
      if (cached.flags == 0 || bug_ == Bug::forgets_emergency) {
        power.write(cached.line.at, content);
        return;
      }
      const Saved header{cached.line.at.offset, uint64_t{cached.flags} - 1};
      power.write(emergency(2 * saved + 1), {bytes_of(header), sizeof(header)});
      power.write(emergency(2 * saved + 2), content);
      ++saved;
    });
    if (saved != 0) {  // else those of an earlier failure are still there, during recovery
      power.write(emergency(0), {bytes_of(saved), sizeof(saved)});
    }
  }

  Time recover(DesignRecovery& recovery, Time now) override {
    std::vector<std::byte> line(context().line_bytes());
    std::array<uint64_t, kSlots> begun{};
    for (size_t slot = 0; slot < kSlots; ++slot) {
      begun[slot] = read_as<uint64_t>(context().entry(kBegun, slot));
      now = context().load_own(0, 64 * slot, {line.data(), 8}, now);
      committed_[slot] = read_as<uint64_t>(line);
      recovery.discarded += begun[slot] > committed_[slot] ? 1 : 0;
    }
    Time home = now;
    const auto restore = [&](uint64_t offset, const std::byte* bytes) {
      const Place at{Space::home, offset};
      home = std::max(home, context().write(at, bytes, Cause::recovery, now).accepted);
      ++recovery.lines_written;
    };
    for (size_t i = 0; i < OverflowLog::kEntries; ++i) {
      const OverflowLog::Entry entry = log_.entry(i);
      if (entry.used != 0 && entry.tx <= committed_[entry.slot]) {
        now = log_.read(i, line, now);
        restore(entry.offset, line.data());
      }
    }
    now = context().read(emergency(0), line.data(), ReadCause::recovery, now);
    const auto saved = read_as<uint64_t>(line);
    for (uint64_t i = 0; i < saved; ++i) {
      now = context().read(emergency(2 * i + 1), line.data(), ReadCause::recovery, now);
      const auto header = read_as<Saved>(line);
      now = context().read(emergency(2 * i + 2), line.data(), ReadCause::recovery, now);
      if (begun[header.slot] <= committed_[header.slot]) {
        restore(header.offset, line.data());
      }
    }
    now = std::max(now, home);
    // Everything is home, so nothing is needed any more. The numbers of transactions go last.
    const std::vector<std::byte> zeros(context().line_bytes());
    for (size_t i = 0; i < OverflowLog::kEntries; ++i) {
      if (log_.entry(i).used != 0) {
        log_.clear(i, now);
      }
    }
    now = context().write(emergency(0), zeros.data(), Cause::recovery, now).accepted;
    for (size_t slot = 0; slot < kSlots; ++slot) {
      context().change(kBegun, slot, zeros.data(), now);
    }
    for (size_t slot = 0; slot < kSlots; ++slot) {
      if (committed_[slot] != 0) {
        const Place at{Space::own, 64 * slot};
        now = context().write(at, zeros.data(), Cause::recovery, now).accepted;
      }
    }
    committed_ = {};
    return now;
  }
  std::vector<std::pair<const char*, uint64_t>> counters() const override {
    return {{"redirected", redirected_}};
  }

 private:
  struct Saved {
    uint64_t offset, slot;
  };
  static constexpr size_t kSlots = 10;
  static constexpr size_t kBegun = 0;

  static size_t index(int slot) { return static_cast<size_t>(slot); }
  static uint8_t flag(int slot) { return static_cast<uint8_t>(slot + 1); }
  static Place emergency(uint64_t line) { return {Space::own, (uint64_t{1} << 30) + 64 * line}; }
  void clear_flags(const DesignTransaction& tx) {
    for (const DesignLine& line : lines_[tx.slot]) {
      context().set_flags(line.line, 0);
    }
  }

  Bug bug_;
  OverflowLog log_{1, uint64_t{1} << 20};
  std::map<int, std::vector<DesignLine>> lines_;  ///< by slot: those of the open transaction
  std::map<int, Time> committing_;                ///< by slot: the end of the commit's store
  std::array<uint64_t, kSlots> committed_{};
  std::vector<std::byte> filled_;
  uint64_t redirected_ = 0;
};

constexpr size_t kLog = static_cast<size_t>(Cause::log);
constexpr size_t kWriteBack = static_cast<size_t>(Cause::write_back);

SimOptions tagged(const MachineDescription& machine, Bug bug = Bug::none) {
  return options_for<MiniHercules>(machine, Domain::eadr, bug);
}

TEST(DesignVersions, ATagCostsTimeAtEachLevelAndOnlyWhileItIsThere) {
  DesignMachine m(tagged(roomy()));
  m.run([&] {
    m.set(0, 1);
    m->fence();
    const uint64_t plain = m.load_ns(0);
    m->tx_start();
    m.set(0, 2);
    m->fence();
    EXPECT_EQ(m.load_ns(0), plain + 3);
    m->tx_commit();
    m->fence();
    EXPECT_EQ(m.load_ns(0), plain);
  });
  EXPECT_EQ(m->statistics().medium_writes, 0u);
}

TEST(DesignVersions, ACommitIsOneCachedStore) {
  DesignMachine m(tagged(roomy()));
  m.run([&] {
    m.transaction(0, 3, 1);  // brings the own line to L1
    m->fence();
    const Time before = m->design_counters().commit_waits;
    const uint64_t events = m->persist_events();
    m.transaction(0, 3, 2);
    m->fence();
    EXPECT_EQ(m->design_counters().commit_waits - before, 1'000u) << "a hit of L1";
    EXPECT_EQ(m->persist_events() - events, 11u)
        << "a begin, three stores and their tags, the commit's store, and the tags again";
  });
}

TEST(DesignVersions, AnOlderVersionKeepsItsBytesUntilItReachesMemory) {
  DesignMachine m(tagged(tiny()));
  m.run([&] {
    m.transaction(0, 1, 1);
    m->tx_start();
    m.set(0, 2);
    m->fence();
    EXPECT_EQ(m->design_counters().by_cause[kWriteBack], 0u);
    for (size_t line = 2; line < 40; line += 2) {
      m.get(line);
    }
    m->fence();
    EXPECT_EQ(m->design_counters().by_cause[kWriteBack], 2u)
        << "the older version, and the line of the own region";
    EXPECT_EQ(m->design_counters().by_cause[kLog], m.count("redirected"));
    EXPECT_EQ(DesignMachine::in_image(m->earliest_image(), 0), 1u);
    EXPECT_EQ(m.get(0), 2u) << "the newer one";
    m->tx_abort();
    EXPECT_EQ(m.get(0), 1u);
  });
}

TEST(DesignVersions, ALineThatOverflowedComesBackAndCommits) {
  for (const bool aborts : {false, true}) {
    SimImage image;
    {
      DesignMachine m(tagged(tiny()));
      m.run([&] {
        m.transaction(0, 30, 1);
        m->tx_start();
        for (size_t line = 0; line < 30; ++line) {
          m.set(line, 2);
        }
        for (size_t line = 0; line < 30; ++line) {
          EXPECT_EQ(m.get(line), 2u);
          m.set(line, 3);
        }
        aborts ? static_cast<void>(m->tx_abort()) : m->tx_commit();
        for (size_t line = 0; line < 30; ++line) {
          EXPECT_EQ(m.get(line), aborts ? 1u : 3u);
        }
        m->fence();
      });
      EXPECT_GT(m.count("redirected"), 30u);
      EXPECT_GT(m->design_counters().fills, 20u) << "from the log";
      image = m->earliest_image();
    }
    const DesignMachine m(tagged(tiny()), image);
    for (size_t line = 0; line < 30; ++line) {
      EXPECT_EQ(m.get(line), aborts ? 1u : 3u);
    }
  }
}

TEST(DesignVersions, APowerFailureAtAnyEventLeavesTheCommittedTransactions) {
  expect_durable(tagged(tiny()), {.most_lines = 12});
}

TEST(DesignVersions, LongSearchOfPowerFailures) {
  expect_durable(tagged(tiny()), {.most_lines = 20}, false);
}

TEST(DesignVersions, TheSearchFindsBugs) {
  for (const Bug bug : {Bug::overwrites_in_l1, Bug::overwrites_below, Bug::arrives_clean,
                        Bug::forgets_emergency, Bug::commits_by_flags, Bug::keeps_log_on_abort}) {
    EXPECT_GT(wrong_images(tagged(tiny(), bug), {.most_lines = 12}), 0u) << static_cast<int>(bug);
  }
}

// A machine whose caches survive loses nothing, also while a line is on its way between them.
class Plain final : public HardwareDesign {
 public:
  Time recover(DesignRecovery&, Time now) override { return now; }
};

TEST(DesignVersions, SurvivingCachesLoseNoLineOnItsWayOut) {
  SimOptions o = options_for<Plain>(tiny(), Domain::eadr);
  for (o.disturb = 0; o.disturb <= 20; ++o.disturb) {
    DesignMachine m(o);
    uint64_t seen = 0;
    m->before_persist_event([&](uint64_t event) {
      const SimImage image = m->earliest_image();
      uint64_t kept = 0;
      for (size_t line = 0; line < 60; ++line) {
        kept += DesignMachine::in_image(image, line);
      }
      EXPECT_GE(kept, seen) << "seed " << o.disturb << " event " << event;
      seen = std::max(seen, kept);
    });
    m.run([&] {
      m.transaction(0, 60, 1);
      m->fence();
    });
    m->before_persist_event({});
    EXPECT_GT(seen, 50u);
  }
}

}  // namespace
}  // namespace holdfast::design_test::versions_test
