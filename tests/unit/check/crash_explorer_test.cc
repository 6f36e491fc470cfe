// SPDX-License-Identifier: Apache-2.0
// Does a crash search look where its plan says, and find a subject that is wrong?
#include "holdfast/check/crash/crash_explorer.h"

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "holdfast/check/crash/crash_search.h"
#include "holdfast/check/crash/register_subject.h"
#include "tests/unit/engines/engine_rows.h"

namespace holdfast::check::crash_explorer_test {
namespace {

/// Registers whose answers a test may change.
class Spy final : public Subject {
 public:
  int threads() const override { return registers_.threads(); }
  Status set_up(SimHeap& heap) override { return registers_.set_up(heap); }
  Status attach(SimHeap& heap) override { return registers_.attach(heap); }
  void start(uint64_t seed, const Words& initial, bool continues) override {
    seeds.push_back(seed);
    continued_after = continues && continued_after == 0 ? observed : continued_after;
    registers_.start(seed, initial, continues);
  }
  void client(int thread, SimHeap& heap) override { registers_.client(thread, heap); }
  uint64_t clock() const override { return registers_.clock(); }
  Result<Words> observe(SimHeap& heap) override {
    auto words = registers_.observe(heap);
    ++observed;
    return on_observe ? on_observe(std::move(words)) : std::move(words);
  }
  void visit_blocks(const std::function<void(const void*, size_t)>& visit) override {
    if (!hides_blocks) {
      registers_.visit_blocks(visit);
    }
  }
  std::optional<Fault> judge_run(const Guarantees& promised) override {
    return fault_of_runs ? fault_of_runs : registers_.judge_run(promised);
  }
  std::optional<Fault> judge_crash(const Guarantees& promised, uint64_t until,
                                   const Words& recovered) override {
    return fault_of_crashes ? fault_of_crashes : registers_.judge_crash(promised, until, recovered);
  }
  uint64_t lost_max() const override { return registers_.lost_max(); }
  std::string program() const override { return registers_.program(); }
  std::string story(uint64_t until) const override { return registers_.story(until); }

  std::vector<uint64_t> seeds;  ///< of all runs
  int observed = 0;
  int continued_after = 0;  ///< `observed` at the start of the first continued run
  std::function<Result<Words>(Result<Words>)> on_observe;
  bool hides_blocks = false;
  std::optional<Fault> fault_of_runs;
  std::optional<Fault> fault_of_crashes;

