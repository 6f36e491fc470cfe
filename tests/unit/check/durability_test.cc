// SPDX-License-Identifier: Apache-2.0
//
// Hand-written histories, and images that a crash left of them: for each fault one image that has
// it, and a neighbour that has not. Random histories at the end are compared with brute force.
#include "holdfast/check/durability/durability.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "holdfast/base/checksum.h"
#include "holdfast/check/history/legal_history.h"
#include "holdfast/check/isolation/isolation.h"
#include "tests/unit/check/history_builder.h"

namespace holdfast::check::durability_test {
namespace {

/// An image from "T" or "T.N" for each object, as in history_builder.h; "T" is T's only or first
/// write.
std::vector<uint64_t> image(const std::string& text) {
  std::istringstream words(text);
  std::vector<uint64_t> result;
  for (std::string word; words >> word;) {
    const size_t dot = word.find('.');
    const auto t = static_cast<uint32_t>(std::stoul(word));
    const auto write =
        dot == std::string::npos ? 1u : static_cast<uint32_t>(std::stoul(word.substr(dot + 1)));
    result.push_back(t == 0 ? 0 : Version{t, write}.word());
  }
  return result;
}

std::string verdict(const std::string& text, const std::string& recovered,
                    Durability promised = Durability::strict, uint64_t lag_bound = 0,
                    bool real_time = true) {
  const History h = history(text);
  const auto findings =
      check_durability(h, image(recovered), {promised, lag_bound}, {.real_time = real_time});
  if (findings.empty()) {
    return "";
  }
  return name_and_transactions(findings[0]);
}

std::string survived(const std::string& text, const std::string& recovered) {
  const Survivors survivors = check::survivors(history(text), image(recovered));
  std::string result;
  for (const bool one : survivors) {
    result += one ? '1' : '0';
  }
  return result.substr(1);
}

TEST(CheckDurability, EverythingSurvives) {
  EXPECT_EQ(verdict("", ""), "");
  EXPECT_EQ(verdict("1-2 r0=0", "0"), "");
  EXPECT_EQ(verdict("1-2 w0=0 w1=0\n 3-4 w0=1", "2 1.2"), "");
  EXPECT_EQ(survived("1-2 w0=0 w1=0\n 3-4 w0=1\n 5-6 r0=2", "2 1.2"), "111");
}

TEST(CheckDurability, Garbage) {
  EXPECT_EQ(verdict("1-2 w0=0", "1.2"), "garbage:");
  EXPECT_EQ(verdict("1-2 w0=0", "7"), "garbage:");
  EXPECT_EQ(verdict("1-2 w0=0 w1=0", "1.2 1.1"), "garbage:");
  EXPECT_EQ(verdict("1-2 w0=0 w1=0", "1.1 1.2"), "");
  EXPECT_EQ(verdict("1-2 w0=0", "1.2", Durability::none), "garbage:");
}

TEST(CheckDurability, RolledBackAttemptSurvived) {
  EXPECT_EQ(verdict("1-2 aborted w0=0", "1"), "rolled-back attempt survived: 1");
  EXPECT_EQ(verdict("1-2 aborted w0=0", "0"), "");
  EXPECT_EQ(survived("1-2 aborted w0=0", "0"), "0");
}

TEST(CheckDurability, IntermediateValueSurvived) {
  EXPECT_EQ(verdict("1-2 w0=0 w0=1.1", "1.1"), "intermediate value survived: 1");
  EXPECT_EQ(verdict("1-2 w0=0 w0=1.1", "1.2"), "");
}

TEST(CheckDurability, BrokenChain) {
  EXPECT_EQ(verdict("1-2 aborted w0=0\n 3-4 w0=1", "2"), "broken chain: 1");
  EXPECT_EQ(verdict("1-2 w0=0 w0=1.1\n 3-4 w0=1.1", "2"), "broken chain: 1");
  EXPECT_EQ(verdict("1-2 w0=2\n 3-4 w0=1", "2"), "broken chain: 2");
  EXPECT_EQ(verdict("1-2 w0=0\n 3-4 w0=9.1", "2"), "broken chain:");
  EXPECT_EQ(verdict("1-2 w0=0\n 3-4 w0=1", "2"), "");
}

TEST(CheckDurability, HalfATransaction) {
  EXPECT_EQ(verdict("1- live w0=0 w1=0", "1 0"), "half a transaction: 1");
  EXPECT_EQ(verdict("1- live w0=0 w1=0", "0 1.2"), "half a transaction: 1");
  EXPECT_EQ(verdict("1- live w0=0 w1=0", "1 1.2"), "");
  EXPECT_EQ(verdict("1- live w0=0 w1=0", "0 0"), "");
  EXPECT_EQ(verdict("1-2 w0=0 w1=0", "1 0", Durability::none), "half a transaction: 1");
  EXPECT_EQ(survived("1- live w0=0 w1=0", "1 1.2"), "1");
  EXPECT_EQ(survived("1- live w0=0 w1=0", "0 0"), "0");
}

TEST(CheckDurability, HalfATransactionThatOthersBuiltOn) {
  // T2 replaced T1's x0, so T1 survived; its x1 is missing.
  EXPECT_EQ(verdict("1-2 w0=0 w1=0\n 3-4 w0=1", "2 0"), "half a transaction: 1");
  EXPECT_EQ(verdict("1-2 w0=0 w1=0\n 3-4 w0=1\n 5-6 w1=1", "2 3"), "");
  // The writes are blind, but no other transaction ever stored to x1.
  EXPECT_EQ(verdict("1- live b0 b1", "1 0"), "half a transaction: 1");
}

TEST(CheckDurability, LostAcknowledgedUpdate) {
  EXPECT_EQ(verdict("1-2 w0=0", "0"), "lost acknowledged update: 1");
  EXPECT_EQ(verdict("1-2 w0=0\n 3-4 w0=1", "1"), "lost acknowledged update: 2");
  EXPECT_EQ(verdict("1-2 w0=0\n 3- live w0=1", "1"), "");
  EXPECT_EQ(verdict("1-2 w0=0", "0", Durability::none), "");
  EXPECT_EQ(verdict("1-2 b0", "0"), "lost acknowledged update: 1");
  EXPECT_EQ(survived("1-2 w0=0\n 3-4 w0=1", "1"), "10");
}

TEST(CheckDurability, LaggingMayLoseAsManyAsItsBound) {
  const std::string three = "1-2 w0=0\n 3-4 w0=1\n 5-6 w0=2\n 7-8 r0=3";
  EXPECT_EQ(verdict(three, "1", Durability::lagging, 2), "");
  EXPECT_EQ(verdict(three, "1", Durability::lagging, 1), "lost acknowledged update: 2 3");
  EXPECT_EQ(verdict(three, "3", Durability::lagging, 0), "");
  EXPECT_EQ(verdict(three, "2", Durability::lagging, 0), "lost acknowledged update: 3");
  EXPECT_EQ(survived(three, "1"), "1000");
}

TEST(CheckDurability, LaggingSurvivorsAreClosedUnderRealTime) {
  const std::string text = "1-2 w0=0\n 3-4 w1=0";
  EXPECT_EQ(verdict(text, "0 2", Durability::lagging, 5),
            "survivors not closed under real time: 1 2");
  EXPECT_EQ(verdict(text, "1 0", Durability::lagging, 5), "");
  EXPECT_EQ(verdict(text, "0 0", Durability::lagging, 5), "");
  EXPECT_EQ(verdict(text, "0 2", Durability::lagging, 5, false), "") << "not promised";
  // They overlap, so either may be the first one.
  EXPECT_EQ(verdict("1-4 w0=0\n 3-5 w1=0", "0 2", Durability::lagging, 5), "");
  // T2 is not answered, and may never have happened.
  EXPECT_EQ(verdict("1- live w0=0\n 3-4 w1=0", "0 2", Durability::lagging, 5), "");
}

TEST(CheckDurability, LaggingSurvivorsAreClosedThroughAReader) {
  // A client saw T1, and then T3 began.
  EXPECT_EQ(verdict("1- live w0=0\n 2-3 r0=1\n 4-5 w1=0", "0 3", Durability::lagging, 5),
            "survivors not closed under real time: 1 2 3");
  EXPECT_EQ(verdict("1- live w0=0\n 2-5 r0=1\n 4-5 w1=0", "0 3", Durability::lagging, 5), "");
  EXPECT_EQ(verdict("1- live w0=0\n 2-3 r0=0\n 4-5 w1=0", "0 3", Durability::lagging, 5), "");
}

TEST(CheckDurability, LaggingSurvivorsAreClosedUnderAThreadsOrder) {
  const std::string text = "1-2 t7 w0=0\n 3-4 t7 w1=0";
  EXPECT_EQ(verdict(text, "0 2", Durability::lagging, 5),
            "survivors not closed under a thread's order: 1 2");
  EXPECT_EQ(verdict(text, "0 2", Durability::lagging, 5, false),
            "survivors not closed under a thread's order: 1 2");
  EXPECT_EQ(verdict(text, "1 0", Durability::lagging, 5), "");
}

TEST(CheckDurability, LaggingSurvivorsAreClosedUnderAntiDependencies) {
  // T1 read x0 before T2 replaced it; so T1 comes first in an opaque history.
  const std::string text = "1-5 r0=0 w1=0\n 2-6 w0=0";
  const auto name_of = [&](const std::string& words, Isolation isolation) {
    const History h = history(text);
    const auto findings =
        check_durability(h, image(words), {Durability::lagging, 5}, {.isolation = isolation});
    return findings.empty() ? "" : name_and_transactions(findings[0]);
  };
  EXPECT_EQ(name_of("2 0", Isolation::opaque), "survivors not closed under anti-dependencies: 1 2");
  EXPECT_EQ(name_of("2 0", Isolation::snapshot), "");
  EXPECT_EQ(name_of("0 1", Isolation::opaque), "");
  EXPECT_EQ(name_of("0 0", Isolation::opaque), "");
  // T1 may never have happened: it was not answered, and no transaction saw it.
  EXPECT_EQ(verdict("1- live r0=0 w1=0\n 2-6 w0=0", "2 0", Durability::lagging, 5), "");
  // Now a client has seen T1.
  EXPECT_EQ(verdict("1- live r0=0 w1=0\n 2-6 w0=0\n 3-6 r1=1", "2 0", Durability::lagging, 5),
            "survivors not closed under anti-dependencies: 1 2");
}

TEST(CheckDurability, ADurableCommitSurvivesWithAllBeforeIt) {
  const std::string text = "1-2 w0=0\n 3-4 durable w1=0\n 5-6 w2=0";
  EXPECT_EQ(verdict(text, "0 0 0", Durability::lagging, 5), "lost durable commit: 2");
  EXPECT_EQ(verdict(text, "1 0 0", Durability::lagging, 5), "lost durable commit: 2");
  EXPECT_EQ(verdict(text, "1 2 0", Durability::lagging, 5), "");
  EXPECT_EQ(verdict(text, "1 2 3", Durability::lagging, 0), "");
  EXPECT_EQ(verdict("1-2 w0=0\n 3- live durable w1=0", "0 0", Durability::lagging, 5), "");
}

TEST(CheckDurability, ObservationsAreJudgedIfTheyArePromised) {
  Promise promise{Durability::strict};
  const History h = history("1- live w0=0\n 2-3 r0=1");
  EXPECT_EQ(check_durability(h, image("0"), promise).size(), 1u);
  promise.observed = false;
  EXPECT_TRUE(check_durability(h, image("0"), promise).empty());
}

TEST(CheckDurability, AFenceIsAFloor) {
  const std::string fenced = "1-2 w0=0\n 3-4 durable\n 5-6 w1=0";
  EXPECT_EQ(verdict(fenced, "0 0", Durability::lagging, 5), "lost before a durable commit: 1 2");
  EXPECT_EQ(verdict(fenced, "1 0", Durability::lagging, 5), "");
  EXPECT_EQ(verdict("1-3 w0=0\n 2-4 durable", "0", Durability::lagging, 5), "")
      << "it had not been answered when the fence began";
  const History h = history(fenced);
  const Promise without{Durability::lagging, 5, /*floor=*/false};
  EXPECT_TRUE(check_durability(h, image("0 0"), without).empty());
}

/// The verdict about a system that recovers to epochs: everything answered up to `floor` survives.
std::string with_floor(const std::string& text, const std::string& recovered, uint64_t floor) {
  const Promise epochs{Durability::lagging, Promise::kNoBound, /*floor=*/false};
  const auto findings = check_durability(history(text), image(recovered), epochs, {.floor = floor});
  return findings.empty() ? "" : name_and_transactions(findings[0]);
}

TEST(CheckDurability, WhatWasAnsweredBeforeTheFloorSurvives) {
  const std::string text = "1-2 w0=0\n 3-4 w1=0\n 5-6 w2=0";
  for (const uint64_t floor : {0u, 1u}) {
    EXPECT_EQ(with_floor(text, "0 0 0", floor), "");
  }
  for (const uint64_t floor : {2u, 3u}) {
    EXPECT_EQ(with_floor(text, "0 0 0", floor), "lost below the floor: 1");
    EXPECT_EQ(with_floor(text, "1 0 0", floor), "");
  }
  EXPECT_EQ(with_floor(text, "1 0 0", 4), "lost below the floor: 2");
  EXPECT_EQ(with_floor(text, "1 2 0", 4), "");
  EXPECT_EQ(with_floor(text, "1 2 3", 6), "");
}

TEST(CheckDurability, AboveTheFloorAPrefixSurvives) {
  const std::string text = "1-2 w0=0\n 3-4 w1=0\n 5-6 w2=0";
  EXPECT_EQ(with_floor(text, "1 0 3", 2), "survivors not closed under real time: 2 3");
  EXPECT_EQ(with_floor(text, "1 2 0", 2), "");
  EXPECT_EQ(with_floor("1-2 w0=0\n 3- live w1=0 w2=0", "1 2 0", 2), "half a transaction: 2");
}

TEST(CheckDurability, AnUnansweredTransactionHasNoFloor) {
  EXPECT_EQ(with_floor("1-9 w0=0\n 3- live w1=0", "0 0", 8), "");
  EXPECT_EQ(with_floor("1-2 r0=0\n 3-4 r0=0", "0", 9), "");
  EXPECT_EQ(with_floor("1- live w0=0\n 2-3 r0=1", "0", 3), "lost below the floor: 1 2")
      << "the answer is known";
}

TEST(CheckDurability, OnlyLaterCommitsMayBeLostBesideStrictOnes) {
  const std::string text = "1-2 w0=0\n 3-4 later w1=0\n 5-6 later w2=0";
  EXPECT_EQ(verdict(text, "1 0 0", Durability::strict, 2), "");
  EXPECT_EQ(verdict(text, "1 0 0", Durability::strict, 1), "lost acknowledged update: 2 3");
  EXPECT_EQ(verdict(text, "0 0 0", Durability::strict, 3), "lost durable commit: 1");
  EXPECT_EQ(verdict("1-2 later w0=0\n 3-4 w1=0", "0 0", Durability::strict, 5),
            "lost durable commit: 2");
  EXPECT_EQ(verdict("1-2 later w0=0\n 3-4 w1=0", "0 2", Durability::strict, 5),
            "lost before a durable commit: 1 2");
  // A read does not wait for what it saw; an update does.
  EXPECT_EQ(verdict("1-2 later w0=0\n 3-4 r0=1", "0", Durability::strict, 5), "");
}

TEST(CheckDurability, CountsTheLostUpdates) {
  const History h = history("1-2 w0=0\n 3-4 w1=0 r0=1\n 5-6 r0=1\n 7- live w2=0");
  EXPECT_EQ(lost_updates(h, image("1 2 0")), 0u);
  EXPECT_EQ(lost_updates(h, image("1 0 0")), 1u);
  EXPECT_EQ(lost_updates(h, image("0 0 0")), 2u);
}

TEST(CheckDurability, LostObservation) {
  EXPECT_EQ(verdict("1- live w0=0\n 2-3 r0=1", "0"), "lost observation: 1 2");
  EXPECT_EQ(verdict("1- live w0=0\n 2-3 r0=1", "1"), "");
  EXPECT_EQ(verdict("1- live w0=0\n 2-3 r0=1", "0", Durability::lagging, 5), "");
  EXPECT_EQ(verdict("1- live w0=0\n 2- live r0=1", "0"), "");
  EXPECT_EQ(verdict("1- live w0=0\n 2-3 aborted r0=1", "0"), "");
  EXPECT_EQ(survived("1- live w0=0\n 2-3 r0=1", "0"), "00");
  EXPECT_EQ(survived("1- live w0=0\n 2-3 r0=1", "1"), "11");
}

TEST(CheckDurability, LostObservationOfAnException) {
  EXPECT_EQ(verdict("1- live w0=0\n 2-3 threw r0=1", "0"), "lost observation: 1 2");
  EXPECT_EQ(verdict("1- live w0=0\n 2-3 threw r0=1", "1"), "");
  EXPECT_EQ(verdict("1- live w0=0\n 2-3 threw r0=1", "0", Durability::lagging, 5), "");
  EXPECT_EQ(verdict("1- live w0=0\n 2-3 threw w0=1", "0"), "lost observation: 1 2");
  EXPECT_EQ(verdict("1- live w0=0\n 2-3 threw w0=0", "0"), "");
  EXPECT_EQ(verdict("1- live w0=0\n 2-3 threw b0", "0"), "");
  // Its own writes were rolled back; it may have read them before.
  EXPECT_EQ(verdict("1- live w0=0\n 2-3 threw w1=0 r1=2", "0 0"), "");
  // Through an unanswered transaction: T3 saw T2, which had seen T1.
  EXPECT_EQ(verdict("1- live w0=0\n 2- live r0=1 w1=0\n 3-4 threw r1=2", "0 0"),
            "lost observation: 2 3");
  EXPECT_EQ(survived("1-2 w0=0\n 3-4 threw r0=1", "1"), "10");
}

TEST(CheckDurability, LostObservationThroughABlindWriteThatMayBeOverwritten) {
  // T2 saw T1, which is lost. T3 may have overwritten T2's own write.
  const std::string text = "1- live w0=0\n 2-8 r0=1 b1\n 2-9 b1";
  EXPECT_EQ(verdict(text, "0 3"), "lost observation: 1 2");
  EXPECT_EQ(verdict(text, "1 3"), "");
  EXPECT_EQ(survived(text, "1 3"), "111");
}

TEST(CheckDurability, SurvivorsNotClosedUnderReadsFrom) {
  // FUR's race: T2 read what T1 wrote, and is durable before it.
  EXPECT_EQ(verdict("1- live w0=0\n 2-4 r0=1 w1=0", "0 2"),
            "survivors not closed under reads-from: 1 2");
  EXPECT_EQ(verdict("1- live w0=0\n 2- live r0=1 w1=0", "0 2", Durability::none),
            "survivors not closed under reads-from: 1 2");
  EXPECT_EQ(verdict("1- live w0=0\n 2- live r0=1 w1=0", "1 0"), "");
  EXPECT_EQ(verdict("1- live w0=0\n 2-4 r0=1 w1=0", "1 2"), "");
  EXPECT_EQ(verdict("1- live w0=0\n 2-4 r0=0 w1=0", "0 2"), "");
}

TEST(CheckDurability, SurvivorsNotClosedUnderOverwrites) {
  // T2 overwrote T1's x0 blindly; that T1 is lost shows in x1.
  const std::string text = "1-2 w0=0 w1=0\n 3-4 b0";
  EXPECT_EQ(verdict(text, "2 0", Durability::lagging, 5),
            "survivors not closed under overwrites: 1 2");
  EXPECT_EQ(verdict(text, "2 1.2"), "");
  EXPECT_EQ(verdict(text, "0 0", Durability::lagging, 5), "");
}

TEST(CheckDurability, BlindWritesHaveTheBenefitOfTheDoubt) {
  const std::string together = "1-3 b0\n 2-4 b0";
  EXPECT_EQ(verdict(together, "1"), "");
  EXPECT_EQ(verdict(together, "2"), "");
  EXPECT_EQ(verdict(together, "0"), "lost acknowledged update: 1");
  EXPECT_EQ(survived(together, "1"), "11");
  EXPECT_EQ(survived("1- live b0\n 2-4 b0", "2"), "01");
  EXPECT_EQ(survived("1- live b0 b1\n 2-4 b0", "2 1.2"), "11");
}

TEST(CheckDurability, ButNotAgainstTime) {
  const std::string apart = "1-2 b0\n 3-4 b0";
  EXPECT_EQ(verdict(apart, "2"), "");
  EXPECT_EQ(verdict(apart, "1"), "lost acknowledged update: 2");
  EXPECT_EQ(verdict(apart, "1", Durability::strict, 0, false), "");
  // T2's run goes on with T3, which began after T1 had ended.
  EXPECT_EQ(verdict("1-5 b0\n 2-4 b0\n 6-7 w0=2", "1"), "lost acknowledged update: 2");
}

TEST(CheckDurability, MalformedImage) {
  const auto findings = check_durability(history("1-2 w0=0"), {}, {Durability::strict});
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].name, "malformed history");
  EXPECT_EQ(findings[0].text, "0 recovered words for 1 objects");
}

