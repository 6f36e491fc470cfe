// SPDX-License-Identifier: Apache-2.0
//
// Logs replayed as a job of their own: does any number of replayers, with filter or without, come
// to what one thread comes to, and what is left when the power fails in between?
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <vector>

#include "holdfast/machine/sim/sim_machine.h"
#include "tests/sanitized.h"
#include "tests/unit/engines/engine_fixture.h"

namespace holdfast::replay_test {

inline constexpr int kThreads = 3;
inline constexpr size_t kPages = 4;

/// A heap whose logs were filled by three threads; nothing has been replayed.
template <class E>
class FilledLogs {
 public:
  explicit FilledLogs(uint64_t seed, std::vector<Mutation> mutations = {}, int each = 8)
      : machine_(options(seed, std::move(mutations))), heap_(machine_, shape()) {
    heap_.format().check();
    heap_.recover().check();
    fill(seed, each);
  }

  static SimOptions options(uint64_t seed, std::vector<Mutation> mutations = {}) {
    SimOptions o;
    o.threads = kThreads;
    o.seed = seed;
    o.switch_probability = 0.1;
    o.rmw_orders_pwb = false;  // else counting those that are done would stand in for their fences
    o.mutations = std::move(mutations);
    return o;
  }
  static EngineFixtureShape shape(int replayers = 1) {
    EngineFixtureShape s;
    s.options = {{"log_bytes", "8192"}, {"markers", "512"}, {"background", "0"}};
    s.options["replayers"] = std::to_string(replayers);
    s.bytes = kPages * kPageBytes;
    s.max_threads = kThreads;
    return s;
  }

  /// Single words, some of them over and over, and ranges, some of them across pages.
  void fill(uint64_t seed, int each) {
    machine_.run_threads(kThreads, [&](int thread) {
      Random random(seed * kThreads + static_cast<uint64_t>(thread));
      for (int k = 0; k < each; ++k) {
        const uint64_t block[3] = {random.next(), random.next(), random.next()};
        const size_t range = random.below(heap_.words() - 3);
        const size_t border = (1 + random.below(kPages - 1)) * kPageBytes / 8 - 1;
        heap_.engine().update([&] {
          heap_.set(0, heap_.get(0) + 1);
          heap_.set(random.below(8), block[0]);
          heap_.set(random.below(heap_.words()), block[1]);
          E::store_range(heap_.word(k % 2 == 0 ? range : border), block, sizeof block);
          heap_.set(1, block[2]);
        });
      }
    });
  }

  Result<ReplayReport> replay(int replayers, bool filter) {
    return heap_.engine().replay({replayers, filter});
  }

  /// The values that transactions see.
  std::vector<uint64_t> seen() { return copy(heap_.regions().data); }
  std::vector<uint64_t> home() { return copy(heap_.regions().home); }

  SimMachine& machine() { return machine_; }
  EngineFixture<E>& heap() { return heap_; }

 private:
  std::vector<uint64_t> copy(const std::byte* from) {
    std::vector<uint64_t> words(heap_.words());
    SimMachine::copy(words.data(), from, words.size() * 8);
    return words;
  }

  SimMachine machine_;
  EngineFixture<E> heap_;
};

template <class E>
class ReplayAlone : public testing::Test {};
TYPED_TEST_SUITE_P(ReplayAlone);

TYPED_TEST_P(ReplayAlone, AnyNumberOfReplayersComesToTheSameResult) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    uint64_t logged = 0;
    for (int replayers = 1; replayers <= kThreads; ++replayers) {
      for (const bool filter : {false, true}) {
        SCOPED_TRACE("seed " + std::to_string(seed) + ", " + std::to_string(replayers) +
                     (filter ? " replayers, filter" : " replayers"));
        FilledLogs<TypeParam> logs(seed);
        const std::vector<uint64_t> expected = logs.seen();
        ASSERT_NE(logs.home(), expected) << "there should be something to do";
        const auto report = logs.replay(replayers, filter);
        ASSERT_TRUE(report.ok()) << report.status().to_string();
        ASSERT_EQ(logs.home(), expected);
        EXPECT_EQ(logs.heap().engine().statistics().replayed, 24u);
        ASSERT_EQ(report.value().transactions, 24u);
        logged = logged == 0 ? report.value().logged : logged;
        EXPECT_EQ(report.value().logged, logged);
        if (filter) {
          uint64_t changed = 0;
          for (const uint64_t word : expected) {
            changed += word != 0 ? 8 : 0;
          }
          EXPECT_EQ(report.value().written, changed) << "each word once";
        } else {
          EXPECT_EQ(report.value().written, logged);
        }
      }
    }
  }
}

