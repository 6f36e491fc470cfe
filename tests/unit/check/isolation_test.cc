// SPDX-License-Identifier: Apache-2.0
//
// Hand-written histories: for each anomaly one that has it, and a neighbour that has not.
#include "holdfast/check/isolation/isolation.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "tests/unit/check/history_builder.h"

namespace holdfast::check::isolation_test {
namespace {

constexpr Isolation kOpaque = Isolation::opaque;
constexpr Isolation kSnapshot = Isolation::snapshot;

/// "name: 1 2 3" with the transactions in ascending order; "" if nothing is found.
std::string verdict(const std::string& text, Isolation isolation, bool real_time = true) {
  const History h = history(text);
  const auto findings = check_isolation(h, isolation, real_time);
  if (findings.empty()) {
    return "";
  }
  EXPECT_FALSE(findings[0].text.empty());
  return name_and_transactions(findings[0]);
}

void expect_both(const std::string& text, const std::string& expected, bool real_time = true) {
  EXPECT_EQ(verdict(text, kOpaque, real_time), expected) << "opaque\n" << text;
  EXPECT_EQ(verdict(text, kSnapshot, real_time), expected) << "snapshot\n" << text;
}

TEST(CheckIsolation, NothingIsWrongWithNothing) {
  expect_both("", "");
  expect_both("1-2", "");
  expect_both("1-2 r0=0", "");
}

// Faults that a single transaction shows.

TEST(CheckIsolation, GarbageRead) {
  expect_both("1-2 w0=0\n 3-4 r0=1.2", "garbage read: 2");       // no second write
  expect_both("1-2 w0=0 w1=0\n 3-4 r1=1.1", "garbage read: 2");  // a write of another object
  expect_both("1-2 w0=0\n 3-4 r0=9.1", "garbage read: 2");       // no such transaction
  expect_both("1-2 w0=0 w1=0\n 3-4 w1=1.1 r0=1", "garbage read: 2");
  expect_both("1-2 w0=0 w1=0\n 3-4 r1=1.2 r0=1.1", "");
}

TEST(CheckIsolation, AbortedRead) {
  expect_both("1-3 aborted w0=0\n 2-4 r0=1", "aborted read: 1 2");
  expect_both("1-3 aborted w0=0\n 2-4 w0=1", "aborted read: 1 2");
  expect_both("1-3 aborted w0=0\n 2-4 aborted r0=1", "aborted read: 1 2");
  expect_both("1-3 aborted w0=0\n 2-4 w0=0", "");
}

TEST(CheckIsolation, IntermediateRead) {
  expect_both("1-3 w0=0 w0=1.1\n 2-4 r0=1.1", "intermediate read: 1 2");
  expect_both("1-3 w0=0 b0\n 2-4 w0=1.1", "intermediate read: 1 2");
  expect_both("1-3 w0=0 w0=1.1\n 2-4 r0=1.2", "");
}

TEST(CheckIsolation, LostOwnWrite) {
  expect_both("1-2 w0=0 r0=0", "lost own write: 0 1");
  expect_both("1-2 b0 w0=1.1 r0=1.1", "lost own write: 1");
  expect_both("1-2 w0=0\n 1-4 b0 r0=1", "lost own write: 1 2");
  expect_both("1-2 aborted b0 w0=1.1 r0=1.1", "lost own write: 1");
  expect_both("1-2 b0 r0=1.1 w0=1.1 r0=1.2", "");
}

TEST(CheckIsolation, FutureRead) {
  expect_both("1-2 r0=1.1 w0=0", "future read: 1");
  expect_both("1-2 w0=0 r0=1.2 w0=1.1", "future read: 1");
  expect_both("1-2 r0=0 w0=0 r0=1.1", "");
}

TEST(CheckIsolation, NonRepeatableRead) {
  expect_both("1-3 w0=0\n 1-4 r0=0 r0=1", "non-repeatable read: 0 1 2");
  expect_both("1-3 w0=0\n 1-4 r0=0 w0=1", "non-repeatable read: 0 1 2");
  expect_both("1-3 w0=0\n 1-4 aborted r0=1 r0=0", "non-repeatable read: 0 1 2");
  expect_both("1-3 w0=0\n 1-4 r0=1 r0=1 w0=1 r0=2.1", "");
}

TEST(CheckIsolation, LostUpdate) {
  expect_both("1-3 w0=0\n 2-4 w0=0", "lost update: 1 2");
  expect_both("1-3 w0=0\n 2-4 r0=0 b0", "lost update: 1 2");
  expect_both("1-3 w0=0\n 4-5 w0=1\n 4-6 w0=1", "lost update: 2 3");
  expect_both("1-3 w0=0\n 2-4 aborted w0=0\n 2-6 w0=1", "");
}

TEST(CheckIsolation, MalformedHistory) {
  const auto finding = [](void (*spoil)(History&)) {
    History h = history("1-2 r0=0\n 3-4 r0=0 w0=0 w0=2.1");
    spoil(h);
    const auto findings = check_isolation(h, kOpaque, true);
    return findings.size() == 1 ? to_string(findings[0], h) : "";
  };
  EXPECT_EQ(finding([](History& h) { h.transactions[1].accesses[2].version.write = 1; }),
            "malformed history: transaction 2 stores a word that does not name its own next write, "
            "which is 2\n");
  EXPECT_EQ(finding([](History& h) { h.transactions[1].accesses[1].version.transaction = 1; }),
            "malformed history: transaction 2 stores a word that does not name its own next write, "
            "which is 1\n");
  EXPECT_EQ(finding([](History& h) { h.objects = 0; }),
            "malformed history: transaction 1 names object 0 of 0\n");
  EXPECT_EQ(finding([](History& h) { h.transactions[1].number = 3; }),
            "malformed history: transaction 2 carries the number 3\n");
  EXPECT_EQ(finding([](History& h) { h.transactions[0].begin = 3; }),
            "malformed history: transaction 1 ends before it begins\n");
  EXPECT_EQ(finding([](History& h) { h.transactions[0].begin = 2; }), "") << "at one moment";
}

// Cycles of dependencies.

TEST(CheckIsolation, DirtyWrite) {
  // x0 went from T1 to T2, x1 from T2 to T1.
  expect_both("1-3 w0=0 w1=2\n 2-4 w0=1 w1=0", "dirty write: 1 2");
  expect_both("1-3 w0=0 w1=0\n 2-4 w0=1 w1=1", "");
}

TEST(CheckIsolation, CircularInformationFlow) {
  expect_both("1-3 w0=0 r1=2\n 2-4 w1=0 r0=1", "circular information flow: 1 2");
  expect_both("1-9 w0=0 r2=3\n 1-9 w1=0 r0=1\n 1-9 w2=0 r1=2", "circular information flow: 1 2 3");
  expect_both("1-3 w0=0 r1=0\n 2-4 w1=0 r0=1", "");
}

TEST(CheckIsolation, WriteSkewIsFoundUnderOpacityAndAllowedInSnapshots) {
  const std::string skew = "1-3 r0=0 r1=0 w0=0\n 2-4 r0=0 r1=0 w1=0";
  EXPECT_EQ(verdict(skew, kOpaque), "write skew: 1 2");
  EXPECT_EQ(verdict(skew, kOpaque, false), "write skew: 1 2");
  EXPECT_EQ(verdict(skew, kSnapshot), "");
  expect_both("1-3 r0=0 r1=0 w0=0\n 2-4 r0=1 r1=0 w1=0", "");
  const std::string three = "1-9 r0=0 w1=0\n 1-9 r1=0 w2=0\n 1-9 r2=0 w0=0";
  EXPECT_EQ(verdict(three, kOpaque), "write skew: 1 2 3");
  EXPECT_EQ(verdict(three, kSnapshot), "");
}

TEST(CheckIsolation, WriteSkewNeedsTransactionsAtTheSameTime) {
  const std::string apart = "1-2 r0=0 r1=0 w0=0\n 3-4 r0=0 r1=0 w1=0";
  EXPECT_EQ(verdict(apart, kOpaque, false), "write skew: 1 2");
  EXPECT_EQ(verdict(apart, kSnapshot, false), "");
  EXPECT_EQ(verdict(apart, kSnapshot), "stale read: 1 2");
}

TEST(CheckIsolation, FracturedRead) {
  expect_both("1-3 w0=0 w1=0\n 1-4 r0=0 r1=1", "fractured read: 1 2");
  expect_both("1-3 w0=0 w1=0\n 1-4 r0=1 r1=0", "fractured read: 1 2");
  expect_both("1-3 w0=0 w1=0\n 1-4 r0=0 w1=1", "fractured read: 1 2");
  expect_both("1-3 w0=0 w1=0\n 1-4 r0=0 r1=0\n 1-5 r0=1 r1=1", "");
}

TEST(CheckIsolation, ReadSkew) {
  // T3 saw T2, but missed T1, whose write T2 had replaced or read.
  expect_both("1-3 w0=0\n 4-5 w0=1 w1=0\n 1-9 r0=0 r1=2", "read skew: 1 2 3");
  expect_both("1-3 w0=0\n 4-5 r0=1 w1=0\n 1-9 r0=0 r1=2", "read skew: 1 2 3");
  expect_both("1-3 w0=0\n 4-5 r0=1 w1=0\n 1-9 r0=1 r1=0", "");
}

TEST(CheckIsolation, ReadOnlyAnomaly) {
  // The example of Fekete, O'Neil and O'Neil: a deposit, a withdrawal that missed it, and a reader
  // that saw the deposit alone.
  const std::string anomaly = "1-3 w0=0\n 1-9 r0=0 w1=0\n 4-6 r0=1 r1=0";
  EXPECT_EQ(verdict(anomaly, kOpaque), "read-only anomaly: 1 2 3");
  EXPECT_EQ(verdict(anomaly, kSnapshot), "");
  expect_both("1-3 w0=0\n 1-9 r0=0 w1=0\n 1-6 r0=0 r1=0", "");
  expect_both("1-3 w0=0\n 1-9 r0=0 w1=0", "");
}

TEST(CheckIsolation, AFork) {
  expect_both("1-9 w0=0\n 1-9 w1=0\n 1-9 r0=1 r1=0\n 1-9 r0=0 r1=2", "long fork: 1 2 3 4");
  expect_both("1-9 w0=0\n 1-9 w1=0\n 1-9 r0=1 r1=0\n 1-9 r0=1 r1=2", "");
}

TEST(CheckIsolation, AntiDependencyCycle) {
  // It would be a read-only anomaly, but the transaction that sees it writes.
  EXPECT_EQ(verdict("1-9 r1=0 r0=2 w3=0\n 1-9 w0=0 w2=0\n 1-9 r2=0 w1=0", kOpaque),
            "anti-dependency cycle: 1 2 3");
  EXPECT_EQ(verdict("1-9 r1=0 r0=2 w3=0\n 1-9 w0=0 w2=0\n 1-9 r2=2 w1=0", kOpaque), "");
}

TEST(CheckIsolation, StaleRead) {
  expect_both("1-2 w0=0\n 3-4 r0=0", "stale read: 1 2");
  expect_both("1-2 w0=0\n 3-4 r0=0", "", false);
  expect_both("1-3 w0=0\n 3-4 r0=0", "");  // neither comes before the other
  expect_both("1-9 w0=0\n 1-2 r0=1 w1=0\n 3-4 r0=0", "stale read: 1 2 3");
}

TEST(CheckIsolation, RealTimeOrderViolation) {
  expect_both("3-4 w0=0\n 1-2 r0=1", "real-time order violation: 1 2");
  expect_both("3-4 w0=0\n 1-2 r0=1", "", false);
  expect_both("2-4 w0=0\n 1-2 r0=1", "");
  // Write skew through real time: T1 missed T2, which missed T3, which was answered before T1.
  const std::string far = "3-9 r0=0\n 1-9 r1=0 w0=0\n 1-2 w1=0";
  EXPECT_EQ(verdict(far, kOpaque), "real-time order violation: 1 2 3");
  EXPECT_EQ(verdict(far, kSnapshot), "");
}

TEST(CheckIsolation, ACycleWithoutRealTimeIsPreferred) {
  // T4 is stale; T2 and T3 are a fractured read, which is worse.
  expect_both("1-2 w3=0\n 3-9 w0=0 w1=0\n 3-9 r0=0 r1=2\n 5-6 r3=0", "fractured read: 2 3");
}

TEST(CheckIsolation, ACycleWithoutRealTimeIsPreferredEvenIfALittleLonger) {
  expect_both("1-3 w0=0\n 4-5 w0=1 w1=0\n 1-9 r0=0 r1=2\n 10-11 r0=0", "read skew: 1 2 3");
}

TEST(CheckIsolation, TheShortestCycleOfAKnotIsReported) {
  // T3 is also in a cycle of three, through T2.
  expect_both("1-9 w0=0 w1=0\n 1-9 r1=1 w2=0\n 1-9 r0=0 r2=2 r1=1", "fractured read: 1 3");
  // The search begins at T2, which leads back furthest in time.
  expect_both("1-9 w0=0 w1=0\n 8-9 r1=1 w2=0\n 3-9 r0=0 r2=2 r1=1", "fractured read: 1 3");
}

TEST(CheckIsolation, UnlessThatIsFarShorter) {
  // T6 is stale; without real time only a cycle through five others shows that.
  const std::string row =
      "1-2 w0=0 w1=0\n 3-4 r1=1 w2=0\n 5-6 r2=2 w3=0\n 7-8 r3=3 w4=0\n"
      " 9-10 r4=4 w5=0\n 11-12 r5=5 ";
  expect_both(row + "r0=0", "stale read: 1 6");
  expect_both(row + "r0=0", "read skew: 1 2 3 4 5 6", false);
  expect_both(row + "r0=1", "");
}

// Attempts that did not take effect, and attempts that may have.

TEST(CheckIsolation, RolledBackAttemptsSawConsistentStates) {
  const std::string zombie = "1-3 w0=0 w1=0\n 1-4 aborted r0=0 r1=1";
  expect_both(zombie, "fractured read: 1 2");
  expect_both("1-3 w0=0 w1=0\n 1-4 live r0=0 r1=1", "fractured read: 1 2");
  expect_both("1-3 w0=0 w1=0\n 1-4 aborted r0=0 r1=0", "");
  expect_both("1-2 w0=0\n 3-4 aborted r0=0", "stale read: 1 2");
}

TEST(CheckIsolation, WritesOfRolledBackAttemptsDoNotCount) {
  // If its write counted, T2 would be in a write skew with T1, and in a lost update with T3.
  expect_both("1-3 r1=0 w0=0\n 2-4 aborted r0=0 w1=0\n 2-5 w1=0", "");
  EXPECT_EQ(verdict("1-3 r1=0 w0=0\n 2-4 r0=0 w1=0", kOpaque), "write skew: 1 2");
}

TEST(CheckIsolation, AnUnansweredWriterTookEffectIfItWasSeen) {
  expect_both("1- live w0=0\n 2-4 r0=1", "");
  expect_both("1- live w0=0 w1=0\n 2-4 r0=1 r1=0", "fractured read: 1 2");
  expect_both("1- live w0=0 w1=0\n 2-4 r0=0 r1=0", "");
  expect_both("1- live w0=0\n 2-4 r0=1\n 5-6 r0=0", "stale read: 1 2 3");
  expect_both("1- live w0=0\n 2-4 w0=0", "");                             // T1 may have no effect
  expect_both("1- live w0=0\n 2-4 w0=0\n 2-4 r0=1", "lost update: 1 2");  // T1 took effect
}

// Blind writes.

TEST(CheckIsolation, BlindWritesComeAfterTheInitialValue) {
  expect_both("1-3 b0 b1\n 1-4 r0=0 r1=1", "fractured read: 1 2");
  expect_both("1-3 b0\n 4-5 r0=0", "stale read: 1 2");
  expect_both("1-3 b0\n 1-5 r0=0", "");
  expect_both("1-3 w0=0\n 1-5 b0 b1\n 1-6 r0=1 r1=2", "fractured read: 2 3");
}

TEST(CheckIsolation, BlindWritesMayGoEitherWay) {
  expect_both("1-3 b0\n 1-4 b0\n 5-6 r0=1", "");
  expect_both("1-3 b0\n 1-4 b0\n 5-6 r0=2", "");
  expect_both("1-3 b0\n 1-4 b0\n 5-6 r0=1\n 7-8 r0=2", "stale read: 2 3");
  expect_both("1-3 b0\n 1-4 b0\n 5-6 r0=1\n 7-8 r0=2", "", false);
  expect_both("1-2 b0\n 3-4 b0\n 5-6 r0=2", "");
  expect_both("1-2 b0\n 3-4 b0\n 5-6 r0=1", "stale read: 2 3");
  expect_both("1-2 b0\n 3-4 b0\n 5-6 r0=1", "", false);
}

TEST(CheckIsolation, BlindWritesAreOrderedByWhatReadersForce) {
  // T3 saw T2's x1 and T1's x0, so T1 wrote x0 later than T2. T4, which follows T3, must not see
  // T2.
  const std::string forced = "1-9 b0\n 1-9 b0 w1=0\n 1-9 r0=1 r1=2 w2=0\n 1-9 r2=3 ";
  expect_both(forced + "r0=2", "fractured read: 2 3");
  expect_both(forced + "r0=1", "");
}

TEST(CheckIsolation, ReadSkewThroughABlindWrite) {
  // T2 missed T1's x0 but overwrote its x1: T3 came later than both and saw T2.
  expect_both("1-3 w0=0 b1\n 2-4 r0=0 b1\n 5-6 r1=2", "read skew: 1 2");
  expect_both("1-3 w0=0 b1\n 2-4 r0=0 b1\n 5-6 r1=1", "");
}

TEST(CheckIsolation, ManyBlindWritesInALongRow) {
  std::string text;
  for (int i = 0; i < 3'000; ++i) {
    text += std::to_string(2 * i + 1) + "-" + std::to_string(2 * i + 2) + " b0\n";
  }
  expect_both(text + "9000-9001 r0=3000", "");
  expect_both(text + "9000-9001 r0=2998", "stale read: 2999 3001");
}

// The text for people.

TEST(CheckIsolation, TheTextSaysWhichTransactionSawWhichVersion) {
  const History h = history("1-3 w0=0\n 4-5 w0=1 w1=0\n 1-9 aborted r0=0 r1=2\n 4- live r1=2");
  const auto findings = check_isolation(h, kOpaque, true);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(to_string(findings[0], h),
            "read skew: no serial order has all of T1 T2 T3\n"
            "  T2 replaced x0 as T1 left it\n"
            "  T3 (rolled back) read x1 from T2\n"
            "  T3 (rolled back) read x0 from the initial state, which T1 replaced\n");
  const History late = history("1-2 b0\n 3-4 r0=0");
  EXPECT_EQ(to_string(check_isolation(late, kOpaque, true)[0], late),
            "stale read: no serial order has all of T2 T1\n"
            "  T2 read x0 from the initial state, and T1 can only have written it later\n"
            "  T1 was answered before T2 began\n");
}

TEST(CheckIsolation, AsManyFindingsAsAskedFor) {
  const History h = history("1-2 w0=0 r0=0\n 3-4 aborted r0=9.1\n 5-6 w1=0\n 5-6 w1=0");
  EXPECT_EQ(check_isolation(h, kOpaque, true).size(), 1u);
  EXPECT_EQ(check_isolation(h, kOpaque, true, 2).size(), 2u);
  EXPECT_GE(check_isolation(h, kOpaque, true, 9).size(), 3u);
}

}  // namespace
}  // namespace holdfast::check::isolation_test