TEST(CheckDurability, TheTextSaysWhatIsMissing) {
  const History h = history("1- live w0=0\n 2-3 r0=1");
  const auto findings = check_durability(h, {0}, {Durability::strict});
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(to_string(findings[0], h),
            "lost observation: T2 was answered and had seen what is lost\n"
            "  what T1 (not answered) wrote into x0 is missing\n"
            "  T2 read x0 from T1 (not answered)\n");
  const History overwritten = history("1-2 w0=0 w1=0\n 3-4 b0\n 5-6 w0=2");
  EXPECT_EQ(
      to_string(check_durability(overwritten, image("3 0"), {Durability::none})[0], overwritten),
      "survivors not closed under overwrites: T3 survived, and overwrote T1, which did not\n"
      "  what T1 wrote into x1 is missing\n"
      "  T3 wrote x0 later than T1\n"
      "  x0 holds what T3 wrote, or a later value\n");
}

// Brute force. Without blind writes the word of an object determines all its earlier values, so it
// tells which of the object's writers survived. An image is right if one set of survivors fits all
// objects.

bool chain(const History& h, Object object, uint64_t word, std::set<uint32_t>& writers) {
  Version at = Version::of_word(word);
  while (!at.initial()) {
    if (at.transaction > h.transactions.size()) {
      return false;
    }
    const Access* first = nullptr;
    const Access* last = nullptr;
    for (const Access& access : h.at(at.transaction).accesses) {
      if (access.object == object && access.writes()) {
        first = first == nullptr ? &access : first;
        last = &access;
      }
    }
    if (last == nullptr || last->version != at || !writers.insert(at.transaction).second) {
      return false;
    }
    at = first->replaced;
  }
  return true;
}

