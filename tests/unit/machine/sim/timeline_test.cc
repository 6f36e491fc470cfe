// SPDX-License-Identifier: Apache-2.0
// Does the simulated machine say what its threads spend their time on, in numbers and as a
// timeline?
#include "holdfast/machine/sim/threads/timeline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>

#include "holdfast/engines/fur/fur.h"
#include "holdfast/engines/hw/hw.h"
#include "holdfast/engines/romulus/romulus.h"
#include "holdfast/engines/tinystm/tinystm.h"
#include "holdfast/engines/undo/undo.h"
#include "holdfast/hardware/designs.h"
#include "holdfast/machine/sim/sim_machine.h"
#include "tests/present.h"
#include "tests/unit/engines/engine_fixture.h"

namespace holdfast {
namespace {

using sim::Timeline;
using Kind = Timeline::Kind;
using Outcome = Timeline::Outcome;
using Slice = Timeline::Slice;

constexpr uint64_t kMicrosecond = 1'000'000;  // in picoseconds
constexpr int kSlotOfWorker0 = sim::kFirstWorker;

SimOptions power9(int threads) {
  SimOptions options;
  options.machine = std::make_shared<MachineDescription>(
      load_machine(HOLDFAST_SOURCE_DIR "/experiments/machines/power9.toml").value());
  options.schedule = Schedule::timed;
  options.threads = threads;
  options.max_steps = 10'000'000;
  return options;
}

/// An engine on a machine, and the timeline of what its threads do.
template <class E>
class World {
 public:
  explicit World(const SimOptions& options, const EngineFixtureShape& shape = {},
                 size_t limit = Timeline::kLimit)
      : timeline("a \"machine\" / an engine", limit), machine(options), heap(machine, shape) {
    heap.format().check();
    heap.recover().check();
  }

  template <class F>
  void run(int threads, F&& f) {
    machine.record(&timeline);
    machine.run_threads(threads, f);
    machine.record(nullptr);
  }

  std::vector<Slice> slices(Kind kind, int slot) const {
    std::vector<Slice> found;
    for (const Slice& s : timeline.slices()) {
      if (s.kind == kind && s.slot == slot) {
        found.push_back(s);
      }
    }
    return found;
  }
  std::vector<Slice> phases(int slot, Phase phase) const {
    std::vector<Slice> found = slices(Kind::phase, slot);
    std::erase_if(found, [&](const Slice& s) { return s.phase != phase; });
    return found;
  }
  std::vector<std::string> names(int slot) const {
    std::vector<std::string> names;
    for (const Slice& s : slices(Kind::phase, slot)) {
      names.emplace_back(to_string(s.phase));
    }
    return names;
  }
  uint64_t time(int slot, Phase phase) const { return machine.statistics(slot).phase_time(phase); }

