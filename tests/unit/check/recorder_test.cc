// SPDX-License-Identifier: Apache-2.0
// Does the recorder write down the actions of clients, and for an earlier moment only the answers
// known then?
#include "holdfast/check/history/recorder.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "holdfast/base/checksum.h"
#include "holdfast/base/random.h"
#include "holdfast/check/history/story.h"

namespace holdfast::check::recorder_test {
namespace {

TEST(CheckRecorder, NamesEveryWriteAfterItsAttempt) {
  Recorder recorder(2, 1);
  ClientLog& log = recorder.client(0);
  log.invoke(false);
  log.attempt();
  const uint64_t first = log.write(0, 0);
  log.attempt();  // the first one was rolled back
  const uint64_t again = log.write(0, 0);
  const uint64_t other = log.write(1, 0);
  log.answer(Outcome::committed);
  EXPECT_NE(first, again);
  EXPECT_EQ(Version::of_word(again), (Version{2, 1}));
  EXPECT_EQ(Version::of_word(other), (Version{2, 2}));
  const History history = recorder.history();
  ASSERT_EQ(history.transactions.size(), 2U);
  EXPECT_EQ(history.at(1).outcome, Outcome::aborted);
  EXPECT_EQ(history.at(2).outcome, Outcome::committed);
  EXPECT_TRUE(history.at(2).accesses[0].replaced.initial());
}

TEST(CheckRecorder, AnAttemptBeginsWhenTheOneBeforeWasLastSeen) {
  Recorder recorder(1, 2);
  recorder.client(0).invoke(true);
  recorder.client(0).attempt();
  recorder.client(0).read(0, 0);
  recorder.client(1).invoke(false);
  recorder.client(1).attempt();
  const uint64_t word = recorder.client(1).write(0, 0);
  recorder.client(1).answer(Outcome::committed);
  recorder.client(0).attempt();
  recorder.client(0).read(0, word);
  recorder.client(0).answer(Outcome::committed);
  const History history = recorder.history();
  // The snapshot may be older than the body, so real time orders no transaction before it.
  EXPECT_LT(history.at(3).begin, history.at(2).end);
  EXPECT_EQ(history.at(1).end, history.at(3).accesses[0].at - 1);
}

TEST(CheckRecorder, TheHistoryOfAnEarlierMomentKnowsNoLaterAnswer) {
  Recorder recorder(1, 1);
  ClientLog& log = recorder.client(0);
  log.invoke(false);
  log.attempt();
  log.write(0, 0);
  const uint64_t before = recorder.clock();
  log.answer(Outcome::committed);
  const uint64_t after = recorder.clock();
  log.invoke(false);
  log.attempt();
  log.answer(Outcome::committed);
  EXPECT_EQ(recorder.history(before).transactions.size(), 1U);
  EXPECT_EQ(recorder.history(before).at(1).outcome, Outcome::live);
  EXPECT_EQ(recorder.history(before).at(1).end, kForever);
  EXPECT_EQ(recorder.history(after).at(1).outcome, Outcome::committed);
  EXPECT_EQ(recorder.history().transactions.size(), 2U);
}

TEST(CheckRecorder, GoesOnBehindWhatAnEarlierRunLeft) {
  const Version left{7, 2};
  Recorder recorder(2, 1, 7, {left.word(), 0});
  ClientLog& log = recorder.client(0);
  log.invoke(false);
  log.attempt();
  log.read(0, left.word());
  const uint64_t word = log.write(1, 0);
  log.answer(Outcome::committed);
  EXPECT_EQ(Version::of_word(word).transaction, 8U);
  const History history = recorder.history();
  ASSERT_EQ(history.transactions.size(), 1U);
  EXPECT_EQ(history.at(1).number, 1U);
  EXPECT_TRUE(history.at(1).accesses[0].version.initial());
  EXPECT_EQ(history.at(1).accesses[1].version, (Version{1, 1}));
  EXPECT_EQ(recorder.translate({left.word(), word}),
            (std::vector<uint64_t>{0, Version{1, 1}.word()}));
}

TEST(CheckStory, DrawsNeighboursThatOneAccessReachesAsOne) {
  Recorder recorder(5, 1);
  ClientLog& client = recorder.client(0);
  client.invoke(false);
  client.attempt();
  const uint64_t word = client.write(1, 0);
  client.write(2, 0);
  client.write_blindly(3);
  client.write_blindly(4);
  client.read(0, 0);
  client.read(1, word);
  client.read(3, word);
  EXPECT_EQ(draw_story(recorder.history(), kForever),
            "  thread 0\n"
            "  T1 begins\n"
            "    w1-2 over the initial value\n"
            "    b3-4\n"
            "    r0 = the initial value\n"
            "    r1 = T1\n"
            "    r3 = T1\n");
}

TEST(CheckStory, DrawsAColumnPerThreadUpToTheCrash) {
  Recorder recorder(2, 2);
  recorder.client(0).invoke(false);
  recorder.client(0).attempt();
  const uint64_t word = recorder.client(0).write(1, 0);
  recorder.client(1).invoke(true);
  recorder.client(1).attempt();
  recorder.client(1).read(1, word);
  recorder.client(1).answer(Outcome::committed);
  const uint64_t crash = recorder.clock();
  recorder.client(0).answer(Outcome::committed);
  const std::string story = draw_story(recorder.history(crash), crash);
  EXPECT_EQ(story,
            "  thread 0                     thread 1\n"
            "  T1 begins\n"
            "    w1 over the initial value\n"
            "                               T2 begins, read-only\n"
            "                                 r1 = T1\n"
            "                               T2 answered\n"
            "  -- the power fails --\n")
      << story;
}

constexpr uint32_t kClients = 3;

/// Clients with several attempts, whose events mix.
void act(Recorder& recorder, std::vector<uint64_t> words, Random& random) {
  bool open[kClients] = {};
  for (int i = 0; i < 60; ++i) {
    const auto number = static_cast<uint32_t>(random.below(kClients));
    const auto object = static_cast<Object>(random.below(words.size()));
    ClientLog& client = recorder.client(number);
    if (!open[number]) {
      const bool read_only = random.chance(0.3);
      client.invoke(read_only, static_cast<Commit>(random.below(3)));
      client.attempt();
      open[number] = true;
    } else if (random.chance(0.15)) {
      client.answer(random.chance(0.7) ? Outcome::committed : Outcome::aborted);
      open[number] = false;
    } else if (random.chance(0.1)) {
      client.attempt();
    } else if (random.chance(0.5)) {
      for (Object next = object; next < words.size() && next < object + 3; ++next) {
        client.read(next, words[next]);
      }
    } else {
      words[object] =
          random.chance(0.5) ? client.write(object, words[object]) : client.write_blindly(object);
    }
  }
}

TEST(CheckStory, DrawsManyRunsAsEver) {
  std::string all;
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    const std::vector<uint64_t> initial(6, Version{2, 1}.word());  // as an earlier run left them
    Recorder recorder(6, kClients, 2, initial);
    Random random(seed);
    act(recorder, initial, random);
    for (uint64_t until = 5; until < recorder.clock(); until += 7) {
      all += draw_story(recorder.history(until), until);
    }
    all += draw_story(recorder.history());
  }
  EXPECT_EQ(checksum(all.data(), all.size()), 16434874939486385233U) << all.substr(0, 2'000);
}

}  // namespace
}  // namespace holdfast::check::recorder_test
