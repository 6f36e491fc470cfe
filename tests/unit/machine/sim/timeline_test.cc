// SPDX-License-Identifier: Apache-2.0
// Does the simulated machine report its threads' time by phase, in counters and as a timeline?
#include "holdfast/machine/sim/threads/timeline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>

#include "holdfast/machine/sim/sim_machine.h"
#include "tests/present.h"
#include "tests/unit/engines/timeline_world.h"

namespace holdfast::timeline_test {
namespace {

/// Two engines whose transactions have many phases, chosen by properties: durable, with hardware
/// transactions.
const EngineRow<SimMachine>& row_with(Isolation isolation) {
  return engine_rows_test::first_row([&](const EngineRow<SimMachine>& row) {
    const Description& d = *row.description;
    return d.needs_htm && d.durability != Durability::none && d.isolation == isolation &&
           row.replays;
  });
}
const EngineRow<SimMachine>& opaque_row() {
  return row_with(Isolation::opaque);
}

uint64_t time_of_all_phases(const SimCounters& c) {
  uint64_t sum = 0;
  for (int phase = 0; phase < kPhases; ++phase) {
    sum += c.phase_time(static_cast<Phase>(phase));
  }
  return sum;
}

TEST(SimTimeline, CountersAddUpToTheTimeOfTheRunAndAgreeWithTheSlices) {
  World w(opaque_row(), power9(3));
  std::map<int, uint64_t> took;
  w.run(3, [&](int worker) {
    const uint64_t start = w.machine.now();
    for (size_t i = 0; i < 20; ++i) {
      w.heap.write(i % 5 * 40, i);
      w.machine.work(100);
      w.heap.read(i % 7 * 40);
    }
    took[w.machine.self()] = w.machine.now() - start;
    ASSERT_EQ(w.machine.self(), kSlotOfWorker0 + worker);
  });
  EXPECT_GT(w.machine.statistics().phase_time(Phase::aborted), 0u);
  for (const auto& [slot, time] : took) {
    const SimCounters c = w.machine.statistics(slot);
    const uint64_t sum = time_of_all_phases(c);
    EXPECT_GE(sum, time);
    EXPECT_LE(sum, time + 10'000);  // the two looks at the clock
    EXPECT_GT(w.time(slot, Phase::outside), 0u);
    // Aborted attempts count as such, whatever they were at.
    uint64_t aborted = 0;
    for (const Slice& s : w.slices(Kind::attempt, slot)) {
      aborted += length(s);
    }
    EXPECT_EQ(w.time(slot, Phase::aborted), aborted);
    for (const Phase phase : {Phase::execute, Phase::isolation_wait, Phase::marker_flush}) {
      uint64_t drawn = 0;
      for (const Slice& s : w.phases(slot, phase)) {
        const auto attempts = w.slices(Kind::attempt, slot);
        const bool in_vain = std::any_of(attempts.begin(), attempts.end(), [&](const Slice& a) {
          return a.begin <= s.begin && s.end <= a.end;
        });
        drawn += in_vain ? 0 : length(s);
      }
      EXPECT_EQ(w.time(slot, phase), drawn) << to_string(phase);
    }
  }
}

TEST(SimTimeline, AnAbortedAttemptIsDrawnAndItsTimeCountsAsAborted) {
  World w(opaque_row(), power9(1));
  bool first = true;
  w.run(1, [&](int) {
    w.heap.engine().update([&] {
      w.machine.work(5000);
      w.heap.set(1, 1);
      if (std::exchange(first, false)) {
        w.machine.htm(w.machine.self()).abort(AbortCode::none);
      }
    });
  });
  const auto attempts = w.slices(Kind::attempt, kSlotOfWorker0);
  const auto transactions = w.slices(Kind::transaction, kSlotOfWorker0);
  ASSERT_EQ(attempts.size(), 1u);
  ASSERT_EQ(transactions.size(), 1u);
  EXPECT_EQ(attempts[0].outcome, Outcome::aborted);
  EXPECT_EQ(attempts[0].cause, AbortCause::explicit_abort);
  EXPECT_EQ(attempts[0].begin, transactions[0].begin);
  EXPECT_LT(attempts[0].end, transactions[0].end);
  EXPECT_EQ(transactions[0].attempts, 2u);
  EXPECT_EQ(transactions[0].outcome, Outcome::committed);
  const auto executed = w.phases(kSlotOfWorker0, Phase::execute);
  ASSERT_EQ(executed.size(), 2u);
  EXPECT_GT(length(executed[0]), kMicrosecond);  // 5000 cycles
  EXPECT_EQ(w.time(kSlotOfWorker0, Phase::aborted), length(attempts[0]));
  EXPECT_EQ(w.time(kSlotOfWorker0, Phase::execute), length(executed[1]));
}

TEST(SimTimeline, AnExceptionOfTheUserRollsBack) {
  World w(opaque_row(), power9(1));
  w.run(1, [&](int) {
    EXPECT_THROW(w.heap.engine().update([&] {
      w.heap.set(1, 1);
      throw std::runtime_error("no");
    }),
                 std::runtime_error);
  });
  EXPECT_EQ(w.slices(Kind::transaction, kSlotOfWorker0).at(0).outcome, Outcome::rolled_back);
  EXPECT_EQ(w.time(kSlotOfWorker0, Phase::aborted), 0u);
}

TEST(SimTimeline, TheReplayerHasItsOwnTrack) {
  World w(opaque_row(), power9(1), {{"log_bytes", "4096"}, {"markers", "64"}});
  w.run(1, [&](int) {
    for (size_t i = 0; i < 100; ++i) {
      w.heap.write(i, i);
    }
  });
  EXPECT_FALSE(w.phases(sim::kBackgroundSlot, Phase::replay).empty());
  EXPECT_GT(w.time(sim::kBackgroundSlot, Phase::replay), 0u);
}

TEST(SimTimeline, CountersTellUpdatesFromReads) {
  World w(row_with(Isolation::snapshot), power9(1));
  w.run(1, [&](int) {
    w.heap.write(3, 7);
    w.heap.write(5, 8);
    w.heap.read(3);
  });
  const SimCounters c = w.machine.statistics(kSlotOfWorker0);
  const auto& of = [&](TransactionKind kind) -> const SimCounters::OfKind& {
    return c.of_kind[static_cast<size_t>(kind)];
  };
  const auto time = [&](TransactionKind kind, Phase phase) {
    return of(kind).phase_time[static_cast<size_t>(phase)];
  };
  EXPECT_GT(time(TransactionKind::update, Phase::execute), 0u);
  EXPECT_GT(time(TransactionKind::update, Phase::marker_flush), 2 * 310'000u);
  EXPECT_GT(time(TransactionKind::read, Phase::execute), 0u);
  EXPECT_EQ(time(TransactionKind::read, Phase::marker_flush), 0u);
  EXPECT_EQ(time(TransactionKind::none, Phase::execute), 0u);
  EXPECT_EQ(time(TransactionKind::update, Phase::outside), 0u);
  EXPECT_GE(of(TransactionKind::update).execute_stores, 2u);
  EXPECT_GE(of(TransactionKind::read).execute_loads, 1u);
  EXPECT_EQ(of(TransactionKind::none).execute_loads, 0u);
}

TEST(SimTimeline, RecordingTakesNoSimulatedTime) {
  const auto steps_and_time = [](bool record) {
    World w(opaque_row(), power9(2));
    const auto work = [&](int worker) {
      for (size_t i = 0; i < 20; ++i) {
        w.heap.write(static_cast<size_t>(worker) * 64 + i, i);
      }
    };
    record ? w.run(2, work) : w.machine.run_threads(2, work);
    EXPECT_EQ(w.timeline.slices().empty(), !record);
    return std::pair(w.machine.steps(), w.machine.statistics().of_kind);
  };
  EXPECT_EQ(steps_and_time(true), steps_and_time(false));
}

TEST(SimTimeline, WithoutTimeStepsAreDrawnAndNothingIsAddedUp) {
  World w(opaque_row(), SimOptions{});
  w.run(1, [&](int) { w.heap.write(3, 7); });
  const auto transactions = w.slices(Kind::transaction, kSlotOfWorker0);
  ASSERT_EQ(transactions.size(), 1u);
  EXPECT_GT(length(transactions[0]), 10u);
  EXPECT_LT(length(transactions[0]), 200u);
  const SimCounters c = w.machine.statistics();
  EXPECT_EQ(time_of_all_phases(c), 0u);
}

nlohmann::json written(const World& w) {
  std::stringstream out;
  w.timeline.write(out);
  return nlohmann::json::parse(out.str());
}

TEST(SimTimeline, TheFileHasWhatPerfettoNeeds) {
  World w(opaque_row(), power9(2));
  w.run(2, [&](int worker) {
    w.heap.write(static_cast<size_t>(worker) * 64, 1);
    w.heap.read(200);
  });
  const nlohmann::json file = written(w);
  std::map<std::string, size_t> named;
  std::map<int, double> end_of_outer;
  for (const auto& event : file.at("traceEvents")) {
    ++named[event.at("name").get<std::string>()];
    EXPECT_EQ(event.at("pid"), 1);
    const int tid = event.at("tid").get<int>();
    if (event.at("ph") == "M") {
      EXPECT_TRUE(event.at("args").is_object());
      continue;
    }
    ASSERT_EQ(event.at("ph"), "X");
    EXPECT_GE(event.at("ts").get<double>(), 0);
    EXPECT_GE(event.at("dur").get<double>(), 0);
    if (event.at("cat") == "transaction") {
      end_of_outer[tid] = event.at("ts").get<double>() + event.at("dur").get<double>();
      EXPECT_TRUE(event.at("args").contains("outcome"));
    } else {  // begins after its transaction in the file, and ends inside it
      ASSERT_TRUE(end_of_outer.contains(tid));
      EXPECT_LE(event.at("ts").get<double>() + event.at("dur").get<double>(),
                end_of_outer[tid] + 1e-6);
    }
  }
  EXPECT_EQ(named["process_name"], 1u);
  EXPECT_EQ(named["thread_name"], 2u);
  EXPECT_EQ(named["update"], 2u);
  EXPECT_EQ(named["read"], 2u);
  EXPECT_GE(named["marker flush"], 2u);
  EXPECT_EQ(file.at("traceEvents").at(0).at("args").at("name"), "a \"machine\" / an engine");
  EXPECT_EQ(file.at("traceEvents").at(1).at("args").at("name"), "worker 0");
  EXPECT_FALSE(file.at("otherData").contains("note"));
}

TEST(SimTimeline, ACrashEndsWhatIsOpenAndIsMarked) {
  World w(engine_rows<SimMachine>().front(), power9(3));
  w.machine.crash_at(w.machine.persist_events() + 5);
  w.run(3, [&](int worker) {
    for (size_t i = 0; i < 10; ++i) {
      w.heap.write(static_cast<size_t>(worker) * 64, 1);
    }
  });
  ASSERT_TRUE(w.machine.crashed());
  const Time failure = present(w.timeline.crash()).at;
  size_t open = 0;
  for (const Slice& s : w.timeline.slices()) {
    if (s.outcome == Outcome::crash) {
      ++open;
      EXPECT_GE(s.end, failure);
    }
  }
  EXPECT_EQ(open, 3u);
  const auto file = written(w);
  const nlohmann::json last = file.at("traceEvents").back();
  EXPECT_EQ(last.at("name"), "power failure");
  EXPECT_EQ(last.at("ph"), "i");
  EXPECT_GT(last.at("ts").get<double>(), 0);
}

TEST(SimTimeline, AFullTimelineSaysSo) {
  const auto two_updates = [](World& w) {
    w.run(1, [&](int) { w.heap.write(0, 1), w.heap.write(1, 1); });
  };
  const size_t all = [&] {
    World whole(opaque_row(), power9(1));
    two_updates(whole);
    return whole.timeline.slices().size();
  }();
  ASSERT_GT(all, 10u);
  World w(opaque_row(), power9(1), kAlone, 10);
  two_updates(w);
  EXPECT_EQ(w.timeline.slices().size(), 10u);
  EXPECT_EQ(w.timeline.left_out(), all - 10);
  const auto file = written(w);
  const std::string note = file.at("otherData").at("note").get<std::string>();
  EXPECT_NE(note.find("10 slices"), std::string::npos) << note;
  EXPECT_NE(note.find(std::to_string(all - 10) + " later"), std::string::npos) << note;
  const nlohmann::json last = file.at("traceEvents").back();
  EXPECT_EQ(last.at("name"), "timeline full");
}

}  // namespace
}  // namespace holdfast::timeline_test