bool fits(const History& h, const std::vector<std::set<uint32_t>>& chains, uint64_t set,
          Durability promised, uint64_t lag_bound) {
  const auto in = [set](uint32_t t) { return t == 0 || (set >> (t - 1) & 1) != 0; };
  uint64_t lost = 0;
  for (const Transaction& t : h.transactions) {
    bool reads_survivors = true;
    for (const Access& access : t.accesses) {
      const Version found = access.writes() ? access.replaced : access.version;
      reads_survivors &= found.transaction == t.number || in(found.transaction);
      if (access.writes() && in(t.number) != (chains[access.object].count(t.number) > 0)) {
        return false;
      }
    }
    if (in(t.number) && (t.outcome == Outcome::aborted || !reads_survivors)) {
      return false;
    }
    if (t.outcome == Outcome::committed && !in(t.number)) {
      lost += promised == Durability::strict || !t.read_only ? 1 : 0;
    }
  }
  // With a lag the survivors are closed under real time.
  for (const Transaction& a : h.transactions) {
    for (const Transaction& b : h.transactions) {
      if (promised == Durability::lagging && a.outcome == Outcome::committed && !in(a.number) &&
          in(b.number) && a.end < b.begin) {
        return false;
      }
    }
  }
  return promised == Durability::none || lost <= lag_bound;
}