TYPED_TEST_P(ReplayAlone, GoesOnBehindWhatWasReplayed) {
  FilledLogs<TypeParam> logs(7);
  ASSERT_EQ(logs.replay(2, false).value().transactions, 24u);
  EXPECT_EQ(logs.replay(2, true).value().transactions, 0u) << "once is enough";
  for (uint64_t round = 1; round <= 24; ++round) {  // logs and markers wrap around
    logs.fill(7 + round, 8);
    EXPECT_EQ(logs.replay(1 + static_cast<int>(round % 3), round % 2 == 0).value().transactions,
              24u);
    ASSERT_EQ(logs.home(), logs.seen());
  }
  logs.fill(50, 3);
  ASSERT_TRUE(logs.heap().engine().close().ok());
  EXPECT_EQ(logs.home(), logs.seen()) << "the usual replay goes on there";
}

/// Cuts the power at every `stride`th persist event of a replay, and compares what three images of
/// each moment are recovered to. Returns what is wrong, or an empty text.
template <class E>
std::string crashes(uint64_t seed, int replayers, bool filter, uint64_t stride,
                    const std::vector<Mutation>& mutations, uint64_t& points) {
  for (uint64_t event = 0;; event += stride, ++points) {
    std::vector<SimImage> images;
    std::vector<uint64_t> expected;
    bool crashed = false;
    {
      FilledLogs<E> logs(seed, mutations);
      expected = logs.seen();
      logs.machine().crash_at(logs.machine().persist_events() + event);
      try {
        static_cast<void>(logs.replay(replayers, filter));
      } catch (const MediumFailure&) {
        crashed = true;
      }
      crashed = crashed || logs.machine().crashed();
      Random random(event);
      images = {logs.machine().earliest_image(), logs.machine().latest_image(),
                logs.machine().sample_image(random)};
    }
    for (const SimImage& image : images) {
      SimMachine machine(FilledLogs<E>::options(seed), image);
      EngineFixture<E> heap(machine, FilledLogs<E>::shape());
      if (const Status status = heap.recover(); !status.ok()) {
        return status.to_string() + ", event " + std::to_string(event);
      }
      for (size_t i = 0; i < expected.size(); ++i) {
        if (SimMachine::load(heap.word(i)) != expected[i]) {
          return "word " + std::to_string(i) + " is wrong, event " + std::to_string(event);
        }
      }
    }
    if (!crashed) {
      return "";
    }
  }
}

TYPED_TEST_P(ReplayAlone, APowerFailureAtAnyPointIsRecoveredFrom) {
  uint64_t points = 0;
  for (const int replayers : {1, 2, 3}) {
    for (const bool filter : {false, true}) {
      ASSERT_EQ(crashes<TypeParam>(3, replayers, filter, 3 * kStep, {}, points), "")
          << replayers << (filter ? " replayers, filter" : " replayers");
    }
  }
  EXPECT_GT(points, kSanitized ? 3u : 150u);
  std::printf("[ %llu crash points ]\n", static_cast<unsigned long long>(points));
}

TYPED_TEST_P(ReplayAlone, ATailThatMovesBeforeAllPartsAreDurableIsNoticed) {
  uint64_t points = 0;
  EXPECT_NE(crashes<TypeParam>(3, 3, false, 1, {{"replay.shard.last"}}, points), "")
      << "the first to be done must not move the tail";
  EXPECT_NE(crashes<TypeParam>(3, 3, false, 1, {{"replay.shard.fence"}}, points), "")
      << "each part must be durable before it counts";
}

/// Recovers an image with so many replayers, the power failing before `event`. Returns the images
/// that may leave, and through `found` what is there if it did not fail.
template <class E>
std::vector<SimImage> recovered(const SimImage& image, int replayers, uint64_t event,
                                std::vector<uint64_t>* found) {
  SimOptions options = FilledLogs<E>::options(5);
  options.count_main_events = true;
  SimMachine machine(options, image);
  machine.crash_at(event);
  EngineFixture<E> heap(machine, FilledLogs<E>::shape(replayers));
  try {
    heap.recover().check();
  } catch (const MediumFailure&) {
    EXPECT_TRUE(machine.crashed());
  } catch (const Error&) {
    EXPECT_TRUE(machine.crashed());
  }
  if (!machine.crashed()) {
    for (const std::byte* from : {heap.regions().data, heap.regions().home}) {
      found->resize(heap.words());
      std::vector<uint64_t> words(heap.words());
      SimMachine::copy(words.data(), from, words.size() * 8);
      EXPECT_TRUE(from == heap.regions().data || words == *found) << "home and working copy";
      *found = words;
    }
    return {};
  }
  Random random(event);
  return {machine.earliest_image(), machine.latest_image(), machine.sample_image(random)};
}