 private:
  RegisterSubject registers_{{.program = {.threads = 2, .transactions = 1}}};
};

/// One schedule on the first durable engine, with all crash points and nothing beside them.
CrashPlan plan() {
  CrashPlan plan;
  const auto durable = [](const auto& row) { return is_durable(*row.description); };
  plan.heap.engine = engine_rows_test::first_row(durable).description->name;
  plan.heap.bytes = 16 << 10;
  plan.schedules = 1;
  plan.images = 2;
  plan.crash_recovery = plan.go_on = 0;
  return plan;
}

CrashReport explored(const CrashPlan& plan, Spy& subject) {
  return CrashExplorer(plan, subject).explore([](double) {});
}
CrashReport explored(const CrashPlan& plan) {
  Spy subject;
  CrashReport report = explored(plan, subject);
  EXPECT_TRUE(report.violations.empty());
  return report;
}

TEST(CrashExplorer, AHeapThatIsNotAsItWasSetUpIsAViolation) {
  Spy subject;
  subject.on_observe = [&](Result<Subject::Words> words) {
    if (words.ok() && subject.observed > 1) {
      words->back() += 1;
    }
    return words;
  };
  const CrashReport report = explored(plan(), subject);
  ASSERT_EQ(report.violations.size(), 1u);
  EXPECT_EQ(report.violations[0].fault.name, "new heap changed");
  EXPECT_EQ(report.violations[0].phase, "creation");
}

TEST(CrashExplorer, AHeapThatCannotBeReadIsAViolation) {
  Spy subject;
  subject.on_observe = [&](Result<Subject::Words> words) {
    return subject.observed > 1 ? Result<Subject::Words>(Status(Code::corrupt, "cannot be read"))
                                : std::move(words);
  };
  const CrashReport report = explored(plan(), subject);
  ASSERT_EQ(report.violations.size(), 1u);
  EXPECT_EQ(report.violations[0].fault.name, "recovered heap unreadable");
  EXPECT_NE(report.violations[0].fault.text.find("cannot be read"), std::string::npos);
}

TEST(CrashExplorer, BlocksWithoutAnOwnerAreAViolation) {
  Spy subject;
  subject.hides_blocks = true;
  const CrashReport report = explored(plan(), subject);
  ASSERT_EQ(report.violations.size(), 1u);
  EXPECT_EQ(report.violations[0].fault.name, "allocator damaged");
  EXPECT_NE(report.violations[0].fault.text.find("has no owner"), std::string::npos);
}

TEST(CrashExplorer, WithoutALimitEachPersistEventIsACrashPoint) {
  const CrashCoverage once = explored(plan()).coverage;
  EXPECT_GT(once.points, 20u);
  EXPECT_EQ(once.points, once.events);
  EXPECT_EQ(once.schedules, 1u);
  EXPECT_EQ(once.recovery_points, 0u);
  EXPECT_EQ(once.continued, 0u);
  EXPECT_LE(once.explored, 2 * once.points);
  EXPECT_GE(once.explored, once.points);
  EXPECT_GE(once.legal, static_cast<double>(once.explored));
  EXPECT_EQ(once.too_large, 0u);
  EXPECT_EQ(once.epochs, 0u);
  CrashPlan three = plan();
  three.schedules = 3;
  const CrashCoverage all = explored(three).coverage;
  EXPECT_EQ(all.schedules, 3u);
  EXPECT_EQ(all.points, all.events);
  EXPECT_GT(all.points, once.points);
}

TEST(CrashExplorer, WhereCachesSurviveAMomentHasOneImage) {
  CrashPlan safe = plan();
  safe.machine.domain = Domain::eadr;
  const CrashCoverage found = explored(safe).coverage;
  EXPECT_EQ(found.legal, static_cast<double>(found.points));
  EXPECT_EQ(found.explored, found.points);
  EXPECT_LE(found.images, found.points);
}

/// The numbers of events of the first schedule, and the last one is a point in any case.
TEST(CrashExplorer, ALimitOfPointsSpreadsThemOverTheEventsThatAreExpected) {
  const uint64_t events = explored(plan()).coverage.events - 1;
  for (const uint64_t most : {3, 7, 10'000}) {
    CrashPlan few = plan();
    few.points = most;
    few.events = events;
    const uint64_t step = events / most + 1;
    uint64_t expected = 1;
    for (uint64_t event = few.first_seed % step; event < events; event += step) {
      ++expected;
    }
    EXPECT_EQ(explored(few).coverage.points, expected) << most;
  }
  CrashPlan unexpected = plan();
  unexpected.points = 3;
  EXPECT_EQ(explored(unexpected).coverage.points, events + 1) << "the first run has all points";
  CrashPlan one = plan();
  one.only_point = 5;
  EXPECT_EQ(explored(one).coverage.points, 2u);
}

TEST(CrashExplorer, SomeImagesCrashAgainInTheirRecovery) {
  CrashPlan again = plan();
  again.points = 8;
  again.events = 100;
  again.crash_recovery = 1;
  const CrashReport all = explored(again);
  EXPECT_GT(all.coverage.recovery_points, 0u);
  again.crash_recovery = 2;
  EXPECT_LT(explored(again).coverage.recovery_points, all.coverage.recovery_points);
}

TEST(CrashExplorer, TheProgramRunsOnOnOneImageInSoMany) {
  const uint64_t images = explored(plan()).coverage.images;
  for (const uint64_t share : {1, 3}) {
    CrashPlan on = plan();
    on.go_on = share;
    EXPECT_EQ(explored(on).coverage.continued, images / share);
  }
}

TEST(CrashExplorer, AContinuedRunBeginsWithTheWordsThatWereJudged) {
  CrashPlan on = plan();
  on.points = 4;
  on.events = 100;
  on.go_on = 1;
  Spy sound;
  EXPECT_TRUE(explored(on, sound).violations.empty());
  Spy subject;  // the same search, and one recovery more loses a word
  subject.on_observe = [&](Result<Subject::Words> words) {
    if (words.ok() && subject.observed == sound.continued_after) {
      words->front() += 1;
    }
    return words;
  };
  const CrashReport report = explored(on, subject);
  ASSERT_EQ(report.violations.size(), 1u);
  EXPECT_EQ(report.violations[0].fault.name, "recovery differs");
  EXPECT_EQ(report.violations[0].phase, "continued");
}

TEST(CrashExplorer, ASeedDrawsTheProgramUnlessAnotherOneDoes) {
  CrashPlan three = plan();
  three.schedules = 3;
  three.first_seed = 5;
  Spy subject;
  std::vector<double> progress;
  CrashExplorer(three, subject).explore([&](double done) { progress.push_back(done); });
  EXPECT_EQ(subject.seeds, (std::vector<uint64_t>{5, 6, 7}));
  EXPECT_EQ(progress, (std::vector<double>{1.0 / 3, 2.0 / 3, 1.0}));
  three.program_seed = 9;
  Spy same;
  explored(three, same);
  EXPECT_EQ(same.seeds, (std::vector<uint64_t>{9, 9, 9}));
}

TEST(CrashExplorer, ARunThatIsWrongIsAViolationWithoutACrash) {
  Spy subject;
  subject.fault_of_runs = Fault{"wrong", "because"};
  CrashPlan several = plan();
  several.first_seed = 4;
  several.schedules = 5;
  several.most_violations = 2;
  const CrashReport report = explored(several, subject);
  ASSERT_EQ(report.violations.size(), 2u);
  EXPECT_EQ(report.coverage.schedules, 2u) << "then it ends";
  const Violation& second = report.violations[1];
  EXPECT_EQ(second.fault.name, "wrong");
  EXPECT_EQ(second.phase, "run");
  EXPECT_EQ(second.seed, 5u);
  EXPECT_EQ(second.schedule, "");
  EXPECT_EQ(second.point, kNever);
  EXPECT_EQ(second.program, subject.program());
  EXPECT_NE(second.story.find("T1 begins"), std::string::npos);
}

TEST(CrashExplorer, EachStateOfAMomentIsJudgedOnce) {
  Spy subject;
  subject.fault_of_crashes = Fault{"wrong", "because"};
  CrashPlan several = plan();
  several.most_violations = 1'000;
  const CrashReport report = explored(several, subject);
  EXPECT_EQ(report.violations.size(), report.coverage.judged);
  EXPECT_GT(report.coverage.judged, 2u);
  EXPECT_LE(report.coverage.judged, report.coverage.explored);
  EXPECT_EQ(report.violations[0].phase, "crash");
  EXPECT_EQ(report.violations[0].point, 0u);
  EXPECT_NE(report.violations[0].image, 0u);
  several.most_violations = 3;
  EXPECT_EQ(explored(several, subject).violations.size(), 3u);
}

TEST(CrashExplorer, DrawsARunUpToItsCrash) {
  Spy subject;
  subject.fault_of_crashes = Fault{"wrong", "because"};
  CrashPlan last = plan();
  last.first_seed = 7;
  last.only_point = 9;
  const CrashReport report = explored(last, subject);
  ASSERT_EQ(report.violations.size(), 1u);
  EXPECT_EQ(report.violations[0].point, 9u);
  sim::Timeline crashed("a run");
  CrashExplorer(last, subject).draw(report.violations[0], crashed);
  EXPECT_TRUE(crashed.crash().has_value());
  EXPECT_EQ(subject.seeds, (std::vector<uint64_t>{7, 7})) << "the run, and its drawing";
  Violation without = report.violations[0];
  without.point = kNever;
  sim::Timeline whole("a run");
  CrashExplorer(last, subject).draw(without, whole);
  EXPECT_FALSE(whole.crash().has_value());
  EXPECT_GT(whole.slices().size(), crashed.slices().size());
  for (const auto& slice : whole.slices()) {
    EXPECT_NE(slice.outcome, sim::Timeline::Outcome::unfinished);
  }
}

TEST(CrashExplorer, WithoutASchedulePlansCoverNothing) {
  CrashPlan none = plan();
  none.schedules = 0;
  const CrashReport report = explored(none);
  const CrashCoverage& c = report.coverage;
  for (const uint64_t count : {c.schedules, c.points, c.events, c.explored, c.images,
                               c.recovery_points, c.continued, c.judged, c.too_large, c.epochs,
                               report.lost_max, report.mutated, report.mutated_in_creation}) {
    EXPECT_EQ(count, 0u);
  }
  EXPECT_EQ(c.legal, 0);
}

/// Commands that name no extent of their own rely on it.
TEST(CrashExplorer, TheUsualPlan) {
  const CrashPlan usual;
  EXPECT_TRUE(usual.vary);
  EXPECT_EQ(usual.first_seed, 1u);
  EXPECT_EQ(usual.schedules, 100u);
  EXPECT_EQ(usual.program_seed, 0u);
  EXPECT_EQ(usual.points, 0u);
  EXPECT_EQ(usual.events, 0u);
  EXPECT_EQ(usual.only_point, kNever);
  EXPECT_EQ(usual.images, 64u);
  EXPECT_EQ(usual.crash_recovery, 16u);
  EXPECT_EQ(usual.recovery_images, 4u);
  EXPECT_EQ(usual.go_on, 16u);
  EXPECT_EQ(usual.most_violations, 1u);
  EXPECT_EQ(usual.mutants, 0u);
}

TEST(CrashExplorer, SeedsVaryTheMachine) {
  const auto varied = [](uint64_t seed, bool probabilities = true, bool design = false) {
    SimOptions options;
    options.odd_switch_probability = options.switch_probability = options.drain_probability = 2;
    if (design) {
      options.make_design = [] { return nullptr; };
    }
    vary(options, seed, probabilities);
    return options;
  };
  std::set<std::vector<double>> kinds;
  for (uint64_t seed = 1; seed <= 18; ++seed) {
    const SimOptions options = varied(seed);
    EXPECT_EQ(options.seed, seed);
    EXPECT_EQ(options.slot_order, seed % 2 == 0 ? seed : 0);
    EXPECT_EQ(options.disturb, 0u);
    kinds.insert(
        {options.switch_probability, options.drain_probability, *options.odd_switch_probability});
  }
  EXPECT_EQ(kinds.size(), 3u * 2 * 2);
  EXPECT_EQ(varied(3).switch_probability, 0.25);
  EXPECT_EQ(varied(1).switch_probability, 0.08);
  EXPECT_EQ(varied(2).switch_probability, 0.02);
  EXPECT_EQ(varied(2).drain_probability, 0.4);
  EXPECT_EQ(varied(3).drain_probability, 0.05);
  EXPECT_EQ(varied(11).odd_switch_probability, 2) << "as it was";
  EXPECT_EQ(varied(12).odd_switch_probability, 0.005);
  EXPECT_EQ(varied(17).odd_switch_probability, 0.005);
  const SimOptions fixed = varied(12, false);
  EXPECT_EQ(fixed.slot_order, 12u);
  EXPECT_EQ(fixed.switch_probability, 2);
  EXPECT_EQ(varied(1, true, true).disturb, 0u);
  EXPECT_EQ(varied(2, true, true).disturb, 3u);
  EXPECT_EQ(varied(3, true, true).disturb, 4u);
}

}  // namespace
}  // namespace holdfast::check::crash_explorer_test