bool legal(const History& h, const std::vector<uint64_t>& words, Durability promised,
           uint64_t lag_bound) {
  std::vector<std::set<uint32_t>> chains(h.objects);
  for (Object object = 0; object < h.objects; ++object) {
    if (!chain(h, object, words[object], chains[object])) {
      return false;
    }
  }
  for (uint64_t set = 0; set < uint64_t{1} << h.transactions.size(); ++set) {
    if (fits(h, chains, set, promised, lag_bound)) {
      return true;
    }
  }
  return false;
}

LegalOptions tiny(uint64_t seed, uint32_t blind_percent) {
  Random random(mix64(seed));
  LegalOptions options;
  options.seed = seed;
  options.isolation = random.below(2) == 0 ? Isolation::opaque : Isolation::snapshot;
  options.objects = static_cast<uint32_t>(random.between(1, 4));
  options.threads = static_cast<uint32_t>(random.between(2, 4));
  options.transactions = static_cast<uint32_t>(random.between(2, 7));
  options.blind_percent = blind_percent;
  options.write_percent = 60;
  return options;
}

/// Replaces a word by another one of the history, or by one from before or after the history.
void disturb(std::vector<uint64_t>& words, const History& h, Random& random) {
  const Object object = static_cast<Object>(random.below(words.size()));
  std::vector<uint64_t> candidates = {0};
  for (const Transaction& t : h.transactions) {
    for (const Access& access : t.accesses) {
      if (access.object == object && access.writes()) {
        candidates.push_back(access.version.word());
      }
    }
  }
  words[object] = candidates[random.below(candidates.size())];
}