TYPED_TEST_P(ReplayAlone, RecoveryBySeveralThreadsComesToTheSameResult) {
  std::vector<uint64_t> expected;
  SimImage image;
  {
    FilledLogs<TypeParam> logs(5);
    expected = logs.seen();
    image = logs.machine().earliest_image();
  }
  for (int replayers = 1; replayers <= 4; ++replayers) {  // 4: as many as there are slots
    std::vector<uint64_t> found;
    for (uint64_t event = 0; found.empty(); event += 5 * kStep) {
      for (const SimImage& left : recovered<TypeParam>(image, replayers, event, &found)) {
        std::vector<uint64_t> again;
        recovered<TypeParam>(left, 3, kNever, &again);
        ASSERT_EQ(again, expected) << replayers << " replayers, event " << event;
      }
    }
    ASSERT_EQ(found, expected) << replayers << " replayers";
  }
}

TYPED_TEST_P(ReplayAlone, ClosingWithSeveralThreadsLeavesTheHomeUpToDate) {
  SimMachine machine(FilledLogs<TypeParam>::options(2));
  EngineFixture<TypeParam> heap(machine, FilledLogs<TypeParam>::shape(3));
  heap.format().check();
  heap.recover().check();
  for (uint64_t i = 0; i < 20; ++i) {
    heap.write(i * 100, i + 1);
  }
  heap.engine().close().check();
  EXPECT_EQ(heap.engine().statistics().replayed, 20u);
  for (uint64_t i = 0; i < 20; ++i) {
    EXPECT_EQ(reinterpret_cast<const uint64_t*>(heap.regions().home)[i * 100], i + 1);
  }
}

TYPED_TEST_P(ReplayAlone, AGrownHeapIsReplayedAsAWhole) {
  constexpr size_t kWordsOfAPage = kPageBytes / sizeof(uint64_t);
  SimMachine machine(FilledLogs<TypeParam>::options(2));
  EngineFixtureShape shape = FilledLogs<TypeParam>::shape();
  shape.capacity = 64 * kPageBytes;
  shape.options["log_bytes"] = "65536";  // room for all updates below
  EngineFixture<TypeParam> heap(machine, shape);
  heap.format().check();
  heap.recover().check();
  heap.engine().grown(shape.capacity);
  for (uint64_t i = 0; i < 128; ++i) {  // each word twice
    heap.write(i % 64 * kWordsOfAPage, i + 1);
  }
  const auto report = heap.engine().replay({.replayers = 2, .filter = true});
  ASSERT_TRUE(report.ok()) << report.status().to_string();
  EXPECT_EQ(report.value().written, 64 * sizeof(uint64_t)) << "each word once";
  for (uint64_t page = 0; page < 64; ++page) {
    EXPECT_EQ(reinterpret_cast<const uint64_t*>(heap.regions().home)[page * kWordsOfAPage],
              64 + page + 1);
  }
}

TYPED_TEST_P(ReplayAlone, RefusesMoreReplayersThanThereAreSlots) {
  FilledLogs<TypeParam> logs(1);
  EXPECT_EQ(logs.replay(kThreads + 1, false).status().code(), Code::too_many_threads);
  EXPECT_EQ(logs.replay(0, false).status().code(), Code::too_many_threads);
  EXPECT_TRUE(logs.replay(kThreads, false).ok());
}

REGISTER_TYPED_TEST_SUITE_P(ReplayAlone, AnyNumberOfReplayersComesToTheSameResult,
                            GoesOnBehindWhatWasReplayed, APowerFailureAtAnyPointIsRecoveredFrom,
                            ATailThatMovesBeforeAllPartsAreDurableIsNoticed,
                            RecoveryBySeveralThreadsComesToTheSameResult,
                            ClosingWithSeveralThreadsLeavesTheHomeUpToDate,
                            AGrownHeapIsReplayedAsAWhole, RefusesMoreReplayersThanThereAreSlots);

}  // namespace holdfast::replay_test
