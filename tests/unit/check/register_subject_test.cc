// SPDX-License-Identifier: Apache-2.0
// Do registers run the program that they are given, and judge what a crash left of it?
#include "holdfast/check/crash/register_subject.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>

#include "tests/unit/engines/engine_rows.h"

namespace holdfast::check::register_subject_test {
namespace {

/// A heap with the registers of a program, which has run on it.
class Ran {
 public:
  explicit Ran(const RegisterShape& shape, const char* program = nullptr)
      : subject(shape, program == nullptr ? std::optional<RegisterProgram>()
                                          : RegisterProgram::parse(program, 100).value()) {
    CreateOptions create;
    const auto durable = [](const auto& row) { return is_durable(*row.description); };
    create.engine = engine_rows_test::first_row(durable).description->name;
    create.bytes = 64 << 10;
    heap_ = SimHeap::create(machine_, create).value();
    subject.set_up(*heap_).check();
    subject.attach(*heap_).check();
    before = subject.observe(*heap_).value();
    run(1, before, /*continues=*/false);
    after = subject.observe(*heap_).value();
  }

  void run(uint64_t seed, const Subject::Words& initial, bool continues) {
    subject.start(seed, initial, continues);
    machine_.run_threads(subject.threads(), [&](int thread) { subject.client(thread, *heap_); });
  }

  std::string crash(const Promise& durability, const Subject::Words& recovered) {
    const auto fault = subject.judge_crash({.durability = durability}, subject.clock(), recovered);
    return fault ? fault->name + "\n" + fault->text : "";
  }

 private:
  SimMachine machine_;
  std::unique_ptr<SimHeap> heap_;

 public:
  RegisterSubject subject;
  Subject::Words before;
  Subject::Words after;
};

const RegisterShape kSmall = {.program = {.threads = 2, .transactions = 3}};

TEST(RegisterSubject, HasAnObjectForEachThatTheShapeOrTheProgramNames) {
  EXPECT_EQ(Ran(kSmall).before.size(), 4u + 2 * 3) << "shared ones, and a mark of each update";
  RegisterShape without = kSmall;
  without.program.marks = false;
  EXPECT_EQ(Ran(without).before.size(), 4u);
  EXPECT_EQ(Ran(without, "r2").before.size(), 4u);
  EXPECT_EQ(Ran(without, "w0 r20").before.size(), 21u);
  EXPECT_EQ(Ran(without, "W0-60").before.size(), 4u + 61);
  without.program.ranges = 0.5;
  EXPECT_EQ(Ran(without).before.size(), 4u + 47);
  EXPECT_EQ(Ran(without, "W0-60").before.size(), 4u + 61);
}

TEST(RegisterSubject, RunsTheGivenProgram) {
  Ran ran(kSmall, "w0 ; b3 | u r1 | w9");
  EXPECT_EQ(ran.subject.threads(), 3);
  EXPECT_EQ(ran.subject.program(), "w0 ; b3 | u r1 | w9");
  EXPECT_EQ(ran.before, Subject::Words(10));
  for (Object i = 0; i < ran.after.size(); ++i) {
    EXPECT_EQ(ran.after[i] != 0, i == 0 || i == 3 || i == 9) << i;
  }
  EXPECT_FALSE(ran.subject.judge_run({}).has_value());
  EXPECT_EQ(ran.subject.too_large(), 0u);
  EXPECT_NE(ran.subject.story(ran.subject.clock()).find("thread 2"), std::string::npos);
}

TEST(RegisterSubject, JudgesWhatACrashLeft) {
  Ran ran(kSmall, "w0 ; w1 ; w0");
  const Promise strict = {.durability = Durability::strict};
  EXPECT_EQ(ran.crash(strict, ran.after), "");
  EXPECT_EQ(ran.subject.lost_max(), 0u);
  const std::string lost = ran.crash(strict, ran.before);
  EXPECT_EQ(lost.substr(0, lost.find('\n')), "lost acknowledged update");
  EXPECT_EQ(lost.find("piece 0"), std::string::npos);
  Subject::Words half = ran.before;
  half[1] = ran.after[1];
  EXPECT_NE(ran.crash({.durability = Durability::lagging, .bound = 9}, half), "");
}

TEST(RegisterSubject, TellsTheMostUpdatesThatALagHasLost) {
  Ran ran(kSmall, "w0 ; w1 ; w2");
  const Promise lag = {.durability = Durability::lagging, .bound = 3};
  Subject::Words two = ran.after;
  two[2] = 0;
  EXPECT_EQ(ran.crash(lag, two), "");
  EXPECT_EQ(ran.subject.lost_max(), 1u);
  EXPECT_EQ(ran.crash(lag, ran.before), "");
  EXPECT_EQ(ran.subject.lost_max(), 3u);
  EXPECT_EQ(ran.crash(lag, two), "");
  EXPECT_EQ(ran.subject.lost_max(), 3u) << "the most";
}

TEST(RegisterSubject, AnEarlierCrashKnowsNoLaterAnswer) {
  Ran ran(kSmall, "w0 ; w1");
  const Guarantees promised;
  EXPECT_TRUE(ran.subject.judge_crash(promised, ran.subject.clock(), ran.before).has_value());
  EXPECT_FALSE(ran.subject.judge_crash(promised, 1, ran.before).has_value());
  EXPECT_TRUE(ran.subject.judge_crash(promised, ran.subject.clock(), ran.before).has_value());
}

TEST(RegisterSubject, SaysWhichObjectsArePieces) {
  Ran ran(kSmall, "W0-2");
  EXPECT_NE(
      ran.crash({.durability = Durability::strict}, ran.before).find("piece 0 is x10, and so on\n"),
      std::string::npos);
}

TEST(RegisterSubject, GoesOnBehindTheNumbersOfAnEarlierRun) {
  Ran ran(kSmall, "w0 ; w1");
  ran.subject.start(2, ran.after, /*continues=*/false);
  EXPECT_FALSE(ran.subject.judge_crash({}, 0, ran.after).has_value());
  EXPECT_EQ(ran.crash({.durability = Durability::strict}, ran.after), "");
}

TEST(RegisterSubject, KnowsWhatRecoveryRolledBackFromTheRunThatContinues) {
  Ran ran(kSmall, "w0");
  for (int run = 0; run < 2; ++run) {
    // Recovery rolls the update back. The next run makes it again, and a crash shows the old one.
    ran.run(2, ran.before, /*continues=*/true);
    const std::string old = ran.crash({.durability = Durability::strict}, ran.after);
    EXPECT_EQ(old.substr(0, old.find('\n')), "garbage") << run;
  }
}

}  // namespace
}  // namespace holdfast::check::register_subject_test