/// Continues a checksum of what the judge says.
uint64_t with_texts(uint64_t texts, const std::vector<Finding>& findings, const History& h) {
  for (const Finding& finding : findings) {
    const std::string text = to_string(finding, h);
    texts = checksum(text.data(), text.size(), texts);
  }
  return texts;
}

TEST(CheckDurabilityRandom, AgreesWithBruteForceWithoutBlindWrites) {
  uint64_t texts = 0;
  int right = 0;
  int wrong = 0;
  for (uint64_t seed = 1; seed <= 3'000; ++seed) {
    LegalHistory maker(tiny(seed, 0));
    const History h = maker.make();
    std::vector<uint64_t> words = maker.words();
    Random random(mix64(seed + 1'000'000));
    for (int changes = 0; changes < 4; ++changes) {
      for (const Durability promised :
           {Durability::strict, Durability::lagging, Durability::none}) {
        const uint64_t bound = promised == Durability::lagging ? 1 : 0;
        const auto findings = check_durability(h, words, {promised, bound},
                                               {.most = 3, .isolation = Isolation::snapshot});
        texts = with_texts(texts, findings, h);
        const bool expected = legal(h, words, promised, bound);
        ASSERT_EQ(findings.empty(), expected)
            << "seed " << seed << " change " << changes << "\n"
            << (findings.empty() ? "" : to_string(findings[0], h));
        ++(expected ? right : wrong);
        ASSERT_TRUE(changes > 0 || expected);
      }
      disturb(words, h, random);
    }
  }
  EXPECT_GT(right, 5'000);
  EXPECT_GT(wrong, 5'000);
  EXPECT_EQ(texts, 17682644821421844829U) << "the same images, other words";
}

/// Answers the judge's question for opaque histories by brute force: tries every order of the
/// transactions that explains their values, and every prefix of it.
class PrefixByBruteForce {
 public:
  PrefixByBruteForce(const History& h, const std::vector<uint64_t>& words, const Promise& promised)
      : h_(h), words_(words), promised_(promised), placed_(h.transactions.size()) {}

  bool explained() { return search(std::vector<uint64_t>(h_.objects), false, 0); }

 private:
  bool search(const std::vector<uint64_t>& state, bool cut, uint64_t lost) {
    if (!cut && state == words_ && search(state, true, 0)) {
      return true;
    }
    bool complete = cut;
    for (size_t i = 0; i < placed_.size(); ++i) {
      const Transaction& t = h_.transactions[i];
      complete = complete && (placed_[i] || t.outcome != Outcome::committed);
      if (placed_[i] || t.outcome == Outcome::aborted || !may_be_next(t)) {
        continue;
      }
      std::vector<uint64_t> after = state;
      const bool acknowledged = t.outcome == Outcome::committed;
      const uint64_t now_lost = lost + (cut && acknowledged && !t.read_only ? 1 : 0);
      if (!apply(t, after) || now_lost > promised_.bound ||
          (cut && acknowledged && is_durable(t))) {
        continue;
      }
      placed_[i] = true;
      const bool found = search(after, cut, now_lost);
      placed_[i] = false;
      if (found) {
        return true;
      }
    }
    return complete;
  }

  bool is_durable(const Transaction& t) const {
    const bool unsaid = promised_.durability == Durability::strict && !t.read_only;
    return promised_.floor &&
           (t.commit == Commit::durable || (t.commit == Commit::unsaid && unsaid));
  }

  bool may_be_next(const Transaction& t) const {
    for (size_t i = 0; i < placed_.size(); ++i) {
      const Transaction& other = h_.transactions[i];
      if (!placed_[i] && other.outcome == Outcome::committed && other.end < t.begin) {
        return false;
      }
    }
    return true;
  }

  static bool apply(const Transaction& t, std::vector<uint64_t>& state) {
    for (const Access& access : t.accesses) {
      uint64_t& word = state[access.object];
      if (word != (access.writes() ? access.replaced : access.version).word()) {
        return false;
      }
      word = access.writes() ? access.version.word() : word;
    }
    return true;
  }

  const History& h_;
  const std::vector<uint64_t>& words_;
  const Promise promised_;
  std::vector<bool> placed_;
};

/// The promise of the i-th image: a lag, later commits beside strict ones, or a lag without floor.
Promise promise_of_image(int i, uint64_t bound) {
  return {.durability = i / 2 == 1 ? Durability::strict : Durability::lagging,
          .bound = bound,
          .floor = i / 2 != 2};
}

TEST(CheckDurabilityRandom, LaggingAgreesWithBruteForce) {
  uint64_t texts = 0;
  uint64_t lost = 0;
  int right[3] = {};  // by promise
  int wrong[3] = {};
  for (uint64_t seed = 1; seed <= 3'000; ++seed) {
    LegalOptions options = tiny(seed, 0);
    options.isolation = Isolation::opaque;
    LegalHistory maker(options);
    History h = maker.make();
    Random random(mix64(seed + 2'000'000));
    for (Transaction& t : h.transactions) {
      const uint64_t word = random.below(8);
      t.commit = word == 0 ? Commit::durable : word < 4 ? Commit::later : Commit::unsaid;
    }
    h.transactions[0].commit = Commit::later;  // without one, strict promises have another judge
    // The state at one moment, some of it from another one.
    for (int i = 0; i < 6; ++i) {
      std::vector<uint64_t> words = maker.words(random.below(maker.clock() + 1));
      const std::vector<uint64_t> others = maker.words(random.below(maker.clock() + 1));
      for (Object object = 0; object < h.objects && i % 2 == 1; ++object) {
        words[object] = random.below(2) == 0 ? others[object] : words[object];
      }
      const Promise promised = promise_of_image(i, random.below(3));
      const DurabilityOptions most = {.most = 4};
      const auto findings = check_durability(h, words, promised, most);
      texts = with_texts(texts, findings, h);
      lost += lost_updates(h, words, most);
      const bool expected = PrefixByBruteForce(h, words, promised).explained();
      ASSERT_EQ(findings.empty(), expected) << "seed " << seed << " image " << i << "\n"
                                            << (findings.empty() ? "" : to_string(findings[0], h));
      ++(expected ? right : wrong)[i / 2];
    }
  }
  for (int promise = 0; promise < 3; ++promise) {
    EXPECT_GT(right[promise], 1'000) << promise;
    EXPECT_GT(wrong[promise], 1'000) << promise;
  }
  EXPECT_EQ(texts, 18394391873818698015U) << "the same images, other words";
  EXPECT_EQ(lost, 13'566U) << "updates of all images";
}

TEST(CheckDurabilityRandom, NeverBlamesBlindWritesForNothing) {
  for (uint64_t seed = 1; seed <= 3'000; ++seed) {
    const LegalOptions options = tiny(seed, 50);
    LegalHistory maker(options);
    const History h = maker.make();
    for (const Durability promised : {Durability::strict, Durability::lagging, Durability::none}) {
      const auto findings =
          check_durability(h, maker.words(), {promised}, {.isolation = options.isolation});
      ASSERT_TRUE(findings.empty()) << "seed " << seed << "\n" << to_string(findings[0], h);
    }
    // An earlier state of the store: a prefix of the commits, which lagging allows.
    for (uint64_t time = 0; time < maker.clock(); ++time) {
      const auto findings = check_durability(h, maker.words(time), {Durability::lagging, 99},
                                             {.isolation = options.isolation});
      ASSERT_TRUE(findings.empty()) << "seed " << seed << ", at " << time << "\n"
                                    << to_string(findings[0], h);
    }
    const Survivors all = survivors(h, maker.words());
    for (const Transaction& t : h.transactions) {
      ASSERT_TRUE(t.outcome != Outcome::committed || all[t.number]) << "seed " << seed;
      ASSERT_TRUE(t.outcome != Outcome::aborted || !all[t.number]) << "seed " << seed;
    }
  }
}

/// Removes the transactions that did not survive. A last transaction then sees the image.
History after_crash(History h, const std::vector<uint64_t>& words, uint64_t now) {
  const Survivors all = survivors(h, words);
  for (Transaction& t : h.transactions) {
    if (t.outcome != Outcome::aborted) {
      t.outcome = all[t.number] ? Outcome::committed : Outcome::aborted;
      t.end = std::min(t.end, now);
      if (!all[t.number]) {
        t.accesses.clear();
      }
    }
  }
  Transaction last;
  last.number = static_cast<uint32_t>(h.transactions.size() + 1);
  last.outcome = Outcome::committed;
  last.begin = now + 1;
  last.end = now + 2;
  for (Object object = 0; object < h.objects; ++object) {
    last.accesses.push_back({Access::Kind::read, object, Version::of_word(words[object])});
  }
  h.transactions.push_back(std::move(last));
  return h;
}

TEST(CheckDurabilityRandom, TheHistoryGoesOnWithTheSurvivors) {
  for (uint64_t seed = 1; seed <= 3'000; ++seed) {
    const LegalOptions options = tiny(seed, seed % 2 == 0 ? 0 : 50);
    LegalHistory maker(options);
    History h = maker.make();
    // Rolled-back attempts may have seen values that the crash took back; that was legal then.
    for (Transaction& t : h.transactions) {
      if (t.outcome == Outcome::aborted) {
        t.accesses.clear();
      }
    }
    const uint64_t earliest = options.blind_percent == 0 ? 0 : maker.clock();
    for (uint64_t time = earliest; time <= maker.clock(); ++time) {
      const History on = after_crash(h, maker.words(time), maker.clock() + 1);
      const auto findings = check_isolation(on, options.isolation, true);
      ASSERT_TRUE(findings.empty()) << "seed " << seed << ", at " << time << "\n"
                                    << to_string(findings[0], on);
    }
  }
}

}  // namespace
}  // namespace holdfast::check::durability_test