  Timeline timeline;
  SimMachine machine;
  EngineFixture<E> heap;
};

using Names = std::vector<std::string>;

uint64_t time_of_all_phases(const SimCounters& c) {
  uint64_t sum = 0;
  for (int phase = 0; phase < kPhases; ++phase) {
    sum += c.phase_time(static_cast<Phase>(phase));
  }
  return sum;
}

EngineFixtureShape fur_shape(Options options = {{"background", "0"}}) {
  options.insert({"log_bytes", "4096"});
  options.insert({"markers", "64"});
  return {.options = options};
}

uint64_t length(const Slice& s) {
  return s.end - s.begin;
}

TEST(SimTimeline, AnUpdateOfFurGoesThroughItsPhasesInOrder) {
  World<FurOpa<SimMachine>> w(power9(1), fur_shape());
  w.run(1, [&](int) { w.heap.write(3, 7); });
  EXPECT_EQ(w.names(kSlotOfWorker0),
            (Names{"execute", "commit", "log flush", "isolation wait", "commit", "log flush",
                   "durability wait", "marker flush"}));
  const auto transactions = w.slices(Kind::transaction, kSlotOfWorker0);
  ASSERT_EQ(transactions.size(), 1u);
  EXPECT_EQ(transactions[0].transaction, TransactionKind::update);
  EXPECT_EQ(transactions[0].outcome, Outcome::committed);
  EXPECT_EQ(transactions[0].attempts, 1u);
  // One after the other, without gaps: so they add up.
  uint64_t at = transactions[0].begin;
  for (const Slice& s : w.slices(Kind::phase, kSlotOfWorker0)) {
    EXPECT_EQ(s.begin, at);
    at = s.end;
  }
  EXPECT_EQ(at, transactions[0].end);
}

TEST(SimTimeline, AReadWaitsForDurabilityAtMost) {
  World<FurSi<SimMachine>> w(power9(1), fur_shape());
  w.run(1, [&](int) { w.heap.read(3); });
  EXPECT_EQ(w.names(kSlotOfWorker0), (Names{"execute", "durability wait"}));
  EXPECT_EQ(w.slices(Kind::transaction, kSlotOfWorker0).at(0).outcome, Outcome::read_only);
}

TEST(SimTimeline, CountersAddUpToTheTimeOfTheRunAndAgreeWithTheSlices) {
  World<FurOpa<SimMachine>> w(power9(3), fur_shape());
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
  World<FurOpa<SimMachine>> w(power9(1), fur_shape());
  bool first = true;
  w.run(1, [&](int) {
    w.heap.engine().update([&] {
      w.machine.work(5000);
      w.heap.set(1, 1);
      if (std::exchange(first, false)) {
        w.machine.htm(w.machine.self()).abort();
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

TEST(SimTimeline, AnAttemptThatSoftwareAbortsIsDrawnAndCountsAsWell) {
  World<TinyStm<SimMachine>> w(power9(2), {.options = {{"locks", "64"}}});
  w.run(2, [&](int worker) {
    w.heap.engine().update([&] {
      w.machine.work(worker == 0 ? 1000 : 500);
      w.heap.set(1, 1);  // worker 1 owns it when worker 0 comes
      w.machine.work(worker == 0 ? 1000 : 5000);
    });
  });
  const auto attempts = w.slices(Kind::attempt, kSlotOfWorker0);
  const auto transactions = w.slices(Kind::transaction, kSlotOfWorker0);
  ASSERT_FALSE(attempts.empty());
  ASSERT_EQ(transactions.size(), 1u);
  EXPECT_EQ(attempts[0].outcome, Outcome::aborted);
  EXPECT_EQ(attempts[0].cause, AbortCause::conflict);
  EXPECT_EQ(attempts[0].begin, transactions[0].begin);
  EXPECT_EQ(transactions[0].attempts, attempts.size() + 1);
  EXPECT_EQ(transactions[0].outcome, Outcome::committed);
  uint64_t aborted = 0;
  for (const Slice& attempt : attempts) {
    aborted += length(attempt);
  }
  EXPECT_EQ(w.time(kSlotOfWorker0, Phase::aborted), aborted);
  const auto executed = w.phases(kSlotOfWorker0, Phase::execute);
  ASSERT_EQ(executed.size(), attempts.size() + 1);
  EXPECT_EQ(w.time(kSlotOfWorker0, Phase::execute), length(executed.back()));
  EXPECT_EQ(w.slices(Kind::attempt, kSlotOfWorker0 + 1).size(), 0u);
}

TEST(SimTimeline, AnAttemptThatSoftwareAbortsTakesNothingFromTheUpdatesBefore) {
  World<TinyStm<SimMachine>> w(power9(2), {.options = {{"locks", "64"}}});
  w.run(2, [&](int worker) {
    if (worker == 0) {
      w.heap.engine().update([&] { w.machine.work(20'000); });
      return w.heap.engine().update([&] {
        w.heap.set(1, 1);  // worker 1 owns it
        w.machine.work(1000);
      });
    }
    w.heap.engine().update([&] {
      w.heap.set(1, 1);
      w.machine.work(60'000);
    });
  });
  ASSERT_FALSE(w.slices(Kind::attempt, kSlotOfWorker0).empty());
  uint64_t kept = length(w.phases(kSlotOfWorker0, Phase::execute).front());
  kept += length(w.phases(kSlotOfWorker0, Phase::execute).back());
  EXPECT_EQ(w.time(kSlotOfWorker0, Phase::execute), kept);
  const SimCounters c = w.machine.statistics(kSlotOfWorker0);
  const auto& update = c.of_kind[static_cast<size_t>(TransactionKind::update)];
  EXPECT_EQ(update.phase_time[static_cast<size_t>(Phase::outside)], 0u);
}

TEST(SimTimeline, AnExceptionOfTheUserRollsBack) {
  World<FurOpa<SimMachine>> w(power9(1), fur_shape());
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

// FUR, figure 3 (and 5): the writer may not show its data while somebody still reads the old.
TEST(SimTimeline, AWritersIsolationWaitLastsAsLongAsTheReaderExecutes) {
  World<FurOpa<SimMachine>> w(power9(2), fur_shape());
  w.run(2, [&](int worker) {
    if (worker == 0) {
      w.machine.work(2000);
      w.heap.write(0, 1);
    } else {
      w.heap.engine().read([&] {
        w.heap.get(400);
        w.machine.work(100'000);
      });
    }
  });
  const auto waits = w.phases(kSlotOfWorker0, Phase::isolation_wait);
  const auto reads = w.phases(kSlotOfWorker0 + 1, Phase::execute);
  ASSERT_EQ(waits.size(), 1u);
  ASSERT_EQ(reads.size(), 1u);
  EXPECT_GT(length(waits[0]), 10 * kMicrosecond);
  EXPECT_GT(waits[0].begin, reads[0].begin);
  EXPECT_GE(waits[0].end, reads[0].end);
  EXPECT_LT(waits[0].end, reads[0].end + kMicrosecond);
}

// FUR, figure 5: who has read what is not durable yet returns when its writer's marker is.
TEST(SimTimeline, AReadersDurabilityWaitEndsAtTheWritersMarkerFlush) {
  World<FurOpa<SimMachine>> w(power9(2), fur_shape());
  w.run(2, [&](int worker) {
    for (size_t i = 0; i < 500; ++i) {
      w.machine.work(i * 37 % 1000);  // so that they meet at every possible moment
      worker == 0 ? w.heap.write(0, i) : static_cast<void>(w.heap.read(400));
    }
  });
  const auto flushes = w.phases(kSlotOfWorker0, Phase::marker_flush);
  size_t waited = 0;
  for (const Slice& wait : w.phases(kSlotOfWorker0 + 1, Phase::durability_wait)) {
    if (length(wait) < kMicrosecond / 5) {
      continue;  // only the look at the states, which a miss or two may prolong
    }
    ++waited;
    const auto flush = std::find_if(flushes.begin(), flushes.end(), [&](const Slice& f) {
      return f.begin < wait.end && wait.end <= f.end + kMicrosecond && wait.begin < f.end;
    });
    EXPECT_NE(flush, flushes.end()) << "a wait from " << wait.begin << " to " << wait.end;
  }
  EXPECT_GT(waited, 0u);
}

TEST(SimTimeline, TheReplayerHasItsOwnTrack) {
  World<FurOpa<SimMachine>> w(power9(1), fur_shape({{"background", "1"}}));
  w.run(1, [&](int) {
    for (size_t i = 0; i < 100; ++i) {
      w.heap.write(i, i);
    }
  });
  EXPECT_FALSE(w.phases(sim::kBackgroundSlot, Phase::replay).empty());
  EXPECT_GT(w.time(sim::kBackgroundSlot, Phase::replay), 0u);
}

TEST(SimTimeline, RomulusMarksFlushesAndCopies) {
  World<RomulusLog<SimMachine>> w(power9(2));
  w.run(1, [&](int) { w.heap.write(3, 7); });
  EXPECT_EQ(w.names(kSlotOfWorker0),
            (Names{"execute", "marker flush", "isolation wait", "marker flush", "execute",
                   "combine", "data flush", "marker flush", "copy", "combine"}));
}

TEST(SimTimeline, RomulusLrWaitsForReadersOfEitherCopy) {
  World<RomulusLr<SimMachine>> w(power9(2));
  w.run(1, [&](int) { w.heap.write(3, 7); });
  EXPECT_EQ(w.names(kSlotOfWorker0),
            (Names{"execute", "marker flush", "isolation wait", "marker flush", "execute",
                   "combine", "data flush", "marker flush", "isolation wait", "copy", "combine"}));
}

TEST(SimTimeline, UndoMarksEveryRecordItFlushes) {
  World<Undo<SimMachine>> w(power9(1));
  w.run(1, [&](int) { w.heap.engine().update([&] { w.heap.set(0, 1), w.heap.set(9, 1); }); });
  EXPECT_EQ(w.names(kSlotOfWorker0), (Names{"execute", "log flush", "execute", "log flush",
                                            "execute", "data flush", "marker flush"}));
}

TEST(SimTimeline, HardwareCommitsAndTheThreadWaitsForIt) {
  SimOptions options = power9(1);
  use_design(options, "tc");
  World<Hardware<SimMachine>> w(options);
  w.run(1, [&](int) { w.heap.write(3, 7); });
  EXPECT_EQ(w.names(kSlotOfWorker0), (Names{"execute", "commit", "data flush"}));
}

TEST(SimTimeline, WhoWaitsForALockIsSeenToWait) {
  World<Undo<SimMachine>> u(power9(2));
  u.run(2, [&](int worker) { u.heap.write(static_cast<size_t>(worker), 1); });
  const size_t waits = u.phases(kSlotOfWorker0, Phase::lock_wait).size() +
                       u.phases(kSlotOfWorker0 + 1, Phase::lock_wait).size();
  EXPECT_EQ(waits, 1u);
}

TEST(SimTimeline, CountersTellUpdatesFromReads) {
  World<FurSi<SimMachine>> w(power9(1), fur_shape());
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
    World<FurOpa<SimMachine>> w(power9(2), fur_shape());
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
  World<FurOpa<SimMachine>> w(SimOptions{}, fur_shape());
  w.run(1, [&](int) { w.heap.write(3, 7); });
  const auto transactions = w.slices(Kind::transaction, kSlotOfWorker0);
  ASSERT_EQ(transactions.size(), 1u);
  EXPECT_GT(length(transactions[0]), 10u);
  EXPECT_LT(length(transactions[0]), 200u);
  const SimCounters c = w.machine.statistics();
  EXPECT_EQ(time_of_all_phases(c), 0u);
}

template <class E>
nlohmann::json written(const World<E>& w) {
  std::stringstream out;
  w.timeline.write(out);
  return nlohmann::json::parse(out.str());
}

TEST(SimTimeline, TheFileHasWhatPerfettoNeeds) {
  World<FurOpa<SimMachine>> w(power9(2), fur_shape());
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
  World<Undo<SimMachine>> w(power9(3));  // one works, two wait
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
  World<FurOpa<SimMachine>> w(power9(1), fur_shape(), 10);
  w.run(1, [&](int) { w.heap.write(0, 1), w.heap.write(1, 1); });
  EXPECT_EQ(w.timeline.slices().size(), 10u);
  EXPECT_EQ(w.timeline.left_out(), 8u);  // 18 in all: two updates of eight phases
  const auto file = written(w);
  const std::string note = file.at("otherData").at("note").get<std::string>();
  EXPECT_NE(note.find("10 slices"), std::string::npos) << note;
  EXPECT_NE(note.find("8 later"), std::string::npos) << note;
  const nlohmann::json last = file.at("traceEvents").back();
  EXPECT_EQ(last.at("name"), "timeline full");
}

}  // namespace
}  // namespace holdfast
