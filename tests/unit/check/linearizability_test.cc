// SPDX-License-Identifier: Apache-2.0
//
// Does the checker of operations accept exactly the histories that some sequential order explains?
#include "holdfast/check/linearizability/linearizability.h"

#include <gtest/gtest.h>

#include <optional>
#include <utility>

#include "holdfast/base/checksum.h"
#include "holdfast/base/status.h"
#include "tests/unit/check/operations.h"

namespace holdfast::check::linearizability_test {
namespace {

const KeyedModel kSet(KeyedModel::Present::kept);
const KeyedModel kMap(KeyedModel::Present::overwritten);
const BankModel kBank;
const RingModel kRing;
constexpr Response kFound1 = {1, kTrue};  ///< a key of a set has the value 1
constexpr Response kAbsent = {0, kFalse};
constexpr LinearizabilityOptions kNoRealTime = {.real_time = false};
constexpr LinearizabilityOptions kTwoStates = {.max_states = 2};

using Operations = std::vector<Operation>;

/// Without a final state.
Linearization judge(const SequentialModel& model, const ModelState& initial, const Operations& all,
                    const LinearizabilityOptions& options = {}) {
  return check_linearizable(model, initial, all, nullptr, options);
}
Linearization judge(const SequentialModel& model, const ModelState& initial, const Operations& all,
                    const ModelState& found) {
  return check_linearizable(model, initial, all, &found);
}
bool mentions(const Linearization& result, const char* what) {
  return result.text.find(what) != std::string::npos;
}

TEST(CheckLinearizableSet, AnEmptyHistoryKeepsTheState) {
  EXPECT_TRUE(judge(kSet, {5, 1}, {}, ModelState{5, 1}).ok);
  EXPECT_FALSE(judge(kSet, {5, 1}, {}, ModelState{}).ok);
  EXPECT_FALSE(judge(kSet, {}, {}, ModelState{5, 1}).ok);
}

TEST(CheckLinearizableSet, AnOverlappingLookupMaySeeEither) {
  for (const Response& told : {kFound1, kAbsent}) {
    EXPECT_TRUE(judge(kSet, {}, {{0, 1, 4, add(5, 1), {{kTrue}}}, {1, 2, 3, look_up(5), told}}).ok);
  }
}

TEST(CheckLinearizableSet, ALostInsertIsFound) {
  const Operations lost = {{0, 1, 2, add(5, 1), {{kTrue}}}, {1, 3, 4, look_up(5), kAbsent}};
  const Linearization result = judge(kSet, {}, lost);
  EXPECT_FALSE(result.ok);
  EXPECT_FALSE(result.undecided);
  EXPECT_TRUE(mentions(result, "key 5")) << result.text;
  EXPECT_TRUE(mentions(result, "thread 0: insert 5 = 1 -> is new  [1, 2]")) << result.text;
  EXPECT_TRUE(mentions(result, "thread 1: look up 5 -> absent  [3, 4]")) << result.text;
  EXPECT_TRUE(mentions(result, "it would be told: found 1")) << result.text;
  EXPECT_TRUE(judge(kSet, {}, lost, kNoRealTime).ok) << "the lookup may go first then";
}

TEST(CheckLinearizableSet, AnAcknowledgedInsertMustSurvive) {
  const Operations history = {{0, 1, 2, add(5, 1), {{kTrue}}}};
  EXPECT_TRUE(judge(kSet, {}, history, ModelState{5, 1}).ok);
  const Linearization result = judge(kSet, {}, history, ModelState{});
  EXPECT_FALSE(result.ok);
  EXPECT_TRUE(mentions(result, "State then: {5: 1}")) << result.text;
  EXPECT_TRUE(mentions(result, "Found afterwards: {}")) << result.text;
}

TEST(CheckLinearizableSet, APhantomKeyIsFound) {
  EXPECT_FALSE(judge(kSet, {}, {{0, 1, 2, look_up(5), kFound1}}).ok);
  EXPECT_FALSE(judge(kSet, {}, {{0, 1, 2, look_up(5), kAbsent}}, ModelState{6, 1}).ok);
  EXPECT_FALSE(judge(kSet, {5, 1}, {}, ModelState{5, 1, 5, 1}).ok) << "a key that is there twice";
}

TEST(CheckLinearizableSet, AStaleLookupIsFound) {
  const Operations stale = {{0, 1, 2, erase(5), {{kTrue}}}, {1, 3, 4, look_up(5), kFound1}};
  EXPECT_FALSE(judge(kSet, {5, 1}, stale).ok);
  // The same answer is right while the erase is under way, but not after a lookup has missed it.
  Operations overlapping = stale;
  overlapping[0].end = 5;
  EXPECT_TRUE(judge(kSet, {5, 1}, overlapping).ok);
  overlapping.insert(overlapping.begin(), {2, 1, 2, look_up(5), kAbsent});
  EXPECT_FALSE(judge(kSet, {5, 1}, overlapping).ok);
}

TEST(CheckLinearizableSet, ADoubleRemoveIsFound) {
  const auto twice = [](uint64_t second) {
    return Operations{{0, 1, 4, erase(5), {{kTrue}}}, {1, 2, 3, erase(5), {{second}}}};
  };
  EXPECT_TRUE(judge(kSet, {5, 1}, twice(kFalse)).ok);
  EXPECT_FALSE(judge(kSet, {5, 1}, twice(kTrue)).ok);
  EXPECT_FALSE(judge(kSet, {5, 1}, twice(kTrue), kNoRealTime).ok);
}

TEST(CheckLinearizableSet, AnInsertKeepsWhatIsThereAndAPutReplacesIt) {
  const Operations history = {{0, 1, 2, add(5, 9), {{kFalse}}}};
  EXPECT_TRUE(judge(kSet, {5, 1}, history, ModelState{5, 1}).ok);
  EXPECT_FALSE(judge(kSet, {5, 1}, history, ModelState{5, 9}).ok);
  EXPECT_TRUE(judge(kMap, {5, 1}, history, ModelState{5, 9}).ok);
  EXPECT_FALSE(judge(kMap, {5, 1}, history, ModelState{5, 1}).ok);
}

TEST(CheckLinearizableMap, OldAndForeignValuesAreFound) {
  const auto after_put = [](uint64_t found) {
    return Operations{{0, 1, 2, add(5, 8), {{kFalse}}}, {1, 3, 4, look_up(5), {{found, kTrue}}}};
  };
  EXPECT_TRUE(judge(kMap, {5, 7}, after_put(8)).ok);
  EXPECT_FALSE(judge(kMap, {5, 7}, after_put(7)).ok) << "overwritten before";
  EXPECT_FALSE(judge(kMap, {5, 7}, after_put(9)).ok) << "no client put that";
}

/// The answer never came: both final states are right, but only one of them at a time.
TEST(CheckLinearizableUnanswered, MayHaveTakenEffectOrNot) {
  const Operations crashed = {{0, 1, kForever, add(5, 1), std::nullopt}};
  EXPECT_TRUE(judge(kSet, {}, crashed, ModelState{5, 1}).ok);
  EXPECT_TRUE(judge(kSet, {}, crashed, ModelState{}).ok);
  EXPECT_FALSE(judge(kSet, {}, crashed, ModelState{5, 2}).ok);
  Operations noticed = crashed;
  noticed.push_back({1, 2, 3, look_up(5), kFound1});
  EXPECT_TRUE(judge(kSet, {}, noticed, ModelState{5, 1}).ok);
  EXPECT_FALSE(judge(kSet, {}, noticed, ModelState{}).ok) << "what was seen must survive";
}

TEST(CheckLinearizableUnanswered, TakesNoEffectAfterItsEndOrItsThreadsNextOperation) {
  Operations late = {{0, 1, kForever, add(5, 1), std::nullopt},
                     {1, 12, 13, look_up(5), kAbsent},
                     {1, 14, 15, look_up(5), kFound1}};
  EXPECT_TRUE(judge(kSet, {}, late).ok);
  late[0].end = 11;  // the crash
  EXPECT_FALSE(judge(kSet, {}, late).ok);
  late[0].end = kForever;
  late.push_back({0, 10, 16, look_up(6), kAbsent});
  EXPECT_FALSE(judge(kSet, {}, late).ok);
}

/// Judges a crash with durability that lags.
Linearization judge_lag(const SequentialModel& model, const ModelState& initial,
                        const Operations& all, const ModelState& found, uint64_t lag) {
  return check_linearizable(model, initial, all, &found, {.lag = lag});
}

TEST(CheckLinearizableLag, TheLastAnsweredChangesMayBeLost) {
  const Operations two = {{0, 1, 2, add(5, 1), {{kTrue}}}, {0, 3, 4, add(6, 1), {{kTrue}}}};
  EXPECT_TRUE(judge_lag(kSet, {}, two, {5, 1, 6, 1}, 1).ok);
  EXPECT_EQ(judge_lag(kSet, {}, two, {5, 1}, 2).lost, 1u);
  EXPECT_EQ(judge_lag(kSet, {}, two, {}, 2).lost, 2u);
  EXPECT_FALSE(judge_lag(kSet, {}, two, {}, 1).ok);
  EXPECT_FALSE(judge_lag(kSet, {}, two, {6, 1}, 2).ok) << "no prefix, though the keys are others";
}

TEST(CheckLinearizableLag, AnswersAreExplainedWithTheLostChanges) {
  const Operations seen = {{0, 1, 2, add(5, 1), {{kTrue}}}, {1, 3, 4, look_up(5), kFound1}};
  EXPECT_TRUE(judge_lag(kSet, {}, seen, {}, 1).ok);
  const Operations unseen = {{0, 1, 2, add(5, 1), {{kTrue}}}, {1, 3, 4, look_up(5), kAbsent}};
  EXPECT_FALSE(judge_lag(kSet, {}, unseen, {}, 1).ok) << "it was answered before";
  // The lookup saw an insert that was never answered and is lost; then came an insert that was not.
  const Operations behind = {{0, 1, kForever, add(5, 1), std::nullopt},
                             {1, 2, 3, look_up(5), kFound1},
                             {1, 4, 5, add(6, 1), {{kTrue}}}};
  EXPECT_FALSE(judge_lag(kSet, {}, behind, {6, 1}, 2).ok);
  EXPECT_TRUE(judge_lag(kSet, {}, behind, {}, 2).ok);
}

TEST(CheckLinearizableLag, WhatWasSeenMayBeLostWithoutAPromise) {
  const Operations seen = {{0, 1, kForever, add(5, 1), std::nullopt},
                           {1, 2, 3, look_up(5), kFound1}};
  const auto judged = [](const Operations& all, bool observed) {
    const ModelState found = {};
    return check_linearizable(kSet, {}, all, &found, {.observed = observed}).ok;
  };
  EXPECT_FALSE(judged(seen, true));
  EXPECT_TRUE(judged(seen, false));
  Operations answered = seen;
  answered[0] = {0, 1, 4, add(5, 1), {{kTrue}}};
  EXPECT_FALSE(judged(answered, false)) << "an answered change survives";
}

TEST(CheckLinearizableLag, ADurableChangeSurvivesWithAllBeforeIt) {
  Operations two = {{0, 1, 2, add(5, 1), {{kTrue}}}, {0, 3, 4, add(6, 1), {{kTrue}}}};
  two[1].durable = true;
  EXPECT_TRUE(judge_lag(kSet, {}, two, {5, 1, 6, 1}, 2).ok);
  EXPECT_FALSE(judge_lag(kSet, {}, two, {5, 1}, 2).ok);
  two[1].durable = false;
  two[0].durable = true;
  EXPECT_TRUE(judge_lag(kSet, {}, two, {5, 1}, 2).ok);
  EXPECT_FALSE(judge_lag(kSet, {}, two, {}, 2).ok);
}

TEST(CheckLinearizableBank, ATornAuditIsFound) {
  const ModelState before = {10, 10};
  const auto during = [&](const ModelState& audited) {
    return Operations{{0, 1, 4, transfer(0, 1, 3), {{10, 10}}},
                      {1, 2, 3, audit(), seen(kBank, audit(), audited)}};
  };
  EXPECT_TRUE(judge(kBank, before, during({10, 10})).ok);
  EXPECT_TRUE(judge(kBank, before, during({7, 13})).ok);
  EXPECT_FALSE(judge(kBank, before, during({7, 10})).ok);
  EXPECT_FALSE(judge(kBank, before, during({13, 7})).ok) << "the right total is not enough";
}

TEST(CheckLinearizableBank, AuditsAgreeOnTheOrder) {
  // Two transfers, and two audits that see them in different orders.
  const ModelState before = {10, 10, 10, 10};
  const auto both = [&](const ModelState& second) {
    return Operations{{0, 1, 10, transfer(0, 1, 3), {{10, 10}}},
                      {1, 1, 10, transfer(2, 3, 4), {{10, 10}}},
                      {2, 2, 3, audit(), seen(kBank, audit(), {7, 13, 10, 10})},
                      {3, 2, 3, audit(), seen(kBank, audit(), second)}};
  };
  EXPECT_TRUE(judge(kBank, before, both({7, 13, 6, 14})).ok);
  EXPECT_FALSE(judge(kBank, before, both({10, 10, 6, 14})).ok);
}

TEST(CheckLinearizableBank, ALostTransferIsFoundAfterACrash) {
  const Operations answered = {{0, 1, 2, transfer(0, 1, 3), {{10, 10}}},
                               {0, 3, 4, transfer(1, 0, 50), {{13, 7}}}};
  EXPECT_TRUE(judge(kBank, {10, 10}, answered, ModelState{20, 0}).ok) << "not more than there is";
  EXPECT_FALSE(judge(kBank, {10, 10}, answered, ModelState{7, 13}).ok);
  EXPECT_FALSE(judge(kBank, {10, 10}, answered, ModelState{10, 10}).ok);
  Operations crashed = answered;
  crashed[1].response.reset();
  EXPECT_TRUE(judge(kBank, {10, 10}, crashed, ModelState{20, 0}).ok);
  EXPECT_TRUE(judge(kBank, {10, 10}, crashed, ModelState{7, 13}).ok);
  EXPECT_FALSE(judge(kBank, {10, 10}, crashed, ModelState{7, 0}).ok) << "half a transfer";
  const Linearization lost = judge(kBank, {10, 10}, crashed, ModelState{10, 10});
  EXPECT_FALSE(lost.ok);
  EXPECT_TRUE(mentions(lost, "first difference is at word 0: 7 became 10")) << lost.text;
}

TEST(CheckLinearizableBank, TwoTransfersOfTheSameBalanceAreFound) {
  EXPECT_FALSE(
      judge(kBank, {10, 10, 10},
            {{0, 1, 4, transfer(0, 1, 3), {{10, 10}}}, {1, 2, 3, transfer(0, 2, 3), {{10, 10}}}})
          .ok);
}

TEST(CheckLinearizableRing, HalfAPermutationIsFound) {
  const ModelState before = {1, 2, 3, 4, 0};
  const ModelState after = {2, 3, 1, 4, 0};  // 0 -> 2 -> 1 -> 3 -> 4
  Operations history = {{0, 1, 2, swap_behind(0), RingModel::links(1, 2, 3)}};
  EXPECT_TRUE(judge(kRing, before, history, after).ok);
  EXPECT_FALSE(judge(kRing, before, history, before).ok);
  history[0].response.reset();
  EXPECT_TRUE(judge(kRing, before, history, after).ok);
  EXPECT_TRUE(judge(kRing, before, history, before).ok);
  EXPECT_FALSE(judge(kRing, before, history, ModelState{2, 2, 3, 4, 0}).ok);
  EXPECT_FALSE(judge(kRing, before, history, ModelState{2, 2, 1, 4, 0}).ok);
}

TEST(CheckLinearizableRing, MovesAndWalksAreOrdered) {
  const ModelState before = {1, 2, 3, 4, 0};
  const ModelState neither = {2, 3, 1, 4, 0};
  // Taking 1 from behind 0 to behind 3 gives 0 -> 2 -> 3 -> 1 -> 4.
  const ModelState moved = {2, 4, 3, 1, 0};
  const auto history = [&](const ModelState& walked, Response told) {
    return Operations{{0, 1, 4, move_behind(0, 3), told},
                      {1, 2, 3, walk(), seen(kRing, walk(), walked)}};
  };
  const Response right = RingModel::links(1, 2, 4);
  EXPECT_TRUE(judge(kRing, before, history(before, right), moved).ok);
  EXPECT_TRUE(judge(kRing, before, history(moved, right), moved).ok);
  EXPECT_FALSE(judge(kRing, before, history(neither, right), moved).ok);
  EXPECT_FALSE(judge(kRing, before, history(moved, RingModel::links(1, 2, 3)), moved).ok);
  // Behind either of the two it is a swap.
  for (const uint64_t to : {0, 1}) {
    EXPECT_TRUE(judge(kRing, before, {{0, 1, 2, move_behind(0, to), RingModel::links(1, 2, 3)}},
                      ModelState{2, 3, 1, 4, 0})
                    .ok);
  }
}

TEST(CheckLinearizableRing, AWalkOfABrokenRingNeverComesBack) {
  EXPECT_EQ(seen(kRing, walk(), {1, 2, 1})[0], 0U);
  EXPECT_EQ(seen(kRing, walk(), {1, 0, 2})[0], 2U);
}

TEST(CheckLinearizable, SequentialConsistencyIsSearchedOverAllKeys) {
  // Dekker's question: for each key alone an order respects the order of each thread; for both
  // together none does.
  const Operations dekker = {{0, 1, 2, add(1, 1), {{kTrue}}},
                             {0, 3, 4, look_up(2), kAbsent},
                             {1, 1, 2, add(2, 1), {{kTrue}}},
                             {1, 3, 4, look_up(1), kAbsent}};
  EXPECT_FALSE(judge(kSet, {}, dekker, kNoRealTime).ok);
  Operations right = dekker;
  right[3].response = kFound1;
  EXPECT_TRUE(judge(kSet, {}, right, kNoRealTime).ok);
  EXPECT_FALSE(judge(kSet, {}, right).ok) << "thread 0 looked after thread 1 was told";
}

TEST(CheckLinearizable, BeyondTheLimitItIsUndecidedAndNotOk) {
  const Operations good = {{0, 1, 2, add(5, 1), {{kTrue}}},
                           {0, 3, 4, look_up(5), kFound1},
                           {0, 5, 6, erase(5), {{kTrue}}}};
  EXPECT_TRUE(judge(kSet, {}, good).ok);
  const Linearization result = judge(kSet, {}, good, kTwoStates);
  EXPECT_FALSE(result.ok);
  EXPECT_TRUE(result.undecided);
  EXPECT_TRUE(mentions(result, "gave up after 2 states")) << result.text;
  // A violation of one key counts, even if other keys stay undecided.
  Operations bad = good;
  bad.push_back({1, 1, 2, look_up(6), kFound1});
  const Linearization violated = judge(kSet, {}, bad, kTwoStates);
  EXPECT_FALSE(violated.undecided);
  EXPECT_TRUE(mentions(violated, "key 6")) << violated.text;
}

TEST(CheckLinearizable, ThreadsThatOverlapThemselvesAreRefused) {
  EXPECT_THROW(judge(kSet, {}, {{0, 1, 5, look_up(1), kAbsent}, {0, 3, 6, look_up(1), kAbsent}}),
               Error);
  EXPECT_THROW(judge(kSet, {}, {{0, 5, 1, look_up(1), kAbsent}}), Error);
}

TEST(CheckLinearizable, TheLongestExplanationIsCutToItsEnd) {
  Operations history;
  for (uint64_t i = 0; i < 30; ++i) {
    history.push_back({0, 2 * i, 2 * i + 1, look_up(5), kAbsent});
  }
  history.push_back({0, 98, 99, erase(5), {{kTrue}}});
  const Linearization result = judge(kSet, {}, history);
  EXPECT_FALSE(result.ok);
  EXPECT_TRUE(mentions(result, "puts 30 operations in this order (the last 20)")) << result.text;
  EXPECT_TRUE(mentions(result, "erase 5 -> erased")) << result.text;
}

struct Game {
  const char* name;
  const SequentialModel* model;
  ModelState initial;
  Request (*draw)(Random&);
};
Request draw_keyed(Random& random) {
  const uint64_t key = random.below(2);
  const uint64_t kind = random.below(3);
  return kind == 0 ? look_up(key) : kind == 1 ? add(key, 1 + random.below(2)) : erase(key);
}
Request draw_bank(Random& random) {
  const uint64_t from = random.below(3);
  const uint64_t to = (from + 1 + random.below(2)) % 3;
  return random.below(4) == 0 ? audit() : transfer(from, to, 1 + random.below(2));
}
Request draw_ring(Random& random) {
  const uint64_t kind = random.below(4);
  const uint64_t node = random.below(4);
  return kind == 0 ? walk() : kind == 1 ? swap_behind(node) : move_behind(node, random.below(4));
}
const Game kGames[] = {{"set", &kSet, {0, 1}, &draw_keyed},
                       {"map", &kMap, {0, 1}, &draw_keyed},
                       {"bank", &kBank, {2, 2, 2}, &draw_bank},
                       {"ring", &kRing, {1, 2, 3, 0}, &draw_ring}};

/// Changes the history. Some order may or may not still explain it.
void disturb(Played& played, Random& random) {
  const size_t n = played.operations.size();
  Operation& a = played.operations[random.below(n)];
  Operation& b = played.operations[random.below(n)];
  switch (random.below(5)) {
    case 0:
      std::swap(a.request, b.request);
      break;
    case 1:
      std::swap(a.response, b.response);
      break;
    case 2:
      a.response.reset();
      break;
    case 3:
      a.begin -= std::min(a.begin, random.below(3));
      break;
    default:
      if (!played.final_state.empty()) {
        played.final_state[random.below(played.final_state.size())] ^= 1;
      }
  }
}

/// Returns false if a thread's operations overlap, or if their order is not determined.
bool well_formed(const std::vector<Operation>& operations) {
  for (const Operation& a : operations) {
    for (const Operation& b : operations) {
      if (&a != &b && a.thread == b.thread &&
          (a.begin == b.begin || (a.begin < b.begin && a.end > b.begin && a.response))) {
        return false;
      }
    }
  }
  return true;
}

/// Plays a short history for brute force. Returns none if it came out too long or ill-formed.
std::optional<Played> play_short(const Game& game, Random& random) {
  Played played = play(*game.model, game.initial, 3, 1 + random.below(4), random, game.draw);
  for (uint64_t i = random.below(3); i > 0; --i) {
    disturb(played, random);
  }
  const bool usable = played.operations.size() <= 6 && well_formed(played.operations);
  return usable ? std::optional<Played>(std::move(played)) : std::nullopt;
}

TEST(CheckLinearizable, AgreesWithBruteForce) {
  uint64_t texts = 0;  // the checksum of what the checker says
  uint64_t states = 0;
  for (const Game& game : kGames) {
    Random random(4);
    int explained = 0;
    int refuted = 0;
    for (int round = 0; round < 1500; ++round) {
      const std::optional<Played> short_one = play_short(game, random);
      if (!short_one) {
        continue;
      }
      const Played& played = *short_one;
      const ModelState* found = random.below(4) == 0 ? nullptr : &played.final_state;
      for (const bool real_time : {true, false}) {
        const bool right = explained_by_brute_force(*game.model, game.initial, played.operations,
                                                    found, real_time);
        for (const bool by_key : {true, false}) {
          const Linearization result =
              check_linearizable(*game.model, game.initial, played.operations, found,
                                 {.real_time = real_time, .by_key = by_key});
          ASSERT_EQ(result.ok, right) << game.name << ", seed 4, round " << round << ", real time "
                                      << real_time << ", by key " << by_key << "\n"
                                      << result.text;
          ASSERT_EQ(result.text.empty(), result.ok);
          texts = checksum(result.text.data(), result.text.size(), texts);
          states += result.states;
        }
        ++(right ? explained : refuted);
      }
    }
    EXPECT_GT(explained, 200) << game.name;
    EXPECT_GT(refuted, 200) << game.name;
  }
  EXPECT_EQ(texts, 4228769403444401206U) << "the same histories, other words";
  EXPECT_EQ(states, 103'420U) << "the same histories, searched in another way";
}

/// Returns whether some order explains the answers, and a prefix of it the final state, so that the
/// rest changes the state at most `lag` times with an answer. Without may_cut the prefix is the
/// whole order.
bool lag_explained_by_brute_force(const SequentialModel& model, const ModelState& initial,
                                  const std::vector<Operation>& operations,
                                  const ModelState& final_state, uint64_t lag, bool may_cut) {
  std::vector<bool> placed(operations.size());
  const auto search = [&](const auto& self, const ModelState& state, bool cut,
                          uint64_t lost) -> bool {
    if (may_cut && !cut && state == final_state && self(self, state, true, 0)) {
      return true;
    }
    bool complete = cut || (!may_cut && state == final_state);
    for (size_t i = 0; i < operations.size(); ++i) {
      const Operation& o = operations[i];
      complete = complete && (placed[i] || !o.response);
      bool next = !placed[i];
      for (size_t j = 0; j < operations.size() && next; ++j) {
        const Operation& other = operations[j];
        const bool before =
            other.end < o.begin || (other.thread == o.thread && other.begin < o.begin);
        next = placed[j] || !before || !other.response;
        // An operation without an answer takes effect before the next one of its thread, or never.
        next =
            next && !(placed[j] && !o.response &&
                      (other.begin > o.end || (other.thread == o.thread && other.begin > o.begin)));
      }
      if (!next) {
        continue;
      }
      ModelState after = state;
      const Response told = model.apply(o.request, after);
      const uint64_t now = lost + (cut && o.response && after != state ? 1 : 0);
      if ((o.response && *o.response != told) || now > lag || (cut && o.response && o.durable)) {
        continue;
      }
      placed[i] = true;
      const bool found = self(self, after, cut, now);
      placed[i] = false;
      if (found) {
        return true;
      }
    }
    return complete;
  };
  return search(search, initial, false, 0);
}

TEST(CheckLinearizableLag, AgreesWithBruteForce) {
  uint64_t texts = 0;
  uint64_t states = 0;
  for (const Game& game : kGames) {
    Random random(5);
    int explained = 0;
    int refuted = 0;
    for (int round = 0; round < 1500; ++round) {
      std::optional<Played> short_one = play_short(game, random);
      if (!short_one) {
        continue;
      }
      Played& played = *short_one;
      // The final state of some of the operations.
      ModelState found = game.initial;
      for (Operation& o : played.operations) {
        o.durable = random.below(6) == 0;
        if (random.below(3) != 0) {
          static_cast<void>(game.model->apply(o.request, found));
        }
      }
      const uint64_t lag = random.below(4);
      const bool right = lag_explained_by_brute_force(*game.model, game.initial, played.operations,
                                                      found, lag, lag > 0);
      const Linearization result =
          check_linearizable(*game.model, game.initial, played.operations, &found, {.lag = lag});
      ASSERT_EQ(result.ok, right) << game.name << ", seed 5, round " << round << ", lag " << lag
                                  << "\n"
                                  << result.text;
      texts = checksum(result.text.data(), result.text.size(), texts);
      states += result.states;
      if (right) {
        EXPECT_TRUE(result.lost == 0 ||
                    !lag_explained_by_brute_force(*game.model, game.initial, played.operations,
                                                  found, result.lost - 1, true))
            << "the fewest";
      }
      ++(right ? explained : refuted);
    }
    EXPECT_GT(explained, 200) << game.name;
    EXPECT_GT(refuted, 200) << game.name;
  }
  EXPECT_EQ(texts, 7893532833460772109U) << "the same histories, other words";
  EXPECT_EQ(states, 66'465U) << "the same histories, searched in another way";
}

/// The checker rarely goes back in long histories, so they take seconds.
TEST(CheckLinearizable, AHundredThousandOperationsAreJudged) {
  for (const uint64_t keys : {8U, 1000U}) {
    Random random(9);
    const auto draw = [keys](Random& dice) {
      const uint64_t key = dice.below(keys);
      const uint64_t kind = dice.below(4);
      return kind == 0 ? add(key, 1) : kind == 1 ? erase(key) : look_up(key);
    };
    Played played = play(kSet, {}, 16, 100000, random, draw);
    const Linearization good = check_linearizable(kSet, {}, played.operations, &played.final_state);
    EXPECT_TRUE(good.ok) << good.text;
    EXPECT_LT(good.states, 1000000U) << keys << " keys";
    // One answer in the middle is wrong: no client ever stored that value.
    size_t victim = 50000;
    while (played.operations[victim].request.kind != KeyedModel::kLookUp) {
      ++victim;
    }
    played.operations[victim].response = Response{2, kTrue};
    const Linearization bad = check_linearizable(kSet, {}, played.operations, &played.final_state);
    EXPECT_FALSE(bad.ok);
    EXPECT_FALSE(bad.undecided) << bad.text;
  }
}

}  // namespace
}  // namespace holdfast::check::linearizability_test
